"""Every key a finetune-hf-vits config may have: what it was there, and what becomes of it here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.config import did_you_mean
from olu.core.errors import ConfigError
from olu.core.parse import BadData, load_json

REQUIRED = "required"
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "a text in quotes"),
    "whole": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "yes": ((bool,), "true or false"),
    "name": ((int, str), "a number or a text in quotes"),
    "texts": ((str, list), "a text in quotes or a list of them"),
    "any": ((object,), "anything"),
}
LOOP = "its training loop never reads it"


@dataclass(frozen=True)
class Key:
    """`to` names the recipe settings that take the value as it is; `worked` those that hf_vits_map.py works out."""

    name: str
    kind: str
    default: Any
    olu: str  # what becomes of it
    to: tuple[str, ...] = ()
    worked: tuple[str, ...] = ()  # recipe settings that are worked out from it
    there: str = ""  # what it did in the original, where that is not what its name says
    inert: bool = False  # it had no effect in the original


MODEL = (
    Key("model_name_or_path", "text", REQUIRED, "`base`: a folder, or a model on the hub"),
    Key("config_name", "text", None, "its config.json is laid over the base's"),
    Key("tokenizer_name", "text", None, "its vocab.json and tokenizer_config.json are laid over the base's"),
    Key("feature_extractor_name", "text", None,
        "its preprocessor_config.json is laid over the base's; its rate is the model's"),
    Key("cache_dir", "text", None, "where a base from the hub is kept"),
    Key("use_fast_tokenizer", "yes", True, "nothing to choose", there="VITS has no fast tokenizer", inert=True),
    Key("model_revision", "text", "main", "part of `base`: NAME@REVISION"),
    Key("token", "text", None, "used for the hub during this command; never written or shown"),
    Key("use_auth_token", "any", None, "as `token`", there="deprecated, and only ever copied to `token`"),
    Key("trust_remote_code", "yes", False, "code from the hub is never run", there="allowed code from the hub to run"),
    Key("override_speaker_embeddings", "yes", False, "always: other speakers than the base's are fitted to it",
        there="some of the new conditioning weights were never started (a defect)"),
    Key("override_vocabulary_embeddings", "yes", False, "always: symbols the base lacks are added to its own",
        there="new rows were random and small, and could be more than there are symbols"),
)  # fmt: skip
DATA = (
    Key("project_name", "text", "vits_finetuning", "`view.wandb`, where `report_to` asks for it"),
    Key("dataset_name", "text", None,
        "imported: a folder, an archive, or OWNER/NAME on the hub; null: the workspace's own clips"),
    Key("dataset_config_name", "text", None, "the import's --config"),
    Key("overwrite_cache", "yes", False, "each stage knows itself whether it is out of date", there="nothing reads it",
        inert=True),
    Key("preprocessing_num_workers", "whole", None, "threads that prepare the clips"),
    Key("max_train_samples", "whole", None, "`data.train_clips`", to=("data.train_clips",),
        there="counted before filtering"),
    Key("max_eval_samples", "whole", None, "`data.valid_clips`; null: 32", to=("data.valid_clips",),
        there="counted before filtering"),
    Key("audio_column_name", "text", "audio", "the import's --columns audio=NAME"),
    Key("text_column_name", "text", "text", "the import's --columns text=NAME"),
    Key("speaker_id_column_name", "text", None, "the import's --columns speaker=NAME; null: all clips are one speaker",
        there="ids were numbered anew at every start and not saved"),
    Key("filter_on_speaker_id", "name", None, "`data.speakers`, for validation too", worked=("data.speakers",),
        there="evaluation was not filtered"),
    Key("max_tokens_length", "number", 450, "`data.max_tokens`: longer ones are left out", worked=("data.max_tokens",),
        there="the help says truncate; the clips were dropped"),
    Key("max_duration_in_seconds", "number", 20.0, "`data.max_seconds`: longer ones are left out",
        to=("data.max_seconds",), there="the help says truncate; the clips were dropped"),
    Key("min_duration_in_seconds", "number", 0.0, "`data.min_seconds`; clips below one segment always stay out",
        to=("data.min_seconds",), there="clips below one training segment crashed it"),
    Key("preprocessing_only", "yes", False, "import, audit, read and prepare, then stop"),
    Key("train_split_name", "text", "train",
        "the import's --split; null: every split; all of it trains unless it is also evaluated on"),
    Key("eval_split_name", "text", "test",
        "imported for validation; if it is null or `train_split_name`, 4 % are held back"),
    Key("do_lower_case", "yes", False, "the base's reading makes letters small, in training and in the voice",
        there="only in training: the saved model did not know of it"),
    Key("do_normalize", "yes", False, "not done: `olu audit` finds clips of odd loudness",
        there="scaled the spectrogram, but not the waveform it is compared with (a defect)"),
    Key("full_generation_sample_text", "text", "This is a test, let's see what comes out of this.",
        "`plan.sentences`: spoken at every validation", worked=("plan.sentences",)),
    Key("uroman_path", "text", None, "not needed: a base that reads romanised text brings it about",
        there="where the Perl program lay"),
)  # fmt: skip
OWN = (
    Key("do_step_schedule_per_epoch", "yes", True, "true: `plan.schedule` exponential; false: `lr_scheduler_type`",
        worked=("plan.schedule",)),
    Key("lr_decay", "number", 0.999875, "`plan.decay`, per epoch", worked=("plan.decay",),
        there="only with `do_step_schedule_per_epoch`; one epoch early, and once for every GPU"),
    Key("weight_duration", "number", 1.0, "`model.weight_duration`", to=("model.weight_duration",)),
    Key("weight_kl", "number", 1.5, "`model.weight_kl`", to=("model.weight_kl",)),
    Key("weight_mel", "number", 35.0, "`model.weight_mel`", to=("model.weight_mel",)),
    Key("weight_disc", "number", 3.0, "`model.weight_discriminator`", to=("model.weight_discriminator",),
        there="on top of gradients the generator's step had left behind (a defect)"),
    Key("weight_gen", "number", 1.0, "`model.weight_adversarial`", to=("model.weight_adversarial",)),
    Key("weight_fmaps", "number", 1.0, "`model.weight_features`", to=("model.weight_features",)),
)  # fmt: skip
TRAINING = (
    Key("output_dir", "text", REQUIRED, "the workspace, where none is named on the command line"),
    Key("overwrite_output_dir", "yes", False, "true: a new run beside the earlier ones; nothing is written over"),
    Key("do_train", "yes", False, "false stops after preparing; not there: it trains",
        there="false or not there: an error"),
    Key("do_eval", "yes", False, "clips are validated either way; false: on 4 % of the training split"),
    Key("num_train_epochs", "number", 3.0, "`plan.steps`: epochs times updates in one", worked=("plan.steps",)),
    Key("max_steps", "whole", -1, "`plan.steps`, where it is above 0", worked=("plan.steps",)),
    Key("per_device_train_batch_size", "whole", 8, "`plan.batch_clips`, and `plan.batch_seconds` wide enough for it",
        to=("plan.batch_clips",)),
    Key("per_device_eval_batch_size", "whole", 8, "figures are means over clips: no size changes them",
        there="losses were added up over batches, so they grew with their number"),
    Key("gradient_accumulation_steps", "whole", 1, "`plan.accumulate`", to=("plan.accumulate",)),
    Key("learning_rate", "number", 5e-5, "`model.learning_rate` and `model.discriminator_learning_rate`",
        to=("model.learning_rate", "model.discriminator_learning_rate")),
    Key("adam_beta1", "number", 0.9, "`model.adam_betas`", worked=("model.adam_betas",)),
    Key("adam_beta2", "number", 0.999, "`model.adam_betas`", worked=("model.adam_betas",)),
    Key("adam_epsilon", "number", 1e-8, "`model.adam_epsilon`", to=("model.adam_epsilon",)),
    Key("max_grad_norm", "number", 1.0, "`model.clip`, for each part", to=("model.clip",)),
    Key("lr_scheduler_type", "text", "linear", "`plan.schedule`, with `do_step_schedule_per_epoch` false",
        worked=("plan.schedule",)),
    Key("warmup_ratio", "number", 0.0, "`plan.warmup_steps`, with `do_step_schedule_per_epoch` false",
        worked=("plan.warmup_steps",)),
    Key("warmup_steps", "number", 0, "`plan.warmup_steps`, with `do_step_schedule_per_epoch` false",
        worked=("plan.warmup_steps",)),
    Key("group_by_length", "yes", False, "always: clips of alike length share a batch"),
    Key("gradient_checkpointing", "yes", False, "`model.gradient_checkpointing`", to=("model.gradient_checkpointing",)),
    Key("dataloader_num_workers", "whole", 0, "no workers: clips come from one memory map"),
    Key("save_steps", "number", 500, "`plan.save_every`", worked=("plan.save_every",)),
    Key("save_total_limit", "whole", None, "`plan.keep`; null keeps all of them; the best is kept besides",
        worked=("plan.keep",)),
    Key("eval_steps", "number", None, "`plan.validate_every`; null: at every save", worked=("plan.validate_every",),
        there="null evaluated after every single update"),
    Key("logging_dir", "text", None, "figures lie in the run's own folder"),
    Key("report_to", "texts", None, "`view.tensorboard`, `view.wandb`; null: the workspace's own settings"),
    Key("seed", "whole", 42, "`seed`", to=("seed",)),
    Key("resume_from_checkpoint", "any", None, "\"latest\": go on with the unfinished run; a folder: start from it",
        there="went on from the first batch of the epoch"),
    Key("push_to_hub", "yes", False, "nothing is uploaded: the command that does it is shown"),
    Key("hub_model_id", "text", None, "named in the command for `push_to_hub`"),
    Key("fp16", "yes", False, "`plan.precision` on a GPU; fp32 on a CPU", worked=("plan.precision",)),
    Key("bf16", "yes", False, "`plan.precision` on a GPU; fp32 on a CPU", worked=("plan.precision",),
        there="reached the loop only through Accelerate's environment"),
    Key("local_rank", "whole", -1, "torchrun sets it"),
    Key("log_level", "text", "passive", "there are no log levels: warnings are sentences"),
)  # fmt: skip

# Keys of TrainingArguments, of old and new versions, that nothing in the original reads. What Olu does -> the keys.
UNREAD = {
    "`model.weight_decay` stays 0.01, what the original really used": "weight_decay",
    "the optimiser is AdamW, as it was there": "optim optim_args adafactor optim_target_modules",
    "validation comes every `eval_steps`": "evaluation_strategy eval_strategy eval_delay eval_on_start",
    "validation uses all its clips, as means": "prediction_loss_only eval_accumulation_steps eval_do_concat_batches "
    "eval_use_gather_object include_for_metrics include_inputs_for_metrics batch_eval_metrics label_names "
    "label_smoothing_factor past_index use_legacy_prediction_loop do_predict",
    "checkpoints come every `save_steps`, whole": "save_strategy save_safetensors save_on_each_node save_only_model "
    "enable_jit_checkpoint",
    "the best step is always kept, and exported": "load_best_model_at_end metric_for_best_model greater_is_better",
    "every step is recorded": "logging_strategy logging_steps logging_first_step logging_nan_inf_filter "
    "log_level_replica log_on_each_node disable_tqdm debug include_num_input_tokens_seen include_tokens_per_second "
    "skip_memory_metrics",
    "runs are named by Olu": "run_name project trackio_space_id trackio_bucket_id trackio_static_space_id",
    "`seed` decides the order of the clips too; a CPU run repeats exactly": "data_seed full_determinism",
    "a resumed run goes on at its very clip": "ignore_data_skip restore_callback_states_from_checkpoint",
    "clips come from one memory map": "dataloader_pin_memory dataloader_drop_last dataloader_persistent_workers "
    "dataloader_prefetch_factor dataloader_multiprocessing_context dataloader_in_order remove_unused_columns "
    "length_column_name train_sampling_strategy dispatch_batches split_batches accelerator_config",
    "--device chooses where it runs": "no_cuda use_cpu use_mps_device tpu_num_cores tpu_metrics_debug",
    "`plan.precision` is set by fp16 and bf16 alone": "fp16_opt_level half_precision_backend fp16_backend "
    "fp16_full_eval bf16_full_eval tf32",
    "a batch that does not fit is made in pieces by itself": "auto_find_batch_size torch_empty_cache_steps",
    "several GPUs: torchrun -m olu train": "ddp_backend ddp_find_unused_parameters ddp_bucket_cap_mb ddp_timeout "
    "ddp_broadcast_buffers ddp_static_graph fsdp fsdp_config fsdp_min_num_params fsdp_transformer_layer_cls_to_wrap "
    "deepspeed sharded_ddp xpu_backend mp_parameters parallelism_config average_tokens_across_devices ray_scope",
    "nothing is compiled": "torch_compile torch_compile_backend torch_compile_mode torchdynamo jit_mode_eval use_ipex "
    "use_liger_kernel liger_kernel_config",
    "nothing is uploaded": "hub_strategy hub_token hub_private_repo hub_always_push hub_revision push_to_hub_model_id "
    "push_to_hub_organization push_to_hub_token",
    "`plan.schedule` has settings of its own": "lr_scheduler_kwargs",
    "there is no such thing in VITS": "neftune_noise_alpha gradient_checkpointing_kwargs use_cache",
    "`per_device_train_batch_size` counts": "per_gpu_train_batch_size per_gpu_eval_batch_size",
}  # fmt: skip


def _unread() -> Iterable[Key]:
    for olu, names in UNREAD.items():
        for name in names.split():
            yield Key(name, "any", None, olu, there=LOOP, inert=True)


KEYS = {key.name: key for key in (*MODEL, *DATA, *OWN, *TRAINING, *_unread())}
SPLITS = ("train_split_name", "eval_split_name")  # null and "" mean something too
SECRET = ("token", "use_auth_token", "hub_token", "push_to_hub_token")
LEAST = {
    **dict.fromkeys(("per_device_train_batch_size", "gradient_accumulation_steps", "preprocessing_num_workers"), 1),
    **dict.fromkeys(("max_train_samples", "max_eval_samples"), 1),  # here 0 would mean all
    **dict.fromkeys(("warmup_steps", "warmup_ratio", "min_duration_in_seconds"), 0),
}


def read_config(path: Path) -> dict[str, Any]:
    """What a config says; the first thing that is wrong in it is one error."""
    try:
        values = load_json(path)
    except OSError as bad:
        raise ConfigError(f"{path} cannot be read ({bad.strerror}): name the JSON file of finetune-hf-vits") from None
    except BadData as bad:
        raise ConfigError(f"{path} is not valid JSON: {bad}") from None
    if not isinstance(values, dict):
        raise ConfigError(f'{path} is not a JSON object: write {{"model_name_or_path": ..., "output_dir": ...}}')
    for name, value in values.items():
        if name not in KEYS:
            raise ConfigError(f"{path}: unknown key {name!r}{did_you_mean(name, KEYS) or '; see docs/hf-vits.md'}")
        _check(KEYS[name], value, path)
    for key in KEYS.values():
        if key.default == REQUIRED and values.get(key.name) is None:
            raise ConfigError(f"{path}: {key.name!r} is required and not there")
    return values


def _check(key: Key, value: Any, path: Path) -> None:
    if value is None and (key.default in (None, REQUIRED) or key.name in SPLITS):  # a required one is asked for by name
        return
    types, said = KINDS[key.kind]
    whole = key.kind == "whole" and isinstance(value, float) and value.is_integer()
    wrong = isinstance(value, bool) and key.kind not in ("yes", "any")
    if wrong or not (whole or isinstance(value, types)):
        shown = "a value of another kind" if key.name in SECRET else json.dumps(value, ensure_ascii=False)
        raise ConfigError(f"{path}: {key.name} must be {said}, not {shown}")
    if (least := LEAST.get(key.name)) is not None and value < least:
        raise ConfigError(f"{path}: {key.name} must be {least} or more, not {json.dumps(value)}")
    if isinstance(value, list) and not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{path}: {key.name} must be {said}, not {json.dumps(value, ensure_ascii=False)}")

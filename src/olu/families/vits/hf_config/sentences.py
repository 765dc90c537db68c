"""What becomes of each key of a finetune-hf-vits config, in sentences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from olu.families.vits.hf_config.keys import KEYS, REQUIRED, SECRET, Key
from olu.families.vits.hf_config.settings import Values, get, settings, splits, views

COLUMNS = {"audio_column_name": "audio", "text_column_name": "text", "speaker_id_column_name": "speaker"}
YES_AND_NO = {
    "do_train": ("it trains", "it stops after preparing"),
    "do_eval": ("clips validate", "clips validate all the same: 4 % of the training split"),
    "overwrite_output_dir": (
        "a new run beside the earlier ones: nothing is written over",
        "an equal run is not repeated",
    ),
    "push_to_hub": ("nothing is uploaded: the command that does it comes at the end", "nothing is uploaded"),
    "preprocessing_only": ("import, audit, read and prepare, then stop", "it goes on to train"),
}
SAME_SPLIT = "4 % of the clips are held back to validate: figures on clips that train say nothing of others"


def inert(values: Values, name: str) -> tuple[str, str] | None:
    """Why a key had no effect in the original beside the others of this config, and what happens here."""
    key, per_epoch = KEYS[name], get(values, "do_step_schedule_per_epoch")
    if key.inert:
        return key.there, key.olu
    if per_epoch and name in ("warmup_ratio", "warmup_steps", "lr_scheduler_type"):
        return "do_step_schedule_per_epoch is true", "nor here; set do_step_schedule_per_epoch to false to have it"
    if not per_epoch and name == "lr_decay":
        return "do_step_schedule_per_epoch is false", "nor here; lr_scheduler_type counts"
    if not get(values, "do_eval") and name in ("eval_split_name", "eval_steps", "per_device_eval_batch_size"):
        return "do_eval is false", "clips are validated at every save, on 4 % of the training split"
    if name == "max_eval_samples" and not get(values, "do_eval"):
        return "do_eval is false", key.olu
    if name in ("filter_on_speaker_id", "override_speaker_embeddings") and not values.get("speaker_id_column_name"):
        return "speaker_id_column_name is not set", "nor here; all clips are one speaker"
    if name == "num_train_epochs" and get(values, "max_steps") > 0:
        return "max_steps is set", "nor here"
    if name == "warmup_ratio" and get(values, "warmup_steps"):
        return "warmup_steps is set", "nor here"
    if name == "hub_model_id" and not get(values, "push_to_hub"):
        return "push_to_hub is false", "nor here"
    return None


def sentences(values: Values, *, device: str) -> list[str]:
    """One for every key of a config, in its order, and one for what it leaves to the original's defaults."""
    flat = settings(values, device=device)
    said = [_sentence(values, KEYS[name], flat, device) for name in values]
    rest = [key for key in KEYS.values() if key.name not in values and (key.to or key.worked)]
    off = (None, -1, REQUIRED)  # False is compared by kind: a default of 0 acts too
    set_ = [key for key in rest if key.default not in off and key.default is not False]
    acting = [key for key in set_ if not inert(values, key.name)]
    listed = ", ".join(f"{key.name} {key.default}" for key in acting if key.name != "full_generation_sample_text")
    return [*said, *([f"not in the config, so as finetune-hf-vits has it: {listed}"] if listed else [])]


def _sentence(values: Values, key: Key, flat: dict[str, Any], device: str) -> str:
    value = values[key.name]
    shown = "(not shown)" if key.name in SECRET and value else json.dumps(value, ensure_ascii=False)
    head = f"{key.name} = {shown}"
    if why := inert(values, key.name):
        return f"{head}: no effect in finetune-hf-vits ({why[0]}); here: {_plain(why[1])}"
    there = f"; there: {key.there}" if key.there else ""
    found = [f"{to} = {json.dumps(flat[to], ensure_ascii=False)}" for to in (*key.to, *key.worked) if to in flat]
    became = _became(values, key.name) or ", ".join(found) or _plain(key.olu)
    if key.name in ("fp16", "bf16") and values[key.name] and flat["plan.precision"] == "fp32":
        became += f", since the device is {device}"
    return f"{head} -> {became}{there}"


def _became(values: Values, name: str) -> str:
    """Of keys that are no settings of the recipe: what this very value comes to."""
    value = values[name]
    if name in COLUMNS:
        return f"import --columns {COLUMNS[name]}={value}" if value else "all clips are one speaker"
    if name in ("do_train", "do_eval", "overwrite_output_dir", "push_to_hub", "preprocessing_only"):
        return YES_AND_NO[name][0 if value else 1]
    if name == "model_name_or_path":
        return f"base = {json.dumps(value, ensure_ascii=False)}"
    if name == "dataset_config_name" and value:
        here = value == "default" and Path(values.get("dataset_name") or "").exists()
        return "a folder here: its only config, or none" if here else f"import --config {value}"
    if name == "train_split_name":
        return f"import --split {value}" if value else "every split is imported"
    if name == "eval_split_name":
        train, held = splits(values)
        same = held == train
        return SAME_SPLIT if same else f"import --split {value}, for validation"
    if name == "report_to" and value is not None:
        return ", ".join(views(values)[0]) or "nothing that is installed here"
    return ""


def _plain(text: str) -> str:
    return text.replace("`", "")

"""olu train --from-hf-vits: every key has a place, acts or says why not, and whole configs run."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from olu.core.config import check
from olu.core.errors import ConfigError, OluError
from olu.core.files import Workspace
from olu.families.vits.hf_config.base import base_for, language_for, state_for
from olu.families.vits.hf_config.dataset import MUST, way_in
from olu.families.vits.hf_config.settings import (
    KEEP_ALL,
    KEYS,
    REQUIRED,
    UNREAD,
    inert,
    nested,
    read_config,
    sentences,
    settings,
    splits,
    views,
)
from olu.stages.hf_vits import imported
from olu.train.recipe import Recipe
from olu.train.run import Run

from .conftest import Done, fine, olu

pa = pytest.importorskip("pyarrow", reason="needs the extra hub")
import pyarrow.parquet as pq  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
EXAMPLES = sorted((Path(__file__).parent / "hf_vits").glob("*.json"))
LEAST = {"model_name_or_path": "base", "output_dir": "out"}

# formats.md C1, with the original's defaults
MODEL: dict[str, Any] = {
    "model_name_or_path": REQUIRED, "config_name": None, "tokenizer_name": None, "feature_extractor_name": None,
    "cache_dir": None, "use_fast_tokenizer": True, "token": None, "use_auth_token": None, "trust_remote_code": False,
    "override_speaker_embeddings": False, "override_vocabulary_embeddings": False, "model_revision": "main",
}  # fmt: skip
DATA: dict[str, Any] = {
    "project_name": "vits_finetuning", "dataset_name": None, "dataset_config_name": None, "overwrite_cache": False,
    "preprocessing_num_workers": None, "max_train_samples": None, "max_eval_samples": None,
    "audio_column_name": "audio", "text_column_name": "text", "speaker_id_column_name": None,
    "filter_on_speaker_id": None, "max_tokens_length": 450, "max_duration_in_seconds": 20.0,
    "min_duration_in_seconds": 0.0, "preprocessing_only": False, "train_split_name": "train",
    "eval_split_name": "test", "do_lower_case": False, "do_normalize": False,
    "full_generation_sample_text": "This is a test, let's see what comes out of this.", "uroman_path": None,
}  # fmt: skip
OWN: dict[str, Any] = {
    "do_step_schedule_per_epoch": True, "lr_decay": 0.999875, "weight_duration": 1.0, "weight_kl": 1.5,
    "weight_mel": 35.0, "weight_disc": 3.0, "weight_gen": 1.0, "weight_fmaps": 1.0,
}  # fmt: skip
INHERITED: dict[str, Any] = {
    "output_dir": REQUIRED, "overwrite_output_dir": False, "do_train": False, "do_eval": False,
    "num_train_epochs": 3.0, "max_steps": -1, "per_device_train_batch_size": 8, "per_device_eval_batch_size": 8,
    "gradient_accumulation_steps": 1, "learning_rate": 5e-5, "adam_beta1": 0.9, "adam_beta2": 0.999,
    "adam_epsilon": 1e-8, "max_grad_norm": 1.0, "lr_scheduler_type": "linear", "warmup_ratio": 0.0,
    "warmup_steps": 0, "group_by_length": False, "gradient_checkpointing": False, "dataloader_num_workers": 0,
    "save_steps": 500, "save_total_limit": None, "eval_steps": None, "logging_dir": None, "report_to": None,
    "seed": 42, "resume_from_checkpoint": None, "push_to_hub": False, "hub_model_id": None, "fp16": False,
    "bf16": False, "local_rank": -1, "log_level": "passive",
}  # fmt: skip
UNREAD_THERE = (  # B1.4
    *("weight_decay", "optim", "adafactor", "evaluation_strategy", "save_strategy", "load_best_model_at_end"),
    *("metric_for_best_model", "logging_steps", "dataloader_pin_memory"),
)


def test_every_key_has_a_row_with_the_original_default() -> None:
    listed = {**MODEL, **DATA, **OWN, **INHERITED}
    unread = {name for names in UNREAD.values() for name in names.split()}
    assert {name: KEYS[name].default for name in KEYS if name not in unread} == listed
    assert set(UNREAD_THERE) <= unread
    assert all(KEYS[name].inert and KEYS[name].olu for name in unread)


def test_every_key_of_training_arguments_is_accepted() -> None:
    transformers = pytest.importorskip("transformers")
    assert {field.name for field in dataclasses.fields(transformers.TrainingArguments)} <= set(KEYS)


def recipe(updates: int = 10, device: str = "cpu", **values: Any) -> Recipe:
    flat = settings({**LEAST, **values}, device=device, updates=updates)
    return check(Recipe, nested(flat), where="test")


ACTS: list[tuple[dict[str, Any], str, Any]] = [
    ({"max_train_samples": 150}, "data.train_clips", 150),
    ({"max_eval_samples": 25}, "data.valid_clips", 25),
    ({"speaker_id_column_name": "who", "filter_on_speaker_id": 5223}, "data.speakers", ["5223"]),
    ({"max_tokens_length": 500}, "data.max_tokens", 499),
    ({"max_duration_in_seconds": 12}, "data.max_seconds", 12.0),
    ({"min_duration_in_seconds": 1.5}, "data.min_seconds", 1.5),
    ({"full_generation_sample_text": "a b"}, "plan.sentences", ["a b"]),
    ({"lr_decay": 0.9}, "plan.decay", 0.9),
    ({"weight_duration": 2}, "model.weight_duration", 2),
    ({"weight_kl": 2}, "model.weight_kl", 2),
    ({"weight_mel": 45}, "model.weight_mel", 45),
    ({"weight_disc": 1}, "model.weight_discriminator", 1),
    ({"weight_gen": 2}, "model.weight_adversarial", 2),
    ({"weight_fmaps": 2}, "model.weight_features", 2),
    ({"num_train_epochs": 1.5}, "plan.steps", 15),
    ({"num_train_epochs": 7, "max_steps": 33}, "plan.steps", 33),
    ({"per_device_train_batch_size": 4}, "plan.batch_clips", 4),
    ({"per_device_train_batch_size": 4, "max_duration_in_seconds": 10}, "plan.batch_seconds", 40.0),
    ({"gradient_accumulation_steps": 4}, "plan.accumulate", 4),
    ({"learning_rate": 1e-4}, "model.learning_rate", 1e-4),
    ({"learning_rate": 1e-4}, "model.discriminator_learning_rate", 1e-4),
    ({"adam_beta1": 0.8}, "model.adam_betas", [0.8, 0.999]),
    ({"adam_beta2": 0.99}, "model.adam_betas", [0.9, 0.99]),
    ({"adam_epsilon": 1e-9}, "model.adam_epsilon", 1e-9),
    ({"max_grad_norm": 5.0}, "model.clip", 5.0),
    ({"gradient_checkpointing": True}, "model.gradient_checkpointing", True),
    ({"save_steps": 7}, "plan.save_every", 7),
    ({"save_steps": 0.1, "max_steps": 50}, "plan.save_every", 5),
    ({"save_total_limit": 2}, "plan.keep", 2),
    ({}, "plan.keep", KEEP_ALL),
    ({"do_eval": True, "eval_steps": 50}, "plan.validate_every", 50),
    ({"eval_steps": 50}, "plan.validate_every", 500),
    ({"seed": 456}, "seed", 456),
    ({"do_step_schedule_per_epoch": False}, "plan.schedule", "linear"),
    ({"do_step_schedule_per_epoch": False}, "plan.final_rate", 0.0),
    ({"do_step_schedule_per_epoch": False, "lr_scheduler_type": "cosine"}, "plan.schedule", "cosine"),
    ({"do_step_schedule_per_epoch": False, "warmup_ratio": 0.1, "max_steps": 95}, "plan.warmup_steps", 10),
    ({"do_step_schedule_per_epoch": False, "warmup_steps": 12}, "plan.warmup_steps", 12),
    ({"do_step_schedule_per_epoch": False, "warmup_steps": 9, "lr_scheduler_type": "constant"}, "plan.warmup_steps", 0),
    ({"warmup_ratio": 0.5, "warmup_steps": 3, "lr_scheduler_type": "cosine"}, "plan.warmup_steps", 0),
    ({"warmup_ratio": 0.5, "lr_scheduler_type": "cosine"}, "plan.schedule", "exponential"),
    ({"weight_decay": 0.5, "optim": "adafactor"}, "model.weight_decay", 0.01),
    ({"fp16": True}, "plan.precision", "fp32"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "key", "expected"), ACTS)
def test_a_key_acts_on_the_recipe(values: dict[str, Any], key: str, expected: Any) -> None:
    found: Any = recipe(**values).model_dump()
    for part in key.split("."):
        found = found[part]
    assert found == expected


def test_precision_on_a_gpu() -> None:
    assert recipe(device="cuda", fp16=True).plan.precision == "fp16"
    assert recipe(device="cuda", bf16=True).plan.precision == "bf16"
    with pytest.raises(ConfigError, match="both true"):
        recipe(device="cuda", fp16=True, bf16=True)


def test_model_settings_are_the_family_s() -> None:
    from olu.families import family

    check(family("vits").config, recipe().model, where="test")


def test_each_key_that_names_a_setting_changes_it() -> None:
    """Every row with `to` or `worked` is tried above."""
    tried = {name for values, _, _ in ACTS for name in values} | {"bf16"}
    assert {key.name for key in KEYS.values() if key.to or key.worked} <= tried


def test_reports() -> None:
    assert views({}) == ([], [])
    assert views({"report_to": "none"})[0] == ["view.tensorboard=false", 'view.wandb=""']
    assert views({"report_to": []})[0] == ["view.tensorboard=false", 'view.wandb=""']
    changes, said = views({"report_to": ["mlflow"]})
    assert changes == [] and "mlflow is not served" in said[0]
    with pytest.raises(ConfigError, match="did you mean 'wandb'"):
        views({"report_to": "wandbb"})


def test_wandb_gets_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olu.families.vits.hf_config.settings.find_spec", lambda name: object())
    asked = {"report_to": ["tensorboard", "wandb"], "project_name": 'my "own"'}
    assert views(asked) == (["view.tensorboard=true", 'view.wandb="my \\"own\\""'], [])
    monkeypatch.setattr("olu.families.vits.hf_config.settings.find_spec", lambda name: None)
    assert views(asked)[0] == [] and len(views(asked)[1]) == 2


def test_every_key_is_spoken_of() -> None:
    values = {**LEAST, **{name: key.default for name, key in KEYS.items() if key.default != REQUIRED}}
    values |= {"weight_decay": 0.1, "token": "hf_secret", "hub_token": "hf_secret"}
    said = sentences(values, device="cpu")
    assert [line.split(" = ")[0] for line in said] == list(values)
    assert "hf_secret" not in "\n".join(said)
    decay = next(line for line in said if line.startswith("weight_decay"))
    assert "no effect in finetune-hf-vits" in decay and "0.01" in decay


def test_sentences_say_what_the_value_comes_to() -> None:
    values = {**LEAST, "do_eval": True, "eval_split_name": "dev", "text_column_name": "words", "fp16": True}
    said = dict(line.split(" -> ") for line in sentences(values, device="cpu")[:-1])
    assert said['eval_split_name = "dev"'] == "import --split dev, for validation"
    assert said['text_column_name = "words"'] == "import --columns text=words"
    assert said["fp16 = true"] == 'plan.precision = "fp32", since the device is cpu'
    same = sentences({**values, "eval_split_name": "train"}, device="cpu")
    assert any(line.startswith('eval_split_name = "train" -> 4 % of the clips are held back') for line in same)


def test_defaults_that_act_are_named() -> None:
    last = sentences(LEAST, device="cpu")[-1]
    assert "learning_rate 5e-05" in last and "weight_mel 35.0" in last
    assert "warmup_ratio" not in last and "max_steps" not in last
    assert "min_duration_in_seconds 0.0" in last, "0 is a value too, and another than Olu's own"


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "warmup_ratio"),
        ({}, "lr_scheduler_type"),
        ({"do_step_schedule_per_epoch": False}, "lr_decay"),
        ({}, "eval_steps"),
        ({}, "filter_on_speaker_id"),
        ({"max_steps": 5}, "num_train_epochs"),
        ({}, "hub_model_id"),
    ],
)
def test_what_had_no_effect_beside_other_keys(values: dict[str, Any], name: str) -> None:
    assert inert({**LEAST, **values}, name)
    other = {"do_step_schedule_per_epoch": not values.get("do_step_schedule_per_epoch", True)}
    alive = {**other, "do_eval": True, "speaker_id_column_name": "x", "push_to_hub": True}
    assert inert({**LEAST, **alive}, name) is None


# ------------------------------------------------------------ wrong configs


def written(folder: Path, **values: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({**LEAST, **values}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"learning_rat": 1e-4}, "unknown key 'learning_rat'; did you mean 'learning_rate'?"),
        ({"learning_rate": "fast"}, 'learning_rate must be a number, not "fast"'),
        ({"seed": True}, "seed must be a whole number, not true"),
        ({"max_steps": 2.5}, "max_steps must be a whole number, not 2.5"),
        ({"fp16": 1}, "fp16 must be true or false, not 1"),
        ({"dataset_name": 7}, "dataset_name must be a text in quotes, not 7"),
        ({"report_to": [1]}, "report_to must be a text in quotes or a list of them, not [1]"),
        ({"weight_mel": None}, "weight_mel must be a number, not null"),
        ({"model_name_or_path": None}, "'model_name_or_path' is required and not there"),
        ({"per_device_train_batch_size": 0}, "per_device_train_batch_size must be 1 or more, not 0"),
        ({"max_train_samples": 0}, "max_train_samples must be 1 or more, not 0"),
        ({"warmup_steps": -3}, "warmup_steps must be 0 or more, not -3"),
    ],
)
def test_wrong_values_give_one_clear_error(values: dict[str, Any], said: str, tmp_path: Path) -> None:
    done = olu("train", tmp_path / "ws", "--from-hf-vits", written(tmp_path, **values))
    assert done.code == 2 and done.out == ""
    assert done.err.count("\n") == 1 and said in done.err
    assert not (tmp_path / "ws").exists()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"save_steps": 0}, "save_steps must be above 0, not 0"),
        ({"save_steps": -1}, "save_steps must be above 0, not -1"),
        ({"do_eval": True, "eval_steps": 0}, "eval_steps must be above 0, not 0"),
        ({"num_train_epochs": 0}, "num_train_epochs must be above 0, not 0"),
    ],
)
def test_a_number_that_means_nothing_is_not_rounded_up(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        recipe(**values)


def test_numbers_that_do_not_count_may_be_anything() -> None:
    assert recipe(num_train_epochs=0, max_steps=3).plan.steps == 3
    assert recipe(eval_steps=0).plan.validate_every == 500


def test_a_base_or_a_dataset_that_is_not_there(base: Path, tmp_path: Path) -> None:
    done = olu("train", tmp_path / "ws", "--from-hf-vits", written(tmp_path, model_name_or_path="gone"))
    assert done.code == 2 and "model_name_or_path: gone is neither here nor" in done.err.splitlines()[-1]
    assert not (tmp_path / "ws").exists()
    config = written(tmp_path, model_name_or_path=str(base), dataset_name="gone")
    done = olu("train", tmp_path / "ws", "--from-hf-vits", config)
    assert done.code == 2 and "dataset_name: gone is neither a folder here nor" in done.err.splitlines()[-1]
    assert not (tmp_path / "ws").exists()


def test_files_that_are_no_config(tmp_path: Path) -> None:
    for text in ("{", "[1]"):
        (tmp_path / "c.json").write_text(text)
        with pytest.raises(ConfigError, match="JSON"):
            read_config(tmp_path / "c.json")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / "none.json")


def test_a_secret_of_another_kind_is_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as bad:
        read_config(written(tmp_path, token=["hf_secret"]))
    assert "hf_secret" not in str(bad.value)


# ------------------------------------------------------------ whole configs


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny VITS folder as transformers writes it."""
    import torch
    import transformers

    from olu.families.vits.config import SIZES

    folder = tmp_path_factory.mktemp("base") / "mms-tts-swh-made"
    torch.manual_seed(3)
    letters = {"_": 0, **{letter: place for place, letter in enumerate("abcdefghijklmnopqrstuvwxyz' ", 1)}}
    known = {name: value for name, value in SIZES["tiny"].items() if not name.endswith("learning_rate")}
    config = transformers.VitsConfig(vocab_size=len(letters), **known)
    transformers.VitsModel(config).save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(letters))
    tokenizer = {"language": "swh", "add_blank": True, "normalize": True, "is_uroman": False, "phonemize": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.fixture(scope="session")
def dataset(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Swahili clips of two speakers, as parquet, in two configs that name the text differently."""
    folder = tmp_path_factory.mktemp("dataset") / "swahili"
    lines = (recordings / "metadata.csv").read_text(encoding="utf-8").splitlines()
    rows = []
    for number, line in enumerate(lines):
        name, text = line.split("|")[:2]
        data = io.BytesIO()
        samples, rate = soundfile.read(next(recordings.rglob(f"{name}.*")))
        soundfile.write(data, np.asarray(samples), rate, format="WAV")
        audio = {"bytes": data.getvalue(), "path": f"{name}.wav"}
        rows.append({"audio": audio, "text": text, "speaker_id": 5223 if number % 5 else 17})
    calls = [{"audio": row["audio"], "transcription": row["text"]} for row in rows]
    for path, part in {
        "readers/train-00000-of-00001.parquet": rows[:-2],
        "readers/test-00000-of-00001.parquet": rows[-2:],
        "calls/train-00000-of-00001.parquet": calls,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(part), folder / path)
    return folder


def filled(example: Path, into: Path, *, base: Path, dataset: Path, **other: Any) -> Path:
    """An example with the three places that are this machine's own."""
    places = {"model_name_or_path": str(base), "dataset_name": str(dataset), "output_dir": str(into / "out")}
    path = into / "config.json"
    path.write_text(json.dumps({**json.loads(example.read_text(encoding="utf-8")), **places, **other}))
    return path


FEW = ("--set", "plan.steps=2", "--set", "plan.batch_clips=4")


def newest(ws: Path) -> Run:
    return Run.all(ws / "runs")[-1]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path, base: Path, dataset: Path, tmp_path: Path) -> None:
    config = filled(example, tmp_path, base=base, dataset=dataset)
    done = fine("train", "--from-hf-vits", config, *FEW)
    ws, values = tmp_path / "out", json.loads(config.read_text())
    run = newest(ws)
    assert run.result is not None and run.result["steps"] == 2
    assert Workspace.open(ws).language == "swa" and "its language is the base's, swa" in done.err
    for name in values:
        assert f"\n{name} = " in done.err
    assert "warmup_ratio = 0.01: no effect in finetune-hf-vits" in done.err
    assert "push_to_hub: nothing was uploaded" in done.err and f"--to hf --push {values['hub_model_id']}" in done.err
    if example == EXAMPLES[0]:  # what is advised can be done
        *export, _, _ = shlex.split(done.err.partition("Listen first; then: olu ")[2].splitlines()[0])
        assert f"{ws}/voices/" in fine(*export).out
    kept = run.recipe
    assert kept.base == str(base) and kept.seed == 456 and kept.data.valid_clips == 25
    assert kept.plan.precision == "fp32" and kept.plan.validate_every == 50 and kept.plan.schedule == "exponential"
    assert (kept.model["weight_mel"], kept.model["weight_discriminator"], kept.model["weight_kl"]) == (35, 3, 1.5)
    assert kept.model["learning_rate"] == 2e-5 and kept.model["adam_betas"] == [0.8, 0.99]
    assert kept.data.speakers == (["5223"] if "filter_on_speaker_id" in values else [])
    if "full_generation_sample_text" in values:
        assert kept.plan.sentences == [values["full_generation_sample_text"]]
        assert (run.folder / "samples" / "step-2" / "sentence-1.wav").exists()
    again = fine("train", ws, "--recipe", ws / "hf-vits.toml")
    assert "already" in again.out


def train(config: Path, *words: str | Path) -> Done:
    return fine("train", "--from-hf-vits", config, *words)


def test_epochs_become_steps_of_the_clips_that_are_left(base: Path, dataset: Path, tmp_path: Path) -> None:
    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=dataset, num_train_epochs=1, do_eval=False,
                    filter_on_speaker_id=None, per_device_train_batch_size=3)  # fmt: skip
    train(config)
    run = newest(tmp_path / "out")
    assert run.result is not None and run.result["steps"] == run.recipe.plan.steps
    assert 2 <= run.recipe.plan.steps <= 3  # at most 8 clips in batches of 3


def test_few_clips_and_short_texts(base: Path, dataset: Path, tmp_path: Path) -> None:
    texts = pq.read_table(dataset / "readers" / "train-00000-of-00001.parquet")["text"].to_pylist()
    most = 2 * max(map(len, texts)) - 1  # a little below what the longest makes
    few = {"max_train_samples": 2, "max_tokens_length": most, "filter_on_speaker_id": None}
    done = train(filled(EXAMPLES[0], tmp_path, base=base, dataset=dataset, **few), *FEW)
    assert "data.train_clips: the first 2 of " in done.err and ": 2 clips (" in done.err
    why = newest(tmp_path / "out").document("left_out.json").values()
    assert any(f"tokens, and data.max_tokens is {most - 1}" in one for one in why)


def test_an_evaluation_split_of_its_own(base: Path, dataset: Path, tmp_path: Path) -> None:
    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=dataset, eval_split_name="test",
                    filter_on_speaker_id=None)  # fmt: skip
    done = train(config, *FEW)
    assert "2 clips of the split test validate" in done.err
    rows = (tmp_path / "out" / "corpus" / "splits.jsonl").read_text().splitlines()
    sides = [json.loads(row)["split"] for row in rows]
    assert sides.count("valid") == 2 and sides.count("train") == len(sides) - 2


# ------------------------------------------------------------ datasets that are folders


def sounds(folder: Path, table: str, text: str) -> Path:
    """Two recordings and a file about them."""
    for name in ("a", "b"):
        (folder / "wavs").mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / "wavs" / f"{name}.wav", np.random.default_rng(1).normal(0, 0.1, 16000), 16000)
    (folder / table).parent.mkdir(parents=True, exist_ok=True)
    (folder / table).write_text(text, encoding="utf-8")
    return folder


USUAL = {"audio": "audio", "text": "text"}  # most configs name these
PLAIN: list[tuple[str, str, dict[str, str], str, str | None]] = [
    ("metadata.csv", "a|one\nb|two\n", {}, "ljspeech", None),
    ("metadata.csv", "file|speaker|text\na|x|one\nb|y|two\n", USUAL, "ljspeech", None),
    ("list.csv", "path,words\nwavs/a.wav,one\nwavs/b.wav,two\n", {"text": "words"}, "table", "text=words"),
    ("list.tsv", "path\ttext\nwavs/a.wav\tone\n", USUAL, "table", "text=text"),
    ("metadata.csv", "file_name,text\nwavs/a.wav,one\n", USUAL, "huggingface", "text=text"),
    ("wavs/a.txt", "one", USUAL, "folder", None),
]


@pytest.mark.parametrize(("table", "text", "given", "layout", "columns"), PLAIN)
def test_how_a_folder_is_read(
    table: str, text: str, given: dict[str, str], layout: str, columns: str | None, tmp_path: Path
) -> None:
    way = way_in(sounds(tmp_path / "in", table, text), given)
    assert (way.layout, way.columns) == (layout, columns)


def test_a_plain_folder_is_imported(base: Path, recordings: Path, tmp_path: Path) -> None:
    asked = {"filter_on_speaker_id": None, "speaker_id_column_name": None, "eval_split_name": "test"}
    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=recordings, **asked, dataset_config_name="readers")
    done = train(config, *FEW, "--dry-run")
    assert "is a plain folder (ljspeech: metadata.csv has id|text lines): all of it is imported" in done.err
    assert ", all of it: 10 clips imported" in done.err
    sides = {row["split"] for row in fine("clips", tmp_path / "out", "--json").json()["clips"]}
    assert sides == {"train", "valid"}


@pytest.mark.parametrize("name", ["default", None])
def test_a_folder_here_needs_no_config(name: str | None, base: Path, recordings: Path, tmp_path: Path) -> None:
    """An audiofolder: what the datasets library calls its only config is none."""
    folder = tmp_path / "in"
    shutil.copytree(recordings / "wavs", folder / "wavs")
    rows = [line.split("|") for line in (recordings / "metadata.csv").read_text(encoding="utf-8").splitlines()]
    lines = [{"file_name": f"wavs/{row[0]}.wav", "text": row[-1]} for row in rows]
    (folder / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    asked = {"filter_on_speaker_id": None, "speaker_id_column_name": None, "eval_split_name": None}
    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=folder, **asked, dataset_config_name=name)
    done = train(config, *FEW, "--dry-run")
    assert "10 clips imported" in done.err and "--config default" not in done.err


NOT_IMPORTED: list[tuple[str, str, dict[str, Any], str]] = [
    ("notes.md", "", {}, "recordings and no text; it must be a folder or an archive of recordings with their texts"),
    ("list.csv", "path,words\nx,y\n", {"text_column_name": "word"}, "text_column_name = word: list.csv has no column"),
    ("list.csv", "path,words\nx,y\n", {"audio_column_name": "path"}, "name it with text_column_name = NAME"),
    ("metadata.csv", "z|one\n", {}, "has metadata for one recording but no audio"),
    ("metadata.csv", "file_name,text\nwavs/a.wav,x\n", {"train_split_name": "odd"}, "has no split 'odd'; it has train"),
    ("list.csv", "path,text\n/x/a.wav,y\n", {}, "or import it with 'olu import' into a workspace of your own"),
]


@pytest.mark.parametrize(("table", "text", "values", "said"), NOT_IMPORTED)
def test_what_cannot_be_imported_leaves_nothing(
    table: str, text: str, values: dict[str, Any], said: str, base: Path, tmp_path: Path
) -> None:
    folder = sounds(tmp_path / "in", table, text)
    config = written(tmp_path, model_name_or_path=str(base), dataset_name=str(folder), do_lower_case=True, **values)
    done = olu("train", tmp_path / "new" / "ws", "--from-hf-vits", config, "--dry-run")
    last = done.err.splitlines()[-1]
    assert done.code == 2 and said in last
    assert f'{config}: dataset_name = "{folder}" cannot be imported: ' in last
    assert not any(option in last for option in ("--split", "--columns", "--layout", "--config"))
    assert not (tmp_path / "new").exists()


def test_an_archive_of_a_plain_corpus_is_imported(base: Path, recordings: Path, tmp_path: Path) -> None:
    packed = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", recordings.parent, recordings.name))
    asked = {"filter_on_speaker_id": None, "speaker_id_column_name": None, "eval_split_name": "test"}
    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=packed, **asked)
    done = train(config, *FEW, "--dry-run")
    assert "is a plain archive (ljspeech: metadata.csv has id|text lines): all of it is imported" in done.err
    assert ", all of it: 10 clips imported" in done.err
    assert len(fine("clips", tmp_path / "out", "--json").json()["clips"]) == 10
    assert list((tmp_path / "out" / "corpus" / "audio").glob(".*")) == [], "nothing unpacked is left behind"
    again = list(imported(Workspace.open(tmp_path / "out"), {"dataset_name": str(packed)}, config=config))
    assert any(", all of it: 0 clips imported, 10 there already" in getattr(one, "text", "") for one in again)


def test_archives_and_files_that_hold_no_dataset_are_refused_in_the_config_s_words(base: Path, tmp_path: Path) -> None:
    def packed(name: str, table: str, text: str) -> Path:
        folder = sounds(tmp_path / name, table, text)
        return Path(shutil.make_archive(str(tmp_path / f"{name}-packed"), "zip", folder))

    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK" + bytes(99))
    for dataset, said in (
        (packed("bare", "notes.md", ""), f"bare-packed.zip has 2 recordings and no text; {MUST}"),
        (packed("in", "metadata.csv", "z|one"), "in-packed.zip has metadata for one recording but no audio"),
        (broken, "broken.zip is not a readable archive"),
        (tmp_path / "in" / "metadata.csv", "is a file"),
    ):
        (tmp_path / "ws").mkdir(exist_ok=True)
        config = written(tmp_path, model_name_or_path=str(base), dataset_name=str(dataset))
        done = olu("train", tmp_path / "ws", "--from-hf-vits", config)
        last = done.err.splitlines()[-1]
        assert done.code == 2 and said in last and "dataset_name = " in last
        assert "--split" not in last and "--layout" not in last
        assert list((tmp_path / "ws").iterdir()) == [], "a folder that was there stays"


@pytest.mark.parametrize("every", [None, ""])
def test_no_name_of_a_split_is_all_of_them(every: str | None, base: Path, dataset: Path, tmp_path: Path) -> None:
    values = {"train_split_name": every, "eval_split_name": every, "preprocessing_only": True}
    assert splits({**LEAST, **values}) == ("", "") and splits(LEAST) == ("train", "test")
    assert splits({**LEAST, "train_split_name": every, "eval_split_name": "dev"}) == ("", "dev")
    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=dataset, **values)
    done = train(config)
    assert ", all of it: 10 clips imported" in done.err and "-> every split is imported" in done.err
    if every is None:
        values["eval_split_name"] = "test"
        again = train(filled(EXAMPLES[0], tmp_path, base=base, dataset=dataset, **values))
        assert "2 clips of the split test validate" in again.err


def test_which_voices_can_be_pushed_for_training() -> None:
    from olu.families.vits.config import VitsConfig
    from olu.families.vits.foreign.to_transformers import no_discriminator, no_model

    assert no_discriminator(VitsConfig(size="mms")) == "" == no_model(VitsConfig(size="mms"))
    assert no_discriminator(VitsConfig(size="tiny")) and not no_model(VitsConfig(size="tiny"))
    assert no_model(VitsConfig(size="small", resblock="2"))


def test_preprocessing_only(base: Path, dataset: Path, tmp_path: Path) -> None:
    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=dataset, preprocessing_only=True)
    done = train(config)
    ws = tmp_path / "out"
    assert "clips are ready, at 16000 Hz" in done.out and not (ws / "runs").exists()
    states = {one["name"]: one["state"] for one in fine("status", ws, "--json").json()["stages"]}
    assert all(states[name] == "fresh" for name in ("import", "audit", "read", "prepare"))


def test_the_other_processes_do_not_wait_for_a_training_that_never_comes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from olu.stages.hf_vits import train_hf_vits

    monkeypatch.setenv("RANK", "1")
    for stop in ({"preprocessing_only": True}, {"do_train": False}):
        work = train_hf_vits(written(tmp_path, **stop), root=tmp_path / "ws")
        with pytest.raises(StopIteration) as ended:
            next(work)
        assert not ended.value.value.leads and not ended.value.value.steps


def test_one_speaker_without_a_column_and_a_workspace_of_ones_own(base: Path, dataset: Path, tmp_path: Path) -> None:
    ws = tmp_path / "mine"
    fine("new", ws, "--language", "sw")
    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=dataset, speaker_id_column_name=None)
    fine("train", ws, "--from-hf-vits", config, *FEW)
    assert newest(ws).document("speakers.json") == ["default"]
    assert not (tmp_path / "out").exists()


def test_options_that_cannot_stand_beside_it(tmp_path: Path) -> None:
    config = written(tmp_path)
    for other in (("--recipe", "x.toml"), ("--from-run", "run-001")):
        done = olu("train", "--from-hf-vits", config, *other)
        assert done.code == 2 and "whole recipe" in done.err
    assert "Missing argument 'WS'" in olu("train").err


def test_resume_latest_goes_on(base: Path, dataset: Path, tmp_path: Path) -> None:
    from olu.stages.hf_vits import train_hf_vits
    from olu.train.engine_state import StepReport

    config = filled(EXAMPLES[0], tmp_path, base=base, dataset=dataset, resume_from_checkpoint="latest")
    work = train_hf_vits(config, root=tmp_path / "out", overrides=["plan.steps=2", "plan.save_every=1"])
    for event in work:
        if isinstance(event, StepReport):
            break
    work.close()
    refused = olu("train", "--from-hf-vits", config, "--resume", "--set", "plan.steps=9")
    assert refused.code == 2 and "goes on with a run as it is" in refused.err.splitlines()[-1]
    done = train(config, "--set", "plan.steps=9")
    assert "plan.steps=9 has no effect" in done.err
    assert "going on with" in done.err and len(Run.all(tmp_path / "out" / "runs")) == 1
    assert newest(tmp_path / "out").result is not None


# ------------------------------------------------------------ bases


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def test_base_as_it_is(base: Path, ws: Workspace) -> None:
    assert base_for(ws, {**LEAST, "model_name_or_path": str(base)}, state=None) == str(base)
    assert base_for(ws, {**LEAST, "model_name_or_path": "own/er"}, state=None) == "own/er"
    named = {**LEAST, "model_name_or_path": "own/er", "model_revision": "v2"}
    assert base_for(ws, named, state=None) == "own/er@v2"


def test_base_of_several_folders(base: Path, ws: Workspace, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "tokenizer_config.json").write_text('{"normalize": false}')
    (other / "vocab.json").write_text('{"_": 0, "x": 1}')
    values = {**LEAST, "model_name_or_path": str(base), "tokenizer_name": str(other)}
    made = Path(base_for(ws, values, state=None))
    assert json.loads((made / "vocab.json").read_text()) == {"_": 0, "x": 1}
    assert (made / "model.safetensors").read_bytes() == (base / "model.safetensors").read_bytes()
    lower = {**values, "do_lower_case": True, "override_vocabulary_embeddings": True}
    made = Path(base_for(ws, lower, state=None))
    assert json.loads((made / "tokenizer_config.json").read_text())["normalize"] is True
    assert json.loads((other / "tokenizer_config.json").read_text())["normalize"] is False
    assert len(json.loads((made / "vocab.json").read_text())) > 2  # the base's own
    with pytest.raises(ConfigError, match=r"tokenizer_name: .*gone is neither a folder"):
        base_for(ws, {**values, "tokenizer_name": "gone"}, state=None)


def test_phones_go_along_with_the_symbols_they_are_about(base: Path, ws: Workspace, tmp_path: Path) -> None:
    ours = Path(shutil.copytree(base, tmp_path / "ours"))
    (ours / "phones.json").write_text("{}", encoding="utf-8")
    mixed = {**LEAST, "model_name_or_path": str(ours), "tokenizer_name": str(base)}
    assert not (Path(base_for(ws, mixed, state=None)) / "phones.json").exists()
    mixed = {**LEAST, "model_name_or_path": str(base), "tokenizer_name": str(ours)}
    assert (Path(base_for(ws, mixed, state=None)) / "phones.json").is_file()


def test_another_choice_of_parts_is_another_base(base: Path, ws: Workspace, tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tokenizer_config.json").write_text('{"add_blank": true}')
        values = {**LEAST, "model_name_or_path": str(base), "tokenizer_name": str(tmp_path / name)}
        made += [base_for(ws, values, state=None) for _ in range(2)]
    assert made[0] == made[1] != made[2] == made[3], "else an earlier run would be taken for an equal one"


def test_the_rate_of_another_feature_extractor(base: Path, ws: Workspace, tmp_path: Path) -> None:
    """Its clips were resampled to that rate there; the model's own settings knew nothing of it."""
    from olu.families.vits.foreign.detect import read_foreign

    other = tmp_path / "extractor"
    other.mkdir()
    held = {"sampling_rate": 22050, "feature_size": 64, "hop_length": 256, "n_fft": 1024}
    (other / "preprocessor_config.json").write_text(json.dumps(held))
    values = {**LEAST, "model_name_or_path": str(base), "feature_extractor_name": str(other)}
    found = read_foreign(Path(base_for(ws, values, state=None))).config
    assert (found.sampling_rate, found.mel_bins) == (22050, 64)
    assert read_foreign(base).config.sampling_rate == 16000, "the base itself is as it was"


def test_a_base_with_a_damaged_tokenizer(base: Path, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    for text in ("{", "[]"):
        (folder / "tokenizer_config.json").write_text(text)
        with pytest.raises(OluError, match=r"tokenizer_config\.json is (damaged|not a table)"):
            language_for({"model_name_or_path": str(folder)}, root=tmp_path, config=tmp_path / "c.json")


def test_base_from_a_training_state(base: Path, ws: Workspace, tmp_path: Path) -> None:
    for step in (500, 1000):
        (tmp_path / "out" / f"checkpoint-{step}").mkdir(parents=True)
    state = tmp_path / "out" / "checkpoint-1000"
    values = {"model_name_or_path": str(base), "output_dir": str(tmp_path / "out")}
    for asked in ("latest", True, "elsewhere/checkpoint-1000", str(state)):
        assert state_for({**values, "resume_from_checkpoint": asked}) == state
    assert state_for(values) is None
    with pytest.raises(ConfigError, match="not a folder"):
        state_for({**values, "resume_from_checkpoint": "checkpoint-7"})
    assert base_for(ws, values, state=state) == str(state)
    (tmp_path / "out" / "tokenizer_config.json").write_text('{"normalize": false}')
    with pytest.raises(ConfigError, match="do_lower_case"):
        base_for(ws, {**values, "do_lower_case": True}, state=state)


def test_the_language_of_a_base(base: Path, tmp_path: Path) -> None:
    where = {"root": tmp_path, "config": tmp_path / "c.json"}
    assert language_for({"model_name_or_path": str(base)}, **where) == ("swa", "")
    assert language_for({"model_name_or_path": "owner/mms-tts-amh-train"}, **where) == ("amh", "")
    by_name = tmp_path / "amh-mms-20min"
    by_name.mkdir()
    found, told = language_for({"model_name_or_path": str(by_name)}, **where)
    assert found == "amh" and "it is what the base's folder begins with, Amharic" in told
    with pytest.raises(ConfigError, match=r"olu new .* --language CODE"):
        language_for({"model_name_or_path": str(tmp_path)}, **where)


def test_the_token_lives_as_long_as_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from olu.stages.hf_vits import _hub

    monkeypatch.delenv("HF_TOKEN", raising=False)
    with _hub({"token": "made"}):
        assert os.environ["HF_TOKEN"] == "made"
    assert "HF_TOKEN" not in os.environ


# ------------------------------------------------------------ the page


def test_the_table_of_keys_is_the_code_s() -> None:
    page = Path(__file__).parents[2] / "docs" / "hf-vits.md"
    text = page.read_text(encoding="utf-8")
    rows = [
        f"| `{key.name}` | {_default(key.default)} | {key.olu} | {key.there} |"
        for key in KEYS.values()
        if not key.inert or key.name in {**MODEL, **DATA}
    ]
    rows += ["", "| keys that nothing there reads | here |", "|---|---|"]
    rows += [f"| {', '.join(f'`{name}`' for name in names.split())} | {olu} |" for olu, names in UNREAD.items()]
    table = "\n".join(["| key | default | here | there |", "|---|---|---|---|", *rows])
    if os.environ.get("OLU_WRITE_DOCS"):
        head, tail = text.partition("<!-- keys -->")[0], text.partition("<!-- /keys -->")[2]
        page.write_text(f"{head}<!-- keys -->\n{table}\n<!-- /keys -->{tail}", encoding="utf-8")
        return
    assert table in text, "write it anew: OLU_WRITE_DOCS=1 pytest tests/cli/test_hf_vits.py -k table"


def _default(value: Any) -> str:
    return value if value == REQUIRED else f"`{json.dumps(value, ensure_ascii=False)}`"

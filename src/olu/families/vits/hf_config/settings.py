"""A finetune-hf-vits config as settings of a recipe, and what became of each key, in sentences.

Every key that it may have stands in keys.toml; a config is checked against them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from olu.core.config import did_you_mean
from olu.core.errors import ConfigError
from olu.core.parse import BadData, load_json, load_toml

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
    """`to` names the recipe settings that take the value as it is; `worked` those that are worked out below."""

    name: str
    kind: str
    olu: str  # what becomes of it
    default: Any = None
    to: tuple[str, ...] = ()
    worked: tuple[str, ...] = ()  # recipe settings that are worked out from it
    there: str = ""  # what it did in the original, where that is not what its name says
    inert: bool = False  # it had no effect in the original
    yes: str = ""  # what true comes to, where that is no setting
    no: str = ""


@dataclass(frozen=True)
class Beside:
    """Keys without an effect in the original where another key is on (set, true or above 0) or off."""

    keys: str
    key: str
    on: bool
    why: str
    olu: str


def _row(name: str, row: dict[str, Any]) -> Key:
    lists: dict[str, Any] = {field: tuple(row.pop(field, ())) for field in ("to", "worked")}
    default = REQUIRED if row.pop("required", False) else row.pop("default", None)
    return Key(name=name, default=default, **lists, **row)


TABLE = load_toml(Path(__file__).with_name("keys.toml"))
UNREAD: dict[str, str] = {
    row["olu"]: row["keys"] for row in TABLE["unread"]
}  # what Olu does -> keys nothing there reads
BESIDE = tuple(Beside(**row) for row in TABLE["beside"])
KEYS = {name: _row(name, row) for name, row in TABLE["keys"].items()} | {
    name: Key(name, "any", olu, there=LOOP, inert=True) for olu, names in UNREAD.items() for name in names.split()
}
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


WEIGHT_DECAY = 0.01  # AdamW's own, which the original always used
KEEP_ALL = 1_000_000
# The original's name -> ours, and whether it warms up. Without a key for them, restarts and powers are as below.
SCHEDULES = {
    "linear": ("linear", True),
    "polynomial": ("linear", True),
    "cosine": ("cosine", True),
    "cosine_with_restarts": ("cosine", True),
    "constant": ("constant", False),
    "constant_with_warmup": ("constant", True),
}
REPORTERS = (
    *("all", "none", "tensorboard", "wandb", "azure_ml", "clearml", "codecarbon", "comet_ml", "dagshub", "dvclive"),
    *("flyte", "mlflow", "neptune", "swanlab", "trackio"),
)
COLUMNS = {"audio_column_name": "audio", "text_column_name": "text", "speaker_id_column_name": "speaker"}
SAME_SPLIT = "4 % of the clips are held back to validate: figures on clips that train say nothing of others"

Values = Mapping[str, Any]


def get(values: Values, name: str) -> Any:
    """What the config says, or what the original does without it."""
    found = values.get(name)
    return KEYS[name].default if found is None else found


def splits(values: Values) -> tuple[str, str]:
    """The split that trains and the one that validates: the same where none is named; empty is the whole dataset."""
    train, held = (values.get(name) or "" if name in values else str(KEYS[name].default) for name in SPLITS)
    return train, held or train


def settings(values: Values, *, device: str, updates: int | None = None) -> dict[str, Any]:
    """Recipe settings by their dotted names. Without `updates` (of one epoch) what depends on the clips is left out."""
    flat: dict[str, Any] = {"family": "vits", "model.weight_decay": WEIGHT_DECAY}
    for key in KEYS.values():
        if key.to and (value := get(values, key.name)) is not None:
            flat |= dict.fromkeys(key.to, int(value) if key.kind == "whole" else value)
    flat["data.max_tokens"] = max(1, math.ceil(get(values, "max_tokens_length")) - 1)
    if values.get("speaker_id_column_name") and (wanted := values.get("filter_on_speaker_id")) is not None:
        flat["data.speakers"] = [str(wanted)]
    if spoken := values.get("full_generation_sample_text"):
        flat["plan.sentences"] = [spoken]
    flat["model.adam_betas"] = [get(values, "adam_beta1"), get(values, "adam_beta2")]
    flat["plan.batch_seconds"] = float(flat["plan.batch_clips"] * flat["data.max_seconds"])
    flat["plan.keep"] = int(get(values, "save_total_limit") or KEEP_ALL)
    flat["plan.precision"] = _precision(values, device)
    return flat | _lengths(values, updates) | _rates(values, updates)


def _precision(values: Values, device: str) -> str:
    asked = [name for name in ("fp16", "bf16") if get(values, name)]
    if len(asked) == 2:
        raise ConfigError("fp16 and bf16 are both true: choose one")
    return asked[0] if asked and device.startswith("cuda") else "fp32"


def _steps(values: Values, updates: int | None) -> int | None:
    if (most := int(get(values, "max_steps"))) > 0:
        return most
    epochs = _above_0(values, "num_train_epochs")
    return None if updates is None else max(1, int(epochs * updates))


def _lengths(values: Values, updates: int | None) -> dict[str, Any]:
    steps = _steps(values, updates)
    save = _share(_above_0(values, "save_steps"), steps)
    apart = get(values, "do_eval") and values.get("eval_steps") is not None
    check = _share(_above_0(values, "eval_steps"), steps) if apart else save
    found = {"plan.steps": steps, "plan.save_every": save, "plan.validate_every": check}
    return {name: value for name, value in found.items() if value is not None}


def _above_0(values: Values, name: str) -> float:
    """Where it counts, nothing is rounded up in silence."""
    if (found := get(values, name)) <= 0:
        raise ConfigError(f"{name} must be above 0, not {json.dumps(found)}")
    return float(found)


def _share(every: float, steps: int | None) -> int | None:
    """A number of steps; below 1 it is a share of all of them."""
    if every >= 1:
        return int(every)
    return None if steps is None else max(1, int(every * steps))


def _rates(values: Values, updates: int | None) -> dict[str, Any]:
    if get(values, "do_step_schedule_per_epoch"):
        return {"plan.schedule": "exponential", "plan.decay": get(values, "lr_decay")}
    kind = get(values, "lr_scheduler_type")
    if kind not in SCHEDULES:
        hint = did_you_mean(kind, SCHEDULES) or f"; choose one of {', '.join(SCHEDULES)}"
        raise ConfigError(f"lr_scheduler_type: there is no {kind!r} here{hint}")
    ours, warms_up = SCHEDULES[kind]
    found: dict[str, Any] = {"plan.schedule": ours}
    if ours != "constant":
        found["plan.final_rate"] = 0.0
    steps, warmup = _steps(values, updates), get(values, "warmup_steps")
    if warmup < 1:
        warmup = None if steps is None else math.ceil(steps * (warmup or get(values, "warmup_ratio")))
    if warms_up and warmup is not None:
        found["plan.warmup_steps"] = int(warmup)
    return found


def views(values: Values) -> tuple[list[str], list[str]]:
    """`report_to` as changes of the view, and what has to be said of them."""
    asked = values.get("report_to")
    if asked is None:
        return [], []
    names = [asked] if isinstance(asked, str) else list(asked)
    for name in names:
        if name not in REPORTERS:
            hint = did_you_mean(name, REPORTERS) or f"; known: {', '.join(REPORTERS)}"
            raise ConfigError(f"report_to: unknown {name!r}{hint}")
    if not names or "none" in names:
        return ["view.tensorboard=false", 'view.wandb=""'], []
    changes, said = [], []
    for name in ("tensorboard", "wandb"):
        there = find_spec(name) is not None
        if name in names and not there:
            said.append(f"report_to: {name} is not installed, so nothing goes to it; run.html shows the same figures")
        elif there and (name in names or "all" in names):
            project = json.dumps(get(values, "project_name"), ensure_ascii=False)
            changes.append("view.tensorboard=true" if name == "tensorboard" else f"view.wandb={project}")
    said += [f"report_to: {name} is not served; run.html and metrics.jsonl hold all figures" for name in names
             if name not in ("tensorboard", "wandb", "all")]  # fmt: skip
    return changes, said


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for dotted, value in flat.items():
        *sections, name = dotted.split(".")
        here = result
        for section in sections:
            here = here.setdefault(section, {})
        here[name] = value
    return result


def inert(values: Values, name: str) -> tuple[str, str] | None:
    """Why a key had no effect in the original beside the others of this config, and what happens here."""
    key = KEYS[name]
    if key.inert:
        return key.there, key.olu
    found = (one for one in BESIDE if name in one.keys.split() and _is_on(get(values, one.key)) == one.on)
    return next(((one.why, one.olu) for one in found), None)


def _is_on(value: Any) -> bool:
    return value > 0 if isinstance(value, int | float) else bool(value)


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
    if KEYS[name].yes:
        return KEYS[name].yes if value else KEYS[name].no
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

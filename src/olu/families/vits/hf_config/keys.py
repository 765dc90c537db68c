"""Every key a finetune-hf-vits config may have, from keys.toml, and a config that is checked against them."""

from __future__ import annotations

import json
from dataclasses import dataclass
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
    """`to` names the recipe settings that take the value as it is; `worked` those that settings.py works out."""

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

"""The base a finetune-hf-vits config names, put together where it takes its parts from several places."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError
from olu.core.files import Workspace, hash_value, whole, write_json
from olu.core.places import is_hub_id, located, named
from olu.families.vits.hf_config.settings import get
from olu.train.base_facts import MMS, language_of

FOLDER = "hf-base"
TOKENIZER = "tokenizer_config.json"
EXTRACTOR = "preprocessor_config.json"
SYMBOLS = ("vocab.json", "phones.json")  # the second is Olu's, and about the first
PARTS = {
    "config_name": ("config.json",),
    "tokenizer_name": (*SYMBOLS, TOKENIZER, "special_tokens_map.json", "added_tokens.json"),
    "feature_extractor_name": (EXTRACTOR,),
}
STATE = re.compile(r"checkpoint-(\d+)")


def base_for(ws: Workspace, values: Mapping[str, Any], *, state: Path | None) -> str:
    """A path, or a name on the hub. `state`: a checkpoint of the original, which has all beside itself."""
    name = _named(values, "model_name_or_path")
    laid = {key: _named(values, key) for key in PARTS if values.get(key)}
    laid = {} if state else {key: other for key, other in laid.items() if other != name}
    lower = bool(get(values, "do_lower_case")) and not _is_lower(
        state.parent if state else located(laid.get("tokenizer_name", name))
    )
    if state:
        if lower:
            raise ConfigError(f'do_lower_case: write "normalize": true into {state.parent / TOKENIZER} first')
        return str(state.resolve())
    if not laid and not lower:
        return name
    return str(_composed(ws, located(name), laid, lower=lower, keep=get(values, "override_vocabulary_embeddings")))


def _named(values: Mapping[str, Any], key: str) -> str:
    name, revision = named(values[key]), get(values, "model_revision")
    return f"{name}@{revision}" if is_hub_id(name) and revision != "main" else name


def _composed(ws: Workspace, base: Path, laid: Mapping[str, str], *, lower: bool, keep: bool) -> Path:
    """The base with files of others laid over its own; with `keep` its alphabet stays, and grows as it must."""
    if not base.is_dir():
        raise ConfigError(f"model_name_or_path: {base} is one file, so {next(iter(laid), 'do_lower_case')} cannot act")
    # another choice of parts is another base: an earlier run is not taken for the same
    place = ws.root / f"{FOLDER}-{hash_value([str(base), dict(laid), lower, keep])[:8]}"
    with whole(place) as made:
        made.mkdir()
        _take(base, made, [path.name for path in base.iterdir() if path.is_file()])
        for key, other in laid.items():
            folder = located(other)
            if not folder.is_dir():
                raise ConfigError(f"{key}: {other} is neither a folder nor a name on the hub: check it")
            if key == "tokenizer_name" and not keep:
                (made / SYMBOLS[1]).unlink(missing_ok=True)  # of the base, whose symbols these are not
            _take(folder, made, [file for file in PARTS[key] if not (keep and file in SYMBOLS)])
        if lower:
            _lay(made / TOKENIZER, {"normalize": True})
        if "feature_extractor_name" in laid:
            _lay(made / "config.json", _rate_in(made / EXTRACTOR))
    return place.resolve()


def _lay(path: Path, values: Mapping[str, Any]) -> None:
    """Written anew: the file may be the base's own under a second name."""
    held = _table(path)
    path.unlink(missing_ok=True)
    write_json(path, {**held, **values})


def _rate_in(path: Path) -> dict[str, Any]:
    """There the clips were resampled to the feature extractor's rate, so that is what the model learnt to speak at."""
    held = _table(path)
    return {"sampling_rate": held["sampling_rate"]} if "sampling_rate" in held else {}


def _is_lower(folder: Path) -> bool:
    return bool(_table(folder / TOKENIZER).get("normalize", True))


def _table(path: Path) -> dict[str, Any]:
    """A file of a base, which may lack it."""
    from olu.families.vits.foreign.read import json_of  # torch comes with it

    return json_of(path) if path.is_file() else {}


def _take(source: Path, into: Path, files: Iterable[str]) -> None:
    """The same file under a second name where the disk can; weights are large, and nobody writes into them."""
    for file in files:
        if (source / file).is_file():
            (into / file).unlink(missing_ok=True)
            try:
                os.link((source / file).resolve(), into / file)
            except OSError:
                shutil.copyfile(source / file, into / file)


def state_for(values: Mapping[str, Any]) -> Path | None:
    """The checkpoint folder of the original that `resume_from_checkpoint` means, if there is one."""
    asked, output = values.get("resume_from_checkpoint"), Path(values["output_dir"])
    if not asked:
        return None
    if asked is True or asked == "latest":
        found = {int(match[1]): path for path in output.glob("checkpoint-*") if (match := STATE.fullmatch(path.name))}
        return found[max(found)] if found else None
    if not isinstance(asked, str):
        raise ConfigError(f'resume_from_checkpoint must be "latest" or a folder, not {asked!r}')
    for folder in (Path(asked), output / Path(asked).name):
        if folder.is_dir():
            return folder
    raise ConfigError(f'resume_from_checkpoint: {asked} is not a folder: name one, or write "latest"')


def language_for(values: Mapping[str, Any], *, root: Path, config: Path) -> tuple[str, str]:
    """Its code, and what tells it: the base knows it, or its name does; the config has no key for it."""
    for key in ("tokenizer_name", "model_name_or_path"):
        if not values.get(key):
            continue
        name = _named(values, key)
        if not is_hub_id(name) and not Path(name).exists():
            raise ConfigError(f"{key}: {values[key]} is neither here nor an OWNER/NAME on the hub: check it")
        fetched = is_hub_id(name) and not MMS.search(name)
        place = located(name) if fetched else Path(name)
        _table(place / TOKENIZER)  # a damaged one is said
        found, by = language_of(place, origin=name if is_hub_id(name) else "")
        if found is not None:
            told = f"; its files name none: it is what the base's folder begins with, {found.name}"
            return found.code, told if by == "name" else ""
    raise ConfigError(
        f"the base does not tell its language: make the workspace with 'olu new {root} --language CODE',"
        f" then 'olu train {root} --from-hf-vits {config}'"
    )

"""Checkpoints of piper's training: a Lightning `.ckpt` with both networks, and the config.json of its dataset."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from olu.core.errors import TrainError
from olu.families.vits.config import VitsConfig
from olu.families.vits.foreign.names import to_ours
from olu.families.vits.foreign.original import original_config
from olu.families.vits.foreign.read import (
    MOST_SPEAKERS,
    Foreign,
    by_id,
    count_of,
    json_of,
    model_of,
    settings_of,
    unread_note,
)
from olu.families.vits.weights import fold

GENERATOR, DISCRIMINATOR = "model_g.", "model_d."
MARKS = {"^": "<start>", "$": "<end>"}  # they stand around every text there, and are never said
NOISES = {"noise_scale": "noise_scale", "noise_w": "noise_scale_duration"}  # of what it speaks with -> ours


def read_piper(path: Path) -> Foreign:
    """A folder with one `.ckpt`, or the file; config.json lies beside it."""
    folder = path if path.is_dir() else path.parent
    file = _file(folder) if path.is_dir() else path
    raw = json_of(config_of(file))
    where = f"{config_of(file)}"
    state, rest = model_of(file, key="state_dict")
    taken = {name.removeprefix(GENERATOR).removeprefix(DISCRIMINATOR): value for name, value in state.items()}
    if not any(name.startswith(GENERATOR) for name in state):
        raise TrainError(f"{file} has no {GENERATOR}* tensors: is it a checkpoint of piper's training?")
    weights, unread = to_ours(fold(taken))
    made = {key: _value(value) for key, value in dict(rest.get("hyper_parameters", {})).items()}
    speakers = count_of({**made, **raw}, "num_speakers", 1, most=MOST_SPEAKERS, where=where)
    if speakers > 1:
        made["gin_channels"] = made.get("gin_channels") or 512
    data = {
        **made,
        "sampling_rate": raw.get("audio", {}).get("sample_rate", made.get("sample_rate", 22050)),
        "n_mel_channels": made.get("mel_channels", 80),
    }
    config = original_config(made, data, train=made, speakers=speakers, where=f"{file}")
    said = "piper's start and end marks are not used here: texts begin and end with the blank"
    return Foreign(
        config=_spoken(config, raw.get("inference"), where=where),
        symbols=_symbols(raw, size=len(weights["text_encoder.embed_tokens.weight"]), where=where),
        interleave=True,
        lower=True,
        via="espeak" if raw.get("phoneme_type", "espeak") == "espeak" else None,
        num_speakers=speakers,
        weights={name: value.float() for name, value in weights.items()},
        speakers=_names(raw.get("speaker_id_map", {}), count=speakers),
        notes=(said, *unread_note(unread)),
    )


def _spoken(config: VitsConfig, inference: Any, *, where: str) -> VitsConfig:
    """With the noise and the tempo that piper would speak with."""
    held = inference if isinstance(inference, dict) else {}
    own = {ours: held[key] for key, ours in NOISES.items() if key in held}
    if (scale := held.get("length_scale", 1)) != 1:
        if not isinstance(scale, int | float) or not scale > 0:
            raise TrainError(f"{where}: inference.length_scale is {scale!r}, and should be a number above 0")
        own["speaking_rate"] = 1 / scale
    return settings_of({**config.model_dump(mode="json"), **own}, where=where) if own else config


def config_of(file: Path) -> Path:
    own = file.with_name(f"{file.name}.json")
    return own if own.is_file() else file.with_name("config.json")


def _file(folder: Path) -> Path:
    found = sorted(folder.glob("*.ckpt"))
    if len(found) != 1:
        said = "no .ckpt file" if not found else f"{len(found)} .ckpt files"
        raise TrainError(f"{folder} has {said}: name the file itself with --base")
    return found[0]


def _value(value: Any) -> Any:
    """Newer versions keep some lists as text."""
    if isinstance(value, str) and value[:1] in "([":
        try:
            return ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return value
    return value


def _symbols(raw: dict[str, Any], *, size: int, where: str) -> tuple[str, ...]:
    table = raw.get("phoneme_id_map")
    if not isinstance(table, dict):
        raise TrainError(f"{where} has no phoneme_id_map: copy the config.json of the dataset beside the checkpoint")
    ids = {symbol: id[0] if isinstance(id, list) and len(id) == 1 else id for symbol, id in table.items()}
    if wrong := [symbol for symbol, id in ids.items() if not isinstance(id, int) or not 0 <= id < size]:
        raise TrainError(f"{where}: phoneme_id_map gives {wrong[0]!r} no single id below {size}")
    if ids.get("_") != 0:
        raise TrainError(f"{where}: phoneme_id_map must give '_', the blank, the id 0")
    return by_id({MARKS.get(symbol, symbol): id for symbol, id in ids.items()}, size=size)


def _names(table: dict[str, int], *, count: int) -> tuple[str, ...]:
    by_number = {id: name for name, id in table.items()}
    return tuple(by_number[id] for id in range(count)) if count > 1 and set(by_number) == set(range(count)) else ()

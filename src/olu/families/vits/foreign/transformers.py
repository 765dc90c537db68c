"""Folders of transformers' `VitsModel`, and of finetune-hf-vits, which keeps a discriminator beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor

from olu.core.errors import TrainError
from olu.families.vits.config import SOURCE_ONLY, VitsConfig
from olu.families.vits.foreign.names import DISCRIMINATOR
from olu.families.vits.foreign.read import (
    MOST_SPEAKERS,
    MOST_SYMBOLS,
    Foreign,
    by_id,
    count_of,
    json_of,
    must_be,
    names_of,
    settings_of,
    tensors_of,
)
from olu.families.vits.weights import fold

IGNORED = {  # fields of VitsConfig that change nothing here
    "layerdrop",  # the original has none, and it would skip layers in training
    "initializer_range",
    "vocab_size",
    "num_speakers",
    "pad_token_id",
    *SOURCE_ONLY,  # that decoder is Olu's own
}
FIXED = {"depth_separable_channels": 2, "model_type": "vits"}
SECOND = "model_1.safetensors"  # the discriminator in a state that Accelerate saved
PHONES = "phones.json"  # written by Olu: symbol -> the one character that stands for it in vocab.json
NAMES = ("model.safetensors", "pytorch_model.bin")
EXTRACTOR = "preprocessor_config.json"  # of finetune-hf-vits: what training heard; transformers itself has none


def read_transformers(folder: Path, *, file: Path | None = None) -> Foreign:
    """A folder as `VitsModel.save_pretrained` and `VitsTokenizer` write it, or a `checkpoint-N` inside one."""
    home = folder if (folder / "config.json").exists() or not is_state(folder) else folder.parent
    raw = json_of(home / "config.json")
    must_be(raw, FIXED, where=f"{home}/config.json")
    where = f"{home}/config.json"
    num_speakers = max(1, count_of(raw, "num_speakers", 1, most=MOST_SPEAKERS, where=where))
    size = count_of(raw, "vocab_size", 38, most=MOST_SYMBOLS, where=where)
    symbols = _symbols(json_of(home / "vocab.json"), size=size, folder=home)
    tokenizer = json_of(home / "tokenizer_config.json") if (home / "tokenizer_config.json").exists() else {}
    ways = {"uroman": tokenizer.get("is_uroman"), "espeak": tokenizer.get("phonemize")}
    return Foreign(
        config=_heard(home, _config(raw, where=f"{home}/config.json", num_speakers=num_speakers)),
        symbols=symbols,
        interleave=bool(tokenizer.get("add_blank", True)),
        lower=bool(tokenizer.get("normalize", True)),
        via=next((way for way, asked in ways.items() if asked), None),
        num_speakers=num_speakers,
        weights={name: value.float() for name, value in _weights(folder, file).items()},
        speakers=names_of(raw.get("speakers"), count=num_speakers),
        phones=(home / PHONES).is_file(),
    )


def is_state(folder: Path) -> bool:
    """Whether this is one of finetune-hf-vits' `checkpoint-N` folders, whose settings lie one folder up."""
    return (folder / SECOND).is_file() and not (folder / "config.json").exists()


def _config(raw: dict[str, Any], *, where: str, num_speakers: int) -> VitsConfig:
    known = {key: value for key, value in raw.items() if key in VitsConfig.model_fields and key not in IGNORED}
    if num_speakers == 1:
        known.pop("speaker_embedding_size", None)  # 0 there; read only when there are speakers
    for key in ("discriminator_period_channels", "discriminator_scale_channels"):
        if key in known:  # finetune-hf-vits counts the one channel of sound too, and writes null for none
            channels = list(known[key] or ())
            known[key] = channels[1:] if channels[:1] == [1] else channels
    return settings_of(known, where=where)


def _heard(home: Path, config: VitsConfig) -> VitsConfig:
    """With the mel bands of the feature extractor beside it; all else of that must agree with the model."""
    path = home / EXTRACTOR
    if not path.is_file():
        return config
    held = json_of(path)
    own = {"sampling_rate": config.sampling_rate, "hop_length": config.hop_length, "n_fft": config.fft_size}
    for key, value in own.items():
        if key in held and held[key] != value:
            raise TrainError(f"{path}: {key} is {held[key]!r}, config.json makes it {value}: they must agree")
    if "feature_size" not in held:
        return config
    return settings_of({**config.model_dump(mode="json"), "mel_bins": held["feature_size"]}, where=str(path))


def _weights(folder: Path, file: Path | None) -> dict[str, Tensor]:
    path = file or next((folder / name for name in NAMES if (folder / name).exists()), None)
    if path is None:
        raise TrainError(f"{folder} has no model.safetensors: save the model with transformers' save_pretrained")
    weights = fold(tensors_of(path))
    if (folder / SECOND).is_file():
        weights = {name: value for name, value in weights.items() if not name.startswith(DISCRIMINATOR)}
        weights |= {DISCRIMINATOR + name: value for name, value in fold(tensors_of(folder / SECOND)).items()}
    return weights


def _symbols(table: dict[str, int], *, size: int, folder: Path) -> tuple[str, ...]:
    if not all(isinstance(id, int) for id in table.values()):
        raise TrainError(f"{folder}/vocab.json: every symbol needs a whole number as its id")
    if len(set(table.values())) != len(table) or any(not 0 <= id < size for id in table.values()):
        raise TrainError(f"{folder}/vocab.json: ids must be distinct and below vocab_size = {size}")
    path = folder / PHONES
    names = {one: symbol for symbol, one in json_of(path).items()} if path.exists() else {}
    return by_id({names.get(one, one): id for one, id in table.items()}, size=size)

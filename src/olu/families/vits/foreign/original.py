"""Checkpoints of the original VITS code and of MMS: `G_*.pth`, `D_*.pth`, config.json and vocab.txt."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from olu.core.errors import TrainError
from olu.families.vits.config import VitsConfig
from olu.families.vits.foreign.names import to_ours
from olu.families.vits.foreign.read import (
    MOST_SPEAKERS,
    OTHER_NAMES,
    Foreign,
    count_of,
    in_order,
    json_of,
    model_of,
    must_be,
    names_of,
    settings_of,
    unread_note,
)
from olu.families.vits.model import Generator
from olu.families.vits.weights import fold

# The symbols of the published English checkpoints, whose code has them and whose folders do not.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PHONES = "ɑɐɒæɓʙβɔɕçɗɖðʤəɘɚɛɜɝɞɟʄɡɠɢʛɦɧħɥʜɨɪʝɭɬɫɮʟɱɯɰŋɳɲɴøɵɸθœɶʘɹɺɾɻʀʁɽʂʃʈʧʉʊʋⱱʌɣɤʍχʎʏʑʐʒʔʡʕʢǀǁǂǃˈˌːˑʼʴʰʱʲʷˠˤ˞↓↑→↗↘'̩'ᵻ"
ENGLISH = ("_", *';:,.!?¡¿—…"«»“” ', *LETTERS, *PHONES)
BY_PHONES = ("english_cleaners2",)  # cleaners that hand the text to espeak-ng
KNOWN = ("basic_cleaners", "transliteration_cleaners", "english_cleaners", *BY_PHONES)

# What the original code has in it as numbers, under our names.
BUILT_IN: dict[str, Any] = OTHER_NAMES["original"]["built_in"]
DISCRIMINATOR_SETTINGS: dict[str, Any] = {
    name: tuple(value) if isinstance(value, list) else value
    for name, value in OTHER_NAMES["original"]["discriminator"].items()
}
MODEL: dict[str, str] = OTHER_NAMES["original"]["model"]  # its [model] -> ours
DATA: dict[str, str] = OTHER_NAMES["original"]["data"]
DROPOUTS = ("hidden_dropout", "attention_dropout", "activation_dropout")


def read_original(path: Path) -> Foreign:
    """A folder with G_*.pth, of which the newest counts, or one such file."""
    folder = path if path.is_dir() else path.parent
    file = newest(folder) if path.is_dir() else path
    where = f"{folder}/config.json"
    raw = json_of(folder / "config.json")
    data = raw.get("data", {})
    state, _ = model_of(file, key="model")
    weights, unread = to_ours(fold(state))
    if "text_encoder.embed_tokens.weight" not in weights:
        raise TrainError(f"{file} has no enc_p.emb.weight: is it a VITS generator?")
    discriminator, too_much, notes = _discriminator(file)
    weights |= discriminator
    symbols, more = _symbols(folder, raw, size=len(weights["text_encoder.embed_tokens.weight"]))
    speakers = count_of(data, "n_speakers", 0, most=MOST_SPEAKERS, where=where)
    return Foreign(
        config=original_config(raw.get("model", {}), data, train=raw.get("train", {}), speakers=speakers, where=where),
        symbols=symbols,
        interleave=bool(data.get("add_blank", True)),
        lower=True,
        via=_via(data),
        num_speakers=max(1, speakers),
        weights={name: value.float() for name, value in weights.items()},
        speakers=names_of(raw.get("speakers"), count=speakers),
        notes=(*notes, *more, *_cleaners(data), *unread_note([*unread, *too_much])),
    )


def newest(folder: Path) -> Path:
    found = sorted(folder.glob("G_*.pth"), key=step_of)
    if not found:
        raise TrainError(f"{folder} has no G_*.pth: a base of the original VITS holds its generator in one")
    return found[-1]


def step_of(path: Path) -> int:
    digits = re.sub(r"\D", "", path.stem)
    return int(digits) if digits else -1


def original_config(
    model: dict[str, Any], data: dict[str, Any], *, train: dict[str, Any], speakers: int, where: str
) -> VitsConfig:
    """Settings from the three tables of an original config.json; piper keeps the same under the same names."""
    must_be(model, {"use_spectral_norm": False}, where=where)
    must_be(data, {"win_length": data.get("filter_length", 1024)}, where=where)
    known = {**BUILT_IN, **DISCRIMINATOR_SETTINGS}
    known |= {ours: model[key] for key, ours in MODEL.items() if key in model}
    known |= {ours: data[key] for key, ours in DATA.items() if key in data}
    known |= {key: model["p_dropout"] for key in DROPOUTS if "p_dropout" in model}
    known["spectrogram_bins"] = count_of(data, "filter_length", 1024, most=2**20, where=where) // 2 + 1
    known["sampling_rate"] = data.get("sampling_rate", 22050)
    known["segment_size"] = train.get("segment_size", 8192)
    if speakers > 1:
        known["speaker_embedding_size"] = model.get("gin_channels", 256)
    config = settings_of(known, where=where)
    must_be(data, {"hop_length": config.hop_length}, where=where)
    return config


def _discriminator(file: Path) -> tuple[dict[str, Tensor], list[str], list[str]]:
    """The discriminator of the same step, else the newest beside it; what it held too much, and what to say."""
    beside = sorted(file.parent.glob("D_*.pth"), key=step_of)
    if not beside:
        return {}, [], []
    same = [path for path in beside if step_of(path) == step_of(file)]
    chosen = same[0] if same else beside[-1]
    ours, unread = to_ours(fold(model_of(chosen, key="model")[0]))
    said = f"{file.name} goes with {chosen.name}: no discriminator of its own step is there"
    return ours, unread, [] if same else [said]


def _symbols(folder: Path, raw: dict[str, Any], *, size: int) -> tuple[tuple[str, ...], list[str]]:
    for name in ("vocab.txt", "symbols.txt"):
        if (folder / name).is_file():
            lines = (folder / name).read_text(encoding="utf-8").split("\n")  # a line with one space is the space
            lines = lines[:-1] if lines[-1] == "" else lines
            return in_order(lines, size=size, where=f"{folder}/{name}"), []
    if isinstance(listed := raw.get("symbols"), list) and all(isinstance(symbol, str) for symbol in listed):
        return in_order(listed, size=size, where=f"{folder}/config.json"), []
    if size == len(ENGLISH):
        said = "the base names no symbols: those of the published English VITS are taken, which are as many"
        return in_order(ENGLISH, size=size, where=str(folder)), [said]
    raise TrainError(
        f"{folder} has no vocab.txt: write the {size} symbols of its code into one, a line each, in their order"
    )


def _via(data: dict[str, Any]) -> str | None:
    if str(data.get("training_files", "")).rpartition(".")[2] == "uroman":
        return "uroman"
    return "espeak" if set(data.get("text_cleaners", ())) & set(BY_PHONES) else None


def _cleaners(data: dict[str, Any]) -> list[str]:
    if unknown := [name for name in data.get("text_cleaners", ()) if name not in KNOWN]:
        return [f"its cleaner {unknown[0]!r} is code and does not run here: texts are read by their letters"]
    return []


# ---- whether a base is as large as it says: before memory is asked for by what a stranger wrote


EMBEDDING, SPEAKERS = "text_encoder.embed_tokens.weight", "embed_speaker.weight"
MOST_MISSING = 500_000_000  # weights that a base may lack; a whole voice of the published size has 83 million


def check_sizes(base: Foreign, *, where: str) -> None:
    symbols, rows = len(base.symbols), base.weights.get(EMBEDDING)
    if rows is not None and len(rows) != symbols:
        raise TrainError(f"{where} names {symbols} symbols, its weights have {len(rows)}: they do not belong together")
    voices = base.weights.get(SPEAKERS)
    if voices is not None and base.num_speakers > 1 and len(voices) != base.num_speakers:
        raise TrainError(
            f"{where} names {base.num_speakers} speakers, its weights have {len(voices)}: they do not belong together"
        )
    if voices is None and base.num_speakers > 1:
        raise TrainError(f"{where} names {base.num_speakers} speakers, its weights know only one: take its own config")
    with torch.device("meta"):  # shapes without memory
        made = Generator(base.config, vocab_size=symbols, num_speakers=base.num_speakers).state_dict()
    lacking = sum(value.numel() for name, value in made.items() if _plain(name) not in base.weights)
    if lacking > MOST_MISSING:
        raise TrainError(f"{where} says that it has {lacking} weights more than it holds: it is not whole")


def _plain(name: str) -> str:
    """Of a weight that is normed here and folded in the base."""
    return name.replace(".parametrizations.weight.original0", ".weight").replace(
        ".parametrizations.weight.original1", ".weight"
    )

"""A model of ours as transformers' `VitsModel` folder, or as finetune-hf-vits goes on training from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from olu.core.errors import ExportError
from olu.core.files import write_json
from olu.families.vits.config import SCALE_GROUP, VitsConfig
from olu.families.vits.foreign.names import DISCRIMINATOR
from olu.families.vits.foreign.read import OTHER_NAMES
from olu.families.vits.foreign.transformers import PHONES
from olu.families.vits.learn import VitsLearner
from olu.families.vits.weights import fold
from olu.nn.discriminators import SLOPE
from olu.train.family import Card

KEYS: dict[str, list[str]] = OTHER_NAMES["transformers"]
UNUSED = "<unused-"
PRIVATE = 0xE000  # code points that stand for nothing: a symbol of several characters gets one
LIGATURES = {"t͡ʃ": "ʧ", "d͡ʒ": "ʤ", "t͡s": "ʦ", "d͡z": "ʣ", "t͡ɕ": "ʨ", "d͡ʑ": "ʥ"}


def write_transformers(learner: nn.Module, *, folder: Path, card: Card) -> list[str]:
    """config.json, vocab.json, the tokenizer's settings and model.safetensors; returns what stays behind."""
    assert isinstance(learner, VitsLearner)
    _write(folder, card=card, weights=spoken(learner, card), settings=_settings(learner.config, card=card))
    _write_preprocessor(folder, learner.config)
    left = [] if "discriminator" in card.lacks else ["the discriminator stays behind: '--to hf-train' takes it along"]
    return [*of_reading(card), *left]


def write_training(learner: nn.Module, *, folder: Path, card: Card) -> list[str]:
    """The same folder with the discriminator in it, and what finetune-hf-vits reads beside it."""
    assert isinstance(learner, VitsLearner)
    config = learner.config
    settings = {
        **_settings(config, card=card),
        "architectures": ["VitsModelForPreTraining"],
        "hop_length": config.hop_length,
    }
    weights, notes = spoken(learner, card), of_reading(card)
    if "discriminator" in card.lacks:
        notes.append("there is no discriminator: finetune-hf-vits will start a fresh one, without a warm-up")
    else:
        if why := no_discriminator(config):
            raise ExportError(f"{why}: export with '--to hf', which leaves it behind")
        weights |= {DISCRIMINATOR + name: value for name, value in fold(learner.disc.state_dict()).items()}
    _write(folder, card=card, weights=weights, settings=settings)
    _write_preprocessor(folder, config)
    if config.mel_low_hz or config.mel_top_hz != config.sampling_rate // 2:
        notes.append("finetune-hf-vits takes mel bands from 0 Hz to half the rate, whatever they were here")
    return notes


def _write_preprocessor(folder: Path, config: VitsConfig) -> None:
    write_json(
        folder / "preprocessor_config.json",
        {
            "feature_extractor_type": "VitsFeatureExtractor",
            "feature_size": config.mel_bins,
            "sampling_rate": config.sampling_rate,
            "hop_length": config.hop_length,
            "n_fft": config.fft_size,
            "padding_value": 0.0,
            "padding_side": "right",
            "return_attention_mask": False,
            "max_wav_value": 32768.0,
        },
    )


def spoken(learner: VitsLearner, card: Card) -> dict[str, Tensor]:
    """The generator without weight norm, less the parts that hold nothing."""
    gone = tuple(f"{part}." for part in card.lacks)
    weights = {name: value.detach().cpu() for name, value in fold(learner.gen.state_dict()).items()}
    return {name: value for name, value in weights.items() if not name.startswith(gone)}


def of_reading(card: Card) -> list[str]:
    """What of the reading of texts another program cannot do."""
    said = []
    if not card.by_letters:
        said.append("texts were read as phones by rules: other programs must be given phones, not the text")
    elif long := [s for s in card.symbols if len(s) > 1 and not s.startswith("<")]:
        said.append(
            f"{len(long)} symbols have several characters ({long[0]!r}): other tokenizers read them letter by letter"
        )
    if card.via == "espeak":
        said.append("other programs call espeak-ng for English, whatever the language was here")
    return said


def _settings(config: VitsConfig, *, card: Card) -> dict[str, Any]:
    if why := no_model(config):
        raise ExportError(f"{why}: use '--to mms'")
    values = config.model_dump(mode="json")
    several = len(card.speakers) > 1
    return {
        "architectures": ["VitsModel"],
        "model_type": "vits",
        **{name: values[name] for name in (*KEYS["same"], *KEYS["more"])},
        "discriminator_period_channels": [1, *config.discriminator_period_channels],
        "discriminator_scale_channels": [1, *scale] if (scale := config.discriminator_scale_channels) else None,
        "depth_separable_channels": 2,
        "layerdrop": 0.0,
        "vocab_size": len(card.symbols),
        "num_speakers": max(1, len(card.speakers)),
        "speaker_embedding_size": config.speaker_embedding_size if several else 0,
        **({"speakers": list(card.speakers)} if several else {}),
    }


def no_model(config: VitsConfig) -> str:
    """Why transformers cannot hold such a voice, or nothing."""
    return "" if config.resblock == "1" else "transformers has no blocks of model.resblock = 2, as piper's voices do"


def stand_ins(card: Card) -> dict[str, str]:
    """One character for each symbol of a voice by phones: the tokenizer there reads character by character."""
    taken = {symbol for symbol in card.symbols if len(symbol) == 1}
    found: dict[str, str] = {}
    free = iter(map(chr, range(PRIVATE, PRIVATE + len(card.symbols))))
    for symbol in card.symbols:
        special = len(symbol) > 2 and symbol.startswith("<") and symbol.endswith(">")
        if len(symbol) == 1 or special or card.by_letters:
            found[symbol] = symbol
            continue
        one = LIGATURES.get(symbol, "")
        found[symbol] = one if one and one not in taken else next(free)
        taken.add(found[symbol])
    return found


def _write(folder: Path, *, card: Card, weights: Mapping[str, Tensor], settings: dict[str, Any]) -> None:
    write_json(folder / "config.json", settings)
    stands = stand_ins(card)
    named = {stands[symbol]: id for id, symbol in enumerate(card.symbols) if not symbol.startswith(UNUSED)}
    write_json(folder / "vocab.json", named)
    if not card.by_letters:
        spoken = {
            symbol: one for symbol, one in stands.items() if not symbol.startswith("<") and symbol != card.symbols[0]
        }
        write_json(folder / PHONES, spoken)
    tokens = {"pad_token": card.symbols[0], "unk_token": "<unk>"}
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "VitsTokenizer",
            "language": card.language,
            "add_blank": card.interleave,
            "normalize": card.lower,
            "phonemize": card.via == "espeak",
            "is_uroman": card.via == "uroman",
            **tokens,
        },
    )
    write_json(folder / "special_tokens_map.json", tokens)
    save_file(_wavenets_normed(weights), folder / "model.safetensors", metadata={"format": "pt"})


def _wavenets_normed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """WaveNets are stored with weight norm, in the spelling that every version of transformers loads."""
    made = {}
    for name, value in weights.items():
        if ".wavenet." in name and name.endswith(".weight"):
            stem = name.removesuffix("weight")
            made[f"{stem}weight_g"] = value.flatten(1).norm(dim=1).view(-1, 1, 1)
            made[f"{stem}weight_v"] = value.contiguous()
        else:
            made[name] = value.contiguous()
    return made


def no_discriminator(config: VitsConfig) -> str:
    """Why finetune-hf-vits cannot build such a discriminator, or nothing.

    It counts groups of the scale discriminator in its own way, which fits the usual channels.
    """
    channels = config.discriminator_scale_channels
    fits = all(size // SCALE_GROUP == SCALE_GROUP ** (at + 1) for at, size in enumerate(channels))
    if fits and config.leaky_relu_slope == SLOPE:
        return ""
    return (
        "finetune-hf-vits has no discriminator with these model.discriminator_scale_channels (16, 64, 256, 1024"
        f" fit) and model.leaky_relu_slope ({SLOPE})"
    )

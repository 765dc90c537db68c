"""A made copy of the Igbo project's folder: recordings, metadata, MFA's TextGrids in an archive, and a checkpoint.

The names of files, symbols and tensors are those of its programs; all that is in them is made here, and small.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import tarfile
import types
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from olu.align.textgrid import TextGrid, Tier, render
from olu.audio import io
from olu.core.types import Audio, Span

from . import sounds

TEXTS = (
    "Nnọọ, kedụ ka ị mere?", "Igbo bụ asụsụ dị mma.", "Chineke dị mma.", "Nwata na-agụ akwụkwọ.", "Ọ bịara ụlọ anyị.",
    "Anyị ga-eje ahịa echi.", "Mmiri dị oyi.", "Jide aka m.", "Ha nwere nkịta abụọ.", "Gwa ya ka ọ bịa.",
    "Kpọọ m ụnyaahụ.", "Nne na nna nọ ebe a.", "Ego adịghị ya.", "Ọkụ na-enwu ebe ahụ.",
)  # fmt: skip
MARKED = (
    "Ákwà dị n'ụ́lọ̀.",
    "Ọ́kụ́ na ákwá.",
    "Ọ bụ àkwà.",
    "Ányị̀ gàrà áhị̀à.",
)  # tones written throughout or here and there
SPELLED = "ch tʃ sh ʃ gb ɡ͡b kp k͡p gh ɣ gw ɡʷ kw kʷ ny ɲ nw ŋʷ ị ɪ ọ ɔ ụ ʊ ṅ ŋ g ɡ j dʒ y j"  # letter, phone, ...
LETTERS = dict(re.findall(r"(\S+) (\S+)", SPELLED))
VOWELS = re.findall(r"\S+", "a e i ɪ o ɔ u ʊ")
CONSONANTS = re.findall(r"\S+", "b d f ɡ h dʒ k l m n ŋ p r s t v w j z tʃ ʃ ɡ͡b k͡p ɣ ɡʷ kʷ ɲ ŋʷ")
SYMBOLS = ("<pad>", "<unk>", " ", "<sil>", *VOWELS, *CONSONANTS, "˥", "˩", "ꜜ", *".,!?;:-")
NOISY = {"s", "ʃ", "f", "h", "z", "v", "tʃ", "dʒ", "k", "p", "t", "k͡p", "kʷ", "ɣ"}
EDGE, PAUSE = 0.25, 0.12  # seconds


def bare(text: str) -> str:
    """Without its tones."""
    return unicodedata.normalize("NFC", re.sub("[\u0300\u0301]", "", unicodedata.normalize("NFD", text)))


def their_phones(word: str) -> list[str]:
    """One for each letter, as the project's own rules have it: no syllabic nasals and no tones."""
    letters = re.findall(r"ch|sh|gb|kp|gh|gw|kw|ny|nw|[^\W\d_]", bare(word.lower()))
    return [LETTERS.get(sign, sign) for sign in letters]


def make_project(root: Path, texts: Sequence[str] = TEXTS, *, unknown: Sequence[str] = ()) -> Path:
    """`root` with data/waxal_igbo, textgrids.tar.gz and output_models_igbo; `unknown`: words that MFA wrote as spn."""
    data = root / "data" / "waxal_igbo"
    (data / "wavs").mkdir(parents=True)
    rows = []
    with tarfile.open(root / "textgrids.tar.gz", "w:gz") as packed:
        for number, text in enumerate(texts):
            name = f"igbo_{number:06}"
            audio, grid = _spoken(text, number, unknown)
            io.write(data / "wavs" / f"{name}.wav", io.resample(audio, 22050))
            (data / "wavs" / f"{name}.txt").write_text(text, encoding="utf-8")
            rows.append(f"{name}|{text}|{text}\n")
            made = root / "made.TextGrid"
            made.write_text(render(grid), encoding="utf-8")
            packed.add(made, f"TextGrid/{name}.TextGrid")
            made.unlink()
    (data / "metadata.csv").write_text("".join(rows), encoding="utf-8")
    make_checkpoints(root / "output_models_igbo")
    return root


def _spoken(text: str, number: int, unknown: Sequence[str]) -> tuple[Audio, TextGrid]:
    """Silence at both ends and before each second word; MFA writes it as an interval without a label."""
    random = np.random.default_rng(number)
    parts, words, phones, at = [], list[Span](), list[Span](), 0.0

    def add(label: str, wave: np.ndarray) -> None:
        nonlocal at
        parts.append(wave)
        phones.append(Span(label, at, at + len(wave) / sounds.RATE))
        at = phones[-1].end

    add("", sounds._hush(EDGE))
    for place, word in enumerate(re.findall(r"[^\s.,?!]+", text)):
        if place % 2:
            add("", sounds._hush(PAUSE))
        start, first = at, len(phones)
        for phone in their_phones(word):
            add(phone, _sound(phone, round(random.uniform(0.06, 0.14), 3), random))
        if word in unknown:
            phones[first:] = [Span("spn", start, at)]
        words.append(Span(word.lower(), start, at))
    add("", sounds._hush(EDGE))
    wave = np.concatenate(parts)
    wave = 0.3 * wave / np.abs(wave).max() + random.normal(0, 2e-3, len(wave))
    return Audio(wave.astype(np.float32), sounds.RATE), TextGrid(
        0.0, at, (Tier("words", tuple(words)), Tier("phones", tuple(phones)))
    )


def _sound(phone: str, seconds: float, random: np.random.Generator) -> np.ndarray:
    if phone in NOISY:
        return sounds._hiss(seconds, random)
    own = np.random.default_rng(sum(map(ord, phone)))
    formants = [float(own.uniform(*bounds)) for bounds in sounds.FORMANTS]
    return sounds._vowel(formants, 140 * 2 ** (random.uniform(-3, 3) / 12), seconds)


# ---------------------------------------------------------------- its model folder


def make_checkpoints(folder: Path, *, hurt: Sequence[str] = ("postnet.convolutions.2.1.running_mean",)) -> Path:
    """A last checkpoint, the final model, the symbols and the settings."""
    folder.mkdir(parents=True)
    weights = dict(tensors())
    for name in hurt:
        weights[name] = torch.full_like(weights[name], float("nan"))
    config = IgboTrainingConfig(data_dir="data/waxal_igbo", sample_rate=22050, hop_length=256, n_fft=1024, n_mels=80,
                                f_min=0.0, f_max=8000.0, hidden_dim=16, wandb_tags=None)  # fmt: skip
    held = {"model_state_dict": weights, "config": config}
    save(held, folder / "kokoro_igbo_final.pth")
    more = {"epoch": 9, "optimizer_state_dict": {"state": {}}, "loss": 0.5}
    save({**more, **held}, folder / "checkpoint_epoch_10.pth")
    table = {symbol: id for id, symbol in enumerate(SYMBOLS)}
    back = {id: symbol for symbol, id in table.items()}
    symbols = {"phoneme_to_id": table, "id_to_phoneme": back, "processor_type": "igbo_rule_g2p"}
    (folder / "phoneme_processor.pkl").write_bytes(pickle.dumps(symbols))
    (folder / "model_config.json").write_text(json.dumps({"sample_rate": 22050, "n_mels": 80}), encoding="utf-8")
    return folder


class IgboTrainingConfig:
    """Pickled under the project's name, which no reader has."""

    __module__ = "igbo_tts.config"

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class OtherTrainingConfig(IgboTrainingConfig):
    __module__ = "igbo_tts.config"


def save(held: object, path: Path) -> None:
    """As the project's code would, which is gone afterwards."""
    module = types.ModuleType("igbo_tts.config")
    module.__dict__.update(IgboTrainingConfig=IgboTrainingConfig, OtherTrainingConfig=OtherTrainingConfig)
    sys.modules.update({"igbo_tts": types.ModuleType("igbo_tts"), "igbo_tts.config": module})
    try:
        torch.save(held, path)
    finally:
        for name in ("igbo_tts", "igbo_tts.config"):
            del sys.modules[name]


def tensors(width: int = 16, layers: int = 2, feed: int = 32) -> Iterator[tuple[str, Tensor]]:
    random = torch.Generator().manual_seed(5)

    def of(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random) * 0.1

    yield "text_embedding.weight", of(len(SYMBOLS), width)
    yield "encoder_positional_encoding.pe", of(1, 40, width)
    for prefix, extra in (("transformer_encoder_layers", ()), ("decoder.layers", ("cross_attn",))):
        for number in range(layers):
            for attention in ("self_attn", *extra):
                for name in ("w_q", "w_k", "w_v", "w_o"):
                    yield f"{prefix}.{number}.{attention}.{name}.weight", of(width, width)
            yield f"{prefix}.{number}.linear1.weight", of(2 * feed, width)
            yield f"{prefix}.{number}.linear2.weight", of(width, feed)
    for number, (rows, columns) in {0: (width, width), 3: (width // 2, width), 6: (1, width // 2)}.items():
        yield f"duration_predictor.{number}.weight", of(rows, columns)
    yield "mel_projection_in.weight", of(width, 80)
    yield "mel_projection_coarse.weight", of(80, width)
    yield "stop_token_predictor.weight", of(1, width)
    for number, (out, into) in enumerate(((8, 80), (8, 8), (8, 8), (8, 8), (80, 8))):
        yield f"postnet.convolutions.{number}.0.weight", of(out, into, 5)
        for name in ("weight", "bias", "running_mean", "running_var"):
            yield f"postnet.convolutions.{number}.1.{name}", of(out)

"""Chatterbox: a transformer (T3) that writes codes for a text in a voice, and a frozen decoder of them.

Importing this needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.config import read_toml
from olu.core.errors import OluError, TrainError
from olu.families.chatterbox.config import CODE_SAMPLES, OUT_RATE, RATE, ChatterboxConfig
from olu.families.chatterbox.plan import ADVICE, LONGEST
from olu.train.family import Base, Bases, Data, Example, Family, Figures, Format, Speaks

if TYPE_CHECKING:
    from torch import nn

    from olu.core.types import Audio, Knob
    from olu.export.subject import ExportSubject
    from olu.features.store import PreparedFeature

NOISELESS = "T3 draws codes, and has no noise of its own"
ROWS = ("t3.text_emb.weight", "t3.text_head.weight")
SHORTEST = 0.6  # seconds
FASTEST = 20.0  # ids of text a second
FASTEST_BYTES = 60.0  # where letters are cut into bytes: up to three of one


def _refuses(config: ChatterboxConfig, *, samples: int, tokens: int) -> str | None:
    seconds, codes = samples / RATE, -(-samples // CODE_SAMPLES)
    if tokens == 0:
        return "its text has nothing that can be said"
    if seconds < SHORTEST:
        return f"{seconds:.2f} s: shorter than {SHORTEST} s"
    if seconds > LONGEST:
        return f"{seconds:.1f} s: the tokenizer cuts and joins what is longer than {LONGEST:.0f} s; cut it in two"
    if tokens > (FASTEST_BYTES if config.backbone == "gpt2" else FASTEST) * seconds:
        return f"{tokens} tokens in {seconds:.1f} s: nobody speaks so fast; does its text belong to it?"
    if tokens > config.most_text:
        return f"{tokens} tokens, and there are places for {config.most_text}: cut it in two"
    if codes > config.most_codes:
        return f"{codes} codes, and there are places for {config.most_codes}: cut it in two"
    return None


def _features(config: ChatterboxConfig, base: Base | None) -> Sequence[PreparedFeature]:
    if not config.tokenizer and not config.voice_encoder:
        if config.size != "tiny":
            raise TrainError(f"model.size = {config.size!r} is a released Chatterbox: name its folder with --base")
        return []
    from olu.families.chatterbox.prepared import features

    return features(config, base)


def _learner(config: ChatterboxConfig, *, vocab_size: int, num_speakers: int) -> nn.Module:
    from olu.families.chatterbox.learn import ChatterboxLearner

    return ChatterboxLearner(config, vocab_size=vocab_size, num_speakers=num_speakers)


def _observe(
    *, train: Iterable[Example], speakers: Sequence[str], valid: Iterable[Example] = (), **rest: Any
) -> dict[str, Any]:
    from olu.families.chatterbox.batch import CODES
    from olu.families.chatterbox.codec.tokens import code_count
    from olu.train.code_figures import figures_of, known_clips

    found = figures_of(train, speakers=speakers, rate=RATE, count=code_count).document()
    return {**found, "known": known_clips(valid, feature=CODES)}


def _read(place: Path) -> Base:
    from olu.families.chatterbox.base import read_base

    return read_base(place)


def _tell(place: Path) -> list[str]:
    from olu.families.chatterbox.foreign.tell import sentences

    return sentences(place)


def _suits(place: Path, language: str) -> list[str]:
    from olu.families.chatterbox.foreign.tell import suits

    return suits(place, language)


def _knows(place: Path) -> bool:
    """A released folder by the names of its files, or a run of this family by its recipe."""
    folder = place if place.is_dir() else place.parent
    try:
        if (folder / "recipe.toml").is_file():
            return bool(read_toml(folder / "recipe.toml").get("family") == "chatterbox")
    except OluError:
        return False
    names = [place.name] if place.is_file() else [path.name for path in folder.iterdir()]
    return any(name.startswith(("t3", "s3gen")) and name.endswith((".safetensors", ".pt")) for name in names)


def _knobs(config: ChatterboxConfig) -> tuple[Knob, ...]:
    from olu.families.chatterbox.voice import knobs

    return knobs(config)


def _export(learner: nn.Module, *, folder: Path, bits: int = 8, watermark: bool | None = None) -> dict[str, Any]:
    from olu.families.chatterbox.voice import export

    return export(learner, folder=folder, bits=bits, watermark=watermark)


def _resynthesis(learner: nn.Module, audio: Audio, *, speaker: int) -> Audio:
    from olu.families.chatterbox.voice import resynthesis

    return resynthesis(learner, audio, speaker=speaker)


def _to_upstream(subject: ExportSubject, folder: Path) -> list[str]:
    from olu.families.chatterbox.foreign.to_upstream import write_upstream

    return write_upstream(subject, folder)


FAMILY = Family(
    name="chatterbox",
    summary="Codes for a text in a voice, by a transformer, and a frozen decoder; new languages for Chatterbox",
    config=ChatterboxConfig,
    learner=_learner,
    data=Data(
        rate=lambda config: RATE,
        out_rate=lambda config: OUT_RATE,
        refuses=_refuses,
        tokens=lambda text: len(text) + 1,
        needs=frozenset({"text"}),
        features=_features,
        vocabulary="pieces",
        by_phones=lambda config: bool(config.reads == "phones"),
        observe=_observe,
        beside=True,
    ),
    figures=Figures(score="speech", learns="t3", steady=("speech",)),
    advice=ADVICE,
    speaks=Speaks(
        engine="flow",
        export=_export,
        knobs=_knobs,
        resynthesis=_resynthesis,
        formats=(Format("upstream", "chatterbox-tts", _to_upstream, also=("chatterbox",), noiseless=NOISELESS),),
        bits=(4, 8, 16, 32),
        marks=True,
    ),
    bases=Bases(
        read=_read,
        symbol_rows=ROWS,
        row_scale=lambda config: float(config.init_scale),
        fold_speakers=lambda checkpoint, learner, old: checkpoint,  # it hears anybody: no table of speakers
        knows=_knows,
        tell=_tell,
        suits=_suits,
    ),
)

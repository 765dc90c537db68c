"""XTTS: a transformer that writes codes for a text in a voice, and a decoder that makes them sound.

Importing this needs no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.config import read_toml
from olu.core.errors import OluError, TrainError
from olu.core.parse import BadData, load_json
from olu.families.xtts.config import CODE_SAMPLES, OUT_RATE, RATE, XttsConfig
from olu.families.xtts.plan import ADVICE
from olu.train.family import Base, Bases, Data, Family, Figures, Format, Speaks

if TYPE_CHECKING:
    from torch import nn

    from olu.core.types import Audio, Knob
    from olu.export.subject import ExportSubject
    from olu.features.store import PreparedFeature

NOISELESS = "XTTS draws codes, and has no noise of its own"
ROWS = ("gpt.text_embedding.weight", "gpt.text_head.weight", "gpt.text_head.bias")


def _refuses(config: XttsConfig, *, samples: int, tokens: int) -> str | None:
    codes = -(-samples // CODE_SAMPLES)
    if tokens == 0:
        return "its text has nothing that can be said"
    if samples < 2 * CODE_SAMPLES:
        return f"{samples} samples: shorter than two codes"
    if tokens > config.most_text:
        return f"{tokens} tokens, and there are places for {config.most_text}: cut it in two"
    if codes > config.most_codes:
        return f"{codes} codes, and there are places for {config.most_codes}: cut it in two"
    return None


def _features(config: XttsConfig, base: Base | None) -> Sequence[PreparedFeature]:
    if not config.codec:
        if config.size == "v2":
            raise TrainError("model.size = 'v2' is the released XTTS v2: name its folder with --base, or take 'small'")
        return []
    from olu.families.xtts.prepared import codes_feature

    return [codes_feature(config, base)]


def _learner(config: XttsConfig, *, vocab_size: int, num_speakers: int) -> nn.Module:
    from olu.families.xtts.learn import XttsLearner

    return XttsLearner(config, vocab_size=vocab_size, num_speakers=num_speakers)


def _observe(**given: Any) -> dict[str, Any]:
    from olu.families.xtts.corpus import figures_of

    return figures_of(**given)


def _read(place: Path) -> Base:
    from olu.families.xtts.base import read_base

    return read_base(place)


def _tell(place: Path) -> list[str]:
    from olu.families.xtts.foreign.tell import sentences

    return sentences(place)


def _knows(place: Path) -> bool:
    """A released folder by its config.json, or a run of this family by its recipe."""
    folder = place if place.is_dir() else place.parent
    try:
        if (folder / "recipe.toml").is_file():
            return bool(read_toml(folder / "recipe.toml").get("family") == "xtts")
        held = load_json(folder / "config.json")
    except (OSError, BadData, OluError):
        return False
    return isinstance(held, dict) and held.get("model") == "xtts"


def _with_speakers(checkpoint: Any, learner: nn.Module, *, old: int) -> Any:
    from olu.families.xtts.base import with_speakers

    return with_speakers(checkpoint, learner, old=old)


def _knobs(config: XttsConfig) -> tuple[Knob, ...]:
    from olu.families.xtts.voice import knobs

    return knobs(config)


def _export(learner: nn.Module, *, folder: Path, bits: int = 8, cloning: bool = False) -> dict[str, Any]:
    from olu.families.xtts.voice import export

    return export(learner, folder=folder, bits=bits, cloning=cloning)


def _resynthesis(learner: nn.Module, audio: Audio, *, speaker: int) -> Audio:
    from olu.families.xtts.voice import resynthesis

    return resynthesis(learner, audio, speaker=speaker)


def _to_coqui(subject: ExportSubject, folder: Path) -> list[str]:
    from olu.families.xtts.foreign.to_coqui import write_coqui

    return write_coqui(subject, folder)


FAMILY = Family(
    name="xtts",
    summary="Codes for a text in a voice, by a transformer, and a decoder of them; new languages for XTTS v2",
    config=XttsConfig,
    learner=_learner,
    data=Data(
        rate=lambda config: RATE,
        out_rate=lambda config: OUT_RATE,
        refuses=_refuses,
        tokens=lambda text: len(text) + 1,
        needs=frozenset({"text"}),
        features=_features,
        vocabulary="pieces",
        merges=lambda config: int(config.pieces),
        observe=_observe,
        beside=True,
    ),
    figures=Figures(score="total", learns="gpt", steady=("codes", "text"), loss="codes"),
    advice=ADVICE,
    speaks=Speaks(
        engine="tokens",
        export=_export,
        knobs=_knobs,
        resynthesis=_resynthesis,
        formats=(Format("coqui", "Coqui TTS", _to_coqui, also=("xtts",), trains=True, noiseless=NOISELESS),),
        bits=(8, 16, 32),
        clones=True,
    ),
    bases=Bases(
        read=_read,
        symbol_rows=ROWS,
        row_scale=lambda config: float(config.init_scale),
        fold_speakers=_with_speakers,
        knows=_knows,
        tell=_tell,
    ),
)

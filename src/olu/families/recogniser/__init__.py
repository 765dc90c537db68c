"""A recogniser: sound to letters or phones, to align recordings and to judge voices. Importing this needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import ExportError
from olu.families.recogniser.base import read_base
from olu.families.recogniser.config import RecogniserConfig
from olu.families.recogniser.memory import memory
from olu.families.recogniser.plan import ADVICE
from olu.families.recogniser.text import Writing, writing
from olu.train.family import Family

if TYPE_CHECKING:
    from torch import nn

ROOM = 1.25  # frames a symbol needs: one, a blank between two alike, and some for speech that is made faster


def _refuses(config: RecogniserConfig, *, samples: int, tokens: int) -> str | None:
    """Why a clip cannot be learned from: CTC needs a frame for every symbol, and one more between two alike."""
    frames = config.frames(samples)
    if tokens == 0:
        return "its text has nothing that can be heard"
    if frames < ROOM * tokens:
        finer = "" if config.subsample == 2 else " (model.subsample=2 gives twice as many)"
        return f"{frames} frames of sound for {tokens} symbols: the text is too long for this recording{finer}"
    return None


def _learner(config: RecogniserConfig, *, vocab_size: int, num_speakers: int) -> nn.Module:
    from olu.families.recogniser.learn import RecogniserLearner

    return RecogniserLearner(config, vocab_size=vocab_size)


def _export(learner: nn.Module, *, folder: Path) -> dict[str, Any]:
    raise ExportError("a recogniser does not speak, so there is no voice to export: name a run of a voice with --run")


def _writes(config: RecogniserConfig, *, language: str) -> Writing:
    return writing(config, language=language)


FAMILY = Family(
    name="recogniser",
    summary="Hears instead of speaking: letters or phones of the corpus' language, sizes tiny, cpu and gpu",
    config=RecogniserConfig,
    score="cer",
    loss="ctc",
    rate=lambda config: int(config.sampling_rate),
    refuses=_refuses,
    learner=_learner,
    read_base=read_base,
    export=_export,
    memory=memory,
    advice=ADVICE,
    learns="net",
    steady=("ctc",),
    judge=None,
    speaks=False,
    writes=_writes,
)

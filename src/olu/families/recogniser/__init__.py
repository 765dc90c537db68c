"""A recogniser: sound to letters or phones, to align recordings and to judge voices. Importing this needs no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olu.families.recogniser.base import read_base
from olu.families.recogniser.config import RecogniserConfig
from olu.families.recogniser.plan import ADVICE
from olu.families.recogniser.text import writing
from olu.train.family import Bases, Data, Family, Figures, Hears

if TYPE_CHECKING:
    from torch import nn

    from olu.families.recogniser.recognise import Trained
    from olu.train.run import Run

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


def _load(run: Run, *, language: str, device: str = "cpu") -> Trained:
    from olu.families.recogniser.recognise import load

    return load(run, language=language, device=device)


FAMILY = Family(
    name="recogniser",
    summary="Hears instead of speaking: letters or phones of the corpus' language, sizes tiny, cpu and gpu",
    kind="listener",
    config=RecogniserConfig,
    learner=_learner,
    data=Data(rate=lambda config: int(config.sampling_rate), refuses=_refuses, tokens=len),
    figures=Figures(score="cer", loss="ctc", learns="net", steady=("ctc",)),
    advice=ADVICE,
    bases=Bases(read=read_base, licensed=False),
    hears=Hears(targets=writing, load=_load),
)

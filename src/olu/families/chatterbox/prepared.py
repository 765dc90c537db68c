"""Codes and speaker vectors of every clip: made once by the frozen networks of the base, kept under their hashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import TrainError
from olu.families.chatterbox.batch import CODES, VOICE
from olu.families.chatterbox.config import CODE_SAMPLES, RATE, ChatterboxConfig
from olu.features.store import FeatureClip, PreparedFeature
from olu.train.family import Base

Maker = Callable[[FeatureClip], NDArray[Any]]


def features(config: ChatterboxConfig, base: Base | None) -> list[PreparedFeature]:
    """`base` may be gone where all are there already; other networks than the run's are refused."""
    wanted = {"tokenizer": config.tokenizer, "voice_encoder": config.voice_encoder}
    for name, sha in wanted.items():
        if base is not None and base.extra[name] != sha:
            what = name.replace("_", " ")
            raise TrainError(
                f"the {what} of the base is another one ({base.extra[name][:12]}) than this run learns from"
                f" ({sha[:12]}): bring back the files it began with, or start a new run"
            )
    settings = {"rate": RATE, "samples": CODE_SAMPLES}
    return [
        PreparedFeature(CODES, settings, _maker(base, "coder"), weights=config.tokenizer),
        PreparedFeature(VOICE, {"rate": RATE}, _maker(base, "listener"), weights=config.voice_encoder),
    ]


def _maker(base: Base | None, name: str) -> Callable[[str], Maker]:
    def make(device: str) -> Maker:
        if base is None:
            what = "codes" if name == "coder" else "speaker vectors"
            raise TrainError(f"the {what} of the clips are missing, and so is the base that makes them: bring it back")
        made: Callable[[NDArray[np.int16]], NDArray[Any]] = base.extra[name](device)
        return lambda clip: made(clip.samples)

    return make

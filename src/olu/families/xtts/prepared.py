"""The codes of every clip, made once by the frozen DVAE of the base, and kept under its hash."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import TrainError
from olu.families.xtts.config import CODE_SAMPLES, RATE, XttsConfig
from olu.features.store import FeatureClip, PreparedFeature
from olu.train.family import Base


def codes_feature(config: XttsConfig, base: Base | None) -> PreparedFeature:
    """`base` may be gone where the codes are there already; another DVAE than the run's is refused."""
    if base is not None and base.extra["codec"] != config.codec:
        raise TrainError(
            f"the DVAE of the base is another one ({base.extra['codec'][:12]}) than this run learns the codes of"
            f" ({config.codec[:12]}): bring back the dvae.pth it began with, or start a new run"
        )

    def make(device: str) -> Any:
        if base is None:
            raise TrainError("the codes of the clips are missing, and so is the base that makes them: bring it back")
        coder = base.extra["coder"](device)

        def codes(clip: FeatureClip) -> NDArray[np.int16]:
            made: NDArray[np.int16] = coder(clip.samples)
            return made

        return codes

    return PreparedFeature("codes", {"rate": RATE, "samples": CODE_SAMPLES}, make, weights=config.codec)

"""What a run keeps of its corpus: how many codes a token takes, which clips a speaker is heard by, its own mels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from olu.families.xtts.codes import code_count
from olu.families.xtts.config import MELS, RATE, XttsConfig
from olu.train.code_figures import figures_of as counted
from olu.train.family import Example

HEARD = 400  # clips that tell the mean of each mel


def figures_of(
    *,
    train: Iterable[Example],
    valid: Iterable[Example],
    symbols: Sequence[str],
    speakers: Sequence[str],
    before: Mapping[str, Any] | None,
    config: XttsConfig,
) -> dict[str, Any]:
    """Of the clips that are learnt from; those of the run before keep its mels, which its codes are made of."""
    totals, frames, met = np.zeros(MELS), [0], [0]

    def hear(one: Example) -> None:
        if config.codec or met[0] >= HEARD or before is not None:
            return
        mel = _mel(one)
        totals[:] += np.abs(mel).sum(1)
        frames[0], met[0] = frames[0] + mel.shape[1], met[0] + 1

    found = counted(train, speakers=speakers, rate=RATE, count=code_count, hear=hear)
    kept = list(dict(before or {}).get("mel_stats", []))
    own = [round(float(one), 4) for one in totals / frames[0]] if frames[0] else []
    return replace(found, mel_stats=kept or own).document()


def _mel(example: Example) -> Any:
    import torch

    from olu.families.xtts.batch import sound_of
    from olu.families.xtts.spectrum import code_mel

    return code_mel(torch.from_numpy(sound_of(example))[None], torch.ones(MELS))[0].numpy()

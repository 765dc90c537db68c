"""What a run keeps of its corpus: how many codes a token takes, and which clips a speaker is heard by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from olu.families.xtts.codes import code_count
from olu.families.xtts.config import MELS, RATE, XttsConfig
from olu.train.family import Example

REFERENCES = 4  # clips of a speaker
LEAST_SECONDS, MOST_SECONDS = 3.0, 12.0  # of a reference, where there are such
HEARD = 400  # clips that tell the mean of each mel
USUAL = 8.0  # codes a token, where nothing is known


@dataclass(frozen=True)
class CodeFigures:
    codes_per_token: float = USUAL  # 99 in 100 clips take no more
    least_codes_per_token: float = 0.0  # 1 in 100 takes fewer
    usual_codes_per_token: float = 0.0  # half of them take more; 0: not known
    longest_codes: int = 0  # of a clip that was learnt from
    longest_tokens: int = 0
    references: dict[str, list[str]] = field(default_factory=dict)  # speaker -> clips, the best first
    mel_stats: list[float] = field(default_factory=list)  # of its own DVAE; none: the base's

    @staticmethod
    def of(document: Mapping[str, Any]) -> CodeFigures:
        return CodeFigures(**{name: value for name, value in document.items() if name != "notes"})


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
    paces, longest_codes, longest_tokens = list[float](), 0, 0
    heard: dict[int, list[tuple[float, float, str]]] = {}
    totals, frames, met = np.zeros(MELS), 0, 0
    for one in train:
        codes, tokens = code_count(len(one.samples)), max(1, len(one.ids))
        paces.append(codes / tokens)
        longest_codes, longest_tokens = max(longest_codes, codes), max(longest_tokens, tokens)
        level = float(np.log(np.sqrt(np.mean(np.square(one.samples.astype(np.float64)))) + 1.0))
        heard.setdefault(one.speaker, []).append((len(one.samples) / RATE, level, one.id))
        if not config.codec and met < HEARD and before is None:
            mel = _mel(one)
            totals, frames, met = totals + np.abs(mel).sum(1), frames + mel.shape[1], met + 1
    kept = dict(before or {}).get("mel_stats", [])
    found = CodeFigures(
        round(float(np.quantile(paces, 0.99)), 3),
        round(float(np.quantile(paces, 0.01)), 3),
        round(float(np.median(paces)), 3),
        longest_codes,
        longest_tokens,
        {speakers[number]: references(clips) for number, clips in sorted(heard.items())},
        kept or [round(float(one), 4) for one in totals / max(1, frames)] if frames or kept else [],
    )
    said = f"codes a token: {found.least_codes_per_token:g} to {found.codes_per_token:g} in 98 of 100 clips"
    return {**asdict(found), "notes": [said]}


def references(clips: Sequence[tuple[float, float, str]]) -> list[str]:
    """The clips a speaker is heard by: of a good length, and as loud as most of theirs."""
    usual = float(np.median([level for _, level, _ in clips]))
    fitting = [one for one in clips if LEAST_SECONDS <= one[0] <= MOST_SECONDS]
    ordered = sorted(fitting or clips, key=lambda one: (abs(one[1] - usual), one[2]) if fitting else (-one[0], one[2]))
    return [id for _, _, id in ordered[:REFERENCES]]


def _mel(example: Example) -> Any:
    import torch

    from olu.families.xtts.batch import sound_of
    from olu.families.xtts.spectrum import code_mel

    return code_mel(torch.from_numpy(sound_of(example))[None], torch.ones(MELS))[0].numpy()

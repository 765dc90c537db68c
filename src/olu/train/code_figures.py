"""What a run of codes keeps of its corpus: how many a token takes, and which clips a speaker is heard by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.train.family import Example

REFERENCES = 4  # clips of a speaker
LEAST_SECONDS, MOST_SECONDS = 3.0, 12.0  # of a reference, where there are such
KNOWN, KNOWN_CODES = 6, (25, 300)  # held-out clips that are kept with their codes, and how long those are
SILENT_DBFS = -50.0  # of a code's own stretch of sound
USUAL = 8.0  # codes a token, where nothing is known


@dataclass(frozen=True)
class CodeFigures:
    codes_per_token: float = USUAL  # 99 in 100 clips take no more
    least_codes_per_token: float = 0.0  # 1 in 100 takes fewer
    usual_codes_per_token: float = 0.0  # half of them take more; 0: not known
    longest_codes: int = 0  # of a clip that was learnt from
    longest_tokens: int = 0
    references: dict[str, list[str]] = field(default_factory=dict)  # speaker -> clips, the best first
    known: list[dict[str, Any]] = field(default_factory=list)  # held-out clips: speaker, ids and codes of each
    mel_stats: list[float] = field(default_factory=list)  # of XTTS from scratch: of its own DVAE; none: the base's

    @staticmethod
    def of(document: Mapping[str, Any]) -> CodeFigures:
        return CodeFigures(**{name: value for name, value in document.items() if name != "notes"})

    def document(self) -> dict[str, Any]:
        """As it is kept, with what is said of it."""
        said = f"codes a token: {self.least_codes_per_token:g} to {self.codes_per_token:g} in 98 of 100 clips"
        return {**asdict(self), "notes": [said]}


def figures_of(
    examples: Iterable[Example],
    *,
    speakers: Sequence[str],
    rate: int,
    count: Callable[[int], int],
    hear: Callable[[Example], None] = lambda example: None,
) -> CodeFigures:
    """`count`: codes of so many samples; `hear`: is shown each clip."""
    paces, longest_codes, longest_tokens = list[float](), 0, 0
    heard: dict[int, list[tuple[float, float, str]]] = {}
    for one in examples:
        codes, tokens = count(len(one.samples)), max(1, len(one.ids))
        paces.append(codes / tokens)
        longest_codes, longest_tokens = max(longest_codes, codes), max(longest_tokens, tokens)
        level = float(np.log(np.sqrt(np.mean(np.square(one.samples.astype(np.float64)))) + 1.0))
        heard.setdefault(one.speaker, []).append((len(one.samples) / rate, level, one.id))
        hear(one)
    return CodeFigures(
        round(float(np.quantile(paces, 0.99)), 3),
        round(float(np.quantile(paces, 0.01)), 3),
        round(float(np.median(paces)), 3),
        longest_codes,
        longest_tokens,
        {speakers[number]: references(clips) for number, clips in sorted(heard.items())},
    )


def known_clips(examples: Iterable[Example], *, feature: str) -> list[dict[str, Any]]:
    """Some clips with their codes, where those are prepared: of a middle length, so that a text is walked through."""
    found: list[dict[str, Any]] = []
    for one in examples:
        codes = one.features.get(feature)
        if codes is not None and KNOWN_CODES[0] <= len(codes) <= KNOWN_CODES[1]:
            found.append({"speaker": one.speaker, "ids": list(one.ids), "codes": [int(code) for code in codes]})
        if len(found) == KNOWN:
            break
    return found


def silent_codes(wave: NDArray[np.float32], codes: Sequence[int], *, samples: int) -> list[int]:
    """Codes of stretches of so many samples in which nothing is heard."""
    count = min(len(wave) // samples, len(codes))
    power = np.square(wave[: count * samples].reshape(count, -1).astype(np.float64)).mean(1)
    silent = 10 * np.log10(np.maximum(power, 1e-12)) < SILENT_DBFS
    return [code for code, quiet in zip(codes, silent, strict=False) if quiet]


def references(clips: Sequence[tuple[float, float, str]]) -> list[str]:
    """The clips a speaker is heard by: of a good length, and as loud as most of theirs."""
    usual = float(np.median([level for _, level, _ in clips]))
    fitting = [one for one in clips if LEAST_SECONDS <= one[0] <= MOST_SECONDS]
    ordered = sorted(fitting or clips, key=lambda one: (abs(one[1] - usual), one[2]) if fitting else (-one[0], one[2]))
    return [id for _, _, id in ordered[:REFERENCES]]

"""A text as a voice will say it, in plain numbers: how long each sound is and how high, to be looked at and edited.

    {"melody": 1, "voice": "ada", "networks": "…", "speaker": "default", "frame_seconds": 0.016, "text": "…",
     "sentences": [{"text": "…",
       "words": [{"text": "ọ́kụ́", "first": 1, "last": 4}],
       "tokens": [{"symbol": "ɔ", "frames": 7, "knots": [181.2, 184.0, 183.1], "tone": "H"}, …]}]}

`knots` are hertz at even places inside the sound: 1/6, 1/2 and 5/6 of it where there are three.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.core.errors import VoiceError
from olu.core.files import write_text
from olu.core.parse import from_json
from olu.core.rows import as_row, from_row
from olu.core.types import EXACT, Span
from olu.speak.contour import height_of, knot_places, tone_steps
from olu.text.tones import fits, step_range

FORMAT = 1
MOST_FRAMES = 1000  # of one token
LOWEST, HIGHEST = 20.0, 4000.0  # Hz that can be meant
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class MelodyToken:
    """A sound, or a gap between words (0 frames: none is heard)."""

    symbol: str
    frames: int
    knots: tuple[float, ...] = ()  # hertz
    tone: str = ""  # H M L D, two letters for a contour, ? unknown
    __pydantic_config__ = EXACT

    def __post_init__(self) -> None:
        if not 0 <= self.frames <= MOST_FRAMES:
            raise ValueError(f"{self.symbol!r} has {self.frames} frames: 0 to {MOST_FRAMES} can be said")
        bad = next((one for one in self.knots if not LOWEST <= one <= HIGHEST), None)
        if bad is not None:
            raise ValueError(f"{self.symbol!r} has a knot of {bad:g} Hz: {LOWEST:g} to {HIGHEST:g} can be said")


@dataclass(frozen=True, slots=True)
class MelodyWord:
    """Its tokens are `first` to `last` - 1 of its sentence."""

    text: str
    first: int
    last: int
    __pydantic_config__ = EXACT


@dataclass(frozen=True)
class MelodySentence:
    text: str
    words: tuple[MelodyWord, ...]
    tokens: tuple[MelodyToken, ...]
    start: float = 0.0  # seconds from the start of the whole sound, as planned
    notes: tuple[str, ...] = ()  # what was done to it: knots that were cut, tones that were pushed apart
    __pydantic_config__ = EXACT

    def __post_init__(self) -> None:
        wrong = next((w.text for w in self.words if not 0 <= w.first <= w.last <= len(self.tokens)), None)
        if wrong is not None:
            raise ValueError(f"the word {wrong!r} lies outside of its sentence")
        if len({len(token.knots) for token in self.tokens}) > 1:
            raise ValueError("its sounds have different numbers of knots")

    @property
    def frames(self) -> NDArray[np.int64]:
        return np.array([token.frames for token in self.tokens], np.int64)

    @property
    def knots(self) -> NDArray[np.float64]:
        """Hertz [T, K]."""
        return np.array([token.knots for token in self.tokens], np.float64)

    def spans(self, frame_seconds: float) -> tuple[list[Span], list[Span]]:
        """Words and tokens with their times, from the start of the whole sound."""
        ends = [self.start + frame_seconds * end for end in accumulate(map(int, self.frames), initial=0)]
        words = [Span(word.text, ends[word.first], ends[word.last]) for word in self.words]
        return words, [Span(token.symbol, *ends[at : at + 2]) for at, token in enumerate(self.tokens)]

    def dots(self, frame_seconds: float) -> list[list[tuple[float, float]]]:
        """(second, hertz) of the knots of each token."""
        knots = self.knots
        places = self.start + knot_places(self.frames, knots.shape[1]) * frame_seconds
        return [
            [(float(at), float(hz)) for at, hz in zip(*both, strict=True)] for both in zip(places, knots, strict=True)
        ]

    def tone_faults(self) -> Iterator[str]:
        """A sentence for each step between written tones that is not as large as it must be."""
        if not self.tokens or not self.tokens[0].knots:
            return
        height = height_of(12 * np.log2(self.knots))
        for word in self.words:
            for step in tone_steps([(word.first, word.last)], [token.tone for token in self.tokens]):
                size = float(height[step.after] - height[step.before])
                if fits(step.kind, size):
                    continue
                low, high = step_range(step.kind)
                wanted = f"at most {high:g}" if low < 0 < high else f"{min(abs(low), abs(high)):g}"
                way, other = ("down", "up") if size < 0 else ("up", "down")
                turned = f" {other}" if (low > 0 and size < 0) or (high < 0 and size > 0) else ""
                kind = f"the step from {step.kind[0]} to {step.kind[1]}"
                yield f"{word.text}: {kind} is {abs(size):.1f} semitones {way}, {wanted}{turned} is wanted"


@dataclass(frozen=True)
class Melody:
    """What `Voice.plan` gives and `Voice.speak(text, melody=...)` takes; `save` and `load` keep it as JSON."""

    melody: int  # the format's number
    voice: str
    networks: str  # which weights planned it: another voice may share the name
    speaker: str
    frame_seconds: float
    text: str
    sentences: tuple[MelodySentence, ...]
    __pydantic_config__ = EXACT

    @cached_property
    def tone_faults(self) -> list[str]:
        """A sentence for each step between written tones that its knots do not make, before anything is heard."""
        return [fault for sentence in self.sentences for fault in sentence.tone_faults()]

    def moved(self, word: int, semitones: float, *, sentence: int = 0) -> Melody:
        """With one word, by its number in its sentence, so much higher or lower."""
        one, factor = self.sentences[sentence], 2 ** (semitones / 12)
        inside = range(one.words[word].first, one.words[word].last)
        tokens = tuple(
            replace(token, knots=tuple(min(max(hz * factor, LOWEST), HIGHEST) for hz in token.knots))
            if at in inside
            else token
            for at, token in enumerate(one.tokens)
        )
        others = list(self.sentences)
        others[sentence] = replace(one, tokens=tokens)
        return replace(self, sentences=tuple(others))

    def json(self) -> str:
        """A token a line, to be edited by hand."""
        head = {name: value for name, value in as_row(self).items() if name != "sentences"}
        lines = [f" {_plain(name)}: {_plain(value)}," for name, value in head.items()]
        made = ",\n".join(_sentence(as_row(sentence)) for sentence in self.sentences)
        return "\n".join(["{", *lines, f' "sentences": [\n{made}\n ]', "}"]) + "\n"

    def save(self, path: str | Path) -> None:
        write_text(Path(path), self.json())

    @staticmethod
    def load(path: str | Path) -> Melody:
        """What `save` wrote, edited or not."""
        path = Path(path)
        try:
            data = path.read_bytes()
        except OSError as bad:
            raise VoiceError(f"{path} cannot be read ({bad.strerror}): check the path") from None
        try:
            if len(data) > MOST_BYTES:
                raise ValueError("it is too large for one")
            row = from_json(data)
            if not isinstance(row, dict) or "melody" not in row:
                raise ValueError("'olu speak --melody-out' writes one")
            if row["melody"] != FORMAT:
                raise ValueError(f"its format is {row['melody']!r:.20}, this Olu knows {FORMAT}")
            return from_row(row, Melody)
        except ValueError as bad:
            raise VoiceError(f"{path} is no melody: {bad}") from None

    def check(self, *, voice: str, networks: str, readings: Sequence[Sequence[str]]) -> None:
        """Refuse it where it is not of this voice, or not of these symbols, a row for each sentence."""
        if networks != self.networks:
            raise VoiceError(
                f"the melody is of the voice {self.voice} or of other weights of {voice}: plan it with this voice"
            )
        held = [[token.symbol for token in sentence.tokens] for sentence in self.sentences]
        if held != [list(row) for row in readings]:
            raise VoiceError("the melody is of another text: plan this text with --melody-out, then edit that")


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _sentence(row: dict[str, Any]) -> str:
    lists = {name: ",\n".join(f"    {_plain(one)}" for one in row[name]) for name in ("words", "tokens")}
    parts = [f'  "text": {_plain(row["text"])}', *(f'  "{name}": [\n{rows}]' for name, rows in lists.items())]
    rest = [f'  "{name}": {_plain(row[name])}' for name in ("start", "notes")]
    return "  {\n" + ",\n".join([*parts, *rest]) + "}"

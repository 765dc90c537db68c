"""What keeps a language model of codes from its known faults around the ends of sentences; each tells what it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from olu.speak.engines import count, number
from olu.speak.stream import FADE_SECONDS, ReadLine, Wave
from olu.text.pieces import PieceVocabulary
from olu.text.vocabulary import SymbolVocabulary

BLOCK_SECONDS = 0.01
SILENT_DBFS = -50.0
CLOSING = "\"'”’»›“‘)]}"
ENDS = ".!?…"


@dataclass(frozen=True)
class GuardedText:
    ids: tuple[int, ...]
    knobs: Mapping[str, float]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class TextGuard:
    """A text ends with a sign and with no closing quote; one of a word or two is drawn less freely."""

    vocabulary: PieceVocabulary
    ends: str
    short_words: int
    short_temperature: float

    @staticmethod
    def of(row: Any, vocabulary: SymbolVocabulary, *, ends: Any) -> TextGuard | None:
        """By voice.json, where it asks for it."""
        if row is None or not isinstance(vocabulary, PieceVocabulary):
            return None
        signs = "".join(one for one in ends if isinstance(one, str) and len(one) == 1) if isinstance(ends, list) else ""
        words = count(row["short_words"], 20, least=0)
        return TextGuard(vocabulary, signs + ENDS, words, number(row["short_temperature"], 0.0, 2.0))

    def of_line(self, line: ReadLine, knobs: Mapping[str, float]) -> GuardedText:
        notes, ids = list[str](), line.ids
        text = self.vocabulary.decode(ids)
        said = text.rstrip().rstrip(CLOSING).rstrip()
        if said != text.rstrip() and said:
            notes.append("the closing quotes or brackets at its end are not read")
        else:
            said = text.rstrip()
        sign = next(
            (one for one in (self.ends[0], ".") if one in self.vocabulary.symbols), ""
        )  # the others ask or call
        if said and sign and said[-1] not in self.ends:
            notes.append(f"{sign!r} was put at its end")
            said = said.rstrip(",;:-–—") + sign
        if said != text:
            ids = tuple(self.vocabulary.encode_text(said))
        words = len(line.reading.words) if line.reading else len(text.split())
        if words <= self.short_words and knobs.get("temperature", 0.0) > self.short_temperature:
            notes.append(f"it is short: drawn with temperature {self.short_temperature:g}")
            knobs = {**knobs, "temperature": self.short_temperature}
        return GuardedText(ids, knobs, tuple(notes))


class TailTrimmer:
    """Gives the sound of a sentence but for silence after its end, however it is cut into chunks.

    What could be such silence is held back until sound follows it.
    """

    def __init__(self, rate: int, keep: float | None) -> None:
        """`keep`: seconds of silence that stay; None: all of it."""
        self._block, self._fade = max(1, round(BLOCK_SECONDS * rate)), round(FADE_SECONDS * rate)
        self._keep = None if keep is None else round(keep * rate)
        self._held = self._unheard = np.zeros(0, np.float32)  # not given yet, not listened to yet
        self._at = self._heard = 0  # samples that were listened to, and up to the last in which something is heard
        self.given = self.dropped = 0  # samples

    def push(self, wave: Wave, *, last: bool = False) -> Wave:
        if self._keep is None:
            self.given += len(wave)
            return wave
        self._held = np.concatenate([self._held, wave])
        self._listen(wave, last=last)
        have = self.given + len(self._held)
        # The last of it is faded out, so that this much always comes with the end.
        end = min(have, self._heard + self._keep - (0 if last else self._fade))
        made, self._held = self._held[: max(0, end - self.given)], self._held[max(0, end - self.given) :]
        self.given += len(made)
        if last:
            self.dropped = len(self._held)
        return made

    def _listen(self, wave: Wave, *, last: bool) -> None:
        """Whole blocks, wherever the chunks begin; what is left over waits for the next chunk."""
        self._unheard = np.concatenate([self._unheard, wave])
        while len(self._unheard) >= self._block or (last and len(self._unheard)):
            block, self._unheard = self._unheard[: self._block], self._unheard[self._block :]
            self._at += len(block)
            if 10 * np.log10(max(float(np.mean(block.astype(np.float64) ** 2)), 1e-12)) >= SILENT_DBFS:
                self._heard = self._at

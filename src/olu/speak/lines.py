"""A text as the lines that a voice says, each with its ids: all that is decided before a network is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olu.core.errors import TextError
from olu.core.types import Reading
from olu.speak.sentences import AS_PLAIN, Stretch, joined, lines, stretches
from olu.speak.stream import ReadLine
from olu.text.frontend import AnyFrontend
from olu.text.markup import Prosody, has_markup, prosody_in
from olu.text.vocabulary import SymbolVocabulary

NO_MELODY = "only voices of an acoustic model and a vocoder have lengths and pitch that stand open"


def abbreviations_of(frontend: AnyFrontend) -> frozenset[str]:
    """Words with a point that ends no sentence."""
    rows = frontend.pack.rows("abbreviations.tsv") if frontend.pack else []
    return frozenset(row[0].strip() for row in rows if row[0].strip().endswith("."))


@dataclass(frozen=True)
class LineReader:
    """The reading of one voice."""

    voice: str
    frontend: AnyFrontend
    vocabulary: SymbolVocabulary
    ends: Sequence[str]
    abbreviations: frozenset[str]
    most_tokens: int | None
    plans: bool  # whether lengths and pitch of a sentence stand open

    def lines(self, text: str, *, plain: bool = False, join: int = 0) -> Iterator[ReadLine]:
        """What can be said, read one sentence at a time; a pause around what cannot is kept.

        `join`: sentences of so many words or fewer are read with their neighbour.
        """
        pause: float | None = None
        unsaid = Counter[str]()
        found = lines(text, self.ends, abbreviations=self.abbreviations, plain=plain)
        for line in joined(found, join) if join else found:
            if line.pause is not None:
                pause = (pause or 0.0) + line.pause
            text, marked = (line.text, []) if plain else prosody_in(line.text)
            reading = self._reading(text, plain=plain) if text else None
            shown = text.replace("<s/>", "").strip() if marked else text
            said = (
                stretches(shown, reading, self.vocabulary, most=self.most_tokens)
                if reading is not None and reading.words
                else []
            )
            asked = self._prosody(text, marked, said)
            for one, wishes in zip(said, asked, strict=True):
                yield ReadLine(one.text, pause, one.reading, one.ids, wishes, dict(unsaid))
                pause = 0.0  # inside a sentence its own marks make the pauses
                unsaid.clear()
            if said:
                pause = None
            elif reading is not None:
                unsaid.update(reading.dropped)
        if pause or unsaid:
            yield ReadLine("", pause or 0.0, unsaid=dict(unsaid))

    def _prosody(
        self, text: str, marked: Sequence[tuple[int, int, Prosody]], said: Sequence[Stretch]
    ) -> list[tuple[tuple[int, int, Prosody], ...]]:
        """What is asked of the words of each stretch: by number, from the first to before the last."""
        if marked and not self.plans:
            raise TextError(f"the voice {self.voice} cannot follow <prosody>: {NO_MELODY}")
        places = {place for start, end, _ in marked for place in (start, end)}
        before = {place: len(self._reading(text[:place], plain=False).words) for place in places}
        words = [(before[start], before[end], asked) for start, end, asked in marked]
        found, at = [], 0
        for one in said:
            size = len(one.reading.words)
            inside = ((max(first - at, 0), min(last - at, size), asked) for first, last, asked in words)
            found.append(tuple(row for row in inside if row[0] < row[1]))
            at += size
        return found

    def _reading(self, text: str, *, plain: bool) -> Reading:
        try:
            return self.frontend.read(text, plain=plain)
        except TextError as bad:
            hint = f"; {AS_PLAIN}" if not plain and has_markup(text) else ""
            raise TextError(f"{bad}{hint}") from None

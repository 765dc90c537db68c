"""A language read as phones: canonical text, words for numbers, then each word by the language's own rules."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from olu.core.errors import LanguageError, TextError
from olu.core.types import STRESS, TONE_LETTERS, Marks, Reading, Word
from olu.text import algorithms, markup, words
from olu.text.fallback import Fit
from olu.text.language_data import Pack, Pronunciation, ReadingTrace, place_of
from olu.text.normalise.steps import Normal

CACHED_WORDS = 200_000
TONE_OF = {letter: tone for tone, letter in TONE_LETTERS.items()}


class PhoneFrontend:
    """Text to phones. With an inventory, phones that it lacks become their nearest relatives."""

    kind = "phones"

    def __init__(self, pack: Pack, *, marks: Marks = "vowel", inventory: Iterable[str] | None = None) -> None:
        self.pack, self.language, self.marks = pack, pack.code, marks
        self.inventory = None if inventory is None else sorted(set(inventory))
        self.phones = {row[0]: row[1] for row in pack.rows("phones.tsv") if len(row) > 1}
        self._fit = None if self.inventory is None else Fit(self.inventory, marks=marks)
        self._normal = Normal(pack)
        self._pronouncer = algorithms.pronouncer(pack)
        self._own = {self._key(word): self._listed(word, phones) for word, phones in pack.lexicon.items()}
        self._known: dict[tuple[str, str], tuple[Word, tuple[str, ...]]] = {}

    def read(self, text: str, *, plain: bool = False) -> Reading:
        """`plain` takes no markup out of a text: its brackets are brackets."""
        return self.explain(text, plain=plain)[0]

    def explain(self, text: str, *, plain: bool = False) -> tuple[Reading, ReadingTrace]:
        """The reading, and what was done to get it."""
        notes = ReadingTrace()
        said: list[Word] = []
        breaks = [""]
        normals: list[str] = []
        for piece in markup.parse(text, plain=plain):
            if piece.kind == "break":
                breaks[-1] += f"{piece.text} " if piece.text.strip() else piece.text
                normals.append(piece.text)
            elif piece.kind == "phones":
                given = self._given(piece.phones, at=piece.at)
                said.append(self._word(piece.text.strip() or f"[[{piece.phones.strip()}]]", given, notes))
                breaks.append("")
                normals.append(f"[[{piece.phones.strip()}]]")
            else:
                normal = self._normal.say_as(piece.text, piece.how, notes) if piece.how else self._plain(piece, notes)
                normals.append(normal)
                self._take(normal, said, breaks, notes)
        heard = [words.fold(raw, notes.dropped) for raw in breaks]
        heard[0], heard[-1] = heard[0].strip(), heard[-1].rstrip() if said else ""
        if self._fit is not None:
            heard = [self._fit.pause(between) for between in heard]
        normal = re.sub(r"\s+", " ", "".join(normals)).strip()
        counted = dict(notes.dropped)
        return Reading(text=text, normal=normal, words=tuple(said), breaks=tuple(heard), dropped=counted), notes

    def _plain(self, piece: markup.MarkupSpan, notes: ReadingTrace) -> str:
        return self._normal.run(piece.text, notes)

    def _take(self, normal: str, said: list[Word], breaks: list[str], notes: ReadingTrace) -> None:
        found, between = words.split(normal)
        mode = self._pronouncer.mode(found)
        breaks[-1] += between[0]
        for spelled, after in zip(found, between[1:], strict=True):
            key = (spelled, mode)
            known = self._known.get(key)
            if known is None:
                known = self._say(spelled, mode, notes)
                if len(self._known) < CACHED_WORDS:
                    self._known[key] = known
            word, lost = known
            notes.dropped.update(lost)
            if word.phones:
                said.append(word)
                breaks.append(after)
            else:
                breaks[-1] += after if breaks[-1].strip() else f" {after}"

    def _say(self, spelled: str, mode: str, notes: ReadingTrace) -> tuple[Word, tuple[str, ...]]:
        said = self._own.get(spelled) or self._pronouncer.say(spelled, mode=mode)
        heard = " ".join(said.phones)
        for rule in said.rules:
            notes.add("pronounce", rule, spelled, heard)
        lost = ReadingTrace()
        lost.dropped.update(c for c in said.dropped if c not in words.JOINERS)  # they only hold a word together
        word = self._word(spelled, said, lost)
        if not word.phones and not lost.dropped:  # letters that are mute alone
            lost.dropped.update(c for c in spelled if c not in words.JOINERS)
        return word, tuple(lost.dropped.elements())

    def _word(self, spelled: str, said: Pronunciation, notes: ReadingTrace) -> Word:
        word = Word(spelled, said.phones, said.tones, said.bearers, said.stress)
        return word if self._fit is None else self._fit.word(word, notes.dropped)

    def _key(self, word: str) -> str:
        return self._normal.canonical(unicodedata.normalize("NFC", word.strip()), ReadingTrace())

    def _listed(self, word: str, phones: str) -> Pronunciation:
        try:
            return self._given(phones)
        except TextError as bad:
            raise LanguageError(f"{place_of(self.pack.lexicon, word)}: {word!r}: {bad}") from None

    def _given(self, phones: str, *, at: int | None = None) -> Pronunciation:
        """Phones as a person writes them: separated by spaces, tones behind their vowel, ˈ before a stressed one."""
        where = "" if at is None else f"character {at + 1}: "
        found: list[str] = []
        tones: list[str] = []
        bearers: list[int] = []
        stress = None
        for symbol in unicodedata.normalize("NFC", phones).split():
            phone = symbol.removeprefix(STRESS)
            tone = "".join(TONE_OF[letter] for letter in phone if letter in TONE_OF)
            phone = "".join(letter for letter in phone if letter not in TONE_OF)
            if phone not in self.phones:
                known = " ".join(self.phones)
                raise TextError(f"{where}{phone!r} is not a phone of {self.pack.facts.name}; its phones are {known}")
            if symbol.startswith(STRESS):
                stress = len(found)
            if tone:
                tones.append(tone)
                bearers.append(len(found))
            found.append(phone)
        return Pronunciation(tuple(found), tuple(tones), tuple(bearers), stress, rules=("given as phones",))

    def state(self) -> dict[str, Any]:
        inside = {"marks": self.marks, "inventory": self.inventory, "pack": self.pack.state()}
        return {"kind": self.kind, "language": self.language, **inside}

    @staticmethod
    def from_state(state: dict[str, Any]) -> PhoneFrontend:
        pack = Pack.from_state(state["pack"])
        return PhoneFrontend(pack, marks=state["marks"], inventory=state["inventory"])

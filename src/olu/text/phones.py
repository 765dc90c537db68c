"""A language read as phones: canonical text, words for numbers, then each word by the language's own rules."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from olu.core.errors import LanguageError, TextError
from olu.core.types import STRESS, TONE_LETTERS, Marks, Reading, Word
from olu.text import algorithms, markup, words
from olu.text.chain import ChainPronouncer
from olu.text.fallback import Fit, Replacements
from olu.text.language_data import Pack, Pronouncer, Pronunciation, ReadingTrace, RestoredWord, place_of
from olu.text.normalise.steps import Normal

CACHED_WORDS = 200_000
UNSURE = "unsure"  # a mode: the word's marks are a guess, and its tones unknown
JOINED = re.compile(f"[{re.escape(words.JOINERS)}]")
TONE_OF = {letter: tone for tone, letter in TONE_LETTERS.items()}


@dataclass(frozen=True, slots=True)
class SaidWord:
    """A word as it is said, the characters of it that were not read, and which reading of a chain it is of."""

    word: Word
    lost: tuple[str, ...]
    by: str = ""


KnownWords = dict[tuple[str, str], SaidWord]  # by spelling and mode


@dataclass(slots=True)
class _Told:
    """What a reading tells of its words: which were given their marks, and which reading of a chain read how many."""

    restored: dict[int, float] = field(default_factory=dict)
    read_by: dict[str, int] = field(default_factory=dict)
    _coming: dict[str, list[RestoredWord]] = field(default_factory=dict)

    def expect(self, notes: ReadingTrace) -> None:
        """Words that were just given their marks, first come first served."""
        self._coming = {}
        for one in notes.restored:
            self._coming.setdefault(one.text.casefold(), []).append(one)
        notes.restored.clear()

    def restored_word(self, spelled: str) -> RestoredWord | None:
        """Whether the next word of this spelling was given its marks; one with a hyphen where all its parts were."""
        if not self._coming:
            return None
        parts = [part for part in JOINED.split(spelled.casefold()) if part]
        if not parts or not all(self._coming.get(part) for part in parts):
            return None
        found = [self._coming[part].pop(0) for part in parts]
        return RestoredWord(spelled, min(one.confidence for one in found), all(one.sure for one in found))


def _stepped(said: list[Word], breaks: Sequence[str], notes: ReadingTrace) -> list[Word]:
    """A downstep at the beginning of a word follows the one before; if that is low or behind a pause, it is none."""
    found = list(said)
    for place, word in enumerate(said):
        if word.tones[:1] == ("D",):
            before = said[place - 1].tones[-1:] if place and not breaks[place].strip() else ()
            if not before or before[0].endswith("L"):
                found[place] = replace(word, tones=("H", *word.tones[1:]))
                notes.dropped[words.DOWNSTEP] += 1
    return found


class PhoneFrontend:
    """Text to phones. With an inventory, phones that it lacks become their nearest relatives."""

    kind = "phones"

    def __init__(
        self,
        pack: Pack,
        *,
        marks: Marks = "vowel",
        inventory: Iterable[str] | None = None,
        nearest: Replacements | None = None,
    ) -> None:
        self.pack, self.language, self.marks = pack, pack.code, marks
        self.inventory = None if inventory is None else sorted(set(inventory))
        self.phones = {row[0]: row[1] for row in pack.rows("phones.tsv") if len(row) > 1}
        self.nearest = nearest
        self._fit = None if self.inventory is None else Fit(self.inventory, marks=marks, nearest=nearest)
        self._normal = Normal(pack)
        self._own = {self.key(word): self._listed(word, phones) for word, phones in pack.lexicon.items()}
        self._pronouncer: Pronouncer
        if pack.chain:
            rules = algorithms.pronouncer(pack) if pack.facts.reading.pronounce else None
            self._pronouncer = ChainPronouncer(pack, rules, self._own)
        else:
            self._pronouncer = algorithms.pronouncer(pack)
        self._phrase = algorithms.phrase(pack)
        self._known: KnownWords = {}

    def read(self, text: str, *, plain: bool = False) -> Reading:
        """`plain` takes no markup out of a text: its brackets are brackets."""
        return self._read(text, self._known, plain=plain)[0]

    def explain(self, text: str, *, plain: bool = False) -> tuple[Reading, ReadingTrace]:
        """The reading, and what was done to get it: no word is taken as known, so that all its rules are told."""
        return self._read(text, {}, plain=plain)

    def _read(self, text: str, known: KnownWords, *, plain: bool) -> tuple[Reading, ReadingTrace]:
        notes = ReadingTrace()
        said: list[Word] = []
        told = _Told()
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
                self._take(normal, said, breaks, notes, told, known)
        heard = [words.fold(raw, notes.dropped) for raw in breaks]
        said = _stepped(said, heard, notes)
        if self._phrase is not None:
            said = self._phrase(said, heard, notes)
        heard[0], heard[-1] = heard[0].strip(), heard[-1].rstrip() if said else ""
        if self._fit is not None:
            heard = [self._fit.pause(between) for between in heard]
        normal = re.sub(r"\s+", " ", "".join(normals)).strip()
        found: dict[str, Any] = {"dropped": dict(notes.dropped), "restored": told.restored, "read_by": told.read_by}
        found["language"] = self.language
        return Reading(text=text, normal=normal, words=tuple(said), breaks=tuple(heard), **found), notes

    def _plain(self, piece: markup.MarkupSpan, notes: ReadingTrace) -> str:
        return self._normal.run(piece.text, notes)

    def _take(
        self,
        normal: str,
        said: list[Word],
        breaks: list[str],
        notes: ReadingTrace,
        told: _Told,
        words_known: KnownWords,
    ) -> None:
        found, between = words.split(normal)
        told.expect(notes)
        marked = [told.restored_word(spelled) for spelled in found]
        mode = self._pronouncer.mode([one for one, given in zip(found, marked, strict=True) if given is None])
        breaks[-1] += between[0]
        for spelled, given, after in zip(found, marked, between[1:], strict=True):
            said_in = mode if given is None else self._restored_mode(mode, given)
            known = self._known_word(spelled, said_in, notes, words_known)
            notes.dropped.update(known.lost)
            if known.word.phones:
                if given is not None and known.word.tones:
                    told.restored[len(said)] = round(given.confidence, 3)
                if known.by:
                    told.read_by[known.by] = told.read_by.get(known.by, 0) + 1
                said.append(known.word)
                breaks.append(after)
            else:
                breaks[-1] += after if breaks[-1].strip() else f" {after}"

    def _restored_mode(self, mode: str, given: RestoredWord) -> str:
        """The convention of the texts that the restorer learnt from; tones that it is unsure of are unknown."""
        own = self._normal.marks.model.convention if self._normal.marks else ""
        return (own or mode) if given.sure else UNSURE

    def _known_word(self, spelled: str, mode: str, notes: ReadingTrace, words_known: KnownWords) -> SaidWord:
        known = words_known.get((spelled, mode))
        if known is None:
            known = self._say(spelled, mode, notes)
            if len(words_known) < CACHED_WORDS:
                words_known[spelled, mode] = known
        return known

    def _say(self, spelled: str, mode: str, notes: ReadingTrace) -> SaidWord:
        own = None if self.pack.chain else self._own.get(spelled)
        said = own or self._pronouncer.say(spelled, mode="" if mode == UNSURE else mode)
        if mode == UNSURE and own is None:
            said = replace(said, tones=("?",) * len(said.bearers))
        heard = " ".join(said.phones)
        for rule in said.rules:
            notes.add("pronounce", rule, spelled, heard)
        lost = ReadingTrace()
        lost.dropped.update(c for c in said.dropped if c not in words.JOINERS)  # they only hold a word together
        word = self._word(spelled, said, lost)
        if not word.phones and not lost.dropped:  # letters that are mute alone
            lost.dropped.update(c for c in spelled if c not in words.JOINERS)
        return SaidWord(word, tuple(lost.dropped.elements()), said.by)

    def _word(self, spelled: str, said: Pronunciation, notes: ReadingTrace) -> Word:
        word = Word(spelled, said.phones, said.tones, said.bearers, said.stress)
        return word if self._fit is None else self._fit.word(word, notes.dropped)

    def key(self, word: str) -> str:
        """A word of a lexicon in the form in which it is looked up."""
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
            if phone not in self.phones and self.phones:
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
        near = {"nearest": self.nearest.state()} if self.nearest else {}
        return {"kind": self.kind, "language": self.language, **inside, **near}

    @staticmethod
    def from_state(state: dict[str, Any]) -> PhoneFrontend:
        pack = Pack.from_state(state["pack"])
        near = Replacements.from_state(state["nearest"]) if "nearest" in state else None
        return PhoneFrontend(pack, marks=state["marks"], inventory=state["inventory"], nearest=near)

"""Numbers, dates, money, hours, units and abbreviations as words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from olu.core.errors import TextError
from olu.text import algorithms
from olu.text.language_data import Pack, ReadingTrace
from olu.text.normalise import measures as money
from olu.text.normalise import short_forms, times
from olu.text.normalise.measures import Measures
from olu.text.normalise.number_phrases import PhraseRule, Wording
from olu.text.normalise.numbers import FILE, NumberGrammar
from olu.text.normalise.settings import style
from olu.text.normalise.spelling import Speller
from olu.text.normalise.written_numbers import MINUS, RAISED, fold, has_number, signed
from olu.text.restore import marks

STAGE = "normalise"
DIGITS = re.compile(f"[0-9{RAISED}]")
LEADING = ("date", "clock", "money", "percent", "unit")  # their first word is not said twice
LAST_WORD = re.compile(r"([^\W\d_]+)\s+\Z")
LOOK_BACK = 40
DASHES = "-‐‑–"
CLOSED = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,5}\.\s+[A-ZÀ-ÖØ-Þ]")  # 15:30 h. Luego, etc. Luego: a new sentence
MOST_SAID, MOST_GROWTH = 2000, 100  # letters that any text may be read as, and for each of its own
ROUNDS = 4  # what one rule says can be read by another, but not for ever


class Normaliser:
    """Numbers, dates and abbreviations to words. Without a numbers.toml digits stay as they are."""

    def __init__(self, pack: Pack) -> None:
        self.lower = pack.facts.lower
        found = style(pack)
        self.proclitics = frozenset(found.glue.proclitics)
        self._first: list[PhraseRule] = short_forms.abbreviation_rules(pack, found.glue.proclitics)
        self._last: list[PhraseRule] = []
        self._speller: Speller | None = None
        self._digits = FILE in pack.files
        if not self._digits:
            return
        wording = Wording(NumberGrammar(pack.toml(FILE), where=f"{pack.code}/{FILE}"), found)
        measures = Measures(wording, pack)
        self._first = [*short_forms.roman_rules(wording), *self._first]
        self._last = [*measures.first(), *times.date_rules(wording), *times.clock_rules(wording), *money.rules(wording)]
        self._last += [*measures.rules(), *measures.last()]
        if found.spelling:
            self._speller = Speller(found.spelling, keep=measures.symbols | times.forms(found))
            self._first = [*self._speller.addresses(), *self._first, self._speller.initials(), self._speller.capitals()]
            self._last += self._speller.rules()

    def normalise(self, text: str, notes: ReadingTrace) -> str:
        written = text = unicodedata.normalize("NFC", text)
        if self._digits and has_number(text):
            text = self._folded(text, notes)
        for _ in range(ROUNDS):
            said = self._round(text, notes)
            if said == text:
                break
            if len(said) > MOST_SAID + MOST_GROWTH * len(written):
                raise TextError(f"{written[:40]!r} would be read as {len(said)} letters: mend the language's files")
            text = said
        if MINUS not in written:
            text = text.replace(MINUS, "-")  # before what is no number after all
        return unicodedata.normalize("NFC", text)  # a mark behind what was replaced joins the new letter

    def needs_capitals(self, text: str) -> bool:
        """Whether some of its capitals may be letters, not words, or show that a point ends a sentence."""
        if CLOSED.search(text):
            return True
        return self._speller is not None and self._speller.has_letters(unicodedata.normalize("NFC", text))

    def _folded(self, text: str, notes: ReadingTrace) -> str:
        folded = fold(text)
        notes.add(STAGE, "digits", text, folded)
        return signed(folded)

    def _round(self, text: str, notes: ReadingTrace) -> str:
        text = self._apply(self._first, text, notes)
        return self._apply(self._last, text, notes)

    def _apply(self, rules: Sequence[PhraseRule], text: str, notes: ReadingTrace) -> str:
        has_digits = DIGITS.search(text) is not None
        for rule in rules:
            if (rule.digits and not has_digits) or (rule.hint and not any(sign in text for sign in rule.hint)):
                continue
            changed = rule.pattern.sub(lambda found, rule=rule: self._put(rule, found, notes), text)  # type: ignore[misc]
            if changed != text and rule.digits:
                has_digits = DIGITS.search(changed) is not None
            text = changed
        return text

    def _put(self, rule: PhraseRule, found: re.Match[str], notes: ReadingTrace) -> str:
        """What is said instead, apart from the letters around it unless they belong to it."""
        said = rule.say(found)
        if said is None:
            return found[0]
        said = said.lower() if self.lower else said
        if len(said) > MOST_SAID + MOST_GROWTH * len(found[0]):
            raise TextError(f"{found[0][:40]!r} would be read as {len(said)} letters: mend the language's files")
        text, start, end = found.string, found.start(), found.end()
        if rule.name in LEADING:
            said = self._once(said, text[max(0, start - LOOK_BACK) : start])
        notes.add(STAGE, rule.name, found[0], said)
        dash = DASHES if rule.digits else ""  # 10:30-11:45: two words, not one with a hyphen
        touches = bool(start) and (_joins(text[start - 1]) or text[start - 1] in (dash + MINUS if dash else ""))
        before = " " if touches and not self._clitic(text, start) else ""
        behind = text[end : end + 1]
        # an abbreviation may have an ending of its own
        apart = behind.isdigit() if rule.name == "abbreviation" else bool(behind) and (_joins(behind) or behind in dash)
        return f"{before}{said}{' ' if apart else ''}"

    def _once(self, said: str, before: str) -> str:
        first, space, rest = said.partition(" ")
        last = LAST_WORD.search(before)
        return rest if space and last and last[1].casefold() == first.casefold() else said

    def _clitic(self, text: str, end: int) -> bool:
        """Whether the letters before this place are a word that is written together with the next."""
        start = end
        while start and _joins(text[start - 1]) and end - start < LOOK_BACK:
            start -= 1
        return text[start:end] in self.proclitics


def _joins(char: str) -> bool:
    return char.isalnum() or unicodedata.combining(char) > 0


# ---- A text before it becomes symbols: canonical letters, restored marks, words instead of digits


APART = ("characters", "spell-out", "digits", "telephone")  # one after the other


class Normal:
    def __init__(self, pack: Pack) -> None:
        self.canonical = algorithms.canonical(pack)
        self._restore = algorithms.restore(pack)
        self.marks = marks.make(pack)
        self._normaliser = Normaliser(pack)
        self._lower = self.canonical("A", ReadingTrace()).islower()

    def run(self, text: str, notes: ReadingTrace) -> str:
        return _edged(self._run(text, notes), like=text)

    def _run(self, text: str, notes: ReadingTrace) -> str:
        if self._lower and self._normaliser.needs_capitals(text):  # once they are small, nothing tells
            text = self._normaliser.normalise(text, notes)
        typed = plain = self.canonical(text, notes)
        notes.add("canonical", "canonical", text, plain)
        if self._restore is not None:
            restored = self._restore(plain, notes)
            notes.add("restore", "restore", plain, restored)
            plain = restored
        if self.marks is not None:
            plain = self.marks(plain, notes, typed=None if self._restore is None else typed, cased=text)
        return self._normaliser.normalise(plain, notes)

    def say_as(self, text: str, how: str, notes: ReadingTrace) -> str:
        """A stretch that somebody said how to read."""
        if how in APART:
            return self.run(" ".join("".join(text.split())), notes)
        return self.run(text, notes)


def _edged(text: str, *, like: str) -> str:
    """The text with a space at an edge where `like` has one: beside markup it parts two words."""
    before = " " if like[:1].isspace() and not text[:1].isspace() else ""
    after = " " if like[-1:].isspace() and not text[-1:].isspace() else ""
    return f"{before}{text}{after}"

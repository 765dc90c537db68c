"""What the rules of a language say: numbers, parts of sentences with numbers in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from olu.core.config import did_you_mean
from olu.core.errors import LanguageError
from olu.text.normalise.numbers import PART, NumberGrammar
from olu.text.normalise.settings import FILE, Style
from olu.text.normalise.written_numbers import NumberReader, WrittenNumber

READ_AS_ONE = 2  # digits after the decimal sign, where a language reads them as a number
NAMING = ("set", "cent_set", "year_set", "unit_set", "grammar")
LOOK_BACK, LOOK_AHEAD = 60, 200  # characters before and after a number that can matter for it
NEXT = re.compile(r"\s*\Z|\s+[\"“‘«(¿¡]*([^\W\d_])")

Say = Callable[[re.Match[str]], str | None]


@dataclass(frozen=True, slots=True)
class PhraseRule:
    """What is looked for, and what is said instead; None leaves it as it stands."""

    name: str
    pattern: re.Pattern[str]
    say: Say
    digits: bool = True  # only a text with digits is searched
    hint: tuple[str, ...] = ()  # and only one that has any of these


class Wording:
    """A language's numbers and style together."""

    def __init__(self, numbers: NumberGrammar, style: Style) -> None:
        self.numbers, self.style = numbers, style
        for name in _sets(style.model_dump()):
            self.check_set(name)
        figures = style.figures
        self.reader = NumberReader(thousands=figures.thousands, decimal=figures.decimal, marks="".join(figures.marks))
        self._context = [
            (
                one,
                re.compile(f"(?:{one.before})\\Z", re.IGNORECASE) if one.before is not None else None,
                re.compile(one.after, re.IGNORECASE) if one.after is not None else None,
            )
            for one in style.context
        ]

    def check_set(self, name: str) -> None:
        if name not in self.numbers.sets:
            hint = did_you_mean(name, self.numbers.sets) or f"; there are {', '.join(sorted(self.numbers.sets))}"
            raise LanguageError(f"{self.numbers.where} has no set {name!r}, which {FILE} asks for{hint}")

    @property
    def figure(self) -> str:
        """A regular expression for a number, with no group in it."""
        return self.reader.pattern

    def rule(self, name: str, pattern: str, say: Say, *, digits: bool = True, hint: tuple[str, ...] = ()) -> PhraseRule:
        return PhraseRule(name, re.compile(pattern, re.IGNORECASE), say, digits, hint)

    def fill(self, template: str, **values: int | str) -> str:
        """The template with its numbers as words; `{n:feminine}` takes that set of rules."""

        def part(found: re.Match[str]) -> str:
            value = values[found[1]]
            return value if isinstance(value, str) else self.whole(value, found[2] or "cardinal")

        return PART.sub(part, template)

    def whole(self, value: int, name: str = "cardinal", *, unit: str = "") -> str:
        if value < 0:
            return f"{self.style.figures.minus} {self.numbers.say(-value, name, unit)}".strip()
        return self.numbers.say(value, name, unit)

    def number(self, written: str, name: str = "cardinal") -> str:
        return self.say(self.reader.read(written), name)

    def say(self, figure: WrittenNumber, name: str = "cardinal") -> str:
        if figure.is_code:
            said = self.numbers.digits(figure.whole)
        else:
            said = self.whole(figure.value, "cardinal" if figure.part else name)
        if not figure.part:
            return said
        style = self.style.figures
        mark = style.marks.get(figure.mark) or style.marks.get(style.decimal, "")
        return " ".join(word for word in (said, mark, self._part(figure.part)) if word)

    def _part(self, digits: str) -> str:
        significant = digits.lstrip("0")
        if self.style.figures.fraction == "digits" or not significant or len(significant) > READ_AS_ONE:
            return self.numbers.digits(digits)
        zeros = self.numbers.digits(digits[: len(digits) - len(significant)])
        return f"{zeros} {self.numbers.say(int(significant))}".strip()

    def set_at(self, figure: WrittenNumber, text: str, start: int, end: int) -> str:
        """The set of rules that the words around a number ask for."""
        if figure.is_code or figure.part:
            return "cardinal"
        for one, before, after in self._context:
            if figure.value < one.first or (one.last is not None and figure.value > one.last):
                continue
            if one.plain and not figure.plain:
                continue
            if before is not None and not before.search(text[max(0, start - LOOK_BACK) : start]):
                continue
            if after is None or after.match(text, end, end + LOOK_AHEAD):
                return one.set
        return "cardinal"


@lru_cache(maxsize=8)
def is_heading(text: str) -> bool:
    """Whether a text is several words, all in capitals."""
    if not text.isupper() or any(char.isalpha() and not char.isupper() for char in text):  # fidel has no capitals
        return False
    return sum(word.isupper() for word in text.split()) > 1


def begins_sentence(text: str, at: int) -> bool:
    """Whether a point before this place ends its sentence: nothing follows, or no small letter."""
    found = NEXT.match(text, at)
    return found is not None and not (found[1] or "").islower()


def any_of(words: Iterable[str]) -> str:
    """A regular expression for any of these, the longest first; for nothing at all where there are none."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"


def _sets(value: Any, key: str = "") -> Iterator[str]:
    """Every set of rules that a style names."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _sets(inner, "set" if key == "ordinals" else name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _sets(inner, key)
    elif isinstance(value, str):
        if key in NAMING:
            yield value
        yield from (found[2] for found in PART.finditer(value) if found[2])

"""Whole numbers as words, by a grammar that a language's numbers.toml writes down.

The file holds sets of rules: `[cardinal]` always, others by need (`ordinal`, `feminine`, `year`). A rule serves the
numbers from `at` up to the next rule that fits. With `by` the number is divided: `{q}` says how many times `by` goes
into it, `{r}` what is left; `{b}` is the round number below, `{t}` the one above and `{d}` what is missing to it.
`{n}` is the number itself, for another set. `{q:feminine}` says the part by that set; any other name, such as
`{unit}`, is put in by who asks. `rest` is added where something is left; as a table it may depend on what is left.
`left` keeps a rule for some remainders. Without `by` a rule is for one number, or for a row of them (`words`).

A set may be `like` another and give only what differs, or be made `of` another by changing its last or first letters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self
from unicodedata import normalize

from pydantic import Field, model_validator

from olu.core.config import Strict, check, did_you_mean
from olu.core.errors import LanguageError

FILE = "numbers.toml"
PART = re.compile(r"\{(\w+)(?::(\w+))?\}")
ELSE = "else"
DEEPEST = 40  # no number is that long: a rule calls itself
CACHED = 8192

Spans = tuple[tuple[int, int], ...]
Template = tuple[tuple[str, str, str], ...]  # text before, name of the part, its set


class RuleRow(Strict):
    """One rule as people write it."""

    at: int = Field(ge=0)
    by: int | None = Field(default=None, ge=2)
    words: str | None = None
    say: str | None = None
    rest: str | dict[str, str] = ""
    left: str | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.words is None) == (self.say is None):
            raise ValueError("a rule has either words or say")
        if self.by is None and (self.rest or self.left):
            raise ValueError("rest and left need by")
        return self


class SetRow(Strict):
    """One set of rules as people write it."""

    like: str | None = None
    of: str | None = None
    limit: int | None = Field(default=None, gt=0)  # from here on numbers are read digit by digit
    rules: tuple[RuleRow, ...] = ()
    endings: tuple[tuple[str, str], ...] = ()
    beginnings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NumberRule:
    at: int
    by: int | None
    say: Template
    rests: tuple[tuple[Spans | None, Template], ...]
    left: Spans | None
    open: bool  # serves more than the number it stands at

    def fits(self, number: int) -> bool:
        if not self.open:
            return number == self.at
        return self.left is None or self.by is None or _within(number % self.by, self.left)


@dataclass(frozen=True, slots=True)
class RuleSet:
    starts: tuple[int, ...]
    rules: tuple[NumberRule, ...]  # by `at`; of several at one number the first is tried first
    of: str | None
    endings: tuple[tuple[str, str], ...]
    beginnings: tuple[tuple[str, str], ...]

    def find(self, number: int) -> NumberRule | None:
        for index in range(bisect_right(self.starts, number) - 1, -1, -1):
            if self.rules[index].fits(number):
                return self.rules[index]
        return None

    def change(self, words: str) -> str:
        """The words with other first or last letters, by the first pair that fits."""
        for old, new in self.endings:
            if words.endswith(old):
                words = words[: len(words) - len(old)] + new
                break
        for old, new in self.beginnings:
            if words.startswith(old):
                return new + words[len(old) :]
        return words


class NumberGrammar:
    """A language's sets of rules, ready to be asked."""

    def __init__(self, data: Mapping[str, Any], *, where: str = FILE) -> None:
        self.where = where
        rows = {name: check(SetRow, table, where=f"{where} [{name}]") for name, table in data.items()}
        if "cardinal" not in rows:
            raise LanguageError(f"{where} has no [cardinal]: write its rules there")
        if wrong := [name for name, row in rows.items() if row.limit is not None and name != "cardinal"]:
            raise LanguageError(f"{where} [{wrong[0]}]: limit belongs to [cardinal]: move it there")
        self.limit = rows["cardinal"].limit or 10**15
        self._sets = {name: self._set(name, rows) for name in rows}
        self._check_names()
        self.say = lru_cache(CACHED)(self._say)

    @property
    def sets(self) -> frozenset[str]:
        return frozenset(self._sets)

    def digits(self, written: str) -> str:
        """One digit after the other."""
        return " ".join(self.say(int(digit)) for digit in written)

    def _say(self, number: int, name: str = "cardinal", unit: str = "", depth: int = 0) -> str:
        if number >= self.limit:
            return self.digits(str(number)) if not unit else f"{self.digits(str(number))} {unit}"
        rules = self._sets[name]
        if rules.of is not None:
            return rules.change(self._say(number, rules.of, unit, depth + 1))
        rule = rules.find(number)
        if rule is None or depth > DEEPEST:
            why = "no rule says" if rule is None else "the rules go round in circles at"
            raise LanguageError(f"{self.where} [{name}]: {why} {number}: add a rule for it")
        quotient, remainder = divmod(number, rule.by) if rule.by else (0, 0)
        below = number - remainder
        parts = {"n": number, "q": quotient, "r": remainder, "b": below}
        parts |= {"t": below + (rule.by or 0), "d": (rule.by or 0) - remainder}
        said = self._fill(rule.say, parts, name, unit, depth)
        if remainder:
            rest = next((made for spans, made in rule.rests if spans is None or _within(remainder, spans)), ())
            said += self._fill(rest, parts, name, unit, depth)
        return said

    def _fill(self, template: Template, parts: Mapping[str, int], name: str, unit: str, depth: int) -> str:
        said = []
        for before, part, other in template:
            said.append(before)
            if part == "unit":
                said.append(unit)
            elif part:
                said.append(self._say(parts[part], other or name, unit, depth + 1))
        return "".join(said)

    def _set(self, name: str, rows: Mapping[str, SetRow]) -> RuleSet:
        row, chain = rows[name], [name]
        rules = [rule for one in row.rules for rule in self._rules(one, name)]
        while row.like is not None:
            if row.like not in rows or row.like in chain:
                hint = did_you_mean(row.like, rows)
                raise LanguageError(f"{self.where} [{name}]: like = {row.like!r} is no other set{hint or ''}")
            chain.append(row.like)
            row = rows[row.like]
            rules += [rule for one in row.rules for rule in self._rules(one, chain[-1])]
        own = rows[name]
        if own.of is None and not rules:
            raise LanguageError(f"{self.where} [{name}] has no rules: write some, or say which set it is like")
        # found from the end, so that of several rules at one number the first written is met first
        rules.reverse()
        ordered = sorted(rules, key=lambda rule: rule.at)
        return RuleSet(tuple(r.at for r in ordered), tuple(ordered), own.of, _nfc(own.endings), _nfc(own.beginnings))

    def _rules(self, row: RuleRow, name: str) -> list[NumberRule]:
        where = f"{self.where} [{name}] at = {row.at}"
        if row.words is not None:
            words = row.words.split()
            return [
                NumberRule(row.at + i, None, ((_plain(word), "", ""),), (), None, False) for i, word in enumerate(words)
            ]
        say = _template(row.say or "", where)
        table = {ELSE: row.rest} if isinstance(row.rest, str) else row.rest
        rests = tuple(
            (None if key == ELSE else _spans(key, where), _template(text, where)) for key, text in table.items()
        )
        left = None if row.left is None else _spans(row.left, where)
        is_open = row.by is not None or any(part == "n" for _, part, _ in say)
        return [NumberRule(row.at, row.by, say, rests, left, is_open)]

    def _check_names(self) -> None:
        for name, rules in self._sets.items():
            used = [(rule.at, other) for rule in rules.rules for made in _templates(rule) for _, _, other in made]
            for at, other in [*used, (0, rules.of or "")]:
                if other and other not in self._sets:
                    hint = did_you_mean(other, self._sets) or f"; there are {', '.join(self._sets)}"
                    raise LanguageError(f"{self.where} [{name}] at = {at}: no set {other!r}{hint}")


def _templates(rule: NumberRule) -> list[Template]:
    return [rule.say, *(made for _, made in rule.rests)]


def _template(text: str, where: str) -> Template:
    pieces: list[tuple[str, str, str]] = []
    at = 0
    for match in PART.finditer(text):
        if match[1] not in ("n", "q", "r", "b", "t", "d", "unit"):
            raise LanguageError(f"{where}: {{{match[1]}}} is unknown: use n, q, r, b, t, d or unit")
        pieces.append((_plain(text[at : match.start()]), match[1], match[2] or ""))
        at = match.end()
    return (*pieces, (_plain(text[at:]), "", ""))


def _spans(text: str, where: str) -> Spans:
    try:
        ends = [piece.split("-") for piece in text.split(",")]
        return tuple((int(pair[0]), int(pair[-1])) for pair in ends)
    except ValueError:
        raise LanguageError(f"{where}: {text!r} is no list of numbers: write for example '1-20, 30'") from None


def _within(number: int, spans: Spans) -> bool:
    return any(low <= number <= high for low, high in spans)


def _nfc(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((_plain(old), _plain(new)) for old, new in pairs)


def _plain(text: str) -> str:
    return normalize("NFC", text)

"""Letters to phones by data: letters.tsv (longest match) and rules.txt (ordered, in context, before the letters).

A line of rules.txt is `letters -> phones / left _ right`; at each place of a word the first line that fits is taken,
and where none does the longest letter of letters.tsv. Below a line `[phones]` the rules rewrite the phones instead, one
rule after the other over the whole word. `X = a b c` names a class (capitals). In a context `{a b X}` is any of them,
`!a` none of it, `a?` perhaps, `#` the edge of the word. `0` is nothing. `@name` at the end keeps a line for one dialect
or option (`@option=value`); with several names any of them will do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from olu.core.config import did_you_mean
from olu.core.errors import LanguageError, TextError
from olu.text.language_data import Pack, Pronunciation
from olu.text.rules.files import EDGE, Element, LetterRule, Rules, left_pattern, letter_lines, right_pattern

__all__ = ["LetterRule", "LetterRules", "Rules", "Spelled"]

MOST_GROWTH = 64  # phones for a letter, of a whole word
PRIVATE = 0xE000  # phones are matched as one character each, taken from the private use area


@dataclass(frozen=True, slots=True)
class Spelled:
    """The phones of a word, and for each of them the place of the letter it comes from."""

    phones: tuple[str, ...]
    places: tuple[int, ...]
    rules: tuple[str, ...]
    dropped: tuple[str, ...]


class LetterRules:
    """The two files as a function from a word to phones. `only` names the dialect and options in force."""

    def __init__(self, letters: str, rules: str, *, only: Iterable[str] = (), where: str = "this language") -> None:
        self._where = where
        parsed = Rules.parse(rules, where=f"{where}/rules.txt")
        force = frozenset(only)

        def holds(tags: frozenset[str]) -> bool:
            return not tags or bool(tags & force)

        listed = list(letter_lines(letters, where=f"{where}/letters.tsv"))
        self.letters = {letter: phones for letter, phones, tags in listed if holds(tags)}
        tagged = [*(rule.only for rule in (*parsed.letters, *parsed.phones)), *(tags for _, _, tags in listed)]
        self.tags = frozenset(chain.from_iterable(tagged))
        self.classes = parsed.classes
        self._by_first = _by_first([rule for rule in parsed.letters if holds(rule.only)], self.letters)
        self._codes: dict[str, str] = {}
        self._rewrites = [(self._compiled(rule), rule) for rule in parsed.phones if holds(rule.only)]

    @staticmethod
    def of(pack: Pack) -> LetterRules:
        """The reader of a language's folder, with its dialect and options; a tag that nobody can choose is an error."""
        found = LetterRules(pack.text("letters.tsv"), pack.text("rules.txt"), only=pack.force, where=pack.code)
        options = {f"{name}={choice}" for name, option in pack.facts.options.items() for choice in option.choices}
        known = options | set(pack.facts.dialects)
        if unknown := sorted(found.tags - known):
            hint = did_you_mean(unknown[0], known) or f": it has {', '.join(sorted(known)) or 'none'}"
            raise LanguageError(f"{pack.code}: @{unknown[0]} is no dialect or option=choice of language.toml{hint}")
        return found

    def begins(self, char: str) -> bool:
        """Whether something is said for a word that begins with this character."""
        return char in self._by_first

    def say(self, word: str) -> Pronunciation:
        found = self.spell(word)
        return Pronunciation(found.phones, rules=found.rules, dropped=found.dropped)

    def spell(self, word: str) -> Spelled:
        phones: list[str] = []
        places: list[int] = []
        fired: list[str] = []
        dropped: list[str] = []
        at = 0
        while at < len(word):
            first = self._by_first.get(word[at])
            match = first.pattern.match(word, at) if first else None
            if first is None or match is None:
                dropped.append(word[at])
                at += 1
                continue
            result, line = first.results[(match.lastindex or 0) - 1]
            phones += result
            places += _spread(at, match.end() - at, len(result))
            if line:
                fired.append(line)
            at = match.end()
        for pattern, rule in self._rewrites:
            phones, places = self._rewritten(phones, places, pattern, rule, fired)
            if len(phones) > MOST_GROWTH * (len(word) + 1):
                raise TextError(f"the rules of {self._where} make {len(phones)} phones of {word[:40]!r}: mend them")
        return Spelled(tuple(phones), tuple(places), tuple(fired), tuple(dropped))

    def _compiled(self, rule: LetterRule) -> re.Pattern[str]:
        """A rule on phones, as a pattern over one private character for each phone."""

        def coded(elements: tuple[Element, ...]) -> tuple[Element, ...]:
            return tuple(
                Element(tuple(EDGE if c == EDGE else self._code(c) for c in e.choices), e.negative, e.optional)
                for e in elements
            )

        target = "".join(self._code(phone) for phone in rule.target)
        return re.compile(_pattern(target, coded(rule.left), coded(rule.right)), re.DOTALL)

    def _code(self, phone: str) -> str:
        return self._codes.setdefault(phone, chr(PRIVATE + 1 + len(self._codes)))

    def _rewritten(
        self, phones: list[str], places: list[int], pattern: re.Pattern[str], rule: LetterRule, fired: list[str]
    ) -> tuple[list[str], list[int]]:
        """Every match at once: a context sees the phones as they stood before this rule."""
        codes = self._codes
        new_phones: list[str] = []
        new_places: list[int] = []
        done = 0
        for match in pattern.finditer("".join([codes.get(phone, chr(PRIVATE)) for phone in phones])):
            at, end = match.span()
            near = places[at:end]
            new_phones += phones[done:at]
            new_phones += rule.result
            new_places += places[done:at]
            new_places += [near[min(k, len(near) - 1)] for k in range(len(rule.result))]
            fired.append(rule.line)
            done = end
        if not done:
            return phones, places
        return new_phones + phones[done:], new_places + places[done:]


@dataclass(frozen=True, slots=True)
class _First:
    """All that may happen at a letter: a pattern with one group for each rule, then for each letter of letters.tsv."""

    pattern: re.Pattern[str]
    results: tuple[tuple[tuple[str, ...], str], ...]


def _by_first(rules: Iterable[LetterRule], letters: Mapping[str, tuple[str, ...]]) -> dict[str, _First]:
    options: dict[str, list[tuple[str, tuple[str, ...], str]]] = {}
    for rule in rules:
        pattern = _pattern(rule.target[0], rule.left, rule.right)
        options.setdefault(rule.target[0][0], []).append((pattern, rule.result, rule.line))
    for letter in sorted(letters, key=len, reverse=True):
        options.setdefault(letter[0], []).append((_pattern(letter, (), ()), letters[letter], ""))
    return {
        first: _First(
            re.compile("|".join(pattern for pattern, _, _ in found), re.DOTALL),
            tuple((result, line) for _, result, line in found),
        )
        for first, found in options.items()
    }


def _pattern(target: str, left: tuple[Element, ...], right: tuple[Element, ...]) -> str:
    return f"({re.escape(target)}){left_pattern(left, target)}{right_pattern(right)}"


def _spread(at: int, letters: int, phones: int) -> Iterable[int]:
    """Which letter each phone comes from: one by one where they are as many, else the first."""
    return range(at, at + letters) if letters == phones else (at,) * phones


# ---- the pronouncer most languages need: exceptions first, then letters and rules


UNLIKE = dict(zip("łøđðþıßæœ", "loddtisee", strict=True))  # letters that no mark sets apart from their base


class RulePronouncer:
    def __init__(self, pack: Pack) -> None:
        self.letters = LetterRules.of(pack)
        self.lexicon = exceptions(pack)

    def mode(self, words: Sequence[str]) -> str:
        return ""

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        return self.lexicon.get(word) or self.letters.say(word)


def nearest(word: str, letters: LetterRules) -> str:
    """The word with letters of foreign names that the language has not (ř, ł) as those nearest to them."""
    if word.isascii():
        return word
    return "".join(char if letters.begins(char) else _nearest(char, letters) for char in word)


def _nearest(char: str, letters: LetterRules) -> str:
    base = UNLIKE.get(char) or unicodedata.normalize("NFD", char)[0]
    return base if letters.begins(base) else char


def exceptions(pack: Pack) -> dict[str, Pronunciation]:
    """lexicon.tsv: words whose phones no rule gives."""
    found = {}
    for word, phones, *_ in (row for row in pack.rows("lexicon.tsv") if len(row) > 1):
        key = unicodedata.normalize("NFC", word.strip())
        found[key] = Pronunciation(tuple(phones.split()), rules=(f"lexicon: {key}",))
    return found

"""Regular expressions that a language's data may hold: only those that cannot take for ever.

`re` tries one way after the other, and some patterns have more ways through sixty letters than there is time. A pattern
is taken when the ways to match it at one place, counted from its parse and never too few, stay below a bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MOST_WAYS = 20_000
LONGEST = 20_000  # characters of a pattern
SPAN = 64  # what an endless repeat counts as: words and gaps are shorter
MOST_ROUNDS = 4  # of a group that is repeated
LONGEST_WORD = 6  # letters of a word that a pattern of words is asked of
MOST_WORD_WAYS = 200_000  # counted more roughly
WIDEST = 512  # of a range of letters that is looked at one by one
SOME = frozenset("aAzZ09_ \n.,-'/éÉñßŉẹọ\u0301\u1200\u12a0\u05d0\u0627\u0905\u4e00\U0001f389")

Charset = frozenset[str] | None  # of the letters looked at; None stands for any at all
Node = tuple[Any, Any]
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
SINGLE = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY)
NOTHING = (op.AT, op.ASSERT, op.ASSERT_NOT, op.FAILURE)  # they take no letter


class TooManyWays(ValueError):
    pass


@lru_cache(maxsize=512)
def check_pattern(text: str, *, last: bool = False) -> None:
    """A ValueError says why a pattern is none that may be used. `last`: nothing but the end follows it."""
    nodes = _parsed(text)
    _bounded(_Ways(nodes).of(nodes, frozenset() if last else None))


@lru_cache(maxsize=64)
def check_word_pattern(text: str) -> None:
    """As `check_pattern`, for what is only asked of whole words of few letters: groups may repeat."""
    _bounded(sum(_by_length(_parsed(text))), most=MOST_WORD_WAYS)


def _bounded(ways: float, *, most: int = MOST_WAYS) -> None:
    if ways > most:
        raise TooManyWays("has too many ways to match one text: write it with fewer repeats and options")


def _parsed(text: str) -> list[Node]:
    if len(text) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters")
    try:
        re.compile(text)
        return list(parser.parse(text))
    except (re.error, OverflowError, RecursionError) as bad:
        raise ValueError(f"is no regular expression: {bad}") from None


class _Ways:
    """Counts, for a pattern whose letters are known, in how many ways its parts can match at one place."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._letters = SOME | frozenset(_letters(nodes))

    def of(self, nodes: Sequence[Node], follow: Charset) -> float:
        """In how many ways these nodes can match at one place; `follow`: what may come after them."""
        total = 1.0
        for node in reversed(nodes):
            total *= self._one(node, follow)
            _bounded(total)
            follow = self._first([node], follow)
        return total

    def _one(self, node: Node, follow: Charset) -> float:
        kind, held = node
        if kind in SINGLE or kind in (op.AT, op.FAILURE):
            return 1.0
        if kind in (op.ASSERT, op.ASSERT_NOT):
            self.of(list(held[1]), None)  # it is left at its first match
            return 1.0
        if kind is op.ATOMIC_GROUP:
            return self.of(list(held), follow)
        if kind is op.SUBPATTERN:
            if held[0] is not None:
                raise ValueError("has a group that is kept: write (?:...)")
            return self.of(list(held[3]), follow)
        if kind is op.BRANCH:
            return self._branch([list(one) for one in held[1]], follow)
        if kind in REPEATS:
            return self._repeat(held[0], held[1], held[2], follow)
        raise ValueError("refers back to a group: write it without")

    def _repeat(self, least: int, most: int, inner: Any, follow: Charset) -> float:
        body = list(inner)
        first = self._first(body, follow)
        again = _meet(self._first(body, frozenset()), follow)
        if len(body) == 1 and body[0][0] in SINGLE:
            return min(int(most), SPAN) - min(least, SPAN) + 1 if again else 1.0
        if most > MOST_ROUNDS:
            raise ValueError(f"repeats a group more than {MOST_ROUNDS} times: repeat single letters or classes")
        inside = self.of(body, _union(first, follow))
        return float(sum(inside**count for count in range(least if again else most, most + 1)))

    def _branch(self, ways: list[list[Node]], follow: Charset) -> float:
        """The ways of an alternative: only branches that can match the same letters add up."""
        costs = [self.of(way, follow) for way in ways]
        shapes = [self._shape(way) for way in ways]
        firsts = [self._first(way, follow) for way in ways]

        def together(a: int, b: int) -> bool:
            one, other = shapes[a], shapes[b]
            if one is None or other is None:
                return _meet(firsts[a], firsts[b])
            return all(_meet(x, y) for x, y in zip(one, other, strict=False))

        places = range(len(ways))
        return max(sum(costs[b] for b in places if a == b or together(a, b)) for a in places)

    def _shape(self, way: Sequence[Node]) -> list[Charset] | None:
        """The letters of a branch one by one; None where it is more than single letters."""
        kept = [node for node in way if node[0] not in NOTHING]
        return [self._chars(node) for node in kept] if all(node[0] in SINGLE for node in kept) else None

    def _first(self, nodes: Iterable[Node], follow: Charset) -> Charset:
        """What the first letter may be."""
        found: Charset = frozenset()
        for node in nodes:
            found = _union(found, self._begins(node))
            if not _nullable(node):
                return found
        return _union(found, follow)

    def _begins(self, node: Node) -> Charset:
        kind, held = node
        if kind in SINGLE:
            return self._chars(node)
        if kind is op.BRANCH:
            found: Charset = frozenset()
            for way in held[1]:
                found = _union(found, self._first(list(way), frozenset()))
            return found
        inner = _inner(node)
        return self._first(inner, frozenset()) if inner is not None else frozenset()

    def _chars(self, node: Node) -> Charset:
        kind, held = node
        if kind is op.ANY:
            return None
        if kind is op.LITERAL:
            return frozenset(_cases(chr(held)))
        if kind is op.NOT_LITERAL:
            return self._letters - frozenset(_cases(chr(held)))
        if any(one is op.RANGE and two[1] - two[0] > WIDEST for one, two in held):
            return None
        inside = frozenset(char for char in self._letters if any(_fits(char, one) for one in held))
        return self._letters - inside if held[0][0] is op.NEGATE else inside


def _inner(node: Node) -> list[Node] | None:
    """What a group or a repeat holds."""
    kind, held = node
    if kind is op.SUBPATTERN:
        return list(held[3])
    if kind is op.ATOMIC_GROUP:
        return list(held)
    return list(held[2]) if kind in REPEATS else None


def _nullable(node: Node) -> bool:
    kind, held = node
    if kind in NOTHING:
        return True
    if kind is op.BRANCH:
        return any(all(map(_nullable, way)) for way in held[1])
    if kind in REPEATS and held[0] == 0:
        return True
    inner = _inner(node)
    return inner is not None and all(map(_nullable, inner))


def _letters(nodes: Iterable[Node]) -> Iterable[str]:
    """Every letter that a pattern names, in both cases."""
    for kind, held in nodes:
        if kind in (op.LITERAL, op.NOT_LITERAL):
            yield from _cases(chr(held))
        elif kind is op.RANGE and held[1] - held[0] <= WIDEST:
            for code in range(held[0], held[1] + 1):
                yield from _cases(chr(code))
        elif kind is op.IN:
            yield from _letters(held)
        elif kind is op.BRANCH:
            for way in held[1]:
                yield from _letters(way)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from _letters(held[1])
        else:
            yield from _letters(_inner((kind, held)) or ())


def _cases(char: str) -> set[str]:
    return {char, char.lower()[:1], char.upper()[:1]}


def _fits(char: str, item: Node) -> bool:
    kind, held = item
    if kind is op.LITERAL:
        return char in _cases(chr(held))
    if kind is op.RANGE:
        return any(held[0] <= ord(one) <= held[1] for one in _cases(char))
    if kind is not op.CATEGORY:
        return False
    name = str(held).removeprefix("CATEGORY_").removeprefix("UNI_")
    fits = {"SPACE": char.isspace(), "DIGIT": char.isdecimal(), "WORD": char.isalnum() or char == "_"}
    return not fits.get(name.removeprefix("NOT_"), False) if name.startswith("NOT_") else fits.get(name, True)


def _meet(one: Charset, other: Charset) -> bool:
    if one is None or other is None:
        return one != frozenset() and other != frozenset()
    return bool(one & other)


def _union(one: Charset, other: Charset) -> Charset:
    return None if one is None or other is None else one | other


def _by_length(nodes: Iterable[Node]) -> list[float]:
    """In how many ways the parts can take 0, 1, 2 ... letters, if every letter fits everywhere."""
    total = [1.0] + [0.0] * LONGEST_WORD
    for kind, held in nodes:
        total = _times(total, _length(kind, held))
    return total


def _length(kind: Any, held: Any) -> list[float]:
    none, one = [1.0] + [0.0] * LONGEST_WORD, [0.0, 1.0] + [0.0] * (LONGEST_WORD - 1)
    if kind in NOTHING:
        return none
    if kind in SINGLE:
        return one
    if kind is op.BRANCH:
        return [sum(column) for column in zip(*(_by_length(way) for way in held[1]), strict=True)]
    inner = _inner((kind, held))
    if inner is None or (kind is op.SUBPATTERN and held[0] is not None):
        raise ValueError("has a group that is kept or referred to: write (?:...)")
    body = _by_length(inner)
    if kind not in REPEATS:
        return body
    powers = [none]
    for _ in range(min(int(held[1]), LONGEST_WORD)):
        powers.append(_times(powers[-1], [0.0, *body[1:]]))  # a round that takes nothing ends the repeat
    return [sum(column) for column in zip(*powers, strict=True)]


def _times(one: Sequence[float], other: Sequence[float]) -> list[float]:
    return [sum(one[a] * other[size - a] for a in range(size + 1)) for size in range(LONGEST_WORD + 1)]

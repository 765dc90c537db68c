"""Python's regular expressions as JavaScript's, with the same meaning.

Classes are written out by Python's own tables, and so is the case that does not matter, since both languages have their
own idea of them. Group numbers may move where a possessive repeat needs a group of its own; `groups` says where to.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from re import _casefix as casefix  # type: ignore[attr-defined]
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from olu.core.errors import ExportError

SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
WORD, DIGIT = r"\p{L}\p{N}_", r"\p{Nd}"
CLASSES = {
    op.CATEGORY_SPACE: (SPACE, False),
    op.CATEGORY_NOT_SPACE: (SPACE, True),
    op.CATEGORY_WORD: (WORD, False),
    op.CATEGORY_NOT_WORD: (WORD, True),
    op.CATEGORY_DIGIT: (DIGIT, False),
    op.CATEGORY_NOT_DIGIT: (DIGIT, True),
}
START, END = "(?<![^])", "(?![^])"
PLACES = {
    op.AT_BEGINNING: START,
    op.AT_BEGINNING_STRING: START,
    op.AT_END: r"(?=\n?(?![^]))",
    op.AT_END_STRING: END,
    op.AT_BOUNDARY: f"(?:(?<=[{WORD}])(?![{WORD}])|(?<![{WORD}])(?=[{WORD}]))",
    op.AT_NON_BOUNDARY: f"(?:(?<=[{WORD}])(?=[{WORD}])|(?<![{WORD}])(?![{WORD}]))",
}
ALLOWED = re.IGNORECASE | re.DOTALL | re.UNICODE
MOST_CODES = 0x110000
WIDEST = 0x3000  # of a range in which case does not matter


def portable(pattern: re.Pattern[str]) -> dict[str, Any]:
    """Its source for a RegExp with the flag u, the number there of each group, and the names of groups."""
    if pattern.flags & ~ALLOWED:
        raise ExportError(
            f"the pattern {pattern.pattern!r:.60} has flags that other programs have not: write it plainly"
        )
    writer = _Writer(bool(pattern.flags & re.IGNORECASE), bool(pattern.flags & re.DOTALL))
    source = writer.several(parser.parse(pattern.pattern, pattern.flags), repeated=False)
    return {
        "source": source,
        "groups": [writer.groups[number] for number in range(1, pattern.groups + 1)],
        "names": dict(pattern.groupindex),
    }


class _Writer:
    def __init__(self, ignore_case: bool, dot_all: bool) -> None:
        self.ignore_case, self.dot_all = ignore_case, dot_all
        self.groups: dict[int, int] = {}
        self._made = 0

    def several(self, nodes: Iterable[Any], *, repeated: bool) -> str:
        return "".join(self.one(kind, held, repeated) for kind, held in nodes)

    def one(self, kind: Any, held: Any, repeated: bool) -> str:
        if kind is op.LITERAL:
            return _set(self._cases(held)) if self.ignore_case else _literal(held)
        if kind is op.NOT_LITERAL:
            return _set(self._cases(held) if self.ignore_case else {held}, negative=True)
        if kind is op.ANY:
            return "[^]" if self.dot_all else r"[^\n]"
        if kind is op.IN:
            return self._class(held)
        if kind is op.AT and held in PLACES:
            return PLACES[held]
        if kind is op.BRANCH:
            return "(?:" + "|".join(self.several(way, repeated=repeated) for way in held[1]) + ")"
        if kind is op.SUBPATTERN:
            return self._group(held, repeated)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            return self._repeat(kind, held)
        if kind is op.ATOMIC_GROUP:
            return self._atomic(held)
        if kind in (op.ASSERT, op.ASSERT_NOT):
            look = ("?=" if held[0] > 0 else "?<=") if kind is op.ASSERT else ("?!" if held[0] > 0 else "?<!")
            return f"({look}{self.several(held[1], repeated=repeated)})"
        if kind is op.GROUPREF:
            return f"(?:\\{self.groups[held]})"
        if kind is op.FAILURE:
            return "(?!)"
        raise ExportError(f"a pattern has {kind}, which other programs have not: write it in another way")

    def _group(self, held: Any, repeated: bool) -> str:
        number, more, less, inner = held
        if (more | less) & ~int(re.IGNORECASE | re.DOTALL):
            raise ExportError("a pattern changes its flags inside: write it without")
        if more or less:
            before = self.ignore_case, self.dot_all
            self.ignore_case = bool((before[0] or more & re.IGNORECASE) and not less & re.IGNORECASE)
            self.dot_all = bool((before[1] or more & re.DOTALL) and not less & re.DOTALL)
            made = self._group((number, 0, 0, inner), repeated)
            self.ignore_case, self.dot_all = before
            return made
        if number is None:
            return f"(?:{self.several(inner, repeated=repeated)})"
        if repeated:  # JavaScript forgets such a group in each round, Python keeps it
            raise ExportError("a pattern keeps a group inside a repeat: write (?:...)")
        self._made += 1
        self.groups[number] = self._made
        return f"({self.several(inner, repeated=repeated)})"

    def _atomic(self, inner: Any) -> str:
        self._made += 1
        number = self._made
        return f"(?=({self.several(inner, repeated=True)}))\\{number}(?:)"

    def _repeat(self, kind: Any, held: Any) -> str:
        least, most, inner = held
        times = f"{{{least},{'' if most is op.MAXREPEAT else most}}}"
        plain = {"{0,}": "*", "{1,}": "+", "{0,1}": "?"}.get(times, times)
        if kind is op.POSSESSIVE_REPEAT:
            return self._atomic([(op.MAX_REPEAT, held)])
        body = self.several(inner, repeated=most is op.MAXREPEAT or most > 1)
        lazy = "?" if kind is op.MIN_REPEAT else ""
        return f"(?:{body}){plain}{lazy}"

    def _cases(self, code: int) -> set[int]:
        low = _sre.unicode_tolower(code)
        return {one for each in (low, *casefix._EXTRA_CASES.get(low, ())) for one in _same_small()[each] or {each}}

    def _class(self, items: Sequence[Any]) -> str:
        negative, codes = False, set[int]()
        ranges: list[Any] = []
        named: list[Any] = []
        inverse: list[str] = []
        for kind, held in items:
            if kind is op.NEGATE:
                negative = True
            elif kind is op.LITERAL:
                codes |= self._cases(held) if self.ignore_case else {held}
            elif kind is op.RANGE:
                ranges.append(held)
            elif kind is op.CATEGORY and held in CLASSES:
                text, is_inverse = CLASSES[held]
                (inverse if is_inverse else named).append(text)
            else:
                raise ExportError(f"a pattern has the class {held}, which other programs have not")
        for low, high in ranges:
            if self.ignore_case:
                cased = {one for one in _cased() if low <= one <= high}
                for one in cased:
                    codes |= self._cases(one)
        written = "".join(named) + "".join(_range(low, high) for low, high in ranges) + _codes(codes)
        if not inverse:
            return f"[{'^' if negative else ''}{written}]"
        # a class of what another one is not: [^\W\d_] is a word character that is no digit
        first = f"[^{inverse[0]}]"
        outside = "".join(f"(?:[^{one}])|" for one in inverse[1:])
        if negative:
            every = "".join(f"(?=[{one}])" for one in inverse)
            return f"(?:{every}(?![{written}])[^])" if written else f"(?:{every}[^])"
        return f"(?:{outside}{first}|[{written}])" if written else f"(?:{outside}{first})"


@cache
def _same_small() -> defaultdict[int, set[int]]:
    """Characters by their small letter, as `re` sees it."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for code in range(MOST_CODES):
        low = _sre.unicode_tolower(code)
        if low != code or _sre.unicode_iscased(code):
            found[low].add(code)
    for low in list(found):
        found[low].add(low)
    return found


@cache
def _cased() -> tuple[int, ...]:
    return tuple(sorted({code for low, codes in _same_small().items() for code in (low, *codes)}))


def _literal(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\u{{{code:x}}}"


def _codes(codes: Iterable[int]) -> str:
    return "".join(map(_literal, sorted(codes)))


def _range(low: int, high: int) -> str:
    return f"{_literal(low)}-{_literal(high)}"


def _set(codes: set[int], *, negative: bool = False) -> str:
    if len(codes) == 1 and not negative:
        return _literal(next(iter(codes)))
    return f"[{'^' if negative else ''}{_codes(codes)}]"

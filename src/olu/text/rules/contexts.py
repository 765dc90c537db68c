"""What may stand beside the target of a rule, as regular expressions of bounded width (so reading stays linear)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

EDGE = "#"


@dataclass(frozen=True, slots=True)
class Element:
    """One place of a context: any of `choices`, or none of them; "#" stands for the word's edge."""

    choices: tuple[str, ...]
    negative: bool = False
    optional: bool = False


def widths(element: Element) -> int:
    """In how many ways an element can lie at one place: by how many letters it takes."""
    found = {0, 1} if element.negative else {_width(choice) for choice in element.choices}
    return len(found | {0} if element.optional else found)


def right_pattern(elements: Iterable[Element]) -> str:
    """A look ahead at the elements, one after the other."""
    inside = "".join(map(_ahead, elements))
    return f"(?={inside})" if inside else ""


def left_pattern(elements: Iterable[Element], target: str) -> str:
    """A look behind at the elements and the target: one for each total width, as `re` wants them of fixed width."""
    widths = [_behind(element) for element in elements]
    if not widths:
        return ""
    ways = dict.fromkeys("".join(way) for way in product(*(found.values() for found in widths)))
    return "(?:" + "|".join(f"(?<={way}{re.escape(target)})" for way in ways) + ")"


def _ahead(element: Element) -> str:
    any_of = "|".join(r"\Z" if choice == EDGE else re.escape(choice) for choice in element.choices)
    # at the edge there is nothing to step over
    one = rf"(?!{any_of})(?:.|\Z)" if element.negative else f"(?:{any_of})"
    return f"(?:{one})?" if element.optional else one


def _behind(element: Element) -> dict[int, str]:
    """The ways this element can match, by how many characters each takes."""
    found: dict[int, str] = {}
    if element.negative:
        found[1] = "." + "".join(rf"(?<!{re.escape(choice)})" for choice in element.choices if choice != EDGE)
        if EDGE not in element.choices:
            found[0] = r"\A"
    else:
        for width in sorted({_width(choice) for choice in element.choices}):
            same = [choice for choice in element.choices if _width(choice) == width]
            found[width] = "(?:" + "|".join(r"\A" if c == EDGE else re.escape(c) for c in same) + ")"
    if element.optional:
        found[0] = ""
    return found


def _width(choice: str) -> int:
    return 0 if choice == EDGE else len(choice)

"""Roman numerals: behind a king or a century, before what is counted (II Guerra Mundial), and alone."""

from __future__ import annotations

import re

from olu.text.figures import LETTER
from olu.text.style import Reigns
from olu.text.wording import Rule, Wording, any_of, is_heading

VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}
NUMERAL = r"(?=[ivxl])(?:x{0,3}|xl|lx{0,3})(?:ix|iv|v?i{0,3})"
# in capitals, and more than one: I, V and X alone are letters
ALONE = re.compile(
    rf"(?<!{LETTER})(?<![0-9.'’-])(?=[IVX]{{2}})X{{0,3}}(?:IX|IV|V?I{{0,3}})(?!{LETTER}|[0-9'’-]|\.{LETTER})"
)


def rules(wording: Wording) -> list[Rule]:
    reigns = wording.style.roman
    found = _reigns(wording, reigns) if reigns else []
    if wording.style.figures.roman:
        found.append(Rule("roman", ALONE, _alone, digits=False))
    return found


def _reigns(wording: Wording, reigns: Reigns) -> list[Rule]:
    said = Said(wording, reigns)
    behind = (
        rf"(?<!{LETTER})(?P<word>{any_of((*reigns.masculine, *reigns.feminine))})\s+(?P<a>{NUMERAL})(?!{LETTER})"
        rf"(?:(?P<join>{any_of(reigns.joiners)})(?P<b>{NUMERAL})(?!{LETTER}))?"
    )
    words = any_of((*reigns.before_masculine, *reigns.before_feminine))
    before = rf"(?<!{LETTER})(?<![.'’-])(?P<a>{NUMERAL})\s+(?P<word>{words})(?!{LETTER})"
    return [
        wording.rule("roman", behind, said.behind, digits=False),
        wording.rule("roman", before, said.before, digits=False),
    ]


class Said:
    """Says a numeral beside a word that shows its gender."""

    def __init__(self, wording: Wording, reigns: Reigns) -> None:
        self.wording, self.reigns = wording, reigns
        self.feminine = {word.casefold() for word in (*reigns.feminine, *reigns.before_feminine)}

    def behind(self, found: re.Match[str]) -> str:
        name = "reign_feminine" if found["word"].casefold() in self.feminine else "reign"
        said = f"{found['word']} {self.wording.whole(_value(found['a']), name)}"
        return f"{said}{found['join']}{self.wording.whole(_value(found['b']), name)}" if found["b"] else said

    def before(self, found: re.Match[str]) -> str | None:
        if not found["a"].isupper():
            return None
        name = "ordinal_feminine" if found["word"].casefold() in self.feminine else "ordinal_apocope"
        return f"{self.wording.whole(_value(found['a']), name)} {found['word']}"


def _alone(found: re.Match[str]) -> str | None:
    """As digits, which other rules read by what stands beside them."""
    return None if len(found[0]) == 2 and is_heading(found.string) else str(_value(found[0]))  # LO QUE VI


def _value(numeral: str) -> int:
    digits = [VALUES[letter] for letter in numeral.lower()]
    return sum(-one if one < after else one for one, after in zip(digits, [*digits[1:], 0], strict=True))

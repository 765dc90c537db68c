"""Written numbers: digits of every script, the signs inside them, and Ethiopic numerals."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

HUNDRED, MYRIAD = "፻", "፼"
ETHIOPIC = re.compile("[፩-፼]{1,40}")  # more is no number, and would take for ever
SPACES = {" ": "[ \u00a0\u202f\u2009]"}  # a space between groups, of whatever width
LETTER = r"(?:[^\W\d_²³]|[\u0300-\u036f])"  # or a mark on one: some letters have no single character
MINUS = "−"
# a hyphen that stands apart from what is before it; behind a figure or a unit it is a range
SIGN = re.compile(r"(?<![^\s(\[{“‘«\"'=:;<>+*·×/])(?<![0-9][\"'])-(?=[0-9]|[^\s\d-]{1,5}\s?[0-9])")
NUMERIC = ("Nd", "Nl", "No")
PLAIN = re.compile("[0-9]")
PLANE, LAST = 0x10000, 0x20000
RAISED = "²³"  # part of a unit (m²) until proved otherwise
LONGEST = 40  # digits
LARGEST_PART = 1000  # no sign for a fraction has a larger denominator


@cache
def _class(low: int, high: int) -> re.Pattern[str]:
    found = (chr(p) for p in range(low, high) if unicodedata.category(chr(p)) in NUMERIC)
    return re.compile(f"[{''.join(found)}]")


def has_number(text: str) -> bool:
    """Whether a character is a digit or a number, and no letter."""
    if text.isascii():
        return PLAIN.search(text) is not None
    return any(part.search(text) for part in _classes(text))


def _classes(text: str) -> list[re.Pattern[str]]:
    """Searching among the rarer planes is slow, and nearly never needed."""
    return [_class(0, PLANE), _class(PLANE, LAST)] if max(text) >= chr(PLANE) else [_class(0, PLANE)]


def ethiopic(numeral: str) -> int:
    """፲፱፻፹፭ is 1985: digits add up, ፻ and ፼ multiply what stands before them."""
    total = block = current = 0
    for char in numeral:
        if char == HUNDRED:
            block, current = block + (current or 1) * 100, 0
        elif char == MYRIAD:
            total = (total + (block + current or (0 if total else 1))) * 10_000
            block = current = 0
        else:
            current += int(unicodedata.numeric(char))
    return total + block + current


def fold(text: str) -> str:
    """Digits as 0 to 9, signs for fractions as a/b, other signs for numbers as their value."""
    if text.isascii():
        return text
    text = ETHIOPIC.sub(lambda found: str(ethiopic(found[0])), text)
    for part in _classes(text):
        text = part.sub(_plain, text)
    return text


def signed(text: str) -> str:
    """Hyphens that are a minus as that sign, so that nobody has to ask again once what stands before them is words."""
    return SIGN.sub(MINUS, text) if "-" in text else text


def _plain(found: re.Match[str]) -> str:
    char = found[0]
    if char.isascii() or char in RAISED:
        return char
    value = unicodedata.numeric(char, None)
    if value is None or value < 0:
        return char
    if unicodedata.category(char) == "Nd":
        return str(int(value))
    before = found.string[found.start() - 1 : found.start()]
    space = " " if before.isalnum() else ""
    exact = Fraction(value).limit_denominator(LARGEST_PART)
    if exact.denominator == 1:
        return f"{space}{exact.numerator}"
    return f"{space}{exact.numerator}/{exact.denominator}"


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number as it stands: digits before the decimal sign, the sign, digits after it."""

    whole: str
    mark: str = ""
    part: str = ""
    plain: bool = True  # only digits

    @property
    def value(self) -> int:
        return int(self.whole)

    @property
    def exact(self) -> Fraction:
        return Fraction(f"{self.whole}.{self.part or 0}")

    @property
    def is_code(self) -> bool:
        """Whether it is digits, not an amount: a leading zero, or more than anybody counts."""
        return len(self.whole) > LONGEST or (len(self.whole) > 1 and self.whole[0] == "0")


class NumberReader:
    """Numbers as one language writes them. A sign that is not its own is taken only where nothing else is meant."""

    def __init__(self, *, thousands: str, decimal: str, marks: str) -> None:
        self.decimal = decimal
        own = [_group(sign, "+") for sign in thousands]
        clear = [_group(sign, "{2,}") for sign in ".," if sign not in thousands]
        # 25.000 with the point of another country; 1.500 may be meant as the language writes decimals
        clear += [_group(".", "", last="000")] if "." not in thousands else []
        clear += [_group("\u202f", "+")] if " " not in thousands else []
        signs = "".join(dict.fromkeys((decimal, *marks)))
        # 1.234,5: two signs leave no doubt which is which
        both = [_group(one, "+") + f"(?=[{other}][0-9])" for one, other in (".,", ",.")]
        whole = "|".join([*own, *clear, *both, "[0-9]+"])
        self.pattern = rf"(?:(?:{whole})(?:[{re.escape(signs)}][0-9]+(?![.,]?[0-9]))?)"
        self._whole = re.compile(f"(?:{whole})")

    def is_one(self, written: str) -> bool:
        return self._whole.fullmatch(written) is not None

    def read(self, written: str) -> WrittenNumber:
        found = self._whole.match(written)
        assert found is not None, written
        whole = re.sub("[^0-9]", "", found[0])
        rest = written[found.end() :]
        return WrittenNumber(whole, rest[:1], rest[1:], plain=written.isdigit())


def _group(sign: str, times: str, *, last: str = "[0-9]{3}") -> str:
    between = SPACES.get(sign, re.escape(sign))
    apart = f"(?<![0-9]{between})", f"(?!{between}[0-9])"  # 91 234 56 78 is no group of three
    before, after = apart if sign in SPACES else ("(?<![0-9][.,])", "")
    return f"(?<![0-9]){before}(?!0)[0-9]{{1,3}}(?:{between}{last}){times}(?![0-9]){after}"

"""Python's Unicode tables, small enough to travel: another program's may be of another year."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

CODES = range(0x110000)
SURROGATES = range(0xD800, 0xE000)
SOFT = "'.:^`\u00a8\u00ad\u00af\u00b4\u00b7\u00b8\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a"


@cache
def unicode_tables() -> dict[str, Any]:
    """Categories, case, numbers and marks, as `$.unicode` of runtime.js takes them."""
    every = [chr(code) for code in CODES if code not in SURROGATES]
    categories = [(ord(char), unicodedata.category(char)) for char in every]
    chars = [chr(code) for code, name in categories if name not in ("Cn", "Co")]
    ranges: list[Any] = []
    names: list[Any] = []
    at, last = 0, ("", -1)
    for code, name in categories:
        if name == "Cn":
            continue
        if last == (name, code):
            ranges[-1] += 1
        else:
            ranges += [code - at, 1]
            names.append(name)
        last, at = (name, code + 1), code + 1
    return {
        "version": unicodedata.unidata_version,
        "category": {"ranges": ranges, "names": names},
        "is": {
            "upper": _ranges(chars, str.isupper),
            "lower": _ranges(chars, str.islower),
            "digit": _ranges(chars, str.isdigit),
            "numeric": _ranges(chars, str.isnumeric),
        },
        "maps": {
            "lower": _map(chars, str.lower),
            "upper": _map(chars, str.upper),
            "casefold": _map(chars, str.casefold),
        },
        "combining": [[char, unicodedata.combining(char)] for char in chars if unicodedata.combining(char)],
        "numbers": [[char, value] for char in chars if (value := unicodedata.numeric(char, None)) is not None],
        "case_ignorable": _ranges(chars, _is_ignorable),
        "cased": _ranges(chars, lambda char: char.isupper() or char.islower() or char.istitle()),
    }


def _ranges(chars: list[str], test: Callable[[str], bool]) -> list[int]:
    """How far each range begins behind the one before, and how long it is."""
    found: list[int] = []
    at = 0
    for char in filter(test, chars):
        if found and ord(char) == at:
            found[-1] += 1
        else:
            found += [ord(char) - at, 1]
        at = ord(char) + 1
    return found


def _map(chars: list[str], change: Callable[[str], str]) -> dict[str, Any]:
    changed = [(char, to) for char in chars if (to := change(char)) != char]
    return {
        "single": "".join(char + to for char, to in changed if len(to) == 1),
        "several": [[char, to] for char, to in changed if len(to) != 1],
    }


def _is_ignorable(char: str) -> bool:
    return unicodedata.category(char) in ("Mn", "Me", "Cf", "Lm", "Sk") or char in SOFT

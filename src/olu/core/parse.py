"""JSON and TOML as values: the one way in for every file, so that whatever is wrong with one is the same error."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

DEEPEST = 64  # lists and tables inside each other; what Olu and the programs it knows write has fewer than ten
MOST_DIGITS = 308  # of a whole number: more fit in no float
LONG = re.compile(rf"[0-9]{{{MOST_DIGITS + 1}}}")
DIGIT = re.compile("[0-9]")
TOO_MANY = f"a number of more than {MOST_DIGITS} digits"


class BadData(ValueError):
    """A text that holds no JSON or TOML, or more than any honest one; `why` leaves out where in the text."""

    def __init__(self, why: str, where: str = "") -> None:
        super().__init__(f"{why}{where}")
        self.why = why


def from_json(data: str | bytes) -> Any:
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        value = json.loads(text)
    except json.JSONDecodeError as bad:
        raise BadData(bad.msg, f": line {bad.lineno} column {bad.colno} (char {bad.pos})") from None
    except UnicodeDecodeError as bad:
        raise BadData(str(bad)) from None
    except RecursionError:
        raise BadData(_deep()) from None
    except ValueError:  # Python reads no whole number of more than 4,300 digits
        raise BadData(TOO_MANY) from None
    if text.count("[") + text.count("{") > DEEPEST or _has_long(text):
        _check(value)
    return value


def check_json(line: bytes) -> None:
    """Refuse a JSON text that another reader took and this one would not."""
    long = len(line) > MOST_DIGITS and _has_long(line.decode("utf-8"))
    if long or (len(line) > DEEPEST and line.count(b"[") + line.count(b"{") > DEEPEST):
        from_json(line)


def _has_long(text: str) -> bool:
    """Whether so many digits stand in a row: such a row meets one of the characters that are looked at first."""
    return DIGIT.search(text[MOST_DIGITS :: MOST_DIGITS + 1]) is not None and LONG.search(text) is not None


def load_json(path: Path) -> Any:
    """What a file holds; that it cannot be read at all stays an OSError."""
    return from_json(path.read_bytes())


def from_toml(data: str | bytes) -> dict[str, Any]:
    try:
        value = tomllib.loads(data if isinstance(data, str) else data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as bad:
        raise BadData(str(bad)) from None
    except RecursionError:
        raise BadData(_deep()) from None
    except ValueError:
        raise BadData(TOO_MANY) from None
    _check(value)
    return value


def load_toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")  # with the ends of lines of any system
    except UnicodeDecodeError as bad:
        raise BadData(str(bad)) from None
    return from_toml(text)


def _check(value: Any) -> None:
    """Level by level, not by recursion: how deep Python itself may go differs between its versions."""
    level, most = [value], 10**MOST_DIGITS
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
            elif type(one) is int and not -most < one < most:
                raise BadData(TOO_MANY)
        if not inner:
            return
        level = inner
    raise BadData(_deep())


def _deep() -> str:
    return f"more than {DEEPEST} lists or tables inside each other"

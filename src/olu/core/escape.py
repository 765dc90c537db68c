"""Foreign names on a terminal: what would move the cursor, hide text or forge a line is shown as an escape instead."""

from __future__ import annotations

import re

# C0 and C1 controls, line and paragraph separators, marks that turn the direction of a text
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
BUT_LINES = re.compile(f"(?![\n\t]){CONTROL.pattern}")


def one_line(text: str) -> str:
    """For a name, a cell or a sentence: no newline either. Bytes that are no UTF-8 are escaped too."""
    return CONTROL.sub(_escape, _encodable(text))


def lines(text: str) -> str:
    """For a text of several lines that Olu made itself."""
    return BUT_LINES.sub(_escape, _encodable(text))


def json_safe(text: str) -> str:
    """JSON that is written as Unicode: the same value, with escapes for what JSON would leave as it is."""
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _escape(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]

from __future__ import annotations

import re
import unicodedata

from olu.audit.check import Check, MeasuredClip, each
from olu.audit.coverage import count_letters
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark
from olu.core.words import many

NAME = "text"
BREAKS = "\n\r\t"
LOST = "\ufffd"  # what programs write for a letter that they could not read
NO_SIGNS = ("Cc", "Cn", "Co", "Cs")  # controls and places without a sign; joiners and marks of direction are writing
MARKUP = re.compile(r"</?[a-z][^<>]*>|&(?:[a-z]+|#\d+);|https?://\S+|\{\\\w[^}]*\}", re.IGNORECASE)


def judge(heard: MeasuredClip, limits: Thresholds) -> Mark | None:
    text = heard.clip.text
    if not heard.clip.transcribed:
        return None  # has a check of its own
    letters = count_letters(text)
    if letters < limits.letters_least:
        message = "the text has no letter" if letters == 0 else f"the text has only {many(letters, 'letter')}"
        return Mark(check=NAME, severity="error", value=float(letters), message=f"{message}: write what is said")
    for count, message in (_breaks(text), _lost(text), _markup(text)):
        if count:
            return Mark(check=NAME, severity="warn", value=float(count), message=message)
    return None


def _breaks(text: str) -> tuple[int, str]:
    count = sum(text.count(mark) for mark in BREAKS)
    signs, read = ("break or tab", "a space") if count == 1 else ("breaks or tabs", "spaces")
    return count, f"{count} line {signs} in the text, read as {read}: two lines may have become one"


def _lost(text: str) -> tuple[int, str]:
    """Letters that a wrong encoding took: a sign for them, none at all, or two for one."""
    if _misread(text):
        return 1, "the text was read in a wrong encoding: save the list as UTF-8 from the original"
    signs = [sign for sign in text if sign == LOST or (unicodedata.category(sign) in NO_SIGNS and sign not in BREAKS)]
    named = f"U+{ord(signs[0]):04X}" if signs else ""
    return len(signs), f"{many(len(signs), 'sign')} in the text that nobody writes ({named}): a letter may be lost"


def _misread(text: str) -> bool:
    """UTF-8 that was taken for Latin letters: only such text makes UTF-8 again."""
    if text.isascii():
        return False
    for encoding in ("cp1252", "latin-1"):
        try:
            return text.encode(encoding).decode("utf-8") != text
        except UnicodeError:
            continue
    return False


def _markup(text: str) -> tuple[int, str]:
    found = MARKUP.findall(text)
    return len(
        found
    ), f"marks of a web page or subtitle in the text, such as {found[0] if found else ''}: take them out"


CHECK = Check(
    name=NAME,
    title="Text",
    rule=lambda t: (
        f"Error when the text has fewer than {t.letters_least} letter{'s' * (t.letters_least != 1)}; "
        "warning for line breaks, tabs and control characters inside, letters lost to a wrong encoding, tags and links."
    ),
    reason=(
        "Without words there is nothing to learn the sound from. A line break often means that a second line was "
        "pasted in; a lost letter or a tag is not what is said."
    ),
    fix="Write what is said in one line, and import again. Olu reads a line break as a space.",
    look=each(judge),
)

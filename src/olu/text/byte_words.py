"""Words of a text as GPT-2 cuts it, written with a sign for each byte.

The pattern of GPT-2 parts English endings such as 's, then runs of letters, of digits and of other signs, each with a
space before it, then white space. Letters and digits are so by their Unicode categories; a mark is an other sign.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

ENDINGS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")
SPACES = frozenset("\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {*map(chr, range(0x2000, 0x200B))}


def _byte_signs() -> str:
    """For each byte the sign of that code where it can be seen, and for the others those from U+0100 on."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in seen else next(hidden)) for byte in range(256))


BYTE_SIGNS = _byte_signs()
BYTES = {sign: byte for byte, sign in enumerate(BYTE_SIGNS)}


def byte_words(text: str) -> Iterator[str]:
    for word in _words(text):
        yield "".join(BYTE_SIGNS[byte] for byte in word.encode("utf-8", "replace"))


def from_bytes(signs: str) -> str:
    return bytes(BYTES[sign] for sign in signs).decode("utf-8", "replace")


def _words(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        begin, first = at, at + (text[at] == " ")
        if ending := next((one for one in ENDINGS if text.startswith(one, at)), ""):
            at += len(ending)
        elif first < len(text) and (kind := _kind(text[first])) != "white":
            at = _end_of_run(text, first, kind)
        else:
            at = _end_of_run(text, at, "white")
            if at < len(text) and at - begin > 1:
                at -= 1  # the last one goes with what follows
        yield text[begin:at]


def _end_of_run(text: str, at: int, kind: str) -> int:
    while at < len(text) and _kind(text[at]) == kind:
        at += 1
    return at


def _kind(sign: str) -> str:
    if sign in SPACES:
        return "white"
    return {"L": "letter", "N": "digit"}.get(unicodedata.category(sign)[0], "other")

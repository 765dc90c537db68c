"""The closest relative of a symbol among those a voice already knows: ị is near i, ɓ near b."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator

from olu.core.errors import OluError

STRESS = "ˈˌ"  # before the vowel they are on
AS_PHONES = {"ch": "t͡ʃ", "sh": "ʃ", "zh": "ʒ", "kh": "x", "ts": "t͡s", "g": "ɡ", "y": "j"}  # unlike Latin

# Letters whose sound is written by another sign, where a voice knows phones and a text is read by letters.
SOUNDS = {
    "g": ("ɡ",),
    "ɡ": ("g",),
    "y": ("j",),
    "c": ("t͡ʃ", "tʃ", "k"),
    "q": ("k",),
    "r": ("ɾ", "ɹ", "ʁ"),
    "a": ("ɑ",),
    "e": ("ɛ",),
    "i": ("ɪ",),
    "o": ("ɔ",),
    "u": ("ʊ",),
    "ẹ": ("ɛ",),
    "ọ": ("ɔ",),
    "ñ": ("ɲ",),
    "š": ("ʃ",),
    "ṣ": ("ʃ",),
    "ž": ("ʒ",),
    "č": ("t͡ʃ", "tʃ"),
}


def relative(symbol: str, known: Collection[str], *, language: str = "") -> str | None:
    """The nearest of `known`, or None where nothing is near."""
    return next((near for near in _nearer_first(symbol, language) if near in known and near != symbol), None)


def _nearer_first(symbol: str, language: str) -> Iterator[str]:
    for form in dict.fromkeys((symbol, symbol.lstrip(STRESS), symbol.lstrip(STRESS).lower())):
        yield form
        yield from SOUNDS.get(unicodedata.normalize("NFC", form), ())
        for kind in ("NFD", "NFKD"):
            parts = unicodedata.normalize(kind, form)
            letters = "".join(part for part in parts if not unicodedata.combining(part))
            yield parts
            for end in range(len(parts) - 1, 0, -1):  # one mark fewer each time
                if not unicodedata.combining(parts[0]):
                    fewer = unicodedata.normalize("NFC", parts[:end])
                    yield from (fewer, parts[:end], *SOUNDS.get(fewer, ()))
            yield letters
            yield letters[:1]
        yield from _by_name(form[:1])
    yield from _in_latin(symbol, language)


def _by_name(character: str) -> Iterator[str]:
    """LATIN SMALL LETTER B WITH HOOK is a LATIN SMALL LETTER B."""
    plain, with_, _ = unicodedata.name(character, "").partition(" WITH ") if character else ("", "", "")
    if with_:
        try:
            yield unicodedata.lookup(plain)
        except KeyError:
            return


def _in_latin(symbol: str, language: str) -> Iterator[str]:
    """What uroman writes, where it is installed: as one phone, else the first of its letters that is known."""
    if symbol.isascii() or not any(unicodedata.category(part)[0] == "L" for part in symbol):
        return
    try:
        from olu.text.characters import romanise

        letters = romanise(symbol, language=language).strip().lower()
    except OluError:
        return
    if len(letters) > 1 and letters in AS_PHONES:
        yield AS_PHONES[letters]
    yield from letters
    yield from (AS_PHONES[letter] for letter in letters if letter in AS_PHONES)

"""How far two sounds lie apart, by the signs they are written with: place, manner, voice; height, backness."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# manner: voiceless and voiced signs by place, from the lips to the throat
CONSONANTS = {
    "stop": "pb -- -- td -- ʈɖ cɟ kɡ qɢ ʔ-",
    "nasal": "-m -ɱ -- -n -- -ɳ -ɲ -ŋ -ɴ --",
    "fricative": "ɸβ fv θð sz ʃʒ ʂʐ çʝ xɣ χʁ hɦ",
    "approximant": "-w -ʋ -- -ɹ -- -ɻ -j -ɰ -- --",
    "lateral": "-- -- -- -l -- -ɭ -ʎ -ʟ -- --",
    "trill": "-ʙ -- -- -r -ɾ -ɽ -- -- -ʀ --",
}
MANNERS = ("stop", "fricative", "trill", "lateral", "nasal", "approximant")  # neighbours are alike
VOWELS = {  # sign: height (0 open), backness (0 front), rounded
    "i": (3, 0, 0), "y": (3, 0, 1), "ɨ": (3, 1, 0), "ʉ": (3, 1, 1), "ɯ": (3, 2, 0), "u": (3, 2, 1),
    "ɪ": (2.5, 0.3, 0), "ʏ": (2.5, 0.3, 1), "ʊ": (2.5, 1.7, 1), "e": (2, 0, 0), "ø": (2, 0, 1), "ɘ": (2, 1, 0),
    "ɤ": (2, 2, 0), "o": (2, 2, 1), "ə": (1.5, 1, 0), "ɚ": (1.5, 1, 0), "ɛ": (1, 0, 0), "œ": (1, 0, 1),
    "ɜ": (1, 1, 0), "ɝ": (1, 1, 0), "ʌ": (1, 2, 0), "ɔ": (1, 2, 1), "æ": (0.5, 0, 0), "ɐ": (0.5, 1, 0),
    "a": (0, 0.7, 0), "ɑ": (0, 2, 0), "ɒ": (0, 2, 1),
}  # fmt: skip
WEAK = frozenset("əɨɪʊʔhɦ")  # said or left out as it comes
GLIDES = {"j": "i", "w": "u", "ɥ": "y"}
SAME = {"g": "ɡ", "ɫ": "l", "ɴ": "ŋ", "ɥ": "j", "ɕ": "ʃ", "ʑ": "ʒ", "ħ": "h", "ʕ": "ʔ", "ɓ": "b", "ɗ": "d", "ɠ": "ɡ"}
ARPABET = {
    "AA": "ɑ", "AE": "æ", "AH": "ə", "AO": "ɔ", "AW": "aʊ", "AY": "aɪ", "B": "b", "CH": "tʃ", "D": "d", "DH": "ð",
    "EH": "ɛ", "ER": "ɝ", "EY": "eɪ", "F": "f", "G": "ɡ", "HH": "h", "IH": "ɪ", "IY": "i", "JH": "dʒ", "K": "k",
    "L": "l", "M": "m", "N": "n", "NG": "ŋ", "OW": "oʊ", "OY": "ɔɪ", "P": "p", "R": "ɹ", "S": "s", "SH": "ʃ",
    "T": "t", "TH": "θ", "UH": "ʊ", "UW": "u", "V": "v", "W": "w", "Y": "j", "Z": "z", "ZH": "ʒ",
}  # fmt: skip
STRESSED = re.compile(r"([A-Z]{1,2})[012]?")
UNKNOWN = 0.6  # between signs of which one says nothing


def _table() -> dict[str, tuple[str, int, bool]]:
    found = {}
    for manner, row in CONSONANTS.items():
        for place, pair in enumerate(re.findall(r"\S\S", row)):
            for voiced, sign in enumerate(pair):
                if sign != "-":
                    found[sign] = (manner, place, bool(voiced))
    return found


TABLE = _table()


@cache
def letters(phone: str) -> str:
    """The bare signs of a phone: without stress, tone, length and other marks."""
    match = STRESSED.fullmatch(phone)
    if match and match[1] in ARPABET:
        phone = ARPABET[match[1]]
    plain = "".join(SAME.get(sign, sign) for sign in unicodedata.normalize("NFD", phone))
    return "".join(sign for sign in plain if sign in TABLE or sign in VOWELS)


@cache
def distance(one: str, other: str) -> float:
    """0 for the same sound, 1 for a vowel and a consonant that have nothing in common."""
    if one == other:
        return 0.0
    first, second = letters(one), letters(other)
    if not first or not second:
        return UNKNOWN
    if first == second:
        return 0.03  # marks apart
    ends = (_apart(first[0], second[0]) + _apart(first[-1], second[-1])) / 2
    return min(1.0, ends + 0.05 * abs(len(first) - len(second)))


def is_weak(phone: str) -> bool:
    return letters(phone) in WEAK and bool(letters(phone))


def _apart(one: str, other: str) -> float:
    if one == other:
        return 0.0
    if one in VOWELS and other in VOWELS:
        (height, back, round_), (height2, back2, round2) = VOWELS[one], VOWELS[other]
        return 0.05 + 0.25 * abs(height - height2) / 3 + 0.15 * abs(back - back2) / 2 + 0.05 * abs(round_ - round2)
    if one in VOWELS or other in VOWELS:
        vowel, rest = (one, other) if one in VOWELS else (other, one)
        return 0.3 if GLIDES.get(rest) == vowel else 1.0
    (manner, place, voiced), (manner2, place2, voiced2) = TABLE[one], TABLE[other]
    steps = abs(MANNERS.index(manner) - MANNERS.index(manner2)) / (len(MANNERS) - 1)
    return 0.05 + 0.25 * steps + 0.3 * abs(place - place2) / 9 + 0.1 * (voiced != voiced2)

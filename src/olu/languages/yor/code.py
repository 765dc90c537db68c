"""Yoruba: letters repaired, tones H M L read from their marks, and unmarked vowels read with care."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain

from olu.text.language_data import Pack, Pronunciation, ReadingTrace
from olu.text.rules.engine import LetterRules
from olu.text.tones import kinds
from olu.text.words import split

ALGORITHM = "yoruba"
FULL, PARTIAL, AUTO = "full", "partial", "auto"
CLEAR = (FULL,)  # what the lines of a file can show together
UNKNOWN = "a text that marks few tones: an unmarked one is unknown, and missing dots are not restored"
# In fully marked text about three vowels in four carry a mark, since only the mid tone is left unmarked.
MARKED_ENOUGH = 0.5
MARKED_EVERYWHERE = 0.3  # enough where every word of two vowels or more carries some mark
TONES = {"\u0301": "H", "\u0300": "L", "\u0304": "M", "\u0302": "HL", "\u030c": "LH"}
BEARERS = frozenset("aeiouẹọịụ")
DOTTED_VOWELS = frozenset("ẹọịụ")
NASALS = {"m": "ḿ", "n": "ń"}  # how letters.tsv spells a nasal with a tone of its own
CONTOUR = 2  # tones that one vowel can carry
DOT = "\u0323"
SAME = str.maketrans(
    {
        # other ways to type the dot: vertical line, macron, low line, hook or comma below
        **dict.fromkeys("\u0329\u0331\u0332\u0328\u0327\u0326", DOT),
        "\u0340": "\u0300",
        "\u0341": "\u0301",
        "ɛ": "e" + DOT,
        "ɔ": "o" + DOT,
        "ʃ": "s" + DOT,
        "ı": "i",
        # letters of other alphabets that look the same: the corpus has some
        **dict(zip("ιοαаеоір", "ioaaeoip", strict=True)),
        **dict.fromkeys("‘’ʼ´`", "'"),
        **dict.fromkeys("‐‑", "-"),
    }
)
HIDDEN = re.compile("[\ufeff\u200b-\u200f\u2060\u00ad]")
DOTTED = re.compile(f"(?<![eosiuEOSIU]){DOT}+|(?<={DOT}){DOT}+")
MARK = re.compile("[\u0300-\u036f]")


def canonical(text: str, notes: ReadingTrace) -> str:
    """NFC in lower case, with one way to write each dot and tone."""
    if text.isascii():
        return text.replace("`", "'").lower()
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).lower())
    hidden = HIDDEN.findall(plain)
    same = unicodedata.normalize("NFD", HIDDEN.sub("", plain).translate(SAME))
    lost = DOTTED.findall(same)
    repaired = unicodedata.normalize("NFC", DOTTED.sub("", same))
    notes.dropped.update([*hidden, *"".join(lost)])
    notes.add("canonical", "dots, tones and letters written one way", unicodedata.normalize("NFC", text), repaired)
    return repaired


@lru_cache(maxsize=50_000)
def parts(word: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The letters without tones, the tone of each letter, and the marks that mean nothing here."""
    letters: list[str] = []
    tones: list[str] = []
    strange: list[str] = []
    for char in unicodedata.normalize("NFD", word):
        dotted = unicodedata.normalize("NFC", letters[-1] + char) if char == DOT and letters else ""
        if len(dotted) == 1:
            letters[-1] = dotted
        elif char in TONES and letters and _takes(letters[-1], tones[-1], TONES[char]):
            tones[-1] += TONES[char] if tones[-1] != TONES[char] else ""
        elif MARK.match(char):
            strange.append(char)
        else:
            letters.append(char)
            tones.append("")
    return "".join(letters), tuple(tones), tuple(strange)


def _takes(letter: str, before: str, tone: str) -> bool:
    """A vowel or nasal takes a tone, a second one as a contour, and the same one again."""
    return (letter in BEARERS or letter in NASALS) and (before == tone or len(before + tone) <= CONTOUR)


def _bearers(word: str) -> list[tuple[str, str]]:
    """Letters that can carry a tone, each with the one written on it or ""."""
    letters, tones, _ = parts(word)
    return [(letter, tone) for letter, tone in zip(letters, tones, strict=True) if letter in BEARERS or tone]


class Yoruba:
    """Tones stand on vowels and syllabic nasals; where the text marks too few of them an unmarked one is unknown."""

    def __init__(self, pack: Pack) -> None:
        self.letters = LetterRules.of(pack)
        self.convention = pack.options.get("tone_convention", AUTO)
        self.nuclei = kinds(pack, "vowel", "syllabic")
        rows = [row for row in pack.rows("lexicon.tsv") if len(row) > 1]
        self.lexicon = {
            unicodedata.normalize("NFC", word.strip()): (tuple(phones.split()), (rest[0].split() if rest else []))
            for word, phones, *rest in rows
        }

    def mode(self, words: Sequence[str]) -> str:
        """Whether a text marks its tones, so that no mark means a mid tone: as a person said, or by its marks."""
        if self.convention != AUTO:
            return self.convention
        by_word = [_bearers(word) for word in words]
        bearers = list(chain.from_iterable(by_word))
        tones = [tone for _, tone in bearers]
        dotted = [tone for letter, tone in bearers if letter in DOTTED_VOWELS]
        if not any(tones) or (len(dotted) > 1 and not any(dotted)):
            return PARTIAL  # many keyboards cannot put a tone over a dotted letter, and leave it out there
        bare = any(len(word) > 1 and not any(tone for _, tone in word) for word in by_word)
        enough = (MARKED_ENOUGH if bare else MARKED_EVERYWHERE) * len(tones)
        return FULL if sum(map(bool, tones)) >= enough else PARTIAL

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        letters, tones, strange = parts(word)
        unmarked = "M" if mode == FULL else "?"
        known = self.lexicon.get(word)
        if known:
            bearers = tuple(at for at, phone in enumerate(known[0]) if phone in self.nuclei)
            given = tuple(known[1]) if len(known[1]) == len(bearers) else (unmarked,) * len(bearers)
            return Pronunciation(known[0], given, bearers, rules=(f"lexicon: {word}",))
        base = "".join(
            NASALS.get(letter, letter) if tone else letter for letter, tone in zip(letters, tones, strict=True)
        )
        found = self.letters.spell(base)
        bearers = tuple(at for at, phone in enumerate(found.phones) if phone in self.nuclei)
        heard = tuple(tones[found.places[at]] or unmarked for at in bearers)
        told = (*found.rules, UNKNOWN) if "?" in heard else found.rules
        return Pronunciation(found.phones, heard, bearers, rules=told, dropped=(*found.dropped, *strange))


def make(pack: Pack) -> Yoruba:
    return Yoruba(pack)


def detect(pack: Pack, texts: Iterable[str]) -> dict[str, str]:
    """Whether a whole corpus marks its tones, where nobody said so: then a line without marks is mid throughout."""
    if pack.options.get("tone_convention") != AUTO:
        return {}
    notes = ReadingTrace()
    words = [word for text in texts for word in split(canonical(text, notes))[0]]
    return {"tone_convention": FULL} if Yoruba(pack).mode(words) == FULL else {}


def marked_speller(pack: Pack) -> Callable[[str, str], str | None]:
    """Words with the tones of their phones written onto them, mid ones unmarked; nothing where they do not fit."""
    yoruba = Yoruba(pack)

    def spell(word: str, phones: str) -> str | None:
        heard = [mark for one in phones.split() if (mark := "".join(c for c in _flat(one) if c in TONES)[:1])]
        letters = parts(canonical(word, ReadingTrace()))[0]
        found = yoruba.letters.spell(letters)
        places = [found.places[at] for at, phone in enumerate(found.phones) if phone in yoruba.nuclei]
        if len(places) != len(heard) or not heard:
            return None
        marked = list(letters)
        for place, mark in zip(places, heard, strict=True):
            marked[place] += "" if TONES[mark] == "M" else mark
        return unicodedata.normalize("NFC", "".join(marked))

    return spell


def _flat(text: str) -> str:
    return unicodedata.normalize("NFD", text)

"""Spanish: its letters and rules, and the stress that accents and endings give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from olu.text.language_data import Pack, Pronunciation
from olu.text.rules.engine import LetterRules, Spelled, exceptions, nearest
from olu.text.tones import from_end, kinds

ALGORITHM = "spanish"
ACCENTED = frozenset("áéíóú")
OPEN_VOWELS = frozenset("aeiouáéíóúü")
OPEN_ENDINGS = OPEN_VOWELS | {"n", "s"}  # after these the stress falls on the last syllable but one
GLIDES = {"i̯": "i", "u̯": "u"}


class Spanish:
    """Glides after a vowel stay apart from vowels until the syllables have been counted."""

    def __init__(self, pack: Pack) -> None:
        self.letters = LetterRules.of(pack)
        self.lexicon = exceptions(pack)
        self.unstressed = frozenset(word for row in pack.rows("unstressed.txt") for word in row[0].split())
        self.vowels = kinds(pack, "vowel")
        self.narrow = pack.options.get("allophones") == "narrow"

    def mode(self, words: Sequence[str]) -> str:
        return ""

    def say(self, word: str, *, mode: str = "") -> Pronunciation:
        word = nearest(word, self.letters)
        spelled = self.letters.spell(word)
        count = self._from_end(word, spelled)
        known = self.lexicon.get(word)
        phones = known.phones if known else spelled.phones
        stress = from_end(phones, self.vowels, count) if count else None
        if not self.narrow:
            phones = tuple(GLIDES.get(phone, phone) for phone in phones)
        if known:
            return replace(known, phones=phones, stress=stress)
        return Pronunciation(phones, stress=stress, rules=spelled.rules, dropped=spelled.dropped)

    def _from_end(self, word: str, spelled: Spelled) -> int:
        """Which syllable is stressed, counted from the end; 0 is none."""
        if word in self.unstressed:
            return 0
        nuclei = [place for phone, place in zip(spelled.phones, spelled.places, strict=True) if phone in self.vowels]
        if word.endswith("mente") and len(nuclei) > 1:
            return 2  # the adjective's own stress, with or without its accent, is the weaker one
        for back, place in enumerate(reversed(nuclei), 1):
            if word[place] in ACCENTED:
                return back
        return 2 if _open(word) else 1


def _open(word: str) -> bool:
    """Whether a word ends like most Spanish words: in a vowel, n or s; -ing of loans is said -in."""
    letters = [letter for letter in word if letter.isalpha()]
    if letters[-3:] == ["i", "n", "g"]:
        return True
    if letters[-1:] == ["y"]:  # a vowel after a consonant (hobby), else not (estoy)
        return len(letters) > 1 and letters[-2] not in OPEN_VOWELS
    return bool(letters) and letters[-1] in OPEN_ENDINGS


def make(pack: Pack) -> Spanish:
    return Spanish(pack)

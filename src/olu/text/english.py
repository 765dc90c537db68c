"""English words inside another language: read by rules, then fitted into its sounds and its open syllables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from olu.text.language_data import Pack, Pronunciation
from olu.text.rules.engine import LetterRules

SYLLABIC = {"m": "m̩", "n": "n̩", "ɲ": "n̩", "ŋ": "ŋ̍", "ŋʷ": "ŋ̍"}
VELAR = {"k", "ɡ", "kʷ", "ɡʷ", "ɣ"}
LABIAL = {"p", "b", "f", "v", "w", "m", "k͡p", "ɡ͡b"}
ROUNDED = {"k": "kʷ", "ɡ": "ɡʷ"}
LAST = re.compile("(?:ee|eer|ette|esque)$")
SECOND_LAST = re.compile("(?:[tsc]ion|cian|ics?|ial|ious|ish)s?$")
THIRD_LAST = re.compile("(?:ity|ical|ology|ography|ian|ate)$")


CERTAIN = 5  # letters: a listed word as long as this is taken for English wherever it stands


def certain(pack: Pack) -> frozenset[str]:
    """The English words that nobody takes for one of the language's own."""
    return frozenset(row[0] for row in pack.rows("english_words.tsv") if len(row[0]) >= CERTAIN)


class English:
    """The files english_*.tsv and english_rules.txt of a folder as a function from a word to phones."""

    def __init__(self, pack: Pack, *, kinds: Mapping[str, str]) -> None:
        self.letters = LetterRules(
            pack.text("english_letters.tsv"), pack.text("english_rules.txt"), where=f"{pack.code}/english"
        )
        self.own = kinds
        rows = pack.rows("english_phones.tsv", cells=3)
        self.kinds = {row[0]: row[1] for row in rows}
        self.fitted = {row[0]: tuple(row[2].split()) for row in rows}
        self.words = {row[0]: tuple(row[1].split()) for row in pack.rows("english_words.tsv", cells=2)}

    def say(self, word: str, *, keep: bool = False) -> Pronunciation:
        """A word in small letters; `keep` leaves the English phones, with their stress."""
        phones, rules, dropped = self._phones(word)
        stress = self._stress(word, phones)
        if keep:
            return Pronunciation(phones, stress=stress, rules=(f"english: {rules}",), dropped=dropped)
        fitted, high = self._fit(phones, stress)
        bearers = tuple(at for at, phone in enumerate(fitted) if self.own.get(phone) == "vowel")
        tones = tuple("H" if at == high else "L" for at in bearers)
        said, carried, read = repair(fitted, bearers, tones, kinds=self.own, blank="L")
        return Pronunciation(said, read, carried, rules=(f"english: {rules}: {' '.join(phones)}",), dropped=dropped)

    def _phones(self, word: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        if listed := self.words.get(word):
            return listed, "listed", ()
        if not any(char in "aeiouy" for char in word):
            parts = [self.letters.say(f"{char}ee") for char in word]
            return (
                tuple(p for part in parts for p in part.phones),
                "spelled",
                tuple(d for q in parts for d in q.dropped),
            )
        said = self.letters.say(word)
        return said.phones, "letters", said.dropped

    def _stress(self, word: str, phones: Sequence[str]) -> int | None:
        """Which phone: the first vowel, or the one that the word's ending asks for."""
        vowels = [at for at, phone in enumerate(phones) if self.kinds.get(phone) == "vowel"]
        if not vowels:
            return None
        back = 1 if LAST.search(word) else 2 if SECOND_LAST.search(word) else 3 if THIRD_LAST.search(word) else 0
        return vowels[max(len(vowels) - back, 0)] if back else vowels[0]

    def _fit(self, phones: Sequence[str], stress: int | None) -> tuple[tuple[str, ...], int | None]:
        fitted: list[str] = []
        high = None
        for at, phone in enumerate(phones):
            if at == stress:
                high = len(fitted)
            here = self.fitted[phone]
            if here == ("w",) and fitted and fitted[-1] in ROUNDED:
                fitted[-1] = ROUNDED[fitted[-1]]
            else:
                fitted += here
        return tuple(fitted), high


def repair(
    phones: Sequence[str], bearers: Sequence[int], tones: Sequence[str], *, kinds: Mapping[str, str], blank: str
) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
    """Open syllables: a vowel after every stray consonant, and a nasal there is a syllable; `blank` is their tone."""
    known = dict(zip(bearers, tones, strict=True))
    built: list[tuple[str, str]] = []
    for at, phone in enumerate(phones):
        after = phones[at + 1] if at + 1 < len(phones) else ""
        if kinds.get(phone) != "consonant":
            built.append((phone, known.get(at, blank)))
        elif kinds.get(after) == "vowel":
            built.append((phone, ""))
        elif phone in SYLLABIC:
            built.append(("ŋ̍" if phone == "n" and after in VELAR else SYLLABIC[phone], blank))
        else:
            built += ((phone, ""), (_filler(phones, at, kinds), blank))
    carried = [(at, tone) for at, (_, tone) in enumerate(built) if tone]
    return tuple(p for p, _ in built), tuple(at for at, _ in carried), tuple(tone for _, tone in carried)


def _filler(phones: Sequence[str], at: int, kinds: Mapping[str, str]) -> str:
    if at + 1 == len(phones):
        return "ʊ" if phones[at] in LABIAL else "ɪ"
    return next((phone for phone in phones[at + 1 :] if kinds.get(phone) == "vowel"), "ɪ")

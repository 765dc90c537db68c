"""Which letters or phones the usable clips hold, how often, and which are too rare to be learned."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

# ---- what of a transcript is spoken: its letters, and the scripts they belong to


ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "HALFWIDTH": "CJK", "FULLWIDTH": "LATIN"}
NO_SCRIPT = {"MODIFIER", "FEMININE", "MASCULINE", "MICRO"}  # letters that stand in texts of any script
NO_ASCII_LETTERS = bytes(number for number in range(128) if not chr(number).isalpha())


def count_letters(text: str) -> int:
    """Letters of any script; marks, digits, spaces and punctuation do not count."""
    if text.isascii():  # ten times as quick
        return len(text.encode("ascii").translate(None, NO_ASCII_LETTERS))
    return sum(map(str.isalpha, unicodedata.normalize("NFC", text)))


def has_digits(text: str) -> bool:
    return count_digits(text) > 0


def count_digits(text: str) -> int:
    return sum(unicodedata.category(letter).startswith("N") for letter in text)


def fold(text: str) -> str:
    """The text as it sounds: one form for what differs only in case, spaces or encoding."""
    return unicodedata.normalize("NFC", " ".join(unicodedata.normalize("NFC", text).casefold().split()))


@lru_cache(maxsize=100_000)
def script(letter: str) -> str:
    """The first word of a letter's Unicode name, such as LATIN or ETHIOPIC; empty for what has no script."""
    if not letter.isalpha():
        return ""
    word = unicodedata.name(letter, "UNKNOWN").replace("-", " ").split()[0]
    return "" if word in NO_SCRIPT else ONE_SCRIPT.get(word, word)


def scripts(text: str) -> Counter[str]:
    """Letters of each script."""
    counts = Counter(script(letter) for letter in unicodedata.normalize("NFC", text))
    del counts[""]
    return counts


def main_scripts(texts: Iterable[tuple[str, str]], *, least: float) -> dict[str, str]:
    """The script of each language of (language, text) pairs, where one has at least this share of the letters."""
    counts: dict[str, Counter[str]] = {}
    for language, text in texts:
        counts.setdefault(language, Counter()).update(scripts(text))
    found = {}
    for language, count in counts.items():
        if count:
            name, number = count.most_common(1)[0]
            if number >= least * count.total():
                found[language] = name
    return found


def units(text: str) -> list[str]:
    """Letters with the marks on them, in one case and form; words, digits and punctuation do not count."""
    found: list[str] = []
    for letter in unicodedata.normalize("NFC", text.casefold()):
        if letter.isalpha():
            found.append(letter)
        elif unicodedata.combining(letter) and found:
            found[-1] += letter
    return found


@dataclass(frozen=True)
class CoverageUnits:
    """What a voice has to learn to say, and how often each occurs."""

    kind: Literal["letters", "phones"]
    counts: dict[str, int]  # the commonest first
    examples: Mapping[str, str] = field(default_factory=dict)  # phone -> a word it stands in

    def said(self, unit: str) -> str:
        word = self.examples.get(unit)
        return f"{self.counts[unit]}, as in {word}" if word else f"{self.counts[unit]}"


Spoken = Callable[[str], Iterable[tuple[str, Sequence[str]]]]  # a text -> its words and the phones of each


def count(texts: Iterable[str], *, spoken: Spoken | None = None) -> CoverageUnits:
    """Each unit and its count; `spoken` reads a language that is learnt as phones."""
    counts: Counter[str] = Counter()
    if spoken is None:
        for text in texts:
            counts.update(units(text))
        return CoverageUnits("letters", _sorted(counts))
    examples: dict[str, str] = {}
    for text in texts:
        for word, phones in spoken(text):
            counts.update(phones)
            for phone in phones:
                examples.setdefault(phone, word)
    return CoverageUnits("phones", _sorted(counts), examples)


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def rare(found: CoverageUnits, *, few: int, scripts: set[str]) -> list[str]:
    """Units with fewer than `few` occurrences, the rarest first; of letters only those of the corpus' own scripts."""
    own = found.kind == "phones"
    few_times = [unit for unit, number in found.counts.items() if number < few and (own or script(unit[0]) in scripts)]
    return sorted(few_times, key=lambda unit: (found.counts[unit], unit))

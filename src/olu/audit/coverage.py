"""Which letters the usable clips hold, how often, and which are too rare to be learned."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from olu.audit.letters import script


def units(text: str) -> list[str]:
    """Letters with the marks on them, in one case and form; words, digits and punctuation do not count."""
    found: list[str] = []
    for letter in unicodedata.normalize("NFC", text.casefold()):
        if letter.isalpha():
            found.append(letter)
        elif unicodedata.combining(letter) and found:
            found[-1] += letter
    return found


def count(texts: Iterable[str]) -> dict[str, int]:
    """Each unit and its count, the commonest first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(units(text))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def rare(counts: dict[str, int], *, few: int, scripts: set[str]) -> list[str]:
    """Units of the corpus' own scripts with fewer than `few` occurrences, the rarest first."""
    found = [unit for unit, number in counts.items() if number < few and script(unit[0]) in scripts]
    return sorted(found, key=lambda unit: (counts[unit], unit))

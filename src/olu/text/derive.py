"""The symbols of a corpus that has no alphabet yet: what is frequent enough to learn, and what becomes of the rest."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

WHOLE = 500  # texts from which the limits hold in full; below, they shrink with the corpus
MANY = 200  # kinds of clusters from which all are taken apart
PUNCTUATION = ".,?!;:-'"
NAMED = 5  # clips listed for each symbol that is left out


@dataclass(frozen=True, slots=True)
class SymbolLimits:
    """How often a symbol must come to be kept; less often in a small corpus."""

    whole: int  # a letter with marks stays one symbol from this count on, else letter and marks are symbols
    count: int
    texts: int

    @staticmethod
    def of(texts: int) -> SymbolLimits:
        share = min(1.0, texts / WHOLE)
        return SymbolLimits(*(max(1, round(limit * share)) for limit in (20, 10, 3)))


@dataclass(frozen=True, slots=True)
class Derived:
    symbols: tuple[str, ...]  # the space, punctuation, then by code point
    folds: Mapping[str, str]  # what is too rare -> what is said for it, in kept symbols
    dropped: Mapping[str, tuple[str, ...]]  # what is too rare and like nothing else -> its first clips
    limits: SymbolLimits


def clusters(text: str) -> list[str]:
    """Letters with the marks that stand on them."""
    found: list[str] = []
    for character in unicodedata.normalize("NFC", text):
        if found and unicodedata.category(character)[0] == "M" and not found[-1].isspace():
            found[-1] += character
        else:
            found.append(character)
    return found


def derive(texts: Mapping[str, str]) -> Derived:
    """The symbols of a corpus from its tidy texts by clip, and what becomes of the rare ones."""
    split = {clip: clusters(text) for clip, text in texts.items()}
    limits = SymbolLimits.of(sum(map(bool, split.values())))
    for _ in range(2):  # first a letter from the marks on it, then one that is written as a single character
        apart = _apart(Counter(chain.from_iterable(split.values())), limits)
        split = {clip: [part for symbol in found for part in apart[symbol]] for clip, found in split.items()}
    count = Counter(chain.from_iterable(split.values()))
    clips: dict[str, list[str]] = {}
    for clip, found in split.items():
        for symbol in set(found):
            clips.setdefault(symbol, []).append(clip)
    kept = {s for s in count if _is_pause(s) or (count[s] >= limits.count and len(clips[s]) >= limits.texts)}
    folds, dropped = _rest(sorted(set(count) - kept), kept, clips)
    return Derived(tuple(sorted(kept, key=_order)), folds, dropped, limits)


def _apart(seen: Counter[str], limits: SymbolLimits) -> dict[str, list[str]]:
    parts = {symbol: _parts(symbol) for symbol in seen}
    is_varied = sum(1 for some in parts.values() if len(some) > 1) > MANY
    return {symbol: some if is_varied or seen[symbol] < limits.whole else [symbol] for symbol, some in parts.items()}


def _parts(symbol: str) -> list[str]:
    """A letter and its marks; of a single character, what it is composed of, such as a syllable of Hangul."""
    return list(symbol if len(symbol) > 1 else unicodedata.normalize("NFD", symbol))


def _rest(
    rare: Iterable[str], kept: set[str], clips: Mapping[str, Sequence[str]]
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    folds: dict[str, str] = {}
    dropped: dict[str, tuple[str, ...]] = {}
    for symbol in rare:
        if near := _near(symbol, kept):
            folds[symbol] = near
        else:
            dropped[symbol] = tuple(clips[symbol][:NAMED])
    return folds, dropped


def _near(symbol: str, kept: set[str]) -> str:
    """The compatible form in kept symbols, its marks left off where they are not kept; nothing if a letter is lost."""
    said = []
    for part in unicodedata.normalize("NFKD", symbol):
        small = part if part in kept else part.lower()
        if small in kept:
            said.append(small)
        elif unicodedata.category(part)[0] != "M":
            return ""
    return "".join(said)


def _is_pause(symbol: str) -> bool:
    return symbol == " " or symbol in PUNCTUATION


def _order(symbol: str) -> tuple[int, str]:
    if symbol == " ":
        return 0, ""
    return (1, chr(PUNCTUATION.index(symbol))) if symbol in PUNCTUATION else (2, symbol)

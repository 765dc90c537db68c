"""What a runtime that knows no rules can read with: letters, their symbols, and which neighbours change them.

It is learnt from words that our frontend has read. Each letter gets the symbols it is aligned with most often; where
its neighbours tell better, a row for those neighbours is kept too. The most exact row that fits is taken.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from olu.core.types import STRESS

LONGEST = 3  # symbols that one letter may stand for
ROUNDS = 4
UNSEEN = 6.0  # what a share that no word had costs more, as a logarithm
PEAK = 0.1  # a letter that carries stress in fewer places than this is no peak
MOST_ROWS = 4000  # that look at neighbours
EDGE = " "  # what stands beside a word
Context = tuple[str, str, str, str, str]  # letter, the ones before, after and next, and its rank; "" is any
FARTHEST = 2  # peaks to come are not counted beyond
RANKS = 2 * (FARTHEST + 1)  # how many peaks are to come in the word, once for the first peak and once for others
Symbols = tuple[str, ...]
YES, NO = "yes", ""
# Whether a row looks at the neighbours before, after and next and at the rank, the most exact first.
LOOKS = (
    (YES, YES, YES, YES),
    (YES, YES, NO, YES),
    (NO, YES, YES, YES),
    (NO, YES, NO, YES),
    (YES, NO, NO, YES),
    (NO, NO, NO, YES),
)


@dataclass(frozen=True)
class LetterTable:
    """Reads texts letter by letter: `rows` by what stands around, else `alone`. Letters are code points."""

    alone: Mapping[str, Symbols]
    rows: Mapping[Context, Symbols] = field(default_factory=dict)
    breaks: frozenset[str] = frozenset()  # letters between words: to their neighbours they are all one edge
    aliases: Mapping[str, str] = field(default_factory=dict)  # capitals and the like -> the letter they are read as
    peaks: frozenset[str] = frozenset()  # letters that can carry stress: their rank in a word tells where it is
    space: str = EDGE

    @property
    def marks(self) -> frozenset[str]:
        """Symbols of pauses, which have no space before them."""
        return frozenset(one for c in self.breaks for one in self.alone[c] if one != self.space)

    @property
    def plain(self) -> bool:
        """Whether each letter is one symbol, always."""
        return not self.rows and all(len(symbols) == 1 for symbols in self.alone.values())

    def read(self, text: str) -> list[str]:
        """The symbols of a text; what is no letter is left out, and several spaces are one."""
        known = [one for c in text if (one := self.aliases.get(c, c)) in self.alone]
        found: list[str] = []
        for letter, place in zip(known, places_of(known, self.breaks, self.peaks), strict=True):
            found += next((self.rows[key] for key in contexts(place) if key in self.rows), self.alone[letter])
        return spaced(found, marks=self.marks, space=self.space)


def contexts(place: Context) -> tuple[Context, ...]:
    """The keys of a place in a text, the most exact first."""
    letter, before, after, next, rank = place
    return tuple((letter, b and before, a and after, n and next, r and rank) for b, a, n, r in LOOKS)


def places_of(letters: Sequence[str], breaks: Collection[str], peaks: Collection[str]) -> list[Context]:
    """Each letter with what stands around it. Without peaks nothing is counted."""
    around = [EDGE, *(EDGE if one in breaks else one for one in letters), EDGE, EDGE]
    to_come, gone = _peaks_beside(letters[::-1], breaks, peaks)[::-1], _peaks_beside(letters, breaks, peaks)
    ranks = [
        str(min(left, FARTHEST) + (FARTHEST + 1) * (not before)) for left, before in zip(to_come, gone, strict=True)
    ]
    return [
        (one, around[at], around[at + 2], around[at + 3], ranks[at] if peaks else "") for at, one in enumerate(letters)
    ]


def _peaks_beside(letters: Sequence[str], breaks: Collection[str], peaks: Collection[str]) -> list[int]:
    """How many peaks of its word came before each letter."""
    found, seen = [], 0
    for one in letters:
        seen = 0 if one in breaks else seen
        found.append(seen)
        seen += one in peaks
    return found


def spaced(symbols: list[str], *, marks: frozenset[str], space: str) -> list[str]:
    """One space where several meet; none at the ends or before a mark."""
    behind = [*symbols, space][1:]
    kept = [one for one, after in zip(symbols, behind, strict=True) if one != space or after not in {space, *marks}]
    return kept[1:] if kept and kept[0] == space else kept


def learn(words: Mapping[str, Symbols], *, solo: Mapping[str, Symbols], counts: Mapping[str, int]) -> LetterTable:
    """A table learnt from words and their symbols; `solo`: how a letter is read alone, as a first guess."""
    guess = {letter: tuple(symbols) for letter, symbols in solo.items()}
    return _table(align_letters(words, solo=guess, counts=counts), counts, guess)


def align_letters(
    words: Mapping[str, Symbols], *, solo: Mapping[str, Symbols] | None = None, counts: Mapping[str, int] | None = None
) -> list[tuple[str, list[Symbols]]]:
    """Each word with the share of its symbols that each of its letters has; without those that have none."""
    guess, times = solo or {}, counts or {}
    costs = _Costs(guess)
    aligned: list[tuple[str, list[Symbols]]] = []
    for _ in range(ROUNDS):
        aligned = [(word, found) for word, symbols in words.items() if (found := _align(word, symbols, costs))]
        costs = _Costs(guess, learnt=_chances(aligned, times))
    return aligned


class _Costs(dict[tuple[str, Symbols], float]):
    """How likely a letter is to have a share, as a logarithm; what was not learnt is guessed once."""

    def __init__(
        self, guess: Mapping[str, Symbols], *, learnt: Mapping[tuple[str, Symbols], float] | None = None
    ) -> None:
        super().__init__(learnt or {})
        self._guess, self._more = guess, UNSEEN if learnt else 0.0

    def __missing__(self, key: tuple[str, Symbols]) -> float:
        self[key] = _prior(*key, self._guess) - self._more
        return self[key]


def _align(word: str, symbols: Symbols, costs: _Costs) -> list[Symbols] | None:
    """The likeliest share of each letter in the symbols of its word, in order; nothing where there is none."""
    size = len(symbols)
    scores = [0.0, *[-math.inf] * size]
    back: list[list[int]] = []
    for at, letter in enumerate(word):
        best, came = [-math.inf] * (size + 1), [0] * (size + 1)
        least = max(0, size - LONGEST * (len(word) - at - 1))  # what the letters to come cannot take
        for end in range(least, min(size, LONGEST * (at + 1)) + 1):
            for start in range(max(0, end - LONGEST), end + 1):
                score = scores[start] + costs[letter, symbols[start:end]]
                if score > best[end]:
                    best[end], came[end] = score, start
        scores = best
        back.append(came)
    if scores[size] == -math.inf:
        return None
    shares, end = [], size
    for came in reversed(back):
        shares.append(symbols[came[end] : end])
        end = came[end]
    return shares[::-1]


def _prior(letter: str, share: Symbols, guess: Mapping[str, Symbols]) -> float:
    """How likely a letter has these symbols before anything is learnt, by how it is said alone."""
    expected = guess.get(letter, ())
    if not share:
        return -0.5 if unicodedata.category(letter)[0] == "M" else -4.0
    if share == expected:
        return -1.0
    core = {_core(one) for one in expected} | {letter}
    if expected and share[0] == expected[0]:
        return -1.5 - 2.0 * abs(len(share) - len(expected))
    if any(_core(symbol) in core for symbol in share):
        return -2.0 - 2.0 * (len(share) - 1)
    return -5.0 - 2.0 * len(share)


def _core(symbol: str) -> str:
    """The letter that a symbol is written with, less its stress."""
    bare = unicodedata.normalize("NFD", symbol).removeprefix(STRESS)
    return bare[:1]


def _chances(
    aligned: Iterable[tuple[str, list[Symbols]]], counts: Mapping[str, int]
) -> dict[tuple[str, Symbols], float]:
    seen: Counter[tuple[str, Symbols]] = Counter()
    total: Counter[str] = Counter()
    for word, shares in aligned:
        for letter, share in zip(word, shares, strict=True):
            seen[letter, share] += counts.get(word, 1)
            total[letter] += counts.get(word, 1)
    return {(letter, share): math.log(n / total[letter]) for (letter, share), n in seen.items()}


def _table(
    aligned: Iterable[tuple[str, list[Symbols]]], counts: Mapping[str, int], guess: Mapping[str, Symbols]
) -> LetterTable:
    aligned = list(aligned)
    peaks = _peaks(aligned)
    places: Counter[tuple[Context, Symbols]] = Counter()  # the most exact context and what was said there
    for word, shares in aligned:
        for place, share in zip(places_of(word, (), peaks), shares, strict=True):
            places[place, share] += counts.get(word, 1)
    alone = dict(guess)
    by_letter = _tally(((place[0], "", "", "", ""), share, n) for (place, share), n in places.items())
    alone |= {key[0]: said.most_common(1)[0][0] for key, said in by_letter.items()}
    rows: dict[Context, Symbols] = {}
    gains: dict[Context, int] = {}
    for level in reversed(range(len(LOOKS))):  # from the loosest: a row is kept where it corrects those before
        told = _tally((contexts(place)[level], share, n) for (place, share), n in places.items())
        fresh = {}
        for key, said in told.items():
            share, times = said.most_common(1)[0]
            before = _before(key, level, rows, alone)
            if share != before and times > said[before]:
                fresh[key], gains[key] = share, times - said[before]
        rows |= fresh
    kept = sorted(rows, key=lambda key: -gains[key])[:MOST_ROWS]
    return LetterTable(alone=alone, rows={key: rows[key] for key in kept}, peaks=peaks)


def _peaks(aligned: Iterable[tuple[str, list[Symbols]]]) -> frozenset[str]:
    stressed: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for word, shares in aligned:
        total.update(word)
        stressed.update(
            letter
            for letter, share in zip(word, shares, strict=True)
            if any(symbol.startswith(STRESS) for symbol in share)
        )
    return frozenset(letter for letter, times in stressed.items() if times >= PEAK * total[letter])


def _before(key: Context, level: int, rows: Mapping[Context, Symbols], alone: Mapping[str, Symbols]) -> Symbols:
    """What the looser rows say of a place, else how its letter is read alone."""
    looser = contexts(key)[level + 1 :]
    return next((rows[one] for one in looser if one in rows), alone[key[0]])


def _tally(rows: Iterable[tuple[Context, Symbols, int]]) -> dict[Context, Counter[Symbols]]:
    told: dict[Context, Counter[Symbols]] = defaultdict(Counter)
    for key, share, times in rows:
        told[key][share] += times
    return told


def error_rate(pairs: Iterable[tuple[list[str], list[str]]]) -> tuple[float, float]:
    """Edits for each symbol of the first of each pair, and the share of pairs that are the same."""
    edits = total = same = number = 0
    for ours, theirs in pairs:
        edits += distance(ours, theirs)
        total += len(ours)
        same += ours == theirs
        number += 1
    return edits / max(1, total), same / max(1, number)


def distance(a: list[str], b: list[str]) -> int:
    row = list(range(len(b) + 1))
    for at, x in enumerate(a, 1):
        corner, row[0] = row[0], at
        for to, y in enumerate(b, 1):
            corner, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, corner + (x != y))
    return row[-1]

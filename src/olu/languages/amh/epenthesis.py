"""Where a word says a vowel that its writing leaves open: as seldom as its syllables allow.

A syllable ends in one consonant inside a word and in at most two at its end; a long consonant counts as two. Of all
ways to reach that with the fewest vowels, the one with the smoothest contacts between syllables is taken, then one that
leaves together what belongs together, then the latest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SONORITY = {"glide": 5, "liquid": 4, "nasal": 3, "fricative": 2, "affricate": 1, "stop": 1, "ejective": 1}
SONORANT = 3  # from here on a consonant is no obstruent
MOST = 2  # consonants between two vowels, and after the last one
Cost = tuple[int, int, int, int]  # vowels added, steps up in sonority between syllables, pairs parted, minus places


@dataclass(slots=True)
class FidelUnit:
    """A consonant and the vowel after it. No vowel: the writing leaves it open. No consonant: a vowel alone."""

    consonant: str
    vowel: str = ""
    length: str = ""  # the mark of a long consonant

    @property
    def size(self) -> int:
        return (2 if self.length else 1) if self.consonant else 0


@dataclass(frozen=True, slots=True)
class Filler:
    """Which vowel fills the gaps, and what it goes by."""

    vowel: str
    sonority: Mapping[str, int]
    pairs: frozenset[tuple[str, str]] = frozenset()  # consonants that would rather not be parted
    endings: frozenset[str] = frozenset()  # last consonants that would rather stay with the one before

    def fill(self, units: Sequence[FidelUnit]) -> None:
        """Give the vowel to as few of the open units as make the word sayable."""
        start, count = 0, len(units)
        for end in range(count + 1):
            if end < count and not units[end].vowel:
                continue
            if end - start == 1 and start > 0:  # nearly always: one consonant between vowels, or at the end
                if end < count and units[start].size + units[end].size > MOST and units[end].consonant:
                    units[start].vowel = self.vowel
            elif end > start:
                for place in self._best(units, start, end):
                    units[place].vowel = self.vowel
            start = end + 1

    def _best(self, units: Sequence[FidelUnit], start: int, end: int) -> list[int]:
        """Where to add vowels among the open units start..end-1, between two vowels or the word's edges.

        A path goes from vowel to vowel with at most two consonants between, so the work grows with the run only.
        """
        is_initial, is_final = start == 0, end == len(units)
        best: dict[int, tuple[Cost, int]] = {start - 1: ((0, 0, 0, 0), start - 1)}
        for place in range(start, end if is_final else end + 1):
            added = int(place < end)
            cut = int(added and self._parts(units, place))
            found = []
            for before in range(place - 1, max(start - 2, place - MOST - 2), -1):
                step: int | None = 0
                if before not in best:
                    continue
                if not is_initial or before >= start:
                    step = self._contact(units, before + 1, place + 1)
                elif place != start:  # no word begins with two consonants
                    continue
                if step is not None:
                    count, steps, cuts, places = best[before][0]
                    found.append(((count + added, steps + step, cuts + cut, places - place * added), before))
            if found:
                best[place] = min(found)
        place = self._last(units, start, end, best) if is_final else best[end][1]
        chosen = []
        while place >= start:
            chosen.append(place)
            place = best[place][1]
        return chosen

    def _last(self, units: Sequence[FidelUnit], start: int, end: int, best: Mapping[int, tuple[Cost, int]]) -> int:
        """The last vowel before the word's end."""
        places = range(max(start - 1, end - MOST - 1, 0), end)
        return min((best[place][0], place) for place in places if place in best and self._may_end(units, place, end))[1]

    def _parts(self, units: Sequence[FidelUnit], place: int) -> bool:
        """Whether a vowel after this unit would part what belongs together."""
        if place + 1 == len(units):
            return False
        one, two = units[place].consonant, units[place + 1].consonant
        return (one, two) in self.pairs or (place + 2 == len(units) and two in self.endings)

    def _contact(self, units: Sequence[FidelUnit], first: int, end: int) -> int | None:
        """What the consonants between two vowels cost; none when they are too many."""
        group = [unit for unit in units[first:end] if unit.consonant]
        if len(group) < 2:
            return 0
        if sum(unit.size for unit in group) > MOST:
            return None
        coda, onset = (self.sonority[unit.consonant] for unit in group)
        return max(0, onset - coda)

    def _may_end(self, units: Sequence[FidelUnit], place: int, end: int) -> bool:
        """Whether a word may end in the consonants after this vowel."""
        group = units[place + 1 : end]
        if len(group) < 2:
            return True
        if len(group) > MOST or any(unit.length for unit in group):
            return False
        one, two = (self.sonority[unit.consonant] for unit in group)
        return one >= two or (one < SONORANT and two < SONORANT)

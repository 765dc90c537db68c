"""Which sentences to record: each next one adds most of the phones, pairs, tones and lengths that are still rare.

The worth of a set of sentences is the sum over all units of weight x log(1 + how often it occurs): the first time a
pair is heard counts most, the hundredth hardly. Such a sum only ever gains less by waiting, so a sentence whose old
gain is below another's new one need not be looked at again (lazy greedy), and the choice is the same.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

from olu.core.types import Reading

EDGE = "|"  # the silence before and after a sentence, and a pause that is written inside it
Kind = Literal["phone", "pair", "tone", "tones", "length"]
WEIGHTS: Mapping[Kind, float] = {"phone": 4.0, "pair": 1.0, "tone": 4.0, "tones": 1.0, "length": 8.0}
STEP = 12  # phones: sentences of one length for our purposes
COST_POWER = 0.5  # a sentence twice as long must add 1.4 times as much


class SpokenUnit(NamedTuple):
    """Something a voice has to learn to say: a phone, two in a row, a tone, two in a row, a length."""

    kind: Kind
    what: str

    def shown(self) -> str:
        return self.what


def units_of(reading: Reading) -> Counter[SpokenUnit]:
    """All units of a reading and how often each occurs in it."""
    found: Counter[SpokenUnit] = Counter()
    row, tones = [EDGE], list[str]()
    for word, after in zip(reading.words, reading.breaks[1:], strict=True):
        row += word.phones
        tones += [tone for tone in word.tones if tone != "?"]
        if after.strip():
            row.append(EDGE)
    if row[-1] != EDGE:
        row.append(EDGE)
    phones = [phone for phone in row if phone != EDGE]
    found.update(SpokenUnit("phone", phone) for phone in phones)
    found.update(SpokenUnit("pair", f"{one} {two}") for one, two in pairwise(row))
    found.update(SpokenUnit("tone", tone) for tone in tones)
    found.update(SpokenUnit("tones", f"{one} {two}") for one, two in pairwise(tones))
    if phones:
        least = len(phones) // STEP * STEP
        found[SpokenUnit("length", f"{least} to {least + STEP - 1} phones")] = 1
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    text: str
    units: Counter[SpokenUnit]

    @property
    def phones(self) -> int:
        return sum(count for unit, count in self.units.items() if unit.kind == "phone")


@dataclass(frozen=True, slots=True)
class ChosenSentence:
    """A sentence and what it brings that was not there before it."""

    candidate: Candidate
    gain: float
    new: tuple[SpokenUnit, ...] = field(default=())


def choose(candidates: Sequence[Candidate], *, count: int, have: Mapping[SpokenUnit, int] = {}) -> list[ChosenSentence]:
    """The best `count` sentences in the order in which to record them. `have`: what the corpus holds already.

    The same candidates give the same choice; of equals the earlier comes first.
    """
    held: Counter[SpokenUnit] = Counter(have)
    costs = [max(1, one.phones) ** COST_POWER for one in candidates]
    heap = [(-_gain(one, held) / cost, at) for at, (one, cost) in enumerate(zip(candidates, costs, strict=True))]
    heapq.heapify(heap)
    chosen: list[ChosenSentence] = []
    while heap and len(chosen) < count:
        _, at = heap[0]
        one = candidates[at]
        now = (-_gain(one, held) / costs[at], at)
        if len(heap) > 1 and now > min(heap[1:3]):  # another may add more by now
            heapq.heapreplace(heap, now)
            continue
        heapq.heappop(heap)
        new = tuple(unit for unit in one.units if not held[unit])
        chosen.append(ChosenSentence(one, -now[0], new))
        held.update(one.units)
    return chosen


def _gain(one: Candidate, held: Mapping[SpokenUnit, int]) -> float:
    total = 0.0
    for unit, count in one.units.items():
        before = held.get(unit, 0)
        total += WEIGHTS[unit.kind] * math.log((1 + before + count) / (1 + before))
    return total


def covered(texts: Iterable[Counter[SpokenUnit]], kind: Kind, *, times: int = 1) -> int:
    """How many different units of a kind occur in these sentences, so many times at least."""
    total: Counter[SpokenUnit] = Counter()
    for one in texts:
        total.update(one)
    return sum(unit.kind == kind and count >= times for unit, count in total.items())


# ---- what is not a prompt


LeftOut = Literal[
    "too long", "digits", "foreign letters", "cannot be read", "nothing to say", "twice", "recorded already"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRules:
    """What a prompt may be."""

    longest: int  # letters
    letters: Callable[[str], list[str]]  # those of a text that are foreign to the language


def is_fit(text: str, *, letters: int, digits: bool, rules: PromptRules) -> tuple[LeftOut, str] | None:
    """Why a sentence is no prompt, by its letters alone, and what of it; nothing where it is one."""
    if not letters and not digits:
        return "nothing to say", ""
    if letters > rules.longest:
        return "too long", f"{letters} letters"
    if digits:
        return "digits", ""
    if foreign := rules.letters(text):
        return "foreign letters", " ".join(foreign)
    return None

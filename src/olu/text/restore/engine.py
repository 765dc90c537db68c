"""Hashed linear models: which of its forms a word has beside its neighbours, and what each letter of a word carries.

What a letter carries is a label: a mark (the dots of Igbo, the tones of Yoruba), or the phones it is read as. A word
that a list knows gets one of its forms; any other word is decided letter by letter, by a narrow beam.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

MIX = 0x9E3779B97F4A7C15
SPREAD = 0xC2B2AE3D27D4EB4F
ODD = 2654435761
REACH = 6  # letters on each side
WINDOWS = (
    *((1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2), (3, 0), (0, 3), (3, 1), (1, 3), (3, 3)),
    *((4, 0), (0, 4), (5, 0), (0, 5), (4, 1), (1, 4), (6, 0), (0, 6), (2, 3), (3, 2), (2, 4), (4, 2)),
)
BEAM = 6
FOREIGN = frozenset("cqvxz")  # many alphabets have these in foreign names alone

Numbers = NDArray[Any]
Look = tuple[tuple[int, int], ...]  # one feature: (words away, which of its traits), one part or more


# ---- a word beside its neighbours


def contexts(
    beside: Numbers, at: Numbers, looks: Sequence[Look], *, edge: int, names: Sequence[int] | None = None
) -> Numbers:
    """Hashed features of the words at `at`, from the traits of their neighbours (`edge` rows on each side).

    Looks of the same name (each has its own, unless said) share their weights.
    """
    columns = np.zeros((len(at), len(looks)), dtype=np.uint64)
    for place, look in enumerate(looks):
        for offset, trait in look:
            columns[:, place] = columns[:, place] * np.uint64(31) + beside[at + (edge + offset), trait]
    named = np.array(range(len(looks)) if names is None else names, dtype=np.uint64) + np.uint64(1)
    mixed = (columns + named * np.uint64(SPREAD)) * np.uint64(MIX)
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


def hashes(name: str, choices: Iterable[str]) -> tuple[int, ...]:
    return tuple(crc32(f"{name}{signs}".encode()) * ODD for signs in choices)


def slots(context: Numbers, forms: Numbers, table: Numbers) -> Numbers:
    """Where the weights of each form in its context lie. A feature of 0 has one place for all: it tells nothing."""
    mixed = np.where(context == 0, np.uint64(0), (context ^ forms[:, None]) * np.uint64(MIX))
    return np.asarray((mixed >> np.uint64(65 - len(table).bit_length())).astype(np.int64))


def likeliest(chances: Sequence[float], groups: Sequence[Hashable]) -> int:
    """The likeliest possibility of the likeliest group: forms that differ in tones alone share their dots."""
    sums: dict[Hashable, float] = defaultdict(float)
    for chance, group in zip(chances, groups, strict=True):
        sums[group] += chance
    best = max(sums, key=sums.__getitem__)
    return max((at for at, group in enumerate(groups) if group == best), key=chances.__getitem__)


# ---- a letter beside its neighbours


def letter_features(plain: str, at: int, vowels: str) -> Iterator[str]:
    """What stands around the letter at `at`: letters, and those of `vowels` in the rest of the word."""
    padded = "^" * REACH + plain + "$" * REACH
    here, centre = plain[at], at + REACH
    before = "".join(char for char in plain[:at] if char in vowels)
    after = "".join(char for char in plain[at + 1 :] if char in vowels)
    yield here
    for left, right in WINDOWS:
        yield f"{left}{right}{padded[centre - left : centre + right + 1]}"
    yield f"v{here}{before[-1:]}|{after[:1]}"
    yield f"V{here}{before[-2:]}|{after[:2]}"
    yield f"w{here}{before}|{after}"
    yield f"L{here}{before}"
    yield f"R{here}{after}"
    yield f"a{here}{'a' in before + after}{'e' in before + after}"
    yield f"f{here}{plain[0]}|{after[:1]}"
    yield f"e{here}{at == 0}{at == len(plain) - 1}"


def stem_features(plain: str, at: int, vowels: str, stems: Mapping[str, str]) -> Iterator[str]:
    """What the longest known words that it ends and begins with carry at `at`, and the shape of the whole word."""
    here, size = plain[at], len(plain)
    start = next((one for one in range(1, size - 1) if plain[one:] in stems), size)
    end = next((one for one in range(size - 1, 1, -1) if plain[:one] in stems), 0)
    tail = stems[plain[start:]][at - start] if start <= at else "b" if start < size else "-"
    head = stems[plain[:end]][at] if at < end else "a" if end else "-"
    pairs = "".join(a + b for a, b in pairwise(plain) if a not in vowels and b not in vowels)
    yield f"s{here}{tail}"
    yield f"S{min(size - start, REACH)}{here}{tail}"
    yield f"p{here}{head}"
    yield f"h{min(end, REACH)}{here}{head}"
    yield f"b{here}{tail}{head}{start == end}"
    yield f"o{pairs}"
    yield f"O:{here}{pairs}{plain[-1] in vowels}"
    yield f"x{here}{FOREIGN.isdisjoint(plain)}{len(pairs)}{plain[-1] in vowels}"
    yield f"z{here}{plain[-1]}"
    yield f"n{size}{at}{here}"


def place_features(plain: str, at: int, vowels: str, around: Sequence[str]) -> Iterator[str]:
    """What is known of the word's place: `around` has its capitals, its line, and the capitals of its neighbours."""
    here, (shape, line, before, after) = plain[at], around
    yield f"C{shape}"
    yield f"D{shape}{here}"
    yield f"E{shape}{line}"
    yield f"F{shape}{before}{after}{line}"
    yield f"G{shape}{at == len(plain) - 1}{plain[-1] in vowels}"
    yield f"H{shape}{line}{here}{at == 0}"


def chain_features(plain: str, at: int, last: str, older: str) -> Iterator[str]:
    """What was decided before this one."""
    padded, centre = f"^^{plain}$$", at + 2
    yield f"P{last}{plain[at]}"
    yield f"Q{last}{padded[centre - 1 : centre + 1]}"
    yield f"O{last}{older}{plain[at]}"
    yield f"S{last}{padded[centre - 2 : centre + 1]}"
    yield f"T{last}{padded[centre : centre + 2]}"


@dataclass(frozen=True, slots=True)
class LetterModel:
    """What each letter of a word carries. A letter that is not in `allowed` carries label 0."""

    labels: Sequence[str]
    allowed: Mapping[str, tuple[int, ...]]
    vowels: str  # letters that later ones are told by
    table: Numbers
    binary: bool = False  # label 0 weighs nothing, and label 1 has the weights of a feature to itself
    stems: Mapping[str, str] = field(default_factory=dict)  # known words and a sign for each of their letters
    dots: Sequence[str] = ()  # of each label: guesses that differ in tones alone are counted together

    @property
    def known(self) -> frozenset[str]:
        """Every character of its labels."""
        return frozenset("".join(self.labels))

    def features(self, plain: str, at: int, around: Sequence[str] = ()) -> Iterator[str]:
        yield from letter_features(plain, at, self.vowels)
        if around:
            yield from place_features(plain, at, self.vowels, around)
        if self.stems:
            yield from stem_features(plain, at, self.vowels, self.stems)

    def places(self, features: Iterable[str], among: Sequence[int]) -> Numbers:
        """[features, labels] where the weights of these features lie for the labels `among`."""
        codes = np.array([crc32(one.encode("utf-8")) for one in features], dtype=np.uint64)
        if self.binary:
            return np.asarray((codes >> np.uint64(33 - len(self.table).bit_length())).astype(np.int64))[:, None]
        names = np.array([crc32(self.labels[one].encode("utf-8")) * ODD for one in among], dtype=np.uint64)
        mixed = (codes[:, None] ^ names[None, :]) * np.uint64(MIX)
        return np.asarray((mixed >> np.uint64(65 - len(self.table).bit_length())).astype(np.int64))

    def _scores(self, features: Iterable[str], among: Sequence[int]) -> Numbers:
        found = self.table[self.places(features, among)].astype(np.float64).sum(axis=0)
        return np.concatenate([[0.0], found]) if self.binary else found

    def guess(
        self, plain: str, fixed: Mapping[int, tuple[int, ...]] | None = None, around: Sequence[str] = ()
    ) -> tuple[tuple[int, ...], float]:
        """The likeliest label of each letter, and how likely they are all together. `fixed` limits some letters."""
        beams: list[tuple[float, tuple[int, ...], str, str]] = [(0.0, (), "-", "-")]
        for at, char in enumerate(plain):
            among = (fixed or {}).get(at) or self.allowed.get(char, (0,))
            if len(among) == 1:
                named = char if self.binary else f"{char}{among[0]}"
                told = char in self.vowels
                beams = [
                    (cost, (*signs, among[0]), *((named, last) if told else (last, older)))
                    for cost, signs, last, older in beams
                ]
                continue
            base = self._scores(self.features(plain, at, around), among)
            found = []
            for cost, signs, last, older in beams:
                score = base + self._scores(chain_features(plain, at, last, older), among)
                whole = float(np.logaddexp.reduce(score))
                for label, one in zip(among, score.tolist(), strict=True):
                    found.append((cost + whole - one, (*signs, label), f"{char}{label}", last))
            beams = sorted(found)[:BEAM]
        chances = [math.exp(-cost) for cost, *_ in beams]
        groups = [tuple(self.dots[one] for one in signs) if self.dots else () for _, signs, *_ in beams]
        best = likeliest(chances, groups)
        return beams[best][1], chances[best]

    def likelihood(self, plain: str, labels: Sequence[int], around: Sequence[str] = ()) -> float:
        """How likely these labels of a word's letters are all together."""
        cost = 0.0
        last = older = "-"
        for at, (char, label) in enumerate(zip(plain, labels, strict=True)):
            among = self.allowed.get(char, (0,))
            if label not in among:
                return 0.0
            if len(among) > 1:
                found = [*self.features(plain, at, around), *chain_features(plain, at, last, older)]
                score = self._scores(found, among)
                cost += float(np.logaddexp.reduce(score)) - float(score[among.index(label)])
            if char in self.vowels:
                last, older = f"{char}{label}", last
        return math.exp(-cost)


# ---- weights in eight bits


def eight_bits(table: Numbers, *, most: int = 127) -> tuple[Numbers, float]:
    """A table as whole numbers up to `most`, and what one of them stands for."""
    scale = float(np.abs(table).max()) / most or 1.0
    return np.round(table / scale).astype(np.int8), scale


# ---- learning both


@dataclass(frozen=True, slots=True)
class WeightedChoice:
    """A choice with its weight: where the weights of each possibility lie, and which was right."""

    places: Numbers  # [possibilities, features]
    right: int | tuple[int, ...]  # several where it is not known which of them
    weight: float = 1.0

    def wanted(self) -> Numbers:
        """Of each possibility whether it is right, or may be."""
        found = np.zeros(len(self.places))
        found[np.atleast_1d(self.right)] = 1.0
        return found


def descend(table: Numbers, squares: Numbers, slope: Numbers, places: Numbers, slopes: Numbers, rate: float) -> None:
    """One step of AdaGrad; `slopes` has one number per row of `places`, and `slope` is empty before and after.

    A place that comes twice is written twice with the same number: quicker than to sort all places.
    """
    flat = places.ravel()
    np.add.at(slope, flat, np.repeat(slopes, places.shape[1]))
    total = slope[flat]
    slope[flat] = 0.0
    bent = squares[flat] + total**2
    squares[flat] = bent
    table[flat] -= rate * total / np.sqrt(bent)


def fit_choices(
    cases: Sequence[WeightedChoice],
    size: int,
    *,
    epochs: int,
    rate: float,
    batch: int,
    start: float = 1e-2,
    least: int = 1,
) -> Numbers:
    """Softmax over the possibilities of each case; the mean of the weights after the later epochs.

    What is seen less often than `least` weighs nothing.
    """
    table, slope, mean = np.zeros(size + 1), np.zeros(size + 1), np.zeros(size + 1)
    squares = np.full(size + 1, start)
    shuffle = np.random.default_rng(0)
    if least > 1:
        cases = _without_rare(cases, size, least)
    for epoch in range(epochs):
        order = shuffle.permutation(len(cases))
        for at in range(0, len(order), batch):
            chosen = [cases[one] for one in order[at : at + batch]]
            counts = [len(one.places) for one in chosen]
            starts = np.cumsum([0, *counts[:-1]])
            places = np.concatenate([one.places for one in chosen])
            scores = table[places].sum(axis=1)
            share = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), counts))
            share /= np.repeat(np.add.reduceat(share, starts), counts)
            aim = share * np.concatenate([one.wanted() for one in chosen])
            share -= aim / np.repeat(np.add.reduceat(aim, starts), counts)
            descend(table, squares, slope, places, share * np.repeat([one.weight for one in chosen], counts), rate)
            table[size] = 0.0
        if epoch >= epochs // 2:
            mean += table / (epochs - epochs // 2)
    return mean[:size]


def _without_rare(cases: Sequence[WeightedChoice], size: int, least: int) -> list[WeightedChoice]:
    """Rare features in a place of their own, behind all others."""
    seen = np.zeros(size, dtype=np.int32)
    for one in cases:
        np.add.at(seen, one.places.ravel(), 1)
    return [replace(one, places=np.where(seen[one.places] < least, size, one.places)) for one in cases]


class TaughtWord(NamedTuple):
    """A word with the labels of its letters, its weight, and what is known of its place."""

    plain: str
    labels: Sequence[int]
    weight: float = 1.0
    around: Sequence[str] = ()


def letter_cases(words: Iterable[TaughtWord], model: LetterModel) -> list[WeightedChoice]:
    """Every letter with a choice of every word."""
    cases = []
    for plain, labels, weight, around in words:
        last = older = "-"
        for at, (char, label) in enumerate(zip(plain, labels, strict=True)):
            among = model.allowed.get(char, (0,))
            if len(among) > 1:
                features = [*model.features(plain, at, around), *chain_features(plain, at, last, older)]
                cases.append(WeightedChoice(model.places(features, among).T, among.index(label), weight))
            if char in model.vowels:
                last, older = f"{char}{label}", last
    return cases

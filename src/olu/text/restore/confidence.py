"""How likely a restored word is right: a logistic model for each kind of word, fitted to lines that were held back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul

import numpy as np

from olu.text.restore.engine import Numbers

# Words of the texts with several forms, with one, words that only a list has, and words that were never seen.
MANY, ONE, GIVEN, NEW = "many", "one", "given", "new"
# Of the words that are called sure, in lines held back from models of four fifths of the texts. Lines differ by half a
# point, so it is more than the 97 of 100 that a person is promised.
SURE = 0.9717
LEAST = 150  # words of a kind, below which only their share of right ones is known
RIDGE = 1e-3
USUAL, FIRM = 0.9, 3  # what is thought of a word before it was judged, and how many judgements that counts for
STEPS = 30  # of Newton's method; far fewer are needed


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a restored word. `seen` and `forms`: in the texts that were learnt from."""

    kind: str
    chance: float = 1.0  # what the model of its words or letters thought
    seen: int = 0
    form_seen: int = 0
    forms: int = 0
    spread: float = 0.0  # entropy of its forms
    support: int = 0  # features beside it that speak for its form
    letters: int = 1
    shape: str = "c"
    is_long: bool = False  # the line
    word_hits: tuple[int, int] = (0, 0)  # in lines held back: how often it was right, of how many times
    form_hits: tuple[int, int] = (0, 0)  # the same of the times this form was chosen

    def numbers(self) -> list[float]:
        """The features of its kind, a constant first."""
        odds = _odds(self.chance)
        size, long = self.letters, float(self.is_long)
        capital, begins = float(self.shape in "AC"), float(self.shape == "s")
        if self.kind in (GIVEN, NEW):
            return [1.0, odds, max(odds, 0.0), size, long, capital, capital * long, begins]
        often = math.log1p(self.seen)
        if self.kind == ONE:
            rare = [float(self.seen == 1), float(self.seen == 2)]
            return [1.0, often, *rare, size, float(size <= 2), float(size <= 3), long, capital, begins, *self._past()]
        counts = [often, math.log1p(self.form_seen), _odds(self.form_seen / max(self.seen, 1)), self.spread]
        counts += [float(self.support), self.support * odds]
        bends = [odds * abs(odds), max(odds - 3, 0.0), max(odds - 5, 0.0)]
        bends += [odds * often, odds * self.spread, odds * long]
        short = [float(size == 1), float(size == 2), odds * (size <= 2)]
        return [1.0, odds, *bends, *counts, float(self.forms), size, *short, long, capital, begins, *self._past()]

    def _past(self) -> list[float]:
        """What became of the word in lines held back; last of all, so that older weights still fit."""
        (right, judged), (form_right, form_judged) = self.word_hits, self.form_hits
        word = (right + USUAL * FIRM) / (judged + FIRM)
        form = _odds((form_right + word * FIRM) / (form_judged + FIRM))
        return [_odds(word), form, math.log1p(judged), form * math.log1p(form_judged)]


def _odds(share: float) -> float:
    kept = min(max(share, 1e-4), 1 - 1e-4)
    return math.log(kept / (1 - kept))


def confidence(evidence: Evidence, weights: Mapping[str, Sequence[float]]) -> float:
    """How likely the word is right; where nothing was fitted, what the model itself thought."""
    known = weights.get(evidence.kind)
    if known is None:
        return evidence.chance
    # one weight: only a share of its kind is known
    score = known[0] if len(known) == 1 else sum(map(mul, evidence.numbers(), known))
    return 1 / (1 + math.exp(-min(max(score, -30.0), 30.0)))


def fit_confidence(judged: Sequence[tuple[Evidence, bool]]) -> dict[str, tuple[float, ...]]:
    """Weights for each kind of word."""
    found: dict[str, tuple[float, ...]] = {}
    for kind in (MANY, ONE, GIVEN, NEW):
        some = [(evidence, right) for evidence, right in judged if evidence.kind == kind]
        right = np.array([float(hit) for _, hit in some])
        if len(some) < LEAST:
            share = (right.sum() + 1) / (len(some) + 2)
            found[kind] = (_odds(float(share)),)
        else:
            found[kind] = _fitted(np.array([evidence.numbers() for evidence, _ in some]), right)
    return found


def _fitted(rows: Numbers, right: Numbers) -> tuple[float, ...]:
    """Logistic regression by Newton's method, on features of one scale."""
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    mean[0], scale[0] = 0.0, 1.0
    scale[scale < 1e-9] = 1.0
    level = (rows - mean) / scale
    ridge = RIDGE * len(rows) * np.eye(rows.shape[1])
    ridge[0, 0] = 1e-9
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(level @ weights, -30, 30)))
        slope = level.T @ (share - right) + ridge @ weights
        bend = (level * (share * (1 - share))[:, None]).T @ level + ridge
        step = np.linalg.solve(bend, slope)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    own = weights / scale
    own[0] -= float((weights * mean / scale).sum())
    return tuple(float(f"{one:.6g}") for one in own)


def threshold(judged: Sequence[tuple[float, bool]]) -> float:
    """From which confidence on words are right often enough, all of them together."""
    rows = sorted(judged, reverse=True)
    best, right = 1.0, 0
    for number, (value, hit) in enumerate(rows, 1):
        right += hit
        last = number == len(rows) or rows[number][0] != value
        if last and right >= SURE * number:
            best = value
    return best

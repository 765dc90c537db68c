"""Durations and pitch of a sentence as numbers: whole frames, knots, the line through them, and what edits do to them.

T tokens of K knots each, which lie evenly inside their token, in semitones or octaves; F frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from olu.text.tones import HEIGHT, step_range

BARELY = 0.02  # semitones that a pushed step may lack
ROUNDS = 50  # of pushing: each step moves its neighbours too

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def whole_frames(wanted: Floats, least: Whole) -> Whole:
    """Whole frames for each token, at least `least`; what rounding takes or gives goes on to the next token."""
    frames, at, total = np.zeros(len(wanted), np.int64), 0, 0.0
    for place, (size, low) in enumerate(zip(wanted, least, strict=True)):
        total += size
        end = max(at + int(low), round(total))
        frames[place], at = end - at, end
    if not at and len(frames):  # nothing at all would be heard
        frames[0] = 1
    return frames


def knot_places(frames: Whole, each: int) -> Floats:
    """Where knots lie [T, K], in frames from the start."""
    starts = np.cumsum(frames) - frames
    return np.asarray(starts[:, None] + frames[:, None] * (np.arange(each) + 0.5) / each, np.float64)


def line_through(knots: Floats, frames: Whole, heard: NDArray[np.bool_]) -> Floats:
    """The value at the centre of every frame [F]: straight lines from knot to knot, passing over unheard tokens."""
    heard = heard & (frames > 0)
    if not heard.any():
        heard = frames > 0
    places = knot_places(frames, knots.shape[1])
    centres = np.arange(int(frames.sum())) + 0.5
    return np.asarray(np.interp(centres, places[heard].ravel(), knots[heard].ravel()), np.float64)


def offsets(points: Sequence[tuple[float, float]], frames: Whole, first: int, last: int, each: int) -> Floats:
    """What is added to the knots of tokens first to last-1: `points` are (share of their time, semitones)."""
    places = knot_places(frames, each)
    start, size = float(frames[:first].sum()), max(1.0, float(frames[first:last].sum()))
    found = np.zeros_like(places)
    shares, values = zip(*sorted(points), strict=True)
    found[first:last] = np.interp((places[first:last] - start) / size, shares, values)
    return found


@dataclass(frozen=True)
class ToneStep:
    """From one tone bearer of a word to the next: the tokens, and what is written on them."""

    before: int
    after: int
    kind: str  # "HL"


def tone_steps(words: Sequence[tuple[int, int]], tones: Sequence[str]) -> list[ToneStep]:
    """The steps inside words (tokens from first to last-1) between neighbours whose tones are known and plain."""
    found = []
    for first, last in words:
        bearers = [place for place in range(first, last) if tones[place]]
        found += [ToneStep(one, two, tones[one] + tones[two]) for one, two in pairwise(bearers)]
    return [step for step in found if len(step.kind) == 2 and all(tone in HEIGHT for tone in step.kind)]


def height_of(knots: Floats) -> Floats:
    """How high each token is: the median of its knots."""
    return np.asarray(np.median(knots, axis=1), np.float64)


def push_apart(
    knots: Floats, steps: Sequence[ToneStep], words: Sequence[tuple[int, int]], used: NDArray[np.bool_]
) -> tuple[Floats, int]:
    """Semitones [T, K] in which every written step between unequal tones is as large as it must be, and how many moved.

    Both sides of a step give way by half; what lies between bearers follows them.
    """
    height = height_of(knots)
    shift = np.zeros(len(height))
    bounds = [(step, *step_range(step.kind)) for step in steps if used[step.before] and used[step.after]]
    unequal = [(step, low, high) for step, low, high in bounds if not low < 0 < high]
    pushed: set[ToneStep] = set()
    for _ in range(ROUNDS):
        moved = False
        for step, low, high in unequal:
            size = height[step.after] + shift[step.after] - height[step.before] - shift[step.before]
            lacks = min(max(size, low), high) - size
            if abs(lacks) > BARELY:
                shift[step.before] -= lacks / 2
                shift[step.after] += lacks / 2
                pushed.add(step)
                moved = True
        if not moved:
            break
    ends = {place for step, _, _ in unequal for place in (step.before, step.after)}
    for first, last in words:
        fixed = [place for place in range(first, last) if place in ends]
        if fixed:
            shift[first:last] = np.interp(np.arange(first, last), fixed, shift[fixed])
    return knots + shift[:, None], len(pushed)

"""Tones: whether the pitch moves between syllables as the words' tones say, in the voice and in natural speech."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.core.types import Alignment, Audio, Reading
from olu.evaluate.estimates import Estimate, figure, mean
from olu.evaluate.metrics import f0
from olu.evaluate.metrics.f0 import Pitch
from olu.features.pitch import HIGHEST, LOWEST, instrument
from olu.text.languages import traits
from olu.text.tones import HEIGHT, LEVEL, RISE, fits

MIDDLE = 0.6  # of a syllable: its ends belong to its neighbours
LEAST_FRAMES = 3
FINER = 3  # pitch every 5.3 ms
PHRASE_PAUSE = 0.15
SLOPE_FROM = 6  # syllables in a phrase, below which its slope cannot be told from its tones
REASON = "lexical tones only: what phrases do to tones is not in the rules; no better than the alignment"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Syllable:
    """A sound that bears a tone: when, and how high once the phrase's fall is taken off."""

    word: int
    tone: str  # H M L D, two letters for a contour, ? unknown
    start: float
    end: float
    phrase: int
    semitones: float | None = None  # None: too little of it is voiced
    slope: float = 0.0  # semitones per second inside it


@dataclass(frozen=True, slots=True)
class Move:
    """The step in pitch from one syllable to the next of the same word, with both tones."""

    kind: str  # "HL"
    semitones: float

    @property
    def right(self) -> bool:
        return fits(self.kind, self.semitones)


def track(audio: Audio, *, low: float = LOWEST, high: float = HIGHEST) -> Pitch:
    """The pitch as fine as tones need it."""
    return f0.track(audio, low=low, high=high, finer=FINER)


def syllables(alignment: Alignment, reading: Reading, pitch: Pitch) -> tuple[Syllable, ...]:
    """Every tone bearer with its height; nothing where the alignment does not hold the reading's phones."""
    spans = [(place, span) for place, span in enumerate(alignment.phones) if span.label]
    if len(spans) != sum(len(word.phones) for word in reading.words):
        return ()
    phrases = _phrases(alignment)
    found: list[Syllable] = []
    first = 0
    for number, word in enumerate(reading.words):
        for tone, bearer in zip(word.tones, word.bearers, strict=True):
            place, span = spans[first + bearer]
            height, slope = _height(pitch, span.start, span.end)
            found.append(Syllable(number, tone, span.start, span.end, phrases[place], height, slope))
        first += len(word.phones)
    return _flat(found)


def moves(found: Sequence[Syllable]) -> tuple[Move, ...]:
    """Steps between neighbours in one word whose tones are known and plain, and a downstep from the word before."""
    return tuple(
        Move(one.tone + two.tone, two.semitones - one.semitones)
        for one, two in pairwise(found)
        if (one.word == two.word or (two.tone == "D" and two.word == one.word + 1)) and one.phrase == two.phrase
        if _plain(one) and _plain(two)
        if one.semitones is not None and two.semitones is not None
    )


def chance(clips: Sequence[Sequence[Move]]) -> float | None:
    """What shuffled tones would reach: every kind with every move, in their shares."""
    every = [move for clip in clips for move in clip]
    if not every:
        return None
    kinds = Counter(move.kind for move in every)
    steps = [move.semitones for move in every]
    right = sum(count * sum(fits(kind, step) for step in steps) for kind, count in kinds.items())
    return right / len(every) ** 2


def summarise(
    spoken: Sequence[Sequence[Move]], *, natural: Sequence[Sequence[Move]] | None = None
) -> tuple[Estimate, ...]:
    """tone_moves (share right), tone_chance (what shuffled tones reach), and tone_<kind> for each kind met."""
    natural = natural or ()
    said: dict[str, Any] = {
        "unit": "share",
        "instrument": f"{instrument()}, declination removed, rise {RISE}, level {LEVEL} semitones",
        "trust": "medium",
        "reason": REASON,
    }
    figures = [_share("tone_moves", spoken, natural, None, said)]
    guess, natural_guess = chance(spoken), chance(natural)
    figures.append(figure("tone_chance", [guess] * _met(spoken), natural=natural_guess, **said))
    for kind in sorted({move.kind for clip in (*spoken, *natural) for move in clip}):
        figures.append(_share(f"tone_{kind}", spoken, natural, kind, said))
    return tuple(figures)


def _share(
    name: str, spoken: Sequence[Sequence[Move]], natural: Sequence[Sequence[Move]], kind: str | None, said: Any
) -> Estimate:
    values, counts = _right(spoken, kind)
    held = mean(_right(natural, kind)[0], weights=_right(natural, kind)[1])
    return figure(name, values, natural=held, weights=counts, **said)


def _right(clips: Sequence[Sequence[Move]], kind: str | None) -> tuple[list[float | None], list[float]]:
    chosen = [[move.right for move in clip if kind in (None, move.kind)] for clip in clips]
    return [sum(one) / len(one) if one else None for one in chosen], [float(len(one)) for one in chosen]


def _met(clips: Sequence[Sequence[Move]]) -> int:
    return sum(bool(clip) for clip in clips)


def _plain(one: Syllable) -> bool:
    return one.tone in ("H", "M", "L", "D")


def _phrases(alignment: Alignment) -> list[int]:
    """The phrase of each phone: a pause of 150 ms begins another."""
    numbers, phrase = [], 0
    for span in alignment.phones:
        phrase += not span.label and span.end - span.start >= PHRASE_PAUSE
        numbers.append(phrase)
    return numbers


def _height(pitch: Pitch, start: float, end: float) -> tuple[float | None, float]:
    """The median pitch of the middle of a syllable in semitones above 1 Hz, and its slope there."""
    edge = (end - start) * (1 - MIDDLE) / 2
    first, last = np.searchsorted(pitch.times, (start + edge - 1e-9, end - edge + 1e-9))
    hertz, times = pitch.hertz[first:last], pitch.times[first:last]
    heard = hertz > 0
    if int(heard.sum()) < LEAST_FRAMES:
        return None, 0.0
    semitones = 12 * np.log2(hertz[heard])
    return float(np.median(semitones)), float(np.polyfit(times[heard], semitones, 1)[0])


def _flat(found: Sequence[Syllable]) -> tuple[Syllable, ...]:
    """The fall over each phrase taken off: the median slope of all pairs, never a rise."""
    slopes = {phrase: _fall([one for one in found if one.phrase == phrase]) for phrase in {one.phrase for one in found}}
    return tuple(
        one
        if one.semitones is None
        else Syllable(
            one.word,
            one.tone,
            one.start,
            one.end,
            one.phrase,
            one.semitones - slopes[one.phrase] * (one.start + one.end) / 2,
            one.slope - slopes[one.phrase],
        )
        for one in found
    )


def _fall(phrase: Sequence[Syllable]) -> float:
    points = [((one.start + one.end) / 2, one.semitones) for one in phrase if one.semitones is not None]
    if len(points) < SLOPE_FROM:
        return 0.0
    times, heights = np.array(points, dtype=np.float64).T
    one, two = np.triu_indices(len(times), 1)
    return min(0.0, float(np.median((heights[two] - heights[one]) / (times[two] - times[one]))))


# ---- words that differ in tone alone, to be said in a carrier sentence: does the voice obey the marks?


TONE_PAIRS_REASON = "a few words in one sentence, and the sign of the step alone"

LEAST_STEP = 0.5  # semitones: a smaller step has no sign
TONE_PAIRS_LEVEL = 1.5


@dataclass(frozen=True, slots=True)
class Probe:
    """A sentence to be spoken, and which of its words is asked about."""

    text: str
    word: str
    place: int  # of the word in the sentence


def probes(language: str) -> tuple[Probe, ...]:
    """The sentences of a language by its ISO 639-3 code; none where no pairs are known."""
    known = traits(language)
    carrier = known.tone_carrier
    place = len(carrier.partition("{}")[0].split())
    return tuple(Probe(carrier.format(word), word, place) for words in known.tone_sets for word in words)


def obeyed(probe: Probe, found: Sequence[Syllable]) -> bool | None:
    """Whether every step inside the word has the sign its tones ask for; None where it cannot be heard."""
    steps = moves([one for one in found if one.word == probe.place])
    return all(_sign(step) for step in steps) if steps else None


def summarise_pairs(answers: Sequence[bool | None], name: str = "tone_pairs") -> tuple[Estimate, ...]:
    """tone_pairs: share of the words whose pitch goes the way of their marks."""
    values = [None if answer is None else float(answer) for answer in answers]
    said: dict[str, Any] = {
        "instrument": "minimal pairs in a carrier sentence",
        "trust": "medium",
        "reason": TONE_PAIRS_REASON,
    }
    return (figure(name, values, unit="share", counted=True, **said),)


def _sign(move: Move) -> bool:
    first, second = (HEIGHT[tone] for tone in move.kind)
    if first == second:
        return move.semitones < 0 if move.kind.endswith("D") else abs(move.semitones) <= TONE_PAIRS_LEVEL
    return move.semitones >= LEAST_STEP if second > first else move.semitones <= -LEAST_STEP


# ---- a small classifier that names tones from pitch, trained on natural speech and asked about the voice


FOLDS = 5
ROUNDS, PACE, WEAKEN = 300, 0.5, 1e-3
LEAST_LEARNT = 50  # syllables to learn from
MODEL_REASON = "a classifier that knows only pitch; natural speech is its ceiling"

Clip = Sequence[Syllable]


class ToneModel:
    """Multinomial logistic regression over numpy."""

    def __init__(self, features: Floats, tones: Sequence[str]) -> None:
        self.tones = sorted(set(tones))
        self.middle, spread = features.mean(axis=0), features.std(axis=0)
        self.spread = np.where(spread > 1e-9, spread, 1.0)
        wanted = np.array([self.tones.index(tone) for tone in tones])
        self.weights = _fit(self._scaled(features), np.eye(len(self.tones))[wanted])

    def name(self, features: Floats) -> list[str]:
        return [self.tones[place] for place in (self._scaled(features) @ self.weights).argmax(axis=1)]

    def _scaled(self, features: Floats) -> Floats:
        scaled = (features - self.middle) / self.spread
        return np.hstack([scaled, np.ones((len(scaled), 1))])


def features(clip: Clip) -> tuple[Floats, list[str]]:
    """[N, 7] steps from and to the neighbours, height in the phrase, slope, place in the phrase, and the tones."""
    rows, tones = [], []
    for phrase in {one.phrase for one in clip}:
        heard = [one for one in clip if one.phrase == phrase and one.semitones is not None]
        heights = np.array([one.semitones for one in heard], dtype=np.float64)
        steps = [0.0, *(float(b - a) for a, b in pairwise(heights)), 0.0]
        for place, one in enumerate(heard):
            if one.tone not in ("H", "M", "L", "D"):
                continue
            z = float(heights[place] - heights.mean())
            here = [steps[place], steps[place + 1], z, one.slope, place / max(1, len(heard) - 1)]
            rows.append([*here, float(place == 0), float(place == len(heard) - 1)])
            tones.append(one.tone)
    return np.array(rows, dtype=np.float64).reshape(len(rows), 7), tones


def judge(spoken: Sequence[Clip], *, natural: Sequence[Clip], train: Sequence[Clip] = ()) -> tuple[Estimate, ...]:
    """tone_named: share of tones named right in the voice, and in natural speech.

    `spoken` and `natural` say the same texts. A clip is judged by a model that heard neither it nor its natural
    recording; `train` are further natural clips, which every model may hear.
    """
    known = [features(clip) for clip in natural]
    more = [features(clip) for clip in train]
    folds = [place % FOLDS for place in range(len(natural))]
    right: list[float | None] = []
    held: list[float | None] = []
    counts: list[float] = []
    held_counts: list[float] = []
    models = [
        _model([one for one, fold in zip(known, folds, strict=True) if fold != turn] + more) for turn in range(FOLDS)
    ]
    for place, clip in enumerate(spoken):
        model = models[folds[place]]
        for into, weight, pair in ((right, counts, features(clip)), (held, held_counts, known[place])):
            share = None if model is None else _named_right(model, *pair)
            into.append(share)
            weight.append(float(len(pair[1])))
    said: dict[str, Any] = {"instrument": f"logistic regression on {instrument()}", "trust": "medium"}
    held_share = mean(held, weights=held_counts)
    return (figure("tone_named", right, natural=held_share, weights=counts, unit="share", reason=MODEL_REASON, **said),)


def _model(parts: Sequence[tuple[Floats, list[str]]]) -> ToneModel | None:
    tones = [tone for _, names in parts for tone in names]
    if len(tones) < LEAST_LEARNT or len(set(tones)) < 2:
        return None
    return ToneModel(np.concatenate([rows for rows, _ in parts]), tones)


def _named_right(model: ToneModel, rows: Floats, tones: Sequence[str]) -> float | None:
    if not tones:
        return None
    return float(np.mean([one == two for one, two in zip(model.name(rows), tones, strict=True)]))


def _fit(features: Floats, wanted: Floats) -> Floats:
    """Full gradient descent with momentum: a few thousand rows of seven numbers."""
    weights = np.zeros((features.shape[1], wanted.shape[1]))
    push = np.zeros_like(weights)
    for _ in range(ROUNDS):
        scores = features @ weights
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        gradient = features.T @ (chances - wanted) / len(features) + WEAKEN * weights
        push = 0.9 * push - PACE * gradient
        weights = weights + push
    return weights

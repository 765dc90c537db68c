"""A flat start on long recordings: where every word of their whole texts is, with nothing else given.

Steps, each over all of the sound and all of the text at once (band.py). First by what sounds are like by their
signs alone (kinds.py); then by Gaussians that learn from what was found, a few times; then by the frame classifier
(frames.py); at last by two of them, each asked about what it did not learn from. The band gets narrower.
Shapes: F frames, M mels, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from olu.align.band import BlockScores, ChainCosts, band, best_band, long_chain, near
from olu.align.borrowed import FirstEar, by_signs
from olu.align.chain import STATES, classes
from olu.align.estimate import passing
from olu.align.flat_models import BLOCK, Scorer, crossed, gaussians, heard_by, network
from olu.align.frames import FRAME_SECONDS, FrameModel
from olu.align.recording import Floats, FoundFrames, Ints, LongRecording, LongText, NoStore, RoundStore, hear
from olu.core.errors import AlignError
from olu.core.job import Job, Tick

FOLD = 3  # frames of 10 ms that the first look takes as one
FIRST_HALF_SECONDS, FIRST_HALF_SHARE = 300.0, 0.1  # how far from an even pace a word may lie in the first look
USUAL_PACE = (7.0, 18.0)  # phones in a second of sound: else the text is not all of what is said, or more
MOST_PASSED = 0.2  # of the phones in the first look: with more it looks everywhere
LEAST_FOUND = 0.1  # of the phones there: with less it looks once more, for all of them
NO_FILLER = 1e6
FIRST_CELLS = 2e10  # frames times states up to which that is possible: some minutes of a core
GAUSSIANS = (1, 2, 4)  # of a class, in each round of them
KEPT_SCORES = 2**26  # of a recording in memory: 256 MB, nearly two hours
SOUND_COST = 2.0  # of calling a frame with sound silence: else foreign speech becomes a kind of silence
FILLER_LEAST = 1.5
LONGEST_PHONE = 40  # frames: a longer one may hold foreign sound, and is not learnt from
NO_PHONE = 100  # frames: nobody says one sound that long; where it is found there is none, and the search goes again
AGAIN, AGAIN_REACH = 2, 2000  # times at most, and how many frames around it
REACH = 500  # frames on both sides of a leap over words in which it may be made otherwise
NEVER = np.float32(-30.0)  # the score of a phone where there is none
LEAST_LEAVING = 0.08  # of the chances of leaving a part of a phone: else one of them becomes a home for foreign sound
KINDS_COST = 1.5  # a frame that is not written, while nothing is learnt
# A sound that is passed over must cost less than pressing it in between others; but a first look that passes over
# words too readily loses its way in a long recording (a cost of 1 did, in 54 minutes), and no later round finds back.
# Nor may it leave the ends of a text over, as long as these have room: what is passed over there costs half of that.
FIRST_COSTS = ChainCosts(filler=60.0, sentence=30.0, skip=3.0, outside_skip=1.5)
COSTS = ChainCosts(filler=100.0, sentence=50.0, skip=12.0, outside_skip=2.0)
HONEST_COSTS = replace(COSTS, skip=3.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRound:
    """How far a later round looks, what it costs to leave the text, and what a frame costs that is not written.

    That is so many times what a frame costs that is, as it was found last, next to the best class there. At first
    little: words may be missed, but nothing wrong is learnt. A network has learnt just those frames, and is too sure of
    them; the last round's have not.
    """

    half_seconds: float
    filler_times: float
    costs: ChainCosts = COSTS


ROUNDS = (
    LookRound(half_seconds=60.0, filler_times=1.0),
    LookRound(half_seconds=30.0, filler_times=2.0),
    LookRound(half_seconds=20.0, filler_times=2.0),
    LookRound(half_seconds=15.0, filler_times=6.0),
    LookRound(half_seconds=15.0, filler_times=3.0, costs=HONEST_COSTS),
)


@dataclass(frozen=True, slots=True)
class FlatStart:
    """What was found: a model of the sounds, and each recording's path."""

    model: FrameModel
    paths: dict[str, LongPath]
    trust: dict[str, tuple[int, int]]  # half minutes whose words a network prefers that did not learn them, of so many


@dataclass(frozen=True, slots=True)
class LongPath:
    """Of each frame the phone it is in (-1 silence, FILLER), its log probability, and whether there is sound."""

    owner_F: Ints
    chances_F: Floats
    best_F: Floats  # of the class that is likeliest
    sound_F: NDArray[np.bool_]


def flat_start(
    texts: Sequence[LongText],
    *,
    ear: FirstEar = by_signs,
    store: RoundStore | None = None,
    device: str = "cpu",
    seed: int = 0,
) -> Job[FlatStart]:
    """Find every word of these recordings. What is neither said nor written is left without a place.

    `ear`: what the first look hears by.
    """
    phones = tuple(sorted({phone for text in texts for word in text.words for phone in word}))
    if not phones:
        raise AlignError("no recording has a text to align: run 'olu read' first")
    kept = store or NoStore()
    done, held = kept.load()
    recordings = []
    for number, text in enumerate(texts):
        yield Tick(number, len(texts), "hearing the recordings")
        recordings.append(hear(text, phones))
        recordings[-1].found = held.get(text.id)
    many, rounds = classes(len(phones)), 2 + len(GAUSSIANS) + 1
    others, paths = None, dict[str, LongPath]()
    for number in range(min(done, rounds - 1), rounds):
        scores: Scorer | None = None
        chances = _even(recordings, many)
        if number and not any((one.labels > 0).any() for one in recordings):
            raise AlignError("nothing of the texts is heard in the recordings: are they of other sound or language?")
        if number == rounds - 1:
            others = crossed(recordings, phones, device=device, seed=seed)
            scores = others.scorer
        elif number > len(GAUSSIANS):
            scores = heard_by(network(recordings, phones, device=device, seed=seed))
        elif number:
            scores = gaussians(recordings, many, GAUSSIANS[number - 1])
        if number:
            chances = _leaving(passing([one.labels[one.labels >= 0] for one in recordings], many))
        for at, one in enumerate(recordings):
            yield Tick(number * len(recordings) + at, len(recordings) * rounds, "finding the words")
            if scores is None:
                one.found = _first_look(one, ear(one, phones), chances)
            else:
                paths[one.text.id] = _look(one, scores(one), chances, ROUNDS[number - 1])
        kept.save(number + 1, {one.text.id: one.found for one in recordings if one.found is not None})
    assert others is not None
    yield Tick(rounds, rounds, "finding the words")
    model = network(recordings, phones, device=device, seed=seed)
    return FlatStart(model, paths, others.trust(recordings))


def _even(recordings: Sequence[LongRecording], many: int) -> tuple[Floats, Floats]:
    """[C] log chances of staying in a class and leaving it, by the mean length of a phone alone, of folded frames."""
    frames = sum(float(one.sound.sum()) for one in recordings) / FOLD / max(1, sum(one.phones for one in recordings))
    leaving = np.full(many, 1.0 / np.clip(frames, 1.5, 6.0), dtype=np.float32)
    leaving[0] = 0.05
    return np.log(1.0 - leaving), np.log(leaving)


def _first_look(one: LongRecording, heard: BlockScores, chances: tuple[Floats, Floats]) -> FoundFrames:
    """Where the text is by what its sounds are like: coarse, and in nearly all of the recording."""
    many = len(chances[0])
    text = long_chain(
        one.ids, classes=many, sentences=one.text.sentences, costs=FIRST_COSTS, parts=(1,), quiet_states=1
    )
    count = len(one.mels) // FOLD

    def scores(start: int, end: int, *, cost: float) -> Floats:
        each = heard(start * FOLD, end * FOLD)
        each[:, 0] -= SOUND_COST * one.sound[start * FOLD : end * FOLD]
        return _with_filler(each.reshape(-1, FOLD, many).sum(axis=1), cost * FOLD)

    spoken = np.cumsum(one.sound[: count * FOLD].reshape(-1, FOLD).mean(axis=1))
    centre = spoken / max(1.0, float(spoken[-1])) * text.size
    half = text.size * max(FIRST_HALF_SHARE, FIRST_HALF_SECONDS / (len(one.mels) * FRAME_SECONDS))
    wide = float(text.size) if count * text.size <= FIRST_CELLS else half
    pace = one.phones / max(1.0, float(one.sound.sum()) * FRAME_SECONDS)
    stay, leave = _with_filler_chances(chances)
    tries = [(wide, KINDS_COST), (half, NO_FILLER)]  # it must find something to learn from
    for width, cost in [(half, KINDS_COST), *tries] if USUAL_PACE[0] <= pace <= USUAL_PACE[1] else tries:
        states, _ = best_band(text, partial(scores, cost=cost), stay, leave, band(centre, width, text.size))
        said = len(np.unique(text.owner[states][text.owner[states] >= 0]))
        if said >= (1.0 - MOST_PASSED if width < wide else LEAST_FOUND) * one.phones:
            break
    owner = np.repeat(text.owner[states], FOLD)
    owner = np.pad(owner, (0, len(one.mels) - len(owner)), mode="edge").astype(np.int32)
    return FoundFrames(owner, _thirds(owner, one))


def _thirds(owner_F: Ints, one: LongRecording) -> Ints:
    """Classes of the frames where each phone is cut evenly into its states; sound that is nobody's is not learnt."""
    spoken = np.array([phone for word in one.ids for phone in word], dtype=np.int32)
    labels = np.where(one.sound, -1, 0).astype(np.int32)
    edges = np.flatnonzero(np.diff(owner_F, prepend=-3))
    for start, end in zip(edges, np.append(edges[1:], len(labels)), strict=True):
        if owner_F[start] >= 0:
            labels[start:end] = 1 + STATES * spoken[owner_F[start]] + np.arange(end - start) * STATES // (end - start)
    return labels


def _longer(owner_F: Ints, most: int) -> NDArray[np.bool_]:
    """[F] whether a frame is in a phone of more than so many frames."""
    edges = np.flatnonzero(np.diff(owner_F, prepend=-3))
    lengths = np.diff(np.append(edges, len(owner_F)))
    return np.repeat((lengths > most) & (owner_F[edges] >= 0), lengths)


def _leaving(chances: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    leaving = np.exp(chances[1])
    leaving[1:] = np.maximum(leaving[1:], LEAST_LEAVING)
    return np.log(1.0 - leaving), np.log(leaving)


def _with_filler(scores_FC: Floats, cost: float) -> Floats:
    filler = np.maximum(scores_FC[:, 0], scores_FC.max(axis=1) - np.float32(cost))
    return np.ascontiguousarray(np.concatenate([scores_FC, filler[:, None]], axis=1), dtype=np.float32)


def _with_filler_chances(chances: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    stay, leave = (np.append(values, 0.0).astype(np.float32) for values in chances)
    return stay, leave


def _look(
    one: LongRecording,
    heard: BlockScores,
    chances: tuple[Floats, Floats],
    how: LookRound,
) -> LongPath:
    """Where the text is, near where it was found last."""
    many = len(chances[0])
    heard = _kept(heard, len(one.mels), many)
    text = long_chain(one.ids, classes=many, sentences=one.text.sentences, costs=how.costs)
    first = np.flatnonzero((np.diff(text.owner, prepend=-3) != 0) & (text.owner >= 0))
    starts = np.append(first, text.size - 1)
    centre = np.interp(one.places, np.arange(len(starts)), starts)
    half = how.half_seconds * text.size / (len(one.mels) * FRAME_SECONDS)
    own, best = _along(heard, one.labels)
    spoken = one.labels > 0
    cost = max(FILLER_LEAST, how.filler_times * float((best - own)[spoken].mean()) if spoken.any() else 0.0)

    def with_filler(start: int, end: int) -> Floats:
        each = heard(start, end).copy()
        each[:, 0] -= SOUND_COST * one.sound[start:end]
        full = _with_filler(each, cost)
        full[strange[start:end], 1:-1] = NEVER
        return full

    stay, leave = _with_filler_chances(chances)
    strange = np.zeros(len(one.mels), dtype=np.bool_)
    whole = limits = band(centre, half, text.size, reach=REACH)
    for _ in range(1 + AGAIN):
        states, _ = best_band(text, with_filler, stay, leave, limits)
        owner = np.asarray(text.owner[states], dtype=np.int32)
        if not (found := _longer(owner, NO_PHONE)).any():
            break
        strange |= found
        limits = near(states, found, whole, reach=AGAIN_REACH)
    labels = np.where(owner >= 0, text.emits[states], np.where(one.sound, -1, 0)).astype(np.int32)
    one.found = FoundFrames(owner, np.where(_longer(owner, LONGEST_PHONE), -1, labels).astype(np.int32))
    return LongPath(owner, *_along(heard, np.minimum(text.emits[states], many - 1)), one.sound)


def _kept(heard: BlockScores, frames: int, many: int) -> BlockScores:
    """The same scores, computed once: a search asks for them several times. Of a very long recording as they come."""
    if frames * many > KEPT_SCORES:
        return heard
    kept = np.concatenate([heard(start, min(frames, start + BLOCK)) for start in range(0, frames, BLOCK)])
    return lambda start, end: kept[start:end]


def _along(heard: BlockScores, classes_F: Ints) -> tuple[Floats, Floats]:
    """[F] the score of these classes, and of the best one."""
    own, best = np.empty(len(classes_F), dtype=np.float32), np.empty(len(classes_F), dtype=np.float32)
    for start in range(0, len(classes_F), BLOCK):
        each = heard(start, min(len(classes_F), start + BLOCK))
        own[start : start + BLOCK] = each[np.arange(len(each)), classes_F[start : start + BLOCK]]
        best[start : start + BLOCK] = each.max(axis=1)
    return own, best

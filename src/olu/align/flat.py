"""A flat start on long recordings: where every word of their whole texts is, with nothing else given.

Steps, each over all of the sound and all of the text at once (band.py). First by what sounds are like by their
signs alone (kinds.py); then by Gaussians that learn from what was found, a few times; then by the frame classifier
(frames.py), twice. After each the band in which the next one looks is narrower. Shapes: F frames, M mels, C classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from olu.align.band import BlockScores, ChainCosts, band, best_band, long_chain, near
from olu.align.chain import STATES, best_way, chain, classes
from olu.align.estimate import DECAY, RATE, TrainingClip, fit, learn_pieces, model_of, passing, split
from olu.align.frames import FRAME_SECONDS, FrameModel, build, cepstra, log_mels
from olu.align.kinds import first_scores, ranks
from olu.audio.activity import frame_dbfs, frame_rate, stretches
from olu.core.errors import AlignError
from olu.core.job import Job, Tick
from olu.core.types import Audio

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

FOLD = 3  # frames of 10 ms that the first look takes as one
FIRST_HALF_SECONDS, FIRST_HALF_SHARE = 300.0, 0.1  # how far from an even pace a word may lie in the first look
USUAL_PACE = (7.0, 18.0)  # phones in a second of sound: else the text is not all of what is said, or more
MOST_PASSED = 0.2  # of the phones in the first look: with more it looks everywhere
LEAST_FOUND = 0.1  # of the phones there: with less it looks once more, for all of them
NO_FILLER = 1e6
FIRST_CELLS = 2e10  # frames times states up to which that is possible: some minutes of a core
GAUSSIANS = (1, 2, 4)  # of a class, in each round of them
HALF_SECONDS = (60.0, 30.0, 20.0, 15.0, 15.0)  # of the bands of the later rounds
NETWORKS = 2
PAUSE_FRAMES = 8  # of quiet that part two sounds
MOST_FRAMES = 180 * 6000  # that are learnt from
FOLD_FRAMES = 3000  # half minutes, every other of which a network does not learn from
CLEARLY = 0.2  # better a frame than the same words backwards: right texts are by 0.5, wrong ones by 0.07 at most
MOST_STRETCHES, LEAST_WORDS = 10, 5  # of a recording that are compared, and their words
BLOCK = 20_000  # frames a network hears at once
KEPT_SCORES = 2**26  # of a recording in memory: 256 MB, nearly two hours
AROUND = 20  # frames heard on both sides of a block for its sake
SOUND_COST = 2.0  # of calling a frame with sound silence: else foreign speech becomes a kind of silence
# What a frame that is not written costs next to the best class there, in each round: this many times what a frame costs
# that is, as it was found last. At first little: words may be missed, but nothing wrong is learnt. A network has learnt
# just those frames, and is too sure of them.
FILLER_TIMES = (1.0, 2.0, 2.0, 6.0, 6.0)
FILLER_LEAST = 1.5
LONGEST_PHONE = 40  # frames: a longer one may hold foreign sound, and is not learnt from
NO_PHONE = 100  # frames: nobody says one sound that long; where it is found there is none, and the search goes again
AGAIN, AGAIN_REACH = 2, 2000  # times at most, and how many frames around it
REACH = 500  # frames on both sides of a leap over words in which it may be made otherwise
NEVER = np.float32(-30.0)  # the score of a phone where there is none
LEAST_LEAVING = 0.08  # of the chances of leaving a part of a phone: else one of them becomes a home for foreign sound
KINDS_COST = 1.0  # the same while nothing is learnt
# A sound that is passed over must cost less than pressing it in between others; but a first look that passes over
# words too readily loses its way in a long recording (a cost of 1 did, in 54 minutes), and no later round finds back.
FIRST_COSTS = ChainCosts(filler=60.0, sentence=30.0, skip=4.0)
COSTS = ChainCosts(filler=100.0, sentence=50.0, skip=12.0, outside_skip=2.0)


@dataclass(frozen=True, slots=True)
class LongText:
    """A long recording to be found in: its words as phones, and which of them begin a sentence."""

    id: str
    words: tuple[tuple[str, ...], ...]
    sentences: frozenset[int]
    chunks: Callable[[], Iterable[Audio]]


@dataclass(frozen=True, slots=True)
class FoundFrames:
    """Of each frame of a recording the phone it is in (-1 silence, FILLER), and its class (-1: not to learn from)."""

    owner_F: Ints
    labels_F: Ints


class RoundStore(Protocol):
    """Keeps what a round found, so that a start that was killed goes on there."""

    def load(self) -> tuple[int, dict[str, FoundFrames]]: ...

    def save(self, done: int, found: dict[str, FoundFrames]) -> None: ...


class NoStore:
    def load(self) -> tuple[int, dict[str, FoundFrames]]:
        return 0, {}

    def save(self, done: int, found: dict[str, FoundFrames]) -> None:
        return None


@dataclass
class _Recording:
    text: LongText
    mels: Floats
    sound: NDArray[np.bool_]
    ids: list[list[int]]
    found: FoundFrames | None = None

    @property
    def labels(self) -> Ints:
        assert self.found is not None
        return self.found.labels_F

    @property
    def places(self) -> NDArray[np.float64]:
        """[F] how many phones of the text lie before each frame."""
        assert self.found is not None
        owner = np.where(self.found.owner_F >= 0, self.found.owner_F, self.phones)
        return np.minimum.accumulate(owner[::-1])[::-1].astype(np.float64)

    @property
    def phones(self) -> int:
        return sum(map(len, self.ids))


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
    texts: Sequence[LongText], *, store: RoundStore | None = None, device: str = "cpu", seed: int = 0
) -> Job[FlatStart]:
    """Find every word of these recordings. What is neither said nor written is left without a place."""
    phones = tuple(sorted({phone for text in texts for word in text.words for phone in word}))
    if not phones:
        raise AlignError("no recording has a text to align: run 'olu read' first")
    kept = store or NoStore()
    done, held = kept.load()
    recordings = []
    for number, text in enumerate(texts):
        yield Tick(number, len(texts), "hearing the recordings")
        recordings.append(_hear(text, phones))
        recordings[-1].found = held.get(text.id)
    many, rounds = classes(len(phones)), 1 + len(GAUSSIANS) + NETWORKS
    model, paths = None, dict[str, LongPath]()
    for number in range(min(done, rounds - 1), rounds):
        scores, chances = None, _even(recordings, many)
        if number and not any((one.labels > 0).any() for one in recordings):
            raise AlignError("nothing of the texts is heard in the recordings: are they of other sound or language?")
        if number > len(GAUSSIANS):
            model = _network(recordings, phones, device=device, seed=seed)
            scores = _heard_by(model)
        elif number:
            scores = _gaussians(recordings, many, GAUSSIANS[number - 1])
        if number:
            chances = _leaving(passing([one.labels[one.labels >= 0] for one in recordings], many))
        for at, one in enumerate(recordings):
            yield Tick(number * len(recordings) + at, len(recordings) * rounds, "finding the words")
            if scores is None:
                one.found = _first_look(one, phones, chances)
            else:
                times, half = FILLER_TIMES[number - 1], HALF_SECONDS[number - 1]
                paths[one.text.id] = _look(one, scores(one), chances, times=times, half_seconds=half)
        kept.save(number + 1, {one.text.id: one.found for one in recordings if one.found is not None})
    assert model is not None
    yield Tick(rounds, rounds, "finding the words")
    return FlatStart(model, paths, _trust(recordings, phones, device=device, seed=seed))


def _hear(text: LongText, phones: Sequence[str]) -> _Recording:
    number = {phone: at for at, phone in enumerate(phones)}
    mels, levels, rate = [], [], 0.0
    for audio in text.chunks():
        mels.append(log_mels(audio, centred=False))
        levels.append(frame_dbfs(audio))
        rate = frame_rate(audio.rate)
    if not mels:
        raise AlignError(f"{text.id}: nothing is heard in it")
    heard = np.concatenate(mels)
    heard -= heard.mean(axis=0)
    sound = np.zeros(len(heard), dtype=np.bool_)
    scale = 1.0 / (rate * FRAME_SECONDS)
    for start, end in zip(*stretches(np.concatenate(levels), rate, pause_frames=PAUSE_FRAMES), strict=True):
        sound[round(start * scale) : round(end * scale)] = True
    return _Recording(text, heard, sound, [[number[phone] for phone in word] for word in text.words])


def _even(recordings: Sequence[_Recording], many: int) -> tuple[Floats, Floats]:
    """[C] log chances of staying in a class and leaving it, by the mean length of a phone alone, of folded frames."""
    frames = sum(float(one.sound.sum()) for one in recordings) / FOLD / max(1, sum(one.phones for one in recordings))
    leaving = np.full(many, 1.0 / np.clip(frames, 1.5, 6.0), dtype=np.float32)
    leaving[0] = 0.05
    return np.log(1.0 - leaving), np.log(leaving)


def _first_look(one: _Recording, phones: Sequence[str], chances: tuple[Floats, Floats]) -> FoundFrames:
    """Where the text is by what its sounds are like: coarse, and in nearly all of the recording."""
    many = classes(len(phones))
    text = long_chain(
        one.ids, classes=many, sentences=one.text.sentences, costs=FIRST_COSTS, parts=(1,), quiet_states=1
    )
    heard = ranks(one.mels, one.sound)
    count = len(heard) // FOLD

    def scores(start: int, end: int, *, cost: float) -> Floats:
        each = first_scores(heard[start * FOLD : end * FOLD], phones)
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
    owner = np.pad(owner, (0, len(heard) - len(owner)), mode="edge").astype(np.int32)
    return FoundFrames(owner, _thirds(owner, one))


def _thirds(owner_F: Ints, one: _Recording) -> Ints:
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


Scorer = Callable[[_Recording], BlockScores]


def _look(
    one: _Recording,
    heard: BlockScores,
    chances: tuple[Floats, Floats],
    *,
    times: float,
    half_seconds: float,
) -> LongPath:
    """Where the text is, near where it was found last."""
    many = len(chances[0])
    heard = _kept(heard, len(one.mels), many)
    text = long_chain(one.ids, classes=many, sentences=one.text.sentences, costs=COSTS)
    first = np.flatnonzero((np.diff(text.owner, prepend=-3) != 0) & (text.owner >= 0))
    starts = np.append(first, text.size - 1)
    centre = np.interp(one.places, np.arange(len(starts)), starts)
    half = half_seconds * text.size / (len(one.mels) * FRAME_SECONDS)
    own, best = _along(heard, one.labels)
    spoken = one.labels > 0
    cost = max(FILLER_LEAST, times * float((best - own)[spoken].mean()) if spoken.any() else 0.0)

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


def _gaussians(recordings: Sequence[_Recording], many: int, each: int) -> Scorer:
    """Mixtures of the classes as they were found last, from one Gaussian on."""
    frames, labels = _to_learn(recordings)
    mixtures = fit(frames, labels, classes=many)
    while mixtures.means.shape[1] < each:
        mixtures = split(mixtures)
        mixtures = fit(frames, labels, classes=many, before=mixtures, many=mixtures.means.shape[1])

    def scorer(one: _Recording) -> BlockScores:
        return lambda start, end: mixtures.scores(_cepstra(one, start, end))

    return scorer


def _cepstra(one: _Recording, start: int, end: int) -> Floats:
    low = max(0, start - AROUND)
    return cepstra(one.mels[low : end + AROUND])[start - low : end - low]


def _to_learn(recordings: Sequence[_Recording]) -> tuple[Floats, Ints]:
    """Frames with their classes: all, or blocks from everywhere."""
    blocks = [(one, start) for one in recordings for start in range(0, len(one.mels), BLOCK)]
    step = max(1, -(-len(blocks) * BLOCK // MOST_FRAMES))
    frames, labels = [], []
    for one, start in blocks[::step]:
        own = one.labels[start : start + BLOCK]
        frames.append(_cepstra(one, start, start + len(own))[own >= 0])
        labels.append(own[own >= 0])
    return np.concatenate(frames), np.concatenate(labels)


def _network(recordings: Sequence[_Recording], phones: tuple[str, ...], *, device: str, seed: int) -> FrameModel:
    """The frame classifier, new each time: what it learnt from worse labels is forgotten."""
    spread = np.concatenate([one.mels for one in recordings]).std(axis=0) + np.float32(1e-3)
    many = classes(len(phones))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build(many).to(device)
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    clips = [TrainingClip(one.mels, (), ()) for one in recordings]
    learn_pieces(
        network, optimiser, clips, [one.labels for one in recordings], spread, np.random.default_rng(seed), device
    )
    return model_of(phones, network, spread, [one.labels[one.labels >= 0] for one in recordings], many)


def _trust(
    recordings: Sequence[_Recording], phones: tuple[str, ...], *, device: str, seed: int
) -> dict[str, tuple[int, int]]:
    """In how many half minutes a network that did not learn from them prefers their words to the same ones backwards.

    Any text can be laid over any speech, vowels on vowels; but only a right one teaches what helps elsewhere.
    """
    won, asked = Counter[str](), Counter[str]()
    for half in range(2):
        learnt = [replace(one, found=_without(one, half)) for one in recordings]
        if not any((one.labels > 0).any() for one in learnt):
            continue
        model = _network(learnt, phones, device=device, seed=seed)
        for one in recordings:
            for start, end, words in _stretches(one, half):
                heard = model.scores(one.mels[start:end])
                own, other = (
                    best_way(chain(order, frames=end - start), heard, model.stay_C, model.leave_C).total
                    for order in (words, words[::-1])
                )
                asked[one.text.id] += 1
                won[one.text.id] += own - other > CLEARLY * (end - start)
    return {one.text.id: (won[one.text.id], asked[one.text.id]) for one in recordings}


def _stretches(one: _Recording, half: int) -> Iterator[tuple[int, int, list[list[int]]]]:
    """First frame, end and words of some half minutes."""
    assert one.found is not None
    owner, before = one.found.owner_F, np.concatenate([[0], np.cumsum([len(word) for word in one.ids])])
    starts = list(range(half * FOLD_FRAMES, len(owner), 2 * FOLD_FRAMES))
    for start in starts[:: -(-len(starts) // MOST_STRETCHES)]:
        said = np.unique(owner[start : start + FOLD_FRAMES])
        said = said[said >= 0]
        if not len(said):
            continue
        first, last = int(np.searchsorted(before, said[0])), int(np.searchsorted(before, said[-1], side="right")) - 1
        whole = [at for at in range(first, last) if np.isin(np.arange(before[at], before[at + 1]), said).all()]
        if len(whole) >= LEAST_WORDS:
            inside = np.flatnonzero((owner >= before[whole[0]]) & (owner < before[whole[-1] + 1]))
            yield int(inside[0]), int(inside[-1]) + 1, [one.ids[at] for at in whole]


def _without(one: _Recording, half: int) -> FoundFrames:
    assert one.found is not None
    mine = np.arange(len(one.labels)) // FOLD_FRAMES % 2 == half
    return FoundFrames(one.found.owner_F, np.where(mine, -1, one.labels).astype(np.int32))


def _heard_by(model: FrameModel) -> Scorer:
    def scorer(one: _Recording) -> BlockScores:
        def scores(start: int, end: int) -> Floats:
            low = max(0, start - AROUND)
            return model.scores(one.mels[low : end + AROUND])[start - low : end - low]

        return scores

    return scorer

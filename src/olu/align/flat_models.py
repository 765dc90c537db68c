"""What a flat start learns from its recordings: Gaussians, a network, networks that hear what they did not learn.

A network is too sure of the frames that it learnt from, right or wrong. So the last look goes by several, each of which
learnt from other half minutes than those it is asked about: their scores are honest. Shapes: F frames, C classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import torch

from olu.align.band import BlockScores
from olu.align.chain import best_way, chain, classes
from olu.align.estimate import DECAY, RATE, TrainingClip, fit, learn_pieces, model_of, split
from olu.align.frames import FrameModel, build, cepstra
from olu.align.recording import Floats, FoundFrames, Ints, LongRecording

BLOCK = 20_000  # frames a network hears at once
AROUND = 20  # frames heard on both sides of a block for its sake
MOST_FRAMES = 180 * 6000  # that are learnt from
FOLDS, FOLD_FRAMES = 2, 3000  # half minutes, every other of which a network does not learn from
CLEARLY = 0.2  # better a frame than the same words backwards: right texts are by 0.5, wrong ones by 0.07 at most
MOST_STRETCHES, LEAST_WORDS = 10, 5  # of a recording that are compared, and their words

Scorer = Callable[[LongRecording], BlockScores]


def gaussians(recordings: Sequence[LongRecording], many: int, each: int) -> Scorer:
    """Mixtures of the classes as they were found last, from one Gaussian on."""
    frames, labels = _to_learn(recordings)
    mixtures = fit(frames, labels, classes=many)
    while mixtures.means.shape[1] < each:
        mixtures = split(mixtures)
        mixtures = fit(frames, labels, classes=many, before=mixtures, many=mixtures.means.shape[1])

    def scorer(one: LongRecording) -> BlockScores:
        return lambda start, end: mixtures.scores(_cepstra(one, start, end))

    return scorer


def _cepstra(one: LongRecording, start: int, end: int) -> Floats:
    low = max(0, start - AROUND)
    return cepstra(one.mels[low : end + AROUND])[start - low : end - low]


def _to_learn(recordings: Sequence[LongRecording]) -> tuple[Floats, Ints]:
    """Frames with their classes: all, or blocks from everywhere."""
    blocks = [(one, start) for one in recordings for start in range(0, len(one.mels), BLOCK)]
    step = max(1, -(-len(blocks) * BLOCK // MOST_FRAMES))
    frames, labels = [], []
    for one, start in blocks[::step]:
        own = one.labels[start : start + BLOCK]
        frames.append(_cepstra(one, start, start + len(own))[own >= 0])
        labels.append(own[own >= 0])
    return np.concatenate(frames), np.concatenate(labels)


def network(recordings: Sequence[LongRecording], phones: tuple[str, ...], *, device: str, seed: int) -> FrameModel:
    """The frame classifier, new each time: what it learnt from worse labels is forgotten."""
    spread = np.concatenate([one.mels for one in recordings]).std(axis=0) + np.float32(1e-3)
    many = classes(len(phones))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = build(many).to(device)
    optimiser = torch.optim.AdamW(net.parameters(), RATE, weight_decay=DECAY)
    clips = [TrainingClip(one.mels, (), ()) for one in recordings]
    learn_pieces(net, optimiser, clips, [one.labels for one in recordings], spread, np.random.default_rng(seed), device)
    return model_of(phones, net, spread, [one.labels[one.labels >= 0] for one in recordings], many)


def heard_by(model: FrameModel) -> Scorer:
    def scorer(one: LongRecording) -> BlockScores:
        return lambda start, end: _block(model, one, start, end)

    return scorer


def _block(model: FrameModel, one: LongRecording, start: int, end: int) -> Floats:
    low = max(0, start - AROUND)
    return model.scores(one.mels[low : end + AROUND])[start - low : end - low]


@dataclass(frozen=True)
class CrossedNetworks:
    """Networks of which number n did not learn from half minutes n, n + FOLDS, ..."""

    models: tuple[FrameModel, ...]

    def scorer(self, one: LongRecording) -> BlockScores:
        """Each half minute as the network hears it that did not learn from it."""

        def scores(start: int, end: int) -> Floats:
            edges = [start, *range((start // FOLD_FRAMES + 1) * FOLD_FRAMES, end, FOLD_FRAMES), end]
            owners = (self.models[at // FOLD_FRAMES % len(self.models)] for at in edges[:-1])
            return np.concatenate([_block(own, one, *pair) for own, pair in zip(owners, pairwise(edges), strict=True)])

        return scores

    def trust(self, recordings: Sequence[LongRecording]) -> dict[str, tuple[int, int]]:
        """In how many half minutes of how many the words of each are preferred to the same ones backwards.

        Any text can be laid over any speech, vowels on vowels; but only a right one teaches what helps elsewhere.
        """
        won, asked = Counter[str](), Counter[str]()
        for fold, model in enumerate(self.models):
            for one in recordings:
                for start, end, words in _stretches(one, fold):
                    heard = model.scores(one.mels[start:end])
                    own, other = (
                        best_way(chain(order, frames=end - start), heard, model.stay_C, model.leave_C).total
                        for order in (words, words[::-1])
                    )
                    asked[one.text.id] += 1
                    won[one.text.id] += own - other > CLEARLY * (end - start)
        return {one.text.id: (won[one.text.id], asked[one.text.id]) for one in recordings}


def crossed(recordings: Sequence[LongRecording], phones: tuple[str, ...], *, device: str, seed: int) -> CrossedNetworks:
    """A network for each fold; of so little sound that a fold is all of it, one that learnt from everything."""
    found = []
    for fold in range(FOLDS):
        learnt = [replace(one, found=_without(one, fold)) for one in recordings]
        taught = any((one.labels > 0).any() for one in learnt)
        found.append(network(learnt if taught else recordings, phones, device=device, seed=seed))
    return CrossedNetworks(tuple(found))


def _stretches(one: LongRecording, fold: int) -> Iterator[tuple[int, int, list[list[int]]]]:
    """First frame, end and words of some half minutes."""
    assert one.found is not None
    owner, before = one.found.owner_F, np.concatenate([[0], np.cumsum([len(word) for word in one.ids])])
    starts = list(range(fold * FOLD_FRAMES, len(owner), FOLDS * FOLD_FRAMES))
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


def _without(one: LongRecording, fold: int) -> FoundFrames:
    assert one.found is not None
    mine = np.arange(len(one.labels)) // FOLD_FRAMES % FOLDS == fold
    return FoundFrames(one.found.owner_F, np.where(mine, -1, one.labels).astype(np.int32))

"""Training of the frame classifier: align, learn from it, align again.

Gaussians find the sounds first, in rounds of seconds; then the network learns from their alignment, and from its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from olu.align.chain import STATES, best_way, chain, classes
from olu.align.frames import FrameModel, build, cepstra
from olu.core.job import Job, Tick

# ---- mixtures of Gaussians over cepstra, one for each class: they find the sounds of a language from a flat start
# A network trained on evenly cut phones learns the even cuts; Gaussians have too few parameters to, so a few quick
# rounds of them come before it. Shapes: N frames of all clips, D dimensions, C classes, K Gaussians of a mixture.


NARROWEST = 0.05  # of the variance of all frames: a class of a few frames must not become a needle
FEWEST = 20  # frames below which a class leans on all frames
SPLIT_APART = 0.5  # standard deviations between the halves of a split Gaussian


@dataclass(frozen=True, slots=True)
class Mixtures:
    """Diagonal Gaussians: `means` and `variances` [C, K, D], log `weights` [C, K]."""

    means: Floats
    variances: Floats
    weights: Floats

    def scores(self, frames_FD: Floats) -> Floats:
        """[F, C] log densities."""
        classes, many, size = self.means.shape
        precise = 1.0 / self.variances
        constant = self.weights - 0.5 * (
            size * np.log(2 * np.pi) + np.log(self.variances).sum(2) + (self.means**2 * precise).sum(2)
        )
        flat = (self.means * precise).reshape(-1, size)
        each = frames_FD @ flat.T - 0.5 * (frames_FD**2) @ precise.reshape(-1, size).T
        each = each.reshape(-1, classes, many) + constant
        if many == 1:
            return np.ascontiguousarray(each[:, :, 0], dtype=np.float32)
        top = each.max(axis=2)
        return np.asarray(top + np.log(np.exp(each - top[:, :, None]).sum(axis=2)), dtype=np.float32)


def fit(frames_ND: Floats, classes_N: Ints, *, classes: int, before: Mixtures | None = None, many: int = 1) -> Mixtures:
    """One round of estimation from hard classes; `before` shares a class's frames among its Gaussians."""
    overall = frames_ND.var(axis=0) + 1e-6
    centre = frames_ND.mean(axis=0)
    order = np.argsort(classes_N, kind="stable")
    edges = np.searchsorted(classes_N[order], np.arange(classes + 1))
    means = np.tile(centre, (classes, many, 1)).astype(np.float32)
    variances = np.tile(overall, (classes, many, 1)).astype(np.float32)
    weights = np.full((classes, many), -np.log(many), dtype=np.float32)
    for which in range(classes):
        mine = frames_ND[order[edges[which] : edges[which + 1]]]
        shares = _shares(mine, which, before, many)
        counts = shares.sum(axis=0)
        lean = FEWEST / (counts + FEWEST)  # towards all frames, when there are few
        sums = shares.T @ mine
        squares = shares.T @ mine**2
        safe = np.maximum(counts, 1e-3)[:, None]
        mean = sums / safe
        spread = np.maximum(squares / safe - mean**2, NARROWEST * overall)
        means[which] = mean * (1 - lean[:, None]) + centre * lean[:, None]
        variances[which] = spread * (1 - lean[:, None]) + overall * lean[:, None]
        weights[which] = np.log((counts + 1.0) / (counts.sum() + many))
    return Mixtures(means, variances, weights)


def split(mixtures: Mixtures) -> Mixtures:
    """Twice as many Gaussians, each pair a little apart."""
    apart = SPLIT_APART * np.sqrt(mixtures.variances)
    return Mixtures(
        np.concatenate([mixtures.means - apart, mixtures.means + apart], axis=1),
        np.concatenate([mixtures.variances, mixtures.variances], axis=1),
        np.concatenate([mixtures.weights, mixtures.weights], axis=1) - np.float32(np.log(2.0)),
    )


def _shares(mine: Floats, which: int, before: Mixtures | None, many: int) -> Floats:
    if many == 1 or before is None or len(mine) == 0:
        return np.full((len(mine), many), 1.0 / many, dtype=np.float32)
    precise = 1.0 / before.variances[which]
    means = before.means[which]
    each = mine @ (means * precise).T - 0.5 * (mine**2) @ precise.T
    each += before.weights[which] + 0.5 * (np.log(precise).sum(1) - (means**2 * precise).sum(1))
    each = np.exp(each - each.max(axis=1, keepdims=True))
    return np.asarray(each / each.sum(axis=1, keepdims=True), dtype=np.float32)


Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

SPLITS = (6, 9)  # rounds of Gaussians at whose start there are twice as many
GAUSS_ROUNDS = 12
ROUNDS = 3
EPOCHS = 3
PIECE, PIECES = 200, 16  # frames of a piece and pieces of a batch
RATE, DECAY = 2e-3, 0.01
RAREST = 10.0  # frames that every class is taken to have had, so that a rare one's prior is no wonder


@dataclass(frozen=True, slots=True)
class TrainingClip:
    """A clip as training sees it: mels [F, M], the phone numbers of each word, first guesses of each frame's class."""

    mels: Floats
    words: tuple[tuple[int, ...], ...]
    guesses: tuple[Ints, ...]


def flat(words: Sequence[Sequence[int]], sound_F: NDArray[np.bool_]) -> Ints:
    """[F] the phones' states spread evenly over what is sound."""
    states = np.array([1 + STATES * phone + part for word in words for phone in word for part in range(STATES)])
    places = np.flatnonzero(sound_F)
    found = np.zeros(len(sound_F), dtype=np.int32)
    if len(states) and len(places):
        found[places] = states[np.arange(len(places)) * len(states) // len(places)]
    return found


def estimate(
    clips: Sequence[TrainingClip],
    phones: tuple[str, ...],
    *,
    gauss_rounds: int = GAUSS_ROUNDS,
    rounds: int = ROUNDS,
    device: str = "cpu",
    seed: int = 0,
) -> Job[FrameModel]:
    """A frame model of these clips. The same clips and seed give the same model on a CPU.

    Of several first guesses the one counts whose Gaussians explain the sound best in the end: a recogniser that has
    learnt too little makes a worse start than an even one.
    """
    many = classes(len(phones))
    starts = len(clips[0].guesses) if gauss_rounds else 1
    total = starts * gauss_rounds + rounds
    guess, best = [clip.guesses[0] for clip in clips], -np.inf
    hear = [cepstra(clip.mels) for clip in clips] if gauss_rounds else []
    for start in range(starts if gauss_rounds else 0):
        own = [clip.guesses[start] for clip in clips]
        mixtures: Mixtures | None = None
        score = -np.inf
        for number in range(gauss_rounds):
            yield Tick(start * gauss_rounds + number, total, "finding the sounds")
            mixtures = _round(hear, own, mixtures, number, many)
            own, score = _realign(clips, own, many, _dense(mixtures, hear))
        if score > best:
            guess, best = own, score
    spread = np.concatenate([clip.mels for clip in clips]).std(axis=0) + np.float32(1e-3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = build(many).to(device)
    random = np.random.default_rng(seed)
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    model = model_of(phones, network, spread, guess, many)
    for number in range(rounds):
        yield Tick(total - rounds + number, total, "sharpening the boundaries")
        learn_pieces(network, optimiser, clips, guess, spread, random, device)
        model = model_of(phones, network, spread, guess, many)
        guess, _ = _realign(clips, guess, many, _scaled(model, clips))
    yield Tick(total, total, "sharpening the boundaries")
    return model


def _round(hear: Sequence[Floats], guess: Sequence[Ints], before: Mixtures | None, number: int, many: int) -> Mixtures:
    if before is not None and number in SPLITS:
        before = split(before)
    each = 1 if before is None else before.means.shape[1]
    return fit(np.concatenate(hear), np.concatenate(guess), classes=many, before=before, many=each)


def _dense(mixtures: Mixtures, hear: Sequence[Floats]) -> Callable[[int], Floats]:
    return lambda clip: mixtures.scores(hear[clip])


def _scaled(model: FrameModel, clips: Sequence[TrainingClip]) -> Callable[[int], Floats]:
    return lambda clip: model.scores(clips[clip].mels)


def _realign(
    clips: Sequence[TrainingClip], guess: list[Ints], many: int, scores: Callable[[int], Floats]
) -> tuple[list[Ints], float]:
    """The classes of the best ways through all clips, and their summed score."""
    stay, leave = passing(guess, many)
    found, total = [], 0.0
    for number, clip in enumerate(clips):
        states = chain(clip.words, frames=len(clip.mels))
        way = best_way(states, scores(number), stay, leave)
        found.append(states.emits[way.states_F])
        total += way.total
    return found, total


def passing(guess: Sequence[Ints], many: int) -> tuple[Floats, Floats]:
    """[C] log chances of staying in a class for another frame and of leaving it."""
    frames = np.bincount(np.concatenate(guess), minlength=many) + 2.0
    entered = np.concatenate([own[np.flatnonzero(np.diff(own, prepend=-1))] for own in guess])
    leaving = np.clip((np.bincount(entered, minlength=many) + 1.0) / frames, 0.02, 0.9)
    return np.log(1.0 - leaving).astype(np.float32), np.log(leaving).astype(np.float32)


def steady(many: int, frames: float) -> tuple[Floats, Floats]:
    """[C] log chances as those of `passing`, where of a phone nothing is known but its mean length in frames."""
    leaving = np.full(many, STATES / np.clip(frames, 4.0, 20.0), dtype=np.float32)
    leaving[0] = 0.05
    return np.log(1.0 - leaving), np.log(leaving)


def model_of(phones: tuple[str, ...], network: nn.Module, spread: Floats, guess: list[Ints], many: int) -> FrameModel:
    counts = np.bincount(np.concatenate(guess), minlength=many) + RAREST
    stay, leave = passing(guess, many)
    priors = np.log(counts / counts.sum()).astype(np.float32)
    return FrameModel(
        phones=phones, network=network.eval(), spread_M=spread, priors_C=priors, stay_C=stay, leave_C=leave
    )


def learn_pieces(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    clips: Sequence[TrainingClip],
    guess: Sequence[Ints],
    spread: Floats,
    random: np.random.Generator,
    device: str,
) -> None:
    """A few passes over all frames, in pieces; the rate falls to nothing within the round."""
    mels, answers = _pieces(clips, guess, spread, random)
    heard, wanted = torch.from_numpy(mels).to(device), torch.from_numpy(answers).to(device)
    batches = -(-len(heard) // PIECES)
    network.train()
    for epoch in range(EPOCHS):
        order = torch.from_numpy(random.permutation(len(heard))).to(device)
        for batch in range(batches):
            rate = RATE * max(0.02, 1.0 - (epoch * batches + batch) / (EPOCHS * batches))
            for group in optimiser.param_groups:
                group["lr"] = rate
            chosen = order[batch * PIECES : (batch + 1) * PIECES]
            said = network(heard[chosen].transpose(1, 2))
            loss = nn.functional.cross_entropy(said, wanted[chosen], ignore_index=-1)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    network.eval()


def _pieces(
    clips: Sequence[TrainingClip], guess: Sequence[Ints], spread: Floats, random: np.random.Generator
) -> tuple[Floats, NDArray[np.int64]]:
    """[pieces, PIECE, M] and [pieces, PIECE]; every clip is cut from another place on in every round."""
    mels, answers = [], []
    for clip, own in zip(clips, guess, strict=True):
        shift = int(random.integers(0, PIECE))
        size = -(-(len(own) + shift) // PIECE) * PIECE
        padded = np.zeros((size, clip.mels.shape[1]), dtype=np.float32)
        padded[shift : shift + len(own)] = clip.mels / spread
        wanted = np.full(size, -1, dtype=np.int64)
        wanted[shift : shift + len(own)] = own
        mels.append(padded.reshape(-1, PIECE, padded.shape[1]))
        answers.append(wanted.reshape(-1, PIECE))
    return np.concatenate(mels), np.concatenate(answers)

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

from olu.align import gauss
from olu.align.chain import STATES, best_way, chain, classes
from olu.align.frames import FrameModel, build
from olu.align.sound import cepstra
from olu.core.types import Tick, Work

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
) -> Work[FrameModel]:
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
        mixtures: gauss.Mixtures | None = None
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
    model = _model(phones, network, spread, guess, many)
    for number in range(rounds):
        yield Tick(total - rounds + number, total, "sharpening the boundaries")
        _learn(network, optimiser, clips, guess, spread, random, device)
        model = _model(phones, network, spread, guess, many)
        guess, _ = _realign(clips, guess, many, _scaled(model, clips))
    yield Tick(total, total, "sharpening the boundaries")
    return model


def _round(
    hear: Sequence[Floats], guess: Sequence[Ints], before: gauss.Mixtures | None, number: int, many: int
) -> gauss.Mixtures:
    if before is not None and number in SPLITS:
        before = gauss.split(before)
    each = 1 if before is None else before.means.shape[1]
    return gauss.fit(np.concatenate(hear), np.concatenate(guess), classes=many, before=before, many=each)


def _dense(mixtures: gauss.Mixtures, hear: Sequence[Floats]) -> Callable[[int], Floats]:
    return lambda clip: mixtures.scores(hear[clip])


def _scaled(model: FrameModel, clips: Sequence[TrainingClip]) -> Callable[[int], Floats]:
    return lambda clip: model.scores(clips[clip].mels)


def _realign(
    clips: Sequence[TrainingClip], guess: list[Ints], many: int, scores: Callable[[int], Floats]
) -> tuple[list[Ints], float]:
    """The classes of the best ways through all clips, and their summed score."""
    stay, leave = _passing(guess, many)
    found, total = [], 0.0
    for number, clip in enumerate(clips):
        states = chain(clip.words, frames=len(clip.mels))
        way = best_way(states, scores(number), stay, leave)
        found.append(states.emits[way.states_F])
        total += way.total
    return found, total


def _passing(guess: Sequence[Ints], many: int) -> tuple[Floats, Floats]:
    """[C] log chances of staying in a class for another frame and of leaving it."""
    frames = np.bincount(np.concatenate(guess), minlength=many) + 2.0
    entered = np.concatenate([own[np.flatnonzero(np.diff(own, prepend=-1))] for own in guess])
    leaving = np.clip((np.bincount(entered, minlength=many) + 1.0) / frames, 0.02, 0.9)
    return np.log(1.0 - leaving).astype(np.float32), np.log(leaving).astype(np.float32)


def _model(phones: tuple[str, ...], network: nn.Module, spread: Floats, guess: list[Ints], many: int) -> FrameModel:
    counts = np.bincount(np.concatenate(guess), minlength=many) + RAREST
    stay, leave = _passing(guess, many)
    priors = np.log(counts / counts.sum()).astype(np.float32)
    return FrameModel(
        phones=phones, network=network.eval(), spread_M=spread, priors_C=priors, stay_C=stay, leave_C=leave
    )


def _learn(
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

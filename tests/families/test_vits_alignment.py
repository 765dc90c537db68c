"""The alignment picture of a VITS sample."""

from __future__ import annotations

import numpy as np
import torch

from olu.core.config import check
from olu.families import family
from olu.train.family import Example


def test_a_sample_comes_with_its_alignment_and_sounds_as_without() -> None:
    chosen = family("vits")
    torch.manual_seed(0)
    learner = chosen.learner(check(chosen.config, {"size": "tiny"}, where="test"), vocab_size=9, num_speakers=1)
    learner.eval().requires_grad_(False)
    random = np.random.default_rng(0)
    examples = [
        Example(id=f"c{n}", ids=(1, 2, 3, 4, 5)[: 3 + n], samples=_noise(random, 9000 + 3000 * n), speaker=0)
        for n in range(2)
    ]
    batch = learner.collate(examples)
    torch.manual_seed(3)
    shown = list(learner.demo(batch))
    for number, exhibit in enumerate(shown):
        path = exhibit.pictures["alignment"]
        assert path.shape == (3 + number, int(batch.frames_B[number]))
        assert (path.sum(axis=0) == 1).all() and (path.sum(axis=1) >= 1).all()
        assert (np.diff(path.argmax(axis=0)) >= 0).all()
    torch.manual_seed(3)
    plain = [learner.speak(batch.ids_BT[n : n + 1, : 3 + n], batch.speaker_B[n : n + 1]) for n in range(2)]
    for exhibit, samples in zip(shown, plain, strict=True):
        np.testing.assert_array_equal(exhibit.audio.samples, samples)


def _noise(random: np.random.Generator, size: int) -> np.ndarray:
    return (random.normal(size=size) * 3000).astype(np.int16)

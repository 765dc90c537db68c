"""The pieces of the frame model: what it hears, the chain of states, the search, the Gaussians."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from olu.align import estimate as gauss
from olu.align.chain import SHORTEST_SILENCE, SILENCE, SILENCE_COST, Chain, StatePath, best_way, chain, classes
from olu.align.estimate import flat
from olu.align.frames import BINS, CEPSTRA, HOP, RATE, cepstra, edges, firsts, log_mels, thirds
from olu.core.types import Audio


@pytest.mark.parametrize("samples", [1, HOP - 1, HOP, HOP + 1, 10 * HOP, 10 * HOP + 80])
def test_a_frame_for_each_begun_10_ms(samples: int) -> None:
    wave = np.random.default_rng(0).standard_normal(samples).astype(np.float32)
    mels = log_mels(Audio(wave, RATE))
    assert mels.shape == (-(-samples // HOP), BINS) and np.isfinite(mels).all()
    assert cepstra(mels).shape == (len(mels), 3 * CEPSTRA)


def test_sound_that_starts_at_a_boundary_is_heard_from_there_on() -> None:
    """The level rises half way at the frame boundary where the noise begins: no frame is early or late."""
    wave = 1e-4 * np.random.default_rng(0).standard_normal(RATE).astype(np.float32)
    wave[50 * HOP :] += 0.3 * np.random.default_rng(1).standard_normal(RATE - 50 * HOP).astype(np.float32)
    level = np.exp(log_mels(Audio(wave, RATE))).mean(1)
    assert level[49] < 0.5 * level[60:90].mean() < level[51]
    assert level[48] < 0.05 * level[60:90].mean()


def test_the_rate_of_the_recording_changes_no_frame_count() -> None:
    for rate in (8000, 22050, 44100):
        wave = np.random.default_rng(0).standard_normal(rate).astype(np.float32)
        assert len(log_mels(Audio(wave, rate))) == 100


def allowed(states: Chain, path: tuple[int, ...]) -> bool:
    if path[0] not in states.first or path[-1] not in states.last:
        return False
    return all(b in (a, a + 1) or states.skips[b] == a for a, b in pairwise(path))


def worth(states: Chain, path: tuple[int, ...], scores: np.ndarray, stay: np.ndarray, leave: np.ndarray) -> float:
    total = float(scores[0, states.emits[path[0]]])
    for f, (a, b) in enumerate(pairwise(path), 1):
        passing = stay[states.emits[a]] if a == b else leave[states.emits[a]]
        cost = states.costs[b] if b == a + 1 else 0.0
        total += float(passing) - float(cost) + float(scores[f, states.emits[b]])
    return total


@pytest.mark.parametrize("seed", range(8))
def test_the_search_finds_the_best_of_all_ways(seed: int) -> None:
    random = np.random.default_rng(seed)
    words = [[0], [1]] if seed % 2 else [[0]]
    frames = 5
    states = chain(words, frames=frames)
    many = classes(2)
    scores = random.normal(size=(frames, many)).astype(np.float32) * 3
    stay, leave = np.log(random.uniform(0.2, 0.8, (2, many))).astype(np.float32)
    ways = product(range(len(states.emits)), repeat=frames)
    best = max(worth(states, path, scores, stay, leave) for path in ways if allowed(states, path))
    found = best_way(states, scores, stay, leave)
    path = tuple(found.states_F.tolist())
    assert allowed(states, path)
    assert found.total == pytest.approx(best, abs=1e-4)
    assert worth(states, path, scores, stay, leave) == pytest.approx(best, abs=1e-4)


def test_the_chain_has_silence_between_words_only() -> None:
    states = chain([[4, 5], [6]], frames=100)
    names = states.emits.tolist()
    quiet = [SILENCE] * SHORTEST_SILENCE
    assert names == [*quiet, 13, 14, 15, 16, 17, 18, *quiet, 19, 20, 21, *quiet]
    assert [(at, int(skip)) for at, skip in enumerate(states.skips) if skip >= 0] == [(12, 8)]
    assert states.costs[SHORTEST_SILENCE + 6] == SILENCE_COST
    assert chain([[4, 5], [6]], frames=9).emits.tolist() == [*quiet, 13, 15, 16, 18, *quiet, 19, 21, *quiet]
    assert chain([[4, 5], [6]], frames=5).emits.tolist() == [*quiet, 14, 17, *quiet, 20, *quiet]


def test_boundaries_are_those_of_frames_but_beside_silence() -> None:
    """A frame hears 7.5 ms beyond its own on either side, and loud drowns quiet: silence reaches that much farther."""
    states = chain([[0, 1]], frames=100)
    begin = SHORTEST_SILENCE
    path = np.array([0, *(begin + part for part in range(6)), begin + 5, begin + 6], dtype=np.int32)
    way = StatePath(path, 0.0)
    assert [(int(a), int(b)) for a, b in zip(*firsts(states, way), strict=True)] == [(1, 4), (4, 8)]
    (first, left), (right, last) = edges(states, way)
    assert left == right == pytest.approx(0.04)
    assert (first, last) == (pytest.approx(0.0175), pytest.approx(0.0725))


def test_an_even_start_fills_the_sound_and_only_it() -> None:
    sound = np.array([False] * 3 + [True] * 12 + [False] * 2)
    found = flat([[0], [1]], sound)
    assert found.tolist() == [0] * 3 + [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6] + [0] * 2
    assert flat([[0]], np.zeros(4, dtype=bool)).tolist() == [0] * 4
    assert thirds([(0.02, 0.05), (0.05, 0.06)], [0, 1], 8).tolist() == [0, 0, 1, 2, 3, 4, 0, 0]


def test_gaussians_find_what_made_the_frames() -> None:
    random = np.random.default_rng(0)
    truth = np.array([[-3.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    which = random.integers(0, 3, 3000).astype(np.int32)
    frames = (truth[which] + random.normal(size=(3000, 2))).astype(np.float32)
    model = gauss.fit(frames, which, classes=4)
    assert np.abs(model.means[:3, 0] - truth).max() < 0.15
    assert (model.scores(frames).argmax(1) == which).mean() > 0.95
    assert np.isfinite(model.scores(frames)).all(), "the class without a frame too"
    density = -0.5 * (
        ((frames - model.means[0, 0]) ** 2 / model.variances[0, 0]) + np.log(2 * np.pi * model.variances[0, 0])
    ).sum(1)
    assert np.allclose(model.scores(frames)[:, 0], density, atol=1e-3)


def test_more_gaussians_explain_two_humps_better() -> None:
    random = np.random.default_rng(0)
    frames = (random.choice([-4.0, 4.0], (2000, 1)) + random.normal(size=(2000, 1))).astype(np.float32)
    which = np.zeros(2000, dtype=np.int32)
    one = gauss.fit(frames, which, classes=1)
    two = gauss.split(one)
    for _ in range(12):
        two = gauss.fit(frames, which, classes=1, before=two, many=2)
    assert sorted(np.round(two.means[0, :, 0])) == [-4.0, 4.0]
    assert two.scores(frames).mean() > one.scores(frames).mean() + 0.5

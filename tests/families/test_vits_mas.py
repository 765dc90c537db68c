"""The alignment search against a plain reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from olu.nn.kernels.mas import best_path


def reference(score: NDArray[np.float32]) -> NDArray[np.float32]:
    """Every cell's best sum over all monotonic paths, then back from the last token, staying on a tie: [F, T]."""
    frames, tokens = score.shape
    best: dict[tuple[int, int], np.float32] = {}
    for y in range(frames):
        for x in range(tokens):
            ways = [best[y - 1, from_] for from_ in (x, x - 1) if (y - 1, from_) in best]
            if (y, x) == (0, 0):
                best[y, x] = score[y, x]
            elif ways:
                best[y, x] = score[y, x] + max(ways)
    path = np.zeros_like(score)
    x = tokens - 1
    for y in range(frames - 1, -1, -1):
        path[y, x] = 1
        if y == 0:
            break
        stay, advance = best.get((y - 1, x)), best.get((y - 1, x - 1))
        if stay is None or (advance is not None and stay < advance):
            x -= 1
    return path


def case(seed: int) -> tuple[torch.Tensor, list[int], list[int]]:
    """A batch of uneven lengths; every third is whole numbers, so that sums tie; padding is tempting."""
    rng = np.random.default_rng(seed)
    tokens = [int(rng.integers(1, 9)) for _ in range(2)]
    frames = [t + int(rng.integers(0, 12)) * int(rng.integers(0, 2)) for t in tokens]
    shape = (2, max(frames) + int(rng.integers(0, 3)), max(tokens) + int(rng.integers(0, 3)))
    scores = np.full(shape, 1e6, np.float32)
    for b in range(2):
        inside = (
            rng.normal(-50, 20, (frames[b], tokens[b])) if seed % 3 else rng.integers(-2, 2, (frames[b], tokens[b]))
        )
        scores[b, : frames[b], : tokens[b]] = inside
    return torch.from_numpy(scores), frames, tokens


def test_paths_equal_the_reference() -> None:
    square = single = 0
    for seed in range(100):
        scores, frames, tokens = case(seed)
        paths = best_path(scores, torch.tensor(frames), torch.tensor(tokens)).numpy()
        for b, (f, t) in enumerate(zip(frames, tokens, strict=True)):
            square, single = square + (f == t), single + (t == 1)
            np.testing.assert_array_equal(paths[b, :f, :t], reference(scores[b, :f, :t].numpy()), f"seed {seed}")
            assert paths[b].sum() == f
    assert square > 20
    assert single > 10


def test_paths_are_monotonic_and_leave_no_token_out() -> None:
    for seed in range(100):
        scores, frames, tokens = case(seed)
        paths = best_path(scores, torch.tensor(frames), torch.tensor(tokens))
        for b, (f, t) in enumerate(zip(frames, tokens, strict=True)):
            assert set(paths[b].unique().tolist()) <= {0.0, 1.0}
            assert (paths[b, :f].sum(1) == 1).all()
            assert (paths[b, :, :t].sum(0) >= 1).all()
            at = paths[b, :f].argmax(1)
            assert at[0] == 0
            assert at[-1] == t - 1
            assert set(at.diff().tolist()) <= {0, 1}
            assert paths[b, f:].sum() == 0
            assert paths[b, :, t:].sum() == 0


def test_the_best_path_is_the_best_of_all() -> None:
    """Against every way to cut 7 frames into 3 tokens."""
    scores = np.random.default_rng(5).normal(size=(7, 3)).astype(np.float32)
    totals = {
        (a, b): scores[:a, 0].sum() + scores[a:b, 1].sum() + scores[b:, 2].sum()
        for a in range(1, 6)
        for b in range(a + 1, 7)
    }
    a, b = max(totals, key=totals.__getitem__)
    path = best_path(torch.from_numpy(scores)[None], torch.tensor([7]), torch.tensor([3]))[0]
    assert path.sum(0).tolist() == [a, b - a, 7 - b]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_the_path_has_the_score_type_and_no_gradient(dtype: torch.dtype) -> None:
    scores = torch.randn(1, 6, 3, dtype=dtype, requires_grad=True)
    path = best_path(scores, torch.tensor([6]), torch.tensor([3]))
    assert path.dtype == dtype
    assert not path.requires_grad


def test_the_scores_are_left_alone() -> None:
    scores = torch.randn(2, 9, 4)
    before = scores.clone()
    best_path(scores, torch.tensor([9, 7]), torch.tensor([4, 2]))
    assert torch.equal(scores, before)

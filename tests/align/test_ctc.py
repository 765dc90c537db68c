"""Forced alignment by CTC against every path there is."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from olu.align.ctc import STAR_COST, CtcSearch, force, match_score
from olu.core.errors import AlignError


def heard(seed: int, frames: int, symbols: int) -> NDArray[np.float32]:
    raw = np.random.default_rng(seed).normal(size=(frames, symbols)) * 2
    return (raw - np.log(np.exp(raw).sum(1, keepdims=True))).astype(np.float32)


def collapsed(path: tuple[int, ...]) -> list[int]:
    kept = [path[0], *(b for a, b in pairwise(path) if a != b)]
    return [one for one in kept if one]


def brute(log_probs: NDArray[np.float32], ids: list[int]) -> float:
    """The best of all sequences of symbols that CTC reads as `ids`."""
    frames, symbols = log_probs.shape
    ways = (path for path in product(range(symbols), repeat=frames) if collapsed(path) == ids)
    return max(sum(float(log_probs[f, s]) for f, s in enumerate(path)) for path in ways)


def read_back(path: object, ids: list[int], log_probs: NDArray[np.float32]) -> float:
    """The score of a path from its own spans, once they are seen to be in order."""
    at = np.zeros(len(log_probs), dtype=int)
    before = 0
    for first, last, id in zip(path.first, path.last, ids, strict=True):  # type: ignore[attr-defined]
        assert before <= first < last <= len(log_probs)
        at[first:last] = id
        before = last
    assert collapsed(tuple(at.tolist())) == ids
    return float(log_probs[np.arange(len(at)), at].sum(dtype=np.float64))


@pytest.mark.parametrize("seed", range(60))
def test_equals_the_best_of_all_paths(seed: int) -> None:
    random = np.random.default_rng(seed)
    frames, symbols = int(random.integers(1, 7)), int(random.integers(2, 5))
    ids = random.integers(1, symbols, size=random.integers(0, 4)).tolist()
    log_probs = heard(seed, frames, symbols)
    least = len(ids) + sum(a == b for a, b in pairwise(ids))
    if frames < least:
        with pytest.raises(AlignError, match="the text is longer than the recording"):
            force(log_probs, ids)
        return
    path = force(log_probs, ids)
    assert path.total == pytest.approx(brute(log_probs, ids), abs=1e-5)
    assert path.total == pytest.approx(read_back(path, ids, log_probs), abs=1e-5)
    for first, last, score, id in zip(path.first, path.last, path.scores, ids, strict=True):
        assert score == pytest.approx(float(log_probs[first:last, id].mean()), abs=1e-5)


@pytest.mark.parametrize("seed", range(30))
def test_pieces_and_kept_scores_change_nothing(seed: int) -> None:
    """However the frames come, and however seldom scores are kept, the path is the one of a plain search."""
    random = np.random.default_rng(seed)
    tokens = int(random.integers(1, 40))
    ids = random.integers(1, 6, size=tokens).tolist()
    frames = 2 * tokens + int(random.integers(0, 200))
    log_probs = heard(seed, frames, 6)
    stars = sorted(set(random.integers(0, tokens + 1, size=3).tolist())) if seed % 2 else []
    expected = plain(log_probs, ids, stars)
    for every in (1, 3, 7, 1000):
        search = CtcSearch(ids, stars=stars, every=every)
        at = 0
        while at < frames:
            size = int(random.integers(1, 30))
            search.hear(log_probs[at : at + size])
            at += size
        path = search.finish()
        assert (path.first, path.last) == expected
        assert path == force(log_probs, ids, stars=stars)


def plain(log_probs: NDArray[np.float32], ids: list[int], stars: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Viterbi with every score kept, staying on a tie."""
    star = np.maximum(log_probs[:, 0], log_probs.max(1) - np.float32(STAR_COST))
    states = 2 * len(ids) + 1
    score = np.full((len(log_probs), states), -1e30)
    back = np.zeros(score.shape, dtype=int)

    def emit(f: int, s: int) -> np.float32:
        if s % 2:
            return log_probs[f, ids[s // 2]]
        return star[f] if s // 2 in stars else log_probs[f, 0]

    for f in range(len(log_probs)):
        for s in range(states):
            if f == 0:
                score[f, s] = emit(f, s) if s < 2 else -1e30
                continue
            ways = [score[f - 1, s]]
            ways += [score[f - 1, s - 1]] if s else []
            ways += [score[f - 1, s - 2]] if s > 2 and s % 2 and ids[s // 2] != ids[s // 2 - 1] else []
            back[f, s] = int(np.argmax(ways))
            score[f, s] = max(ways) + emit(f, s)
    s = states - 1 if score[-1, -1] > score[-1, -2] else states - 2
    first, last = [0] * len(ids), [0] * len(ids)
    for f in range(len(log_probs) - 1, -1, -1):
        if s % 2:
            first[s // 2] = f
            last[s // 2] = last[s // 2] or f + 1
        s -= back[f, s]
    return tuple(first), tuple(last)


def said(ids: list[int], *, each: int = 3, symbols: int = 8, sure: float = 0.95) -> NDArray[np.float32]:
    """What a sure network hears of these symbols: one peak each, blank after it; 0 is a blank peak."""
    probs = np.full((each * len(ids), symbols), (1 - sure) / (symbols - 1), dtype=np.float32)
    probs[:, 0] = sure
    for place, id in enumerate(ids):
        probs[each * place] = (1 - sure) / (symbols - 1)
        probs[each * place, id] = sure
    return np.log(probs)


def test_the_match_score_is_nothing_for_the_right_text_and_low_for_another() -> None:
    spoken = [1, 2, 3, 3, 4, 5]
    assert match_score(said(spoken), spoken) == pytest.approx(0.0, abs=1e-6)
    assert match_score(said(spoken), [5, 4, 3, 2, 1, 1]) < -1.0


def test_a_star_leaves_untranscribed_speech_alone() -> None:
    """Twenty symbols nobody wrote down lie between two words; the second word sounds alike to a part of them."""
    middle = [6, 7, 3, 6, 7, 6, 4, 7, 6, 7, 6, 7, 6, 7, 3, 6, 7, 6, 7, 6]
    log_probs = said([1, 2, *middle, 3, 4, 5])
    plain, open = force(log_probs, [1, 2, 3, 4, 5]), force(log_probs, [1, 2, 3, 4, 5], stars=[0, 2, 5])
    assert open.first == (0, 3, 66, 69, 72)
    assert open.total > plain.total
    noise = said([6, 7] * 10)
    around = force(np.concatenate([noise, said([1, 2]), noise]), [1, 2], stars=[0, 2])
    assert around.first == (60, 63)


def test_a_symbol_the_network_lacks_is_an_error() -> None:
    for ids in ([9], [0], [-1]):
        with pytest.raises(AlignError, match=f"symbol {ids[0]} is none of the 5"):
            force(heard(0, 10, 6), ids)


def test_nothing_heard_is_an_error() -> None:
    with pytest.raises(AlignError, match="the recording has 0"):
        force(np.zeros((0, 5), dtype=np.float32), [1])

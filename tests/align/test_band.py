from __future__ import annotations

import numpy as np
import pytest

from olu.align import band as bands
from olu.align.band import FILLER, ChainCosts, band, best_band, long_chain, near
from olu.align.chain import STATES, classes
from olu.core.errors import AlignError

COSTS = ChainCosts(silence=1.0, filler=5.0, sentence=3.0, skip=2.0)
PHONES = 3


def chances(rng):
    leaving = rng.uniform(0.1, 0.6, classes(PHONES) + 1)
    return np.log(1 - leaving).astype(np.float32), np.log(leaving).astype(np.float32)


def slow_best(chain, scores, stay, leave):
    """The same search written out as a recursion over all states, without a band or kept scores."""
    now = scores[0, chain.emits].astype(np.float64) - chain.first
    for s in range(chain.size):  # words passed over in the first frame
        if chain.leaps[s] >= 0:
            now[s] = max(now[s], now[chain.leaps[s]] - chain.leap_costs[s])
    for row in scores[1:]:
        new = np.empty(chain.size)
        for s in range(chain.size):
            tries = [now[s] + stay[chain.emits[s]]]
            for k, other in enumerate(chain.links[s]):
                if other >= 0:
                    tries.append(now[other] + leave[chain.emits[other]] - chain.costs[s, k])
            new[s] = max(tries) + row[chain.emits[s]]
            if chain.leaps[s] >= 0:
                new[s] = max(new[s], new[chain.leaps[s]] - chain.leap_costs[s])
        now = new
    return (now - chain.last).max()


@pytest.mark.parametrize("seed", range(8))
def test_the_banded_search_finds_what_a_full_one_finds(seed, monkeypatch):
    monkeypatch.setattr(bands, "MOST_BACK", 64)  # stretches of 64 frames
    rng = np.random.default_rng(seed)
    words = [rng.integers(0, PHONES, rng.integers(1, 4)).tolist() for _ in range(int(rng.integers(1, 7)))]
    chain = long_chain(words, classes=classes(PHONES), sentences=frozenset({2}), costs=COSTS)
    frames = 4 * chain.size
    scores = (3 * rng.standard_normal((frames, classes(PHONES) + 1))).astype(np.float32)
    stay, leave = chances(rng)
    limits = band(np.linspace(0, chain.size, frames), chain.size, chain.size)
    states, total = best_band(chain, lambda start, end: scores[start:end], stay, leave, limits)
    assert total == pytest.approx(slow_best(chain, scores, stay, leave), abs=0.05)
    assert (np.diff(chain.word[states]) >= 0).all()
    assert (np.diff(states) >= 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_search_near_a_place_keeps_the_way_elsewhere_and_finds_the_best_one_there(seed):
    rng = np.random.default_rng(seed)
    words = [rng.integers(0, PHONES, rng.integers(1, 4)).tolist() for _ in range(6)]
    chain = long_chain(words, classes=classes(PHONES), costs=COSTS)
    frames = 4 * chain.size
    scores = (3 * rng.standard_normal((frames, classes(PHONES) + 1))).astype(np.float32)
    stay, leave = chances(rng)
    whole = band(np.linspace(0, chain.size, frames), chain.size, chain.size)
    states, total = best_band(chain, lambda start, end: scores[start:end], stay, leave, whole)
    where = np.zeros(frames, dtype=np.bool_)
    again = best_band(chain, lambda start, end: scores[start:end], stay, leave, near(states, where, whole, reach=5))
    assert (again[0] == states).all() and again[1] == pytest.approx(total, abs=0.05)
    middle = frames // 2
    where[middle] = True
    changed = scores.copy()
    changed[middle - 3 : middle + 3] = changed[middle - 3 : middle + 3, ::-1]
    found, best = best_band(
        chain, lambda start, end: changed[start:end], stay, leave, near(states, where, whole, reach=20)
    )
    assert (found[: middle - 20] == states[: middle - 20]).all() and (
        found[middle + 21 :] == states[middle + 21 :]
    ).all()
    assert best >= _along(chain, changed, stay, leave, states) - 0.05


def _along(chain, scores, stay, leave, states):
    limits = near(states, np.zeros(len(states), dtype=np.bool_), (states, states + 1), reach=0)
    return best_band(chain, lambda start, end: scores[start:end], stay, leave, limits)[1]


def spoken(words, *, frames_each=4):
    """Classes of frames that say these words, state by state."""
    phones = [phone for word in words for phone in word]
    return [1 + STATES * phone + part for phone in phones for part in range(STATES) for _ in range(frames_each)]


def sharp(said, *, filler=-3.0):
    """Scores [frames, classes + 1] that are 0 for what is said and -8 for all else; -1 is foreign sound."""
    scores = np.full((len(said), classes(PHONES) + 1), -8.0, dtype=np.float32)
    for at, one in enumerate(said):
        if one >= 0:
            scores[at, one] = 0.0
    scores[:, -1] = filler
    return scores


def found(words, said):
    chain = long_chain(words, classes=classes(PHONES), costs=ChainCosts())
    scores = sharp(said)
    even = np.full(classes(PHONES) + 1, np.log(0.5), dtype=np.float32)
    limits = band(np.linspace(0, chain.size, len(said)), chain.size, chain.size)
    states, _ = best_band(chain, lambda start, end: scores[start:end], even, even, limits)
    return chain.owner[states], chain.word[states]


WORDS = [[0, 1], [2, 0, 1], [1, 2], [0, 2, 2]]


def test_foreign_sound_between_words_is_nobodys():
    said = [*spoken(WORDS[:2]), *[-1] * 60, *spoken(WORDS[2:])]
    owner, _ = found(WORDS, said)
    first = len(spoken(WORDS[:2]))
    assert (owner[first : first + 60] == FILLER).all()
    assert (np.delete(owner, np.s_[first : first + 60]) >= 0).all()


def test_words_that_are_not_said_have_no_frames():
    words = [*WORDS, *[[1, 0, 1, 0]] * 3, *WORDS]
    owner, word = found(words, [*spoken(WORDS), -1, -1, *spoken(WORDS)])
    assert sorted(set(word[owner >= 0].tolist())) == [0, 1, 2, 3, 7, 8, 9, 10]


def test_a_leap_over_many_words_lies_within_a_narrow_band():
    words = [*WORDS, *[[1, 0, 1, 0]] * 30, *WORDS]
    said = [*spoken(WORDS), *[-1] * 6, *spoken(WORDS)]
    chain = long_chain(words, classes=classes(PHONES), costs=ChainCosts())
    middle = len(spoken(WORDS)) + 3
    centre = np.where(np.arange(len(said)) < middle, 20.0, chain.size - 20.0)
    even = np.full(classes(PHONES) + 1, np.log(0.5), dtype=np.float32)
    scores = sharp(said)
    with pytest.raises(AlignError):
        best_band(chain, lambda start, end: scores[start:end], even, even, band(centre, 60, chain.size))
    limits = band(centre, 60, chain.size, reach=10)
    states, _ = best_band(chain, lambda start, end: scores[start:end], even, even, limits)
    assert sorted(set(chain.word[states][chain.owner[states] >= 0].tolist())) == [0, 1, 2, 3, 34, 35, 36, 37]


@pytest.mark.parametrize("phones", [1, 2, 9])
@pytest.mark.parametrize("coarse", [True, False])
def test_a_text_of_one_word_is_found_within_its_own_states(phones, coarse):
    """Its chain has fewer states than the margin at both ends of a band."""
    word = [at % PHONES for at in range(phones)]
    how = {"parts": (1,), "quiet_states": 1} if coarse else {}
    chain = long_chain([word], classes=classes(PHONES), costs=ChainCosts(), **how)
    parts = 1 if coarse else STATES
    said = [
        0,
        0,
        0,
        *(2 + STATES * one if coarse else 1 + STATES * one + part for one in word for part in range(parts)),
    ]
    said = [one for one in said for _ in range(4)] + [0] * 12
    even = np.full(classes(PHONES) + 1, np.log(0.5), dtype=np.float32)
    limits = band(np.linspace(0, chain.size, len(said)), chain.size, chain.size)
    assert limits[0].min() >= 0 and limits[1].max() <= chain.size
    scores = sharp(said)
    states, _ = best_band(chain, lambda start, end: scores[start:end], even, even, limits)
    assert np.unique(chain.owner[states]).tolist() == [-1, *range(phones)]


def test_a_text_without_room_is_one_sentence():
    chain = long_chain(WORDS * 20, classes=classes(PHONES), costs=COSTS)
    even = np.full(classes(PHONES) + 1, np.log(0.5), dtype=np.float32)
    limits = (np.zeros(10, dtype=np.int32), np.full(10, chain.size, dtype=np.int32))
    limits[1][:] = 5
    limits[1][-1] = chain.size
    limits[0][-1] = chain.size - 3
    with pytest.raises(AlignError, match="much longer than the other"):
        best_band(chain, lambda start, end: sharp([0] * 10)[start:end], even, even, limits)

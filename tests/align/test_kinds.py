from __future__ import annotations

import numpy as np
import pytest

from olu.align.kinds import RANK_REACH, RANK_STEP, UNKNOWN, first_scores, kind, ranks


def middle(phone):
    return kind(phone)[1]


def test_vowels_are_loud_hissing_is_bright_and_stops_are_soft():
    loud, bright = 0, 1
    assert middle("a")[loud] > middle("l")[loud] > middle("m")[loud] > middle("p")[loud]
    assert middle("s")[bright] > middle("f")[bright] > middle("a")[bright] > middle("m")[bright]
    assert middle("i")[2] > middle("a")[2] > middle("u")[2]


@pytest.mark.parametrize(("marked", "plain"), [("aː", "a"), ("à", "a"), ("tʼ", "t"), ("ẹ", "e"), ("n̩", "n")])
def test_marks_do_not_change_the_kind(marked, plain):
    assert kind(marked) == kind(plain)


def test_an_affricate_begins_as_a_stop_and_ends_bright_and_an_unknown_sign_says_nothing():
    first, _, last = kind("t͡ʃ")
    assert first == kind("t")[0] and last == kind("ʃ")[2]
    assert kind("ሰ") == (UNKNOWN,) * 3


def test_ranks_are_the_same_however_loud_the_recording_is():
    rng = np.random.default_rng(0)
    mels = rng.standard_normal((200, 40)).astype(np.float32)
    heard = np.arange(200) % 5 > 0
    one, other = ranks(mels, heard), ranks(mels + np.float32(2.0), heard)
    np.testing.assert_allclose(one, other, atol=0.011)
    assert one[~heard, 0].max() < 0.21


def test_ranks_are_among_the_frames_around():
    """Two rooms in one recording: a frame of the dark one is bright there, though softer than all of the other."""
    rng = np.random.default_rng(0)
    mels = rng.standard_normal((6000, 40)).astype(np.float32)
    other = mels.copy()
    other[3000:] += np.repeat(np.array([3.0, 5.0, 7.0], dtype=np.float32), [14, 14, 12])
    heard = np.ones(6000, dtype=np.bool_)
    one, two = ranks(mels, heard), ranks(other, heard)
    far = np.abs(np.arange(6000) - 3000) > RANK_STEP + RANK_REACH
    np.testing.assert_allclose(one[far, 1:], two[far, 1:], atol=0.002)
    assert np.abs(one - two)[:, 1:].max() > 0.3, "where the rooms meet"


def test_without_sound_near_it_a_frame_is_ranked_among_all_of_them():
    mels = np.random.default_rng(0).standard_normal((1000, 40)).astype(np.float32)
    found = ranks(mels, np.zeros(1000, dtype=np.bool_))
    assert np.isfinite(found).all() and found[:, 0].max() <= 0.2 and found[:, 1].max() > 0.99


def test_the_likeliest_phone_of_a_bright_soft_frame_is_a_hiss():
    frames = np.array([[0.35, 0.93, 0.6], [0.78, 0.35, 0.6], [0.02, 0.5, 0.5]], dtype=np.float32)
    phones = ("a", "m", "s")
    best = first_scores(frames, phones).argmax(axis=1)
    assert [None if at == 0 else phones[(at - 1) // 3] for at in best.tolist()] == ["s", "a", None]

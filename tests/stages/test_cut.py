from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from olu.align.cut import CutLengths, choose, places
from olu.core.types import Alignment, Clip, Span
from olu.stages.cut import _plan
from olu.stages.cut_pieces import HeardBounds
from olu.text.frontend import for_language
from olu.text.languages import load


def spans(words: list[str], pauses: list[float], *, length: float = 0.5, lead: float = 0.5) -> list[Span]:
    """Each word takes `length`; a pause of its own comes after it."""
    at, found = lead, []
    for word, pause in zip(words, pauses, strict=True):
        found.append(Span(word, at, at + length, -0.1))
        at += length + pause
    return found


def test_sentence_ends_come_before_longer_pauses_and_those_before_short_ones():
    text = "one two. three four five six"
    words = ["one", "two", "three", "four", "five", "six"]
    said = spans(words, [0.3, 0.3, 0.9, 0.15, 0.15, 0.0], length=2.0)
    found = places(text, words)
    assert {at: place.sentence for at, place in found.items()} == {1: False, 2: True, 3: False, 4: False, 5: False}
    pieces = choose(said, found, text=text, seconds=16, cutting=CutLengths(longest=10))
    assert [piece.text for piece in pieces] == ["one two.", "three four five six"]
    without = places(text.replace(".", ""), words)
    pieces = choose(said, without, text=text.replace(".", ""), seconds=16, cutting=CutLengths(longest=10))
    assert [piece.text for piece in pieces] == ["one two three", "four five six"]


def test_the_margins_are_half_the_pause_and_at_most_a_tenth_of_a_second():
    text = "a b c"
    said = spans(["a", "b", "c"], [0.12, 1.0, 0.0], length=5.0)
    pieces = choose(said, places(text, ["a", "b", "c"]), text=text, seconds=18, cutting=CutLengths(longest=6))
    edges = [(round(piece.start, 3), round(piece.end, 3)) for piece in pieces]
    assert edges == [(0.25, 5.56), (5.56, 10.72), (11.52, 16.87)]


def test_no_cut_where_there_is_no_pause_or_a_word_is_not_sure():
    text, words = "a b c d", ["a", "b", "c", "d"]
    said = spans(words, [0.05, 0.5, 0.5, 0.0], length=4.0)
    pieces = choose(
        said, places(text, words), text=text, seconds=18, cutting=CutLengths(longest=10), bad=frozenset({3})
    )
    assert [piece.text for piece in pieces] == ["a b", "c d"]
    pieces = choose(
        said, places(text, words), text=text, seconds=18, cutting=CutLengths(longest=10), bad=frozenset({1})
    )
    assert [piece.text for piece in pieces] == ["a b c", "d"]  # one is too long: better than a cut in the dark


def test_numbers_and_signs_of_the_text_stay_with_their_words():
    text = "Mwaka 1984, watu - wengi ። ሰላም Ndị na-eti"
    words = ["mwaka", "elfu", "moja", "mia", "tisa", "watu", "wengi", "ሰላም", "ndi", "na", "eti"]
    found = places(text, words)
    cut = {at: (text[: place.offset], text[place.offset :]) for at, place in found.items()}
    assert cut[1][1].startswith("1984")
    assert cut[5][1].startswith("watu")
    assert cut[6] == ("Mwaka 1984, watu - ", "wengi ። ሰላም Ndị na-eti")
    assert found[7].sentence
    assert cut[9][1] == "na-eti"
    assert 2 not in cut and 3 not in cut and 10 not in cut


@given(st.integers(0, 2**32), st.integers(2, 60), st.floats(3, 25))
def test_every_word_is_in_one_piece_and_no_piece_begins_or_ends_inside_a_word(seed: int, count: int, longest: float):
    rng = random.Random(seed)
    words = [rng.choice(["na", "wa", "watu", "sana", "leo", "mia"]) for _ in range(count)]
    text = " ".join(word + rng.choice(["", "", ",", "."]) for word in words)
    said = spans(words, [rng.choice([0.0, 0.05, 0.1, 0.3, 1.2]) for _ in words], length=rng.uniform(0.2, 1.5))
    seconds = said[-1].end + rng.uniform(0, 2)
    cutting = CutLengths(longest=longest)
    pieces = choose(said, places(text, words), text=text, seconds=seconds, cutting=cutting)
    assert " ".join(piece.text for piece in pieces).split() == text.split()
    assert [piece.first for piece in pieces] == [0, *(piece.last for piece in pieces[:-1])]
    assert pieces[-1].last == len(words)
    for piece in pieces:
        assert 0 <= piece.start <= said[piece.first].start
        assert said[piece.last - 1].end <= piece.end <= seconds
        assert not piece.first or said[piece.first].start - piece.start >= cutting.least_margin - 1e-9
        assert piece.first == 0 or said[piece.first - 1].end <= piece.start + 1e-9
        if piece.seconds > longest:  # only where there was no pause to cut at
            inside = range(piece.first + 1, piece.last)
            assert all(said[at].start - said[at - 1].end < 2 * cutting.least_margin for at in inside)


LONG = ["watu", "sana", "leo", "kama", "moto", "sasa", "nyumba", "kitabu"]


def flat_plan(
    scores: list[float],
    pauses: list[float],
    unspoken: tuple[tuple[int, int], ...] = (),
    *,
    share: float = 0.5,
    longest: float = 9.0,
):
    """How a long recording of these words is cut: each of two seconds, with its score."""
    words = [one._replace(score=score) for one, score in zip(spans(LONG, pauses, length=2.0), scores, strict=True)]
    phones = tuple(one._replace(label="a") for one in words)
    seconds = words[-1].end + 1.0
    alignment = Alignment(
        id="hour", seconds=seconds, words=tuple(words), phones=phones, method="flat", unspoken=unspoken
    )
    clip = Clip(id="hour", audio="radio/hour.wav", seconds=seconds, rate=16000, text=" ".join(LONG), language="swa")
    bounds = HeardBounds(low=-3.0, share=share, edge=-1.5, mean=-1.0)
    return _plan(clip, alignment, for_language(load("swa")), CutLengths(longest=longest), bounds, sha256="0" * 64)


def test_a_clip_of_a_long_recording_begins_and_ends_at_a_sure_pause_between_sure_words():
    plain = flat_plan([-0.2] * 8, [0.1, 0.1, 0.1, 0.5, 0.1, 0.1, 0.1, 0.0])
    assert [clip.text for clip in plain.clips] == ["watu sana leo kama", "moto sasa nyumba kitabu"]
    assert plain.left_out == ()
    doubted = flat_plan([-0.2] * 4 + [-1.8] + [-0.2] * 3, [0.1, 0.1, 0.5, 0.5, 0.5, 0.5, 0.1, 0.0])
    assert not any(clip.text.startswith("moto") or clip.text.endswith("moto") for clip in doubted.clips)


def test_what_would_stay_too_long_is_cut_at_shorter_pauses_too():
    pauses = [0.02, 0.12, 0.02, 0.5, 0.02, 0.12, 0.02, 0.0]
    assert len(flat_plan([-0.2] * 8, pauses).clips) == 2, "a pause of 0.12 s is not needed"
    short = flat_plan([-0.2] * 8, pauses, longest=6.0)
    assert [clip.text for clip in short.clips] == ["watu sana", "leo kama", "moto sasa", "nyumba kitabu"]


def test_words_beside_one_that_nobody_says_are_left_out_up_to_the_next_sure_pause():
    found = flat_plan([-0.2] * 3 + [-20.0] + [-0.2] * 4, [0.1, 0.5, 0.5, 0.5, 0.1, 0.5, 0.5, 0.0], ((3, 4),))
    assert " ".join(clip.text for clip in found.clips) == "watu sana nyumba kitabu"
    assert [why for _, why in found.left_out] == [
        "hour 0:05.1: no sure pause beside what text and sound do not share",
        "hour 0:10.1: no sure pause beside what text and sound do not share",
    ]


def test_a_stretch_that_is_heard_worse_than_others_is_left_out():
    found = flat_plan([-1.2] * 4 + [-0.2] * 4, [0.1, 0.1, 0.1, 0.5, 0.1, 0.1, 0.1, 0.0])
    assert [clip.text for clip in found.clips] == ["moto sasa nyumba kitabu"]
    assert [why for _, why in found.left_out] == [
        "hour 0:00.4: its words are heard worse than others: others may be said there"
    ]


def test_words_that_are_not_heard_are_left_out_and_what_lies_around_them_is_kept():
    """Three of eight words in a row are heard nowhere: without them a sure clip is left on both sides."""
    scores, pauses = [-0.2, -0.2, -9.0, -9.0, -9.0, -0.2, -0.2, -0.2], [0.1, 0.5, 0.1, 0.1, 0.5, 0.1, 0.1, 0.0]
    found = flat_plan(scores, pauses, share=0.2, longest=30.0)
    assert [clip.text for clip in found.clips] == ["watu sana", "sasa nyumba kitabu"]
    assert [(round(seconds, 3), why) for seconds, why in found.left_out] == [
        (6.2, "hour 0:05.1: not heard where they should be: leo kama moto at 5.1 s")
    ]
    tight = flat_plan(scores, [0.5, 0.1, 0.1, 0.1, 0.5, 0.1, 0.1, 0.0], share=0.2, longest=30.0)
    assert [clip.text for clip in tight.clips] == ["watu", "sasa nyumba kitabu"], "up to the next sure pause"
    assert tight.left_out[1][1] == "hour 0:03.0: no sure pause beside words that are not heard"

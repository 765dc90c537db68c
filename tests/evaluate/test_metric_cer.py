"""Errors in letters and words."""

from __future__ import annotations

from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.evaluate.metrics import cer

WORDS = st.text("abc ", max_size=9)


def figures(clips: list[cer.Errors | None]) -> dict[str, object]:
    return {one.name: one for one in cer.summarise(clips, instrument="toy 1")}


@given(WORDS, WORDS)
def test_the_distance_is_the_smallest_there_is(one: str, two: str):
    @lru_cache(None)
    def least(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        return min(least(i - 1, j) + 1, least(i, j - 1) + 1, least(i - 1, j - 1) + (one[i - 1] != two[j - 1]))

    found = cer.edits(one, two)
    assert found.total == least(len(one), len(two))
    assert found.inserted - found.deleted == len(two) - len(one)
    assert found.length == len(one)


@pytest.mark.parametrize(
    ("one", "two", "counts"),
    [("abcd", "abcd", (0, 0, 0)), ("abcd", "abxd", (1, 0, 0)), ("abcd", "abd", (0, 1, 0)), ("abcd", "abccd", (0, 0, 1)),
     ("abcd", "", (0, 4, 0)), ("", "ab", (0, 0, 2)), ("kitten", "sitting", (2, 0, 1))],
)  # fmt: skip
def test_kinds_of_errors(one: str, two: str, counts: tuple[int, int, int]):
    found = cer.edits(one, two)
    assert (found.substituted, found.deleted, found.inserted) == counts


def test_words_and_letters_of_one_clip():
    found = cer.compare("ala di  mma", spoken="ala da mma", natural="ala di mma")
    assert found.letters.rate == pytest.approx(1 / 10) and found.words.rate == pytest.approx(1 / 3)
    assert found.natural_letters is not None and found.natural_letters.rate == 0.0


def test_the_same_text_gives_nothing_wrong_and_a_swapped_one_much():
    texts = [f"sentence number {number} {'abcdefgh'[number % 8] * 9}" for number in range(120)]
    same = figures([cer.compare(text, spoken=text, natural=text) for text in texts])
    assert same["cer"].mean == same["wer"].mean == same["cer_difference"].mean == same["hard_failures"].mean == 0.0
    assert same["cer"].trust == "high" and "speaker and room" in same["cer"].reason
    swapped = [cer.compare(text, spoken=texts[-1 - place], natural=text) for place, text in enumerate(texts)]
    moved = figures(swapped)
    assert moved["cer"].mean > 0.3 and moved["cer"].natural == 0.0
    assert moved["cer_difference"].mean == pytest.approx(moved["cer"].mean)


def test_the_rate_counts_letters_not_clips_and_says_how_many_were_lost():
    clips = [
        cer.compare("a" * 90, spoken="a" * 90, natural="a" * 90),
        cer.compare("b" * 10, spoken="", natural="b" * 10),
    ]
    found = figures(clips)
    assert found["cer"].mean == pytest.approx(0.1) and found["cer_deleted"].mean == pytest.approx(0.1)
    assert found["hard_failures"].mean == 0.5 and found["hard_failures"].natural == 0.0
    assert found["cer"].values == (0.0, 1.0)


def test_a_recogniser_that_errs_on_natural_speech_is_not_believed():
    clips = [cer.compare("abcdefghij", spoken="abcdefghij", natural="abcdefgxyz") for _ in range(100)]
    assert figures(clips)["cer_difference"].trust == "low"
    assert "30% of natural speech" in figures(clips)["cer_difference"].reason


def test_a_difference_that_is_not_known_well_is_not_believed():
    few = [
        cer.compare("abcdefghij", spoken="abcdefghij" if place % 2 else "abcxxxxhij", natural="abcdefghij")
        for place in range(12)
    ]
    found = figures(few)["cer"]
    assert found.trust == "low" and "judge more sentences" in found.reason
    assert figures([cer.compare("ab", spoken="ab")])["cer"].trust == "low"

"""Ethiopic syllables as consonants and vowels."""

from __future__ import annotations

import unicodedata
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from olu.text.fidel import compose, decompose, fold, sounds, spelled

LETTERS = [chr(point) for point in range(0x1200, 0x1380) if unicodedata.category(chr(point)) == "Lo"]


def test_a_syllable_is_its_consonant_and_its_vowel():
    assert decompose("ቡ") == ["ብ", "ኡ"]
    assert decompose("ብ") == ["ብ"]
    assert decompose("ኡእ") == ["እ", "ኡ", "እ"]
    assert decompose("ቧ ab።") == ["ብ", "ኧ", " ", "a", "b", "።"]


def test_two_letters_beside_each_other_come_back():
    for pair in product(LETTERS, LETTERS):
        text = "".join(pair)
        assert compose(decompose(text)) == text
        assert spelled(sounds(text)) == fold(text)


@given(st.text(st.sampled_from([*LETTERS, " ", "a", "1"]), max_size=12))
def test_any_text_comes_back(text: str) -> None:
    assert compose(decompose(text)) == text
    assert spelled(sounds(text)) == fold(text)


def test_there_are_few_symbols():
    assert len({symbol for letter in LETTERS for symbol in decompose(letter)}) < 70 < len(LETTERS) / 4


def test_what_a_network_may_write_is_spelled_too():
    assert compose(["ኡ", "ብ", "ኡ", "ኡ"]) == "ኡቡኡ"  # a vowel without a consonant stands alone
    assert compose([]) == ""
    assert spelled(["ህ", "ኣ", "ህ", "አ"]) == "ሀሀ"  # both sound ha


def test_letters_of_one_sound_are_the_same_symbols():
    assert sounds("ሐገር") == sounds("ሀገር") == sounds("ኃገር") == ["ህ", "ኣ", "ግ", "አ", "ር"]
    assert sounds("ዓለም") == sounds("አለም")

"""Long text into pieces that can be spoken one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.text.words import LONGEST, split_sentences

LATIN = (".", "?", "!", "…")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Kedu? Ọ dị mma.", ["Kedu?", "Ọ dị mma."]),
        ("Ọ bụ 3.5 kg. Ee!", ["Ọ bụ 3.5 kg.", "Ee!"]),
        ("Gịnị?! Mba...", ["Gịnị?!", "Mba..."]),
        ('O sị "Bịa." Ọ bịara.', ['O sị "Bịa."', "Ọ bịara."]),
        ("one line\nsame sentence", ["one line\nsame sentence"]),
        ("a title\n\na text. end", ["a title", "a text.", "end"]),
        ("no end", ["no end"]),
        ("  . ", ["."]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text, LATIN) == sentences


def test_other_scripts() -> None:
    assert split_sentences("ይኼ ነው። አዎ፧ እሺ", ["።", "፧"]) == ["ይኼ ነው።", "አዎ፧", "እሺ"]


def test_without_ends_the_text_is_one_sentence() -> None:
    assert split_sentences(" a. b? ", []) == ["a. b?"]
    assert split_sentences(" ", []) == []


def test_an_endless_sentence_is_cut_at_spaces() -> None:
    words = [f"okwu{number}" for number in range(1000)]
    pieces = split_sentences(" ".join(words), LATIN)
    assert len(pieces) > 10
    assert max(map(len, pieces)) <= LONGEST
    assert " ".join(pieces).split() == words


def test_an_endless_word_is_cut_but_never_before_a_mark() -> None:
    word = "ọ\u0301" * LONGEST
    pieces = split_sentences(word, LATIN)
    assert "".join(pieces) == word
    assert all(0 < len(piece) <= LONGEST and piece.startswith("ọ") for piece in pieces)


def test_marks_alone_still_end() -> None:
    assert "".join(split_sentences("\u0301" * (3 * LONGEST), LATIN)) == "\u0301" * (3 * LONGEST)


@given(st.text(st.one_of(st.sampled_from("ab .?\n\"'\u0301\u2028"), st.characters()), max_size=60), st.integers(1, 30))
def test_nothing_is_lost(text: str, times: int) -> None:
    pieces = split_sentences(text * times, LATIN)
    assert "".join("".join(pieces).split()) == "".join((text * times).split())
    assert all(piece and piece == piece.strip() and len(piece) <= LONGEST for piece in pieces)

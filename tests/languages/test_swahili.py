"""Swahili: digraphs, syllabic nasals, the stress on the last syllable but one."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.languages.swa.code import Swahili, make
from olu.text import words
from olu.text.algorithms import canonical
from olu.text.frontend import for_language
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load

REPOSITORY = Path(__file__).parents[2]
SHARED = Path(os.environ.get("OLU_SHARED", REPOSITORY.parent / "shared"))
WORST = 5.0  # percent of phones
LINES = None if os.environ.get("OLU_SOAK") == "1" else 200


@cache
def swahili() -> Swahili:
    return make(Pack.of(load("swa").files()))


def say(word: str) -> str:
    said = swahili().say(word)
    return " ".join("ˈ" * (at == said.stress) + phone for at, phone in enumerate(said.phones))


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("chakula", "t͡ʃ a k ˈu l a"),
        ("ng'ombe", "ŋ ˈo m b e"),
        ("ng’ombe", "ŋ ˈo m b e"),
        ("ngoma", "ŋ ɡ ˈo m a"),
        ("nyanya", "ɲ ˈa ɲ a"),
        ("dhambi", "ð ˈa m b i"),
        ("ghafla", "ɣ ˈa f l a"),
        ("thelathini", "θ e l a θ ˈi n i"),
        ("shamba", "ʃ ˈa m b a"),
        ("njia", "n d͡ʒ ˈi a"),
        ("mtu", "ˈm̩ t u"),
        ("mtoto", "m̩ t ˈo t o"),
        ("mmoja", "m̩ m ˈo d͡ʒ a"),
        ("mbili", "m b ˈi l i"),
        ("mbwa", "ˈm̩ b w a"),
        ("mwana", "m w ˈa n a"),
        ("nchi", "ˈn̩ t͡ʃ i"),
        ("nne", "ˈn̩ n e"),
        ("ndege", "n d ˈe ɡ e"),
        ("kaa", "k ˈa a"),
        ("za", "z ˈa"),
        ("covid", "k ˈo v i d"),
    ],
)
def test_words(word: str, phones: str) -> None:
    assert say(word) == phones


@pytest.mark.parametrize("sign", "'’ʼ‘`´′＇")
def test_an_apostrophe_may_be_typed_in_many_ways(sign: str) -> None:
    read = for_language(load("swa")).read(f"ng{sign}ombe")
    assert [word.phones for word in read.words] == [("ŋ", "o", "m", "b", "e")]


@given(st.text())
def test_no_word_is_too_strange(word: str) -> None:
    said = swahili().say(word)
    assert said.stress is None or 0 <= said.stress < len(said.phones)


def test_wiktionary_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (SHARED / "gold").is_dir():
        pytest.skip("the gold data is not on this machine")
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    import reading

    (found,) = reading.swahili(SHARED / "gold")
    assert found.rows == 110
    assert found.value <= WORST
    sys.modules.pop("reading")


def test_every_letter_of_the_corpus_is_read() -> None:
    path = SHARED / "corpora" / "swa" / "metadata.csv"
    if not path.is_file():
        pytest.skip("the Swahili corpus is not on this machine")
    tidy = canonical(Pack.of(load("swa").files()))
    for line in path.read_text(encoding="utf-8").split("\n")[:LINES]:
        found, _ = words.split(tidy(line.partition("|")[2], ReadingTrace()))
        for word in found:
            lost = [letter for letter in swahili().say(word).dropped if not letter.isdigit()]
            assert lost == [], word

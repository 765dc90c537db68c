"""A reading said with the symbols a voice has."""

from __future__ import annotations

import json

import pytest

from olu.core.types import Marks
from olu.text.frontend import ReadingSettings, for_language, from_state
from olu.text.languages import load
from olu.text.phones import PhoneFrontend
from olu.text.vocabulary import SymbolVocabulary

SEEN = ["Ọ́kụ́ dị ọ̀kụ̀.", "ḿmá nà àkwá"]


def voice(language: str, texts: list[str], marks: Marks = "vowel") -> tuple[PhoneFrontend, SymbolVocabulary]:
    """A frontend and vocabulary as a voice trained on these texts has them."""
    reads = for_language(load(language), settings=ReadingSettings(marks=marks))
    from olu.text.fallback import bare

    seen = {symbol for text in texts for symbol in reads.read(text).symbols(marks)}
    symbols = seen | {bare(symbol) for symbol in seen}
    state = json.loads(json.dumps({**reads.state(), "inventory": sorted(symbols)}))
    made = from_state(state)
    assert isinstance(made, PhoneFrontend)
    return made, SymbolVocabulary.of(symbols, marks=marks)


@pytest.mark.parametrize("marks", ["vowel", "separate", "none"])
@pytest.mark.parametrize("text", ["ọ́kụ́, ọ̀kụ̀? bịa! Gbọọ; ṅụọ: n'ụlọ", "1985 na 12 %", "ńdụ̄", "xyz Zürich ☺", "…", ""])
def test_whatever_is_said_has_ids(marks: Marks, text: str) -> None:
    reads, vocabulary = voice("ibo", SEEN, marks)
    reading = reads.read(text)
    assert len(vocabulary.encode(reading)) == 2 * len(reading.symbols(marks)) + 1


def test_a_tone_never_learnt_is_left_off_before_a_phone_is_lost() -> None:
    reads, _ = voice("ibo", ["ọ̀kụ̀"])
    (word,) = reads.read("ọ́kụ́").words
    assert word.phones == ("ɔ", "k", "ʊ") and word.symbols() == ["ɔ", "k", "ʊ"]


def test_a_relative_is_said_and_what_has_none_is_listed() -> None:
    reads, _ = voice("ibo", ["aka nụ"])
    reading = reads.read("akwa gba")
    assert reading.words[0].phones == ("a", "k", "a"), "kʷ is said as k"
    assert reading.dropped == {"ɡ͡b": 1}


def test_a_pause_never_learnt_becomes_another_or_none() -> None:
    assert voice("spa", ["hola. casa"])[0].read("hola, casa").breaks == ("", ". ", "")
    assert voice("spa", ["hola casa"])[0].read("hola, casa").breaks == ("", " ", "")

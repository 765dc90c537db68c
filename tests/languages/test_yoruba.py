"""Yoruba: one way to write dots and tones, nasal vowels, and tones that are never guessed."""

from __future__ import annotations

import os
import sys
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from olu.languages.yor.code import FULL, PARTIAL, Yoruba, canonical, make
from olu.text import words
from olu.text.frontend import ReadingSettings, for_language
from olu.text.language_data import Pack, ReadingTrace
from olu.text.languages import load

REPOSITORY = Path(__file__).parents[2]
SHARED = Path(os.environ.get("OLU_SHARED", REPOSITORY.parent / "shared"))
WORST = 5.0  # percent of phones
LINES = None if os.environ.get("OLU_SOAK") == "1" else 200
WILD = st.text(
    st.one_of(
        st.characters(), st.sampled_from("aeioumnsbgẸọṣịụɛɔ'’ʼ- \u0301\u0300\u0304\u0302\u030c\u0323\u0329\u0331")
    )
)


@cache
def yoruba(an: str = "ã") -> Yoruba:
    return make(Pack.of(load("yor").files(), options={"an": an}))


def tidy(text: str) -> str:
    return canonical(text, ReadingTrace())


def say(word: str, *, mode: str = "") -> tuple[str, str]:
    said = yoruba().say(tidy(word), mode=mode)
    return " ".join(said.phones), " ".join(said.tones)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("O\u0329JO\u0329\u0301", "ọjọ́"),  # a vertical line below
        ("o\u0331jo\u0301\u0331", "ọjọ́"),  # a macron below, after the tone
        ("o\u0332jo\u0332", "ọjọ"),
        ("şe", "ṣe"),  # a cedilla
        ("s\u0329e\u0329", "ṣẹ"),
        ("Ɛ̀kɔ́", "ẹ̀kọ́"),
        ("o\u0323\u0323", "ọ"),  # twice
        ("\u0301\u0323", "\u0301"),  # a dot on nothing
        ("ιlé", "ilé"),  # a Greek letter, as the corpus has it
        ("kò\u200b sí", "kò sí"),
        ("ọmọ’re", "ọmọ're"),
        ("Ìwé 3, òní!", "ìwé 3, òní!"),
        ("plain ASCII", "plain ascii"),
    ],
)
def test_one_way_to_write_it(typed: str, meant: str) -> None:
    assert tidy(typed) == unicodedata.normalize("NFC", meant)


def test_what_is_taken_out_is_counted() -> None:
    notes = ReadingTrace()
    canonical("a\u0323 kò\u200b", notes)
    assert notes.dropped == {"\u0323": 1, "\u200b": 1}
    assert [step.stage for step in notes.steps] == ["canonical"]


@given(WILD)
def test_the_canonical_form_is_its_own_whatever_the_bytes(text: str) -> None:
    once = tidy(text)
    assert tidy(once) == once
    assert tidy(unicodedata.normalize("NFD", text)) == tidy(unicodedata.normalize("NFC", text))


@given(WILD)
@example("g\u0323")  # no such letter is one character
@example("ọ\u0323\u0323")
def test_no_word_is_too_strange(text: str) -> None:
    reads = yoruba()
    for mode in (reads.mode(text.split()), FULL, ""):
        said = reads.say(tidy(text), mode=mode)
        assert len(said.tones) == len(said.bearers)
        assert set(said.tones) <= {"H", "M", "L", "HL", "LH", "HM", "MH", "LM", "ML", "?"}
        assert all(said.phones[at] in reads.nuclei for at in said.bearers)


@pytest.mark.parametrize(
    ("word", "phones", "tones"),
    [
        ("pápá", "k͡p a k͡p a", "H H"),
        ("ìgbà", "i ɡ͡b a", "L L"),
        ("ẹ̀ṣẹ̀", "ɛ ʃ ɛ", "L L"),
        ("ìtàn", "i t ã", "L L"),
        ("ọ̀nà", "ɔ n ã", "L L"),
        ("ọmọ", "ɔ m ɔ̃", "M M"),
        ("máa", "m a a", "H M"),
        ("náà", "n ã ã", "H L"),
        ("mẹ́rin", "m ɛ ɾ ĩ", "H M"),
        ("ńlá", "ŋ̍ l a", "H H"),
        ("àǹfààní", "a ŋ̍ f a a n ĩ", "L L L L H"),
        ("nǹkan", "ŋ̍ ŋ̍ k ã", "M L M"),
        ("ngbe", "ŋ̍ ɡ͡b e", "M M"),
        ("ḿbọ̀", "m̩ b ɔ", "H L"),
        ("â", "a", "HL"),
        ("ǎ", "a", "LH"),
        ("ā", "a", "M"),
        ("a\u0301\u0301", "a", "H"),
        ("b", "b i", "H"),
    ],
)
def test_words_of_a_marked_text(word: str, phones: str, tones: str) -> None:
    assert say(word, mode=FULL) == (phones, tones)


def test_an_unmarked_tone_is_mid_only_where_tones_are_marked() -> None:
    assert say("ilé", mode=PARTIAL) == ("i l e", "? H")
    assert say("ilé", mode=FULL) == ("i l e", "M H")
    assert say("ile", mode=PARTIAL) == ("i l e", "? ?")


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("mo fẹ́ lọ sí ilé ìwé", FULL),
        ("ọjọ́ dára púpọ̀", FULL),
        ("ilé", FULL),
        ("odò to ba gbagbe orisun rẹ gbigbe lo ma ngbe", PARTIAL),
        ("mo fe lo si ile iwe", PARTIAL),
        ("àwọn ọmọ kò fẹ ìwé wọn", PARTIAL),  # tones are left out wherever there is a dot
        ("", PARTIAL),
        ("ọmọ", PARTIAL),
    ],
)
def test_whether_a_text_marks_its_tones(text: str, mode: str) -> None:
    assert yoruba().mode(tidy(text).split()) == mode


MARKED = "Ọmọ mi lọ sí ilé-ìwé ní Ìbàdàn"  # every high and low tone is written, but only 6 of 13 are one


def tones_of(text: str, **options: str) -> str:
    settings = ReadingSettings(options=options)
    return " ".join(
        tone for word in for_language(load("yor"), settings=settings).read(text).words for tone in word.tones
    )


def test_a_text_that_is_known_to_be_marked_has_no_unknown_tone() -> None:
    assert "?" in tones_of(MARKED)
    assert tones_of(MARKED, tone_convention="full") == "M M M M H M H L H H L L L"
    assert tones_of("ilé", tone_convention="partial") == "? H"


def test_marked_sentences_read_as_marked() -> None:
    path = SHARED / "gold" / "yoruba_toned_sentences.txt"
    if not path.is_file():
        pytest.skip("the marked sentences are not here: set OLU_SHARED to the folder that holds gold/")
    lines = path.read_text(encoding="utf-8").splitlines()[:LINES]
    by_itself, told = (
        sum(tones_of(line, tone_convention=convention).count("?") for line in lines) for convention in ("auto", "full")
    )
    assert by_itself > 0 and told == 0


def test_the_option_of_the_low_nasal_vowel() -> None:
    assert yoruba("ɔ̃").say("ìtàn").phones == ("i", "t", "ɔ̃")
    assert yoruba("ã").say("ìtàn").phones == ("i", "t", "ã")


def test_unknown_tones_are_told() -> None:
    assert "unknown" in yoruba().say("ile", mode=PARTIAL).rules[-1]


def test_wiktionary_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (SHARED / "gold").is_dir():
        pytest.skip("the gold data is not on this machine")
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    import reading

    sounds, tones, _ = reading.yoruba(SHARED / "gold")
    assert sounds.rows > 5000
    assert sounds.value <= WORST
    assert tones.rows > 10_000
    assert tones.value == 0.0
    sys.modules.pop("reading")


def test_every_letter_of_the_corpus_is_read() -> None:
    path = SHARED / "corpora" / "yor" / "metadata.csv"
    if not path.is_file():
        pytest.skip("the Yoruba corpus is not on this machine")
    for line in path.read_text(encoding="utf-8").split("\n")[:LINES]:
        notes = ReadingTrace()
        found, _ = words.split(canonical(line.partition("|")[2], notes))
        assert not notes.dropped, line
        for word in found:
            assert not yoruba().say(word, mode=yoruba().mode(found)).dropped, word

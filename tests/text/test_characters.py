"""Letters as they stand: nothing lost in silence, the same reading whatever the spelling of the bytes."""

from __future__ import annotations

import unicodedata
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from olu.core.errors import VoiceError
from olu.core.rows import as_row, from_row
from olu.core.types import Reading
from olu.text.characters import CharacterFrontend
from olu.text.frontend import from_state
from olu.text.markup import has_markup

PLAIN = CharacterFrontend("ibo")
CHOSEN = ["a", "b", "ab", "t", "tʃ", "tʃʼ", "e", "́", "é", "ọ", "...", ".", ",", " ", "'", "-", "ß", "ሀ"]
SOME = CharacterFrontend("qaa", inventory=CHOSEN)
TYPED = str.maketrans("’ʼ", "''")  # one sign, typed in several ways
ODD = (
    "aAbBtTʃʼeEéÉ\u0301\u0323oOọİßẞΣς .,'-…_\n\t\u00a0\u2028"
    "\u200b\u200d\ufeff\x00\x1f\u0e33ሀ☺😀\u202e\ue000\u0378\U000e0001"
)
WILD = st.text(st.one_of(st.sampled_from(ODD), st.characters()), max_size=40)
TEXTS = WILD.filter(lambda text: not has_markup(text))  # markup has tests of its own


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def letters(text: str) -> Counter[str]:
    """Every character a text is made of, white space aside."""
    return Counter(c for c in nfd(text) if not c.isspace())


@pytest.mark.parametrize("text", ["Ọ́kụ́ na ọ̀kụ̀", "Niño, ¿qué?", "Ṣé ẹ̀yin ni", "Ị́ chọrọ", "각하", "ÅÅ"])
@pytest.mark.parametrize("frontend", [PLAIN, CharacterFrontend("ibo", lower=False)], ids=["lower", "as is"])
def test_composed_and_decomposed_read_alike(text: str, frontend: CharacterFrontend) -> None:
    composed, decomposed = (frontend.read(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
    assert composed.normal == decomposed.normal == unicodedata.normalize("NFC", composed.normal)
    assert (composed.words, composed.breaks) == (decomposed.words, decomposed.breaks)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Ị", "ị"),
        ("I\u0323", "ị"),
        ("İ", "i\u0307"),
        ("ß", "ß"),
        ("ẞ", "ß"),
        ("ǅ", "ǆ"),
        ("Ǆ", "ǆ"),
        ("ΟΔΟΣ", "οδος"),
        ("ÀÉ", "àé"),
        ("ሀ", "ሀ"),
    ],
)
def test_lower_case(text: str, normal: str) -> None:
    assert PLAIN.read(text).normal == normal
    assert PLAIN.read(text).dropped == {}
    kept = CharacterFrontend("ibo", lower=False).read(text).normal
    assert kept == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("space", ["\n", "\t", "\r\n", "\u00a0", "\u2028", "\u2029", "\u3000", "\x85", " \u2009 \n"])
def test_white_space_folds_to_one_space(space: str) -> None:
    reading = PLAIN.read(f"{space}ka{space}{space}bọ{space}")
    assert reading.normal == "ka bọ"
    assert reading.breaks == ("", " ", "")
    assert reading.dropped == {}


@pytest.mark.parametrize("hidden", ["\x00", "\x07", "\x7f", "\u200b", "\u200d", "\u200f", "\ufeff", "\u00ad", "\ue000"])
def test_what_cannot_be_said_is_counted(hidden: str) -> None:
    reading = PLAIN.read(f"{hidden}ka{hidden}{hidden} bọ")
    assert reading.normal == "ka bọ"
    assert reading.dropped == {hidden: 3}


def test_the_blank_is_listed_and_never_a_letter() -> None:
    reading = PLAIN.read("a_b")
    assert reading.symbols() == ["a", "b"]
    assert reading.dropped == {"_": 1}


def test_a_mark_left_beside_its_letter_joins_it() -> None:
    reading = PLAIN.read("e\u200d\u0301")
    assert (reading.normal, reading.dropped) == ("é", {"\u200d": 1})


def test_longest_symbol_first() -> None:
    reading = SOME.read("tʃʼatʃt ab ba")
    assert reading.words[0].phones == ("tʃʼ", "a", "tʃ", "t")
    assert [word.phones for word in reading.words[1:]] == [("ab",), ("b", "a")]
    assert reading.dropped == {}


def test_a_symbol_of_several_marks_stays_whole() -> None:
    assert SOME.read("ab... b.").symbols() == ["ab", "...", " ", "b", "."]


def test_unknown_characters_are_counted() -> None:
    reading = SOME.read("Xaxb, ☺☺ q!")
    assert reading.normal == "ab,"
    assert reading.dropped == {"x": 2, "☺": 2, "q": 1, "!": 1}


def test_an_empty_inventory_knows_nothing() -> None:
    reading = CharacterFrontend("qaa", inventory=[]).read("ab a")
    assert (reading.normal, reading.words, reading.breaks) == ("", (), ("",))
    assert reading.dropped == {"a": 2, "b": 1, " ": 1}


def test_an_inventory_may_be_decomposed() -> None:
    apart = CharacterFrontend("qaa", inventory=["e", "\u0301"]).read("É")
    assert (apart.symbols(), apart.dropped) == (["e", "\u0301"], {})
    twin = CharacterFrontend("qaa", inventory=["a\u0303"]).read("ã")
    assert (twin.symbols(), twin.dropped) == (["a\u0303"], {})
    half = CharacterFrontend("qaa", inventory=["e"]).read("é")
    assert (half.symbols(), half.dropped) == ([], {"é": 1})


def test_capitals_of_an_inventory_are_kept() -> None:
    frontend = CharacterFrontend("qaa", inventory=["a", "N", "n"])
    assert frontend.read("aNAn").symbols() == ["a", "N", "a", "n"]


def test_tone_marks_are_kept() -> None:
    high, low = PLAIN.read("ọ́kụ́"), PLAIN.read("ọ̀kụ̀")
    assert high.symbols() == ["ọ", "\u0301", "k", "ụ", "\u0301"]
    assert low.symbols() == ["ọ", "\u0300", "k", "ụ", "\u0300"]
    assert len(high.words) == len(low.words) == 1


def test_ethiopic() -> None:
    reading = CharacterFrontend("amh", lower=False).read("ይኼ ለማንም፣ አይበጅም።")
    assert [word.text for word in reading.words] == ["ይኼ", "ለማንም", "አይበጅም"]
    assert reading.breaks == ("", " ", "፣ ", "።")
    assert reading.dropped == {}


def test_words_and_what_stands_between() -> None:
    reading = PLAIN.read("«N'ụlọ-akwụkwọ» 25, 'ee' -o-")
    assert [word.text for word in reading.words] == ["n'ụlọ-akwụkwọ", "25", "ee", "o"]
    assert reading.breaks == ("«", "» ", ", '", "' -", "-")


@pytest.mark.parametrize("text", ["", " ", "\n\u00a0", "\x00"])
def test_nothing_to_say(text: str) -> None:
    reading = PLAIN.read(text)
    assert (reading.text, reading.normal, reading.words, reading.breaks) == (text, "", (), ("",))


def test_state_round_trip() -> None:
    for frontend in (PLAIN, SOME, CharacterFrontend("amh", lower=False)):
        again = from_state(frontend.state())
        assert again.state() == frontend.state()
        assert again.read("Ab tʃ! ሀ") == frontend.read("Ab tʃ! ሀ")


def test_an_unknown_kind_names_itself() -> None:
    with pytest.raises(VoiceError, match="'telepathy'"):
        from_state({"kind": "telepathy"})


def consistent(frontend: CharacterFrontend, reading: Reading) -> None:
    assert "".join(reading.symbols()) == reading.normal
    assert len(reading.breaks) == len(reading.words) + 1
    assert all(word.phones and "".join(word.phones) == word.text for word in reading.words)
    assert not reading.normal.startswith(" ")
    assert not reading.normal.endswith(" ")
    assert "  " not in reading.normal
    again = frontend.read(reading.normal)
    assert (again.normal, again.words, again.breaks) == (reading.normal, reading.words, reading.breaks)
    assert again.dropped == {}
    assert from_row(as_row(reading), Reading) == reading


@given(TEXTS)
@example("e\u200d\u0301")
@example("Σ\x00Σ\u0323\u200b\u0307")
def test_every_reading_is_consistent(text: str) -> None:
    reading = PLAIN.read(text)
    consistent(PLAIN, reading)
    small = unicodedata.normalize("NFC", text).lower()
    assert letters(small) == letters(reading.normal) + Counter(
        c for d, n in reading.dropped.items() for c in nfd(d) * n
    )
    assert frozenset(reading.normal).isdisjoint("\n\t\u00a0\u2028\u200b\u200d_")


@given(TEXTS)
@example("e☺\u0301")
@example("a☺b")
@example("t\u200dʃ.☺..")
@example("ʼ")
def test_every_reading_with_an_inventory_is_consistent(text: str) -> None:
    reading = SOME.read(text)
    consistent(SOME, reading)
    assert set(reading.symbols()) <= set(CHOSEN)
    small = unicodedata.normalize("NFC", text).lower()
    lost = Counter(c for d, n in reading.dropped.items() for c in (nfd(d) * n).translate(TYPED) if not c.isspace())
    assert letters(small.translate(TYPED)) == letters(reading.normal.translate(TYPED)) + lost
    assert from_state(SOME.state()).read(text) == reading

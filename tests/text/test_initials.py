"""Initials end no sentence and make no pause; a letter at the end of a sentence does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.speak.sentences import lines
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.normalise.spelling import initials
from olu.text.words import split_sentences

ENDS = (".", "?", "!", "…")
WHOLE = [
    "Lo escribió J. R. Pérez ayer",
    "Lo escribió J.R.R. Tolkien ayer",
    "A J. Pérez le gusta",
    "En 1990 J. R. Pérez vino",
    "John F. Kennedy was there",
    "J. de la Cruz vino",
    "vino J. R., el menor",
    "Habló la Dra. M. Gil",
    "Vino, V. Gómez también",
    "А. С. Пушкин родился в Москве",
    "поэт А.С. Пушкин и В. Маяковский",
    "Bwana J. K. Nyerere alikuja",
    "Ọ. Adébáyọ̀ ti dé",
    "J.\nPérez",
    "El autor (J. R.) vino ayer",
    "«J. R.» vino ayer",
    "It was said by J. Li",
    "Professor A. Ng came",
    "Ayer vino J. Wu con M. Xu",
]
ENDING = [
    ("Plan B.", "Then we left."),
    ("We had a plan B.", "Nobody knew it."),
    ("Toma vitamina C.", "Estudios lo prueban."),
    ("From A to B.", "Nobody knows."),
    ("Reinó Felipe V.", "Madrid creció."),
    ("You know more than I.", "Nobody does."),
    ("Tiene 220 V.", "Nunca toques."),
    ("A las 8 A.M.", "María salió."),
    ("A las 8 P. M.", "María salió."),
    ("Es de J. R.", "El libro gustó."),
    ("in the U.S.", "The end."),
    ("Murió en 300 a. C.", "Roma creció."),
    ("план Б.", "Никто не знал."),
    ("Es el hijo de J.", "Él lo sabe."),
    ("I met J.", "We left."),
    ("Знаю А.", "Он здесь."),
    ("Mo mọ̀ J.", "Ní àná."),
]


@pytest.mark.parametrize("text", WHOLE)
def test_initials_end_no_sentence(text: str) -> None:
    assert split_sentences(f"{text}. Sí.", ENDS, abbreviations=["Dra."]) == [f"{text}.", "Sí."]


@pytest.mark.parametrize(("first", "second"), ENDING)
def test_a_letter_may_still_end_one(first: str, second: str) -> None:
    assert split_sentences(f"{first} {second}", ENDS, abbreviations=["a."]) == [first, second]


@pytest.mark.parametrize(
    ("code", "text", "normal"),
    [
        ("spa", "Lo dijo J. R. Pérez.", "lo dijo jota erre pérez."),
        ("spa", "Y. Pérez y A. Gómez.", "ye pérez y a gómez."),
        ("spa", "Vino J. R., el menor.", "vino jota erre, el menor."),
        ("spa", "El plan B. Luego no.", "el plan be. luego no."),
        ("spa", "Es de J. R. El fin.", "es de jota erre. el fin."),
        ("spa", "La empresa Sol S. A. Vendió.", "la empresa sol sociedad anónima. vendió."),
        ("spa", "A las 8 P. M. Juan vino.", "a las ocho de la noche juan vino."),
        ("spa", "Vino D. José Pérez.", "vino don josé pérez."),
        ("spa", "El Sr. D. Quijano y Dña. Ana.", "el señor don quijano y doña ana."),
        ("spa", "D. Juan y J. D. Juan.", "don juan y jota de juan."),
        ("spa", "Saqué una nota D. Luis dijo que no.", "saqué una nota de luis dijo que no."),
        ("spa", "Franklin D. Roosevelt.", "franklin de roosevelt."),
        ("spa", "Toma vitamina D. José vino.", "toma vitamina de. josé vino."),
        ("spa", "Lo dijo J. Li.", "lo dijo jota li."),
        ("swa", "Bwana J. K. Nyerere.", "bwana je ke nyerere."),
        ("swa", "Saa 8 A.M. Juma alikuja.", "saa nane asubuhi juma alikuja."),
        ("yor", "Ọ. Adébáyọ̀ dé.", "ọ́ adébáyọ̀ dé."),
    ],
)
def test_they_are_read_by_their_names_without_a_pause(code: str, text: str, normal: str) -> None:
    reading = for_language(load(code)).read(text)
    assert reading.normal == normal
    assert sum("." in between or "," in between for between in reading.breaks) == normal.count(".") + normal.count(",")


def test_a_long_text_is_split_in_the_same_places_however_it_is_cut() -> None:
    text = "Lo dijo J. R. Pérez a M. Soto. " * 700
    assert {line.text for line in lines(text, ENDS)} == {"Lo dijo J. R. Pérez a M. Soto."}


@given(st.text("AJVb. ,\ńЯя5(", max_size=40))
def test_points_are_points_of_the_text(text: str) -> None:
    for one in initials(text):
        assert all(text[at - 1] == "." for at in one.points) and one.start < one.points[-1] <= one.end
    assert "".join("".join(split_sentences(text, ENDS)).split()) == "".join(text.split())

"""Control inside a text: what is read, what is refused, and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.core.errors import TextError
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.markup import parse, spans

SPANISH = for_language(load("spa"))
PIECES = [
    "[[",
    "]]",
    "<",
    ">",
    "</",
    "/>",
    "sub",
    "break",
    "alias=",
    '"x"',
    "'",
    "say-as",
    "phoneme",
    " ",
    "a",
    "&lt;",
    "\n",
    "p>",
]


def kinds(text: str) -> list[tuple[str, str]]:
    return [(piece.kind, piece.phones or piece.text) for piece in parse(text)]


def test_plain_text_is_one_piece() -> None:
    assert kinds("2 < 3, 3 > 2, a[1] and <3") == [("plain", "2 < 3, 3 > 2, a[1] and <3")]


def test_every_kind() -> None:
    text = 'a [[p a]] <sub alias="Estados Unidos">EE</sub><break time="300ms"/><phoneme ph="k a">x</phoneme>'
    assert kinds(text) == [
        ("plain", "a "),
        ("phones", "p a"),
        ("plain", " "),
        ("plain", "Estados Unidos"),
        ("break", ","),
        ("phones", "k a"),
    ]


def test_escapes_are_read() -> None:
    assert kinds("a &lt;b&gt; &amp; &copy") == [("plain", "a <b> & &copy")]


@pytest.mark.parametrize(
    ("given_break", "mark"),
    [
        ("<break/>", ","),
        ("<break time='0s'/>", ""),
        ("<break time='0.4s'/>", "."),
        ("<break time='399ms'/>", ","),
        ("<break strength='x-strong'></break>", "."),
        ("<break strength='none'/>", ""),
    ],
)
def test_breaks(given_break: str, mark: str) -> None:
    assert kinds(given_break) == [("break", mark)]


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("a [[b", 3, "never closed"),
        ("a b]]", 4, "closes nothing"),
        ("[[ ]]", 1, "holds no phones"),
        ("ab <sub>x</sub>", 4, "needs alias"),
        ("<sub alias='x'>y", 1, "never closed"),
        ("<foo/>", 1, "<foo> is no tag"),
        ("<brake/>", 1, "did you mean 'break'"),
        ("<break tim='1s'/>", 1, "no attribute 'tim'"),
        ("<break time='soon'/>", 1, "no time"),
        ("<break strength='loud'/>", 1, "not one of"),
        ("<say-as interpret-as='numbers'>1</say-as>", 1, "did you mean 'number'"),
        ("<phoneme alphabet='x-sampa' ph='a'>b</phoneme>", 1, "alphabet"),
        ("<phoneme ph='a'", 1, "never closed with >"),
        ("<speak>a", 1, "never closed"),
        ("a</p>", 2, "closes nothing"),
        ("<sub alias='x'><break/></sub>", 16, "other markup"),
    ],
)
def test_malformed_markup_is_refused_with_its_position(text: str, at: int, what: str) -> None:
    with pytest.raises(TextError, match=what) as refused:
        parse(text)
    assert str(refused.value).startswith(f"character {at}:")


def test_a_position_in_a_long_text_has_its_line() -> None:
    with pytest.raises(TextError, match="line 3, character 2:"):
        parse("a\nb\n [[c")


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_markup_is_read_or_refused(text: str) -> None:
    spans(text)
    try:
        found = parse(text)
    except TextError:
        return
    assert all(piece.kind in ("plain", "phones", "break", "say-as") for piece in found)


def test_phones_are_said_as_given() -> None:
    reading = SPANISH.read("el [[ˈk a s a]] <phoneme ph='ˈp e r o'>pero</phoneme>")
    assert [word.phones for word in reading.words] == [("e", "l"), ("k", "a", "s", "a"), ("p", "e", "r", "o")]
    assert reading.words[1].stress == 0
    assert reading.words[2].text == "pero"
    assert reading.dropped == {}


def test_a_phone_the_language_lacks_is_refused_with_its_position() -> None:
    with pytest.raises(TextError, match=r"character 4: 'ʘ' is not a phone of Spanish"):
        SPANISH.read("el [[ʘ a]]")


def test_say_as_spells() -> None:
    digits = SPANISH.read("<say-as interpret-as='digits'>302</say-as>").normal
    assert digits.split() == ["tres", "cero", "dos"]
    assert SPANISH.read("302").normal.split()[0] == "trescientos"


def test_a_break_is_heard_between_words() -> None:
    assert SPANISH.read("uno <break time='1s'/> dos").breaks == ("", ". ", "")
    assert SPANISH.read("uno<break strength='weak'/>dos").breaks == ("", ", ", "")

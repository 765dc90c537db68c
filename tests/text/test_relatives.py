"""Which symbol a new one is taken for at first."""

from __future__ import annotations

import pytest

from olu.core.errors import MissingExtra
from olu.text import fallback as relatives
from olu.text.fallback import relative

LATIN = {*"abcdefghijklmnopqrstuvwxyz ", "ọ"}


@pytest.mark.parametrize(
    ("symbol", "near"),
    [
        ("ị", "i"),  # the base letter
        ("ṅ", "n"),
        ("á", "a"),  # the vowel without its tone
        ("ọ́", "ọ"),  # one mark fewer before all marks
        ("ọ\u0301\u0323", "ọ"),
        ("Ị", "i"),
        ("Ọ", "ọ"),
        ("aː", "a"),
        ("ˈe", "e"),  # the vowel without its stress
        ("ˌọ́", "ọ"),
        ("ˈ", None),
        ("ﬁ", "f"),
        ("ɓ", "b"),  # b with hook, by its name
        ("ø", "o"),
        ("!", None),
        ("\u0301", None),
        ("7", None),
    ],
)
def test_the_nearest_known_symbol(symbol: str, near: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relatives, "_in_latin", lambda *_: iter(()))
    assert relative(symbol, LATIN) == near


@pytest.mark.parametrize(
    ("symbol", "near"),
    [("g", "ɡ"), ("y", "j"), ("G", "ɡ"), ("ñ", "ɲ"), ("r", "ɾ"), ("é", "e"), ("ọ́", "ɔ"), ("c", "t͡ʃ"), ("-", None)],
)
def test_a_letter_starts_from_its_sound_where_phones_are_known(symbol: str, near: str | None) -> None:
    phones = {*"abdefhijklmnopstuwz", "ɡ", "ɲ", "ɾ", "ɔ", "t͡ʃ"}
    assert relative(symbol, phones, language="wol") == near


def test_a_symbol_is_never_its_own_relative() -> None:
    assert relative("a", {"a", "b"}) is None


def test_another_script_goes_by_its_first_latin_letter() -> None:
    pytest.importorskip("uroman", reason="the extra 'text' is not installed")
    assert relative("አ", LATIN, language="amh") == "a"
    assert relative("ŋ", LATIN) == "n"
    assert relative("е", {"a", "e"}, language="rus") == "e"  # uroman writes ye: y is not known, e is
    assert relative("г", {"k", "ɡ"}, language="rus") == "ɡ"  # the g of phones
    assert relative("ш", {"s", "h", "ʃ"}, language="rus") == "ʃ"
    assert relative("ш", {"s", "h"}, language="rus") == "s"
    assert relative("й", {"i", "j"}, language="rus") == "j"


def test_without_uroman_nothing_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    from olu.text import characters as uroman

    def gone() -> None:
        raise MissingExtra("romanising a text", extra="text", package="uroman")

    monkeypatch.setattr(uroman, "_uroman", gone)
    assert relative("አ", LATIN, language="amh") is None

"""Ids of symbols: blanks between them, old ids that never move."""

from __future__ import annotations

import pytest

from olu.core.errors import TextError
from olu.text.characters import CharacterFrontend
from olu.text.vocabulary import BLANK, SymbolVocabulary

READ = CharacterFrontend("ibo").read


def test_blanks_stand_between_and_around() -> None:
    vocabulary = SymbolVocabulary.of("abc ")
    assert vocabulary.symbols == (BLANK, " ", "a", "b", "c")
    ids = vocabulary.encode(READ("ab c"))
    assert ids == [0, 2, 0, 3, 0, 1, 0, 4, 0]
    assert len(ids) == 2 * len("ab c") + 1


def test_without_interleaving_ids_stand_alone() -> None:
    assert SymbolVocabulary("_abc", interleave=False).encode(READ("cab")) == [3, 1, 2]


def test_the_order_of_the_corpus_does_not_matter() -> None:
    assert (
        SymbolVocabulary.of(["b", "a", "_", "b"]).symbols == SymbolVocabulary.of(["a", "b"]).symbols == ("_", "a", "b")
    )


def test_extending_appends() -> None:
    old = SymbolVocabulary.of("xyz")
    new = old.extend(["y", "a", "ŋ", "a"])
    assert new.symbols == (*old.symbols, "a", "ŋ")
    assert new.encode(READ("xyz")) == old.encode(READ("xyz"))
    assert (old.size, new.size) == (4, 6)
    assert SymbolVocabulary("_a", interleave=False).extend("b").interleave is False


def test_an_unknown_symbol_is_named() -> None:
    with pytest.raises(TextError, match="'ụ'"):
        SymbolVocabulary.of("abc").encode(READ("abục"))


def test_a_symbol_twice_is_an_error() -> None:
    with pytest.raises(TextError, match="twice"):
        SymbolVocabulary(["_", "a", "a"])


@pytest.mark.parametrize("interleave", [True, False])
def test_round_trip(interleave: bool) -> None:
    vocabulary = SymbolVocabulary(["_", "tʃ", "a", " "], interleave=interleave)
    again = SymbolVocabulary.from_state(vocabulary.state())
    assert (again.symbols, again.interleave) == (vocabulary.symbols, vocabulary.interleave)


def test_blank_and_placeholders_cannot_be_said() -> None:
    vocabulary = SymbolVocabulary(["_", "<unk>", "<unused-2>", "a", "<", ">", " ", "<>"])
    assert vocabulary.sayable() == ["a", "<", ">", " ", "<>"]

"""BPE pieces: equal to `tokenizers`, marks inside words, ids that never move."""

from __future__ import annotations

import random

import pytest

from olu.core.errors import TextError
from olu.core.types import Reading, Word
from olu.text.pieces import SPACE, UNKNOWN, PieceVocabulary, vocabulary_from
from olu.text.vocabulary import StreamVocabulary, SymbolVocabulary

LINES = ["habari ya leo", "ọ̀rọ̀ náà dára púpọ̀", "ሰላም ለዓለም", "watu wengi, wengi sana!", "well-known 12 words_here"] * 3


def lines(count: int) -> list[str]:
    """Words of several scripts in any order, with signs between them."""
    chance = random.Random(5)
    words = [word for line in LINES for word in line.split()]
    return [
        "".join(chance.choice((" ", "  ", "-", ", ", "")) + chance.choice(words) for _ in range(6))
        for _ in range(count)
    ]


def test_pieces_are_those_of_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    own = PieceVocabulary.learn(LINES, merges=60)
    again = [*own.merges, *own.merges[:20]]  # a pair that stands twice: the last place counts
    model = tokenizers.models.BPE(
        vocab={piece: id for id, piece in enumerate(own.symbols)}, merges=again, unk_token=UNKNOWN, fuse_unk=False
    )
    theirs = tokenizers.Tokenizer(model)
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    theirs.add_special_tokens(list(own.specials))
    ours = PieceVocabulary(own.symbols, again, specials=own.specials)
    for line in lines(10_000):
        assert ours.encode_text(line) == theirs.encode(line.replace(" ", SPACE)).ids, line


def test_what_is_written_is_read_again() -> None:
    made = PieceVocabulary.learn(LINES, merges=20, tag="swa")
    assert made.encode_text("habari")[0] == made.symbols.index("[swa]")
    for line in LINES:
        assert made.decode(made.encode_text(line)) == line
    again = vocabulary_from(made.state())
    assert isinstance(again, PieceVocabulary) and again.encode_text(LINES[1]) == made.encode_text(LINES[1])
    grown = made.extend(["ñ", "habari"])
    assert grown.symbols[: made.size] == made.symbols and grown.symbols[made.size :] == ("ñ",)
    assert all(grown.encode_text(line) == made.encode_text(line) for line in LINES)
    assert made.encode_text("ñ")[-1] == made.symbols.index(UNKNOWN)


def test_a_merge_without_its_piece_is_refused() -> None:
    with pytest.raises(TextError, match="a merge has 'ab', which is no piece"):
        PieceVocabulary(["a", "b"], [("a", "b")])


def test_kinds_are_told_apart_by_their_state() -> None:
    word = Word("ọ̀rọ́", ("ɔ", "ɾ", "ɔ"), ("L", "H"), (0, 2), stress=0)
    reading = Reading(text="", normal="", words=(word,), breaks=("", "."))
    streams = StreamVocabulary(["_", ".", "ɔ", "ɾ"])
    assert streams.encode(reading) == [0, 2, 3, 2, 1]  # a gap before, between and after words, written or not
    assert streams.streams(reading) == {
        "tones": [0, 4, 0, 2, 0],
        "stress": [0, 1, 0, 0, 0],
        "gaps": [1, 0, 0, 0, 1],
    }
    assert isinstance(vocabulary_from(streams.state()), StreamVocabulary)
    assert "kind" not in SymbolVocabulary(["_", "a"]).state()  # packages of today stay as they are
    with pytest.raises(TextError, match="of the kind 'other' is unknown"):
        vocabulary_from({"kind": "other", "symbols": []})

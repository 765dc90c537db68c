"""Pieces of bytes, as GPT-2 cuts texts: whatever is written has ids, and they are those of other programs."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.chatterbox_release import TAGS, byte_vocabulary

from olu.core.errors import TextError
from olu.text.byte_words import BYTE_SIGNS, byte_words
from olu.text.languages import load
from olu.text.piece_files import byte_files, read_byte_pieces
from olu.text.piece_growth import renamed_starts, starts_of, with_language
from olu.text.pieces import BytePieceVocabulary, vocabulary_from

VARIABLE = "OLU_GPT2_TOKENIZER"  # a folder with vocab.json and merges.txt of GPT-2, which are not in the project
REAL = Path(os.environ.get(VARIABLE, ""))
JOINS = (" ", "  ", "\n", " \n ", "\u00a0", "'s ", "12 ", "\t\t", " - ", "'re", "3.5", "\u0301", " — ", "x'll")
MADE = byte_vocabulary()


def written(folder: Path, **changed: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in {**byte_files(MADE), **{name.replace("_", "."): text for name, text in changed.items()}}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def lines_of(count: int) -> list[str]:
    lines = [text for code in ("swa", "spa", "amh") for text in load(code).sentences()]
    lines += ["ọ̀rọ̀ ńlá púpọ̀", "ụ́mụ̀ ọ̀kụ́kọ̀", "ɓarawo ya ƙi", "don't we'll I've 12ab", "…«quoted»"]
    random, words = np.random.default_rng(0), [word for line in lines for word in line.split()]
    while len(lines) < count:
        lines.append("".join(random.choice(words) + random.choice(JOINS) for _ in range(int(random.integers(1, 12)))))
    return lines


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_has_ids_and_comes_back(text: str) -> None:
    ids = [MADE.encode_text(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")]
    assert ids[0] == ids[1]
    assert MADE.decode(ids[0]) == unicodedata.normalize("NFC", text)
    assert "".join(byte_words(text)).count(BYTE_SIGNS[0]) == text.count("\0")


def test_ids_are_those_of_tokenizers(tmp_path: Path) -> None:
    from tokenizers import ByteLevelBPETokenizer

    folder = written(tmp_path / "made")
    public = ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    for line in lines_of(500):
        assert MADE.encode_text(line) == public.encode(unicodedata.normalize("NFC", line)).ids, line


@pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no folder with the tokenizer of GPT-2")
def test_ids_of_the_published_tokenizer() -> None:
    from tokenizers import ByteLevelBPETokenizer

    held = read_byte_pieces(REAL)
    public = ByteLevelBPETokenizer(str(REAL / "vocab.json"), str(REAL / "merges.txt"))
    assert held.size >= 50257
    for line in lines_of(10_000):
        assert held.encode_text(line) == public.encode(unicodedata.normalize("NFC", line)).ids, line


def test_its_files_and_its_state_come_back(tmp_path: Path) -> None:
    read = read_byte_pieces(written(tmp_path / "made"))
    assert read.symbols == MADE.symbols and read.merges == MADE.merges and set(read.specials) == set(MADE.specials)
    again = vocabulary_from(json.loads(json.dumps(read.state())))
    assert isinstance(again, BytePieceVocabulary) and again.state() == read.state()
    (tmp_path / "made" / "added_tokens.json").unlink()  # newer folders name them among the settings alone
    assert read_byte_pieces(tmp_path / "made").symbols == MADE.symbols
    assert not set(TAGS) & {read.symbols[id] for id in read.encode_text(TAGS[0])}, "no text makes a special token"


def test_a_language_adds_no_row_but_its_signs_are_met() -> None:
    grown = with_language(MADE, ["ሰላም ነው"], language="amh")
    assert isinstance(grown, BytePieceVocabulary) and grown.symbols == MADE.symbols
    assert {"ሰ", "ላ", "ም", "ነ", "ው"} <= set(grown.signs(lower=False)) and "ሰ" not in MADE.signs(lower=False)
    assert starts_of(MADE.symbols, grown, language="amh") == () == renamed_starts(MADE.symbols, grown)
    assert with_language(grown, ["ሰላም"], language="amh").state() == grown.state()


def test_words_begin_where_they_are_written() -> None:
    for text, count in (("ọ̀rọ̀ ńlá — púpọ̀", 3), ("the other day", 3), ("ሰላም ነው።", 2), ("...", 0)):
        ids = MADE.encode_text(text)
        firsts = MADE.word_firsts(ids)
        assert len(firsts) == count, text
        assert [MADE.decode(ids[at:]).split()[0] for at in firsts] == [
            word for word in text.split() if word[0].isalnum()
        ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("vocab_json", "[1]", "no table of pieces and ids"),
        ("vocab_json", "{", "cannot be read as a vocabulary"),
        ("vocab_json", '{"a": 7}', "whose ids are not 0 to"),
        ("merges_txt", "a b c\n", "line 1: 'a b c' is no pair"),
        ("merges_txt", "q q\n", "'qq', which is no piece"),
        ("added.tokens_json", "", ""),
    ],
)
def test_damaged_files_are_one_sentence(tmp_path: Path, name: str, text: str, said: str) -> None:
    if not said:
        folder = written(tmp_path / "made")
        (folder / "added_tokens.json").write_text('{"a": 3}', encoding="utf-8")
        said = r"the token 'a' has the ids \d+ and 3"
    else:
        folder = written(tmp_path / "made", **{name: text})
    with pytest.raises(TextError, match=said):
        read_byte_pieces(folder)


def test_a_vocabulary_without_a_byte_is_refused() -> None:
    with pytest.raises(TextError, match="no piece for the byte 255"):
        BytePieceVocabulary(BYTE_SIGNS[:-1], met="a")

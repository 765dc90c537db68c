"""Pieces of a released vocabulary: read as `tokenizers` reads them, extended by a language, old texts left alone."""

from __future__ import annotations

import json
import os
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from olu.core.errors import TextError
from olu.text.languages import available
from olu.text.piece_files import read_pieces, tokenizers_file
from olu.text.piece_growth import prove, starts_of, with_language
from olu.text.pieces import SPACE, PieceVocabulary, tag_of, vocabulary_from, words_of

from ..helpers.xtts_vocabulary import LETTERS, TEXTS, made_file

COUNT = 3000 if os.environ.get("OLU_SOAK") == "1" else 600
YORUBA = ["ọ̀rọ̀ tó dára púpọ̀ ni ẹ̀kọ́ wa, ọ̀rẹ́ mi!", "ẹ̀kọ́ ọ̀la ṣe pàtàkì."] * 4
AMHARIC = ["ሰላም ለዓለም ሁሉ።", "እንዴት ነህ ወንድሜ፧"] * 3


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> PieceVocabulary:
    path = tmp_path_factory.mktemp("vocab") / "vocab.json"
    path.write_text(json.dumps(made_file(), ensure_ascii=False), encoding="utf-8")
    return read_pieces(path)


def theirs(vocabulary: PieceVocabulary) -> Any:
    tokenizers = pytest.importorskip("tokenizers")
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizers_file(vocabulary)))


def texts(vocabulary: PieceVocabulary, count: int) -> list[str]:
    """Random strings of pieces, of letters and of signs, and every shipped sentence in both forms of Unicode."""
    chance, said = random.Random(9), list[str]()
    pieces = [piece for piece in vocabulary.sayable() if len(piece) < 8]
    signs = [*LETTERS, " ", "  ", "\t", "\xa0", "ọ", "́", "̣", "ሰ", "Ⓐ", "٣", "‍", "_", "“", "漢"]
    for _ in range(count):
        some = chance.choices(pieces, k=6) + chance.choices(signs, k=6)
        chance.shuffle(some)
        said.append("".join(some))
    for language in available():
        for sentence in language.sentences():
            said += [unicodedata.normalize(form, sentence.lower()) for form in ("NFC", "NFD")]
    return said


def ids_of(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text.replace(" ", SPACE)).ids)


def test_a_released_file_is_cut_as_tokenizers_cuts_it(released: PieceVocabulary) -> None:
    assert released.size == 6681 and released.symbols[261] == "[START]" and released.symbols[6680] == "[hi]"
    assert len(set(released.merges)) < len(released.merges)  # pairs that stand several times
    grown = with_language(released, YORUBA + AMHARIC, language="yor", merges=40)
    for vocabulary in (released, grown):
        tokenizer, plain = theirs(vocabulary), PieceVocabulary(vocabulary.symbols, vocabulary.merges)
        for text in texts(vocabulary, COUNT):
            assert plain.encode_text(text) == ids_of(tokenizer, text), text
        tagged = f"[{vocabulary.tag}]" if vocabulary.tag else ""
        assert vocabulary.encode_text("la calle") == ids_of(tokenizer, f"{tagged}la calle")


def test_a_reader_for_whom_the_first_place_counts_cuts_otherwise(released: PieceVocabulary) -> None:
    first = PieceVocabulary(released.symbols, dict.fromkeys(released.merges), specials=released.specials)
    said = texts(released, 200)
    assert sum(first.encode_text(text) != released.encode_text(text) for text in said) > 0.2 * len(said)


def test_word_signs_are_those_of_tokenizers() -> None:
    split = pytest.importorskip("tokenizers").pre_tokenizers.Whitespace().pre_tokenize_str
    step = 1 if os.environ.get("OLU_SOAK") == "1" else 7
    for code in range(0, 0x110000, step):
        sign = chr(code)
        if unicodedata.category(sign) not in ("Cn", "Cs", "Co") and sign != " ":
            assert list(words_of(f"a{sign}a")) == [one for one, _ in split(f"a{sign}a")], hex(code)
    assert "á" in set(words_of("á")) and len(list(words_of("ọ̀rọ̀"))) == 1  # Python's own \w leaves marks out


def test_a_language_is_added_at_the_end_and_old_texts_stay(released: PieceVocabulary) -> None:
    grown = with_language(released, YORUBA, language="yor")
    assert grown.symbols[: released.size] == released.symbols
    new = grown.symbols[released.size :]
    assert new[0] == "[yo]" and {"ọ", "ṣ", "̀", "ọ̀", "ẹ́"} >= set(new[1:]) - {"ẹ", "ọ́", "ẹ̀", "́", "̀"}
    assert "ọ̀" in new and "ẹ̀" in new  # a letter with a mark that no sign writes as one
    assert grown.encode_text("ọ̀")[0] == grown.symbols.index("[yo]") and len(grown.encode_text("ọ̀")) == 2
    plain = PieceVocabulary(grown.symbols, grown.merges)
    assert all(plain.encode_text(text) == released.encode_text(text) for text in TEXTS)
    proof = prove(grown, dict(enumerate(YORUBA)), old=released.size)  # type: ignore[arg-type]
    halves = {half for pair in grown.merges for half in pair}
    assert not proof.faults and all(times or piece in halves for piece, times in proof.counts.items())
    before = prove(released, {"one": YORUBA[0]}, old=released.size)
    assert "is not in the vocabulary" in before.faults["one"]


def test_extending_twice_is_extending_once(released: PieceVocabulary) -> None:
    for merges in (0, 25):
        once = with_language(released, AMHARIC, language="amh", merges=merges)
        again = with_language(once, AMHARIC, language="amh", merges=merges)
        kept = vocabulary_from(once.state())
        assert isinstance(kept, PieceVocabulary) and once.state() == again.state()
        assert with_language(kept, AMHARIC, language="amh", merges=merges).state() == once.state()
    assert tag_of("amh") == "am" and tag_of("tig") == "tig"


def test_learnt_merges_leave_what_was_there_as_it_was(released: PieceVocabulary) -> None:
    swahili = next(one for one in available() if one.code == "swa").sentences()
    said = [text.lower() for text in swahili]
    grown = with_language(released, said, language="swa", merges=300, keep=TEXTS)
    assert grown.learnt > 20 and not set(grown.merges[len(released.merges) :]) & set(released.merges)
    both = (with_language(released, said, language="swa"), grown)
    tokens = [sum(len(one.encode_text(text)) for text in said) for one in both]
    assert tokens[1] < 0.97 * tokens[0]
    plain, old = (PieceVocabulary(one.symbols, one.merges) for one in (grown, released))
    for text in [*TEXTS, *released.sayable()]:
        assert plain.encode_text(text) == old.encode_text(text)
    learnt = {"".join(pair) for pair in grown.merges[-grown.learnt :]}
    assert learnt <= set(grown.symbols[released.size :])
    # the counter-test: appending merges learnt for themselves, as forks do, cuts old words otherwise
    alone = PieceVocabulary.learn(said, merges=300)
    pieces = dict.fromkeys([*released.symbols, *alone.sayable()])
    forked = PieceVocabulary(pieces, [*released.merges, *alone.merges], specials=released.specials)
    words = [word for text in TEXTS for word in text.split()]
    assert any(forked.encode_text(word) != released.encode_text(word) for word in words)


def test_new_rows_start_from_relatives(released: PieceVocabulary) -> None:
    grown = with_language(released, YORUBA, language="yor")
    starts = dict(zip(grown.symbols[released.size :], starts_of(released.symbols, grown, language="yor"), strict=True))
    tags = starts["[yo]"]
    assert isinstance(tags, tuple) and len(tags) == 17
    assert starts["ọ"] == released.symbols.index("o") and starts["ọ̀"] == released.symbols.index("o")


def test_no_text_makes_a_special_token(released: PieceVocabulary) -> None:
    tokens = {released.symbols[id] for id in released.encode_text("[STOP] [en] [START]")}
    assert not tokens & {"[STOP]", "[START]", "[en]"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": {"type": "WordPiece", "vocab": {}}}, "no BPE vocabulary"),
        ({"model": {"vocab": {"a": 5, "b": 5}}}, "to another piece too"),
        ({"model": {"vocab": {"a": 0}}, "added_tokens": []}, r"has no \[STOP\]"),
        ({"added_tokens": [{"id": "1", "content": "x"}]}, "added_tokens is not a list"),
        ({"model": {**made_file()["model"], "merges": ["q zz9"]}}, "which is no piece"),
        ({"model": {**made_file()["model"], "dropout": 0.1}}, "dropout is set"),
        ({"model": {**made_file()["model"], "vocab": {"a": 10**9}}}, "no number below"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_a_sentence(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps({**made_file(), **change}), encoding="utf-8")
    with pytest.raises(TextError, match=said):
        read_pieces(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(TextError, match="cannot be read as a vocabulary"):
        read_pieces(path)


def test_a_hole_in_the_ids_keeps_its_row(tmp_path: Path) -> None:
    held = json.loads(json.dumps(made_file()))
    lost = next(piece for piece, id in held["model"]["vocab"].items() if id == 5024)
    del held["model"]["vocab"][lost]
    held["model"]["merges"] = [
        one for one in held["model"]["merges"] if lost not in (*one.split(" "), one.replace(" ", ""))
    ]
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps(held), encoding="utf-8")
    read = read_pieces(path)
    assert read.size == 6681 and read.symbols[5024] == "[hole 5024]" and read.symbols[6680] == "[hi]"
    assert "[hole 5024]" not in tokenizers_file(read)["model"]["vocab"]

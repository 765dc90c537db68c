"""Letters become the same ids as in transformers' VitsTokenizer, on vocabularies of its kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.core.errors import LanguageError, MissingExtra
from olu.text import characters as uroman
from olu.text.characters import CharacterFrontend
from olu.text.vocabulary import SymbolVocabulary

transformers = pytest.importorskip("transformers", reason="transformers is not installed (olu[dev])")

# id 0 is the blank, and in most of these a letter too
VOCABULARIES = {
    "eng": "k'z yuditscxhmlwrvfpngobqeaj-1",
    "spa": "7dñkíó qéáaeioucpbgfhjlmnrstvxyzwúü1'",
    "vie": "ụa bcdeghiklmnopqrstuvxyàáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợủứừửữựỳỵỷỹ",
    "ron": "cabdefghijlmnoprstuvxz ăâîşţ",
    "cap": "xABab c",
}


def tokenizer(folder: Path, symbols: str, **options: Any) -> Any:
    table = {symbol: id for id, symbol in enumerate([*symbols, "<unk>"])}
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    return transformers.VitsTokenizer(
        str(folder / "vocab.json"), pad_token=symbols[0], unk_token="<unk>", phonemize=False, **options
    )


def ids(judge: Any, text: str) -> list[int]:
    """Called as a whole it cuts the text at its pad token, which in these is a letter, and leaves out blanks there. The
    models were trained with one on either side of every letter."""
    return [judge._convert_token_to_id(token) for token in judge._tokenize(judge.prepare_for_tokenization(text)[0])]


def ours(language: str, symbols: str, text: str, **options: Any) -> tuple[list[int], dict[str, int]]:
    vocabulary = SymbolVocabulary([*symbols, "<unk>"])
    reading = CharacterFrontend(language, inventory=vocabulary.sayable(), **options).read(text)
    return vocabulary.encode(reading), reading.dropped


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("eng", "Kick, the KICK's 1st"),
        ("eng", "zażółć!"),
        ("spa", "¿Qué año, niño? 7 pingüinos"),
        ("vie", "Tiếng Việt ụ Ụ"),
        ("ron", "Ţară și țară ȚARĂ"),
        ("cap", "AaBbCc xX"),
    ],
)
def test_ids_are_those_of_the_tokenizer(tmp_path: Path, language: str, text: str) -> None:
    judge = tokenizer(tmp_path, VOCABULARIES[language], language=language)
    if language == "ron":  # it mends ț for ţ and drops ș and the capital; they are one letter typed in two ways as well
        assert ours(language, VOCABULARIES[language], text)[0] == ids(judge, text.lower().replace("ș", "ş"))
    else:
        assert ours(language, VOCABULARIES[language], text)[0] == ids(judge, text)


@given(data=st.data(), language=st.sampled_from(["eng", "spa", "vie", "cap"]))
def test_any_row_of_letters(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, language: str) -> None:
    letters = [*sorted(set(VOCABULARIES[language]) - set("'-")), *"ABCQXÑÉ?!ሀß"]
    words = data.draw(st.lists(st.text(st.sampled_from([c for c in letters if c != " "]), min_size=1), min_size=1))
    text = " ".join(words)
    folder = tmp_path_factory.mktemp("vocab", numbered=True)
    theirs = ids(tokenizer(folder, VOCABULARIES[language], language=language), text)
    mine, dropped = ours(language, VOCABULARIES[language], text)
    known = set(VOCABULARIES[language])
    if "  " not in "".join(
        c for c in text if {c, c.lower()} & known
    ):  # where a word is lost we leave one space, it two
        assert mine == theirs
    assert set(dropped) == {c for c in (c if c in known else c.lower() for c in text) if c not in known}


def test_a_base_in_latin_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uroman", reason="uroman is not installed (olu[text])")
    from transformers.models.vits import tokenization_vits

    loaded = uroman._uroman()
    monkeypatch.setattr(tokenization_vits.ur, "Uroman", lambda: loaded)  # it would load its tables for every text
    symbols = "cbtelpaimwdnsyhqfkjgozurvx'_ "
    judge = tokenizer(tmp_path, symbols, language="amh", is_uroman=True)
    for text in ("ሰላም ለኢትዮጵያ።", "ABC ሀገር 2015", "plain text"):
        assert ours("amh", symbols, text, via="uroman")[0] == ids(judge, text)
    assert uroman._uroman() is loaded
    assert uroman.romanise("Привет, мир", language="rus") == "Privet, mir"


def test_uroman_is_refused_where_it_would_lose_letters() -> None:
    with pytest.raises(LanguageError, match=r"letters of its own \(ụ\)"):
        CharacterFrontend("vie", inventory=["a", "ụ"], via="uroman")
    with pytest.raises(LanguageError, match="Latin letters"):
        CharacterFrontend("ibo", via="uroman")
    CharacterFrontend("amh", inventory=["a", "b"], via="uroman")


def test_without_uroman_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uroman", None)
    monkeypatch.setattr(uroman, "_loaded", [])
    with pytest.raises(MissingExtra, match=r"\[text\]"):
        uroman.romanise("ሰላም", language="amh")
    assert uroman.romanise("plain", language="amh") == "plain"


def test_an_apostrophe_is_one_whichever_way_it_is_typed() -> None:
    assert ours("eng", VOCABULARIES["eng"], "don’t") == ours("eng", VOCABULARIES["eng"], "don't")

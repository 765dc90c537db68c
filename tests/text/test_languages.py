"""Codes and names, language folders, and one conformance test over all of them."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from olu.core.errors import ConfigError, LanguageError
from olu.text import languages
from olu.text.language_data import Pack
from olu.text.languages import FOLDERS, SENTENCE_ENDS, Language, available, load, resolve

SCRIPTS = {"Ethi": "ETHIOPIC", "Latn": "LATIN"}  # how Unicode's names of a script's letters begin
SENTENCES = 60
TOML = """code = "qaa"
name = "Mine"
native = "Mîne"
script = "Latn"
lower = true
sentence_ends = ["."]
"""


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("am", "amh"),
        ("amh", "amh"),
        ("am-ET", "amh"),
        ("am_ET", "amh"),
        (" AM ", "amh"),
        ("Amharic", "amh"),
        ("አማርኛ", "amh"),
        ("ig", "ibo"),
        ("es", "spa"),
        ("es-419", "spa"),
        ("Español", "spa"),
        ("espanol", "spa"),
        ("sw", "swa"),
        ("swa", "swa"),
        ("swh", "swa"),
        ("swh-TZ", "swa"),
        ("Kiswahili", "swa"),
        ("yo", "yor"),
        ("Yorùbá", "yor"),
        (unicodedata.normalize("NFD", "Yorùbá"), "yor"),
        ("ger", "deu"),
        ("de", "deu"),
        ("german", "deu"),
        ("zh-Hant-TW", "zho"),
        ("ara", "ara"),
        ("Luba-Katanga", "lub"),
        ("kmb", "kmb"),
    ],
)
def test_resolve(said: str, meant: str) -> None:
    assert resolve(said) == meant


@pytest.mark.parametrize(
    "wrong", ["igx", "", "a", "amhr", "am-", "am ET", "und", "mul", "qaa", "../amh", "12", "zz-ZZ"]
)
def test_unknown_is_refused(wrong: str) -> None:
    with pytest.raises(LanguageError, match="olu languages"):
        resolve(wrong)


def test_did_you_mean() -> None:
    with pytest.raises(LanguageError, match="did you mean 'amharic'"):
        resolve("Amharik")


def test_tables_are_whole() -> None:
    rows, codes = languages._iso639_1(), languages._iso639_3()
    assert len(rows) == 184
    assert all(len(row) == 4 and len(row[0]) == 2 and row[1] in codes and row[2] for row in rows)
    assert len({row[0] for row in rows}) == len({row[1] for row in rows}) == len({row[2] for row in rows}) == 184
    assert sum(bool(row[3]) for row in rows) == 20  # the languages with a bibliographic code of their own
    assert len(codes) > 7800
    assert all(len(code) == 3 and code.isascii() and code.islower() for code in codes)
    assert not codes & {row[3] for row in rows}


def test_a_language_without_folder_is_generic() -> None:
    assert load("ha") == Language(code="hau", name="Hausa", native="Hausa")
    kimbundu = load("kmb")
    assert kimbundu.name == "kmb"
    assert kimbundu.lower
    assert kimbundu.sentence_ends == SENTENCE_ENDS
    assert kimbundu.folder is None
    assert kimbundu.sentences() == []


def test_a_folder_outside_the_package(tmp_path: Path) -> None:
    (tmp_path / "language.toml").write_text(TOML, encoding="utf-8")
    (tmp_path / "sentences.txt").write_text("One.\n\nTwo.", encoding="utf-8")
    mine = load(tmp_path)
    assert (mine.code, mine.native, mine.sentence_ends, mine.folder) == ("qaa", "Mîne", (".",), tmp_path)
    assert load(str(tmp_path)) == mine
    assert mine.sentences() == ["One.", "Two."]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("lower =", "scrypt = 1\nlower ="), "unknown key 'scrypt'.*did you mean 'script'"),
        (('"qaa"', '"Mine"'), "code"),
        (('"Latn"', '"latin"'), "script"),
        (('["."]', "[]"), "sentence_ends"),
        (("name =", "name"), "not valid TOML"),
    ],
)
def test_a_wrong_toml_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    (tmp_path / "language.toml").write_text(TOML.replace(*change), encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load(tmp_path)


def test_a_folder_without_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=r"no language\.toml"):
        load(tmp_path)


def test_available() -> None:
    assert {"amh", "ibo", "spa", "swa", "yor"} <= {one.code for one in available()}
    assert {"amh", "spa", "swa"} <= {one.code for one in available() if one.sentences()}


@pytest.mark.parametrize("code", [one.code for one in available()])
def test_every_folder(code: str) -> None:
    one = load(FOLDERS / code)
    assert one.code == code
    assert load(code) == one
    assert all(resolve(word) == code for word in (code, one.name, one.native, *one.aliases))
    assert code in languages._iso639_3()
    assert one.script in SCRIPTS
    assert one.folder is not None
    assert (one.folder / "SOURCES.md").is_file()
    assert (one.licence is None) == (not one.sentences())
    for text in (one.name, one.native, *one.aliases, *one.sentence_ends):
        assert text == text.strip() == unicodedata.normalize("NFC", text)
    if one.sentences():
        _check_sentences(one)


def _check_sentences(one: Language) -> None:
    assert one.folder is not None
    raw = (one.folder / "sentences.txt").read_bytes()
    assert raw.endswith(b"\n")
    assert b"\r" not in raw
    sentences = raw.decode("utf-8").split("\n")[:-1]
    assert sentences == one.sentences()
    assert len(sentences) == len(set(sentences)) == SENTENCES
    for sentence in sentences:
        assert sentence == sentence.strip() == unicodedata.normalize("NFC", sentence)
        assert 4 <= len(sentence.split(" ")) <= 12, sentence
        assert sentence.endswith(one.sentence_ends), sentence
        assert "|" not in sentence
        for char in sentence:
            if char.isalpha():
                assert unicodedata.name(char).startswith(SCRIPTS[one.script]), (char, sentence)
            else:
                assert char == " " or unicodedata.category(char).startswith("P"), (char, sentence)


def test_a_voice_may_carry_a_key_that_folders_have_no_more(tmp_path: Path) -> None:
    """Voices made earlier hold `sample` in their language.toml."""
    state = Pack.of(load("swa").files()).state()
    state["files"]["language.toml"] = state["files"]["language.toml"].replace("licence =", 'sample = "sw"\nlicence =')
    again = Pack.from_state(state)
    assert again.facts == Pack.of(load("swa").files()).facts
    assert again.state() == state
    with pytest.raises(ConfigError, match="unknown key 'sample'"):
        Pack.of(again.files)
    (tmp_path / "language.toml").write_text(TOML + 'sample = "es"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="unknown key 'sample'"):
        load(tmp_path)

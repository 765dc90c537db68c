"""A person's own words: what is read, and which line is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from olu.core.errors import LanguageError
from olu.text.frontend import for_language
from olu.text.language_data import load_lexicon
from olu.text.languages import load


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.tsv"
    path.write_text(text, encoding="utf-8")
    return path


def test_words_and_phones(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff# mine\n\nገና\tɡ ə nː a\r\ne\u0301\ta b\n")
    assert load_lexicon(path) == {"ገና": "ɡ ə nː a", "é": "a b"}


@pytest.mark.parametrize(
    ("text", "line"),
    [("ገና\n", 1), ("# x\nገና\t\n", 2), ("\n\n\tɡ ə\n", 3), ("ገና\tɡ ə n a\nገና\tɡ ə nː a\n", 2)],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(LanguageError, match=rf"mine\.tsv line {line}:"):
        load_lexicon(written(tmp_path, text))


def test_a_missing_or_broken_file(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match="is not there"):
        load_lexicon(tmp_path / "no.tsv")
    (tmp_path / "bad.tsv").write_bytes(b"a\t\xff\xfe")
    with pytest.raises(LanguageError, match="UTF-8"):
        load_lexicon(tmp_path / "bad.tsv")


def test_it_goes_before_the_rules(tmp_path: Path) -> None:
    words = load_lexicon(written(tmp_path, "ገና\tɡ ə nː a\n"))
    reading = for_language(load("amh"), lexicon=words).read("ገና መጣ።")
    assert [" ".join(word.phones) for word in reading.words] == ["ɡ ə nː a", "m ə tʼ a"]


def test_the_page_on_languages_shows_a_lexicon_that_works(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "languages.md").read_text(encoding="utf-8")
    shown = page.partition("```\n# words.tsv\n")[2].partition("```")[0]
    (tmp_path / "words.tsv").write_text(shown, encoding="utf-8")
    (word, phones), *_ = load_lexicon(tmp_path / "words.tsv").items()
    text = f"{word} ni"
    with_it = for_language(load("yor"), lexicon={word: phones}).read(text)
    assert " ".join(with_it.symbols()).startswith(phones)
    assert not " ".join(for_language(load("yor")).read(text).symbols()).startswith(phones)


@pytest.mark.parametrize(("code", "text"), [("yor", "ilé\ti l e\nỌlọ́run\tɔ r u\n"), ("amh", "ገና\tɡ ə nː a\nመጣ\tm θ\n")])
def test_a_phone_that_is_none_is_told_with_its_line(code: str, text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(LanguageError, match=re.escape(f"{path} line 2: ")):
        for_language(load(code), lexicon=load_lexicon(path))

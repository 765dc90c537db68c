"""What a language's data may hold, where it comes from strangers: nothing whose reading takes for ever."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import olu.languages
from olu.core.errors import LanguageError, OluError, TextError
from olu.text.frontend import ReadingSettings, for_language
from olu.text.language_data import Pack
from olu.text.languages import load
from olu.text.patterns import check_pattern, check_word_pattern
from olu.text.phones import PhoneFrontend
from olu.text.rules.engine import LetterRules

ENDLESS = (
    "(?:(?:ሀ+)+)+ለ",
    "(?:ሀ|ሀሀ)+ለ",
    "a?" * 30 + "a" * 30,
    "(?:a|a)" * 40 + "x",
    r"\w+\w+\w+\w+x",
    ".*.*.*x",
    "(?:a{1,60}){1,4}b",
    "(?=(?:a+)+b)c",
    "(?!(?:a|b|ab)+c)",
    r"(?:\w+\s*){0,4}x",
    "(?:[\u1200-\u1380]+[\u1200-\u13ff]+){4}x",
    r"(?>a+)(?:\w*\w*\w*)x",
    "a{1,64}a{1,64}a{1,64}a{1,64}b",
)
REFUSED = (*ENDLESS, r"(\w)\1x", r"(?P<day>a)", "(a)", "(", "a" * 30_000)
FINE = (r"\s*(?:mil|millón|millones)(?!\w)", r"(?<!\w)nke\s+", r"\w+(?:as|ciones)(?!\w)", "[a-z]+s", "(?!)", r"a{3}\.?")


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"repeat|ways|group|expression|longer"):
        check_pattern(text)


@pytest.mark.parametrize("text", FINE)
def test_taken(text: str) -> None:
    check_pattern(text)


def test_words_may_repeat_syllables_but_not_without_end() -> None:
    check_word_pattern("(?:(?:ch|[bdfg])?[aeiou]{1,2}[nsrl]?)+[dxyz]?")
    with pytest.raises(ValueError, match="ways"):
        check_word_pattern("(?:" + "a?" * 20 + ")+b")


def amharic(**files: str) -> PhoneFrontend:
    own = dict(load("amh").files())
    return PhoneFrontend(Pack.of({**own, **{name.replace("__", "."): text.encode() for name, text in files.items()}}))


def with_context(key: str, pattern: str) -> str:
    return f"[[context]]\nset = 'cardinal'\n{key} = '{pattern}'\n"


@pytest.mark.parametrize("key", ["before", "after"])
@pytest.mark.parametrize("pattern", ENDLESS[:2])
def test_a_language_with_an_endless_pattern_is_refused(key: str, pattern: str) -> None:
    """The text that never ended: 1990 and sixty times the same letter."""
    with pytest.raises(OluError, match=r"normalise.toml: context.0"):
        amharic(normalise__toml=with_context(key, pattern)).read("1990 " + "ሀ" * 60)


def patterns(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from patterns(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from patterns(inner, key)
    elif isinstance(value, str):
        yield key, value


def test_own_languages_are_within() -> None:
    folder = Path(str(olu.languages.__path__[0]))
    found = 0
    for file in sorted(folder.glob("*/normalise.toml")):
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        found += sum(key in ("before", "after", "called", "phone") for key, _ in patterns(data))
        for_language(load(file.parent.name), settings=ReadingSettings(symbols="phones")).read("1990 2")
    assert found > 10


def test_long_capitals_of_spanish_end() -> None:
    """Vowels that could be split in a thousand million ways, by the language's own pattern."""
    start = time.process_time()
    for_language(load("spa")).read("A" * 60 + "B dice")
    assert time.process_time() - start < 20  # it was hours


def test_a_sign_that_grows_is_refused() -> None:
    signs = f'[spelling]\nword = "x"\nletters = {{a = "ሀ"}}\nsigns = {{"%" = "{"%" * 300}"}}\n'
    with pytest.raises(TextError, match="would be read as"):
        amharic(normalise__toml=signs).read("ሀ % ሀ")


def test_phones_that_grow_are_refused() -> None:
    reader = LetterRules("a\ta", "[phones]\n" + "a -> a a\n" * 40)
    with pytest.raises(TextError, match="phones of 'aaaa'"):
        reader.spell("aaaa")
    with pytest.raises(LanguageError, match="more than 32 phones"):
        LetterRules("a\t" + "a " * 200_000, "")
    with pytest.raises(LanguageError, match="more than 32"):
        LetterRules("a\ta", "a -> " + "a " * 40 + "/ _ #")


def test_contexts_have_a_bound() -> None:
    """Thirty letters that may be there or not are a thousand million ways to lie."""
    for rule in ("a -> b / " + "a? " * 30 + "_", "a -> b / _ " + "a? " * 30, "a -> b / " + "{a aa aaa} " * 9 + "_"):
        with pytest.raises(LanguageError, match="ways over the letters"):
            LetterRules("a\ta", rule)

"""docs/adding-a-language.md, done as it says."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

from olu.core.errors import LanguageError
from olu.text.frontend import ReadingSettings, for_language
from olu.text.language_data import Pack
from olu.text.languages import FOLDERS, load
from olu.text.rules.engine import LetterRules, Rules

from . import test_conformance

ACCURACY = """[[accuracy]]
set = "words"
rows = 9
measure = "phone error"
value = 0.0
seen = true

[reading]"""
PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-language.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"\*\*`([\w.]+)`\*\*\n\n```\w*\n(.*?)```", PAGE, re.DOTALL))
SHOWN = re.findall(r'^\$ olu read --language \./hausa "(.*)"\n(.*)$', PAGE, re.MULTILINE)


def arguments(check: Callable[..., object]) -> set[str]:
    return set(signature(check).parameters)


@pytest.fixture(scope="module")
def hausa(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "hausa"
    shutil.copytree(FOLDERS / "_template", folder)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read(folder: Path, text: str) -> str:
    reading = for_language(load(folder), settings=ReadingSettings(symbols="phones")).read(text)
    assert reading.dropped == {}
    return " ".join(reading.symbols("vowel"))


def test_the_page_has_every_file() -> None:
    assert set(FILES) == {"language.toml", "phones.tsv", "letters.tsv", "rules.txt", "lexicon.tsv", "golden.tsv"} | {
        "sentences.txt",
        "SOURCES.md",
    }
    assert len(SHOWN) >= 4


def test_the_template_reads_as_the_page_says() -> None:
    text, shown = SHOWN[0]
    assert read(FOLDERS / "_template", text) == shown


@pytest.mark.parametrize(("text", "shown"), SHOWN[1:])
def test_hausa_reads_as_the_page_says(hausa: Path, text: str, shown: str) -> None:
    assert read(hausa, text) == unicodedata.normalize("NFC", shown)


def test_golden_holds(hausa: Path) -> None:
    for row in Pack.of(load(hausa).files()).rows("golden.tsv"):
        assert read(hausa, row[0]).replace("   ", " | ") == row[1]


def test_the_sounds_are_listed(hausa: Path) -> None:
    pack = Pack.of(load(hausa).files())
    listed = {row[0] for row in pack.rows("phones.tsv")}
    rules = Rules.parse(pack.text("rules.txt"), where="hau")
    used = {phone for phones in LetterRules.of(pack).letters.values() for phone in phones}
    used |= {phone for rule in rules.letters for phone in rule.result}
    assert used == listed


def test_one_rule_never_fires_as_the_page_says(hausa: Path) -> None:
    letters = LetterRules.of(Pack.of(load(hausa).files()))
    assert letters.say("'ya'yana").rules == ()
    assert "y -> j̰ / ' _" in unicodedata.normalize("NFC", FILES["rules.txt"])


CHECKS = [
    check for name, check in vars(test_conformance).items() if name.startswith("test_") and "code" in arguments(check)
]


@pytest.fixture(scope="module")
def begun(hausa: Path) -> Path:
    """As it is at step 9: without the rule that never fires."""
    folder = shutil.copytree(hausa, hausa.with_name("hau"))
    rules = (folder / "rules.txt").read_text(encoding="utf-8")
    (folder / "rules.txt").write_text(rules.replace("y -> j̰ / ' _\n", ""), encoding="utf-8")
    return folder


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_passes_the_test_that_all_languages_share(
    begun: Path, check: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    check(code=str(begun), **({"capsys": capsys} if "capsys" in arguments(check) else {}))


@pytest.mark.parametrize(
    ("file", "change", "check", "said"),
    [
        (
            "golden.tsv",
            ("eka\tʔ e k a", "# gone"),
            "every_rule_fires",
            "nothing shows: ['e -> ʔ e / # _']; add a word",
        ),
        ("golden.tsv", ("by hand\n", "by hand\n# "), "golden_holds", "golden.tsv has 1 rows, and 5 are needed"),
        ("letters.tsv", ("-\t0\n", "?\tʔ\n"), "every_letter_is_read", "'?' (ʔ) is not read in 'a?a'"),
        ("letters.tsv", ("\nb\tb\n", "\n"), "every_letter_is_read", "add them to letters.tsv"),
        ("language.toml", ("[reading]", ACCURACY), "golden_holds", "and 30 are needed since language.toml claims"),
        ("language.toml", ("[reading]", ACCURACY), "numbers_and_dates_become_words", "has no numbers.toml, and claims"),
        ("sentences.txt", None, "nothing_of_the_template_is_left", "still the template's: sentences.txt"),
    ],
)
def test_what_is_missing_is_said(
    begun: Path, tmp_path: Path, file: str, change: tuple[str, str] | None, check: str, said: str
) -> None:
    folder = shutil.copytree(begun, tmp_path / "hau")
    text = (folder / file).read_text(encoding="utf-8")
    new = text.replace(*change) if change else (FOLDERS / "_template" / file).read_text(encoding="utf-8")
    assert new != text
    (folder / file).write_text(new, encoding="utf-8")
    with pytest.raises(AssertionError) as caught:
        getattr(test_conformance, f"test_{check}")(code=str(folder))
    assert said in str(caught.value)


def test_a_mistake_is_answered_as_the_page_says(hausa: Path) -> None:
    shown = re.search(r"^hau/rules\.txt line .*$", PAGE, re.MULTILINE)
    assert shown is not None
    wrong = FILES["rules.txt"].replace("_ VELAR", "_ VELER")
    with pytest.raises(LanguageError) as caught:
        LetterRules(FILES["letters.tsv"], wrong, where="hau")
    assert str(caught.value) == shown[0]

"""docs/adding-a-language.md, done as it says."""

from __future__ import annotations

import re
import shutil
import unicodedata
from pathlib import Path

import pytest

from olu.errors import LanguageError
from olu.text.frontend import ReadingSettings, for_language
from olu.text.languages import FOLDERS, load
from olu.text.pack import Pack
from olu.text.rules import Letters, Rules

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-language.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"\*\*`([\w.]+)`\*\*\n\n```\w*\n(.*?)```", PAGE, re.DOTALL))
SHOWN = re.findall(r'^\$ olu read --language \./hausa "(.*)"\n(.*)$', PAGE, re.MULTILINE)


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
    assert set(FILES) == {"language.toml", "phones.tsv", "letters.tsv", "rules.txt", "lexicon.tsv", "golden.tsv"}
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
    used = {phone for phones in Letters.of(pack).letters.values() for phone in phones}
    used |= {phone for rule in rules.letters for phone in rule.result}
    assert used == listed


def test_one_rule_never_fires_as_the_page_says(hausa: Path) -> None:
    letters = Letters.of(Pack.of(load(hausa).files()))
    assert letters.say("'ya'yana").rules == ()
    assert "y -> j̰ / ' _" in unicodedata.normalize("NFC", FILES["rules.txt"])


def test_a_mistake_is_answered_as_the_page_says(hausa: Path) -> None:
    shown = re.search(r"^hau/rules\.txt line .*$", PAGE, re.MULTILINE)
    assert shown is not None
    wrong = FILES["rules.txt"].replace("_ VELAR", "_ VELER")
    with pytest.raises(LanguageError) as caught:
        Letters(FILES["letters.tsv"], wrong, where="hau")
    assert str(caught.value) == shown[0]

"""A person's own words of a workspace: tried, written down, taken out; how many clips say one is told before."""

from __future__ import annotations

from pathlib import Path

import pytest

from olu.core.errors import ConfigError, LanguageError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.stages.lexicon import LexiconList, WordSummary, reader, run, said_as
from olu.stages.read import read_corpus
from olu.stages.verbs.corpus import LexiconOptions

from ..helpers.clip_workspaces import clip_workspace


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return clip_workspace(tmp_path, texts=("Watu 2 wamefika", "watu wengi", "Mti"), sound=False)


def test_a_word_is_tried_written_and_taken_out(ws: Workspace) -> None:
    (ws.root / "lexicon.tsv").write_text("# mine\nmti\tm t i\n", encoding="utf-8")
    (ws.root / "reading.toml").write_text('lexicon = "lexicon.tsv"\n', encoding="utf-8")
    tried = run(LexiconOptions(ws=ws.root, word="Watu", phones="w a t a", dry_run=True))
    assert isinstance(tried, WordSummary) and (tried.clips, tried.before, tried.written) == (2, "w ˈa t u", False)
    assert (ws.root / "lexicon.tsv").read_text() == "# mine\nmti\tm t i\n"
    options = LexiconOptions(ws=ws.root, word="watu", phones="w a t a")
    told = list(run(options).sentences(options))
    assert told[1] == "Now: w a t a" and "It touches 2 clips" in str(told[2]) and "olu read" in str(told[3])
    run(LexiconOptions(ws=ws.root, word="watu", phones="w a t o"))  # once more: it is replaced
    assert (ws.root / "lexicon.tsv").read_text() == "# mine\nmti\tm t i\nwatu\tw a t o\n"
    assert said_as(reader(ws), "Watu") == "w a t o"
    finish(read_corpus(ws))
    assert said_as(reader(ws), "Watu") == "w a t o"
    run(LexiconOptions(ws=ws.root, word="watu", strike=True))
    assert said_as(reader(ws), "Watu") == "w ˈa t u"
    listed = run(LexiconOptions(ws=ws.root))
    assert isinstance(listed, LexiconList) and listed.words == {"mti": "m t i"}


def test_a_reading_knows_numbers_said_as_words(ws: Workspace) -> None:
    assert run(LexiconOptions(ws=ws.root, word="mbili")).clips == 0  # type: ignore[union-attr]
    finish(read_corpus(ws))
    assert run(LexiconOptions(ws=ws.root, word="mbili")).clips == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"strike": True}, "name it"),
        ({"word": "a", "phones": "a", "strike": True}, "leave its phones out"),
        ({"word": "nobody", "strike": True}, "is not among your words"),
        ({"word": "two words", "phones": "a"}, "is not one word"),
        ({"word": "watu", "phones": " "}, "needs its phones"),
    ],
)
def test_what_cannot_be_is_said(ws: Workspace, given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        run(LexiconOptions(ws=ws.root, **given))  # type: ignore[arg-type]
    assert not (ws.root / "lexicon.tsv").exists()


def test_a_phone_of_another_language_is_named(ws: Workspace) -> None:
    with pytest.raises(LanguageError, match="'q' is not a phone of Swahili"):
        run(LexiconOptions(ws=ws.root, word="watu", phones="w q"))
    assert not (ws.root / "lexicon.tsv").exists()


def test_words_that_lie_elsewhere_are_changed_there(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("mti\tm t i\n", encoding="utf-8")
    (ws.root / "reading.toml").write_text(f'lexicon = "{tmp_path / "mine.tsv"}"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="outside the workspace"):
        run(LexiconOptions(ws=ws.root, word="watu", phones="w a t a"))
    assert (tmp_path / "mine.tsv").read_text() == "mti\tm t i\n"


def test_a_language_by_letters_has_no_lexicon(tmp_path: Path) -> None:
    ws = clip_workspace(tmp_path, "lug", texts=("abantu",), language="lug", sound=False)
    with pytest.raises(LanguageError, match="read by letters"):
        run(LexiconOptions(ws=ws.root, word="abantu", phones="a b"))

"""A checkpoint that does not say how it reads: by letters or by phones, the same for an export and for a training."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from olu.core.files import Workspace
from olu.core.job import finish
from olu.stages.export import export
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.vocabulary import BLANK
from olu.train.base_facts import is_by_phones
from olu.train.family import Base
from olu.train.run import Run

from ..helpers.workspaces import made


def base_with(symbols: set[str], *, via: str | None = None, phones: bool = False) -> Base:
    rows = (BLANK, *sorted(symbols - {BLANK}))
    return Base({}, rows, interleave=True, lower=True, via=via, num_speakers=1, load=lambda *_: [], phones=phones)


@pytest.mark.parametrize("code", ["amh", "swa", "spa"])
def test_symbols_tell_letters_from_phones(code: str) -> None:
    language = load(code)
    texts, frontend = language.sentences()[:40], for_language(language)

    def by_phones(symbols: set[str], **more: object) -> bool:
        return is_by_phones(base_with(symbols, **more), frontend, texts, language=code)  # type: ignore[arg-type]

    phones = {symbol for text in texts for symbol in frontend.read(text).symbols("vowel")}
    letters = {letter for text in texts for letter in text.lower()}
    assert by_phones(phones) and not by_phones(letters) and not by_phones(phones | letters)
    assert not by_phones(set(string.ascii_lowercase)), "of another language"
    assert by_phones(letters, phones=True) and not by_phones(phones, via="uroman")
    eng = for_language(load("eng"))
    assert not is_by_phones(base_with(phones, phones=True), eng, texts, language="eng"), "a language without rules"


def test_a_folder_of_ours_for_transformers_is_trained_on_by_its_phones(phones: Workspace, tmp_path: Path) -> None:
    finish(export(phones.root, to="hf", output=tmp_path / "hf"))
    before = Run(phones.runs_folder / "vits-001")
    setup = made(phones, base=str(tmp_path / "hf"))
    assert setup.frontend_state["kind"] == "phones"
    assert list(setup.vocabulary.symbols) == before.document("vocabulary.json")["symbols"]
    assert not [said for said in setup.notes if "new symbol" in said]

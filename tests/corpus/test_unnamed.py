"""Tables whose header nobody knows are seen: taken where their contents are certain, else quoted with what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from olu.core.errors import CorpusError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.stages.import_ import ImportSummary, import_source

from .test_layouts import wav

TEXTS = ("Nanga def, sama xarit", "Mangi fi rekk", "Ba beneen yoon", "Jërëjëf waay", "Naka suba si")


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="wol")


def lay(root: Path, table: str, *, name: str = "Textes élèves.csv") -> Path:
    root.mkdir()
    for number in range(len(TEXTS)):
        (root / f"Leçon {number} – élève.wav").write_bytes(wav(number))
    (root / name).write_text(table, encoding="utf-8")
    return root


def bring(ws: Workspace, source: Path, **options: object) -> ImportSummary:
    return finish(import_source(ws, source, **options))  # type: ignore[arg-type]


def rows(mark: str, *, remark: str = "", ending: str = ".wav") -> str:
    lines = (f"Leçon {n} – élève{ending}{mark}{text}{mark}{remark.format(n=n)}" for n, text in enumerate(TEXTS))
    return "\n".join(line.replace(", ", " ") for line in lines) + "\n"


@pytest.mark.parametrize("layout", ["auto", "table"])
@pytest.mark.parametrize("name", ["Textes élèves.csv", "liste.txt", "liste.tsv", "liste.tab"])
@pytest.mark.parametrize("mark", [";", ",", "\t", "|"])
def test_a_table_is_taken_by_what_it_holds(ws: Workspace, tmp_path: Path, mark: str, name: str, layout: str) -> None:
    """Before: 'has N audio files but no metadata.csv', though the table lay there."""
    head = mark.join(("Fichier", "Texte prononcé", "Remarque")) + "\n"
    summary = bring(ws, lay(tmp_path / "in", head + rows(mark), name=name), layout=layout)
    assert summary.added == len(TEXTS)
    assert {clip.text.replace(",", "") for clip in Corpus.open(ws)} == {text.replace(",", "") for text in TEXTS}
    if (mark, name) != ("|", "liste.txt"):  # a list of path|text lines, with a first line that names nothing
        assert (summary.layout, summary.skipped) == ("table", ())


def test_why_it_was_taken_is_said(ws: Workspace, tmp_path: Path) -> None:
    summary = bring(ws, lay(tmp_path / "in", "Fichier;Texte prononcé;Remarque\n" + rows(";", remark="bruit")))
    assert summary.why == (
        "Textes élèves.csv is a table whose 'Fichier' names recordings that are there (5 of the first 5 rows) and"
        " whose 'Texte prononcé' alone looks like texts"
    )


def test_without_a_header(ws: Workspace, tmp_path: Path) -> None:
    assert bring(ws, lay(tmp_path / "in", rows(";", ending=""))).added == len(TEXTS)


def test_two_columns_of_texts_are_for_a_person(ws: Workspace, tmp_path: Path) -> None:
    source = lay(
        tmp_path / "in", "Fichier, son;Texte prononcé;Traduction\n" + rows(";", remark="la phrase {n} en français")
    )
    with pytest.raises(CorpusError) as raised:
        bring(ws, source)
    said = str(raised.value)
    assert said.endswith(
        "has 5 audio files; Textes élèves.csv is a table with the columns Fichier, son, Texte prononcé, Traduction:"
        " import again with --columns '\"audio=Fichier, son\",text=Texte prononcé' ('Traduction' may be meant too)"
    )
    summary = bring(ws, source, columns='"audio=Fichier, son",text=Traduction')  # as it can be typed
    assert summary.added == 5


def test_a_table_that_names_nothing_there(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="none of them names a recording that is there: correct the names in it"):
        bring(ws, lay(tmp_path / "in", "Fichier;Texte;Remarque\n" + rows(";").replace("Leçon", "Lesson")))


def test_other_layouts_go_first(ws: Workspace, tmp_path: Path) -> None:
    source = lay(tmp_path / "in", "Fichier;Texte;Remarque\n" + rows(";"))
    (source / "Leçon 0 – élève.txt").write_text("beside")
    assert bring(ws, source).layout == "folder"


def test_a_spreadsheet_is_named(ws: Workspace, tmp_path: Path) -> None:
    source = lay(tmp_path / "in", "x", name="textes.xlsx")
    with pytest.raises(CorpusError, match=r"textes.xlsx is a spreadsheet: save it as 'CSV UTF-8' beside"):
        bring(ws, source)

"""Texts that are not UTF-8: guessed where that is safe and told with words of it, else named with --encoding."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from olu.cli.main import app
from olu.core.errors import CorpusError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.corpus.readers.texts import guess
from olu.stages.import_ import ImportSummary, import_source

from .test_layouts import LONG, wav

WORDS = "Leçon d’élève"


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="fra")


def bring(ws: Workspace, source: Path, **options: object) -> ImportSummary:
    return finish(import_source(ws, source, **options))  # type: ignore[arg-type]


def lay(root: Path, files: dict[str, bytes]) -> Path:
    root.mkdir()
    for number in range(3):
        (root / f"{number}.wav").write_bytes(wav(number))
    for name, data in files.items():
        (root / name).write_bytes(data)
    return root


FORMS = {
    "metadata.csv": "".join(f"{n}|{WORDS} {n}\n" for n in range(3)),
    "table.csv": "fichier;texte prononcé\n" + "".join(f"{n}.wav;{WORDS} {n}\n" for n in range(3)),
    "list.jsonl": "".join(f'{{"audio": "{n}.wav", "text": "{WORDS} {n}"}}\n' for n in range(3)),
    "train.txt": "".join(f"{n}.wav|{WORDS} {n}\n" for n in range(3)),
}


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("name", FORMS)
def test_a_table_is_guessed_and_told(ws: Workspace, tmp_path: Path, name: str, encoding: str) -> None:
    """Before: 'Added 2 clips, 91 skipped', or a refusal."""
    summary = bring(ws, lay(tmp_path / "in", {name: FORMS[name].encode(encoding)}))
    assert (summary.added, summary.skipped) == (3, ())
    assert {clip.text for clip in Corpus.open(ws)} == {f"{WORDS} {n}" for n in range(3)}
    notes = [note for note in summary.notes if "not UTF-8" in note]
    assert len(notes) == (0 if encoding == "utf-8-sig" else 1)
    assert all("'Leçon'" in note and "CSV UTF-8" in note and "--encoding" in note for note in notes)


def test_texts_beside_their_sound_and_one_note_for_all(ws: Workspace, tmp_path: Path) -> None:
    summary = bring(ws, lay(tmp_path / "in", {f"{n}.txt": f"{WORDS} {n}".encode("cp1252") for n in range(3)}))
    assert (summary.added, summary.skipped) == (3, ())
    assert [
        note for note in summary.notes if note.startswith("3 texts (0.txt ...) are not UTF-8 and were read as Windows")
    ]


def test_subtitles(ws: Workspace, tmp_path: Path) -> None:
    srt = "1\n00:00:00,100 --> 00:00:00,800\nПривет, мир\n".encode("cp1251")
    root = tmp_path / "in"
    root.mkdir()
    (root / "a.wav").write_bytes(LONG)
    (root / "a.srt").write_bytes(srt)
    with pytest.raises(CorpusError, match="name its encoding with --encoding"):
        bring(ws, root)
    assert bring(ws, root, encoding="cp1251").added == 1
    assert [clip.text for clip in Corpus.open(ws)] == ["Привет, мир"]


def test_an_encoding_that_nobody_can_guess_is_named(ws: Workspace, tmp_path: Path) -> None:
    source = lay(tmp_path / "in", {"metadata.csv": "0|Привет, мир\n1|Как дела\n2|ok\n".encode("cp1251")})
    summary = bring(ws, source)
    assert summary.added == 1 and summary.reasons == {"letters": 2}
    assert "name its encoding with --encoding" in summary.skipped[0]
    summary = bring(ws, source, encoding="windows-1251")
    assert {clip.text for clip in Corpus.open(ws)} == {"Привет, мир", "Как дела", "ok"}


def test_a_wrong_name_of_an_encoding(ws: Workspace, tmp_path: Path) -> None:
    source = lay(tmp_path / "in", {"metadata.csv": b"0|one\n"})
    with pytest.raises(
        CorpusError, match=r"--encoding cp1252x: no such encoding of text is known; did you mean 'cp1252'"
    ):
        bring(ws, source, encoding="cp1252x")
    with pytest.raises(CorpusError, match="did you mean 'cp1252'"):  # of all that are as near, the one that people use
        bring(ws, source, encoding="cp12x")
    for name in ("hex", "zlib", "rot13"):  # of Python, but no text
        with pytest.raises(CorpusError, match="no such encoding of text"):
            bring(ws, source, encoding=name)
    with pytest.raises(CorpusError, match=r"metadata.csv is no UTF-16 \(byte"):
        bring(ws, lay(tmp_path / "odd", {"metadata.csv": b"0|one\n1"}), encoding="utf-16")


def test_names_in_a_suggestion_can_be_typed(ws: Workspace, tmp_path: Path) -> None:
    """Before: did you mean 'Texte prononc\\ufffd'?"""
    source = lay(tmp_path / "in", {"table.csv": "fichier;texte prononcé\n0.wav;élève\n".encode("cp1252")})
    with pytest.raises(CorpusError, match="did you mean 'texte prononcé'"):
        bring(ws, source, columns="audio=fichier,text=texte prononce")


def test_recordings_have_no_use_for_it(ws: Workspace, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="--encoding"):
        bring(ws, lay(tmp_path / "in", {}), encoding="cp1252")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (WORDS.encode("cp1252"), "cp1252"),
        ("über “Straße” – ja…".encode("cp1252"), "cp1252"),
        (WORDS.encode("utf-8") + b"\n\xe9t\xe9", "utf-8"),  # damaged UTF-8, not another encoding
        ("Ọ̀rọ̀".encode()[:-1], "utf-8"),
        ("Γειά σου Κόσμε".encode("cp1253"), "utf-8"),
        (b"plain", "utf-8"),
        (b"caf\x8d\x90", "utf-8"),
        (b"\x00\x01\x02\xe9\xff" * 20, "utf-8"),
        ("ሰላም ለዓለም|1 2 3".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_guess(data: bytes, name: str) -> None:
    assert guess(data) == name


def test_on_the_command_line(tmp_path: Path) -> None:
    source = lay(tmp_path / "in", {"metadata.csv": "0|Привет\n1|мир\n2|дом\n".encode("koi8-r")})
    Workspace.create(tmp_path / "ws", language="rus")
    done = CliRunner().invoke(app, ["import", str(tmp_path / "ws"), str(source), "--encoding", "koi8-r"])
    assert done.exit_code == 0 and "Added 3 clips." in done.output

"""No text, table or metadata leads out of its source, and nothing but plain files is opened."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from olu.core.errors import CorpusError, OluError
from olu.core.files import Refused, Workspace, is_inside, read_inside
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.corpus.readers.rows import DEEPEST, look
from olu.stages.import_ import ImportSummary, import_source

from .test_layouts import CORPORA, lay, wav

SECRET = "root:x:0:0"


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Whoever waits for a pipe waits for ever: then the test fails."""

    def stop(*_: object) -> None:
        raise AssertionError("it waits")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def bring(ws: Workspace, source: Path, **options: object) -> ImportSummary:
    return finish(import_source(ws, source, **options))  # type: ignore[arg-type]


def is_text(name: str) -> bool:
    return not name.endswith(".wav")


@pytest.mark.parametrize("kind", ["link", "pipe", "random", "socket"])
@pytest.mark.parametrize("layout", [name for name in CORPORA if name != "recordings"])
def test_nothing_foreign_is_read_in_any_layout(
    ws: Workspace, tmp_path: Path, layout: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each text of a layout in turn leads out, or is none: its words never reach the corpus, and nobody waits."""
    for name in filter(is_text, CORPORA[layout]):
        root = lay(tmp_path / kind / name.replace("/", "-"), CORPORA[layout])
        secret = tmp_path / f"secret-{name.replace('/', '-')}"
        secret.write_bytes(CORPORA[layout][name].replace(b"one", SECRET.encode()))
        (root / name).unlink()
        if kind == "link":
            (root / name).symlink_to(secret)
        elif kind == "pipe":
            os.mkfifo(root / name)
        elif kind == "socket":
            monkeypatch.chdir((root / name).parent)  # its path may be too long for a socket
            with socket.socket(socket.AF_UNIX) as opened:
                opened.bind((root / name).name)
        else:
            (root / name).symlink_to("/dev/random")
        try:
            summary = bring(ws, root)
        except OluError as bad:
            assert SECRET not in str(bad)
        else:
            assert any(name in line and ("leads out" in line or "is a " in line) for line in summary.skipped)
    stored = "".join(path.read_text() for path in ws.corpus.glob("*.jsonl")) if ws.corpus.exists() else ""
    assert SECRET not in stored


def test_a_text_that_is_the_environment(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report's case: y.txt -> /proc/self/environ."""
    monkeypatch.setenv("TOKEN", "t123")
    root = lay(tmp_path / "in", {"a.wav": wav(1), "a.txt": b"one", "y.wav": wav(2)})
    (root / "y.txt").symlink_to("/proc/self/environ")
    summary = bring(ws, root)
    assert [clip.text for clip in Corpus.open(ws)] == ["one"]
    assert any(line.startswith("y.txt: leads out of ") for line in summary.skipped)
    assert "outside" in summary.reasons


def test_links_that_stay_inside_and_a_linked_folder_work(ws: Workspace, tmp_path: Path) -> None:
    root = lay(tmp_path / "real", {"wavs/a.wav": wav(1), "texts/all.csv": b"a|one\n"})
    (root / "metadata.csv").symlink_to("texts/all.csv")
    (tmp_path / "link").symlink_to(root)
    assert bring(ws, tmp_path / "link").added == 1
    root = lay(tmp_path / "two", {"b.wav": wav(2), "texts/b": b"two"})
    (root / "b.txt").symlink_to(root / "texts" / "b")
    assert bring(ws, root).added == 1


def test_a_download_of_the_hub_may_link_to_its_own_files(tmp_path: Path) -> None:
    lay(tmp_path, {"repo/blobs/abc": b"text", "elsewhere/abc": b"text", "repo/snapshots/rev/x": b""})
    root = tmp_path / "repo" / "snapshots" / "rev"
    (root / "a.csv").symlink_to("../../blobs/abc")
    (root / "b.csv").symlink_to("../../../elsewhere/abc")
    assert is_inside(root, "a.csv") and not is_inside(root, "b.csv")
    assert [problem.where for problem in look(root).refused] == ["b.csv"]


def test_metadata_that_is_a_pipe_is_named(ws: Workspace, tmp_path: Path) -> None:
    root = lay(tmp_path / "in", {"wavs/a.wav": wav(1)})
    os.mkfifo(root / "metadata.csv")
    with pytest.raises(CorpusError, match=r"metadata.csv is a pipe: put a file in its place"):
        bring(ws, root)


def test_too_large(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 2**20 + b"x")
    with pytest.raises(Refused, match="has more than 1 MiB"):
        read_inside(tmp_path, "a.txt", most=2**20)
    assert read_inside(tmp_path, "a.txt", most=4, cut=True) == b"xxxx"


def test_folders_a_thousand_deep(ws: Workspace, tmp_path: Path) -> None:
    """Before: a RecursionError."""
    root = lay(tmp_path / "in", {"a.wav": wav(1), "a.txt": b"one"})
    here = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(root)
        for _ in range(1200):
            os.mkdir("d")  # noqa: PTH102
            os.chdir("d")
    finally:
        os.chdir(here)
    summary = bring(ws, root)
    assert summary.added == 1
    assert any(f"lies more than {DEEPEST} folders deep" in line for line in summary.skipped)
    subprocess.run(["rm", "-r", str(root)], check=True)  # shutil.rmtree would go too deep as well


def test_a_source_may_be_named_from_where_one_stands(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path / "in", {"wavs/a.wav": wav(1), "metadata.csv": b"a|one\n"})
    monkeypatch.chdir(tmp_path)
    assert bring(ws, Path("in")).added == 1

"""Tars that lie: their headers are judged before Python's reader works on them, for minutes or in all the memory."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from olu.core.errors import CorpusError, WorkspaceError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.readers.archive import BadHeader, check_pax, open_tar
from olu.corpus.readers.rows import DEEPEST
from olu.stages.import_ import import_source
from olu.stages.unpack import unpack

from .test_layouts import lay, wav


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A header with any size, and a checksum that fits."""
    info = tarfile.TarInfo(name)
    info.type = kind
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"%011o\0" % size if size < 8**11 else b"\x80" + size.to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 512)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def pax(body: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    return header("p", len(body), kind) + padded(body)


VALUE = b"1" * 400_000
LIES = {
    "digits": pax(VALUE),  # Python 3.11.7 takes minutes over this one
    "digits in a value": pax(b"%d comment=%s\n" % (len(VALUE) + 16, VALUE)),
    "digits for all": pax(VALUE, tarfile.XGLTYPE),
    "size": header("a.wav", 2**62) + b"x" * 1024,
    "long name": header("a.wav", 2**62, tarfile.GNUTYPE_LONGNAME) + b"x" * 1024,
    "negative": header("a.wav", 8**11 - 1).replace(b"77777777777\0", b"\xff" * 12)[:512] + b"x" * 512,
    "pax length": pax(b"999 path=a.wav\n"),
    "pax zero": pax(b"0 path=a.wav\n" * 3),
    "holes": pax(b"22 GNU.sparse.major=1\n"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_a_sentence_at_once(ws: Workspace, tmp_path: Path, name: str) -> None:
    (tmp_path / "lie.tar").write_bytes(LIES[name] + header("a.wav", 0) + b"\0" * 1024)
    with pytest.raises(CorpusError, match=r"lie.tar is not a readable archive"):
        finish(import_source(ws, tmp_path / "lie.tar"))
    with pytest.raises(WorkspaceError, match=r"lie.tar"):
        finish(unpack(tmp_path / "lie.tar", into=tmp_path / "new"))


def test_what_came_before_a_lie_is_used(ws: Workspace, tmp_path: Path) -> None:
    root = lay(tmp_path / "in", {"a.wav": wav(1), "a.txt": b"one"})
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        tar.add(root, arcname="in")
    data = out.getvalue()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        end = max(info.offset_data + -(-info.size // 512) * 512 for info in tar)
    (tmp_path / "x.tar").write_bytes(data[:end] + LIES["digits"])
    summary = finish(import_source(ws, tmp_path / "x.tar"))
    assert summary.added == 1
    assert "breaks off after 2 files (an extended header of digits)" in summary.skipped[0]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_honest_tars_are_read_as_before(tmp_path: Path, mode: str, form: int) -> None:
    name, data = f"{'long ' * 40}/élève.wav", b"x" * 5000
    with tarfile.open(tmp_path / "a", mode, format=form, pax_headers={"comment": "né en 1999"}) as tar:  # type: ignore[call-overload]
        info = tarfile.TarInfo(name)
        info.size, info.mtime = len(data), 12.5
        tar.addfile(info, io.BytesIO(data))
    with (tmp_path / "a").open("rb") as raw, open_tar(raw) as tar:
        (found,) = list(tar)
        taken = tar.extractfile(found)
        assert found.name == name and taken is not None and taken.read() == data


def test_records() -> None:
    check_pax(b"14 path=a.wav\n30 mtime=1350244992.023960108\n\0\0")
    for bad in (b"13 path=a.wav\n", b"14 path a.wav\n", b"path=a\n"):
        with pytest.raises(BadHeader):
            check_pax(bad)


def test_too_deep_for_any_tool(ws: Workspace, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for name, data in {"a.wav": wav(1), "a.txt": b"one", f"{'d/' * 1200}b.txt": b"two"}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    summary = finish(import_source(ws, tmp_path / "x.tar"))
    assert summary.added == 1 and f"lies more than {DEEPEST} folders deep" in summary.skipped[0]


def test_thousands_of_files_are_flushed_together(
    ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: two calls of fsync for each recording, 120 s and more for 20,000 folders."""
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        for number in range(150):
            for name, data in ((f"{number}/a.wav", wav(number)), (f"{number}/a.txt", b"one")):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    calls: list[str] = []
    fsync, sync = os.fsync, os.sync
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("one"), fsync(handle))[1])
    monkeypatch.setattr(os, "sync", lambda: (calls.append("all"), sync())[1])
    assert finish(import_source(ws, tmp_path / "x.tar")).added == 150
    assert calls.count("one") < 60 and calls.count("all") == 1
    assert calls.index("all") < len(calls) - 1  # before the manifest is written

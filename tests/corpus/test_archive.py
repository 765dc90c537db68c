"""Archives: read as the layout inside, and nothing in them writes outside the workspace."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from olu.core.errors import CorpusError, OluError
from olu.core.files import Workspace
from olu.core.job import Tick, finish
from olu.corpus.manifest import Corpus
from olu.corpus.readers import archive
from olu.stages.import_ import STAGE, ImportSummary, import_source


def wav(seed: int) -> bytes:
    out = io.BytesIO()
    samples = np.random.default_rng(seed).uniform(-0.1, 0.1, 800).astype(np.float32)
    soundfile.write(out, samples, 8000, format="WAV", subtype="PCM_16")
    return out.getvalue()


FILES = {
    "voice/metadata.csv": b"a|one\nb|two\nnone|lost\n",
    "voice/wavs/a.wav": wav(1),
    "voice/wavs/b.wav": wav(2),
    "voice/.DS_Store": b"x",
    "__MACOSX/voice/wavs/._a.wav": b"x",
}
ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def pack(path: Path, files: dict[str, bytes] = FILES) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name, data in files.items():
                zipped.writestr(name, data)
        return path
    kind = {"tar": "w", "gz": "w:gz", "tgz": "w:gz", "bz2": "w:bz2", "xz": "w:xz"}[path.suffix[1:]]
    with tarfile.open(str(path), kind) as tarred:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tarred.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def bring(ws: Workspace, source: Path, **options: Any) -> ImportSummary:
    return finish(import_source(ws, source, **options))


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("ending", ENDINGS)
def test_archive(ws: Workspace, tmp_path: Path, ending: str) -> None:
    source = pack(tmp_path / f"voice{ending}")
    summary = bring(ws, source)
    assert (summary.layout, summary.added) == ("ljspeech", 2)
    assert summary.why == f"voice{ending} unpacked: metadata.csv has id|text lines"
    assert [text.partition(":")[0] for text in summary.skipped] == ["metadata.csv line 3"]
    assert sorted(everything(ws.corpus / "audio")) == ["origins.json", "s1/wavs/a.wav", "s1/wavs/b.wav"]
    before = everything(ws.root)
    again = bring(ws, source)
    assert (again.added, again.already, again.notes) == (0, 2, ())
    assert everything(ws.root) == before
    pack(source, {**FILES, "voice/metadata.csv": b"a|one\nb|two\nc|three\n", "voice/wavs/c.wav": wav(3)})
    more = bring(ws, source)
    assert (more.added, more.already, more.skipped) == (1, 2, ())
    source.unlink()
    corpus = Corpus.open(ws)
    assert [corpus.audio(clip).seconds for clip in corpus] == [0.1] * 3
    assert corpus.sources["s1"].root == "corpus/audio/s1"


def test_ticks_and_closing_early(ws: Workspace, tmp_path: Path) -> None:
    source = pack(tmp_path / "voice.zip")
    before = everything(ws.root)
    work = import_source(ws, source)
    tick = next(work)
    assert isinstance(tick, Tick)
    assert tick.what == "unpacking voice.zip"
    assert 0 <= tick.done <= tick.total == source.stat().st_size
    work.close()
    assert everything(ws.root) == before
    assert not ws.corpus.exists()
    assert STAGE.state(ws) == "missing"


def test_after_a_kill(ws: Workspace, tmp_path: Path) -> None:
    left = ws.corpus / "audio" / ".unpacked.partial" / "wavs"
    left.mkdir(parents=True)
    (left / "half.wav").write_bytes(b"RI")
    assert bring(ws, pack(tmp_path / "voice.zip")).added == 2
    assert not left.parent.exists()


ESCAPES = ("../evil.wav", "voice/../../evil.wav", "/tmp/evil-olu.wav", "..\\evil.wav", "C:\\evil.wav", "\\evil.wav")


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tar.gz"])
def test_names_that_lead_out(ws: Workspace, tmp_path: Path, ending: str) -> None:
    source = pack(tmp_path / f"x{ending}", {**FILES, **dict.fromkeys(ESCAPES, b"evil")})
    outside = everything(tmp_path)
    summary = bring(ws, source)
    assert summary.added == 2
    assert sum("leads out of the archive" in text for text in summary.skipped) == len(ESCAPES)
    assert {name for name in everything(tmp_path) if not name.startswith("ws/")} == {
        name for name in outside if not name.startswith("ws/")
    }
    assert not Path("/tmp/evil-olu.wav").exists()
    assert not [name for name in everything(tmp_path) if "evil" in name]


def test_links_in_a_tar(ws: Workspace, tmp_path: Path) -> None:
    """A link to a folder outside, then a file through it; a link over a recording; a hard link; a pipe."""
    target = tmp_path / "target"
    target.mkdir()
    (target / "secret.wav").write_bytes(wav(7))
    source = tmp_path / "x.tar"
    with tarfile.open(source, "w") as tarred:
        for name, kind, to in (
            ("voice/out", tarfile.SYMTYPE, str(target)),
            ("voice/wavs/c.wav", tarfile.SYMTYPE, str(target / "secret.wav")),
            ("voice/wavs/d.wav", tarfile.LNKTYPE, str(target / "secret.wav")),
            ("voice/wavs/e.wav", tarfile.FIFOTYPE, ""),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, to
            tarred.addfile(info)
        for name, data in {**FILES, "voice/out/evil.wav": b"evil", "voice/metadata.csv": b"a|one\nc|x\nd|x\n"}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tarred.addfile(info, io.BytesIO(data))
    summary = bring(ws, source)
    assert summary.added == 1
    assert sum("is a link and was not unpacked" in text for text in summary.skipped) == 3
    assert sum("is a device and was not unpacked" in text for text in summary.skipped) == 1
    assert os.listdir(target) == ["secret.wav"]  # noqa: PTH208
    assert not any(path.is_symlink() for path in ws.root.rglob("*"))


def test_links_and_locks_in_a_zip(ws: Workspace, tmp_path: Path) -> None:
    source = pack(tmp_path / "x.zip")
    with zipfile.ZipFile(source, "a") as zipped:
        info = zipfile.ZipInfo("voice/wavs/c.wav")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        zipped.writestr(info, "/etc/passwd")
    data = source.read_bytes()
    at = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)  # the second member: locked
    source.write_bytes(data[: at + 8] + b"\x01" + data[at + 9 :])
    summary = bring(ws, source)
    assert summary.added == 1
    assert any("c.wav: is a link" in text for text in summary.skipped)
    assert any("a.wav: is locked with a password" in text for text in summary.skipped)


@pytest.mark.parametrize("ending", [".zip", ".tar.gz"])
def test_bounds(ws: Workspace, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = pack(tmp_path / f"x{ending}", {**FILES, "voice/bomb.wav": bytes(20_000_000)})
    before = everything(ws.root)
    with monkeypatch.context() as patch:
        patch.setattr(archive, "MOST_BYTES", 10_000_000)
        with pytest.raises(CorpusError, match=r"unpacks to more than there is room for .* at voice/bomb.wav"):
            bring(ws, source)
    with monkeypatch.context() as patch:
        patch.setattr(archive, "MOST_FILES", 3)
        with pytest.raises(CorpusError, match="holds more than 3 files"):
            bring(ws, source)
    assert everything(ws.root) == before
    assert not ws.corpus.exists()


def test_odd_members(ws: Workspace, tmp_path: Path) -> None:
    odd = {"voice/wavs/a.wav/inside": b"x", "voice/" + "x" * 300: b"x", "voice": b"a file and a folder"}
    source = pack(tmp_path / "x.zip", {**FILES, **odd})
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(source, "a") as zipped:
        zipped.writestr("voice/wavs/b.wav", b"again")
    summary = bring(ws, source)
    assert (summary.added, len(summary.skipped)) == (2, 5)
    assert any("is there twice" in text for text in summary.skipped)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("x.zip", b"not a zip", "x.zip is not a readable archive"),
        ("x.tar.gz", b"not a tar", "x.tar.gz is not a readable archive"),
        ("x.tar", b"", "x.tar is not a readable archive"),
        ("x.rar", b"x", "x.rar is a file: name the folder that holds the recordings, or a .zip or .tar"),
    ],
)
def test_no_archive(ws: Workspace, tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(CorpusError, match=words) as raised:
        bring(ws, tmp_path / name)
    assert "partial" not in str(raised.value)


def test_messages_name_the_archive(ws: Workspace, tmp_path: Path) -> None:
    for files in ({"notes.md": b"x"}, {}, {"metadata.csv": b"a|one\n"}, {"../x.wav": b"x"}):
        with pytest.raises(CorpusError) as raised:
            bring(ws, pack(tmp_path / "x.zip", files))
        assert str(tmp_path / "x.zip") in str(raised.value)
        assert "partial" not in str(raised.value)
    with pytest.raises(CorpusError, match="leave --root out"):
        bring(ws, pack(tmp_path / "x.zip"), root=tmp_path)


def test_a_tar_that_breaks_off(ws: Workspace, tmp_path: Path) -> None:
    source = pack(tmp_path / "x.tar.gz")
    whole = pack(tmp_path / "y.tar").read_bytes()
    (tmp_path / "y.tar").write_bytes(whole[: whole.index(FILES["voice/wavs/b.wav"]) + 100])
    summary = bring(ws, tmp_path / "y.tar")
    words = ("b.wav: is damaged", "breaks off after 2 files", "no audio for 'b'", "no audio for 'none'")
    assert (summary.added, len(summary.skipped)) == (1, len(words))
    assert all(word in text for word, text in zip(words, summary.skipped, strict=True))
    source.write_bytes(source.read_bytes()[:60])
    with pytest.raises(CorpusError):
        bring(ws, source)


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tar.gz"])
def test_fuzz(tmp_path: Path, ending: str) -> None:
    whole = pack(tmp_path / f"x{ending}").read_bytes()

    @given(data=st.data())
    def try_one(data: st.DataObject) -> None:
        changed = bytearray(whole)
        for _ in range(data.draw(st.integers(1, 6))):
            at = data.draw(st.integers(0, len(changed)))
            changed[at : at + data.draw(st.integers(0, 8))] = data.draw(
                st.one_of(
                    st.binary(max_size=8), st.sampled_from([b"../", b"/", b"\0", b"\xff" * 4, b"2", b"PK\x01\x02"])
                )
            )
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            source = place / f"x{ending}"
            source.write_bytes(changed)
            into = place / "deep" / "into"
            try:
                finish(archive.unpack(source, into=into))
                archive.inner(into)
            except OluError as bad:
                assert "\n" not in str(bad)
            assert {path.name for path in place.iterdir()} <= {source.name, "deep"}
            assert [path.name for path in (place / "deep").iterdir()] == ["into"]
            assert not any(path.is_symlink() for path in place.rglob("*"))

    try_one()

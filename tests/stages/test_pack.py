"""A workspace in one file: carried to another machine, trained on there, and its run taken back."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus, fingerprint
from olu.corpus.rights import of_workspace
from olu.stages.export import export
from olu.stages.import_ import STAGE as IMPORT
from olu.stages.pack import MANIFEST, PackSummary, pack
from olu.stages.train import train
from olu.stages.unpack import unpack
from olu.train.run import Run

from ..cli.conftest import fine, olu
from ..helpers.workspaces import trained, workspace

ROWS = [("c1", "one red cat", "x", "train"), ("c2", "two old dogs", "x", "train"), ("c3", "a hen", "x", "valid")]


@pytest.fixture
def home(tmp_path: Path) -> Workspace:
    ws = workspace(tmp_path / "home", ROWS)
    (tmp_path / "home" / "wavs" / "unused.wav").write_bytes(b"nobody's")
    return ws


def packed(ws: Workspace, out: Path, **more: object) -> PackSummary:
    return finish(pack(ws, out=out, **more))  # type: ignore[arg-type]


def test_there_and_back_again(home: Workspace, tmp_path: Path) -> None:
    trained(home)
    said = packed(home, tmp_path / "a.tar")
    assert said.runs == ["vits-001"] and said.bytes == (tmp_path / "a.tar").stat().st_size
    shutil.move(tmp_path / "home" / "wavs", tmp_path / "gone")  # the other machine has none of this
    there = finish(unpack(tmp_path / "a.tar", into=tmp_path / "far" / "ws"))
    assert not there.merged and there.runs == ["vits-001"]
    ws = Workspace.open(tmp_path / "far" / "ws")
    corpus = Corpus.open(ws)
    assert {source.root for source in corpus.sources.values()} == {"corpus/audio/s1"}
    assert [path.name for path in sorted((ws.corpus / "audio" / "s1").iterdir())] == ["c1.wav", "c2.wav", "c3.wav"]
    assert all(len(corpus.audio(clip).samples) for clip in corpus)
    summary, _ = trained(ws, from_run="vits-001")
    assert summary.run == "vits-002" and summary.steps == 2
    packed(ws, tmp_path / "b.tar")
    shutil.move(tmp_path / "gone", tmp_path / "home" / "wavs")
    back = finish(unpack(tmp_path / "b.tar", into=home.root))
    assert back.merged and back.runs == ["vits-002"]
    assert [run.name for run in Run.all(home.runs_folder)] == ["vits-001", "vits-002"]
    assert not list(home.root.glob(".*partial")), "nothing is left lying about"
    voice = finish(export(home.root, output=tmp_path / "x.voice"))
    assert voice.run == "vits-002", "and it speaks at home"
    again = finish(unpack(tmp_path / "b.tar", into=home.root))
    assert again.runs == [] and "is here already" in again.notes[0]


def test_an_unfinished_run_goes_on_there_and_comes_back_farther(home: Workspace, tmp_path: Path) -> None:
    work = train(
        home, overrides=["model.size=tiny", "plan.steps=4", "plan.batch_clips=2", "plan.save_every=2"], new=True
    )
    run = Run(home.runs_folder / "vits-001")
    while not (run.folder / "checkpoints" / "step-2").exists():
        next(work)
    work.close()
    assert not run.finished
    packed(home, tmp_path / "a.tar")
    finish(unpack(tmp_path / "a.tar", into=tmp_path / "far"))
    ws = Workspace.open(tmp_path / "far")
    work = train(ws, resume=True)
    for _ in work:
        pass
    assert Run(ws.runs_folder / "vits-001").finished
    packed(ws, tmp_path / "b.tar")
    back = finish(unpack(tmp_path / "b.tar", into=home.root))
    assert back.runs == ["vits-001"] and run.finished and max(run.checkpoints().steps()) == 4
    older = finish(unpack(tmp_path / "a.tar", into=home.root))
    assert older.runs == [] and "farther here" in older.notes[0] and run.finished


def test_two_runs_of_one_name_are_both_kept(home: Workspace, tmp_path: Path) -> None:
    packed(home, tmp_path / "a.tar", runs="none")
    finish(unpack(tmp_path / "a.tar", into=tmp_path / "far"))
    trained(home)
    ws = Workspace.open(tmp_path / "far")
    trained(ws, "seed=7")
    packed(ws, tmp_path / "b.tar", runs="all")
    before = {path: path.read_bytes() for path in home.runs_folder.rglob("*") if path.is_file()}
    back = finish(unpack(tmp_path / "b.tar", into=home.root))
    assert back.runs == ["vits-002"] and "became vits-002" in back.notes[0]
    assert all(path.read_bytes() == data for path, data in before.items()), "ours is untouched"
    assert Run(home.runs_folder / "vits-002").recipe.seed == 7


def test_what_travels(home: Workspace, tmp_path: Path) -> None:
    (home.root / "notes.txt").write_text("mine", encoding="utf-8")
    home.voices.mkdir()
    (home.voices / "x.voice").write_text("")
    (home.root / ".hidden").write_text("")
    with (home.root / "olu.toml").open("a") as file:
        file.write('\n[rights]\nlicence = "CC0-1.0"\n')
    packed(home, tmp_path / "a.tar")
    full = packed(home, tmp_path / "b.tar", features=True)
    with tarfile.open(tmp_path / "a.tar") as tar:
        names = tar.getnames()
    assert "notes.txt" in names and names[-1] == MANIFEST
    assert not [name for name in names if name.startswith(("voices", "features", "/")) or ".hidden" in name]
    assert "corpus/audio/s1/unused.wav" not in names and not [n for n in names if "unused" in n]
    with tarfile.open(tmp_path / "b.tar") as tar:
        assert any(name.startswith("features/") for name in tar.getnames())
    assert full.bytes > (tmp_path / "a.tar").stat().st_size
    finish(unpack(tmp_path / "b.tar", into=tmp_path / "far"))
    assert of_workspace(Workspace.open(tmp_path / "far")).licence == "CC0-1.0"
    from olu.stages.prepare import STAGE as PREPARE
    from olu.stages.read import STAGE as READ

    for stage in (PREPARE, READ):
        assert stage.state(Workspace.open(tmp_path / "far")) == "fresh", "nothing is made again there"


def test_opus_is_smaller_and_says_so(home: Workspace, tmp_path: Path) -> None:
    whole = packed(home, tmp_path / "a.tar")
    home.stamp("import", inputs=fingerprint(home), options={}, summary={})
    small = packed(home, tmp_path / "b.tar", opus=True)
    assert small.audio_bytes < whole.audio_bytes / 2 and any("loses a little" in note for note in small.notes)
    finish(unpack(tmp_path / "b.tar", into=tmp_path / "far"))
    assert IMPORT.state(Workspace.open(tmp_path / "far")) == "fresh", "there is nothing to import there"
    corpus, before = Corpus.open(Workspace.open(tmp_path / "far")), Corpus.open(home)
    for clip, old in zip(corpus, before, strict=True):
        assert clip.id == old.id and clip.audio == f"{old.audio}.opus"
        sound = corpus.audio(clip)
        assert abs(sound.seconds - old.seconds) < 0.05 and sound.rate == clip.rate


def _changed(
    file: Path, out: Path, change: dict[str, bytes | None], extra: list[tarfile.TarInfo] | None = None
) -> Path:
    """The same pack with files replaced or left out, and members put in front."""
    with tarfile.open(file) as old, tarfile.open(out, "w") as new:
        for info in extra or []:
            new.addfile(info, io.BytesIO(b"x" * info.size))
        for info in old:
            data = old.extractfile(info)
            assert data is not None
            held = change.get(info.name, data.read())
            if held is not None:
                info.size = len(held)
                new.addfile(info, io.BytesIO(held))
    return out


def _member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    return info


def _holes(name: str, size: int) -> tarfile.TarInfo:
    """A member of one byte that says it is much larger."""
    info = _member(name)
    info.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(size)}
    return info


def _listing(row: dict[str, object]) -> bytes:
    return json.dumps({"schema": 1, "language": "eng", "files": [row]}).encode()


def test_a_pack_that_is_not_as_it_was_made_is_refused_whole(home: Workspace, tmp_path: Path) -> None:
    packed(home, tmp_path / "a.tar")
    good = tmp_path / "a.tar"
    data = good.read_bytes()
    (tmp_path / "cut.tar").write_bytes(data[: len(data) // 2])
    (tmp_path / "none.tar").write_bytes(b"not a tar at all")
    flipped = bytearray(data)
    flipped[data.index(b"one red cat") + 4] ^= 1
    (tmp_path / "flipped.tar").write_bytes(bytes(flipped))
    outside = tmp_path / "outside.txt"
    cases = {
        "cut.tar": "breaks off|damaged",
        "none.tar": "damaged or no pack",
        "flipped.tar": "is not as it was packed",
    }
    made = {
        "up.tar": ([_member("../outside.txt")], {}, "leads out"),
        "absolute.tar": ([_member(str(outside))], {}, "leads out"),
        "windows.tar": ([_member("C:\\outside.txt")], {}, "leads out"),
        "link.tar": ([_member("corpus/x", tarfile.SYMTYPE, "/etc/passwd")], {}, "no plain file"),
        "hard.tar": ([_member("corpus/x", tarfile.LNKTYPE, "olu.toml")], {}, "no plain file"),
        "more.tar": ([_member("corpus/strange.txt")], {}, "which its list has not"),
        "less.tar": ([], {"corpus/clips.jsonl": None}, "corpus/clips.jsonl is not as it was packed"),
        "no-list.tar": ([], {MANIFEST: None}, "breaks off, or was not made"),
        "bad-list.tar": ([], {MANIFEST: b"{"}, "is damaged"),
        "newer.tar": ([], {MANIFEST: json.dumps({"schema": 9, "language": "", "files": []}).encode()}, "schema 9"),
        "twice.tar": ([_member("olu.toml")], {}, "twice"),
        "holes.tar": ([_holes("corpus/x", 2**40)], {}, "a file with holes"),
        "file-and-folder.tar": ([_member("corpus")], {}, "a file and a folder of one name"),
        "no-digest.tar": ([], {MANIFEST: _listing({"path": "olu.toml", "bytes": 1, "mtime_ns": 0})}, "is damaged"),
        "no-time.tar": (
            [],
            {MANIFEST: _listing({"path": "olu.toml", "bytes": 1, "mtime_ns": "x", "sha256": ""})},
            "is damaged",
        ),
    }
    for name, (extra, change, said) in made.items():
        _changed(good, tmp_path / name, change, extra)
        cases[name] = said
    for name, said in cases.items():
        with pytest.raises(WorkspaceError, match=said) as raised:
            finish(unpack(tmp_path / name, into=tmp_path / "far"))
        assert "\n" not in str(raised.value)
        assert not (tmp_path / "far").exists() and not outside.exists(), name
        with pytest.raises(WorkspaceError):
            finish(unpack(tmp_path / name, into=home.root))
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".partial")]


def test_the_command_line(home: Workspace, tmp_path: Path) -> None:
    done = fine("pack", home.root, "-o", tmp_path / "a.tar")
    assert "KiB of it sound" in done.out and "olu unpack a.tar" in done.out
    assert olu("pack", home.root, "-o", tmp_path / "a.tar").code == 2, "never over another file"
    assert "inside the workspace" in olu("pack", home.root, "-o", home.root / "b.tar").err
    assert "none of last, all, none" in olu("pack", home.root, "--runs", "some", "-o", tmp_path / "c.tar").err
    assert "no effect with --opus" in olu("pack", home.root, "--opus", "--features", "-o", tmp_path / "c.tar").err
    told = fine("unpack", tmp_path / "a.tar", tmp_path / "ws", "--json").json()
    assert told["workspace"] == str(tmp_path / "ws") and not told["merged"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    assert "is no workspace" in olu("unpack", tmp_path / "a.tar", tmp_path / "full").err
    other = workspace(tmp_path / "other", [("z1", "quite another", "x", "train"), ("z2", "thing", "x", "valid")])
    assert "another workspace" in olu("unpack", tmp_path / "a.tar", other.root).err
    shutil.rmtree(tmp_path / "home" / "wavs")
    assert "are not at" in olu("pack", home.root, "-o", tmp_path / "d.tar").err
    assert not (tmp_path / "d.tar").exists()


def test_features_that_are_not_there_are_told_of(home: Workspace, tmp_path: Path) -> None:
    assert not packed(home, tmp_path / "a.tar", features=True).notes
    shutil.rmtree(home.features)
    assert "no features to take" in packed(home, tmp_path / "b.tar", features=True).notes[0]

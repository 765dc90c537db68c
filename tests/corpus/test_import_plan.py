"""A dry run of an import says what the import then does, and writes nothing; the plan needs no disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from olu.cli.build import register
from olu.core.errors import CorpusError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Clip
from olu.corpus.doubts import standing
from olu.corpus.intake.held import HeldCorpus
from olu.corpus.intake.place import ImportPlace
from olu.corpus.intake.plan import FoundSource, ImportPlan, SourceName, Surroundings, name_source, plan_import
from olu.corpus.intake.probe import RecordingFacts, clip_id
from olu.corpus.readers import LAYOUTS
from olu.corpus.readers.rows import Problem, Row, Why
from olu.corpus.sources import Source, read_clips
from olu.stages.correct import correct_clip
from olu.stages.import_ import ImportSummary, import_source
from olu.stages.verbs import VERBS

from .test_layouts import CORPORA, lay, wav
from .test_subtitles import lay as lay_film
from .test_subtitles import made_film


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder with its date, and what the files hold."""
    paths = [root, *sorted(root.rglob("*"))]
    return {str(one): (one.lstat().st_mtime_ns, one.read_bytes() if one.is_file() else b"") for one in paths}


def manifest(ws: Workspace) -> dict[str, Clip]:
    return {clip.id: clip for clip in read_clips(ws)} if (ws.corpus / "clips.jsonl").exists() else {}


def agree(ws: Workspace, source: Path, **options: Any) -> ImportSummary:
    """Plan, look whether anything moved, import, and hold the one against the other."""
    home, before = ws.root.parent, manifest(ws)
    there = snapshot(home)
    planned = finish(import_source(ws, source, dry_run=True, **options))
    assert snapshot(home) == there
    done = finish(import_source(ws, source, **options))
    assert done.plan is None and replace(planned, plan=None, preview=None) == done
    after, plan = manifest(ws), planned.plan
    assert plan is not None
    assert set(plan.added) == after.keys() - before.keys() and len(plan.added) == done.added
    assert set(plan.replaced) == before.keys() - after.keys()
    assert set(plan.changed) == {id for id in before.keys() & after.keys() if before[id] != after[id]}
    assert set(plan.left) <= before.keys() & after.keys() - set(plan.changed)
    return planned


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("layout", CORPORA)
def test_every_layout_and_again(ws: Workspace, tmp_path: Path, layout: str, copy: bool) -> None:
    source = lay(tmp_path / "in", CORPORA[layout])
    assert agree(ws, source, copy=copy).added
    again = agree(ws, source, copy=copy)
    assert again.plan is not None and not (again.added or again.plan.changed) and again.plan.left


def lj(root: Path, texts: dict[int, str]) -> Path:
    rows = "".join(f"c{n}|{text}\n" for n, text in texts.items())
    return lay(root, {f"wavs/c{n}.wav": wav(n, seconds=0.3) for n in texts} | {"metadata.csv": rows.encode()})


def edited(source: Path, ws: Workspace) -> Path:
    return lj(source, {1: "moja", 2: "mbili mpya", 3: "tatu", 4: "nne"})


def changed(source: Path, ws: Workspace) -> Path:
    (source / "wavs" / "c2.wav").write_bytes(wav(77, seconds=0.4))
    return source


def broken(source: Path, ws: Workspace) -> Path:
    (source / "wavs" / "c2.wav").write_bytes(b"no sound")
    with (source / "metadata.csv").open("a") as out:
        out.write("none|x\n")
    return source


def moved(source: Path, ws: Workspace) -> Path:
    return source.rename(source.with_name("elsewhere"))


def beside(source: Path, ws: Workspace) -> Path:
    return Path(shutil.copytree(source, source.with_name("twin")))


def corrected(source: Path, ws: Workspace) -> Path:
    correct_clip(ws, next(iter(manifest(ws))), "andiko la mtu", by="amina")
    return edited(source, ws)


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("change", [edited, changed, broken, moved, beside, corrected])
def test_imported_again(ws: Workspace, tmp_path: Path, change: Callable[[Path, Workspace], Path], copy: bool) -> None:
    source = lj(tmp_path / "in", {1: "moja", 2: "mbili", 3: "tatu"})
    agree(ws, source, copy=copy)
    agree(ws, change(source, ws), copy=copy)


def test_a_changed_copy_is_made_anew_and_not_told_as_changed(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in", {1: "moja", 2: "mbili"})
    finish(import_source(ws, source, copy=True))
    (ws.corpus / "audio" / "s1" / "wavs" / "c1.wav").write_bytes(wav(9, seconds=0.3))
    assert not agree(ws, source, copy=True).notes


def test_an_archive_is_unpacked_elsewhere(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in", {1: "moja", 2: "mbili"})
    packed = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", source))
    assert agree(ws, packed).added == 2
    assert agree(ws, packed).already == 2


def test_a_dataset_is_streamed_and_not_written(ws: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra hub")
    from .test_huggingface import example, parquet

    parquet(tmp_path / "in" / "train.parquet", [example(0), example(1), example(1, text="other")])
    assert agree(ws, tmp_path / "in").added == 2
    parquet(tmp_path / "in" / "train.parquet", [example(0, text="new"), example(2)])
    again = agree(ws, tmp_path / "in")
    assert again.plan is not None and (again.added, len(again.plan.changed)) == (1, 1)


def test_what_is_known_elsewhere_is_not_left_behind_by_a_stream(ws: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra hub")
    from .test_huggingface import example, parquet

    for name in ("one", "two"):
        parquet(tmp_path / name / "train.parquet", [example(0)])
    agree(ws, tmp_path / "one")
    assert agree(ws, tmp_path / "two").already == 1
    assert [path.name for path in (ws.corpus / "audio").rglob("*.wav")] == ["c0.wav"]


def test_subtitles_with_a_doubt_and_what_mends_it(ws: Workspace, tmp_path: Path) -> None:
    source = lay_film(tmp_path / "in", made_film(3, clips=30), shift=2.4)
    first = agree(ws, source)
    assert first.doubts and first.mending and standing(ws)
    second = agree(ws, source, shift=2.4)
    assert second.plan is not None and second.plan.replaced and not second.doubts
    assert "used again" in agree(ws, source).notes[0]


def test_media_is_decoded_elsewhere(ws: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("av", reason="needs the extra media")
    from ..helpers.phone_recordings import record

    source = tmp_path / "in"
    source.mkdir()
    record(source / "a.m4a")
    (source / "a.txt").write_text("habari", encoding="utf-8")
    assert agree(ws, source).added == 1
    assert agree(ws, source).already == 1


def test_what_cannot_be_imported_is_refused_alike(ws: Workspace, tmp_path: Path) -> None:
    source = lay(tmp_path / "in", {"metadata.csv": b"a|b\n", "c.wav": wav(1)})
    before, told = snapshot(tmp_path), []
    for dry_run in (True, False):
        with pytest.raises(CorpusError) as bad:
            finish(import_source(ws, source, dry_run=dry_run))
        told.append(str(bad.value))
        assert not dry_run or snapshot(tmp_path) == before
    assert told[0] == told[1]


def run(*words: str) -> str:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app, VERBS["import"])
    result = CliRunner().invoke(app, ["import", *words, "--dry-run"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_command(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in", {1: "moja", 2: "mbili"})
    with (source / "metadata.csv").open("a") as out:
        out.write("none|x\n")
    before = snapshot(tmp_path)
    shown = run(str(ws.root), str(source))
    assert "Would add 2 clips, 1 skipped.\n  added: 2 (c1-" in shown
    assert "\n  changed: 0\n  replaced: 0\n  left: 0\nThe corpus would have 2 clips" in shown
    assert "none" in shown and shown.endswith("Nothing was written. Next: the same without --dry-run\n")
    found = json.loads(run(str(ws.root), str(source), "--json"))
    assert (found["added"], len(found["plan"]["added"]), len(found["skipped"])) == (2, 2, 1)
    assert snapshot(tmp_path) == before


NOWHERE = Workspace(root=Path("/nowhere/ws"), language="swa", name="ws")


def facts(number: int) -> RecordingFacts:
    return RecordingFacts(sha256=f"{number:064d}", bytes=10, mtime_ns=1, seconds=2.0, rate=16000)


def row(number: int, text: str | None = "moja") -> Row:
    return Row(audio=f"{number}.wav", text=text, where=f"line {number}")


def clip(number: int, *, source: str = "s1", text: str = "moja") -> Clip:
    id = clip_id(f"{number}.wav", sha256=facts(number).sha256)
    return Clip(id=id, audio=f"{source}/{number}.wav", seconds=2.0, rate=16000, text=text, language="swa")


def held(*clips: Clip, gone: tuple[str, ...] = ()) -> HeldCorpus:
    files = {one.audio: {"sha256": facts(int(one.audio[3])).sha256} for one in clips}
    return HeldCorpus(
        NOWHERE, clips, {"s1": Source(name="s1", root="/nowhere/a", layout="ljspeech")}, {}, files, {}, gone=gone
    )


def found(*probed: tuple[Row, RecordingFacts | Problem], at: str = "/nowhere/a") -> FoundSource:
    place = ImportPlace(named=Path(at), files=Path(at))
    root = Path(at)
    return FoundSource(place=place, layout=LAYOUTS["ljspeech"], root=root, origin=root, copy=False, probed=probed)


def plan(before: HeldCorpus, source: FoundSource, around: Surroundings = Surroundings()) -> ImportPlan:  # noqa: B008
    return plan_import(before, source, name_source(before, source), around)


def test_a_plan_is_made_without_a_disk() -> None:
    before = held(clip(1), clip(2), clip(3))
    bad = Problem(where="line 5", message="is no sound", why=Why.SOUND)
    made = plan(before, found((row(1), facts(1)), (row(2, "mbili"), facts(2)), (row(4), facts(4)), (row(5), bad)))
    assert made.merge.new == [clip(4).id] and made.changed == (clip(2).id,) and made.gone == ()
    assert made.left == (clip(1).id,) and made.problems == (bad,) and not made.is_empty
    assert list(made.files) == ["s1/1.wav", "s1/2.wav", "s1/3.wav", "s1/4.wav"] and not made.copies
    assert made.sources == before.sources and before == held(clip(1), clip(2), clip(3))
    assert asdict(made.tally()) == {
        "reasons": {"sound": 1},
        "told": "1 is no readable sound",
        "examples": ("line 5: is no sound",),
        "lost": "1 of 4 rows (25 %): mend them and import again, which adds only what is new",
    }


def test_a_source_that_moved_is_known_by_what_it_holds() -> None:
    source = found((row(1), facts(1)), (row(2), facts(2)), at="/nowhere/b")
    assert name_source(held(clip(1), clip(2)), source) == SourceName("s2", "/nowhere/b", {}, False)
    before = held(clip(1), clip(2), gone=("s1",))
    assert name_source(before, source) == SourceName("s1", "/nowhere/b", {}, False)
    made = plan(before, source)
    assert made.is_new and made.sources["s1"].root == "/nowhere/b" and not made.merge.new


def test_what_is_not_where_it_was_moves_and_what_is_there_stays() -> None:
    before, source = held(clip(1)), found((row(1), facts(1)), at="/nowhere/b")
    assert plan(before, source).changed == ()
    moved = plan(before, source, Surroundings(missing={"s1/1.wav"}))
    assert moved.changed == (clip(1).id,) and moved.merge.clips[clip(1).id].audio == "s2/1.wav"
    assert set(moved.sources) == {"s2"}

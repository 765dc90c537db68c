from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import typer
from typer.testing import CliRunner

from olu.cli.build import register
from olu.core.errors import CorpusError, WorkspaceError
from olu.core.files import Workspace, hash_file, read_jsonl, write_json
from olu.core.job import finish
from olu.core.words import length
from olu.corpus.intake.probe import clip_id
from olu.corpus.manifest import Corpus
from olu.stages.import_ import STAGE, ImportSummary, import_source
from olu.stages.status import status
from olu.stages.verbs import VERBS

KINDS = {".opus": ("OGG", "OPUS"), ".ogg": ("OGG", "VORBIS"), ".mp3": ("MP3", "MPEG_LAYER_III")}


def sound(path: Path, *, seed: int = 0, seconds: float = 0.3, rate: int = 16000) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = np.random.default_rng(seed).uniform(-0.1, 0.1, round(seconds * rate)).astype(np.float32)
    form, subtype = KINDS.get(path.suffix, (path.suffix[1:].upper(), "PCM_16"))
    soundfile.write(str(path), samples, rate, format=form, subtype=subtype)
    return path


def lj(root: Path, *, first: int = 0, number: int = 3) -> Path:
    for n in range(first, first + number):
        sound(root / "wavs" / f"c{n}.wav", seed=n)
    lines = [f"c{n}|text {n}\n" for n in range(first + number)]
    (root / "metadata.csv").write_text("".join(lines), encoding="utf-8")
    return root


def add(source: Path, *lines: str) -> None:
    with (source / "metadata.csv").open("a", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", language="swa")


def bring(ws: Workspace, source: Path, **options: object) -> ImportSummary:
    return finish(import_source(ws, source, **options))  # type: ignore[arg-type]


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_import(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    summary = bring(ws, source)
    assert (summary.layout, summary.why) == ("ljspeech", "metadata.csv has id|text lines")
    assert (summary.added, summary.already, summary.skipped, summary.clips) == (3, 0, (), 3)
    assert summary.seconds == pytest.approx(0.9)
    assert (summary.speakers, summary.language) == (("default",), "swa")
    corpus = Corpus.open(ws)
    assert [clip.text for clip in corpus] == ["text 0", "text 1", "text 2"]
    assert [clip.audio for clip in corpus] == [f"s1/wavs/c{n}.wav" for n in range(3)]
    assert corpus.sources["s1"].root == str(source.resolve())
    assert {corpus.split(clip) for clip in corpus} >= {"train", "valid"}
    for clip, row in zip(corpus, read_jsonl(ws.corpus / "files.jsonl"), strict=True):
        path = corpus.locate(clip)
        assert corpus.audio(clip).seconds == pytest.approx(clip.seconds)
        assert row == {
            "audio": clip.audio,
            "sha256": hash_file(path),
            "bytes": path.stat().st_size,
            "mtime_ns": path.stat().st_mtime_ns,
        }
    assert STAGE.state(ws) == "fresh"


def test_ticks(ws: Workspace, tmp_path: Path) -> None:
    ticks = list(import_source(ws, lj(tmp_path / "in"), copy=True))
    assert [(tick.done, tick.total) for tick in ticks] == [(1, 3), (2, 3), (3, 3)] * 2


def test_every_format(ws: Workspace, tmp_path: Path) -> None:
    for n, ending in enumerate((".wav", ".flac", ".ogg", ".opus", ".mp3")):
        sound(tmp_path / "in" / "deep" / f"c{n}{ending}", seed=n)
        (tmp_path / "in" / "deep" / f"c{n}.txt").write_text(f"text\n{n}\n")
    summary = bring(ws, tmp_path / "in", speaker="Ada")
    assert (summary.layout, summary.added, summary.skipped) == ("folder", 5, ())
    assert summary.speakers == ("Ada",)
    corpus = Corpus.open(ws)
    assert [clip.text for clip in corpus] == [f"text\n{n}" for n in range(5)]
    assert all(corpus.audio(clip).seconds == pytest.approx(0.3, abs=0.1) for clip in corpus)


def test_newlines_survive(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    (source / "metadata.csv").write_text('c0|"one\ntwo"\nc1|three\nfour\nc2|five\n')
    bring(ws, source)
    assert [clip.text for clip in Corpus.open(ws)] == ["one\ntwo", "three\nfour", "five"]


def test_ids() -> None:
    sha = hashlib.sha256(b"x").hexdigest()
    tail = hashlib.sha256(f"{sha}0.000".encode()).hexdigest()[:8]
    assert clip_id("a/ọ̀rọ̀ 1_é?.x.wav", sha256=sha) == f"ọ̀rọ̀-1_é-.x-{tail}"
    assert clip_id("नमस्ते.wav", sha256=sha) == f"नमस्ते-{tail}"
    assert clip_id("a.wav", sha256=sha, start=1.5) != clip_id("a.wav", sha256=sha)
    assert len(clip_id("x" * 250 + ".wav", sha256=sha)) < 150


@pytest.mark.parametrize("copy", [False, True])
def test_twice_adds_nothing(ws: Workspace, tmp_path: Path, copy: bool) -> None:
    source = lj(tmp_path / "in")
    bring(ws, source, copy=copy)
    before = {name: data for name, (_, data) in snapshot(ws.corpus).items()}
    again = bring(ws, source, copy=copy)
    assert (again.added, again.already, again.clips, again.notes) == (0, 3, 3, ())
    assert {name: data for name, (_, data) in snapshot(ws.corpus).items()} == before


@pytest.mark.parametrize("copy", [False, True])
def test_more_later(ws: Workspace, tmp_path: Path, copy: bool) -> None:
    source = lj(tmp_path / "in")
    bring(ws, source, copy=copy)
    first = Corpus.open(ws).clips
    lj(source, first=3, number=2)
    more = bring(ws, source, copy=copy)
    assert (more.added, more.already, more.clips) == (2, 3, 5)
    other = bring(ws, lj(tmp_path / "other", first=9, number=1), copy=copy)
    assert (other.added, len(other.skipped), other.clips) == (1, 9, 6)
    corpus = Corpus.open(ws)
    assert corpus.clips[:3] == first
    assert list(corpus.sources) == ["s1", "s2"]
    assert all(corpus.locate(clip).is_file() for clip in corpus)
    assert len(list(read_jsonl(ws.corpus / "files.jsonl"))) == 6


def test_copy_needs_the_originals_no_more(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    (source / "wavs" / "c0.wav").chmod(0o444)
    bring(ws, source, copy=True)
    shutil.rmtree(source)
    ws.root.rename(tmp_path / "moved")
    corpus = Corpus.open(Workspace.open(tmp_path / "moved"))
    assert corpus.sources["s1"].root == "corpus/audio/s1"
    assert [corpus.audio(clip).rate for clip in corpus] == [16000] * 3


def test_copy_after_a_reference_says_that_nothing_was_copied(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    bring(ws, source)
    again = bring(ws, source, copy=True, speaker="Ada")
    assert again.already == 3
    assert f"3 clips were imported before from {source.resolve()} and stay there" in again.notes
    assert "3 clips were imported before with another speaker, which they keep" in again.notes
    assert list(Corpus.open(ws).sources) == ["s1"]


def test_a_moved_source_is_found_again(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    bring(ws, source)
    ids = [clip.id for clip in Corpus.open(ws)]
    source.rename(tmp_path / "new place")
    again = bring(ws, tmp_path / "new place")
    assert (again.added, again.already) == (0, 3)
    assert again.notes == (f"the recordings of s1 had moved from {source} and were found again here",)
    corpus = Corpus.open(ws)
    assert [clip.id for clip in corpus] == ids
    assert all(corpus.locate(clip).is_file() for clip in corpus)


def test_a_changed_recording_replaces_its_clip(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    bring(ws, source)
    sound(source / "wavs" / "c1.wav", seed=77)
    again = bring(ws, source)
    assert (again.added, again.already, again.clips) == (1, 2, 3)
    assert "c1.wav has changed" in again.notes[0]
    assert len(list(read_jsonl(ws.corpus / "files.jsonl"))) == 3


def test_two_texts_for_one_recording(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    add(source, "c1.wav|another text", "wavs/c2|text 2")
    summary = bring(ws, source)
    assert summary.added == 3
    (problem,) = summary.skipped
    assert problem.startswith("metadata.csv line 4: wavs/c1.wav has another text in metadata.csv line 2")


def test_an_edited_text_is_taken_and_said(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    bring(ws, source)
    path = source / "metadata.csv"
    path.write_text(path.read_text().replace("text 1", "new text"))
    again = bring(ws, source)
    assert (again.added, again.already, len(again.skipped)) == (0, 3, 0)
    assert again.notes == ("wavs/c1.wav has another text than before: the new one was taken",)
    assert [clip.text for clip in Corpus.open(ws).clips] == ["text 0", "new text", "text 2"]
    assert bring(ws, source).notes == ()


def test_ids_stay_short_in_every_script() -> None:
    id = clip_id("wavs/" + "𞤀" * 200 + ".wav", sha256="0")
    assert len(id.encode("utf-8")) < 150 and id.startswith("𞤀")


@pytest.mark.parametrize("text", ["same", "other"])
def test_one_recording_under_one_name_in_two_folders(ws: Workspace, tmp_path: Path, text: str) -> None:
    source = lj(tmp_path / "in")
    (source / "clips").mkdir()
    shutil.copy(source / "wavs" / "c0.wav", source / "clips" / "c0.wav")
    add(source, f"clips/c0.wav|{'text 0' if text == 'same' else text}")
    for _ in range(2):
        summary = bring(ws, source)
        assert (summary.clips, len(summary.skipped)) == (3, 1)
        assert summary.skipped[0].startswith("metadata.csv line 4: clips/c0.wav is")


def test_bad_files(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    (source / "wavs" / "zero.wav").write_bytes(b"")
    (source / "wavs" / "page.wav").write_text("this is text, not sound")
    whole = sound(source / "wavs" / "cut.wav").read_bytes()
    (source / "wavs" / "cut.wav").write_bytes(whole[:30])
    (source / "wavs" / "dir.wav").mkdir()
    (source / "wavs" / "gone.wav").symlink_to("nowhere.wav")
    names = ("zero", "page", "cut", "dir", "gone", "missing")
    add(source, *(f"{name}|said" for name in names), "c0|", "c1.wav| \t")
    summary = bring(ws, source)
    assert summary.added == 3
    assert len(summary.skipped) == len(names) + 2
    for number, name in enumerate(names, 4):
        assert any(f"line {number}:" in text and name in text for text in summary.skipped), summary.skipped
    assert sum("has no text: write what is said" in text for text in summary.skipped) == 2
    assert str(source) not in "".join(summary.skipped)
    stored = list(read_jsonl(ws.corpus / "problems.jsonl"))
    assert [f"{row['where']}: {row['problem']}" for row in stored] == list(summary.skipped)


def test_paths_that_lead_out(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    outside = sound(tmp_path / "out" / "o.wav", seed=9)
    (source / "wavs" / "file.wav").symlink_to(outside)
    (source / "wavs" / "inner.wav").symlink_to(sound(source / "store" / "real.wav", seed=8))
    (source / "linked").symlink_to(outside.parent)
    escapes = ("../out/o.wav", "../out/o", str(outside), "wavs/../../out/o.wav", "file", "linked/o.wav")
    add(source, *(f"{name}|text" for name in escapes), "inner|inside", "wavs/../wavs/c0.wav|text 0")
    summary = bring(ws, source)
    assert summary.added == 4
    assert len(summary.skipped) == len(escapes)
    assert all("leads out of" in text for text in summary.skipped)
    assert all("in" in str(Corpus.open(ws).locate(clip)) for clip in Corpus.open(ws))


def test_a_file_name_that_is_no_text(ws: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "in"
    for stem in (b"good", b"caf\xe9", b"alone\xff"):
        sound(source / "x.wav", seed=len(stem)).rename(source / os.fsdecode(stem + b".wav"))
        if stem != b"alone\xff":
            (source / os.fsdecode(stem + b".txt")).write_text("said")
    summary = bring(ws, source)
    assert (summary.added, len(summary.skipped)) == (1, 2)
    assert any("not valid UTF-8: rename" in text for text in summary.skipped)
    json.dumps(summary.skipped, ensure_ascii=False).encode("utf-8")


def test_long_clips_are_noted_with_what_cuts_them(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    for name, seconds in (("c1", 1800), ("c2", 21)):
        soundfile.write(str(source / "wavs" / f"{name}.wav"), np.zeros(seconds * 1000, np.int16), 1000)
    summary = bring(ws, source)
    assert (summary.added, Corpus.open(ws).clips[1].seconds) == (3, 1800.0)
    said = "2 clips (30.4 minutes) are longer than 20 s, and training leaves them out by default"
    how = f"To make shorter clips of them: olu read {ws.root}, olu align {ws.root}, then olu cut {ws.root}"
    assert summary.notes == (f"{said}. {how}",)
    assert status(ws).long == f"{said}. {how}"
    assert bring(ws, source).notes == ()


def only_metadata(root: Path) -> None:
    lj(root)
    shutil.rmtree(root / "wavs")


def only_audio(root: Path) -> None:
    lj(root)
    (root / "metadata.csv").rename(root / "words.rtf")


def only_header(root: Path) -> None:
    lj(root)
    (root / "metadata.csv").write_text("id|text\n")


def only_bad(root: Path) -> None:
    lj(root)
    for path in (root / "wavs").iterdir():
        path.write_bytes(b"")


CASES: list[tuple[Callable[[Path], object], dict[str, object], str]] = [
    (lambda root: None, {}, "in is not there"),
    (Path.mkdir, {}, "in is empty: name the folder"),
    (only_metadata, {}, r"metadata for 3 recordings but no audio for any: the first, 'c0' .* not in wavs/, audio/"),
    (only_audio, {}, "3 audio files but no metadata.csv and no .txt beside them: "),
    (only_header, {}, r"no line of the form id\|text"),
    (only_bad, {}, r"nothing in .* can be used \(3 problems\); the first is metadata.csv line 1: wavs/c0.wav is empty"),
    (lj, {"layout": "foldr"}, "unknown layout 'foldr'; did you mean 'folder'?"),
    (lj, {"speaker": " "}, "speaker's name is empty"),
]


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize(("make", "options", "words"), CASES)
def test_nothing_usable_changes_nothing(
    ws: Workspace,
    tmp_path: Path,
    make: Callable[[Path], object],
    options: dict[str, object],
    words: str,
    used: bool,
) -> None:
    if used:
        bring(ws, lj(tmp_path / "earlier", first=5, number=1))
    before = snapshot(ws.root)
    make(tmp_path / "in")
    with pytest.raises(CorpusError, match=words) as raised:
        bring(ws, tmp_path / "in", **options)
    assert "\n" not in str(raised.value)
    assert snapshot(ws.root) == before


def test_killed_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop at the nth rename, for every n: the workspace opens, its clips are whole, and the next import ends well."""
    source = lj(tmp_path / "in")
    rename = Path.replace
    finished = False
    for stop in range(1, 50):
        ws = Workspace.create(tmp_path / f"ws{stop}", language="swa")
        bring(ws, lj(tmp_path / "earlier", first=7, number=1)) if stop % 2 else None
        left = stop

        def replace(path: Path, target: Path) -> Path:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return rename(path, target)

        monkeypatch.setattr(Path, "replace", replace)
        try:
            bring(ws, source, copy=True)
            finished = True
        except KeyboardInterrupt:
            pass
        monkeypatch.setattr(Path, "replace", rename)
        try:
            corpus = Corpus.open(Workspace.open(ws.root))
            assert all(corpus.locate(clip).is_file() for clip in corpus)
        except WorkspaceError as none:
            assert "has no clips yet" in str(none)
        bring(ws, source, copy=True)
        corpus = Corpus.open(ws)
        assert [clip.text for clip in corpus][-3:] == ["text 0", "text 1", "text 2"]
        assert all(corpus.locate(clip).is_file() for clip in corpus)
        assert STAGE.state(ws) == "fresh"
        if finished:
            break
    assert finished
    assert stop > 8


def test_closed_early_writes_nothing(ws: Workspace, tmp_path: Path) -> None:
    before = snapshot(ws.root)
    work = import_source(ws, lj(tmp_path / "in"))
    next(work)
    work.close()
    assert snapshot(ws.root) == before
    assert STAGE.state(ws) == "missing"


def test_stage_goes_stale_when_the_manifest_is_edited_but_not_when_recordings_move(
    ws: Workspace, tmp_path: Path
) -> None:
    bring(ws, lj(tmp_path / "in"))
    write_json(ws.corpus / "sources.json", [{"name": "s1", "root": "/elsewhere", "layout": "ljspeech"}])
    assert STAGE.state(ws) == "fresh"
    splits, clips = ws.corpus / "splits.jsonl", ws.corpus / "clips.jsonl"
    splits.write_text(splits.read_text(encoding="utf-8").replace("train", "test"), encoding="utf-8")
    assert STAGE.state(ws) == "fresh"  # 'olu split' may choose other sides later
    clips.write_text(clips.read_text(encoding="utf-8").replace('"text": "', '"text": "Na '), encoding="utf-8")
    assert STAGE.state(ws) == "stale"


def run(*words: str) -> str:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app, VERBS["import"])
    result = CliRunner().invoke(app, ["import", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_command(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    add(source, *(f"none{n}|x" for n in range(7)))
    shown = run(str(ws.root), str(source))
    assert "Layout ljspeech: metadata.csv has id|text lines." in shown
    assert "Added 3 clips, 7 skipped." in shown
    assert "The corpus has 3 clips, 0.9 seconds, in swa; speakers: default." in shown
    assert "none4" in shown
    assert "none5" not in shown
    assert f"... and 2 more, see {ws.corpus / 'problems.jsonl'}" in shown
    assert shown.endswith(f"Next: olu audit {ws.root}\n")
    assert len(list(read_jsonl(ws.corpus / "problems.jsonl"))) == 7


def test_command_json(ws: Workspace, tmp_path: Path) -> None:
    source = lj(tmp_path / "in")
    found = json.loads(run(str(ws.root), str(source), "--speaker", "Ada", "--copy", "--layout", "ljspeech", "--json"))
    assert (found["added"], found["speakers"], found["skipped"], found["clips"]) == (3, ["Ada"], [], 3)
    assert found["why"] == "asked for with --layout"
    assert (ws.corpus / "audio" / "s1" / "wavs" / "c0.wav").is_file()


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.04, "0.04 seconds"), (4.04, "4.0 seconds"), (90, "1.5 minutes"), (7190, "2.00 hours"), (6891, "1.91 hours")],
)
def test_lengths(seconds: float, shown: str) -> None:
    assert length(seconds) == shown


SHARED = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared")) / "corpora"


@pytest.mark.parametrize(
    ("language", "clips", "minutes"), [("amh", 841, 114.9), ("swa", 419, 119.0), ("yor", 944, 165.5)]
)
def test_real_corpora(tmp_path: Path, language: str, clips: int, minutes: float) -> None:
    if not (SHARED / language).is_dir():
        pytest.skip(f"no {language} in {SHARED}: set OLU_SHARED")
    summary = bring(Workspace.create(tmp_path / "ws", language=language), SHARED / language)
    assert (summary.added, summary.skipped) == (clips, ())
    assert summary.seconds / 60 == pytest.approx(minutes, abs=0.06)

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import typer
from typer.testing import CliRunner

from olu.align.spans import phone_spans, word_spans
from olu.align.state import alignment_path, spread, to_align, unaligned
from olu.align.text_match import Match, read_match, write_match
from olu.cli.build import register
from olu.core.errors import OluError, WorkspaceError
from olu.core.files import Workspace, read_jsonl, write_jsonl, write_text
from olu.core.job import finish
from olu.core.types import Alignment
from olu.corpus import cuts, decisions, hand_bounds
from olu.corpus.decisions import Decision
from olu.corpus.hand_bounds import HandBounds, read_alignments
from olu.corpus.manifest import Corpus
from olu.stages.align import STAGE as ALIGN
from olu.stages.align import AlignSummary
from olu.stages.cut import undo_cut
from olu.stages.import_ import STAGE, import_source
from olu.stages.merge import MergeSummary, merge
from olu.stages.read import read_corpus
from olu.stages.verbs import VERBS


def made(source: Path, numbers: range | list[int], *, prefix: str = "c") -> Path:
    """LJSpeech-like: the number is the sound."""
    (source / "wavs").mkdir(parents=True, exist_ok=True)
    lines = []
    for number in numbers:
        wave = np.random.default_rng(number).normal(0, 0.1, 1600)
        soundfile.write(source / "wavs" / f"{prefix}{number}.wav", wave, 16000)
        lines.append(f"{prefix}{number}|text {number}\n")
    with (source / "metadata.csv").open("a", encoding="utf-8") as out:
        out.writelines(lines)
    return source


def space(root: Path, source: Path | None, *, speaker: str | None = None, copy: bool = False) -> Workspace:
    ws = Workspace.create(root, language="ibo") if not root.exists() else Workspace.open(root)
    if source is not None:
        finish(import_source(ws, source, speaker=speaker, copy=copy))
    return ws


def join(ws: Workspace, *others: Workspace, same_speakers: bool = False) -> MergeSummary:
    return finish(merge(ws, [other.root for other in others], same_speakers=same_speakers))


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def said(ws: Workspace) -> dict[str, str]:
    return {clip.text: clip.speaker for clip in Corpus.open(ws)}


@pytest.fixture
def one(tmp_path: Path) -> Workspace:
    return space(tmp_path / "one", made(tmp_path / "in1", range(3)))


@pytest.fixture
def two(tmp_path: Path) -> Workspace:
    return space(tmp_path / "two", made(tmp_path / "in2", range(10, 13)), copy=True)


def test_merge(one: Workspace, two: Workspace, tmp_path: Path) -> None:
    theirs = {clip.id: clip for clip in Corpus.open(two)}
    before = snapshot(two.root)
    summary = join(one, two)
    assert snapshot(two.root) == before, "the others are only read"
    assert summary.added == {str(two.root): 3}
    assert (summary.already, summary.duplicates, summary.clips) == (0, (), 6)
    corpus = Corpus.open(one)
    assert len(corpus) == 6
    for clip in corpus.clips[3:]:
        assert clip.id in theirs
        assert corpus.locate(clip) == Corpus.open(two).locate(theirs[clip.id]).resolve()
        assert (clip.text, clip.seconds) == (theirs[clip.id].text, theirs[clip.id].seconds)
        assert corpus.audio(clip).seconds == pytest.approx(0.1)
    assert not (one.corpus / "audio").exists(), "referenced, not copied"
    assert {corpus.split(clip) for clip in corpus} >= {"train", "valid"}
    assert {row["id"] for row in read_jsonl(one.corpus / "splits.jsonl")} == {clip.id for clip in corpus}
    assert {row["audio"] for row in read_jsonl(one.corpus / "files.jsonl")} == {clip.audio for clip in corpus}
    assert STAGE.state(one) == "fresh"


def test_merging_twice_adds_nothing_and_more_later_only_what_is_new(
    one: Workspace, two: Workspace, tmp_path: Path
) -> None:
    join(one, two)
    before = snapshot(one.root)
    again = join(one, two)
    assert (again.added, again.already, again.duplicates) == ({}, 3, ())
    assert snapshot(one.root) == before
    made(tmp_path / "in2", [20])
    space(two.root, tmp_path / "in2", copy=True)
    later = join(one, two)
    assert (later.added, later.already) == ({str(two.root): 1}, 3)
    assert said(one)["text 20"] == "two-default", "the same person as the clips that came before"
    assert set(Corpus.open(one).sources) == {"s1", "s2"}


def test_speakers_are_kept_apart(tmp_path: Path) -> None:
    a = space(tmp_path / "a", made(tmp_path / "1", [1]), speaker="Ada")
    b = space(tmp_path / "b", made(tmp_path / "2", [2]), speaker="Ada")
    space(b.root, made(tmp_path / "3", [3]), speaker="Obi")
    c = space(tmp_path / "x" / "b", made(tmp_path / "4", [4]), speaker="Ada")
    summary = join(a, b, c)
    assert said(a) == {"text 1": "Ada", "text 2": "b-Ada", "text 3": "Obi", "text 4": "b2-Ada"}
    assert summary.renamed == {str(b.root): {"Ada": "b-Ada"}, str(c.root): {"Ada": "b2-Ada"}}
    space(b.root, made(tmp_path / "5", [5]), speaker="Obi")
    assert join(a, b, c).added == {str(b.root): 1}
    assert said(a)["text 5"] == "Obi", "who came with this name before keeps it"


def test_a_speaker_of_whom_nothing_came_is_not_named(tmp_path: Path) -> None:
    a = space(tmp_path / "a", made(tmp_path / "1", [1, 2]))
    shutil.copytree(tmp_path / "1", tmp_path / "2")
    b = space(tmp_path / "b", tmp_path / "2", copy=True)
    summary = join(a, b)
    assert (summary.added, len(summary.duplicates), summary.renamed) == ({}, 2, {})
    space(b.root, made(tmp_path / "3", [3]), copy=True)
    assert join(a, b).renamed == {str(b.root): {"default": "b-default"}}
    assert said(a) == {"text 1": "default", "text 2": "default", "text 3": "b-default"}


def test_same_speakers(tmp_path: Path) -> None:
    a = space(tmp_path / "a", made(tmp_path / "1", [1]), speaker="Ada")
    b = space(tmp_path / "b", made(tmp_path / "2", [2]), speaker="Ada")
    assert join(a, b, same_speakers=True).renamed == {}
    assert set(said(a).values()) == {"Ada"}


def test_duplicates_are_left_out_once_and_listed(one: Workspace, tmp_path: Path) -> None:
    copied = made(tmp_path / "in2", [0, 30])
    other = space(tmp_path / "two", made(copied, [1, 1001], prefix="renamed"))
    shutil.copyfile(copied / "wavs" / "c30.wav", copied / "wavs" / "again.wav")
    with (copied / "metadata.csv").open("a", encoding="utf-8") as out:
        out.write("again|other words\n")
    space(other.root, copied)
    summary = join(one, other)
    assert summary.added == {str(other.root): 2}
    assert sorted(said(one)) == ["text 0", "text 1", "text 1001", "text 2", "text 30"]
    ids = {clip.text: clip.id for clip in Corpus.open(one)}
    rows = {row["same_as"]: row for row in read_jsonl(one.corpus / "duplicates.jsonl")}
    assert set(rows) == {ids["text 0"], ids["text 1"], ids["text 30"]}
    assert rows[ids["text 1"]]["id"].startswith("renamed1-")
    assert not rows[ids["text 30"]]["same_text"]
    assert "with another text, which was left out" in "".join(summary.duplicates)
    before = snapshot(one.root)
    assert join(one, other).added == {}
    assert snapshot(one.root) == before


def test_the_same_recordings_imported_in_both_are_one_source_and_no_duplicates(one: Workspace, tmp_path: Path) -> None:
    other = space(tmp_path / "two", tmp_path / "in1")
    made(tmp_path / "in1", [7])
    space(other.root, tmp_path / "in1")
    summary = join(one, other)
    assert (summary.added, summary.already, summary.duplicates) == ({str(other.root): 1}, 3, ())
    assert set(Corpus.open(one).sources) == {"s1"}
    assert set(said(one).values()) == {"default"}, "the same recordings are of the same person"


def test_into_an_empty_workspace_and_then_an_import(one: Workspace, two: Workspace, tmp_path: Path) -> None:
    empty = space(tmp_path / "empty", None)
    assert join(empty, one, two).clips == 6
    assert STAGE.state(empty) == "fresh"
    summary = finish(import_source(empty, tmp_path / "in1"))
    assert (summary.added, summary.already) == (0, 3)
    assert finish(import_source(empty, made(tmp_path / "in3", [40]))).added == 1
    assert len(Corpus.open(empty)) == 7


def test_decisions_come_along(one: Workspace, tmp_path: Path) -> None:
    other = space(tmp_path / "two", made(tmp_path / "in2", [1, 10, 11]))
    mine = {clip.text: clip.id for clip in Corpus.open(one)}
    theirs = {clip.text: clip.id for clip in Corpus.open(other)}
    kept = Decision(id=mine["text 1"], decision="keep", by="person")
    decisions.record(one, [kept])
    trim = Decision(id=theirs["text 11"], decision="trim", by="fix", start=0.01, seconds=0.05)
    decisions.record(
        other,
        [
            Decision(id=theirs["text 10"], decision="drop", by="person", reason="noise"),
            trim,
            Decision(id=theirs["text 1"], decision="drop", by="person"),
            Decision(id="gone-00000000", decision="drop", by="person"),
        ],
    )
    assert join(one, other).decisions == 2
    corpus = Corpus.open(one)
    held = {clip.text: corpus.decision(clip) for clip in corpus}
    assert held["text 1"] == kept, "what was decided here stays"
    assert held["text 10"] is not None
    assert (held["text 10"].decision, held["text 10"].reason) == ("drop", "noise")
    assert held["text 11"] == trim
    assert "gone-00000000" not in corpus.decisions
    before = snapshot(one.root)
    assert join(one, other).decisions == 0
    assert snapshot(one.root) == before
    decisions.record(other, [Decision(id=theirs["text 11"], decision="drop", by="person")])
    assert join(one, other).decisions == 1


def test_a_text_that_only_the_other_has_is_taken(one: Workspace, tmp_path: Path) -> None:
    other = space(tmp_path / "two", tmp_path / "in1")
    corpus = Corpus.open(one)
    bare = [replace(clip, text="") for clip in corpus]
    Corpus.save(one, bare, list(corpus.sources.values()), dict.fromkeys((clip.id for clip in bare), None))
    summary = join(one, other)
    assert (summary.added, summary.texts) == ({}, 3)
    assert sorted(said(one)) == ["text 0", "text 1", "text 2"]
    assert {Corpus.open(one).split(clip) for clip in Corpus.open(one)} >= {"train", "valid"}
    before = snapshot(one.root)
    assert join(one, other).texts == 0
    assert snapshot(one.root) == before
    Corpus.save(other, bare, list(corpus.sources.values()), dict.fromkeys((clip.id for clip in bare), None))
    assert join(one, other).texts == 0
    assert sorted(said(one)) == ["text 0", "text 1", "text 2"]


def test_wrong_workspaces_change_nothing(one: Workspace, two: Workspace, tmp_path: Path) -> None:
    swahili = Workspace.create(tmp_path / "swa", language="swa")
    finish(import_source(swahili, tmp_path / "in1"))
    empty = space(tmp_path / "empty", None)
    lost = space(tmp_path / "lost", made(tmp_path / "in3", [50]))
    (tmp_path / "in3").rename(tmp_path / "elsewhere")
    before = snapshot(one.root)
    for other, words in (
        (one.root, "is the workspace itself"),
        (swahili.root, "is for 'swa', .* for 'ibo': merge workspaces of one language"),
        (empty.root, "has no clips yet"),
        (lost.root, "the recordings of s1 are not at"),
        (tmp_path / "none", "is not a workspace"),
    ):
        with pytest.raises(OluError, match=words) as raised:
            finish(merge(one, [two.root, other]))
        assert "\n" not in str(raised.value)
        assert snapshot(one.root) == before
    row = json.dumps([])
    (two.corpus / "sources.json").write_text(row, encoding="utf-8")
    with pytest.raises(OluError, match=r"of .*two: its source 's1' is unknown there"):
        join(one, two)


def test_stopped_at_any_write_it_is_completed(
    one: Workspace, two: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop at the nth rename, for every n: it opens, its clips are whole, and the next merge completes it."""
    some = Corpus.open(two).clips[0]
    decisions.record(two, [Decision(id=some.id, decision="drop", by="person")])
    made(tmp_path / "in2", [0])
    space(two.root, tmp_path / "in2", copy=True)
    rename, finished, stop = Path.replace, False, 0
    for stop in range(1, 20):
        ws = Workspace.open(shutil.copytree(one.root, tmp_path / f"ws{stop}"))
        left = stop

        def instead(path: Path, target: Path) -> Path:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return rename(path, target)

        monkeypatch.setattr(Path, "replace", instead)
        try:
            join(ws, two)
            finished = True
        except KeyboardInterrupt:
            pass
        monkeypatch.setattr(Path, "replace", rename)
        corpus = Corpus.open(Workspace.open(ws.root))
        assert len(corpus) in (3, 6)
        assert all(corpus.locate(clip).is_file() for clip in corpus)
        join(ws, two)
        corpus = Corpus.open(ws)
        assert list(said(ws)) == [f"text {n}" for n in (0, 1, 2, 10, 11, 12)]
        assert set(corpus.sources) == {"s1", "s2"}
        assert set(corpus.decisions) == {some.id}
        assert len(list(read_jsonl(ws.corpus / "duplicates.jsonl"))) == 1
        assert STAGE.state(ws) == "fresh"
        if finished:
            break
    assert finished
    assert stop > 5


def run(*words: str) -> str:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app, VERBS["merge"])
    result = CliRunner().invoke(app, ["merge", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_command(one: Workspace, two: Workspace) -> None:
    shown = run(str(one.root), str(two.root))
    assert f"Added 3 clips of {two.root}." in shown
    assert f"The speaker default of {two.root} is two-default here." in shown
    assert "The corpus has 6 clips, 0.00 h; speakers: default, two-default." in shown
    assert run(str(one.root), str(two.root)).startswith("Nothing new.\n3 clips were there already.\n")
    found = json.loads(run(str(one.root), str(two.root), "--same-speakers", "--json"))
    assert (found["added"], found["already"], found["clips"]) == ({}, 3, 6)


def test_a_workspace_that_is_none(one: Workspace, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="is not a workspace"):
        finish(merge(one, [tmp_path]))


def align(ws: Workspace, *, only: int | None = None) -> dict[str, Alignment]:
    """As an aligner would: every phone of the first `only` clips has the same time."""
    finish(read_corpus(ws))
    found: dict[str, Alignment] = {}
    for id, (clip, words) in list(to_align(ws, Corpus.open(ws)).items())[:only]:
        phones = [phone for _, own in words for phone in own]
        step = clip.seconds / len(phones)
        edges = [(at * step, (at + 1) * step) for at in range(len(phones))]
        scores = [-1.0] * len(phones)
        spans = phone_spans(phones, edges, scores, clip.seconds), word_spans(words, edges, scores)
        found[id] = Alignment(id=id, seconds=clip.seconds, phones=spans[0], words=spans[1], score=-1.0, method="frames")
    write_jsonl(alignment_path(ws), (one.row() for one in found.values()))
    write_match(ws, ((id, Match(score=-1.0, cer=0.1)) for id in found))
    write_text(ws.alignment / "holes.txt", "".join(f"{id} 0:00.0: a jingle\n" for id in found))
    options = {"from": None, "ctc_only": False, "cross": False}
    summary = AlignSummary(
        method="frames", made_by=f"ears of {ws.name}", spread=spread(list(found.values())), problems=[], notes=[]
    )
    ALIGN.stamp(ws, options, summary.row())
    return found


def test_alignments_come_along_and_stay_fresh(one: Workspace, two: Workspace) -> None:
    mine, theirs = align(one), align(two)
    first = next(iter(theirs.values()))
    row = HandBounds(
        id=first.id,
        seconds=first.seconds,
        words=tuple((span.label, span.start, span.end) for span in first.words),
        phones=tuple((span.label, span.start, span.end) for span in first.phones),
        by="Ada",
        at="2026-11-01T00:00:00Z",
        batch="b1",
    )
    hand_bounds.journal(two).append([row])
    assert join(one, two).alignments == 3
    found = read_alignments(one)
    assert found.keys() == mine.keys() | theirs.keys() and found[first.id].method == "hand"
    labels = {id: [word.label for word in one.words] for id, one in hand_bounds.found_alignments(one).items()}
    assert labels == {id: [word.label for word in one.words] for id, one in (mine | theirs).items()}
    assert read_match(one).keys() == found.keys()
    assert (one.alignment / "holes.txt").read_text().splitlines() == [f"{id} 0:00.0: a jingle" for id in found]
    finish(read_corpus(one))
    assert not unaligned(one) and ALIGN.state(one) == "fresh", "nothing has to be listened to again"
    told = one.stamped("align")["summary"]
    assert told["made_by"] == "ears of one; ears of two" and told["spread"]["clips"] == 6
    before = snapshot(one.root)
    assert join(one, two).alignments == 0 and snapshot(one.root) == before
    new = Workspace.create(one.root.parent / "new", language="ibo")
    assert join(new, one, two).alignments == 6
    finish(read_corpus(new))
    assert ALIGN.state(new) == "fresh"


def test_an_alignment_that_is_not_whole_there_is_not_whole_here(one: Workspace, two: Workspace) -> None:
    align(one)
    theirs = align(two, only=2)
    two.stamp_path("align").unlink()
    assert join(one, two).alignments == 2
    finish(read_corpus(one))
    assert len(unaligned(one)) == 1 and ALIGN.state(one) == "stale"
    align(two)
    assert join(one, two).alignments == 1, "a merge later brings what was aligned since"
    assert read_alignments(one).keys() > theirs.keys() and not unaligned(one)


def test_what_was_cut_there_can_be_whole_again_here(one: Workspace, two: Workspace) -> None:
    whole, *pieces = (clip.id for clip in Corpus.open(two))
    cuts.save(two, {whole: pieces})
    decisions.record(two, [Decision(id=whole, decision="drop", by="cut", reason="into 2 clips")])
    join(one, two)
    assert cuts.load(one) == {whole: pieces}
    assert undo_cut(one) == (1, 2) and len(Corpus.open(one)) == 4

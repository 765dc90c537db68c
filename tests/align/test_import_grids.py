"""TextGrids in and out of a workspace, and what hangs on an alignment: the stage, durations, cutting."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from olu.align.state import alignment_path
from olu.align.textgrid import TextGrid, Tier, from_alignment, parse, render
from olu.align.textgrid_files import read_all, write_all, write_durations, write_grids
from olu.cli.main import app
from olu.core.errors import ConfigError, CorpusError, WorkspaceError
from olu.core.files import Workspace, read_jsonl, write_jsonl
from olu.core.job import finish
from olu.core.types import Alignment, Span
from olu.corpus import decisions
from olu.corpus.manifest import Corpus
from olu.stages import import_
from olu.stages.align import STAGE, align
from olu.stages.audit import audit
from olu.stages.cut import cut, undo_cut
from olu.stages.fix import fix, undo_fix
from olu.stages.read import read_corpus
from olu.stages.status import status

from ..helpers.aligned_workspaces import lines, workspace

LONG = (
    "Habari ya leo. Watu wengi wamekuja, na mtoto anasoma kitabu! Chai ni moto sana; simba na tembo "
    "wanapenda ndizi. Mvua inanyesha leo na 25 watu wanapika ugali."
)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Workspace, dict[str, Alignment]]:
    return workspace(tmp_path)


def grids(folder: Path, truth: dict[str, Alignment]) -> Path:
    write_all(folder, truth.values())
    return folder


def close(one: Alignment, other: Alignment) -> bool:
    pairs = zip(one.phones, other.phones, strict=True)
    return all(a.label == b.label and abs(a.start - b.start) + abs(a.end - b.end) < 3e-4 for a, b in pairs)


def test_textgrids_become_the_alignment_and_come_out_as_they_went_in(
    made: tuple[Workspace, dict[str, Alignment]], tmp_path: Path
):
    ws, truth = made
    assert STAGE.state(ws) == "missing"
    summary = finish(align(ws, source=grids(tmp_path / "in", truth)))
    assert summary.method == "textgrid"
    assert (summary.spread.clips, summary.problems) == (len(truth), [])
    corpus = Corpus.open(ws)
    for clip in corpus:
        found = corpus.alignment(clip)
        assert found is not None and close(found, truth[clip.id])
        assert [word.label for word in found.words] == [word.label for word in truth[clip.id].words]
    assert write_grids(ws, tmp_path / "out.tar.gz") == len(truth)
    assert read_all(tmp_path / "out.tar.gz") == read_all(tmp_path / "in")
    assert [row.state for row in status(ws).stages if row.name == "align"] == ["fresh"]
    counts = finish(audit(ws)).counts
    assert "cut_off" in counts and "mismatch" not in counts  # TextGrids say where words are, not how well they fit


def test_running_again_does_nothing_and_another_text_or_grid_does(
    made: tuple[Workspace, dict[str, Alignment]], tmp_path: Path
):
    ws, truth = made
    source = grids(tmp_path / "in", truth)
    finish(align(ws, source=source))
    before = alignment_path(ws).stat().st_mtime_ns
    finish(align(ws, source=source))
    finish(align(ws, keep=True))
    finish(align(ws))  # an alignment of TextGrids is not thrown away for one of our own
    assert alignment_path(ws).stat().st_mtime_ns == before
    first = next(iter(truth))
    decisions.record(ws, [decisions.Decision(id=first, decision="drop", by="person")])
    finish(read_corpus(ws))
    assert STAGE.state(ws) == "fresh"  # one clip less needs no new alignment
    moved = replace(truth[first], phones=(Span("", 0.0, 0.31), *truth[first].phones[1:]))
    (source / f"{first}.TextGrid").write_text(render(from_alignment(moved)), encoding="utf-8")
    finish(align(ws, source=source))
    assert alignment_path(ws).stat().st_mtime_ns != before


def test_another_phone_set_in_a_tar_by_the_recordings_names(
    made: tuple[Workspace, dict[str, Alignment]], tmp_path: Path
):
    """As MFA would: its own names, an affricate as one, `spn` and holes for silence, longer than the sound by a bit."""
    ws, truth = made
    names = {"ɑ": "AA1", "a": "AA1", "i": "IY0", "u": "UW1", "ɔ": "AO1", "o": "AO1", "ɛ": "EH0", "e": "EH0"}
    (tmp_path / "mfa" / "speaker").mkdir(parents=True)
    for clip in Corpus.open(ws):
        one = truth[clip.id]
        phones = tuple(p._replace(label=names.get(p.label, p.label.upper())) for p in one.phones if p.label)
        grid = TextGrid(0, one.seconds + 0.01, (Tier("words", one.words), Tier("phones", phones)))
        stem = Path(clip.audio).stem
        (tmp_path / "mfa" / "speaker" / f"{stem}.TextGrid").write_text(render(grid), encoding="utf-8")
    with tarfile.open(tmp_path / "mfa.tar.gz", "w:gz") as packed:
        packed.add(tmp_path / "mfa", "mfa")
    summary = finish(align(ws, source=tmp_path / "mfa.tar.gz"))
    assert summary.problems == []
    assert any("not ours and were mapped" in note and "AA1" in note for note in summary.notes)
    corpus = Corpus.open(ws)
    for clip in corpus:
        found = corpus.alignment(clip)
        assert found is not None and close(found, truth[clip.id])


def test_what_is_missing_foreign_or_broken_is_named(made: tuple[Workspace, dict[str, Alignment]], tmp_path: Path):
    ws, truth = made
    source = grids(tmp_path / "in", truth)
    one, two, three = list(truth)[:3]
    (source / f"{one}.TextGrid").write_text("no grid", encoding="utf-8")
    (source / f"{two}.TextGrid").rename(source / "else.TextGrid")
    wrong = replace(truth[three], words=(), phones=(Span("s", 0.0, truth[three].seconds),))
    (source / f"{three}.TextGrid").write_text(render(from_alignment(wrong)), encoding="utf-8")
    summary = finish(align(ws, source=source))
    assert [next(id for id in (one, two, three) if id in said) for said in summary.problems] == [one, three, two]
    assert any("else.TextGrid" in note for note in summary.notes)
    assert summary.spread.clips == len(truth) - 3
    for bad, said in ((tmp_path / "nowhere", "not there"), (tmp_path / "sounds", "no file that ends in .TextGrid")):
        with pytest.raises(CorpusError, match=said):
            finish(align(ws, source=bad))


@pytest.mark.parametrize(
    ("hop", "rate", "frames"), [(256, 16000, "floor"), (256, 22050, "centre"), (300, 24000, "floor")]
)
def test_durations_sum_to_the_frames_of_the_clip(
    made: tuple[Workspace, dict[str, Alignment]], tmp_path: Path, hop: int, rate: int, frames: str
):
    pytest.importorskip("olu.align.durations")
    ws, truth = made
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    first = next(iter(truth))
    trim = decisions.Decision(id=first, decision="trim", by="fix", start=0.1, seconds=truth[first].seconds - 0.2)
    decisions.record(ws, [trim])
    count, problems = write_durations(ws, tmp_path / "d.jsonl", hop=hop, rate=rate, frames=frames)  # type: ignore[arg-type]
    assert (count, problems) == (len(truth), [])
    for row in lines(tmp_path / "d.jsonl"):
        seconds = truth[str(row["id"])].seconds - (0.2 if row["id"] == first else 0.0)
        counts = row["frames"]
        assert isinstance(counts, list) and isinstance(row["tokens"], list)
        assert sum(counts) == int(seconds * rate + 0.5) // hop + (frames == "centre")
        assert len(counts) == len(row["tokens"]) and min(counts) >= 1
    with pytest.raises(ConfigError):
        write_durations(ws, tmp_path / "d.jsonl", hop=0, rate=rate, frames="floor")


@pytest.fixture
def long(tmp_path: Path) -> tuple[Workspace, dict[str, Alignment]]:
    ws, truth = workspace(tmp_path, [LONG, "Habari ya leo"], pauses=(0.25, 0.5, 0.05))
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    return ws, truth


def test_a_long_clip_is_cut_at_pauses_and_every_word_stays(long: tuple[Workspace, dict[str, Alignment]]):
    ws, truth = long
    before = Corpus.open(ws)
    parent = max(before, key=lambda clip: clip.seconds)
    assert finish(cut(ws, longest=4.0, dry=True)).written is False
    assert Corpus.open(ws).clips == before.clips
    done = finish(cut(ws, longest=4.0))
    assert (done.clips, list(done.cut), done.refused, done.still_long) == (1, [parent.id], [], [])
    corpus = Corpus.open(ws)
    pieces = [clip for clip in corpus if clip.id in done.cut[parent.id]]
    assert " ".join(piece.text for piece in pieces).split() == LONG.split()
    words = truth[parent.id].words
    for piece in pieces:
        assert piece.audio == parent.audio and piece.seconds <= 4.0
        inside = [w for w in words if w.start >= piece.start and w.end <= piece.start + piece.seconds]
        through = [w for w in words if w.start < piece.start < w.end or w.start < piece.start + piece.seconds < w.end]
        assert inside and not through
        assert corpus.split(piece) == before.split(parent)
        found = corpus.alignment(piece)
        assert found is not None and found.phones[0].start == 0
        assert [w.label for w in found.words] == [w.label for w in inside]
        assert found.words[0].start == pytest.approx(inside[0].start - piece.start, abs=2e-3)
    assert not corpus.is_wanted(parent)
    assert corpus.why_not(parent) == f"cut into shorter clips: into {len(pieces)} clips"
    assert import_.STAGE.state(ws) == "fresh"
    finish(read_corpus(ws))
    assert STAGE.state(ws) == "fresh"  # the pieces have their alignment from the whole
    assert finish(cut(ws, longest=4.0)).clips == 0


def test_cutting_is_undone_and_importing_again_keeps_it(long: tuple[Workspace, dict[str, Alignment]], tmp_path: Path):
    ws, _ = long
    before = Corpus.open(ws).clips
    done = finish(cut(ws, longest=4.0))
    pieces = sum(map(len, done.cut.values()))
    again = finish(import_.import_source(ws, tmp_path / "sounds"))
    assert (again.added, again.clips) == (0, len(before) + pieces)
    assert undo_cut(ws) == (1, pieces)
    assert Corpus.open(ws).clips == before
    assert all(Corpus.open(ws).is_wanted(clip) for clip in before)
    assert undo_cut(ws) == (0, 0)


def test_a_person_and_a_fix_beside_a_cut(long: tuple[Workspace, dict[str, Alignment]]):
    ws, _ = long
    parent = max(Corpus.open(ws), key=lambda clip: clip.seconds)
    finish(cut(ws, longest=4.0))
    decisions.record(ws, [decisions.Decision(id=parent.id, decision="trim", by="fix", start=0.1, seconds=3.0)])
    assert not Corpus.open(ws).is_wanted(parent)
    decisions.record(ws, [decisions.Decision(id=parent.id, decision="keep", by="person")])
    assert Corpus.open(ws).is_wanted(parent)


def test_words_that_score_badly_stop_a_cut_and_are_named(long: tuple[Workspace, dict[str, Alignment]]):
    ws, _ = long
    rows = list(read_jsonl(alignment_path(ws)))
    for row in rows:
        row["words"] = [[*word[:3], -0.2] for word in row["words"]]
    row = max(rows, key=lambda one: len(one["words"]))
    for at in (2, 3, 8, 9, 14, 15):
        row["words"][at][3] = -9.0
    write_jsonl(alignment_path(ws), rows)
    done = finish(cut(ws, longest=4.0))
    (why,) = done.refused
    assert row["id"] in why and "6 of its" in why and f"{row['words'][2][0]} {row['words'][3][0]} at" in why
    assert not done.written
    for at in (8, 9, 14, 15):
        row["words"][at][3] = -0.2
    write_jsonl(alignment_path(ws), rows)
    done = finish(cut(ws, longest=4.0))
    assert done.written and done.refused == []
    assert any("ya leo. Watu wengi" in clip.text for clip in Corpus.open(ws) if clip.id in done.cut[row["id"]])


def test_a_date_is_not_torn_although_the_longest_pause_is_in_it(tmp_path: Path):
    text = "Familia ya watu wengi ilifungua kesi Aprili 4 2019 dhidi ya kampuni kubwa sana"
    ws, truth = workspace(tmp_path, [text, "Habari ya leo"], pauses=(0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 0.12, 1.5))
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    (pieces,) = finish(cut(ws, longest=6.0)).cut.values()
    texts = [clip.text for clip in Corpus.open(ws) if clip.id in pieces]
    assert any("Aprili 4 2019" in piece for piece in texts)
    assert " ".join(texts) == text
    finish(read_corpus(ws))
    assert STAGE.state(ws) == "fresh"


def test_a_clip_that_is_long_by_silence_alone_is_not_cut(tmp_path: Path):
    ws, truth = workspace(tmp_path, ["Habari ya leo", "Maji ya baridi"])
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    done = finish(cut(ws, longest=max(one.seconds for one in truth.values()) - 0.05))
    assert done.cut == {} and any("silence at its ends" in why for why in done.refused)


def test_without_an_alignment_or_with_an_old_one_it_says_what_to_do(tmp_path: Path):
    ws, truth = workspace(tmp_path, [LONG, "Habari ya leo"])
    with pytest.raises(WorkspaceError, match="olu align"):
        finish(cut(ws, longest=4.0))
    assert finish(cut(ws)).clips == 0  # nothing is that long
    with pytest.raises(ConfigError, match="--longest"):
        finish(cut(ws, longest=0.0))
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    rows = [{**row, "phones": row["phones"][:-3]} for row in read_jsonl(alignment_path(ws))]
    write_jsonl(alignment_path(ws), rows)
    (why,) = finish(cut(ws, longest=4.0)).refused
    assert "olu align" in why


def test_a_few_corrected_grids_leave_the_other_clips_as_they_were(
    made: tuple[Workspace, dict[str, Alignment]], tmp_path: Path
):
    ws, truth = made
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    one, broken = list(truth)[:2]
    (tmp_path / "few").mkdir()
    phones = truth[one].phones
    moved = replace(truth[one], phones=(Span("", 0.0, 0.32), phones[1]._replace(start=0.32), *phones[2:]))
    (tmp_path / "few" / f"{one}.TextGrid").write_text(render(from_alignment(moved)), encoding="utf-8")
    (tmp_path / "few" / f"{broken}.TextGrid").write_text("no grid", encoding="utf-8")
    summary = finish(align(ws, source=tmp_path / "few"))
    assert (summary.method, summary.spread.clips) == ("textgrid", len(truth))
    (problem,) = summary.problems
    assert broken in problem and f"{len(truth) - 1} clips that no TextGrid was taken for" in summary.notes[-1]
    corpus = Corpus.open(ws)
    for clip in corpus:
        found = corpus.alignment(clip)
        assert found is not None and close(found, moved if clip.id == one else truth[clip.id])
    assert STAGE.state(ws) == "fresh"


def test_a_clip_without_durations_is_named_once(made: tuple[Workspace, dict[str, Alignment]], tmp_path: Path):
    ws, truth = made
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    count, problems = write_durations(ws, tmp_path / "d.jsonl", hop=16000, rate=16000, frames="floor")
    assert count == 0 and len(problems) == len(truth)
    assert all(problem.count(id) == 1 for problem, id in zip(problems, truth, strict=True))


def test_a_cut_names_what_a_fix_has_left_out_before(long: tuple[Workspace, dict[str, Alignment]]):
    ws, _ = long
    (ws.root / "thresholds.toml").write_text("duration_warn_over = 4.0\nduration_error_over = 5.0\n", encoding="utf-8")
    finish(fix(ws))
    parent = max(Corpus.open(ws), key=lambda clip: clip.seconds)
    assert Corpus.open(ws).why_not(parent) is not None
    done = finish(cut(ws, longest=4.0))
    assert (done.clips, done.lost, done.lost_seconds) == (0, [parent.id], pytest.approx(parent.seconds, abs=1e-3))
    run = CliRunner().invoke
    said = run(app, ["cut", str(ws.root), "--longest", "4"]).stdout
    assert "1 clip (" in said and "left out by olu audit --fix" in said
    assert f"olu audit {ws.root} --undo && olu align {ws.root} && olu cut {ws.root}" in said
    undo_fix(ws)
    said = run(app, ["cut", str(ws.root), "--longest", "4"]).stdout
    assert said.startswith("1 clip over 4 s: 1 cut into") and "--fix" not in said
    assert run(app, ["cut", str(ws.root), "--undo"]).stdout.startswith("1 clip is whole again, ")


def test_how_many_words_may_be_unheard_is_a_threshold(long: tuple[Workspace, dict[str, Alignment]]):
    ws, _ = long
    rows = list(read_jsonl(alignment_path(ws)))
    for row in rows:
        row["words"] = [
            [*word[:3], -9.0 if at in (2, 3, 8, 9, 14, 15) else -0.2] for at, word in enumerate(row["words"])
        ]
    write_jsonl(alignment_path(ws), rows)
    assert finish(cut(ws, longest=4.0, dry=True)).refused
    (ws.root / "thresholds.toml").write_text("unheard_share = 0.9\n", encoding="utf-8")
    assert not finish(cut(ws, longest=4.0, dry=True)).refused


def test_what_comes_next_is_a_cut_where_clips_are_too_long(tmp_path: Path):
    ws, truth = workspace(tmp_path, [f"{LONG} {LONG}", "Habari ya leo"], pauses=(0.25, 0.5))
    assert max(one.seconds for one in truth.values()) > 20

    def next_() -> str:
        command = ["align", str(ws.root), "--from", str(tmp_path / "in")]
        return CliRunner().invoke(app, command).stdout.splitlines()[-1]

    grids(tmp_path / "in", truth)
    assert next_() == f"Next: olu cut {ws.root}"
    finish(cut(ws))
    finish(read_corpus(ws))
    assert next_() == f"Next: olu audit {ws.root}"
    finish(audit(ws))
    assert next_() == f"Next: olu train {ws.root} --base embedded"  # seconds of speech are too little to start anew
    undo_cut(ws)
    assert next_() == f"Next: olu cut {ws.root}", "also where the audit calls its length an error"
    finish(fix(ws))
    assert next_() == f"Next: olu train {ws.root} --base embedded", "a cut no longer finds what a fix has left out"


def test_a_tone_language_has_its_tones_in_grids_and_durations(tmp_path: Path):
    ws, truth = workspace(tmp_path, ("Ọkọ́ wà", "ilé-ìwé ní Ìbàdàn", "ọ̀rọ̀ àti ọmọ"), language="yor")
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    assert write_grids(ws, tmp_path / "out") == 3
    corpus = Corpus.open(ws)
    for clip in corpus:
        grid = parse((tmp_path / "out" / f"{clip.id}.TextGrid").read_text(encoding="utf-8"), where="x")
        assert [tier.name for tier in grid.tiers] == ["words", "phones", "tones"]
        phones, tones = grid.tiers[1].intervals, [span for span in grid.tiers[2].intervals if span.label]
        said = [tone for word in corpus.reading(clip).words for tone in word.tones]
        assert [span.label for span in tones] == said
        spans = {(span.start, span.end): span.label for span in phones}
        assert all((span.start, span.end) in spans for span in tones)
    rows, _ = write_durations(ws, tmp_path / "d.jsonl", hop=256, rate=16000, frames="floor")
    assert rows > 0
    for row in read_jsonl(tmp_path / "d.jsonl"):
        assert len(row["tones"]) == len(row["tokens"]) and any(row["tones"])
    praatio = pytest.importorskip("praatio.textgrid", reason="praatio is not installed")
    read = praatio.openTextgrid(str(tmp_path / "out" / f"{corpus.clips[0].id}.TextGrid"), includeEmptyIntervals=True)
    assert tuple(read.tierNames) == ("words", "phones", "tones")
    back = finish(align(ws, source=tmp_path / "out", force=True))
    assert (back.spread.clips, back.problems) == (3, [])


def test_a_tone_that_was_corrected_in_a_grid_is_said_to_come_from_the_text(tmp_path: Path):
    ws, truth = workspace(tmp_path, ("Ọkọ́ wà", "ilé-ìwé ní Ìbàdàn", "ọ̀rọ̀ àti ọmọ"), language="yor")
    finish(align(ws, source=grids(tmp_path / "in", truth)))
    write_grids(ws, tmp_path / "out")
    assert finish(align(ws, source=tmp_path / "out")).notes == [], "nothing was corrected"
    first, second, _ = (clip.id for clip in Corpus.open(ws))
    for id, old, new, times in ((first, "H", "L", 1), (second, "L", "LH", 2)):
        path = tmp_path / "out" / f"{id}.TextGrid"
        head, tier, tones = path.read_text(encoding="utf-8").partition('"tones"')
        assert tones.count(f'text = "{old}"') >= times
        path.write_text(head + tier + tones.replace(f'text = "{old}"', f'text = "{new}"', times), encoding="utf-8")
    (note,) = finish(align(ws, source=tmp_path / "out")).notes
    assert "tones come from the text, and 3 tones differ" in note and f"1 in {first}, 2 in {second};" in note
    assert f"'olu correct {ws.root}'" in note

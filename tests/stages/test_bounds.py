"""olu bounds: boundaries set by hand, from TextGrids and JSON lines, and what reads them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from olu.align.state import find_pauses
from olu.align.textgrid_files import write_all, write_durations, write_grids
from olu.cli.main import app
from olu.core.errors import CorpusError, OluError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Alignment, Span
from olu.corpus import changes, hand_bounds
from olu.corpus.hand_bounds import Bound, read_alignments
from olu.corpus.manifest import Corpus
from olu.stages import audit
from olu.stages.align import align
from olu.stages.bounds import set_bounds, set_from_file

from ..helpers.aligned_workspaces import TEXTS, workspace


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    made, truth = workspace(tmp_path, TEXTS[:3])
    write_all(tmp_path / "true", truth.values())
    finish(align(made, source=tmp_path / "true"))
    return made


def first(ws: Workspace) -> Alignment:
    return next(iter(read_alignments(ws).values()))


def later(base: Alignment, place: int, by: float) -> list[Bound]:
    """The phones of a clip, with one shared boundary moved."""
    phones: list[Bound] = [(one.label, one.start, one.end) for one in base.phones]
    (a, start, edge), (b, _, end) = phones[place], phones[place + 1]
    phones[place : place + 2] = [(a, start, edge + by), (b, edge + by, end)]
    return phones


def shifted(base: Alignment, place: int, by: float) -> Alignment:
    return replace(base, phones=tuple(Span(*one) for one in later(base, place, by)))


def test_a_boundary_moves_with_its_word_and_comes_back(ws: Workspace) -> None:
    base = first(ws)
    done = set_bounds(ws, base, later(base, 0, 0.025), by="amina")  # between the silence and the first phone
    assert done.ids == (base.id,)
    now = first(ws)
    assert now.method == "hand" and now.words[0].start == pytest.approx(base.words[0].start + 0.025, abs=1e-4)
    assert now.words[0].end == pytest.approx(base.words[0].end, abs=1e-4) and now.words[1:] == base.words[1:]
    assert [one.label for one in now.words] == [one.label for one in base.words]
    last = changes.last_change(ws, who="amina")
    assert last is not None and last.what == "bounds" and last.sentence() == "the boundaries of 1 clip set"
    set_bounds(ws, now, later(now, 1, 0.01), by="amina", expect=done.batch)
    with pytest.raises(CorpusError, match="amina has set other boundaries"):
        set_bounds(ws, now, later(now, 1, 0.02), by="juma", expect=done.batch)
    for _ in range(2):
        last = changes.last_change(ws, who="amina")
        assert last is not None
        changes.take_back(ws, last.batch, who="amina")
    assert first(ws) == base and changes.last_change(ws) is None


def test_what_is_no_boundary_of_the_clip_is_refused(ws: Workspace) -> None:
    base = first(ws)
    held: list[Bound] = [(one.label, one.start, one.end) for one in base.phones]
    (label, start, end), (last, since, until) = held[1], held[-1]
    for phones, said in (
        (held[:-1], "the last phone ends at"),
        ([*held[:2], ("q", held[2][1], held[2][2]), *held[3:]], "only boundaries may move"),
        ([held[0], (label, start + 0.05, end), *held[2:]], "phones touch"),
        ([*held[:-1], (last, since, until + 1)], "behind the clip's end"),
        ([held[0], (label, start, start), *held[2:]], "has no length"),
        ([("", 0.0, until)], "there are 0 phones there"),
        ([], "the last phone ends at 0.000"),
    ):
        with pytest.raises(CorpusError, match=said):
            set_bounds(ws, base, phones)
    assert hand_bounds.load(ws) == []


def test_a_pause_can_be_put_in_and_taken_out(ws: Workspace) -> None:
    base = first(ws)
    phones: list[Bound] = [(one.label, one.start, one.end) for one in base.phones]
    label, start, end = phones[1]
    phones[1:2] = [(label, start, end - 0.06), ("", end - 0.06, end)]
    set_bounds(ws, base, phones)
    now = first(ws)
    assert len(now.phones) == len(base.phones) + 1 and len(now.words) == len(base.words)
    readings = {clip.id: Corpus.open(ws).reading(clip) for clip in Corpus.open(ws)}
    assert find_pauses(ws, readings, least=0.05)[base.id]
    emptied: list[Bound] = [*phones[:2], ("", end - 0.06, end - 0.06), (phones[3][0], end - 0.06, phones[3][2])]
    set_bounds(ws, now, [*emptied, *phones[4:]])
    assert len(first(ws).phones) == len(base.phones)


def test_what_reads_an_alignment_reads_the_one_set_by_hand(ws: Workspace, tmp_path: Path) -> None:
    base = first(ws)
    before = audit._inputs(ws, {})
    rows, _ = write_durations(ws, tmp_path / "one.jsonl", hop=256, rate=16000, frames="floor")
    set_bounds(ws, base, later(base, 0, 0.05))
    assert audit._inputs(ws, {}) != before
    write_durations(ws, tmp_path / "two.jsonl", hop=256, rate=16000, frames="floor")
    one, two = ((tmp_path / name).read_text().splitlines() for name in ("one.jsonl", "two.jsonl"))
    assert one[0] != two[0] and one[1:] == two[1:] and len(one) == rows
    assert sum(json.loads(one[0])["frames"]) == sum(json.loads(two[0])["frames"])
    write_grids(ws, tmp_path / "out")
    assert f"xmin = {base.phones[1].start + 0.05:g}" in (tmp_path / "out" / f"{base.id}.TextGrid").read_text()


def test_grids_and_lines_go_out_and_come_back_by_command(ws: Workspace, tmp_path: Path) -> None:
    base = first(ws)
    others = list(read_alignments(ws).values())[1:]
    write_all(tmp_path / "grids.zip", [shifted(base, 2, 0.03), *others])
    ran = CliRunner().invoke(app, ["bounds", str(ws.root), str(tmp_path / "grids.zip"), "--by", "amina"])
    assert ran.exit_code == 0 and "Boundaries of 1 clip set by amina; 2 unchanged." in ran.stdout
    assert first(ws).phones[2].end == pytest.approx(base.phones[2].end + 0.03, abs=1e-3)
    kept = (ws.alignment / "hand.jsonl").read_text()
    listed = CliRunner().invoke(app, ["bounds", str(ws.root)])
    assert base.id in listed.stdout and "amina" in listed.stdout
    undone = CliRunner().invoke(app, ["bounds", str(ws.root), "--undo", "--clip", base.id])
    assert undone.exit_code == 0 and "Taken back for 1 clip" in undone.stdout and first(ws) == base
    (tmp_path / "kept.jsonl").write_text(kept)
    again = set_from_file(ws, tmp_path / "kept.jsonl", by="juma")
    assert again.ids == (base.id,) and first(ws).method == "hand"


def test_bad_input_is_one_sentence(ws: Workspace, tmp_path: Path) -> None:
    (tmp_path / "wrong.jsonl").write_text('{"id": "x", "phones": 3}\n')
    (tmp_path / "strange.jsonl").write_text('{"id": "x", "phones": [["a", 0, 1]]}\n')
    for words, said in (
        (["nowhere.jsonl"], "is not there"),
        (["--undo", "--clip", "nobody"], "no clip 'nobody'"),
        (["--clip", "x"], "--clip says whose"),
        (["wrong.jsonl"], "line 1 is damaged ('phones' is 3): a line is"),
        (["strange.jsonl"], "names no clip"),
        (["--undo", "wrong.jsonl"], "give no FILE"),
    ):
        named = [str(tmp_path / one) if one.endswith("jsonl") else one for one in words]
        ran = CliRunner().invoke(app, ["bounds", str(ws.root), *named])
        assert isinstance(ran.exception, OluError) and said in str(ran.exception), words

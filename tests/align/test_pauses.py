"""data.pauses: pauses that are heard and not written become commas in training."""

from __future__ import annotations

from pathlib import Path

import pytest

from olu.align.state import alignment_path, words_of
from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace, read_jsonl, write_jsonl
from olu.core.rows import from_row
from olu.core.types import Alignment, Reading, Span
from olu.stages.train_setup import set_up
from olu.train.recipe import Recipe, read_recipe
from olu.train.run import Run
from olu.train.setup.job import TrainingJob

from ..helpers.workspaces import made, trained, workspace

ROWS = [
    ("c0", "habari za asubuhi rafiki", "p", "train"),
    ("c1", "maji ya mto, ni safi", "p", "train"),
    ("c2", "jua kali", "p", "valid"),
]
WORD = 0.2  # seconds of a made word


def aligned(ws: Workspace, gaps: dict[str, list[float]]) -> None:
    """An alignment of words of 0.2 s with these silences between them."""
    found = []
    for row in read_jsonl(ws.readings / "readings.jsonl"):
        if row["id"] not in gaps:
            continue
        words = words_of(from_row(row, Reading))
        assert len(gaps[row["id"]]) == len(words) - 1
        spans, at = [], 0.0
        for (text, _), after in zip(words, [*gaps[row["id"]], 0.0], strict=True):
            spans.append(Span(text, at, at + WORD))
            at += WORD + after
        found.append(Alignment(id=row["id"], seconds=at, words=tuple(spans), phones=()).row())
    ws.alignment.mkdir(exist_ok=True)
    write_jsonl(alignment_path(ws), found)


def texts(setup: TrainingJob) -> dict[str, str]:
    """What each clip is trained with, symbols in a row without blanks."""
    symbols = setup.vocabulary.symbols
    return {clip: "".join(symbols[id] for id in setup.ids[clip] if id) for clip in setup.train + setup.valid}


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    made = workspace(tmp_path, ROWS, language="swa")
    aligned(made, {"c0": [0.0, 0.31, 0.11], "c1": [0.0, 0.4, 0.5, 0.2], "c2": [0.16]})
    return made


def test_a_pause_becomes_a_comma(ws: Workspace) -> None:
    plain = texts(made(ws))
    marked = texts(made(ws, data={"pauses": 0.15}))
    assert "," not in plain["c0"] and plain["c1"].count(",") == 1 and "," not in plain["c2"]
    assert [word.count(",") for word in marked["c0"].split(" ")] == [0, 1, 0, 0]
    assert [word.count(",") for word in marked["c1"].split(" ")] == [0, 1, 1, 1, 0], "what is written stays one comma"
    assert marked["c2"].count(",") == 1, "the valid side too, or its loss would be of other texts"
    for clip, text in marked.items():
        assert text.replace(",", "") == plain[clip].replace(",", "")


def test_the_limit_acts_and_is_said(ws: Workspace) -> None:
    counts = {}
    for least in (0.1, 0.3, 0.45):
        setup = made(ws, data={"pauses": least})
        counts[least] = sum(text.count(",") for text in texts(setup).values()) - 1
        said = f"{counts[least]} pause{'' if counts[least] == 1 else 's'} of {least:g} s or more marked by commas"
        assert any(note.startswith(said) for note in setup.notes), setup.notes
    assert counts == {0.1: 5, 0.3: 2, 0.45: 0}


def test_clips_that_changed_since_are_left_as_they_are(ws: Workspace) -> None:
    rows = list(read_jsonl(alignment_path(ws)))
    rows[0]["words"] = rows[0]["words"][:-1]
    write_jsonl(alignment_path(ws), rows)
    setup = made(ws, data={"pauses": 0.15})
    assert "," not in texts(setup)["c0"]
    assert any(note.endswith("1 clip without an alignment that fits") for note in setup.notes)


def test_the_comma_is_a_symbol_of_the_run(tmp_path: Path) -> None:
    ws = workspace(tmp_path, [(id, text.replace(",", ""), *rest) for id, text, *rest in ROWS], language="zza")
    aligned(ws, {"c0": [0.0, 0.31, 0.1]})
    before = made(ws)
    assert "," not in before.vocabulary.symbols, "letters, and none of the texts has one"
    setup = made(ws, data={"pauses": 0.15})
    assert setup.vocabulary.symbols == (*before.vocabulary.symbols, ",")
    assert "," in setup.frontend_state["inventory"]
    assert texts(setup)["c0"] == "habari za, asubuhi rafiki"


def test_without_an_alignment_it_is_refused(tmp_path: Path) -> None:
    ws = workspace(tmp_path, ROWS, language="swa")
    with pytest.raises(TrainError, match=r"data\.pauses = 0\.2 needs an alignment: run 'olu align"):
        made(ws, data={"pauses": 0.2})
    with pytest.raises(ConfigError, match=r"data\.pauses"):
        read_recipe(None, ["data.pauses=-1"])
    recipe = Recipe.model_validate({"family": "recogniser", "data": {"pauses": 0.2}})
    with pytest.raises(TrainError, match=r"data\.pauses = 0\.2 is for voices"):
        set_up(ws, recipe, device="cpu")


def test_a_run_that_goes_on_keeps_its_pauses(ws: Workspace) -> None:
    trained(ws, "data.pauses=0.15")
    run = Run(ws.runs_folder / "vits-001")
    assert run.document("pauses.json") == {"c0": [1], "c1": [1, 3], "c2": [0]}
    recipe = run.recipe
    first = texts(set_up(ws, recipe, device="cpu", run=run))
    alignment_path(ws).unlink()
    assert texts(set_up(ws, recipe, device="cpu", run=run)) == first
    assert first["c2"].count(",") == 1

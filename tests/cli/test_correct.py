"""olu correct as a person types it."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

from olu.core.files import Workspace, read_jsonl
from olu.corpus.corrections import load as corrections
from olu.corpus.manifest import Corpus
from olu.export.subject import from_run
from olu.text.languages import load
from olu.train.run import Run

from ..corpus.test_recordings import long_one
from .conftest import TINY, begin_training, contents, fine, olu, states

ONE_STEP = (*TINY, "--set", "plan.steps=1")


def texts(ws: Path) -> dict[str, str]:
    return {clip.id: clip.text for clip in Corpus.open(Workspace.open(ws))}


def test_recordings_without_a_text_are_written_down_and_train(tmp_path: Path) -> None:
    """Out as a table with times, filled in, back in: the whole way to a voice."""
    for seed in (1, 2, 3):
        long_one(tmp_path / "radio" / f"show{seed}.wav", seed=seed, sentences=8)
    ws, todo = tmp_path / "ws", tmp_path / "todo.csv"
    fine("new", ws, "--language", "sw")
    fine("import", ws, tmp_path / "radio")
    assert olu("train", ws, *ONE_STEP).code == 2  # nothing to learn from
    fine("clips", ws, "--where", 'text == ""', "--csv", todo)
    rows = list(csv.DictReader(io.StringIO(todo.read_text(encoding="utf-8"))))
    assert len(rows) == len(texts(ws)) > 8
    assert all(
        float(row["end"]) - float(row["start"]) == pytest.approx(float(row["seconds"]), abs=2e-3) for row in rows
    )
    assert {row["audio"].rpartition("/")[2] for row in rows} == {"show1.wav", "show2.wav", "show3.wav"}
    last = rows[-1]["id"]
    sentences = load("sw").sentences()
    for row, sentence in zip(rows[:-1], sentences, strict=False):
        row["text"] = sentence
    with todo.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    told = fine("correct", ws, todo, "--by", "amina").out
    assert f"{len(rows) - 1} texts corrected by amina." in told
    assert f"{len(rows) - 1} clips had none before, and may train now." in told
    assert "1 clip had no text and got none." in told
    assert fine("clips", ws, "--where", 'text == ""', "--ids").out.split() == [last]
    assert fine("status", ws, "--json").json()["untranscribed"] == 1
    fine("audit", ws)
    fine("read", ws)
    readings = {row["id"]: row["text"] for row in read_jsonl(ws / "readings" / "readings.jsonl")}
    assert readings == texts(ws) and readings[rows[0]["id"]] == sentences[0]
    marks = {row["id"] for row in read_jsonl(ws / "audit" / "audit.jsonl") if row["check"] == "untranscribed"}
    assert marks == {last}
    fine("train", ws, *ONE_STEP, "--set", "data.leave_out_errors=false")
    left_out = json.loads((next((ws / "runs").iterdir()) / "left_out.json").read_text(encoding="utf-8"))
    assert left_out[last] == "it has no transcript" and rows[0]["id"] not in left_out
    assert states(ws)["prepare"] == "fresh"
    fine("correct", ws, "--clip", last, "--text", "Habari gani", "--by", "amina")
    assert states(ws)["prepare"] == "stale"  # its sound was not needed before


def test_a_text_is_corrected_shown_and_taken_back(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(ws)
    first, second, *_ = old = texts(ws)
    told = fine("correct", ws, "--clip", first, "--text", "Habari gani", "--by", "amina").out
    assert told.splitlines() == [
        "1 text corrected by amina.",
        f"Back again: olu correct {ws} --undo",
        f"Next: olu status {ws}",
    ]
    shown = fine("clips", ws).out
    assert "* Habari gani" in shown and "* 1 text corrected; --json and --csv have the source's as well" in shown
    assert shown.count("* ") == 2
    row = next(row for row in fine("clips", ws, "--json").json()["clips"] if row["id"] == first)
    assert (row["corrected"], row["imported"], row["text"]) == ("amina", old[first], "Habari gani")
    assert f"1 text corrected: olu clips {ws} --where 'corrected != \"\"'" in fine("status", ws).out
    data = f"{first}|Habari gani\n{second}|Nzuri\nnobody|x\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
    told = fine("correct", ws, "-", "--by", "juma").out
    assert told.startswith("1 text corrected by juma; 1 unchanged.\n1 row of no clip here:\n  stdin line 3: nobody\n")
    back = fine("correct", ws, "--undo", "--json").json()
    assert (back["undone"], back["ids"], back["by"]) == (True, [second], ["juma"])
    assert "Taken back for 1 clip: what amina wrote, last at 20" in fine("correct", ws, "--undo", "--clip", first).out
    assert fine("correct", ws, "--undo").out == "Nothing to take back: no text was corrected so.\n"
    after = contents(ws)
    assert after.pop("corpus/texts.jsonl") and after == before and texts(ws) == old


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing to correct: name a FILE"),
        (["--clip", "x"], "nothing to correct"),
        (["--text", "x"], "nothing to correct"),
        (["x.csv", "--clip", "x"], "leave --clip and --text out"),
        (["x.csv", "--undo"], "give no FILE and no --text with it"),
        (["nowhere.csv"], "nowhere.csv is not there"),
        (["."], "is a folder"),
        (["--clip", "x", "--text", "y"], "no clip 'x'"),
        (["--clip", "x", "--undo"], "no clip 'x'"),
        (["--clip", "x", "--text", "y", "--by", ""], "is no name"),
    ],
)
def test_wrong_words_are_answered_in_one_line(ws: Path, words: list[str], told: str) -> None:
    before = contents(ws)
    done = olu("correct", ws, *words)
    assert done.code == 2 and told in done.err and done.err.count("\n") == 1 and done.out == ""
    assert contents(ws) == before


def test_a_run_is_not_gone_on_with_after_another_text(ws: Path) -> None:
    begin_training(ws)
    first = fine("clips", ws, "--where", "trains", "--ids").out.split()[0]
    fine("correct", ws, "--clip", first, "--text", "Habari gani")
    done = olu("train", ws, "--resume")
    assert done.code == 2 and "the clips are not those" in done.err
    fine("correct", ws, "--undo")
    fine("train", ws, "--resume")


def test_an_export_is_checked_by_the_corrected_sentences(voiced: Path) -> None:
    ws = Workspace.open(voiced)
    clips = {row["id"]: row["split"] for row in fine("clips", voiced, "--json").json()["clips"]}
    held = next(id for id, side in clips.items() if side != "train")
    learnt = next(id for id, side in clips.items() if side == "train")
    fine("correct", voiced, "--clip", held, "--text", "Habari gani")
    fine("correct", voiced, "--clip", learnt, "--text", "Nzuri sana")
    assert len(corrections(ws)) == 2
    subject = from_run(ws, Run.all(ws.runs_folder)[0], 2, name="x", licence="", override="")
    assert "Habari gani" in subject.held_out and "Nzuri sana" in subject.texts

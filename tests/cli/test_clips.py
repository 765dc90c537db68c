"""olu clips, drop, keep and split as a person types them."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import soundfile

from olu.core.files import Workspace, read_jsonl
from olu.corpus.decisions import load
from olu.corpus.manifest import Corpus
from olu.features.store import Store, WaveFeature
from olu.train.recipe import EVEN

from .conftest import TINY, begin_training, contents, fine, olu, states

ONE_STEP = (*TINY, "--set", "plan.steps=1")


def ids(ws: Path, *words: str) -> list[str]:
    return fine("clips", ws, "--ids", *words).out.split()


def left_out(ws: Path) -> dict[str, str]:
    newest = sorted((ws / "runs").iterdir())[-1]
    found = json.loads((newest / "left_out.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_clips_are_listed_filtered_sorted_and_exported(ws: Path, tmp_path: Path) -> None:
    everything = ids(ws)
    assert len(everything) == 10
    shown = fine("clips", ws).out
    assert all(id in shown for id in everything) and "10 clips" in shown
    rows = fine("clips", ws, "--sort", "-seconds", "--json").json()["clips"]
    lengths = [row["seconds"] for row in rows]
    assert lengths == sorted(lengths, reverse=True) and rows[0]["tokens"] is None
    middle = lengths[4]
    assert ids(ws, "--where", f"seconds >= {middle}", "--sort=-seconds") == [row["id"] for row in rows[:5]]
    assert ids(ws, "--sort", "seconds", "--limit", "1") == [rows[-1]["id"]]
    assert ids(ws, "--where", 'speaker == "nobody"') == []
    fine("clips", ws, "--csv", tmp_path / "out.csv")
    read = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8"))))
    assert [row["id"] for row in read] == everything and read[0]["trains"] in ("true", "false")
    assert fine("clips", ws, "--csv", "-").out == (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert contents(ws) == contents(ws)


def test_whether_a_clip_trains_is_asked_as_the_page_says(ws: Path) -> None:
    first, *_ = ids(ws)
    fine("drop", ws, first)
    page = Path(__file__).parents[2] / "docs" / "cli.md"
    asked = ("trains", "not trains", 'trains == "yes"', 'trains == "no"')
    if page.exists():
        assert all(f"`{question}`" in " ".join(page.read_text(encoding="utf-8").split()) for question in asked)
    yes, no, said_yes, said_no = (ids(ws, "--where", question) for question in asked)
    assert yes == said_yes and no == said_no and first in no and set(yes) | set(no) == set(ids(ws))
    assert olu("clips", ws, "--where", 'trains == "perhaps"').code == 2
    assert "1 of 10 clips, " in fine("clips", ws, "--where", 'decision == "drop"').out
    assert "1 is shown" in fine("clips", ws, "--limit", "1").out
    fine("drop", ws, *ids(ws)[1:])
    assert "Wrote 1 clip to" in fine("clips", ws, "--limit", "1", "--csv", ws / "one.csv").out


def test_the_rest_of_a_list_is_asked_for_as_the_list_was(ws: Path, tmp_path: Path) -> None:
    asked = """seconds > 0 and speaker == 'default' and "x'y" not in text"""
    line = fine("clips", ws, "--where", asked, "--sort=-seconds", "--limit", "2").out.splitlines()[-1]
    command = line.partition("all of them: ")[2]
    assert shlex.split(command) == ["olu", "clips", str(ws), "--where", asked, "--sort=-seconds", "--csv", "clips.csv"]
    assert fine("clips", ws, "--limit", "1").out.endswith(f"all of them: olu clips {ws} --csv clips.csv\n")


def test_what_the_page_calls_left_out_holds_no_clip_of_another_side(ws: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "corpora.md"
    found = re.search(r"--where '(.*)' --csv left-out\.csv", page.read_text(encoding="utf-8"))
    assert found is not None
    sides = {row["id"]: row["split"] for row in fine("clips", ws, "--json").json()["clips"]}
    first = next(id for id, side in sides.items() if side == "train")
    assert "valid" in sides.values()
    fine("drop", ws, first)
    assert ids(ws, "--where", found[1]) == [first]


def test_lengths_are_summed_up_and_tokens_known_after_reading(ws: Path) -> None:
    assert "tokens" not in fine("clips", ws, "--summary").out
    fine("read", ws)
    spread = fine("clips", ws, "--summary", "--json").json()["quantiles"]
    rows = fine("clips", ws, "--json").json()["clips"]
    for name in ("seconds", "letters", "tokens", "frames"):
        values = sorted(row[name] for row in rows)
        assert (spread[name]["0%"], spread[name]["100%"]) == (values[0], values[-1])
        assert values[0] <= spread[name]["25%"] <= spread[name]["50%"] <= values[-1]
    assert all(row["tokens"] % 2 == 1 and row["frames"] >= row["tokens"] for row in rows)
    assert "tokens" in fine("clips", ws, "--summary").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--where", "secnds > 3"], "did you mean 'seconds'"),
        (["--where", "__import__('os')"], "is not possible here"),
        (["--sort", "-nothing"], "the columns are id, speaker"),
        (["--limit", "-1"], "--limit -1"),
        (["--ids", "--json"], "choose one"),
        (["--summary", "--limit", "3"], "leave --sort and --limit out"),
        (["--csv", "."], "is a folder"),
    ],
)
def test_wrong_questions_are_answered_in_one_line(ws: Path, words: list[str], told: str) -> None:
    done = olu("clips", ws, *words)
    assert done.code == 2 and told in done.err and done.err.count("\n") == 1 and done.out == ""


def test_drop_and_keep_are_recorded_and_taken_back(ws: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = contents(ws)
    first, second, third, *_ = ids(ws)
    done = fine("drop", ws, first, second, "--reason", "a door slams", "--json").json()
    assert (done["ids"], done["already"]) == ([first, second], 0)
    assert fine("drop", ws, first, "--reason", "a door slams", "--json").json()["already"] == 1
    row = next(read_jsonl(ws / "corpus" / "decisions.jsonl"))
    signed = {name: row.pop(name) for name in ("who", "at", "batch")}
    assert all(signed.values()) and signed["batch"] == done["batch"]
    assert row == {
        "id": first,
        "decision": "drop",
        "by": "person",
        "reason": "a door slams",
        "start": 0.0,
        "seconds": None,
    }
    fine("keep", ws, second)
    assert ids(ws, "--where", 'decision == "drop"') == [first]
    assert ids(ws, "--where", 'decision == "keep"') == [second]
    assert fine("status", ws, "--json").json()["decisions"] == {"drop": 1, "keep": 1}
    assert "Decided: 1 drop, 1 keep" in fine("status", ws).out
    assert "1 had none" in fine("drop", ws, "--undo", first, second).out  # the other one is a keep
    fine("keep", ws, "--undo", second)
    (tmp_path / "list.txt").write_text(f"\n{third}\n  {first}  \n", encoding="utf-8")
    assert len(fine("drop", ws, "--from", tmp_path / "list.txt", "--json").json()["ids"]) == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{third}\n{first}\n"))
    fine("drop", ws, "-", "--undo")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert "0 clips" in fine("drop", ws, "-").out  # a pipe that found nothing is no mistake
    after = contents(ws)
    assert after.pop("corpus/decisions.jsonl") and after == before
    assert load(Workspace.open(ws)) == ()


@pytest.mark.parametrize("verb", ["drop", "keep"])
def test_an_unknown_id_records_nothing(ws: Path, verb: str, tmp_path: Path) -> None:
    first, *_ = ids(ws)
    for words, told in (
        ([first, first[:-1]], f"did you mean '{first}'"),
        ([first, first.partition("-")[0]], f"did you mean '{first}'"),
        ([first, "nix"], "'olu clips WS --ids' lists them"),
        ([], "no clip named"),
        (["--from", str(tmp_path / "nowhere")], "is not there"),
        ([first, "--undo", "--reason", "x"], "--reason has no effect"),
    ):
        done = olu(verb, ws, *words)
        assert done.code == 2 and told in done.err and done.err.count("\n") == 1
    assert not (ws / "corpus" / "decisions.jsonl").exists()


def test_split_is_remembered_by_later_imports(ws: Path, recordings: Path, tmp_path: Path) -> None:
    assert "No clip changed sides" in fine("split", ws).out
    assert states(ws)["import"] == "fresh"
    done = fine("split", ws, "--valid", "0.3", "--test", "0.2", "--seed", "3", "--json").json()
    assert done["clips"]["valid"] >= 1 and done["clips"]["test"] >= 1 and sum(done["clips"].values()) == 10
    assert done["speakers"] == {"default": done["clips"]}
    assert states(ws)["import"] == "fresh"
    before = {row["id"]: row["split"] for row in read_jsonl(ws / "corpus" / "splits.jsonl")}
    more = tmp_path / "more"
    shutil.copytree(recordings, more)
    for sound in (more / "wavs").iterdir():
        samples, rate = soundfile.read(sound)
        soundfile.write(sound, samples * 0.5, rate)
    (more / "metadata.csv").write_text(
        (more / "metadata.csv").read_text(encoding="utf-8").replace("|", "|Ndiyo "), encoding="utf-8"
    )
    fine("import", ws, more)
    after = {row["id"]: row["split"] for row in read_jsonl(ws / "corpus" / "splits.jsonl")}
    assert len(after) == 20 and sum(after[id] != side for id, side in before.items()) <= 1
    assert sum(side != "train" for side in after.values()) >= 5  # a half of the clips, more or less
    assert fine("split", ws, "--json").json()["valid"] == 0.3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--valid", "0.9"], "0 to 0.5"),
        (["--valid", "0.3", "--test", "0.3"], "at least half"),
        (["--test", "x"], "--test"),
    ],
)
def test_impossible_shares_change_nothing(ws: Path, words: list[str], told: str) -> None:
    before = contents(ws)
    done = olu("split", ws, *words)
    assert done.code == 2 and told in done.err and done.err.count("\n") == 1 and contents(ws) == before


@pytest.fixture
def faulty(recordings: Path, tmp_path: Path) -> Path:
    """Ten clips: one clipped, one with long silent ends, one over-long by silence alone."""
    folder = tmp_path / "faulty"
    shutil.copytree(recordings, folder)
    sounds = sorted((folder / "wavs").iterdir())
    for sound, (lead, tail, gain) in zip(sounds, ((0, 0, 60.0), (1.0, 2.0, 1.0), (0.0, 40.0, 1.0)), strict=False):
        samples, rate = soundfile.read(sound)
        padded = [0.0] * round(lead * rate) + [*(samples * gain).clip(-1, 1)] + [0.0] * round(tail * rate)
        soundfile.write(sound, padded, rate)
    ws = tmp_path / "ws"
    fine("new", ws, "--language", "sw")
    fine("import", ws, folder)
    return ws


def test_training_follows_drop_keep_trim_and_cap(faulty: Path) -> None:
    ws = faulty
    loud, edge, tail, fourth, *_ = ids(ws)
    fine("audit", ws)
    assert set(ids(ws, "--where", 'worst == "error"')) == {loud, tail}
    fine("train", ws, *ONE_STEP)
    assert set(left_out(ws)) == {loud, tail}
    assert {states(ws)[name] for name in ("read", "prepare", "train")} == {"fresh"}

    whole = _lengths(ws)
    fine("audit", ws, "--fix")
    assert states(ws)["train"] == states(ws)["prepare"] == states(ws)["read"] == "stale"
    assert states(ws)["audit"] == "fresh"
    fine("train", ws, *ONE_STEP)
    assert set(left_out(ws)) == {loud}
    assert left_out(ws)[loud].startswith("left out by the audit's fix: clipping")
    trimmed = _lengths(ws)
    assert 2.2 < whole[edge] - trimmed[edge] < 3.0 and 39 < whole[tail] - trimmed[tail] < 41
    assert {id: trimmed[id] for id in trimmed if id not in (edge, tail)} == {
        id: whole[id] for id in whole if id not in (edge, tail)
    }

    fine("drop", ws, fourth, "--reason", "noise")
    fine("keep", ws, loud)
    assert states(ws)["prepare"] == "fresh" and states(ws)["train"] == "stale"  # no stretch has changed
    fine("train", ws, *ONE_STEP)
    assert left_out(ws) == {fourth: "dropped: noise"}

    fine("audit", ws, "--undo")
    fine("drop", ws, "--undo", fourth)
    fine("train", ws, *ONE_STEP)
    assert set(left_out(ws)) == {tail}
    assert _lengths(ws) == whole


def _lengths(ws: Path) -> dict[str, float]:
    folder = next((ws / "features").glob("wave-*"))
    rate = int(folder.name.split("-")[1])
    assert folder.name == WaveFeature(rate, loudness=EVEN).key
    store = Store(folder)
    return {id: store.length(id) / rate for id in store.index}


def test_a_run_is_not_gone_on_with_after_another_decision(ws: Path) -> None:
    begin_training(ws)
    trains = ids(ws, "--where", "trains")
    fine("drop", ws, trains[0])
    done = olu("train", ws, "--resume")
    assert done.code == 2 and "the clips are not those" in done.err
    fine("drop", ws, "--undo", trains[0])
    fine("train", ws, "--resume")


def test_symbols_of_dropped_clips_are_not_learned(ws: Path) -> None:
    corpus = Corpus.open(Workspace.open(ws))
    fine("read", ws)
    everything = set(json.loads((ws / "readings" / "vocabulary.json").read_text(encoding="utf-8"))["symbols"])
    keep = corpus.clips[0].id
    fine("drop", ws, *(clip.id for clip in corpus if clip.id != keep))
    assert states(ws)["read"] == "stale"
    fine("read", ws)
    few = set(json.loads((ws / "readings" / "vocabulary.json").read_text(encoding="utf-8"))["symbols"])
    assert few < everything
    assert sum(1 for _ in read_jsonl(ws / "readings" / "readings.jsonl")) == 10

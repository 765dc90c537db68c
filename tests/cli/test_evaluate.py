"""`olu evaluate` and `olu compare` from end to end, with the tiny voice and metrics that need no network."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from olu.core.files import Workspace
from olu.core.types import Audio, Reading
from olu.corpus.manifest import Corpus

from .conftest import TINY, Done, fine, olu

FAST = ("--only", "sanity,duration", "--sentences", "3")


class Ears:
    """A made recogniser: it hears every text as it should be, but for the last word."""

    version = "made-001, step 1"
    natural_cer = 0.1
    run = "made-001"

    def target(self, reading: Reading) -> list[str]:
        self.expected = " ".join(word.text for word in reading.words)
        return list(self.expected)

    def transcribe(self, audio: Audio) -> str:
        return self.expected.rpartition(" ")[0]


@pytest.fixture
def ears(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = []

    def made(ws: Workspace, **given: Any) -> Iterator[None]:
        asked.append(given)
        return Ears()
        yield

    monkeypatch.setattr("olu.stages.listener.recogniser_for", made)
    return asked


@pytest.fixture(scope="module")
def judged(walked: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A workspace with one evaluation. Read only."""
    ws = Path(shutil.copytree(walked, tmp_path_factory.mktemp("judged") / "ws"))
    return ws, fine("evaluate", ws, *FAST, "--json").json()


def test_a_workspace_is_judged_through_its_voice(judged: tuple[Path, dict[str, Any]]) -> None:
    ws, row = judged
    folder = Path(row["folder"])
    assert folder.parent == ws / "evaluations" and folder.name == f"{row['run']}-step-{row['step']}"
    assert row["run"].startswith("vits-") and row["subject"]["kind"] == "voice"
    sides = {clip.id: Corpus.open(Workspace.open(ws)).split(clip) for clip in Corpus.open(Workspace.open(ws))}
    spoken = [item for item in row["items"] if item["domain"] == "in"]
    assert spoken and all(sides[item["id"]] in ("test", "valid") for item in spoken)
    assert spoken[0]["natural_seconds"] > 0
    others = [item["text"] for item in row["items"] if item["domain"] == "out"]
    assert others and not set(others) & {clip.text for clip in Corpus.open(Workspace.open(ws))}
    for item in row["items"]:
        assert soundfile.info(str(folder / item["wav"])).duration == pytest.approx(item["seconds"], abs=0.01)
    kept = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    assert kept["figures"] == row["figures"] and kept["facts"]["metrics"] == ["sanity", "duration"]
    names = {one["name"] for one in row["figures"]}
    assert {"faults", "duration_ratio"} <= names
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "https://" not in page and page.count("<audio") >= len(row["items"])
    figure = next(one for one in row["figures"] if one["name"] == "duration_ratio")
    assert figure["n"] == len(spoken) and figure["natural"] == 1.0 and figure["instrument"] and figure["reason"]


def test_the_same_sentences_are_said_the_same_way_again(judged: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    ws, row = judged
    again = fine("evaluate", ws, *FAST, "-o", tmp_path / "again", "--json").json()
    assert again["figures"] == row["figures"] and again["items"] == row["items"]
    refused = olu("evaluate", ws, *FAST, "-o", tmp_path)
    assert refused.code == 2 and "is not an evaluation of this voice" in refused.err


def test_a_split_that_has_changed_since_the_training_is_told(
    judged: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    ws, row = judged
    assert not any("has changed since" in note for note in row["facts"].get("notes", []))
    mine = Path(shutil.copytree(ws, tmp_path / "ws"))
    fine("split", mine, "--seed", "7")
    done = olu("evaluate", mine, *FAST, "-o", tmp_path / "out")
    assert done.code == 0 and f"has changed since {row['run']} was trained" in done.err


def test_the_recogniser_learnt_from_the_train_side_only(
    judged: tuple[Path, dict[str, Any]], tmp_path: Path, ears: list[dict[str, Any]]
) -> None:
    ws, _ = judged
    done = fine("evaluate", ws, "--only", "cer", "--sentences", "3", "-o", tmp_path / "out", "--json").json()
    assert ears[0]["units"] == "letters" and not ears[0].get("everything", False)
    by = {one["name"]: one for one in done["figures"]}
    assert by["cer"]["mean"] > 0 and by["cer"]["natural"] == by["cer"]["mean"] and by["cer_difference"]["mean"] == 0
    assert by["cer"]["instrument"] == "made-001, step 1" and by["cer"]["trust"] in ("low", "medium", "high")
    assert done["items"][0]["heard"] != done["items"][0]["expected"]


def test_a_recogniser_that_cannot_be_trained_costs_its_own_metrics_only(
    judged: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from olu.core.errors import TrainError

    def fails(ws: Workspace, **given: Any) -> Iterator[None]:
        raise TrainError("too little speech")
        yield

    monkeypatch.setattr("olu.stages.listener.recogniser_for", fails)
    ws, _ = judged
    done = olu("evaluate", ws, "--only", "cer,sanity", "--sentences", "2", "-o", tmp_path / "out")
    assert done.code == 0 and "not measured: cer: no recogniser: too little speech" in done.err
    assert "faulty files" in done.out


def test_a_language_without_sentences_of_its_own_says_that_none_were_spoken(
    judged: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws, row = judged
    assert not [one for one in row["missing"] if one["metric"] == "other sentences"]
    monkeypatch.setattr("olu.text.languages.Language.sentences", lambda language: [])
    done = olu("evaluate", ws, *FAST, "-o", tmp_path / "out")
    assert done.code == 0
    assert "not measured: other sentences: Olu has no list of Swahili sentences; give some: --text FILE" in done.err
    kept = json.loads((tmp_path / "out" / "evaluation.json").read_text(encoding="utf-8"))
    assert [one["metric"] for one in kept["missing"]] == ["other sentences"]
    assert "Olu has no list of Swahili sentences" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_voice_alone_says_what_is_missing(judged: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    ws, _ = judged
    voice = next((ws / "voices").glob("*.voice"))
    texts = tmp_path / "texts.txt"
    texts.write_text("habari za leo\nmama anapika wali\n", encoding="utf-8")
    done = fine(
        "evaluate", voice, "--text", texts, "--only", "cer,sanity,duration,mcd", "-o", tmp_path / "out", "--json"
    ).json()
    assert {one["metric"]: one["command"] for one in done["missing"]} == {
        "cer": "olu evaluate VOICE --corpus WS",
        "mcd": "olu evaluate VOICE --corpus WS",
    }
    assert [item["text"] for item in done["items"]] == ["habari za leo", "mama anapika wali"]
    assert done["figures"] == [] and done["figures_elsewhere"]
    beside = fine("evaluate", voice, "--corpus", ws, *FAST, "-o", tmp_path / "with", "--json").json()
    assert beside["figures"] and beside["subject"]["fingerprint"] == done["subject"]["fingerprint"]


def natural_wavs(ws: Path, folder: Path) -> list[str]:
    corpus, ids = Corpus.open(Workspace.open(ws)), []
    folder.mkdir()
    for clip in corpus:
        if corpus.split(clip) in ("test", "valid"):
            audio = corpus.audio(corpus.taken(clip))
            soundfile.write(folder / f"{clip.id}.wav", audio.samples, audio.rate)
            ids.append(clip.id)
    return ids


def test_wav_files_of_any_system_are_judged_the_same_way(judged: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    ws, _ = judged
    ids = natural_wavs(ws, tmp_path / "mine")
    done = fine("evaluate", ws, "--wavs", tmp_path / "mine", *FAST[:2], "-o", tmp_path / "out", "--json").json()
    assert sorted(item["id"] for item in done["items"]) == sorted(ids) and done["subject"]["kind"] == "wavs"
    ratio = next(one for one in done["figures"] if one["name"] == "duration_ratio")
    assert ratio["median"] == pytest.approx(1.0, abs=0.02)  # the recordings themselves
    table = tmp_path / "table.csv"
    clip = next(clip for clip in Corpus.open(Workspace.open(ws)) if clip.id == ids[0])
    table.write_text(f"mine/{ids[0]}.wav|{clip.text}\nmine/{ids[0]}|Kitu kingine kabisa\n", encoding="utf-8")
    both = fine("evaluate", ws, "--wavs", table, *FAST[:2], "-o", tmp_path / "two", "--json").json()
    assert [item["domain"] for item in both["items"]] == ["in", "out"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--only", "cerr"), "no metric 'cerr'; there are: cer"),
        (("--sentences", "0"), "--sentences 0: give a number from 1 on"),
        (("--text", "nowhere.txt"), "nowhere.txt is not there"),
        (("--wavs", "nowhere"), "nowhere is not there"),
        (("--corpus", "x"), "--corpus has no effect"),
        (("--wavs", ".", "--sentences", "3"), "--sentences has no effect with --wavs"),
        (("--wavs", ".", "--seed", "3"), "--seed has no effect with --wavs"),
        (("--wavs", ".", "--noise", "0.4"), "--noise has no effect with --wavs"),
        (("--noise", "2.5"), "noise 2.5 is out of reach: choose 0 to 2"),
        (("--checkpoints", "1", "--only", "sanity"), "give 'all' or a number from 2 on"),
        (("--run", "vits-999"), "no run 'vits-999'"),
    ],
)
def test_what_cannot_work_is_said_in_a_sentence(walked: Path, words: tuple[str, ...], says: str) -> None:
    done = olu("evaluate", walked, *words)
    assert done.code == 2 and says in done.err and "Traceback" not in done.err


def test_a_voice_has_no_runs(walked: Path) -> None:
    voice = next((walked / "voices").glob("*.voice"))
    assert "is of a workspace's own runs" in olu("evaluate", voice, "--run", "vits-001").err
    assert "it needs --corpus WS" in olu("evaluate", voice, "--collusion").err
    assert "held against the recordings of a workspace" in olu("evaluate", voice, "--wavs", "x").err


def test_another_voice_of_the_same_name_is_kept_beside(judged: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    ws, row = judged
    mine = Path(shutil.copytree(ws, tmp_path / "ws"))
    folder = mine / "evaluations" / Path(row["folder"]).name
    held = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    held["subject"]["fingerprint"] = "another"
    (folder / "evaluation.json").write_text(json.dumps(held), encoding="utf-8")
    done = fine("evaluate", mine, *FAST, "--json").json()
    assert Path(done["folder"]).name == f"{folder.name}-2" and (folder / "report.html").exists()


def test_one_voice_is_judged_with_several_noises_and_all_stay(
    judged: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    ws, row = judged
    assert row["noise"] == 0.667 and "noise 0.667" in (Path(row["folder"]) / "report.html").read_text(encoding="utf-8")
    mine = Path(shutil.copytree(ws, tmp_path / "ws"))
    low = fine("evaluate", mine, *FAST, "--noise", "0", "--json").json()
    folder, usual = Path(low["folder"]), mine / "evaluations" / Path(row["folder"]).name
    assert folder.name == f"{usual.name}-noise-0" and (usual / "evaluation.json").is_file()
    assert low["noise"] == low["subject"]["noise"] == 0.0 and low["subject"]["usual_noise"] == 0.667
    assert low["subject"]["fingerprint"] != row["subject"]["fingerprint"]
    item = low["items"][0]["wav"]
    assert not np.array_equal(soundfile.read(folder / item)[0], soundfile.read(usual / item)[0]), "it was heard"
    assert "noise 0 instead of 0.667" in (folder / "report.html").read_text(encoding="utf-8")
    refused = olu("evaluate", mine, *FAST, "-o", folder)
    assert refused.code == 2 and "is not an evaluation of this voice" in refused.err
    shown = fine("evaluate", mine, *FAST, "--noise", "0")
    assert "Spoken with noise 0." in shown.out and len(list((mine / "evaluations").iterdir())) == 2


def test_checkpoints_speak_with_the_same_noise(
    judged: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def at_steps(ws: Workspace, run: str, steps: list[int], *, seed: int, noise: float | None) -> Iterator[Any]:
        asked.append(noise)
        return iter(())

    monkeypatch.setattr("olu.stages.evaluate.at_steps", at_steps)
    fine("evaluate", judged[0], *FAST, "--noise", "0.5", "--checkpoints", "all", "-o", tmp_path / "out")
    assert asked == [0.5]


def test_a_voice_exported_with_another_noise_is_judged_with_it(
    judged: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    ws, _ = judged
    mine = Path(shutil.copytree(ws, tmp_path / "ws"))
    voice = Path(fine("export", mine, "--noise", "0.4", "--json").json()["voice"])
    card = (voice / "README.md").read_text(encoding="utf-8")
    assert "spoken with noise 0.667, which is not what this voice speaks with" in card
    low = fine("evaluate", mine, *FAST, "--json").json()
    assert low["noise"] == 0.4 and Path(low["folder"]).name.endswith("-noise-0.4")
    kept = json.loads((voice / "voice.json").read_text(encoding="utf-8"))
    assert kept["sampling"]["noise_scale"] == 0.4, "evaluating does not take it back"
    fine("export", mine, "--noise", "0.4")
    assert "spoken with noise 0.4." in (voice / "README.md").read_text(encoding="utf-8")
    fine("export", mine)
    card = (voice / "README.md").read_text(encoding="utf-8")
    assert "spoken with noise 0.667." in card and "noise 0.4" not in card


def test_a_voice_that_was_evaluated_is_not_evaluated_again_to_be_compared(
    judged: tuple[Path, dict[str, Any]],
) -> None:
    ws, row = judged
    voice, file = next((ws / "voices").glob("*.voice")), Path(row["folder"]) / "evaluation.json"
    before = file.stat().st_mtime_ns
    done = olu("compare", row["folder"], voice, "--corpus", ws)
    assert done.code == 2 and "are the same evaluation" in done.err and file.stat().st_mtime_ns == before


def test_two_are_compared_and_choices_counted(judged: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    ws, row = judged
    natural_wavs(ws, tmp_path / "natural")
    other = fine("evaluate", ws, "--wavs", tmp_path / "natural", *FAST[:2], "-o", tmp_path / "other", "--json").json()
    done = fine("compare", row["folder"], other["folder"], "-o", tmp_path / "both", "--json").json()
    assert done["shared"] == len([item for item in row["items"] if item["domain"] == "in"])
    assert Path(done["listen"]).is_file() and Path(done["page"]).is_file()
    shown = fine("compare", row["folder"], other["folder"], "-o", tmp_path / "both")
    assert "olu compare --choices choices.json" in shown.out
    refused = olu("compare", "--choices", tmp_path / "none.json")
    assert refused.code == 2 and "is not there" in refused.err
    assert "takes no A and B" in olu("compare", "a", "b", "--choices", "x").err
    assert "Missing argument" in olu("compare").err


def test_training_can_end_with_an_evaluation(
    recordings: Path, tmp_path: Path, ears: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olu.stages.evaluate_choice.EVERYTHING", "cer,sanity,duration")
    ws = tmp_path / "ws"
    fine("new", ws, "--language", "sw")
    fine("import", ws, recordings)
    heard = ("--set", "plan.choose=heard", "--set", "plan.validate_every=1", "--set", "plan.save_every=1")
    done: Done = fine("train", ws, *TINY, *heard, "--evaluate", "--json")
    row = done.json()
    assert row["evaluation"]["run"] == row["run"]
    best = json.loads((ws / "runs" / row["run"] / "best.json").read_text(encoding="utf-8"))
    assert best["metric"] == "heard" and "kept checkpoints" in best["why"] and best["step"] == row["evaluation"]["step"]
    assert np.isfinite(best["score"])

"""What reaches a terminal, a pipe or a spreadsheet: no foreign control character, no formula, no end when it closes."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import TINY, fine, make_recordings, olu

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
HOSTILE = "Ana\x1b]0;title\x07\x1b[8m\x9b2J\u202eevil\u2028\rBo"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A workspace with a speaker's name, a file name and texts that would take a terminal over."""
    folder = make_recordings(tmp_path / "in", clips=4)
    rows = (folder / "metadata.csv").read_text("utf-8").splitlines()
    wav = sorted((folder / "wavs").iterdir())[0]
    wav.rename(wav.with_name("a\x1b[31mb.wav"))
    rows = [f'{{"audio": "wavs/{wav.name}", "text": {json.dumps(rows[0].partition("|")[2])}}}']
    speakers = [HOSTILE, "=1+1", "@SUM(A1)", "-2+3"]
    lines = []
    for path, speaker in zip(sorted((folder / "wavs").iterdir()), speakers, strict=True):
        row = {"audio": f"wavs/{path.name}", "text": f"=cmd|'/C calc'!A0 habari {path.stem[-1]}", "speaker": speaker}
        lines.append(json.dumps(row))
    (folder / "metadata.csv").unlink()
    (folder / "manifest.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    ws = tmp_path / "ws"
    fine("new", ws, "--language", "sw")
    return ws


def test_no_verb_passes_control_characters_on(hostile: Path, tmp_path: Path) -> None:
    commands = [
        ["import", hostile, tmp_path / "in", "--speaker", f"{HOSTILE}"],
        ["import", hostile, tmp_path / "in", "--json"],
        ["clips", hostile],
        ["clips", hostile, "--json"],
        ["clips", hostile, "--ids"],
        ["split", hostile],
        ["split", hostile, "--json"],
        ["audit", hostile],
        ["read", hostile],
        ["plan", hostile, "--print"],
        ["status", hostile],
        ["train", hostile, *TINY, "--dry-run"],
        ["drop", hostile, HOSTILE],
        ["runs", hostile, HOSTILE],
        ["status", tmp_path / HOSTILE],
        ["export", tmp_path / HOSTILE],
        ["import", hostile, tmp_path / HOSTILE],
        [HOSTILE],
        ["clips", hostile, "--where", HOSTILE],
    ]
    for words in commands:
        done = olu(*words)
        assert not RAW.search(done.out + done.err), (words[0], done.out + done.err)
        if done.code:
            assert done.err.count("\n") == 1, done.err
    assert "Ana\\x1b]0;title\\x07" in fine("clips", hostile).out
    assert fine("clips", hostile, "--json").json()["clips"][0]["speaker"] == HOSTILE, "the value itself is kept"


def test_cells_that_would_be_formulas_are_texts(hostile: Path, tmp_path: Path) -> None:
    fine("import", hostile, tmp_path / "in")
    fine("clips", hostile, "--csv", tmp_path / "clips.csv")
    with (tmp_path / "clips.csv").open(encoding="utf-8", newline="") as data:
        rows = list(csv.DictReader(data))
    assert len(rows) == 4
    for row in rows:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values()), row
        assert row["text"].startswith("'=cmd")
    assert {row["speaker"] for row in rows} >= {"'=1+1", "'@SUM(A1)", "'-2+3"}


def command(words: list[str | Path], shell: str = "") -> subprocess.CompletedProcess[bytes]:
    line = shlex.join([sys.executable, "-m", "olu", *map(str, words)])
    return subprocess.run(["bash", "-c", f"set -o pipefail; {line} {shell}"], capture_output=True, check=False)


CLOSED = ["<&- >&- 2>&-", "2>&1 | true", *(["2>&-", ">&-"] if os.environ.get("OLU_SOAK") == "1" else [])]


@pytest.mark.parametrize("closed", CLOSED)
def test_a_training_goes_on_where_nobody_listens(ws: Path, closed: str) -> None:
    done = command(["train", ws, *TINY], closed)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    assert b"Traceback" not in done.stdout + done.stderr
    assert (ws / "runs" / "vits-001" / "result.json").is_file()


def test_a_path_that_is_no_text_is_refused_at_once(tmp_path: Path, recordings: Path) -> None:
    odd = tmp_path / os.fsdecode(b"b\xffd")
    for words in (["new", odd, "--language", "sw"], ["status", odd]):
        done = olu(*words)
        assert done.code == 2 and "not valid UTF-8" in done.err and done.err.count("\n") == 1
    assert not odd.exists()
    fine("new", tmp_path / "ws", "--language", "sw")
    (tmp_path / "ws").rename(odd)
    done = olu("train", odd, *TINY)
    assert done.code == 2 and "not valid UTF-8" in done.err


def test_advice_for_a_name_that_looks_like_an_option_works(
    tmp_path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = fine("new", "--language", "sw", "--", "-dash")
    assert olu("import", "./-dash", recordings).code == 0
    for _ in range(3):
        line = fine("status", "./-dash").out.splitlines()[-1].removeprefix("Next: ")
        words = shlex.split(line)[1:]
        done = olu(*words) if words[0] != "train" else olu(*words[:2], *TINY)
        assert done.code == 0, (line, done.err)
        advised = [row.removeprefix("Next: olu ") for row in done.out.splitlines() if row.startswith("Next: olu ")]
        assert all(f"{tmp_path}/-dash" in row or "./-dash" in row for row in advised), done.out
    assert f"olu import {tmp_path}/-dash" in made.out


@pytest.mark.parametrize(
    "verb", [["status"], ["clips"], ["runs"], ["audit"], ["plan", "--print"], ["split"], ["clean"]]
)
def test_the_workspace_one_stands_in(ws: Path, verb: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (ws, ws / "corpus"):
        monkeypatch.chdir(place)
        fine(*verb)
    monkeypatch.chdir(ws.parent)
    done = olu(*verb)
    assert done.code == 2 and "which workspace?" in done.err


def test_a_run_of_the_workspace_one_stands_in(voiced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(voiced)
    assert "vits-001: finished at step 2 of 2" in fine("runs", "vits-001").out


def test_numbers_do_not_round_away(voiced: Path) -> None:
    for words in (["status", voiced], ["clips", voiced], ["runs", voiced], ["export", voiced], ["clean", voiced]):
        done = fine(*words)
        assert not re.search(r"\b0\.0+ (hours|minutes|M|GiB|MiB|GB)\b", done.out + done.err), done.out
    said = olu("train", voiced, *TINY, "--new")
    assert not re.search(r"about 0\.0 hours|, 0\.0 GB", said.err), said.err


def test_languages_and_doctor_say_what_is_so() -> None:
    shown = fine("languages", "amh").out + fine("languages").out
    assert "% " in shown and not re.search(r"%[^│]*\d %", shown) and ", %" not in shown
    assert "Zyyy" not in fine("languages", "wol").out
    for line in fine("doctor").out.splitlines():
        assert not (line.startswith("ok") and "missing" in line), line


@pytest.mark.parametrize("device", ["cuda:0", "cuda:7", "cuda:x", "cpu:1", "gpu"])
def test_a_device_is_named_by_number_or_refused_in_a_sentence(ws: Path, device: str) -> None:
    import torch

    number = device.removeprefix("cuda:")
    if number.isdecimal() and int(number) < torch.cuda.device_count():
        fine("train", ws, *TINY, "--device", device)
        return
    for verb in ("train", "plan"):
        done = olu(verb, ws, "--device", device)
        assert done.code == 2 and done.err.splitlines()[-1].startswith("olu: "), done.err
        assert ("no CUDA device" in done.err or "no device cuda:" in done.err) is number.isdecimal()

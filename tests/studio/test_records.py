"""Records of runs that are read on by bytes: nothing is lost, nothing is told twice, and a replaced one begins anew."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from olu.studio.records import MOST_ROWS, RunRecords, RunShelf
from olu.train.view.history import MOST_POINTS


def row(step: int, *, rewinds: int = 0, mel: float | str = 1.0, **more: Any) -> str:
    parts = {"gen": {"losses": {"mel": mel}, "grad_norm": 2.0, "lr": 1e-3}}
    return (
        json.dumps({"step": step, "rewinds": rewinds, "epoch": 0, "clips": 2, "seconds": 0.5, **parts, **more}) + "\n"
    )


def append(path: Path, *rows: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(rows))


def test_only_whole_lines_count_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    records = RunRecords(path)
    assert records.look().step == 0 and records.curves()["curves"] == {}
    second = row(2, mel=0.5)
    append(path, row(1), second[:20])
    assert records.look().step == 1
    place = records.place
    append(path, second[20:], row(3, valid={"mel": 0.7}))
    assert records.look().step == 3 and records.progress.seconds == 1.5
    made = records.curves()["curves"]
    assert made["gen/mel"] == {"steps": [1, 2, 3], "values": [1.0, 0.5, 1.0]}
    assert made["valid/mel"] == {"steps": [3], "values": [0.7]}
    at, rows = records.since(place) or ("", [])
    assert [one.step for one in rows] == [2, 3] and rows[1].figures["valid/mel"] == 0.7
    assert records.since(at) == (at, [])
    assert records.pace.clips_per_second == 4.0


def test_a_replaced_file_is_read_anew(tmp_path: Path) -> None:
    path, other = tmp_path / "metrics.jsonl", tmp_path / "other"
    append(path, *(row(step) for step in range(1, 9)))
    records = RunRecords(path)
    place = records.look().place
    append(other, *(row(step) for step in range(1, 6)))
    other.replace(path)
    assert records.look().step == 5 and len(records.curves()["curves"]["gen/mel"]["steps"]) == 5
    assert records.since(place) is None, "the whole is sent again"
    held = path.read_bytes()
    path.write_bytes(held.replace(b"0.5", b"0.6", 1) + row(6).encode())  # the same inode, other bytes
    assert records.look().step == 6 and abs(records.progress.seconds - 3.0) < 0.2
    assert len(records.curves()["curves"]["gen/mel"]["steps"]) == 6
    path.unlink()
    assert records.look().step == 0


def test_long_runs_are_thinned_and_rewinds_cut(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, *(row(step, mel=step) for step in range(1, 3001)))
    records = RunRecords(path)
    made = records.look().curves()["curves"]["gen/mel"]
    assert len(made["steps"]) <= MOST_POINTS and made["steps"] == made["values"], "means over even stretches"
    assert records.since(f"{records.inode}-0") is None, f"more than {MOST_ROWS} rows are sent thinned"
    append(path, row(2000, rewinds=1, mel="nan"), row(2001, rewinds=1))
    made = records.look().curves()
    assert max(made["curves"]["gen/mel"]["steps"]) == 2001 and made["rewinds"] == 1
    at, rows = records.since(records.place) or ("", [])
    assert at == records.place and rows == []


def test_a_place_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    append(path, row(1), "no json\n", '{"step": 2}\n', row(3))
    records = RunRecords(path).look()
    assert records.step == 3
    for wrong in ("", "x", "1-2", f"{records.inode}-99999", f"{records.inode}--1", "-", "١-٢"):
        assert records.since(wrong) is None, wrong


def test_what_many_ask_for_is_made_once_and_again_when_the_run_stands_otherwise() -> None:
    shelf, made = RunShelf(), list[int]()

    def make() -> bytes:
        made.append(1)
        time.sleep(0.05)
        return str(len(made)).encode()

    with ThreadPoolExecutor(8) as pool:
        told = set(pool.map(lambda _: shelf.part("run", {"step": 1}, make), range(8)))
    assert told == {b"1"} and len(made) == 1, "those who came meanwhile waited"
    assert shelf.part("run", {"step": 2}, make) == b"2"
    assert shelf.part("other", {"step": 2}, make) == b"3"
    assert shelf.part("run", {"step": 2}, make) == b"2"

"""What pages watch: nothing is lost and nothing told twice, whatever becomes of the line or the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olu.core.files import Workspace
from olu.studio.follow import Tail, Watch, offsets, set_offsets

from ..helpers.studio import StudioClient


@pytest.fixture
def client(tmp_path: Path) -> StudioClient:
    Workspace.create(tmp_path / "habari", language="swa")
    client = StudioClient.of(tmp_path)
    client.job("habari", "status")
    client.stay = 0.7
    return client


def told(client: StudioClient, after: str = "", **headers: str) -> tuple[list[tuple[str, Any]], str]:
    """What the first looks of a stream say, and the id of the last event."""
    answer = client.get(f"/api/events?ws=habari&watch=job:1&after={after}", **headers)
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream")
    found, last = [], after
    for block in answer.text.split("\n\n"):
        rows = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "data" in rows:
            found.append((rows["event"], json.loads(rows["data"])["data"]))
            last = rows["id"]
    return found, last


def note(text: str) -> str:
    return json.dumps({"event": "note", "text": text}) + "\n"


def test_a_page_that_comes_back_misses_nothing_and_hears_nothing_twice(client: StudioClient, tmp_path: Path) -> None:
    events = tmp_path / "habari/jobs/0001/events.jsonl"
    events.write_text(note("one") + note("two") + '{"event": "no')
    found, last = told(client)
    assert [row["text"] for kind, row in found if kind == "note"] == ["one", "two"]
    assert [row["state"] for kind, row in found if kind == "job"] == ["done"]
    assert [kind for kind, _ in told(client, last)[0]] == ["job"]
    with events.open("a") as file:
        file.write('te", "text": "three"}\n'[: len('te"')] + ', "text": "three"}\n')
    assert [row["text"] for kind, row in told(client, last)[0] if kind == "note"] == ["three"]
    header, _ = told(client, **{"last-event-id": last})
    assert [row["text"] for kind, row in header if kind == "note"] == ["three"]


def test_another_file_in_its_place_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n')
    tail = Tail(path)
    assert tail.rows() == ([{"step": 1}, {"step": 2}], False)
    other = tmp_path / "other"
    other.write_text('{"step": 1}\n{"step": 9}\n{"step": 10}\n')
    other.replace(path)
    assert tail.rows() == ([{"step": 1}, {"step": 9}, {"step": 10}], True)
    path.write_text('{"step": 3}\n')  # the same file, cut
    assert tail.rows() == ([{"step": 3}], True)
    path.unlink()
    assert tail.rows() == ([], False)


def test_offsets_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text('{"a": 1}\n')
    tail = Tail(path)
    tail.rows()
    again = [Watch("job:1", list, Tail(path)), Watch("jobs", list)]
    set_offsets(again, offsets([Watch("job:1", list, tail)]))
    assert again[0].tail == tail
    for nonsense in ("", "job:1", "job:1=", "job:1=x.y", "job:1=-1.2", "=,=,", "job:1=1", "💥"):
        set_offsets([Watch("job:1", list, Tail(path))], nonsense)


@pytest.mark.parametrize("watch", ["job:99", "job:x", "nothing:1", "", ",".join(["jobs"] * 30)])
def test_what_cannot_be_watched_is_said(client: StudioClient, watch: str) -> None:
    assert client.get(f"/api/events?ws=habari&watch={watch}").status in (404, 422)

"""What pages watch: nothing is lost and nothing told twice, whatever becomes of the line or the file."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from olu.core.files import Workspace
from olu.studio.follow import News, Pulse, Tail, Watch, stream

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
            last = rows.get("id", last)  # the last of several carries it
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


def test_a_place_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text('{"a": 1}\n')
    tail = Tail(path)
    tail.rows()
    assert Tail.at(path, tail.place) == tail
    for nonsense in (
        "",
        "1",
        ".",
        "1.",
        "x.y",
        "-1.2",
        "1.2.3",
        "9" * 30 + ".1",
        "\N{SUPERSCRIPT TWO}.1",
        "\U0001f4a5",
    ):
        assert Tail.at(path, nonsense) == Tail(path)


def test_pages_at_the_same_place_are_read_for_once() -> None:
    """Fifty pages: one look in a beat; a page that stands elsewhere has a look of its own."""
    looks: list[tuple[str, str]] = []

    def look(place: str, seen: str) -> News:
        looks.append((place, seen))
        turn = int(seen or 0) + 1
        return News([("run", {"turn": turn})], place or "new", str(turn))

    async def page(pulse: Pulse, after: str) -> list[bytes]:
        told = stream(pulse, [Watch("run:a", look)], after)
        return [await anext(told) for _ in range(3)]

    async def pages() -> list[list[bytes]]:
        pulse = Pulse()
        return await asyncio.gather(*(page(pulse, "run:a=old" if n == 49 else "") for n in range(50)))

    *many, other = asyncio.run(pages())
    assert looks == [("", ""), ("old", ""), ("new", "1"), ("old", "1")]
    assert all(one == many[0] for one in many)
    assert many[0][1] == b'id: run:a=new\nevent: run\ndata: {"watch": "run:a", "data": {"turn": 1}}\n\n'
    assert other[2].startswith(b"id: run:a=old\n") and b'"turn": 2' in other[2]


def test_a_page_that_leaves_takes_nothing_from_the_others() -> None:
    begun = threading.Event()

    def look(place: str, seen: str) -> News:
        begun.wait(10)
        return News([("run", {})], place, seen)

    async def pages() -> bytes:
        pulse, watch = Pulse(), Watch("run:a", look)
        first, second = (stream(pulse, [watch], "") for _ in range(2))
        await anext(first), await anext(second)
        leaves, stays = asyncio.ensure_future(anext(first)), asyncio.ensure_future(anext(second))
        await asyncio.sleep(0)
        leaves.cancel()
        begun.set()
        return await stays

    assert b"event: run" in asyncio.run(pages())


@pytest.mark.parametrize("watch", ["job:99", "job:x", "nothing:1", "", ",".join(["jobs"] * 30)])
def test_what_cannot_be_watched_is_said(client: StudioClient, watch: str) -> None:
    assert client.get(f"/api/events?ws=habari&watch={watch}").status in (404, 422)

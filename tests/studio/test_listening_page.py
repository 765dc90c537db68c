"""Blind listening over HTTP: links for listeners, nothing that says which is which, answers one by one, the counts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from olu.core.files import Workspace
from olu.evaluate.listening import answers, place_of, trials
from olu.evaluate.listening_results import result_of

from ..helpers.listened import SENTENCES, VOICES, evaluated_workspace, made_test
from ..helpers.studio import Answer, StudioClient

NAMES = [f"Listener {number}" for number in range(1, 13)]


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return evaluated_workspace(tmp_path)


@pytest.fixture
def client(tmp_path: Path, ws: Workspace) -> StudioClient:
    return StudioClient.of(tmp_path)


def entered(client: StudioClient, address: str) -> StudioClient:
    path = re.sub(r"^https?://[^/]+", "", address)
    answer = client.get(path)
    return StudioClient(client.app, cookie=answer.headers["set-cookie"].partition(";")[0])


def nothing_told(answer: Answer) -> None:
    """No name of a voice, no place of its files, in head or body."""
    for part in (answer.body, json.dumps(answer.headers).encode()):
        assert not [
            word for word in (b"alpha", b"beta", b"2000", b"8000", b"key", b"evaluations") if word in part.lower()
        ]


def test_twelve_people_listen_blind_and_the_counts_are_compares(client: StudioClient, ws: Workspace) -> None:
    begun = client.job("ws", "listening", name="evening-1", of=[f"evaluations/{one}" for one in VOICES], kind="ab")
    assert begun["state"] == "done", begun
    made = client.post("/api/w/ws/listening/evening-1/links", {"names": NAMES}).json["links"]
    assert [one["name"] for one in made] == NAMES and all("<svg" in one["qr"] for one in made)
    people = [entered(client, one["address"]) for one in made]
    seen: dict[str, bytes] = {}
    for number, person in enumerate(people):
        nothing_told(person.get("/w/ws/listen/evening-1"))
        for _ in range(len(SENTENCES)):
            trial = person.get("/api/w/ws/listen/evening-1/trial")
            nothing_told(trial)
            n, (one, two) = trial.json["n"], trial.json["sounds"]
            assert trial.json["answer"] is None and {"n", "of", "done", "kind", "sounds", "text", "answer"} == set(
                trial.json
            )
            for file in (one, two):
                sound = person.get(f"/api/w/ws/listen/evening-1/sounds/{file}")
                assert seen.setdefault(file, sound.body) == sound.body and sound.headers["content-type"] == "audio/flac"
                nothing_told(Answer(sound.status, sound.headers, b""))
            assert (
                person.post("/api/w/ws/listen/evening-1/answers", {"n": n, "answer": 1 + (number + n) % 2}).status
                == 200
            )
        assert "sounds" not in person.get("/api/w/ws/listen/evening-1/trial").json
    held = answers(place_of(ws, "evening-1"))
    assert len(held) == 12 * len(SENTENCES) and {one.name for one in held} == set(NAMES)
    told = client.get("/api/w/ws/listening/evening-1").json
    (pair,) = result_of(place_of(ws, "evening-1")).pairs
    assert told["pairs"][0] == {**pair.counted.row(), "interval": [pair.share.low, pair.share.high]}
    page = client.get("/w/ws/listening/evening-1")
    assert page.status == 200 and "alpha-2000" in page.text and "a coin does this in" in page.text


def test_an_answer_may_be_changed_and_a_reload_goes_on(client: StudioClient, ws: Workspace) -> None:
    test = made_test(ws, kind="mos")
    (link,) = client.post("/api/w/ws/listening/evening-1/links", {"names": ["Amina"]}).json["links"]
    person = entered(client, link["address"])
    for n, value in ((0, 3), (1, 4), (0, 5)):
        assert person.post("/api/w/ws/listen/evening-1/answers", {"n": n, "answer": value}).status == 200
    again = entered(client, link["address"])
    assert again.get("/api/w/ws/listen/evening-1/trial").json["n"] == 2
    assert again.get("/api/w/ws/listen/evening-1/trial?n=0").json["answer"] == 5
    assert {one.n: one.answer for one in answers(place_of(ws, "evening-1"))} == {0: 5, 1: 4}
    assert len(trials(test, "x")) == 12
    for wrong in (
        {"n": 99, "answer": 3},
        {"n": 0, "answer": 6},
        {"n": 0, "answer": "<b>"},
        {"n": -1, "answer": 3},
        {"n": 0},
    ):
        refused = person.post("/api/w/ws/listen/evening-1/answers", wrong)
        assert refused.status == 422 and refused.json["error"], wrong


def test_what_is_typed_is_kept_as_text_and_the_text_is_not_shown(client: StudioClient, ws: Workspace) -> None:
    made_test(ws, kind="words")
    page = client.get("/w/ws/listen/evening-1")
    trial = client.get("/api/w/ws/listen/evening-1/trial").json
    assert "text" not in trial and not any(text in page.text for text in SENTENCES)
    client.post("/api/w/ws/listen/evening-1/answers", {"n": 0, "answer": "<script>x()</script>"})
    shown = client.get("/w/ws/listening/evening-1")
    assert shown.status == 200 and "<script>x" not in shown.text and "Letters wrong by the recogniser" in shown.text


def test_a_listener_has_one_test_and_nothing_else(client: StudioClient, ws: Workspace) -> None:
    made_test(ws)
    made_test(ws, "evening-2")
    (link,) = client.post("/api/w/ws/listening/evening-1/links", {"names": ["Amina"]}).json["links"]
    person = entered(client, link["address"])
    assert person.get("/w/ws/listen/evening-1").status == 200
    for path in (
        "/", "/w/ws/clips", "/w/ws/listening", "/w/ws/listening/evening-1", "/api/w/ws/listening/evening-1",
        "/w/ws/listen/evening-2", "/api/w/ws/listen/evening-2/trial", "/api/w/ws/evaluations", "/settings",
    ):  # fmt: skip
        assert person.get(path).status == 403, path
    assert person.post("/api/w/ws/listen/evening-2/answers", {"n": 0, "answer": 1}).status == 403
    assert person.post("/api/w/ws/listening/evening-1/links", {"names": ["X"]}).status == 403
    for file in ("x", "..%2fkey.json", "%2e%2e%2f%2e%2e%2fkey"):
        assert person.get(f"/api/w/ws/listen/evening-1/sounds/{file}").status == 404
    client.post(f"/api/links/{link['id']}/revoke")
    assert person.get("/w/ws/listen/evening-1").status in (401, 403)

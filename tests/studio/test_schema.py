"""Requests made up from the document of the studio's API: each is answered, and none by a fault of the server."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests
from hypothesis import HealthCheck, settings

from olu.stages.verbs import VERBS
from olu.studio import job_files
from olu.studio.app import create_app
from olu.studio.settings import StudioSettings

from ..helpers.clip_workspaces import clip_workspace
from ..helpers.operations import ask, operations
from ..helpers.studio import KEY, StudioClient, running

if TYPE_CHECKING:
    import schemathesis

SOAK = os.environ.get("OLU_SOAK") == "1"
STREAM = "/api/events"  # has no end
KNOWN: dict[str, list[Any]] = {
    "ws": ["ws", "ws", "other", "-"],
    "number": [1, 2, 99],
    "id": ["c0", "c1", "nothing"],
    "clip": ["c0", "0"],
    "name": ["vits-001", "ade.voice", "nothing"],
    "part": ["now", "samples", "events"],
    "step": [2, 3],
    "run": ["vits-001", "nothing"],
    "voice": ["ws/ade.voice"],
    "verb": [*VERBS, "nothing"],
    "decision": ["drop", "keep"],
}
SPEECH = {
    "type": "object",
    "required": ["input", "voice"],
    "properties": {
        "input": {"type": "string", "maxLength": 40},
        "voice": {"enum": KNOWN["voice"]},
        "speed": {"type": "number", "minimum": 0.1, "maximum": 5},
        "seed": {"type": "integer"},
        "response_format": {"enum": ["wav", "pcm", "mp3", "other"]},
        "stream_format": {"enum": ["sse", "audio"]},
        "timings": {"type": "boolean"},
        "tones": {"type": ["string", "null"]},
        "melody": {"type": ["object", "null"]},
    },
}


def document() -> dict[str, Any]:
    made = create_app(StudioSettings(roots=(), key=KEY)).openapi()
    del made["paths"][STREAM]
    return made


def pointed() -> dict[str, Any]:
    """With names that are there, else made-up ones would never lead to anything."""
    made = copy.deepcopy(document())
    for ways in made["paths"].values():
        for way in ways.values():
            for one in way.get("parameters", ()):
                if one["name"] in KNOWN:
                    one["schema"] = {"enum": KNOWN[one["name"]]}
    for held in made["components"]["schemas"].values():
        for name in set(held.get("properties", {})) & set(KNOWN):
            held["properties"][name] = {"enum": KNOWN[name]}
    for path in ("/api/speak", "/api/speak/plan"):
        made["paths"][path]["post"]["requestBody"] = {"content": {"application/json": {"schema": SPEECH}}}
    return made


any_names, known_names = document(), pointed()
made_up = settings(
    max_examples=100 if SOAK else 1, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@dataclass
class Here:
    base: str
    session: requests.Session
    answers: dict[int, int]  # how often each status was given


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    root: Path = tmp_path_factory.mktemp("root")
    if SOAK:
        from ..helpers.melodic import melodic
        from ..helpers.workspaces import trained, workspace

        rows = [(f"c{n}", text, "ada", "valid" if n == 3 else "train") for n, text in enumerate(("ab", "ba", "a", "b"))]
        place = workspace(root, rows)
        trained(place)
        melodic(place.voices / "ade.voice")
        StudioClient.of(root).job("ws", "status")
    else:
        clip_workspace(root, "ws")
    with (
        pytest.MonkeyPatch.context() as patch,
        running(root, most_upload=1000) as opened,
        requests.Session() as session,
    ):
        patch.setattr(job_files, "begin", lambda job, device=None: None)  # nothing is run
        session.headers["x-olu-studio"] = "1"
        session.get(opened, timeout=60).raise_for_status()
        yield Here(opened.partition("/?")[0], session, {})


def answered(case: schemathesis.Case, here: Here) -> None:
    answer = case.call(base_url=here.base, session=here.session, timeout=120)
    here.answers[answer.status_code] = here.answers.get(answer.status_code, 0) + 1
    assert answer.status_code < 500, (case.as_curl_command(), answer.text[:500])
    if answer.status_code >= 400 and case.path.startswith("/api/"):
        assert answer.json()["error"], case.as_curl_command()


@pytest.mark.skipif(not SOAK, reason="make soak: also with names that are nowhere")
@operations(any_names)
def test_any_request_is_answered(operation: str, here: Here) -> None:
    ask(any_names, operation, made_up, lambda case: answered(case, here))


@operations(known_names)
def test_requests_for_what_is_there_are_answered(operation: str, here: Here) -> None:
    ask(known_names, operation, made_up, lambda case: answered(case, here))


def test_many_of_them_came_to_something(here: Here) -> None:
    assert here.answers.get(200, 0) > 10, here.answers

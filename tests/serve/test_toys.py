"""The two toy families, from a training to a voice that is judged, spoken with and streamed over HTTP."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from numpy.typing import NDArray

from olu.audio.io import read, to_int16
from olu.core.files import Workspace
from olu.core.job import finish
from olu.speak.voice import Voice
from olu.stages.evaluate import evaluate
from olu.stages.export import export
from olu.stages.speak import speak_to
from olu.stages.train import train
from olu.stages.verbs.voices import EvaluateOptions

from ..families.test_toy_families import SHORT, _align
from ..helpers import aligned_workspaces
from ..helpers.toy_families import register
from .test_serving import Process, serving

RUNS = {"toytokens": "toytokens-001", "toyacoustic": "toyacoustic-003"}
TEXT = "habari ya leo. karibu sana, habari ya leo ya leo."


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as held:
        register(held)
        yield held


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch) -> Workspace:
    made, truth = aligned_workspaces.workspace(tmp_path_factory.mktemp("toys"))
    _align(made, truth)
    for name in ("toytokens", "toyvocoder", "toyacoustic"):
        finish(train(made, overrides=[f"family={name}", *SHORT], new=True))
    return made


@pytest.fixture(scope="module")
def shelf(ws: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shelf")
    for name, run in RUNS.items():
        finish(export(ws.root, run=run, output=place / f"{name}.voice"))
    return place


@pytest.fixture(scope="module")
def server(shelf: Path) -> Iterator[Process]:
    """A server knows no family: a package is all it needs."""
    with serving(shelf, "--batch", "4") as made:
        yield made


def whole(path: Path, **wish: Any) -> NDArray[np.int16]:
    return to_int16(Voice.open(path, threads=1).speak(TEXT, **wish))


def events(server: Process, **wish: Any) -> tuple[NDArray[np.int16], int]:
    """The sound of a stream of events, and how many of them brought some."""
    asked = {"input": TEXT, "response_format": "wav", "stream_format": "sse", **wish}
    parts = []
    with httpx2.stream("POST", f"{server.base}/v1/audio/speech", json=asked, timeout=60) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            row = json.loads(line.removeprefix("data: ")) if line else {}
            assert "error" not in row
            parts += [base64.b64decode(row["audio"])] if row.get("type") == "speech.audio.delta" else []
    return np.frombuffer(b"".join(parts)[44:], "<i2"), len(parts)


@pytest.mark.parametrize("name", RUNS)
def test_what_is_streamed_over_http_is_the_whole(server: Process, shelf: Path, name: str) -> None:
    path = shelf / f"{name}.voice"
    voice = Voice.open(path, threads=1)
    heard, chunks = events(server, voice=voice.name, seed=4)
    assert chunks > 1
    expected = whole(path, seed=4)
    assert len(heard) == len(expected) and np.abs(heard.astype(int) - expected).max() <= 1
    (knob, *_) = voice.knobs.values()
    turned, _ = events(server, voice=voice.name, seed=4, knobs={knob.name: knob.high})
    assert len(turned) != len(heard) or not np.array_equal(turned, heard)


@pytest.mark.parametrize("name", RUNS)
def test_it_is_spoken_into_a_file(shelf: Path, tmp_path: Path, name: str) -> None:
    voice = Voice.open(shelf / f"{name}.voice", threads=1)
    said = finish(speak_to(tmp_path / "out.wav", voice, TEXT, seed=4, times="json"))
    apart = to_int16(read(tmp_path / "out.wav")).astype(int) - whole(shelf / f"{name}.voice", seed=4)
    assert np.abs(apart).max() <= 1
    assert said.sentences == 2


@pytest.mark.parametrize("name", RUNS)
def test_it_is_judged(ws: Workspace, name: str) -> None:
    judged = finish(evaluate(EvaluateOptions(place=ws.root, run=RUNS[name], sentences=2, only="f0")))
    assert judged.page.is_file() and judged.evaluation.figures

"""Voices of other engines behind HTTP: the same turns, batches and sound, and nobody looks inside a chunk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from numpy.typing import NDArray

import olu
from olu.audio.io import to_int16
from olu.core.types import Audio
from olu.speak.voice import Voice

from ..helpers.engine_graphs import mel_graphs, pack, token_graphs
from .test_serving import serving
from .test_worker import LONG, TEXT, Bench


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shelf")
    pack(place / "mel.voice", mel_graphs, name="mel")
    pack(place / "tokens.voice", token_graphs, name="tokens", hold=10)
    return place


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shared") / "shared.voice"
    pack(path, token_graphs, attention="shared", name="shared", hold=10)
    return path


def test_codes_of_several_requests_go_together_unasked(shared: Path) -> None:
    """Where the weights are what takes the time, also with a batch of one."""
    bench, voice = Bench(shared, batch=1), Voice.open(shared, threads=1)
    for number in range(4):
        bench.say(number, LONG, seed=number)
    bench.take_all()
    assert not bench.of("error") and len(bench.of("end")) == 4
    assert max(message["parts"] for message in bench.of("ran")) > 2
    for number in range(4):
        apart = bench.sound(number).astype(int) - streamed(voice, LONG, seed=number)
        assert np.abs(apart).max() <= 1, "a rounding at most"


def streamed(voice: Voice, text: str = TEXT, **wish: Any) -> NDArray[np.int16]:
    return to_int16(Audio(np.concatenate([one.audio.samples for one in voice.stream(text, **wish)]), voice.rate))


@pytest.mark.parametrize("name", ["mel", "tokens"])
def test_a_worker_serves_several_together(shelf: Path, name: str) -> None:
    bench, voice = Bench(shelf / f"{name}.voice", batch=3), Voice.open(shelf / f"{name}.voice", threads=1)
    for number in range(4):
        bench.say(number, LONG, seed=number)
    bench.take_all()
    assert not bench.of("error") and len(bench.of("end")) == 4
    assert max(message["parts"] for message in bench.of("ran")) > 1
    for number in range(4):
        apart = bench.sound(number).astype(int) - streamed(voice, LONG, seed=number)
        assert np.abs(apart).max() <= 1, "a rounding at most"


def test_over_http(shelf: Path) -> None:
    with serving(shelf) as server:
        rows = httpx2.get(f"{server.base}/v1/audio/voices", timeout=60).json()["data"]
        knobs = {row["id"]: [knob["name"] for knob in row["knobs"]] for row in rows}
        assert knobs == {
            "mel": ["pitch", "steps", "temperature"],
            "tokens": ["temperature", "top_p", "top_k", "repetition_penalty"],
        }
        for name in knobs:
            voice = Voice.open(shelf / f"{name}.voice", threads=1)
            said = server.ask(voice=name, response_format="wav", seed=2, knobs={"temperature": 0.7})
            assert said.status_code == 200
            heard = np.frombuffer(said.content[44:], "<i2")
            np.testing.assert_array_equal(heard, streamed(voice, seed=2, knobs={"temperature": 0.7}))
        refused = server.ask(voice="mel", noise=0.3)
        assert refused.status_code == 400
        told = "the voice mel has no knob 'noise'; it has: pitch, steps, temperature"
        assert told in refused.json()["error"]["message"]


def test_nobody_in_serve_looks_inside_a_chunk() -> None:
    own = {"wyoming.py", "wyoming_events.py"}  # events of that protocol have a payload of their own
    for file in sorted((Path(olu.__file__).parent / "serve").glob("*.py")):
        found = file.read_text(encoding="utf-8").replace("payload", "") if file.name in own else file.read_text("utf-8")
        assert not re.search(r"payload|latents|\bmel\b|\.shape\b", found), file

"""What a worker makes of several open requests, one chunk at a time; in this process, with every message kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from olu.audio.io import to_int16
from olu.core.errors import VoiceError
from olu.core.types import Audio
from olu.serve.protocol import Message, SpeechJob
from olu.serve.worker import AHEAD_SECONDS, CROWD, Worker
from olu.speak.engines.latents import LatentsEngine
from olu.speak.stream import Manner
from olu.speak.voice import Voice

from ..helpers import serve_voices as voices
from ..helpers.serve_voices import LONG, PARAGRAPH, TEXT


class Bench:
    """A worker and all it has sent; every look at its clock is a second later."""

    def __init__(self, package: Path, *, batch: int = 1, loaded: int = 4) -> None:
        self.package, self.sent = package, list[tuple[Message, bytes]]()
        self._clock = count()
        self.worker = Worker(self._send, batch=batch, loaded=loaded, clock=lambda: float(next(self._clock)))

    def _send(self, message: Message, sound: bytes = b"", /) -> None:
        self.sent.append((message, sound))

    def say(
        self, number: int, text: str = TEXT, *, seconds: float = 600.0, path: Path | None = None, **wish: Any
    ) -> None:
        path = path or self.package
        ask = asdict(SpeechJob("any", text, Manner(**wish), seconds))
        self.worker.hear({"do": "say", "number": number, "key": str(path), "path": str(path), "ask": ask})

    def take_all(self) -> None:
        """As a listener who takes everything at once."""
        while self.worker.busy:
            before = len(self.sent)
            self.worker.step()
            for message, sound in self.sent[before:]:
                if message["is"] == "piece":
                    self.took(message["number"], len(sound) / 2 / message["rate"])

    def took(self, number: int, seconds: float) -> None:
        self.worker.hear({"do": "took", "number": number, "seconds": seconds})

    def of(self, kind: str) -> list[Message]:
        return [message for message, _ in self.sent if message["is"] == kind]

    def order(self) -> list[int]:
        return [message["number"] for message in self.of("piece")]

    def sound(self, number: int) -> NDArray[np.int16]:
        parts = [sound for message, sound in self.sent if message["is"] == "piece" and message["number"] == number]
        return np.frombuffer(b"".join(parts), "<i2")


@pytest.fixture
def bench(package: Path) -> Bench:
    return Bench(package)


@pytest.fixture(scope="module")
def voice(package: Path) -> Voice:
    return Voice.open(package, threads=1)


def streamed(voice: Voice, text: str, **wish: Any) -> NDArray[np.int16]:
    whole = np.concatenate([spoken.audio.samples for spoken in voice.stream(text, **wish)])
    return to_int16(Audio(whole, wish.get("rate") or voice.rate))


@pytest.mark.parametrize(
    "wish", [{}, {"seed": 5, "speaker": "obi", "speed": 0.8}, {"rate": 24_000}, {"loudness": -20.0}]
)
def test_the_sound_is_that_of_the_voice(bench: Bench, voice: Voice, wish: dict[str, Any]) -> None:
    bench.say(1, **wish)
    bench.take_all()
    np.testing.assert_array_equal(bench.sound(1), streamed(voice, TEXT, **wish))
    assert bench.of("end") == [{"is": "end", "number": 1}]
    pieces, spoken = bench.of("piece"), list(voice.stream(TEXT, **wish))
    assert [piece["sentence"] for piece in pieces] == [one.sentence.number for one in spoken]
    assert [piece["last"] for piece in pieces] == [one.last for one in spoken]
    words = [tuple(word) for piece in pieces for word in piece["words"]]
    sentences = {one.sentence.number: one.sentence for one in spoken}
    assert words == [(w.label, w.start, w.end) for one in sentences.values() for w in one.words], "once a sentence"


def test_requests_share_the_worker_chunk_by_chunk(bench: Bench, voice: Voice) -> None:
    bench.say(1, LONG, speed=0.5)
    for _ in range(3):
        bench.worker.step()
    assert bench.order() == [1, 1, 1], "alone it has all turns"
    bench.say(2, LONG, speed=0.5, seed=2)
    bench.say(3, TEXT)
    bench.worker.step()
    bench.worker.step()
    assert bench.order()[3:] == [2, 3], "first sound first"
    bench.take_all()
    assert len(bench.of("end")) == 3
    order = bench.order()
    assert order[5:].count(2) > 1 and 1 in order[5:], "then all go on"
    np.testing.assert_array_equal(bench.sound(1), streamed(voice, LONG, speed=0.5))
    np.testing.assert_array_equal(bench.sound(2), streamed(voice, LONG, speed=0.5, seed=2))
    np.testing.assert_array_equal(bench.sound(3), streamed(voice, TEXT))


def test_equal_parts_are_made_in_one_run(package: Path, voice: Voice) -> None:
    bench = Bench(package, batch=3)
    for number in (1, 2, 3, 4):
        bench.say(number, LONG, seed=number, speed=0.5, speaker="ada" if number % 2 else "obi")
    bench.take_all()
    sizes = [message["parts"] for message in bench.of("ran")]
    assert 1 < max(sizes) <= 3
    for number in (1, 2, 3, 4):
        alone = streamed(voice, LONG, seed=number, speed=0.5, speaker="ada" if number % 2 else "obi")
        apart = bench.sound(number).astype(int) - alone
        assert np.abs(apart).max() <= 1, "a rounding at most: -90 dB of full scale"


def test_one_at_a_time_where_that_is_wished(package: Path) -> None:
    bench = Bench(package, batch=1)
    for number in (1, 2, 3):
        bench.say(number, LONG, seed=number)
    bench.take_all()
    assert {message["parts"] for message in bench.of("ran")} == {1}


def test_long_chunks_go_alone(package: Path) -> None:
    """A run of several is never longer than that of the longest chunk: nobody waits longer for others' company."""
    bench = Bench(package, batch=8)
    for number in range(8):
        bench.say(number, LONG, speed=0.25, seed=number)
    frames: list[float] = []
    kept = Voice.run

    def decode(self: Voice, some: Any) -> Any:
        frames.append(sum(part.cost for part in some))
        return kept(self, some)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Voice, "run", decode)
        bench.take_all()
    assert max(frames) < 4.0 + 1.0


def test_a_crowd_is_served_in_long_chunks(package: Path, voice: Voice) -> None:
    few, crowd = Bench(package), Bench(package)
    for number in range(CROWD):
        few.say(number, TEXT, seed=number)
    for number in range(CROWD + 1):
        crowd.say(number, TEXT, seed=number)
    few.worker.step()
    crowd.worker.step()
    assert not few.of("piece")[0]["last"]
    assert crowd.of("piece")[0]["last"], "its first sentence in one go"
    crowd.take_all()
    for number in range(CROWD + 1):
        apart = crowd.sound(number).astype(int) - streamed(voice, TEXT, seed=number)
        assert np.abs(apart).max() <= 1, "the sound is the same but for a rounding"


def test_who_leaves_is_served_no_more(bench: Bench) -> None:
    bench.say(1, PARAGRAPH)
    bench.say(2)
    bench.worker.step()
    bench.worker.hear({"do": "leave", "number": 1})
    bench.take_all()
    assert bench.order().count(1) == 1
    assert [message["number"] for message in bench.of("end")] == [2]
    bench.worker.hear({"do": "leave", "number": 1})  # twice, or after the end, is no matter
    bench.took(1, 3.0)


def test_no_more_is_made_than_is_taken(bench: Bench) -> None:
    bench.say(1, PARAGRAPH, speed=0.5)
    while bench.worker.busy:
        bench.worker.step()
    held = len(bench.sound(1)) / 16_000
    assert AHEAD_SECONDS <= held < AHEAD_SECONDS + 5
    bench.worker.step()
    assert len(bench.sound(1)) / 16_000 == held
    bench.took(1, 4.0)
    assert bench.worker.busy
    bench.say(2)
    bench.take_all()
    assert [message["number"] for message in bench.of("end")] == [2, 1]


def test_what_cannot_be_said_is_told_and_the_others_go_on(bench: Bench) -> None:
    bench.say(1, "漢字")
    bench.say(2, TEXT, speaker="nobody")
    bench.say(3)
    bench.say(4, "<speak>Kedu")
    bench.take_all()
    errors = {message["number"]: message for message in bench.of("error")}
    assert {number: error["kind"] for number, error in errors.items()} == {
        1: "TextError",
        2: "VoiceError",
        4: "TextError",
    }
    assert "nobody" in errors[2]["why"]
    assert [message["number"] for message in bench.of("end")] == [3]


def test_a_mistake_of_ours_ends_one_request_and_tells_no_text(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.say(1)
    bench.worker.step()
    kept = LatentsEngine.encode

    def broken(self: LatentsEngine, ids: Any, *rest: Any, **named: Any) -> Any:
        if named["manner"].seed == 9:
            raise KeyError("a secret text")
        return kept(self, ids, *rest, **named)

    monkeypatch.setattr(LatentsEngine, "encode", broken)
    bench.say(2, "Secret.", seed=9)
    bench.take_all()
    (error,) = bench.of("error")
    assert (error["number"], error["kind"], error["why"]) == (2, "", "KeyError")
    assert any("broken" in place for place in error["where"])
    assert "secret" not in str(error).lower()
    assert [message["number"] for message in bench.of("end")] == [1]


def test_a_run_that_fails_is_tried_one_by_one(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(package, batch=4)
    for number in (1, 2, 3):
        bench.say(number, LONG, seed=number, speaker="obi" if number == 2 else "ada")
    kept = Voice.run

    def decode(self: Voice, some: Any) -> Any:
        if any(part.payload.speaker == 1 for part in some):
            raise VoiceError("numbers that are no sound")
        return kept(self, some)

    monkeypatch.setattr(Voice, "run", decode)
    bench.take_all()
    assert [message["number"] for message in bench.of("error")] == [2]
    assert sorted(message["number"] for message in bench.of("end")) == [1, 3]


@pytest.mark.parametrize("seconds", [0.1, 1.0, 2.5])
def test_past_the_limit_the_sound_ends_with_an_error(bench: Bench, voice: Voice, seconds: float) -> None:
    bench.say(1, LONG, seconds=seconds, rate=24_000)
    bench.take_all()
    np.testing.assert_array_equal(bench.sound(1), streamed(voice, LONG, rate=24_000)[: round(24_000 * seconds)])
    assert [error["kind"] for error in bench.of("error")] == ["TooLong"]
    assert not bench.of("end") and not bench.worker.busy


def test_a_limit_that_is_just_met_is_none(bench: Bench, voice: Voice) -> None:
    bench.say(1, seconds=len(streamed(voice, TEXT)) / voice.rate)
    bench.take_all()
    assert bench.of("end") and not bench.of("error")


@pytest.fixture
def three(package: Path, tmp_path: Path) -> Iterator[list[Path]]:
    yield [voices.copy(package, tmp_path / f"{name}.voice", name=name) for name in ("a", "b", "c")]


def test_the_voice_not_used_for_longest_is_let_go(three: list[Path]) -> None:
    bench = Bench(three[0], loaded=2)
    a, b, c = three
    for number, path in enumerate([a, b, a, c]):
        bench.say(number, path=path)
        bench.take_all()
    assert [message["key"] for message in bench.of("opened")] == [str(a), str(b), str(c)]
    assert [message["key"] for message in bench.of("closed")] == [str(b)]


def test_a_voice_in_use_is_kept_until_its_requests_are_done(three: list[Path]) -> None:
    bench = Bench(three[0], loaded=1)
    a, b, _ = three
    bench.say(1, LONG, path=a, speed=0.5)
    bench.worker.step()
    bench.say(2, path=b)
    bench.worker.step()
    bench.worker.hear({"do": "drop", "key": str(a)})
    assert not bench.of("closed")
    bench.take_all()
    assert [message["number"] for message in bench.of("end")] == [2, 1]
    assert [message["key"] for message in bench.of("closed")] == [str(b), str(a)], "one too many, then one dropped"


def test_a_voice_gone_from_the_shelf_is_let_go_and_can_come_again(three: list[Path]) -> None:
    bench = Bench(three[0])
    a = str(three[0])
    for _ in range(2):
        bench.worker.hear({"do": "load", "key": a, "path": a})
        bench.worker.hear({"do": "drop", "key": a})
    bench.worker.hear({"do": "drop", "key": a})
    assert [len(bench.of(kind)) for kind in ("opening", "opened", "closed")] == [2, 2, 2]


def test_a_damaged_voice_is_told_without_its_place(three: list[Path], tmp_path: Path) -> None:
    bench = Bench(three[0])
    voices.spoil(three[1])
    bench.worker.hear({"do": "load", "key": "b", "path": str(three[1])})
    bench.say(1, path=three[1])
    bench.say(2)
    bench.take_all()
    why = "b.voice: decoder.onnx is damaged: export the voice again"
    assert [message["why"] for message in bench.of("damaged")] == [why, why]
    assert [(error["number"], error["kind"], error["why"]) for error in bench.of("error")] == [(1, "VoiceError", why)]
    assert [message["number"] for message in bench.of("end")] == [2]

"""The real `openai` client speaks to the server."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import av
import numpy as np
import openai
import pytest

from ..helpers import servers as running
from ..helpers.servers import Running

TEXT = "Kedu ka i mere. O di mma."
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")


@pytest.fixture(scope="module")
def here() -> Iterator[Running]:
    with running.running() as made:
        yield made


@pytest.fixture(scope="module")
def client(here: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{here.base}/v1", api_key="any", max_retries=0) as made:
        yield made


def heard(data: bytes, kind: str) -> tuple[np.ndarray, int]:
    if kind == "pcm":
        return np.frombuffer(data, "<i2") / 32768, 24_000
    with av.open(io.BytesIO(data)) as file:
        stream = file.streams.audio[0]
        frames = [frame.to_ndarray() for frame in file.decode(stream)]
        wave = np.concatenate([one.reshape(-1) for one in frames]).astype(float)
        if np.issubdtype(frames[0].dtype, np.integer):
            wave = wave / np.iinfo(frames[0].dtype).max
        return wave, stream.rate


def is_the_tone(wave: np.ndarray, rate: int, *, seconds: float) -> None:
    assert abs(len(wave) / rate - seconds) < 0.15
    middle = wave[len(wave) // 4 : 3 * len(wave) // 4]
    spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle))))
    assert abs(spectrum.argmax() * rate / len(middle) - 440) < 3
    assert 0.15 < np.abs(middle).max() < 0.35  # 8000 of 32768


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_the_sound_that_was_made(client: openai.OpenAI, kind: Any):
    said = client.audio.speech.create(model="tts-1", voice="ada", input=TEXT, response_format=kind)
    wave, rate = heard(said.content, kind)
    is_the_tone(wave, rate, seconds=2.0)
    assert said.response.headers["content-type"].split(";")[0].startswith("audio/")


def test_mp3_is_the_default_as_it_is_openais(client: openai.OpenAI):
    said = client.audio.speech.create(model="olu", voice="ada", input=TEXT)
    assert said.response.headers["content-type"] == "audio/mpeg"
    assert said.content[:1] == b"\xff"  # a frame at once: no tag before it


def test_speed_seed_and_speaker_reach_the_pool(here: Running, client: openai.OpenAI):
    said = client.audio.speech.create(
        model="olu",
        voice={"id": "ada"},
        input=TEXT,
        speed=2.0,
        response_format="wav",
        instructions="cheerfully",
        extra_body={"seed": 7, "speaker": "obi", "pause": 0.5, "noise": 0.1, "duration_noise": 0.2, "loudness": -20},
    )
    wave, rate = heard(said.content, "wav")
    is_the_tone(wave, rate, seconds=1.0)
    ask = here.pool.asked[-1]
    assert (ask.voice, ask.text) == ("ada", TEXT)
    manner = ask.manner
    assert (manner.speed, manner.seed, manner.speaker, manner.pause) == (2.0, 7, "obi", 0.5)
    assert (manner.noise, manner.duration_noise, manner.loudness, manner.rate) == (0.1, 0.2, -20, None)


def test_knobs_are_those_of_the_voice(here: Running, client: openai.OpenAI):
    client.audio.speech.create(model="olu", voice="ada", input=TEXT, extra_body={"knobs": {"noise": 0.3}})
    assert here.pool.asked[-1].manner.knobs == {"noise": 0.3}
    with pytest.raises(openai.BadRequestError, match="has no knob 'mood'; it has: noise, duration_noise"):
        client.audio.speech.create(model="olu", voice="ada", input=TEXT, extra_body={"knobs": {"mood": 1}})
    with pytest.raises(openai.BadRequestError, match="noise 5 is out of reach: choose 0 to 2"):
        client.audio.speech.create(model="olu", voice="ada", input=TEXT, extra_body={"knobs": {"noise": 5}})


@pytest.mark.parametrize("kind", FORMATS)
def test_chunks_come_while_it_is_spoken(here: Running, client: openai.OpenAI, kind: Any):
    speech = client.audio.speech.with_streaming_response
    text = "slow one. Two. Three.".ljust(250)  # longer than what is sent whole
    with speech.create(model="olu", voice="ada", input=text, response_format=kind) as said:
        early, chunks = 0, list[bytes]()
        for chunk in said.iter_bytes():
            chunks.append(chunk)
            early += here.pool.open > 0
    assert early >= 4
    is_the_tone(*heard(b"".join(chunks), kind), seconds=3.0)


def _at(client: openai.OpenAI, here: Running, key: str = "any") -> openai.OpenAI:
    """The same client, which is dear to make, to another server."""
    return client.with_options(base_url=f"{here.base}/v1", api_key=key)


def events(client: openai.OpenAI, **wish: Any) -> list[dict[str, Any]]:
    speech = client.audio.speech.with_streaming_response
    with speech.create(model="olu", voice="ada", stream_format="sse", **wish) as said:
        assert said.headers["content-type"].startswith("text/event-stream")
        lines = list(said.iter_lines())
    return [json.loads(line.removeprefix("data: ")) for line in lines if line]


@pytest.mark.parametrize("kind", FORMATS)
def test_events_hold_the_same_sound(client: openai.OpenAI, kind: Any):
    *deltas, done = events(client, input=TEXT, response_format=kind)
    assert {one["type"] for one in deltas} == {"speech.audio.delta"}
    assert len(deltas) > 3
    is_the_tone(*heard(b"".join(base64.b64decode(one["audio"]) for one in deltas), kind), seconds=2.0)
    assert done["type"] == "speech.audio.done"
    assert done["usage"] == {"input_tokens": len(TEXT), "output_tokens": 0, "total_tokens": len(TEXT)}


def test_word_times_come_before_the_sound_of_their_sentence(client: openai.OpenAI):
    got = events(client, input=TEXT, response_format="pcm", extra_body={"timings": True})
    kinds = [one["type"].rpartition(".")[2] for one in got]
    assert kinds == ["words", *["delta"] * 4, "words", *["delta"] * 4, "done"]
    first, second = (one for one in got if one["type"].endswith("words"))
    assert (first["sentence"], first["text"], first["start"], first["end"]) == (0, "Kedu ka i mere", 0.0, 1.0)
    assert second["words"][0] == ["O", 1.0, 2.0]


def test_models_are_listed_and_found(client: openai.OpenAI):
    assert [one.id for one in client.models.list()] == ["olu"]
    assert client.models.retrieve("tts-1").id == "tts-1"
    with pytest.raises(openai.NotFoundError, match="no model 'whisper-1'"):
        client.models.retrieve("whisper-1")


WRONG: list[tuple[dict[str, Any], type[openai.APIStatusError], str, str | None]] = [
    ({"voice": "nobody"}, openai.NotFoundError, "voice_not_found", "voice"),
    ({"voice": "../../etc/passwd"}, openai.NotFoundError, "voice_not_found", "voice"),
    ({"voice": "broken"}, openai.NotFoundError, "voice_unusable", "voice"),
    ({"model": "whisper-1"}, openai.NotFoundError, "model_not_found", "model"),
    ({"speed": 9}, openai.BadRequestError, "invalid_request", "speed"),
    ({"response_format": "midi"}, openai.BadRequestError, "invalid_request", "response_format"),
    ({"input": ""}, openai.BadRequestError, "invalid_request", "input"),
    ({"input": "x" * 4097}, openai.BadRequestError, "string_above_max_length", "input"),
    ({"input": "unsayable"}, openai.BadRequestError, "text_unusable", "input"),
    ({"input": "unloadable"}, openai.NotFoundError, "voice_unusable", "voice"),
    ({"extra_body": {"speaker": "eve"}}, openai.BadRequestError, "speaker_not_found", "speaker"),
    ({"extra_body": {"timings": True}}, openai.BadRequestError, "invalid_request", "timings"),
    ({"extra_body": {"sped": 2}}, openai.BadRequestError, "invalid_request", "sped"),
    ({"input": "busy"}, openai.RateLimitError, "server_busy", None),
    ({"input": "tokens"}, openai.BadRequestError, "too_many_tokens", "input"),
    ({"input": "late"}, openai.InternalServerError, "deadline_exceeded", None),
    ({"input": "stuck"}, openai.InternalServerError, "voice_stuck", None),
    ({"input": "hungry"}, openai.InternalServerError, "out_of_memory", None),
    ({"input": "gone"}, openai.InternalServerError, "worker_gone", None),
    ({"input": "ending"}, openai.InternalServerError, "ending", None),
    ({"input": "bug"}, openai.InternalServerError, "internal", None),
]


@pytest.mark.parametrize(("wish", "kind", "code", "param"), WRONG)
def test_errors_are_the_clients_own_classes(client: openai.OpenAI, wish: Any, kind: Any, code: str, param: Any):
    with pytest.raises(kind) as caught:
        client.audio.speech.create(**{"model": "olu", "voice": "ada", "input": TEXT, **wish})
    assert (caught.value.code, caught.value.param) == (code, param)
    assert "/secret" not in str(caught.value)
    assert "nobody may see" not in str(caught.value)


def test_a_typo_is_answered_with_the_right_word(client: openai.OpenAI):
    with pytest.raises(openai.BadRequestError, match="did you mean 'speaker'"):
        client.audio.speech.create(model="olu", voice="ada", input=TEXT, extra_body={"speakr": "obi"})


def test_a_word_of_the_list_is_refused_by_name(client: openai.OpenAI):
    with running.running(refused=("ọjọọ", "na-asọ oyi")) as here:
        known = _at(client, here)
        for text in ("Ihe ỌJỌỌ, a.", "O na-asọ  oyi!", "<speak>Ihe &#7885;jọọ</speak>"):
            with pytest.raises(openai.BadRequestError, match="must not be said here") as caught:
                known.audio.speech.create(model="olu", voice="ada", input=text)
            assert (caught.value.code, caught.value.param) == ("word_refused", "input")
        assert not here.pool.asked
        assert known.audio.speech.create(model="olu", voice="ada", input="ọjọọma, oyi na-asọ.").content


def test_busy_says_when_to_come_again(client: openai.OpenAI):
    with pytest.raises(openai.RateLimitError) as caught:
        client.audio.speech.create(model="olu", voice="ada", input="busy")
    assert caught.value.response.headers["retry-after"] == "7"


def test_a_sound_that_breaks_off_is_an_error_not_an_end(client: openai.OpenAI):
    speech = client.audio.speech.with_streaming_response
    with speech.create(model="olu", voice="ada", input="late gone", response_format="pcm") as said:
        got = b""
        with pytest.raises(Exception, match=r"incomplete|closed|peer"):
            for chunk in said.iter_bytes():
                got += chunk
    assert len(got) == 2 * 24_000 // 2  # what was there before is sound


def test_events_that_break_off_end_with_an_error(client: openai.OpenAI):
    got = events(client, input="late gone", response_format="pcm")
    assert [one.get("type", "error") for one in got] == ["speech.audio.delta"] * 2 + ["error"]
    assert got[-1]["error"]["code"] == "worker_gone"


def test_too_much_sound_is_refused_and_said(client: openai.OpenAI):
    with running.running(most_seconds=1.5) as short:
        got = events(_at(client, short), input="One. Two. Three.", response_format="pcm")
        assert got[-1]["error"]["code"] == "sound_too_long"
        assert short.pool.asked[-1].seconds == 1.5


def test_a_key_is_wanted_where_there_is_one(client: openai.OpenAI):
    with running.running(keys=(b"first-secret", b"second-secret")) as here:
        for key in ("first-secret", "second-secret"):
            known = _at(client, here, key)
            assert known.models.list().data
            assert known.audio.speech.create(model="olu", voice="ada", input=TEXT).content
        for key in ("first-secre", "first-secret1", "x"):
            with pytest.raises(openai.AuthenticationError) as caught:
                _at(client, here, key).audio.speech.create(model="olu", voice="ada", input=TEXT)
            assert caught.value.code == "invalid_api_key"

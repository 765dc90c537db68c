"""The real `wyoming` client speaks to the server."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from olu.audio.io import to_int16
from olu.core.errors import ConfigError
from olu.core.files import EMBEDDED
from olu.core.job import finish
from olu.core.types import Audio
from olu.serve.protocol import VoiceInfo
from olu.serve.settings import ServeSettings
from olu.speak.stream import PAUSE_SECONDS
from olu.speak.voice import Voice
from olu.stages.serve import serve

from ..helpers import servers as running
from ..helpers.servers import RATE, Running, Tones, drained, until
from .test_serving import serving

TEXT = "Kedu ka i mere. O di mma."
SECOND = 4 * round(RATE / 4)  # of four pieces
ADA = SynthesizeVoice(name="ada")


@pytest.fixture(scope="module")
def here() -> Iterator[Running]:
    with running.running(wyoming="0", refused=("bad word", "ụjọ")) as made:
        yield made


def asked(place: tuple[str, int], *events: Any, until_type: str) -> list[Event]:
    """What a client gets for these events, up to one of a type, an error, or the end of the connection."""

    async def exchange() -> list[Event]:
        got = list[Event]()
        async with AsyncTcpClient(*place) as client:
            for event in events:
                await client.write_event(event.event())
            async with asyncio.timeout(60):
                while (event := await client.read_event()) is not None:
                    got.append(event)
                    if event.type in (until_type, "error"):
                        break
        return got

    return asyncio.run(exchange())


def sound(got: list[Event]) -> np.ndarray:
    start = AudioStart.from_event(got[0])
    assert (start.width, start.channels) == (2, 1)
    assert AudioStop.is_type(got[-1].type) or SynthesizeStopped.is_type(got[-1].type)
    chunks = [AudioChunk.from_event(event) for event in got if AudioChunk.is_type(event.type)]
    assert {chunk.rate for chunk in chunks} == {start.rate}
    return np.frombuffer(b"".join(chunk.audio for chunk in chunks), "<i2")


def refusal(got: list[Event]) -> Error:
    assert Error.is_type(got[-1].type), got
    return Error.from_event(got[-1])


def test_describe_names_every_voice_that_can_be_used(here: Running):
    (event,) = asked(here.wyoming, Describe(), until_type="info")
    (program,) = Info.from_event(event).tts
    assert (program.name, program.supports_synthesize_streaming) == ("olu", True)
    (ada,) = program.voices  # the damaged one cannot be chosen
    assert (ada.name, ada.languages, ada.installed) == ("ada", ["ig", "ibo"], True)
    assert [one.name for one in ada.speakers or []] == ["ada", "obi"]
    assert ada.version and program.version


def test_a_text_is_spoken_whole(here: Running):
    got = asked(here.wyoming, Synthesize(TEXT, voice=ADA), until_type="audio-stop")
    assert len(sound(got)) == 2 * SECOND
    assert [event.type for event in got].count("audio-start") == 1
    job = here.pool.asked[-1]
    assert (job.voice, job.text, job.manner.seed, job.manner.plain) == ("ada", TEXT, 0, False)
    times = [AudioChunk.from_event(event).timestamp for event in got if AudioChunk.is_type(event.type)]
    assert times[:1] == [0] and times == sorted(times)


def test_one_connection_serves_many_texts(here: Running):
    async def twice() -> list[str]:
        async with AsyncTcpClient(*here.wyoming) as client:
            types = list[str]()
            for event in (Ping("x"), Synthesize("One.", voice=ADA), Synthesize("Two.", voice=ADA)):
                await client.write_event(event.event())
                while (got := await client.read_event()) is not None:
                    types.append(got.type)
                    if got.type in ("pong", "audio-stop"):
                        break
            return types

    types = asyncio.run(twice())
    assert types[0] == "pong" and types.count("audio-stop") == 2


def test_ping_gives_its_text_back(here: Running):
    (event,) = asked(here.wyoming, Ping("there?"), until_type="pong")
    assert Pong.from_event(event).text == "there?"


@pytest.mark.parametrize(
    ("voice", "speaker"),
    [
        (SynthesizeVoice(name="ada", speaker="obi"), "obi"),
        (SynthesizeVoice(language="ig"), None),
        (SynthesizeVoice(language="ig_NG"), None),
        (None, None),
    ],
)
def test_a_voice_is_chosen_by_name_speaker_or_language(here: Running, voice: Any, speaker: str | None):
    sound(asked(here.wyoming, Synthesize("One.", voice=voice), until_type="audio-stop"))
    assert (here.pool.asked[-1].voice, here.pool.asked[-1].manner.speaker) == ("ada", speaker)


def test_any_name_can_be_chosen_and_the_default_voice_answers_to_none():
    names = ["Nne m ọma (2)", "a/b", "zz"]
    voices = [VoiceInfo(name, "ibo", RATE, ("one",), 1, True) for name in names]
    with running.running(Tones(voices=voices), wyoming="0", default_voice="zz") as here:
        (event,) = asked(here.wyoming, Describe(), until_type="info")
        assert [voice.name for voice in Info.from_event(event).tts[0].voices] == names
        for name in names:
            sound(asked(here.wyoming, Synthesize("One.", voice=SynthesizeVoice(name=name)), until_type="audio-stop"))
            assert here.pool.asked[-1].voice == name
        sound(asked(here.wyoming, Synthesize("One.", voice=SynthesizeVoice(language="ig")), until_type="audio-stop"))
        assert here.pool.asked[-1].voice == "zz"


def streamed(*chunks: str, voice: SynthesizeVoice = ADA) -> list[Any]:
    whole = Synthesize("".join(chunks), voice=voice)  # as Home Assistant sends it too, for servers without chunks
    return [SynthesizeStart(voice=voice), *map(SynthesizeChunk, chunks), whole, SynthesizeStop()]


def test_chunks_are_spoken_sentence_by_sentence(here: Running):
    before = len(here.pool.asked)
    got = asked(here.wyoming, *streamed("Kedu ka", " i mere. O d", "i mma. Ka ", "o"), until_type="synthesize-stopped")
    assert [job.text for job in here.pool.asked[before:]] == ["Kedu ka i mere.", "O di mma.", "Ka o"]
    assert len(sound(got)) == 3 * SECOND + 2 * round(PAUSE_SECONDS * RATE)
    types = [event.type for event in got]
    assert (types.count("audio-start"), types.count("audio-stop")) == (1, 1)
    assert types[-2:] == ["audio-stop", "synthesize-stopped"]


def test_the_first_sentence_is_heard_before_the_last_is_written(here: Running):
    async def early() -> str:
        async with AsyncTcpClient(*here.wyoming) as client:
            for event in (SynthesizeStart(voice=ADA), SynthesizeChunk("One. Two")):
                await client.write_event(event.event())
            event = await asyncio.wait_for(client.read_event(), 10)
            return event.type if event else ""

    assert asyncio.run(early()) == "audio-start"


def test_markup_in_chunks_waits_for_its_end(here: Running):
    before = len(here.pool.asked)
    chunks = ("<speak>One. ", "Two. Th", "ree.</speak>")
    asked(here.wyoming, *streamed(*chunks), until_type="synthesize-stopped")
    assert [job.text for job in here.pool.asked[before:]] == ["".join(chunks)]


def test_a_sign_that_is_no_markup_is_read_as_it_stands(here: Running):
    sound(asked(here.wyoming, Synthesize("3 <4 and [[ so.", voice=ADA), until_type="audio-stop"))
    assert here.pool.asked[-1].manner.plain
    sound(asked(here.wyoming, Synthesize("<s>One.</s>", voice=ADA, text_format="text"), until_type="audio-stop"))
    assert here.pool.asked[-1].manner.plain


WRONG: list[tuple[Any, str, str]] = [
    (Synthesize("One.", voice=SynthesizeVoice(name="nobody")), "voice_not_found", "there are: ada"),
    (Synthesize("One.", voice=SynthesizeVoice(name="broken")), "voice_unusable", "choose another"),
    (Synthesize("One.", voice=SynthesizeVoice(name="ada", speaker="eve")), "speaker_not_found", "ada, obi"),
    (Synthesize("One.", voice=SynthesizeVoice(language="sw")), "voice_not_found", "language 'sw'"),
    (Synthesize("", voice=ADA), "text_unusable", "no text"),
    (Synthesize("x" * 4097, voice=ADA), "string_above_max_length", "4096"),
    (Synthesize("A BAD\u200b, word!", voice=ADA), "word_refused", "'bad word'"),
    (Synthesize("U\u0323jo\u0323", voice=ADA), "word_refused", "'ụjọ'"),
    (Synthesize("One.", voice=ADA, text_format="midi"), "malformed", "text or ssml"),
    (Synthesize("busy", voice=ADA), "server_busy", "7 s"),
    (Synthesize("late gone", voice=ADA), "worker_gone", "try again"),
    (Synthesize("bug", voice=ADA), "internal", "log"),
]


@pytest.mark.parametrize(("event", "code", "words"), WRONG)
def test_what_is_wrong_is_an_error_with_its_reason(here: Running, event: Any, code: str, words: str):
    said = refusal(asked(here.wyoming, event, until_type="audio-stop"))
    assert said.code == code and words in said.text
    assert "nobody may see" not in said.text
    assert asked(here.wyoming, Ping(), until_type="pong")  # for others it is there as before


def test_a_phrase_is_refused_across_chunks(here: Running):
    before = len(here.pool.asked)
    said = refusal(asked(here.wyoming, *streamed("One. A ba", "d wor", "d."), until_type="synthesize-stopped"))
    assert said.code == "word_refused"
    assert all("bad" not in job.text for job in here.pool.asked[before:])


def raw(here: Running, data: bytes) -> bytes:
    with socket.create_connection(here.wyoming, timeout=10) as line:
        with suppress(OSError):  # it may be closed before all is sent
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
        return drained(line)


HOSTILE = [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\n",
    b"[]\n",
    b"null\n",
    b"\xff\xfe\x00\n",
    b'{"type": 3}\n',
    b'{"type": "ping", "data": []}\n',
    b'{"type": "ping", "data_length": -1}\n',
    b'{"type": "ping", "data_length": true}\n',
    b'{"type": "ping", "data_length": "9"}\n',
    b'{"type": "ping", "data_length": 99999999999}\n',
    b'{"type": "ping", "payload_length": 99999999999}\n',
    b'{"type": "ping", "data_length": 3}\n[1]',
    b'{"type": "synthesize", "data": {"text": 7}}\n',
    b'{"type": "synthesize", "data": {"text": "a", "voice": "ada"}}\n',
    b'{"type": "synthesize", "data": {"text": "a", "voice": {"name": ["ada"]}}}\n',
    b'{"type": "synthesize"}\n',
    b"[" * 20_000 + b"\n",
]


@pytest.mark.parametrize("data", HOSTILE)
def test_hostile_bytes_are_refused_by_an_event(here: Running, data: bytes):
    head, _, rest = raw(here, data).partition(b"\n")
    assert json.loads(head)["type"] == "error"
    assert json.loads(rest)["code"] in ("malformed", "event_too_large")


@pytest.mark.parametrize(
    "data", [b"", b'{"type"', b'{"type": "ping", "data_length": 50}\n{"te', b'{"type": "strange"}\n']
)
def test_what_breaks_off_or_is_unknown_is_passed_over(here: Running, data: bytes):
    assert raw(here, data) == b""


def test_a_line_without_an_end_is_cut_off(here: Running):
    answer = raw(here, b"x" * 200_000)
    assert not answer or b"malformed" in answer


def test_lone_surrogates_come_back_as_they_went():
    with running.running(wyoming="0") as here:
        answer = raw(here, b'{"type": "ping", "data": {"text": "\\ud800"}}\n')
        assert json.loads(answer.partition(b"\n")[2]) == {"text": "\ud800"}


def test_limits_of_connections_rates_and_times():
    with running.running(wyoming="0", most_connections=2, connections_per_client=2, rate_limit=1, patience=0.3) as here:
        sound(asked(here.wyoming, Synthesize("One.", voice=ADA), until_type="audio-stop"))
        said = refusal(asked(here.wyoming, Synthesize("One.", voice=ADA), until_type="audio-stop"))
        assert said.code == "rate_limit_exceeded"
        with socket.create_connection(here.wyoming, timeout=10) as slow:
            slow.sendall(b'{"type": "p')
            assert b"event_too_slow" in drained(slow)
        lines = [socket.create_connection(here.wyoming, timeout=10) for _ in range(2)]
        time.sleep(0.1)
        assert refusal(asked(here.wyoming, Ping(), until_type="pong")).code == "too_many_connections"
        for line in lines:
            line.close()


def test_who_leaves_stops_the_work():
    with running.running(Tones(slow=0.02), wyoming="0") as here:
        with socket.create_connection(here.wyoming, timeout=10) as line:
            text = "One. " * 200
            line.sendall(json.dumps({"type": "synthesize", "data": {"text": text}}).encode() + b"\n")
            line.recv(100)
        until(lambda: here.pool.closed_early == 1 and here.pool.open == 0)


def test_what_is_said_is_heard_out_when_the_server_ends():
    with running.running(Tones(slow=0.05), wyoming="0") as here:

        async def end_it() -> list[Event]:
            got = list[Event]()
            async with AsyncTcpClient(*here.wyoming) as client:
                await client.write_event(Synthesize(TEXT, voice=ADA).event())
                while (event := await client.read_event()) is not None:
                    got.append(event)
                    here.server.should_exit = True
            return got

        assert len(sound(asyncio.run(end_it()))) == 2 * SECOND


def test_requests_are_counted_and_logged(here: Running):
    before = here.site.desk.metrics.requests
    asked(here.wyoming, Synthesize("One.", voice=ADA), until_type="audio-stop")
    until(lambda: here.site.desk.metrics.requests == before + 1)
    assert b'path="wyoming"' in here.site.desk.metrics.page()


@pytest.mark.parametrize("place", ["x", "10200x", "host:", "1:2:99999", "70000"])
def test_a_wrong_place_is_one_sentence(place: str, tmp_path: Any):
    with pytest.raises(ConfigError, match="write PORT or HOST:PORT"):
        finish(serve([tmp_path], wyoming=place, only_check=True, port=0))


def test_a_taken_port_names_the_option(here: Running, tmp_path: Any):
    with pytest.raises(ConfigError, match="choose another --wyoming"):
        finish(serve([tmp_path], wyoming=str(here.wyoming[1]), only_check=True, port=0))


def test_a_port_alone_is_this_machine():
    assert ServeSettings(wyoming="10200").wyoming_place == ("127.0.0.1", 10200)
    assert ServeSettings(wyoming="[::]:1").wyoming_place == ("::", 1)
    assert ServeSettings().wyoming_place is None


def test_the_embedded_voice_speaks_as_olu_speak_does():
    text = "ሰላም ለሁሉም ይሁን። እንደምን አደራችሁ?"
    with serving(EMBEDDED, "--wyoming", "0") as process:  # type: ignore[arg-type]
        until(lambda: any("for Wyoming" in line for line in process.lines))
        address = next(json.loads(line)["address"] for line in process.lines if "for Wyoming" in line)
        host, _, port = address.removeprefix("tcp://").partition(":")
        place = (host, int(port))
        (event,) = asked(place, Describe(), until_type="info")
        (voice,) = Info.from_event(event).tts[0].voices
        assert voice.languages == ["am", "amh"]
        assert "MIT" in voice.attribution.name
        wished = SynthesizeVoice(name=voice.name)
        whole = sound(asked(place, Synthesize(text, voice=wished), until_type="audio-stop"))
        parts = sound(asked(place, *streamed(*text, voice=wished), until_type="synthesize-stopped"))
    spoken = Voice.open(EMBEDDED, threads=1)

    def as_a_pipe_gives_it(words: str) -> np.ndarray:
        pieces = [piece.audio.samples for piece in spoken.stream(words, quick=True)]
        return to_int16(Audio(np.concatenate(pieces), spoken.rate))

    np.testing.assert_array_equal(whole, as_a_pipe_gives_it(text))
    assert np.abs(whole.astype(int) - to_int16(spoken.speak(text))).max() <= 1, "a rounding at most"
    first, second = map(as_a_pipe_gives_it, ("ሰላም ለሁሉም ይሁን።", "እንደምን አደራችሁ?"))
    pause = np.zeros(round(PAUSE_SECONDS * spoken.rate), "<i2")
    np.testing.assert_array_equal(parts, np.concatenate([first, pause, second]))

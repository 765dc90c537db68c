"""What an answer tells beside its sound: what is left unsaid, its true length, and who else a voice answers to."""

from __future__ import annotations

import html
import io
import json
import re
import shlex
import socket
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from olu.serve.openai import find_voice, other_names
from olu.serve.protocol import VoiceInfo
from olu.serve.response import MOST_UNSAID, in_header

from ..helpers import servers as running
from ..helpers.servers import RATE, Running, Tones
from .test_worker import Bench


@pytest.fixture(scope="module")
def here() -> Iterator[Running]:
    with running.running() as made:
        yield made


@pytest.fixture
def client(here: Running) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{here.base}/v1", api_key="any", max_retries=0)


def ask(here: Running, text: str, **wish: Any) -> httpx2.Response:
    return httpx2.post(f"{here.base}/v1/audio/speech", json={"input": text, "voice": "ada", **wish}, timeout=20)


# ---------------------------------------------------------------- what is left unsaid


@pytest.mark.parametrize("kind", ["mp3", "wav", "pcm", "opus"])
def test_what_is_left_unsaid_is_in_a_header(client: openai.OpenAI, kind: Any) -> None:
    said = client.audio.speech.with_raw_response.create(
        model="olu", voice="ada", input="one ŋ 漢 ŋ\x7f😀.", response_format=kind
    )
    told = said.headers["X-Olu-Unsaid"]
    assert told.isascii() and told.isprintable()
    assert json.loads(told) == {"ŋ": 2, "漢": 1, "😀": 1, "\x7f": 1}
    assert said.headers["X-Olu-Unsaid-Count"] == "5"
    whole = client.audio.speech.with_raw_response.create(model="olu", voice="ada", input="One.", response_format=kind)
    assert "X-Olu-Unsaid" not in whole.headers


def test_what_is_left_unsaid_is_an_event(here: Running) -> None:
    answer = ask(here, "one ŋ. two. 漢 ŋ.", response_format="pcm", stream_format="sse", timings=True)
    events = [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]
    assert events[0] == {"type": "speech.audio.unsaid", "unsaid": {"ŋ": 2, "漢": 1}, "count": 3}
    words = [event["unsaid"] for event in events if event["type"] == "speech.audio.words"]
    assert words == [{"ŋ": 1}, {}, {"ŋ": 1, "漢": 1}]
    assert events[-1]["type"] == "speech.audio.done" and events[-1]["unsaid"] == 3
    plain = ask(here, "one.", response_format="pcm", stream_format="sse").text
    assert "unsaid" not in plain


def test_the_header_stays_small_whatever_is_unsaid() -> None:
    many = {chr(0x1F300 + number): number + 1 for number in range(500)}
    told = json.loads(in_header(many))
    assert len(told) == MOST_UNSAID and len(in_header(many)) < 2000
    assert next(iter(told.values())) == 500, "the most frequent first"


def test_pages_of_other_origins_may_read_it() -> None:
    with running.running(cors=("https://a.org",)) as here:
        answer = httpx2.post(
            f"{here.base}/v1/audio/speech", json={"input": "ŋ.", "voice": "ada"}, headers={"Origin": "https://a.org"}
        )
    assert "X-Olu-Unsaid" in answer.headers["access-control-expose-headers"]


# ---------------------------------------------------------------- a wav with a length


def test_a_short_wav_tells_its_true_length(client: openai.OpenAI) -> None:
    said = client.audio.speech.create(model="olu", voice="ada", input="One. Two.", response_format="wav")
    with wave.open(io.BytesIO(said.content)) as file:
        assert (file.getnframes(), file.getframerate()) == ((len(said.content) - 44) // 2, RATE)
        assert file.getnframes() == pytest.approx(2 * RATE, abs=10)
        assert len(file.readframes(10 * RATE)) == len(said.content) - 44
    assert said.response.headers["content-length"] == str(len(said.content))


def test_a_long_wav_begins_before_it_is_whole(here: Running, client: openai.OpenAI) -> None:
    text = "slow. " * 60
    with client.audio.speech.with_streaming_response.create(
        model="olu", voice="ada", input=text, response_format="wav"
    ) as said:
        assert "content-length" not in said.headers
        next(iter(said.iter_bytes()))
        assert here.pool.open == 1


def test_a_short_wav_that_fails_is_an_error_and_no_stump(here: Running) -> None:
    answer = ask(here, "late gone", response_format="wav")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "worker_gone")


# ---------------------------------------------------------------- plain text


def test_a_plain_text_is_asked_for_as_such(client: openai.OpenAI, here: Running) -> None:
    client.audio.speech.create(model="olu", voice="ada", input="See <id>.", extra_body={"plain": True})
    assert here.pool.asked[-1].manner.plain
    client.audio.speech.create(model="olu", voice="ada", input="One.")
    assert not here.pool.asked[-1].manner.plain


def test_a_worker_reads_plain_text_as_it_stands(package: Path) -> None:
    bench = Bench(package)
    bench.say(1, "kedu <id> ka [[x")
    bench.say(2, "kedu <id> ka [[x", plain=True)
    bench.take_all()
    (error,) = bench.of("error")
    assert (error["number"], error["kind"]) == (1, "TextError") and '"plain": true' in error["why"]
    assert [end["number"] for end in bench.of("end")] == [2]


# ---------------------------------------------------------------- names

VOICES = [
    VoiceInfo("amh-vits-005", "amh", RATE, ("one",), 1, True, aliases=("embedded",)),
    VoiceInfo("ngozi", "ibo", RATE, ("one",), 1, True),
    VoiceInfo("obi", "ibo", RATE, ("one",), 1, True),
]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("amh-vits-005", 0),
        ("embedded", 0),
        ("amh", 0),
        ("am", 0),
        ("am-ET", 0),
        ("obi", 2),
        ("ibo", None),  # two speak it
        ("ig", None),
        ("sw", None),
        ("zz", None),
        ("alloy", None),
        ("../obi", None),
        ("", None),
    ],
)
def test_who_answers_to_a_name(asked: str, found: int | None) -> None:
    assert find_voice(asked, VOICES) == (None if found is None else VOICES[found])


def test_openais_names_mean_the_only_voice_or_the_one_that_was_set() -> None:
    assert find_voice("alloy", VOICES[:1]) == VOICES[0]
    assert find_voice("Nova", VOICES, default="obi") == VOICES[2]
    assert find_voice("nova", [*VOICES, VoiceInfo("nova", "swa", RATE, ("one",), 1, True)]).name == "nova"  # type: ignore[union-attr]
    assert [other_names(one, VOICES) for one in VOICES] == [("embedded", "amh"), (), ()]


def test_a_program_that_can_only_say_alloy_gets_a_voice(client: openai.OpenAI, here: Running) -> None:
    assert client.audio.speech.create(model="tts-1", voice="alloy", input="One.").content
    assert here.pool.asked[-1].voice == "ada"
    assert client.audio.speech.create(model="tts-1", voice="ig", input="One.").content
    shown = httpx2.get(f"{here.base}/v1/audio/voices").json()["data"]
    assert {one["id"]: one["aliases"] for one in shown}["ada"] == ["ibo"]


def test_with_several_voices_the_error_says_how_to_choose_one() -> None:
    with running.running(Tones(voices=list(VOICES))) as here:
        answer = ask(here, "One.", voice="alloy")
    assert answer.status_code == 404 and "--default-voice" in answer.json()["error"]["message"]
    with running.running(Tones(voices=list(VOICES)), default_voice="obi") as here:
        assert ask(here, "One.", voice="alloy").status_code == 200
        assert here.pool.asked[-1].voice == "obi"


# ---------------------------------------------------------------- the other half of a connection


def request(text: str) -> bytes:
    body = json.dumps({"input": text, "voice": "ada", "response_format": "pcm"}).encode()
    head = f"POST /v1/audio/speech HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


def test_a_client_that_only_ended_its_own_side_gets_its_answer() -> None:
    with running.running(Tones(slow=0.05)) as here, here.connect() as line:
        line.sendall(request("One."))
        line.shutdown(socket.SHUT_WR)
        got = running.drained(line)
    assert b"HTTP/1.1 200 OK" in got and got.endswith(b"0\r\n\r\n")
    assert got.count(b"HTTP/1.1 100") >= 1 and here.pool.closed_early == 0


def test_a_client_that_is_gone_before_any_sound_ends_the_work() -> None:
    with running.running(Tones(slow=30)) as here:
        with here.connect() as line:
            line.sendall(request("One."))
            running.until(lambda: here.pool.open == 1)
        running.until(lambda: here.pool.closed_early == 1)


# ---------------------------------------------------------------- the reference


def test_the_reference_shows_this_server_and_a_voice_that_is_here() -> None:
    sample = "Kedu 'ka' <ị> mere?"
    pool = Tones(voices=[VoiceInfo("ada", "ibo", RATE, ("one",), 1, True, sample=sample)])
    with running.running(pool) as here:
        shown = html.unescape(httpx2.get(f"{here.base}/docs").text)
        command = re.search(r"curl http.*-o hello.wav", shown, re.DOTALL)
        assert command is not None
        words = shlex.split(command[0].replace("\\\n", ""))
        assert words[1] == f"{here.base}/v1/audio/speech"
        wish = json.loads(words[words.index("-d") + 1])
        assert (wish["voice"], wish["input"]) == ("ada", sample)
        assert httpx2.post(words[1], json=wish).status_code == 200, "it works as it stands"
        (code,) = re.findall(r'from openai import.*?hello\.mp3"\)', shown, re.DOTALL)
        assert f'base_url="{here.base}/v1"' in code
        compile(code, "example", "exec")
    for odd in ("8080", "NAME", "e+18", "None", "False", "'mp3'"):
        assert odd not in shown, odd
    with running.running(Tones(), keys=(b"the-real-key",)) as here:
        closed = httpx2.get(f"{here.base}/docs").text
        assert "NAME" in closed and "ada" not in closed, "voices are named to whoever may use them"

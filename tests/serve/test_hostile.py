"""Requests that mean no good: a clear 4xx or a clean close, and the next request works."""

from __future__ import annotations

import json
import os
import random
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from ..helpers import servers as running
from ..helpers.servers import Running, drained, exchange, until

SOAK = os.environ.get("OLU_SOAK") == "1"
WISH = {"input": "One.", "voice": "ada", "response_format": "pcm"}
HEAD = b"POST /v1/audio/speech HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def here() -> Iterator[Running]:
    with running.running(patience=0.5, stall=0.5, most_connections=60) as made:
        yield made


@pytest.fixture(scope="module")
def http(here: Running) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=here.base, timeout=10, limits=httpx2.Limits(max_keepalive_connections=0)) as made:
        yield made


@pytest.fixture(autouse=True)
def still_works(here: Running, http: httpx2.Client) -> Iterator[None]:
    yield
    until(lambda: len(here.server.server_state.connections) < 20)
    answer = http.post("/v1/audio/speech", json=WISH)
    assert (answer.status_code, len(answer.content)) == (200, 48_000)
    assert here.pool.open == 0


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:80]
    head, _, body = answer.partition(b"\r\n\r\n")
    if int(head.split()[1]) >= 400:
        first, _ = json.JSONDecoder().raw_decode(body.decode())  # another answer may follow
        assert set(first["error"]) == {"message", "type", "param", "code"}
    return int(head.split()[1])


def post(body: bytes, *, more: bytes = b"") -> bytes:
    return HEAD + more + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body


BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "null": b"null",
    "a number": b"5",
    "not UTF-8": b'{"input": "\xff\xfe", "voice": "ada"}',
    "nested deep": b"[" * 20_000,
    "nested deep inside": b'{"input": ' + b'{"a":' * 9000 + b"1" + b"}" * 9000 + b"}",
    "a huge number": b'{"input": "a", "voice": "ada", "seed": ' + b"9" * 5000 + b"}",
    "a huge power": b'{"input": "a", "voice": "ada", "speed": 1e999}',
    "no number": b'{"input": "a", "voice": "ada", "speed": NaN}',
    "endless": b'{"input": "a", "voice": "ada", "pause": Infinity}',
    "minus": b'{"input": "a", "voice": "ada", "seed": -1}',
    "half a letter": b'{"input": "\\ud800", "voice": "ada"}',
    "half a letter in a voice": b'{"input": "a", "voice": "\\udfff"}',
    "half a letter in a key": b'{"input": "a", "voice": "ada", "\\ud800": 1}',
    "a number for text": b'{"input": 5, "voice": "ada"}',
    "a list for text": b'{"input": ["a"], "voice": "ada"}',
    "a word for a number": b'{"input": "a", "voice": "ada", "speed": "fast"}',
    "a truth for a number": b'{"input": "a", "voice": "ada", "speed": true}',
    "nobody": b'{"input": "a", "voice": null}',
    "a list of voices": b'{"input": "a", "voice": ["ada"]}',
    "an empty id": b'{"input": "a", "voice": {"id": ""}}',
    "more than an id": b'{"input": "a", "voice": {"id": "ada", "path": "/etc"}}',
    "a long name": b'{"input": "a", "voice": "' + b"a" * 10_000 + b'"}',
    "an unknown key": b'{"input": "a", "voice": "ada", "path": "/etc/passwd"}',
    "a prototype": b'{"input": "a", "voice": "ada", "__proto__": {}}',
    "a text too long": json.dumps({**WISH, "input": "a" * 5000}).encode(),
    "null bytes": b"\0" * 100,
}


def test_what_is_wrong_is_named_as_the_client_knows_it(here: Running):
    for name, param in (("half a letter in a voice", "voice"), ("nested deep", None)):
        told = json.loads(exchange(here, post(BODIES[name])).partition(b"\r\n\r\n")[2])["error"]
        assert told["param"] == param, name
        assert (param or "JSON object") in told["message"]


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_makes_no_sense_is_a_400(here: Running, name: str):
    assert status(exchange(here, post(BODIES[name]))) == 400


PATHS = [
    "../ada",
    "..%2fada",
    "/etc/passwd",
    "./ada",
    "ada/",
    "ada\0",
    "ada.voice",
    "file:///etc/passwd",
    "\\\\host\\share",
    "C:\\voices\\ada",
    "ada\n",
    "ＡＤＡ",
    "ada\u200b",
    "~root",
    "$HOME",
    "*",
]


@pytest.mark.parametrize("name", PATHS)
def test_a_voice_is_a_name_and_never_a_path(here: Running, name: str):
    for voice in (name, {"id": name}):
        asked = len(here.pool.asked)
        assert status(exchange(here, post(json.dumps({**WISH, "voice": voice}).encode()))) == 404
        assert len(here.pool.asked) == asked


@pytest.mark.parametrize(
    "path",
    [
        "/page/../settings.py",
        "/page/%2e%2e/settings.py",
        "/page/..%2fsettings.py",
        "/page//etc/passwd",
        "/page/index.html/..",
        "/page/",
        "/page",
        "/../../etc/passwd",
        "/page/page.js%00",
        "/v1/models/%2e%2e%2fsecret",
        "/v1/models/" + "a" * 8000,
        "/%ff%fe",
    ],
)
def test_no_address_leads_out_of_the_page(here: Running, path: str):
    assert status(exchange(here, f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())) == 404


@pytest.mark.parametrize("kind", [b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data", b"\xff"])
def test_only_json_is_taken(here: Running, kind: bytes):
    """A page of another origin can send the others without asking first."""
    asked = len(here.pool.asked)
    body = json.dumps(WISH).encode()
    head = b"POST /v1/audio/speech HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: " + kind
    answer = exchange(here, head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert status(answer) == 400
    assert b"application/json" in answer.partition(b"\r\n\r\n")[2]
    assert len(here.pool.asked) == asked


def test_a_huge_body_is_refused_by_its_length_alone(here: Running):
    with here.connect() as line:
        line.sendall(HEAD + b"Content-Length: 100000000000\r\n\r\n")
        answer = b""
        while b"}}" not in answer:
            answer += line.recv(4096)
        assert status(answer) == 413


def test_a_huge_body_is_refused_while_it_comes_and_the_answer_can_be_read(here: Running):
    answer = httpx2.post(f"{here.base}/v1/audio/speech", content=b"x" * 3_000_000, timeout=10)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")


def test_a_huge_body_in_chunks_is_refused(here: Running):
    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 30_000

    answer = httpx2.post(f"{here.base}/v1/audio/speech", content=parts(), timeout=10)
    assert answer.status_code == 413


def test_a_slow_body_is_not_waited_for(here: Running):
    began = time.monotonic()
    with here.connect() as line:
        line.sendall(HEAD + b"Content-Length: 100\r\n\r\n{")
        assert status(drained(line)) == 408
    assert 0.4 < time.monotonic() - began < 5


def test_a_body_in_drips_is_not_waited_for(here: Running):
    began = time.monotonic()
    with here.connect() as line, pytest.raises(OSError):
        line.sendall(HEAD + b"Content-Length: 10000\r\n\r\n")
        for _ in range(100):
            line.sendall(b"x")
            time.sleep(0.1)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: a\r\n", b"GET"])
def test_a_slow_head_is_not_waited_for(here: Running, sent: bytes):
    began = time.monotonic()
    answer = exchange(here, sent)
    assert 0.4 < time.monotonic() - began < 5
    assert answer == b"" if not sent else status(answer) == 408


def test_a_slow_head_after_a_good_request_is_not_waited_for(here: Running):
    with here.connect() as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        first = b""
        while not first.endswith(b"}"):
            first += line.recv(65_536)
        assert status(first) == 200
        began = time.monotonic()
        line.sendall(b"GET /health HT")
        assert status(drained(line)) == 408
        assert time.monotonic() - began < 5


HEADS: dict[str, tuple[bytes, tuple[int, ...]]] = {
    "many headers": (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-A: b\r\n" * 5000 + b"\r\n", (431, 400)),
    "a long header": (b"GET / HTTP/1.1\r\nHost: a\r\nX-A: " + b"b" * 100_000 + b"\r\n\r\n", (431, 400)),
    "a long address": (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", (431, 400)),
    "endless without a line": (b"A" * 200_000, (431, 400)),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n", (400,)),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", (400,)),
    "two lengths": (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", (400,)),
    "a length and chunks": (
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
        (400,),
    ),
    "a length below zero": (HEAD + b"Content-Length: -1\r\n\r\n", (400,)),
    "a length of words": (HEAD + b"Content-Length: ten\r\n\r\n", (400,)),
    "a length of many digits": (HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", (400, 413)),
    "chunks that are none": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", (400,)),
    "an endless chunk size": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 50 + b"\r\n", (400,)),
    "an unknown coding": (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", (400, 501)),
    "a split header": (b"GET / HTTP/1.1\r\nHost: a\r\nX-A: b\nX-B: c\r\n\x00: d\r\n\r\n", (400,)),
    "an unknown method": (b"BREW /v1/audio/speech HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", (405,)),
    "a proxy's request": (
        b"CONNECT evil.org:443 HTTP/1.1\r\nHost: evil.org\r\nConnection: close\r\n\r\n",
        (403, 404, 405),
    ),
    "a websocket": (
        b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n"
        b"Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n",
        (200, 400),
    ),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_makes_no_sense_is_answered_and_closed(here: Running, name: str):
    data, wanted = HEADS[name]
    assert status(exchange(here, data)) in wanted


def test_nothing_is_smuggled_behind_two_lengths(here: Running):
    hidden = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    answer = exchange(here, HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden)
    assert status(answer) == 400
    assert answer.count(b"HTTP/1.1 ") == 1


def test_who_goes_on_after_the_last_word_is_shut_out(here: Running):
    with here.connect() as line:
        line.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
        assert status(drained(line)) == 400  # and the server says no more
        began = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - began < 10:
                line.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - began < 5


def test_noise_is_answered_or_closed(here: Running):
    made = random.Random(11)
    for _ in range(1000 if SOAK else 40):
        noise = made.randbytes(made.randrange(1, 300)) + b"\r\n\r\n"
        answer = exchange(here, made.choice([b"", b"GET ", HEAD, b"POST / HTTP/1.1\r\n"]) + noise, seconds=5)
        assert answer == b"" or 400 <= status(answer) < 500


def test_requests_in_a_row_on_one_line_are_answered_in_their_order(here: Running):
    body = json.dumps(WISH).encode()
    one = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    with here.connect() as line:
        line.sendall(one * 3 + b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = drained(line)
    assert answer.count(b"HTTP/1.1 200 OK") == 4
    assert answer.rindex(b'"ready":true') > answer.rindex(b"audio/pcm")


def test_more_connections_than_allowed_are_closed(here: Running):
    with ExitStack() as held:
        lines = [held.enter_context(here.connect()) for _ in range(100)]
        closed = 0
        for line in lines:
            line.settimeout(0.02)
            try:
                closed += line.recv(1) == b""
            except TimeoutError:
                continue
        assert 30 <= closed <= 100
        assert len(here.server.server_state.connections) <= 60


def test_a_reader_that_takes_nothing_is_let_go(here: Running):
    body = json.dumps({**WISH, "input": "One." * 1000}).encode()
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.connect(here.place)
    with line:
        line.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        until(lambda: here.pool.open == 1)
        until(lambda: here.pool.open == 0, seconds=15)
    assert here.pool.closed_early >= 1


def test_garbage_in_the_middle_of_an_answer_is_a_clean_close(here: Running):
    body = json.dumps({**WISH, "input": "slow one. " + "One. " * 10}).encode()
    with here.connect() as line:
        line.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert line.recv(100).startswith(b"HTTP/1.1 200")
        line.sendall(b"\0\1\2 garbage \r\n\r\n" * 10)
        drained(line)
    until(lambda: here.pool.open == 0)


def test_clients_that_leave_at_any_moment(here: Running):
    made = random.Random(5)
    body = json.dumps({**WISH, "input": "slow one. Two. Three."}).encode()
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    for _ in range(500 if SOAK else 40):
        with here.connect() as line:
            if made.random() < 0.5:  # with a reset
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            line.sendall(whole[: made.randrange(len(whole) + 40)])
            time.sleep(made.random() * 0.05)
    until(lambda: here.pool.open == 0)


def test_nothing_was_a_fault_of_the_server(here: Running):
    """Last: of everything above, no answer was a 5xx."""
    page = httpx2.get(f"{here.base}/metrics").text
    counts: dict[str, Any] = {}
    for row in page.splitlines():
        if row.startswith("olu_requests_total{"):
            code = row.split('status="')[1].split('"')[0]
            counts[code] = counts.get(code, 0) + float(row.split()[-1])
    assert not [code for code in counts if code.startswith("5")], counts
    assert counts["200"] > 0

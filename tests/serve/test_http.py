"""What the server answers, what it says of itself, and how it ends."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from olu.serve import logs
from olu.serve.protocol import VoiceInfo

from ..helpers import servers as running
from ..helpers.servers import Running, until

SOAK = os.environ.get("OLU_SOAK") == "1"
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
WISH = {"input": "One. Two.", "voice": "ada", "response_format": "wav"}
SECRET = "a sentence nobody else may read"


@pytest.fixture(scope="module")
def here() -> Iterator[Running]:
    with running.running() as made:
        yield made


@pytest.fixture(scope="module")
def http(here: Running) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=here.base, timeout=20) as made:
        yield made


def test_voices_are_listed_with_what_a_page_needs(http: httpx2.Client):
    got = http.get("/v1/audio/voices").json()
    ada, broken = got["data"]
    assert (ada["id"], ada["language"], ada["language_name"]) == ("ada", "ibo", "Igbo")
    assert (ada["speakers"], ada["rate"], ada["fault"]) == (["ada", "obi"], 22_050, "")
    assert broken["fault"] == "it is damaged"


def test_a_voice_that_comes_later_is_found_by_its_name(here: Running, http: httpx2.Client):
    here.pool.on_look.append(VoiceInfo("late-comer", "swa", 16_000, ("one",), 5, False))
    assert http.post("/v1/audio/speech", json={**WISH, "voice": "late-comer"}).status_code == 200


def test_a_voice_that_was_mended_is_found_at_once_also_beside_a_damaged_one_of_its_name():
    with running.running() as here, httpx2.Client(base_url=here.base) as http:
        wish = {**WISH, "voice": "broken"}
        refused = http.post("/v1/audio/speech", json=wish)
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "voice_unusable")
        here.pool.on_look.append(VoiceInfo("broken", "swa", 22_050, ("one",), 1000, False))
        assert http.post("/v1/audio/speech", json=wish).status_code == 200


def test_health_says_whether_it_can_speak(http: httpx2.Client):
    got = http.get("/health").json()
    assert (got["status"], got["ready"], got["workers"]) == ("ok", True, 2)
    assert (got["voices"] >= 1, got["damaged"]) == (True, 1)
    assert {one["id"]: one["fault"] for one in got["shelf"]}.items() >= {"ada": "", "broken": "it is damaged"}.items()


def test_health_is_a_503_when_nobody_works():
    pool = running.Tones(well=False)
    with running.running(pool) as here:
        answer = httpx2.get(f"{here.base}/health")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)


def test_metrics_count_what_happened(here: Running):
    with running.running() as fresh, httpx2.Client(base_url=fresh.base) as http:
        http.post("/v1/audio/speech", json=WISH)
        http.post("/v1/audio/speech", json={**WISH, "voice": "nobody"})
        http.get("/no/such/place")
        http.request("BREW", "/health")
        page = http.get("/metrics").text
    assert 'olu_requests_total{method="POST",path="/v1/audio/speech",status="200"} 1.0' in page
    assert 'olu_requests_total{method="POST",path="/v1/audio/speech",status="404"} 1.0' in page
    assert 'olu_requests_total{method="GET",path="other",status="404"} 1.0' in page
    assert 'method="other"' in page and "BREW" not in page and "/no/such" not in page
    assert float(page.split('olu_spoken_seconds_total{format="wav"} ')[1].split()[0]) == pytest.approx(2.0, abs=0.01)
    assert 'olu_errors_total{code="voice_not_found"} 1.0' in page
    assert "olu_characters_total 9.0" in page
    assert "olu_first_byte_seconds_count 1.0" in page
    assert "olu_pool_workers 2.0" in page
    assert "process_resident_memory_bytes" in page


@pytest.mark.parametrize("path", ["/", "/docs", "/docs.css", "/openapi.json", "/health", "/v1/models", "/nowhere"])
def test_every_answer_has_its_security_headers(http: httpx2.Client, path: str):
    headers = http.get(path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert re.fullmatch(r"[0-9a-f]{32}", headers["x-request-id"])
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


def test_the_reference_loads_nothing_from_elsewhere(http: httpx2.Client):
    page = http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "response_format" in page.text and "/v1/audio/voices" in page.text
    links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert set(links) == {"docs.css", "openapi.json", "./"}
    assert "<script" not in page.text and " style=" not in page.text
    document = http.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/v1/audio/speech",
        "/v1/models",
        "/v1/models/{model}",
        "/v1/audio/voices",
        "/health",
        "/metrics",
    }
    assert "HTTPValidationError" not in json.dumps(document)


def test_the_page_and_its_files_are_served(http: httpx2.Client):
    page = http.get("/")
    assert page.headers["content-type"].startswith("text/html")
    files = re.findall(r'(?:src|href)="(page/[^"]+)"', page.text)
    assert files
    for name in files:
        got = http.get(f"/{name}")
        assert got.status_code == 200
        again = http.get(f"/{name}", headers={"If-None-Match": got.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert http.get("/page/script.js").headers["content-type"].startswith("application/json")  # an error


def test_errors_have_one_shape_wherever_they_come_from(http: httpx2.Client):
    for method, path, status in [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/audio/speech", 405),
        ("DELETE", "/v1/models", 405),
        ("GET", "/v1/audio/speech/", 404),
    ]:
        answer = http.request(method, path)
        assert answer.status_code == status
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert http.request("DELETE", "/v1/models").headers["allow"] == "GET"


def test_head_is_get_without_a_body(http: httpx2.Client):
    for path in ("/", "/health", "/v1/models"):
        answer = http.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) > 0
    assert http.head("/v1/audio/speech").status_code == 405


def test_a_request_id_of_a_proxy_is_kept_if_it_is_harmless(http: httpx2.Client):
    assert http.get("/health", headers={"X-Request-Id": "abc-123"}).headers["x-request-id"] == "abc-123"
    assert http.get("/health", headers={"X-Request-Id": "a b<c>"}).headers["x-request-id"] != "a b<c>"


def preflight(http: httpx2.Client, origin: str) -> httpx2.Response:
    wants = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    return http.options("/v1/audio/speech", headers={"Origin": origin, **wants})


def test_other_origins_are_let_in_only_when_named(http: httpx2.Client):
    assert "access-control-allow-origin" not in preflight(http, "https://a.org").headers
    with (
        running.running(cors=("https://a.org",), keys=(b"some-long-key",)) as open_,
        httpx2.Client(base_url=open_.base) as other,
    ):
        fine = preflight(other, "https://a.org")
        assert (fine.status_code, fine.headers["access-control-allow-origin"]) == (200, "https://a.org")
        assert "access-control-allow-origin" not in preflight(other, "https://b.org").headers
        refused = other.get("/v1/models", headers={"Origin": "https://a.org"})
        assert refused.status_code == 401  # and the page may read why
        assert refused.headers["access-control-allow-origin"] == "https://a.org"


NAMES = {"evil.org": 403, "evil.org:80": 403, "127.0.0.1.evil.org": 403, "evil.localhost.org": 403, "localhost": 200}
NAMES |= {"LOCALHOST:1": 200, "a.localhost.": 200, "[::1]:80": 200, "192.168.0.7": 200, "desk": 200}


def test_a_page_that_gives_itself_our_address_is_refused(here: Running, http: httpx2.Client):
    for name, status in NAMES.items():
        for path in ("/health", "/", "/v1/audio/voices"):
            assert http.get(path, headers={"Host": name}).status_code == status, name
    asked = len(here.pool.asked)
    refused = http.post("/v1/audio/speech", json=WISH, headers={"Host": "evil.org"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "host_not_allowed")
    assert len(here.pool.asked) == asked


@pytest.mark.parametrize("more", [{"keys": (b"some-long-key",)}, {"trust_proxy": ("127.0.0.1",)}, {"host": "0.0.0.0"}])
def test_who_is_protected_otherwise_may_have_any_name(more: dict[str, Any]):
    with running.running(**more) as here:
        port = here.place[1]
        answer = httpx2.get(f"http://127.0.0.1:{port}/health", headers={"Host": "speech.example.org"})
        assert answer.status_code == 200


def test_with_a_key_only_the_page_the_reference_and_health_are_open():
    with running.running(keys=(b"some-long-key",)) as here, httpx2.Client(base_url=here.base) as http:
        for path in ("/", "/page/page.js", "/docs", "/openapi.json", "/health"):
            assert http.get(path).status_code == 200, path
        for path in ("/v1/models", "/v1/audio/voices", "/metrics", "/nowhere", "//v1/models", "/v1/models/"):
            refused = http.get(path)
            assert (refused.status_code, refused.json()["error"]["code"]) == (401, "missing_api_key"), path
            assert refused.headers["www-authenticate"] == "Bearer"
        assert "shelf" not in http.get("/health").json()
        known = {"Authorization": "Bearer some-long-key"}
        assert "shelf" in http.get("/health", headers=known).json()
        assert http.get("/metrics", headers=known).status_code == 200
        assert http.get("/metrics", headers={"Authorization": "bearer  some-long-key"}).status_code == 200
        for wrong in ("Basic some-long-key", "Bearer", "some-long-key", "Bearer some-long-kex", "Bearer \xff\xfe"):
            assert http.get("/metrics", headers={"Authorization": wrong.encode("latin-1")}).status_code == 401


def all_sorts(_: Running, http: httpx2.Client) -> None:
    http.post("/v1/audio/speech", json={**WISH, "input": SECRET})
    http.post("/v1/audio/speech", json={**WISH, "input": "bug"})
    http.post("/v1/audio/speech", json={**WISH, "input": SECRET, "speed": 99})
    http.get(f"/v1/models?{SECRET}")
    http.get("/health", headers={"Connection": "Upgrade", "Upgrade": "websocket"})


def logged(asking: Callable[[Running, httpx2.Client], None] = all_sorts, **settings: Any) -> list[dict[str, Any]]:
    stream = io.StringIO()
    before = {name: list(logging.getLogger(name).handlers) for name in (logs.NAME, "uvicorn.error", "asyncio")}
    logs.to_stream(stream)
    try:
        with running.running(**settings) as here, httpx2.Client(base_url=here.base) as http:
            asking(here, http)
    finally:
        for name, handlers in before.items():
            logging.getLogger(name).handlers = handlers
            logging.getLogger(name).propagate = True
        logging.getLogger(logs.NAME).setLevel(logging.CRITICAL)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_logs_are_json_and_hold_no_texts():
    rows = logged()
    assert SECRET not in json.dumps(rows) and "nobody may see" not in json.dumps(rows)
    assert {row["event"] for row in rows} == {"listening", "request", "failure", "ended"}, (
        "and not what uvicorn advises"
    )
    assert rows[0]["event"] == "listening" and rows[-1]["event"] == "ended"
    (failure,) = (row for row in rows if row["event"] == "failure")
    said, failed, wrong = (next(row for row in rows if row.get("status") == status) for status in (200, 500, 400))
    assert (said["event"], said["status"], said["voice"], said["format"]) == ("request", 200, "ada", "wav")
    assert (said["characters"], said["spoken"], said["client"]) == (len(SECRET), 1.0, "127.0.0.1")
    assert 0 < said["first_byte"] <= said["seconds"]
    assert (failure["event"], failure["kind"], failure["level"]) == ("failure", "KeyError", "error")
    assert any("servers.py" in place for place in failure["where"])
    assert (failed["status"], failed["code"], failed["request"]) == (500, "internal", failure["request"])
    assert (wrong["status"], wrong["code"]) == (400, "invalid_request")


def test_a_sound_that_the_end_broke_off_is_told_once():
    def broken_off(here: Running, _: httpx2.Client) -> None:
        with httpx2.stream("POST", f"{here.base}/v1/audio/speech", json={**WISH, "input": "One. " * 50}) as answer:
            coming = answer.iter_raw()
            next(coming)
            here.server.should_exit = True
            here.thread.join(10)

    rows = logged(broken_off, pool=running.Tones(slow=0.2), grace=0.2)
    (said,) = (row for row in rows if row["event"] == "request")
    assert (said["broken"], said["level"]) == (True, "error")
    assert "CancelledError" not in json.dumps(rows)


def test_logs_hold_the_texts_where_that_is_wished_for():
    assert SECRET in [row.get("text") for row in logged(log_texts=True)]


@pytest.mark.parametrize("events", ["audio", "sse"])
def test_a_client_that_goes_away_ends_the_work(events: str):
    with running.running(running.Tones(slow=0.03)) as here:
        wish = {**WISH, "input": "One. " * 200, "stream_format": events}
        with httpx2.stream("POST", f"{here.base}/v1/audio/speech", json=wish) as answer:
            next(answer.iter_raw())
        until(lambda: here.pool.open == 0, seconds=5)
        assert here.pool.closed_early == 1
        page = httpx2.get(f"{here.base}/metrics").text
        assert "olu_clients_left_total 1.0" in page
        assert 'status="499"' in page


def test_a_client_that_goes_away_before_the_first_sound_ends_the_work_too():
    with running.running(running.Tones(slow=30)) as here:
        body = json.dumps(WISH).encode()
        with here.connect() as line:
            head = b"POST /v1/audio/speech HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            line.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            until(lambda: here.pool.open == 1)
        until(lambda: here.pool.open == 0, seconds=5)
        assert here.pool.closed_early == 1


def test_it_finishes_what_it_began_before_it_ends():
    with running.running(running.Tones(slow=0.05)) as here:
        got = list[httpx2.Response]()
        asking = threading.Thread(
            target=lambda: got.append(httpx2.post(f"{here.base}/v1/audio/speech", json={**WISH, "input": "One. " * 4}))
        )
        asking.start()
        until(lambda: here.pool.open == 1)
        here.server.should_exit = True
        time.sleep(0.3)
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{here.base}/health")
        asking.join(10)
        assert got[0].status_code == 200
        assert (len(got[0].content) - 44) / 2 / 22_050 == pytest.approx(4.0, abs=0.01)
        until(lambda: here.pool.stopped)
        assert here.pool.closed_early == 0


def test_what_takes_longer_than_the_grace_is_broken_off():
    with running.running(running.Tones(slow=0.2), grace=0.3) as here:
        with httpx2.stream("POST", f"{here.base}/v1/audio/speech", json={**WISH, "input": "One. " * 50}) as answer:
            coming = answer.iter_raw()
            next(coming)
            began = time.monotonic()
            here.server.should_exit = True
            with pytest.raises(httpx2.RemoteProtocolError):
                for _ in coming:
                    pass
        here.thread.join(10)
        assert time.monotonic() - began < 5
        assert here.pool.open == 0


def test_who_is_in_a_hurry_is_not_kept_waiting():
    with (
        running.running(running.Tones(slow=0.2), grace=30) as here,
        httpx2.stream("POST", f"{here.base}/v1/audio/speech", json={**WISH, "input": "One. " * 50}) as answer,
    ):
        coming = answer.iter_raw()
        next(coming)
        here.server.should_exit = here.server.force_exit = True  # as Ctrl-C twice
        until(lambda: here.pool.stopped)
    assert here.pool.grace == 0


def test_many_requests_leave_nothing_behind(here: Running, http: httpx2.Client):
    """Of every format, a quarter of them left early; the memory is the client's and the server's together."""

    def some(count: int) -> None:
        for number in range(count):
            wish = {**WISH, "input": "One.", "response_format": FORMATS[number % 6]}
            with http.stream("POST", "/v1/audio/speech", json=wish) as answer:
                assert answer.status_code == 200
                for _ in answer.iter_raw():
                    if number % 4 == 0:
                        break

    some(60)
    before, threads = resident(), threading.active_count()
    some(10_000 if SOAK else 120)
    until(lambda: here.pool.open == 0)
    assert resident() - before < 12_000_000
    assert threading.active_count() <= threads


def resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def test_nothing_in_a_log_line_steers_a_terminal_or_ends_the_line():
    strange = "/x\x9b2J\u2028\u202e\x7f\x1b"

    def asking(here: Running, _: httpx2.Client) -> None:
        head = b"GET /x%c2%9b2J%e2%80%a8%e2%80%ae%7f%1b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        assert running.exchange(here, head).startswith(b"HTTP/1.1 404")

    assert strange in [row.get("path") for row in logged(asking)]
    record = logging.LogRecord(logs.NAME, logging.INFO, "", 0, "ሰላም", (), None)
    record.facts = {"path": strange}
    line = logs.JsonLines().format(record)
    assert line.isprintable() and "ሰላም" in line, "letters stay letters"
    assert json.loads(line)["path"] == strange

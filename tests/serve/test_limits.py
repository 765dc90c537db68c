"""Characters, seconds, rates, queues, bodies and keys: what is over the line is refused, and said."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from olu.core.config import check
from olu.core.errors import ConfigError
from olu.serve import errors, guard
from olu.serve.errors import Refusal
from olu.serve.limits import Body, Left
from olu.serve.settings import ServeSettings, others_may_read, read_keys
from olu.web.limits import MOST_CLIENTS, ClientSlots, RateLimit, network
from olu.web.sockets import listen

from ..helpers import servers as running

WISH = {"input": "One.", "voice": "ada", "response_format": "pcm"}


def test_a_client_may_ask_so_often_a_minute_and_no_more():
    now = [0.0]
    limit = RateLimit(3, clock=lambda: now[0])
    assert [limit.take("a") for _ in range(3)] == [0.0] * 3
    assert limit.take("a") == pytest.approx(20.0)
    assert limit.take("b") == 0.0
    now[0] += 20.0
    assert limit.take("a") == 0.0
    assert limit.take("a") > 0
    now[0] += 3600.0
    assert sum(limit.take("a") == 0.0 for _ in range(10)) == 3  # what was not used does not pile up


def test_no_limit_is_no_limit():
    limit = RateLimit(0)
    assert not any(limit.take("a") for _ in range(1000))


def test_a_crowd_of_addresses_does_not_fill_the_memory():
    limit = RateLimit(1)
    for number in range(MOST_CLIENTS + 500):
        limit.take(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(limit._clients) == MOST_CLIENTS


def test_neighbours_in_one_network_of_ipv6_are_one_client():
    assert network("2001:db8::1") == network("2001:db8::ffff:1") != network("2001:db8:0:1::1")
    assert network("::ffff:10.0.0.1") == network("10.0.0.1") != network("10.0.0.2")
    assert network("") == ""


def read(messages: list[dict[str, Any]], *, most: int = 10, seconds: float = 0.2, announced: int | None = None) -> Body:
    coming = iter(messages)

    async def receive() -> Any:
        message = next(coming, None)
        if message is None:
            await asyncio.sleep(60)
        return message

    body = Body(receive, most=most, seconds=seconds)
    asyncio.run(body.read(announced=announced))
    return body


def part(data: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


def test_a_body_is_given_on_whole():
    body = read([part(b"abc", more=True), part(b"def", more=False)])
    assert asyncio.run(body.receive()) == part(b"abcdef", more=False)


@pytest.mark.parametrize(
    ("messages", "announced", "status"),
    [
        ([], 11, 413),
        ([part(b"x" * 11, more=False)], None, 413),
        ([part(b"x" * 6, more=True), part(b"x" * 6, more=True)], None, 413),
        ([part(b"x", more=True)], None, 408),
    ],
)
def test_a_body_too_large_or_too_slow_is_refused(messages: Any, announced: Any, status: int):
    with pytest.raises(Refusal) as caught:
        read(messages, announced=announced)
    assert caught.value.status == status


def test_a_client_that_leaves_while_it_sends():
    with pytest.raises(Left):
        read([part(b"x", more=True), {"type": "http.disconnect"}])


def ask(here: running.Running, **wish: Any) -> httpx2.Response:
    return httpx2.post(f"{here.base}/v1/audio/speech", json={**WISH, **wish}, timeout=20)


def test_the_rate_holds_over_http_and_only_for_speech():
    with running.running(rate_limit=2) as here:
        answers = [ask(here) for _ in range(4)]
        assert [one.status_code for one in answers] == [200, 200, 429, 429]
        assert answers[-1].json()["error"]["code"] == "rate_limit_exceeded"
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 30
        assert httpx2.get(f"{here.base}/health").status_code == 200


def test_who_waits_as_long_as_told_has_waited_long_enough():
    for seconds, told in ((0.2, "1"), (1.0, "1"), (1.2, "2"), (29.4, "30")):
        refusal = errors.too_often(seconds)
        assert refusal.headers["Retry-After"] == told
        assert refusal.message.endswith(f"in {told} s")


def test_wrong_keys_are_counted_too():
    with running.running(rate_limit=2, keys=(b"the-real-key",)) as here:
        headers = {"Authorization": "Bearer guess-0001"}
        found = [httpx2.get(f"{here.base}/v1/models", headers=headers).status_code for _ in range(4)]
    assert found == [401, 401, 429, 429]


@pytest.mark.parametrize(("trusted", "statuses"), [((), [200, 429]), (("127.0.0.1",), [200, 200])])
def test_a_forwarded_address_counts_only_from_a_trusted_proxy(trusted: tuple[str, ...], statuses: list[int]):
    with running.running(rate_limit=1, trust_proxy=trusted) as here:
        address = f"{here.base}/v1/audio/speech"
        found = [
            httpx2.post(address, json=WISH, headers={"X-Forwarded-For": f"10.0.0.{one}"}).status_code for one in (1, 2)
        ]
    assert found == statuses


def test_limits_of_a_request_are_the_ones_that_were_set():
    with running.running(most_characters=5, most_seconds=0.5) as here:
        assert ask(here, input="x" * 6).json()["error"]["code"] == "string_above_max_length"
        shown = httpx2.get(f"{here.base}/v1/audio/voices").json()["limits"]
        assert shown == {"characters": 5, "tokens": 20_000, "seconds": 0.5}
        document = httpx2.get(f"{here.base}/openapi.json").json()
        assert document["components"]["schemas"]["SpeechRequest"]["properties"]["input"]["maxLength"] == 5
        with pytest.raises(httpx2.RemoteProtocolError):
            ask(here, input="One.")


def test_the_longest_text_in_the_widest_letters_fits_into_a_body():
    with running.running(most_characters=300) as here:
        assert ask(here, input="\U0001f600" * 300).status_code == 200


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"port": 70_000}, "port"),
        ({"queue": 0}, "queue"),
        ({"cors": ("example.org",)}, "origin"),
        ({"cors": ("https://a.org/path",)}, "origin"),
        ({"trust_proxy": ("my-proxy",)}, "address"),
        ({"most_seconds": float("nan")}, "most_seconds"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_settings_that_make_no_sense_are_named(given: dict[str, Any], word: str):
    with pytest.raises(ConfigError, match=word):
        check(ServeSettings, given, where="olu serve")


def test_keys_come_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OLU_API_KEY", raising=False)
    assert read_keys(None) == ()
    monkeypatch.setenv("OLU_API_KEY", "from-the-environment")
    assert read_keys(None) == (b"from-the-environment",)
    file = tmp_path / "keys"
    file.write_text("one-long-key\n\n  another-key \n", encoding="utf-8")
    assert read_keys(file) == (b"one-long-key", b"another-key")


@pytest.mark.parametrize("content", ["", "\n \n", "short", "with a space inside", "ключключ"])
def test_a_key_file_that_protects_nothing_is_an_error(tmp_path: Path, content: str):
    file = tmp_path / "keys"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match="key"):
        read_keys(file)
    with pytest.raises(ConfigError, match="--api-key-file"):
        read_keys(tmp_path / "absent")


def test_a_port_that_is_taken_is_said():
    with (
        listen("127.0.0.1", 0) as first,
        pytest.raises(ConfigError, match="--port"),
    ):
        listen("127.0.0.1", first.getsockname()[1])
    with pytest.raises(ConfigError, match="--host"):
        listen("no.such.host.invalid", 0)


def test_one_client_does_not_get_the_whole_queue():
    with (
        running.running(running.Tones(slow=0.05, queue=4), queue=4, trust_proxy=("127.0.0.1",)) as here,
        ExitStack() as held,
    ):

        def begin(client: str, until: ExitStack = held) -> httpx2.Response:
            wish, headers = {**WISH, "input": "One. " * 200}, {"X-Forwarded-For": client}
            asked = httpx2.stream("POST", f"{here.base}/v1/audio/speech", json=wish, headers=headers, timeout=20)
            return until.enter_context(asked)

        with ExitStack() as early:
            assert [begin("10.0.0.1", early).status_code for _ in range(2)] == [200, 200]
            refused = begin("10.0.0.1")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            error = json.loads(refused.read())["error"]
            assert error["code"] == "too_many_at_once" and error["message"].startswith("2 of your requests")
            assert begin("10.0.0.2").status_code == 200
            assert httpx2.get(f"{here.base}/health", headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 200
        running.until(lambda: here.pool.open == 1)  # who goes away gives its places back
        assert begin("10.0.0.1").status_code == 200
        assert [begin("127.0.0.1").status_code for _ in range(3)] == [200, 200, 429], "the queue is full"


def test_places_are_kept_by_number_and_forgotten():
    with ExitStack() as all_:
        places = ClientSlots(1, loopback=False)
        found = [all_.enter_context(places.held(one)) for one in ("a", "a", "2001:db8::1", "2001:db8::2")]
        assert found == [True, False, True, False]
        local = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
        assert all(all_.enter_context(places.held(one)) for one in local * 2)
        told = ClientSlots(1, loopback=True)
        assert [all_.enter_context(told.held("::1")) for _ in range(2)] == [True, False]
    assert not places._held and not told._held
    assert [
        ServeSettings(queue=queue, queue_per_client=given).places for queue, given in ((64, 0), (1, 0), (8, 3))
    ] == [
        32,
        1,
        3,
    ]


def test_one_client_does_not_get_all_connections():
    with running.running(connections_per_client=3, most_connections=10) as here, ExitStack() as open_:
        lines = [open_.enter_context(here.connect()) for _ in range(3)]
        for line in lines:
            line.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            assert line.recv(9) == b"HTTP/1.1 "
        refused = httpx2.get(f"{here.base}/health")
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_connections")
        lines[0].close()
        running.until(lambda: httpx2.get(f"{here.base}/health").status_code == 200)


def test_connections_of_this_machine_and_of_proxies_are_not_counted_unless_told():
    assert (ServeSettings().connections, ServeSettings(most_connections=2).connections) == (128, 1)
    with pytest.raises(ConfigError, match="connections_per_client"):
        check(ServeSettings, {"connections_per_client": 600}, where="olu serve")
    for given in ({"most_connections": 5}, {"connections_per_client": 1, "trust_proxy": ("127.0.0.0/8",)}):
        with running.running(**given) as here, here.connect(), here.connect():
            assert httpx2.get(f"{here.base}/health").status_code == 200


def test_wrong_keys_are_slowed_down_and_the_right_one_still_opens(monkeypatch: pytest.MonkeyPatch):
    slowed: list[int] = []

    async def slow_down() -> None:
        slowed.append(1)

    monkeypatch.setattr(guard, "_slow_down", slow_down)
    with running.running(keys=(b"the-real-key",)) as here, httpx2.Client(base_url=here.base) as http:

        def models(key: str) -> int:
            return http.get("/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code

        assert {models(f"guess-{number:04}") for number in range(guard.WRONG_KEYS)} == {401}
        assert not slowed
        assert [models("guess-more"), models("the-real-key"), models("guess-more")] == [401, 200, 401]
        assert len(slowed) == 3, "before it is known whether the key is right"
        assert (http.get("/v1/models").status_code, len(slowed)) == (401, 3), "no key is no guess"


def test_wrong_keys_use_up_nothing_of_the_right_one():
    with running.running(rate_limit=2, keys=(b"the-real-key",)) as here:

        def spoken(key: str) -> int:
            return httpx2.post(
                f"{here.base}/v1/audio/speech", json=WISH, headers={"Authorization": f"Bearer {key}"}
            ).status_code

        assert [spoken("guess-0001") for _ in range(3)] == [401, 401, 429]
        assert spoken("the-real-key") == 200


def test_a_key_file_that_others_can_read_is_noticed(tmp_path: Path):
    file = tmp_path / "keys"
    file.write_text("one-long-key", encoding="ascii")
    file.chmod(0o644)
    assert others_may_read(file) == "644"
    file.chmod(0o600)
    assert others_may_read(file) == ""


def test_the_options_of_the_verb_are_the_settings() -> None:
    """Typed beside the verb, so that --help needs no pydantic."""
    from olu.core.options import parameters
    from olu.stages.verbs.voices import ServeOptions

    declared = {one.name: one.default for one in parameters(ServeOptions)}
    for name, field in ServeSettings.model_fields.items():
        assert declared.pop(name) == field.default, name
    assert set(declared) == {"voices", "api_key_file", "check", "as_json", "lexicon", "refuse_words"}

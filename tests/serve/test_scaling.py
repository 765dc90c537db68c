"""Two servers behind a real proxy, by the files that docs/scaling.md shows, and what the examples say of the server."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from olu.serve.protocol import Busy
from olu.serve.settings import ServeSettings

from ..helpers.servers import Tones, running, until

DOCS = Path(__file__).parents[2] / "docs"
PLACES = ("10.0.0.11:8080", "10.0.0.12:8080")
WISH = {"input": "One. Two.", "voice": "ada", "response_format": "wav"}
KEY = b"a-key-of-the-test"
AUTH = {"Authorization": f"Bearer {KEY.decode()}"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def caddy_words(folder: Path, port: int, servers: list[str]) -> list[str]:
    text = (DOCS / "serving" / "Caddyfile").read_text(encoding="utf-8")
    for place, server in zip(PLACES, servers, strict=True):
        text = text.replace(place, server)
    text = text.replace("speech.example.org", f"http://127.0.0.1:{port}")
    (folder / "Caddyfile").write_text("{\n\tadmin off\n}\n" + text, encoding="utf-8")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def nginx_words(folder: Path, port: int, servers: list[str]) -> list[str]:
    text = (DOCS / "serving" / "nginx.conf").read_text(encoding="utf-8")
    for place, server in zip(PLACES, servers, strict=True):
        text = text.replace(place, server)
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};").replace("rate=60r/m", "rate=6000r/m")
    text = re.sub(r"ssl_certificate.*;", "", text)
    own = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = f"daemon off; pid {folder}/pid; error_log stderr;\nevents {{}}\nhttp {{ access_log off;\n{own}{text}}}\n"
    (folder / "nginx.conf").write_text(whole, encoding="utf-8")
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


PROXIES: dict[str, Callable[[Path, int, list[str]], list[str]]] = {"caddy": caddy_words, "nginx": nginx_words}


@contextmanager
def proxied(name: str, folder: Path, servers: list[Any]) -> Iterator[httpx2.Client]:
    program = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        pytest.skip(f"{name} is not installed")
    port = free_port()
    words = PROXIES[name](folder, port, [one.base.removeprefix("http://") for one in servers])
    environment = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    told = (folder / "told").open("wb")
    process = subprocess.Popen([program, *words[1:]], env=environment, stdout=told, stderr=told)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, headers=AUTH) as http:
            end = time.monotonic() + 30
            while True:
                try:
                    http.get("/health")
                    break
                except httpx2.TransportError:
                    assert process.poll() is None and time.monotonic() < end, (folder / "told").read_text()
                    time.sleep(0.1)
            yield http
    finally:
        process.terminate()
        process.wait(20)
        told.close()


@pytest.mark.parametrize("name", PROXIES)
def test_two_servers_behind_a_proxy(name: str, tmp_path: Path) -> None:
    """Both speak, either says the same bytes, sound streams, and one that ends is not noticed."""
    pools = Tones(slow=0.05), Tones(slow=0.05)
    options: dict[str, Any] = {"trust_proxy": ("127.0.0.1",), "keys": (KEY,)}
    with (
        running(pools[0], **options) as one,
        running(pools[1], **options) as other,
        proxied(name, tmp_path, [one, other]) as http,
    ):

        def said(_: int) -> bytes:
            answer = http.post("/v1/audio/speech", json=WISH)
            assert answer.status_code == 200, (tmp_path / "told").read_text()[-3000:]
            return answer.content

        with ThreadPoolExecutor(8) as clients:
            sounds = Counter(clients.map(said, range(24)))
        assert len(sounds) == 1  # the same bytes from both
        assert sum(len(pool.asked) for pool in pools) == 24 and all(pool.asked for pool in pools)
        assert http.get("/metrics").status_code == 404
        assert http.post("/v1/audio/speech", json=WISH, headers={"Authorization": "Bearer x"}).status_code == 401

        pools[0].slow = pools[1].slow = 0.2
        begun, times = time.monotonic(), list[float]()
        with http.stream("POST", "/v1/audio/speech", json={**WISH, "response_format": "pcm"}) as answer:
            for _ in answer.iter_raw():
                times.append(time.monotonic() - begun)
        assert times[0] < times[-1] / 2  # not held back until its end
        pools[0].slow = pools[1].slow = 0.0

        one.end()
        if name == "caddy":  # nginx hands a text on, Caddy looks once a second
            until(lambda: all(http.post("/v1/audio/speech", json=WISH).status_code == 200 for _ in range(3)))
        with ThreadPoolExecutor(4) as clients:
            assert Counter(clients.map(said, range(12))).keys() == sounds.keys()


class Full(Tones):
    """Has no room, and says so."""

    async def speak(self, ask: Any) -> Any:
        self.asked.append(ask)
        raise Busy(3.0)
        yield


def test_nginx_leaves_a_full_server_for_another(tmp_path: Path) -> None:
    full, free = Full(), Tones()
    options: dict[str, Any] = {"trust_proxy": ("127.0.0.1",), "keys": (KEY,)}
    with (
        running(full, **options) as one,
        running(free, **options) as other,
        proxied("nginx", tmp_path, [one, other]) as http,
    ):
        for _ in range(6):
            assert http.post("/v1/audio/speech", json=WISH).status_code == 200
        until(lambda: len(free.asked) == 6)
        assert full.asked


def test_a_full_house_behind_nginx_stays_a_429(tmp_path: Path) -> None:
    options: dict[str, Any] = {"trust_proxy": ("127.0.0.1",), "keys": (KEY,)}
    with (
        running(Full(), **options) as one,
        running(Full(), **options) as other,
        proxied("nginx", tmp_path, [one, other]) as http,
    ):
        for _ in range(5):  # servers that count as dead would give 502
            answer = http.post("/v1/audio/speech", json=WISH)
            assert answer.status_code == 429 and answer.headers["Retry-After"]


# ---------------------------------------------------------------- what the examples say


def test_kubernetes_fits_the_server() -> None:
    yaml = pytest.importorskip("yaml")
    parts = list(yaml.safe_load_all((DOCS / "serving" / "kubernetes.yaml").read_text(encoding="utf-8")))
    kinds = {part["kind"]: part for part in parts}
    assert set(kinds) == {"Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"}
    pod = kinds["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    labels = pod["metadata"]["labels"]
    assert labels == kinds["Service"]["spec"]["selector"] == kinds["Deployment"]["spec"]["selector"]["matchLabels"]
    fields = ServeSettings.model_fields
    assert container["ports"][0]["containerPort"] == fields["port"].default
    waits = pod["spec"]["terminationGracePeriodSeconds"]
    assert waits > fields["grace"].default + int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    asked = {word.removeprefix("--").replace("-", "_") for word in container["args"] if word.startswith("--")}
    assert asked - {"api_key_file"} <= set(fields)
    mounted = {one["name"] for one in container["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["spec"]["volumes"]}
    image = (DOCS.parent / "containers" / "serve" / "Containerfile").read_text(encoding="utf-8")
    assert f"USER {pod['spec']['securityContext']['runAsUser']}" in image and "/voices" in image


def test_the_drop_in_changes_what_two_servers_would_share() -> None:
    unit, own = (configparser.RawConfigParser(strict=False) for _ in range(2))
    for parser, name in ((unit, "olu.service"), (own, "olu@.conf")):
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read(DOCS / "serving" / name)
    for key in ("ExecStart", "RuntimeDirectory", "WorkingDirectory"):
        assert "%i" in own["Service"][key] and "%i" not in unit["Service"][key]
    words = own["Service"]["ExecStart"].split()
    assert words[:2] == unit["Service"]["ExecStart"].split()[:2]
    asked = {word.removeprefix("--").replace("-", "_") for word in words if word.startswith("--")}
    assert asked - {"api_key_file"} <= set(ServeSettings.model_fields)


@pytest.mark.parametrize("name", ["Caddyfile", "nginx.conf", "olu@.conf", "kubernetes.yaml"])
def test_the_page_shows_the_file(name: str) -> None:
    assert f"](serving/{name})" in (DOCS / "scaling.md").read_text(encoding="utf-8")

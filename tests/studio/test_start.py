"""`olu studio`: what is refused before anything listens; its key; https of its own making."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from io import StringIO
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from olu.core.errors import ConfigError
from olu.core.job import Tick, finish
from olu.stages.verbs.machine import StudioOptions
from olu.studio import start
from olu.studio.passphrase import fits, keep

from ..helpers.studio import KEY, StudioClient, running, server


def asked(*folders: Path, **options: object) -> StudioOptions:
    return StudioOptions(folders=folders, port=0, no_browser=True, check=True, **options)  # type: ignore[arg-type]


def studio(*folders: Path, **options: object) -> start.StudioClosed:
    return finish(start.run(asked(*folders, **options)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "0.0.0.0"}, "opens the studio to the network"),
        ({"host": "192.168.1.7"}, "opens the studio to the network"),
        ({"behind_proxy": "proxy.example"}, "address of the proxy"),
        ({"certificate": Path("a.pem")}, "given together"),
        ({"https": True, "certificate": Path("a"), "certificate_key": Path("b")}, "of its own"),
        ({"certificate": Path("a.pem"), "certificate_key": Path("b.pem")}, "is not there"),
    ],
)
def test_what_is_refused(tmp_path: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        studio(tmp_path, **options)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for wrong in (tmp_path / "none" / "voices", tmp_path / "file"):
        with pytest.raises(ConfigError, match="is no folder"):
            studio(wrong)
    assert not (tmp_path / "none").exists()


def test_the_key_stays_and_is_its_owners_alone(tmp_path: Path) -> None:
    assert studio(tmp_path).address.startswith("http://127.0.0.1:")
    path = tmp_path / ".olu-studio/key"
    first = path.read_text()
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600
    studio(tmp_path)
    assert path.read_text() == first
    studio(tmp_path, new_key=True)
    second = path.read_text()
    assert second != first and len(second.strip()) >= 24
    path.chmod(0o644)  # others may have read it
    studio(tmp_path)
    assert os.name == "nt" or path.read_text() != second


def test_behind_a_proxy_another_host_is_allowed(tmp_path: Path) -> None:
    assert studio(tmp_path, host="0.0.0.0", behind_proxy="10.0.0.2").address.startswith("http://0.0.0.0:")


def test_https_of_its_own_making(tmp_path: Path) -> None:
    pytest.importorskip("trustme")
    assert studio(tmp_path, host="0.0.0.0", https=True).address.startswith("https://0.0.0.0:")
    folder = tmp_path / ".olu-studio/https"
    held, key = folder / "certificate.pem", folder / "certificate-key.pem"
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(held, key)
    assert os.name == "nt" or key.stat().st_mode & 0o777 == 0o600
    before = held.read_bytes()
    studio(tmp_path, host="0.0.0.0", https=True)
    assert held.read_bytes() == before  # a browser warns once


def test_a_passphrase_takes_the_place_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    studio(tmp_path)
    before = (tmp_path / ".olu-studio/key").read_text()
    monkeypatch.setattr("sys.stdin", StringIO("maji safi ni uhai\n"))
    ticks = [step for step in start.run(asked(tmp_path, passphrase=True)) if isinstance(step, Tick)]
    assert not any("key=" in tick.what for tick in ticks)
    path = tmp_path / ".olu-studio/passphrase.json"
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600
    assert "maji" not in path.read_text() and (tmp_path / ".olu-studio/key").read_text() != before
    assert fits(path.parent, "maji safi ni uhai") and not fits(path.parent, "maji safi ni uha")
    studio(tmp_path)
    assert path.exists()
    studio(tmp_path, new_key=True)
    assert not path.exists()
    monkeypatch.setattr("sys.stdin", StringIO("short\n"))
    with pytest.raises(ConfigError, match="8 letters at least"):
        studio(tmp_path, passphrase=True)


def test_entering_by_the_passphrase(tmp_path: Path) -> None:
    (tmp_path / ".olu-studio").mkdir()
    keep(tmp_path / ".olu-studio", "maji safi ni uhai")
    client = StudioClient.of(tmp_path, passphrase=True)
    client.cookie = ""
    sent = client.get("/settings")
    assert (sent.status, sent.headers["location"]) == (303, "/enter")
    assert client.get("/api/verbs").status == 401
    page = client.get("/enter")
    assert page.status == 200 and 'type="password"' in page.text and "settings" not in page.text.lower()
    assert (
        client.ask("POST", "/enter", b"passphrase=x", {"content-type": "application/x-www-form-urlencoded"}).status
        == 403
    )
    elsewhere = {"sec-fetch-site": "cross-site"}
    assert client.post("/enter", {"passphrase": "maji safi ni uhai"}, **elsewhere).status == 403
    told = client.post("/enter", {"passphrase": "maji safi ni uhai"})
    assert told.status == 200 and "HttpOnly" in told.headers["set-cookie"] and "strict" in told.headers["set-cookie"]
    client.cookie = told.headers["set-cookie"].partition(";")[0]
    assert client.get("/settings").status == 200
    client.cookie = ""
    for _ in range(5):
        assert client.post("/enter", {"passphrase": "maji"}).status == 401
    assert client.post("/enter", {"passphrase": "maji safi ni uhai"}).status == 429, "five wrong ones wait"
    client.client = "10.1.1.1"
    assert client.post("/enter", {"passphrase": "maji safi ni uhai"}).status == 200, "others do not"


def test_without_a_passphrase_nothing_asks_for_one(tmp_path: Path) -> None:
    client = StudioClient.of(tmp_path)
    client.cookie = ""
    assert client.get("/").status == 401 and client.get("/enter").status == 401
    assert client.post("/enter", {"passphrase": ""}).status == 401


def test_the_address_for_a_phone_stands_in_the_settings(tmp_path: Path) -> None:
    page = StudioClient.of(tmp_path, host="192.168.1.7", secure=True).get("/settings").text
    assert 'class="qr"' in page and "https://192.168.1.7:8420" in page and "key=" not in page
    assert 'class="qr"' not in StudioClient.of(tmp_path).get("/settings").text


FIRST_PAGE = """
import json, sys
from pathlib import Path
from tests.helpers.studio import StudioClient, create_app, KEY, StudioSettings
client = StudioClient(create_app(StudioSettings(roots=(Path(sys.argv[1]),), key=KEY), late=True))
before = set(sys.modules)
client.cookie = client.get(f"/?key={KEY}").headers["set-cookie"].partition(";")[0]
assert client.get("/").status == 200
heavy = [name for name in ("torch", "olu.stages.plan", "olu.stages.audit", "olu.align") if name in sys.modules]
print(json.dumps([heavy, client.get("/settings").status, client.get("/openapi.json").status]))
"""


def test_the_first_page_waits_for_no_stage(tmp_path: Path) -> None:
    asked = subprocess.run(
        [sys.executable, "-c", FIRST_PAGE, str(tmp_path)], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout) == [[], 200, 200]  # and the pages behind it come when they are asked for


def test_pages_asked_for_together_before_all_are_there(tmp_path: Path) -> None:
    with running(tmp_path) as address:
        port = int(address.partition("/?")[0].rpartition(":")[2])

        def ask(path: str) -> int:
            line = HTTPConnection("127.0.0.1", port, timeout=60)
            line.request("GET", path, headers={"Cookie": cookie})
            answer = line.getresponse()
            answer.read()
            line.close()
            return answer.status

        line = HTTPConnection("127.0.0.1", port, timeout=60)
        line.request("GET", f"/?key={KEY}")
        cookie = (line.getresponse().getheader("Set-Cookie") or "").partition(";")[0]
        line.close()
        paths = ["/settings", "/options", "/", "/jobs", "/nothing-here", "/options/audit", "/new"]
        with ThreadPoolExecutor(len(paths)) as pool:
            assert list(pool.map(ask, paths)) == [200, 200, 200, 200, 404, 200, 200]
        time.sleep(0.5)
        assert list(map(ask, paths)) == [200, 200, 200, 200, 404, 200, 200]


def test_it_ends_in_a_sentence_while_pages_are_open(tmp_path: Path) -> None:
    with server(tmp_path) as (process, address):
        opener = build_opener(HTTPCookieProcessor())
        opener.open(address).close()
        with opener.open(urljoin(address, "/api/events?watch=jobs")) as told:
            assert told.readline() == b"retry: 1000\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0 and process.stdout
            said = process.stdout.read()
        assert "Traceback" not in said and "ERROR" not in said and "0 workspaces" in said

"""A studio to ask: in this process over ASGI (`StudioClient`), as a server on a port of its own (`running`), or as a
process of its own that may be killed (`server`)."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from olu.studio.app import create_app
from olu.studio.jobs import Jobs
from olu.studio.settings import StudioSettings

KEY = "key-of-the-tests"
HOST = "127.0.0.1:8420"


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class StudioClient:
    """Asks the app as a browser with the cookie would."""

    app: Any
    cookie: str = ""
    host: str = HOST
    client: str = "127.0.0.1"
    headers: dict[str, str] = field(default_factory=dict)
    stay: float = 0.0  # seconds before it leaves, for streams

    @staticmethod
    def of(*roots: Path, **settings: Any) -> StudioClient:
        client = StudioClient(create_app(StudioSettings(roots=roots, key=KEY, **settings)))
        entered = client.get(f"/?key={KEY}")
        assert entered.status == 303, entered.text
        client.cookie = entered.headers["set-cookie"].partition(";")[0]
        return client

    @property
    def studio(self) -> Any:
        return self.app.state.studio

    def ask(
        self, method: str, url: str, body: bytes = b"", headers: Mapping[str, str] | None = None, *, cut: bool = False
    ) -> Answer:
        """One request. `cut`: the client leaves in the middle of its body."""
        path, _, query = url.partition("?")
        length = {"content-length": str(len(body))} if body and not cut else {}
        given = {"host": self.host, "cookie": self.cookie, **length, **self.headers, **(headers or {})}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": _unquoted(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items() if value],
            "client": (self.client, 40000),
            "server": ("127.0.0.1", 8420),
        }
        answer = Answer(0, {}, b"")
        sent: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": cut}]

        async def receive() -> dict[str, Any]:
            if sent:
                return sent.pop(0)
            await asyncio.sleep(self.stay)
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            else:
                answer.body += message.get("body", b"")

        asyncio.run(self.app(scope, receive, send))
        return answer

    def get(self, url: str, **headers: str) -> Answer:
        return self.ask("GET", url, headers=headers)

    def post(self, url: str, value: Any = None, **headers: str) -> Answer:
        given = {"content-type": "application/json", "x-olu-studio": "1", **headers}
        return self.ask("POST", url, json.dumps(value if value is not None else {}).encode(), given)

    def job(self, ws: str, verb: str, seconds: float = 60.0, **options: Any) -> dict[str, Any]:
        """Start a job and wait for its end; gives how it ended, with its result."""
        begun = self.post("/api/jobs", {"ws": ws, "verb": verb, "options": options})
        assert begun.status == 200, begun.text
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.studio.jobs.advance()
            told = self.get(f"/api/w/{ws}/jobs/{begun.json['number']}").json
            if told["state"] not in ("waiting", "running", "stopping"):
                reap(self.studio.jobs)
                return dict(told)
            time.sleep(0.05)
        raise AssertionError(f"olu {verb} came to no end")


def reap(jobs: Jobs) -> None:
    """Wait for processes that have told their end and are still leaving."""
    for child in jobs._children.values():
        with suppress(subprocess.TimeoutExpired):  # it goes on, as jobs do
            child.wait(20)
    jobs.advance()


def _unquoted(path: str) -> str:
    from urllib.parse import unquote

    return unquote(path)


@contextmanager
def running(*roots: Path, at: int = 0, **settings: Any) -> Iterator[str]:
    """A studio on a port of its own, or on this one; gives the address that opens it, with the key."""
    import socket

    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", at))
    port = held.getsockname()[1]
    app = create_app(StudioSettings(roots=roots, key=KEY, port=port, **settings), late=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[held])), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}/?key={KEY}"
    finally:
        server.should_exit = True
        thread.join(20)
        held.close()
        reap(app.state.studio.jobs)


@contextmanager
def server(root: Path, *, at: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A real `olu studio`, and the address that opens it."""
    command = [sys.executable, "-m", "olu", "studio", str(root), "--port", str(at), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stdout.read()
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()

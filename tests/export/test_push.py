"""An export on the hub, with a stand-in of it on this machine that keeps what it is given."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from olu.core.errors import ExportError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.export.formats import check_repo
from olu.stages.export import export

LARGE = ".safetensors"


class Hub(BaseHTTPRequestHandler):
    """Repositories made, files sent in a commit, and large ones sent apart before it."""

    protocol_version = "HTTP/1.1"
    token = "hf_good"
    made: dict[str, str] = {}  # noqa: RUF012  repository -> who may see it
    kinds: dict[str, str] = {}  # noqa: RUF012  repository -> model or dataset
    stored: dict[str, bytes] = {}  # noqa: RUF012  large objects by hash
    files: dict[str, bytes] = {}  # noqa: RUF012
    verified: list[str] = []  # noqa: RUF012
    refuse = 0  # an answer to every attempt to make a repository

    def do_GET(self) -> None:
        kind = "/api/datasets/" if self.path.startswith("/api/datasets/") else "/api/models/"
        name = self.path.removeprefix(kind).partition("?")[0]
        if self.path.startswith(kind) and name not in self.made:
            return self.reply({"error": "Repository not found"}, code=404 if self.knows() else 401)
        return self.reply({"id": name, "siblings": []})

    def knows(self) -> bool:
        return self.headers.get("authorization") == f"Bearer {self.token}"

    def do_PUT(self) -> None:
        data = self.body()
        oid = self.path.rpartition("/")[2]
        if hashlib.sha256(data).hexdigest() != oid:
            return self.reply({"error": "hash"}, code=400)
        self.stored[oid] = data
        return self.reply({})

    def do_POST(self) -> None:
        data, path = self.body(), self.path.partition("?")[0]
        if path == "/api/validate-yaml":
            return self.reply({"errors": [], "warnings": []})
        if not self.knows():
            return self.reply({"error": "Invalid username or password."}, code=401)
        if path == "/api/repos/create":
            return self.create(json.loads(data))
        if path.endswith("/preupload/main"):
            modes = [{"path": one["path"], "uploadMode": self.mode(one["path"])} for one in json.loads(data)["files"]]
            return self.reply({"files": [{**one, "shouldIgnore": False} for one in modes]})
        if path.endswith("/info/lfs/objects/batch"):
            return self.batch(json.loads(data)["objects"])
        if path == "/verify":
            self.verified.append(json.loads(data)["oid"])
            return self.reply({})
        assert "/commit/main" in path, path
        return self.commit([json.loads(line) for line in data.decode().splitlines()])

    def create(self, asked: dict[str, Any]) -> None:
        name = f"{asked['organization']}/{asked['name']}"
        if self.refuse:
            return self.reply({"error": "no"}, code=self.refuse)
        if name in self.made:
            return self.reply({"error": "there", "url": f"{self.here()}/{name}"}, code=409)
        self.kinds[name] = asked.get("type") or "model"
        self.made[name] = asked.get("visibility") or ("private" if asked.get("private") else "public")
        return self.reply({"url": f"{self.here()}/{name}", "id": name})

    def mode(self, path: str) -> str:
        return "lfs" if path.endswith(LARGE) else "regular"

    def batch(self, objects: list[dict[str, Any]]) -> None:
        actions = {"verify": {"href": f"{self.here()}/verify"}}
        rows = [
            {**one, "actions": {**actions, "upload": {"href": f"{self.here()}/store/{one['oid']}"}}} for one in objects
        ]
        self.reply({"transfer": "basic", "objects": [{**row, "authenticated": True} for row in rows]})

    def commit(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            value = row["value"]
            if row["key"] == "file":
                self.files[value["path"]] = base64.b64decode(value["content"])
            elif row["key"] == "lfsFile":
                self.files[value["path"]] = self.stored[value["oid"]]
        oid = "a" * 40
        self.reply({"success": True, "commitOid": oid, "commitUrl": f"{self.here()}/me/v/commit/{oid}"})

    def here(self) -> str:
        return f"http://{self.headers['Host']}"

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, value: dict[str, Any], *, code: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    pytest.importorskip("huggingface_hub")
    for kept in (Hub.made, Hub.stored, Hub.files, Hub.verified):
        kept.clear()
    Hub.refuse = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def pushed(
    folder: Path, endpoint: str, home: Path, *, token: str = "hf_good", public: bool = False, kind: str = "model"
) -> Any:
    """In a process of its own: the address of the hub is read when its package is imported."""
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from olu.core.errors import OluError\nfrom olu.export.formats import push\n"
        f"try: print(push(Path(sys.argv[1]), 'me/v', public={public}, kind='{kind}'))\n"
        "except OluError as bad: sys.exit(str(bad))"
    )
    extra = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
    environment = {**os.environ, **extra, "HF_TOKEN": token}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(folder)], env=environment, capture_output=True, text=True
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "export"
    made.mkdir()
    (made / "README.md").write_text("---\nlicense: mit\n---\n# a voice\n", encoding="utf-8")
    (made / "config.json").write_text("{}", encoding="utf-8")
    (made / "model.safetensors").write_bytes(os.urandom(300_000))
    return made


def test_a_folder_goes_up_whole_and_for_nobody_else_at_first(hub: str, folder: Path, tmp_path: Path) -> None:
    done = pushed(folder, hub, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{hub}/me/v"
    assert Hub.made == {"me/v": "private"}
    there = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {name: data for name, data in Hub.files.items() if name in there} == there
    assert Hub.verified == [hashlib.sha256(there["model.safetensors"]).hexdigest()]
    (folder / "config.json").write_text('{"a": 1}', encoding="utf-8")
    again = pushed(folder, hub, tmp_path)
    assert again.returncode == 0, "into a repository that is there"
    assert Hub.files["config.json"] == b'{"a": 1}'


def test_public_when_asked(hub: str, folder: Path, tmp_path: Path) -> None:
    assert pushed(folder, hub, tmp_path, public=True).returncode == 0
    assert Hub.made == {"me/v": "public"}


def test_a_corpus_goes_up_as_a_dataset(hub: str, folder: Path, tmp_path: Path) -> None:
    done = pushed(folder, hub, tmp_path, kind="dataset")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{hub}/me/v" and Hub.kinds["me/v"] == "dataset"
    assert Hub.files["config.json"] == b"{}"


def test_what_goes_wrong_is_one_sentence(hub: str, folder: Path, tmp_path: Path) -> None:
    def said(done: Any) -> str:
        assert done.returncode == 1 and "Traceback" not in done.stderr and done.stderr.count("\n") == 1, done.stderr
        assert f"kept in {folder}" in done.stderr
        return str(done.stderr)

    assert "does not accept your token" in said(pushed(folder, hub, tmp_path, token="hf_bad"))
    Hub.refuse = 403
    assert "may not write to 'me/v'" in said(pushed(folder, hub, tmp_path))
    assert "cannot be reached" in said(pushed(folder, "http://127.0.0.1:9", tmp_path))


@pytest.mark.parametrize("to", ["voice", "piper"])
def test_every_format_has_a_place_there(
    hub: str, phones: Workspace, tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model repository with the files as they are, and a card that the hub understands."""
    asked: list[tuple[Path, str]] = []
    monkeypatch.setattr("olu.export.formats.push", lambda folder, repo, *, public: asked.append((folder, repo)) or hub)
    out = tmp_path / f"v.{to}"
    summary = finish(export(phones.root, to=to, output=out, push="me/v"))
    assert summary.pushed == hub and asked == [(out, "me/v")]
    assert pushed(out, hub, tmp_path).returncode == 0
    there = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert {name: data for name, data in Hub.files.items() if name in there} == there
    card = Hub.files["README.md"].decode()
    library = {"voice": "olu", "piper": "piper"}[to]
    for told in ("language: swa", "license: cc-by-sa-4.0", f"library_name: {library}", "pipeline_tag: text-to-speech"):
        assert told in card.partition("\n---\n")[0], told


def test_a_voice_that_is_there_already_is_pushed_all_the_same(
    phones: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("huggingface_hub")
    finish(export(phones.root))
    assert finish(export(phones.root)).fresh
    monkeypatch.setattr("olu.export.formats.push", lambda folder, repo, *, public: f"hub/{repo}/{folder.name}")
    assert finish(export(phones.root, push="me/v")).pushed.startswith("hub/me/v/")


def test_it_is_refused_before_anything_is_made(letters: Workspace, phones: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    wrong = {
        "no place on the hub": {"to": "hf", "push": "just-a-name"},
        "--push puts a folder on the hub": {"to": "voice", "push": "me/v", "output": tmp_path / "x.zip"},
        "no effect without --push": {"to": "hf", "public": True},
        "--with-training is for": {"to": "hf", "with_training": True},
    }
    for words, asked in wrong.items():
        with pytest.raises(ExportError, match=words):
            finish(export(phones.root, **{"output": tmp_path / "x", **asked}))
    with pytest.raises(ExportError, match="no consent of the speakers"):
        finish(export(letters.root, to="hf", push="me/v", output=tmp_path / "x"))
    assert not (tmp_path / "x").exists()
    check_repo("me/v")

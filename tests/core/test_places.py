"""Bases on the hub, with a mirror of it on this machine."""

from __future__ import annotations

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

from olu.core.errors import TrainError
from olu.core.places import fetched, is_hub_id, located, named
from olu.train.recipe import read_recipe
from olu.train.run import hash_base

SHA = "a" * 40
FILES = {
    "someone/voice": {
        "config.json": b"{}",
        "model.safetensors": b"safe",
        "pytorch_model.bin": b"pickle",
        "README.md": b"---\nlicense: mit\n---\n",
    },
    "someone/many": {
        "full_models/gri/G_100.pth": b"g",
        "full_models/gri/D_100.pth": b"d",
        "full_models/gri/config.json": b"{}",
        "full_models/gri/vocab.txt": b"a\n",
        "full_models/amh/G_100.pth": b"other",
    },
}


class Mirror(BaseHTTPRequestHandler):
    """The few answers that a download asks for."""

    asked: list[str] = []  # noqa: RUF012

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0].strip("/")
        repo = next((name for name in FILES if name in path), None)
        if repo is None:
            self.reply(401, b"{}", {"X-Error-Code": "RepoNotFound"}, body=body)
        elif path.startswith("api/") and "/tree/" in path:
            rows = [
                {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for name, data in FILES[repo].items()
            ]
            self.reply(200, json.dumps(rows).encode(), {}, body=body)
        elif path.startswith("api/"):
            facts = {"id": repo, "sha": SHA, "siblings": [{"rfilename": name} for name in FILES[repo]]}
            self.reply(200, json.dumps(facts).encode(), {}, body=body)
        else:
            name = path.partition(f"/resolve/{SHA}/")[2]
            data = FILES[repo][name]
            self.asked.append(name)
            tags = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": SHA}
            self.reply(200, data, tags, body=body)

    def reply(self, code: int, data: bytes, headers: dict[str, str], *, body: bool) -> None:
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def mirror() -> Iterator[str]:
    pytest.importorskip("huggingface_hub")
    Mirror.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def fetch(id: str, *, endpoint: str, home: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: the address of the hub is read when its package is imported."""
    code = "import sys; from olu.core.errors import OluError\nfrom olu.core.places import fetched\n"
    code += "try: print(fetched(sys.argv[1]))\nexcept OluError as bad: sys.exit(str(bad))"
    extra = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, id], env={**os.environ, **extra}, capture_output=True, text=True
    )


def test_a_base_is_fetched_once_without_its_pickle(mirror: str, tmp_path: Path) -> None:
    done = fetch("someone/voice", endpoint=mirror, home=tmp_path)
    assert done.returncode == 0, done.stderr
    place = Path(done.stdout.strip())
    assert {p.name for p in place.iterdir()} == {"config.json", "model.safetensors", "README.md"}
    assert (place / "model.safetensors").read_bytes() == b"safe"
    Mirror.asked.clear()
    again = fetch("someone/voice", endpoint=mirror, home=tmp_path)
    assert again.stdout == done.stdout and Mirror.asked == [], "it was in the cache"
    offline = fetch("someone/voice", endpoint="http://127.0.0.1:9", home=tmp_path)
    assert offline.stdout == done.stdout, "and stays usable without a network"


def test_a_folder_inside_with_its_discriminator(mirror: str, tmp_path: Path) -> None:
    done = fetch("someone/many/full_models/gri", endpoint=mirror, home=tmp_path)
    assert done.returncode == 0, done.stderr
    names = {p.name for p in Path(done.stdout.strip()).iterdir()}
    assert names == {"G_100.pth", "D_100.pth", "config.json", "vocab.txt"}
    assert not [name for name in Mirror.asked if "amh" in name]


def test_what_goes_wrong_is_one_sentence(mirror: str, tmp_path: Path) -> None:
    for id, endpoint, said in (
        ("nobody/nothing", mirror, "there is no 'nobody/nothing' on the hub"),
        ("someone/many/full_models/xxx", mirror, "has no folder 'full_models/xxx'"),
        ("someone/voice", "http://127.0.0.1:9", "the hub cannot be reached: 'someone/voice' cannot be fetched"),
    ):
        done = fetch(id, endpoint=endpoint, home=tmp_path)
        assert done.returncode == 1 and said in done.stderr, done.stderr
        assert done.stderr.strip().count("\n") == 0, done.stderr


def test_ids_and_paths_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for id in ("facebook/mms-tts-gri", "facebook/mms-tts/full_models/gri", "a/b@main", "a/azj-script_latin"):
        assert is_hub_id(id) and named(id) == id
    for path in ("voice", "/a/b", "./a/b", "../a/b", "a/b/", "C:/a", "a b/c"):
        assert not is_hub_id(path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "model.safetensors").write_bytes(b"x")
    assert not is_hub_id("a/b") and named("a/b") == str(tmp_path / "a" / "b")
    assert located("a/b") == Path("a/b")
    assert hash_base("a/b") == hash_base("a/b/model.safetensors")
    with pytest.raises(TrainError, match="is no id on the hub"):
        fetched("x")


def test_a_recipe_keeps_an_id_and_finds_a_folder_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "r.toml").write_text('base = "facebook/mms-tts-gri"\n')
    assert read_recipe(tmp_path / "r.toml", []).base == "facebook/mms-tts-gri"
    (tmp_path / "r.toml").write_text('base = "mine"\n')
    assert read_recipe(tmp_path / "r.toml", []).base == str(tmp_path / "mine")

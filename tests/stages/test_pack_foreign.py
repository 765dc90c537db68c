"""A workspace that came from elsewhere: a pack of it takes no file of this machine that is not its own."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from olu.core.files import Workspace

from ..cli.conftest import olu
from ..helpers.workspaces import workspace

ROWS = [("c1", "one red cat", "x", "train"), ("c2", "two old dogs", "x", "train"), ("c3", "a hen", "x", "valid")]
SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----\n"


@pytest.fixture
def foreign(tmp_path: Path) -> Workspace:
    ws = workspace(tmp_path / "ws", ROWS)
    key = tmp_path / "home" / ".ssh" / "id_rsa"
    key.parent.mkdir(parents=True)
    key.write_text(SECRET, encoding="utf-8")
    return ws


def first_clip(ws: Workspace, audio: str) -> None:
    """Let the first clip lie in another recording."""
    path = ws.corpus / "clips.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows[0]["audio"] = audio
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def root(ws: Workspace, root: str) -> None:
    path = ws.corpus / "sources.json"
    row = json.loads(path.read_text("utf-8"))[0]
    path.write_text(json.dumps([{**row, "root": root}]), "utf-8")


def a_path_with_dots(ws: Workspace, tmp_path: Path) -> None:
    up = "/".join([".."] * 20)
    first_clip(ws, f"s1/{up}{tmp_path}/home/.ssh/id_rsa")


def a_root_that_leads_out(ws: Workspace, tmp_path: Path) -> None:
    root(ws, "../home")
    first_clip(ws, "s1/.ssh/id_rsa")


def a_root_elsewhere(ws: Workspace, tmp_path: Path) -> None:
    root(ws, str(tmp_path / "home"))
    path = ws.corpus / "clips.jsonl"
    row = json.loads(path.read_text("utf-8").splitlines()[0])
    path.write_text(json.dumps({**row, "audio": "s1/.ssh/id_rsa"}) + "\n", "utf-8")


def a_link_among_the_recordings(ws: Workspace, tmp_path: Path) -> None:
    source = Path(json.loads((ws.corpus / "sources.json").read_text("utf-8"))[0]["root"])
    (source / "z.wav").symlink_to(tmp_path / "home" / ".ssh" / "id_rsa")
    first_clip(ws, "s1/z.wav")


def a_link_in_a_folder(ws: Workspace, tmp_path: Path) -> None:
    ws.readings.mkdir(exist_ok=True)
    (ws.readings / "note.txt").symlink_to(tmp_path / "home" / ".ssh" / "id_rsa")


def a_linked_folder(ws: Workspace, tmp_path: Path) -> None:
    (ws.root / "notes").symlink_to(tmp_path / "home" / ".ssh")


def a_lexicon(ws: Workspace, tmp_path: Path) -> None:
    (ws.root / "reading.toml").write_text(f'lexicon = "{tmp_path}/home/.ssh/id_rsa"\n', "utf-8")


WAYS = [
    a_path_with_dots,
    a_root_that_leads_out,
    a_root_elsewhere,
    a_link_among_the_recordings,
    a_link_in_a_folder,
    a_linked_folder,
    a_lexicon,
]


@pytest.mark.parametrize("way", WAYS)
def test_no_file_of_this_machine_gets_into_a_pack(foreign: Workspace, tmp_path: Path, way) -> None:  # type: ignore[no-untyped-def]
    way(foreign, tmp_path)
    out = tmp_path / "out.tar"
    done = olu("pack", foreign.root, "-o", out)
    assert done.code == 2 and done.err.startswith("olu: ") and done.err.count("\n") == 1, done.err
    assert not out.exists()


@pytest.mark.parametrize("way", [a_path_with_dots, a_root_that_leads_out])
@pytest.mark.parametrize("verb", ["audit", "clips", "status", "prepare", "read"])
def test_every_reader_refuses_what_leads_out(foreign: Workspace, tmp_path: Path, way, verb: str) -> None:  # type: ignore[no-untyped-def]
    way(foreign, tmp_path)
    done = olu(verb, foreign.root)
    assert done.code == 2 and "leads out" in done.err


def test_names_with_dots_are_no_way_out(foreign: Workspace, tmp_path: Path) -> None:
    source = Path(json.loads((foreign.corpus / "sources.json").read_text("utf-8"))[0]["root"])
    (source / "c1.wav").rename(source / "c..1.wav")
    first_clip(foreign, "s1/c..1.wav")
    assert olu("pack", foreign.root, "-o", tmp_path / "out.tar").code == 0
    with tarfile.open(tmp_path / "out.tar") as tar:
        assert "corpus/audio/s1/c..1.wav" in tar.getnames()

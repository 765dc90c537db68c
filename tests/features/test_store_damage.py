"""Samples that are not what was written are found before a training begins, and made again with a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olu.core.files import Workspace
from olu.features.store import fault_in

from ..cli.conftest import TINY, fine, make_recordings


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ws = tmp_path_factory.mktemp("store") / "ws"
    fine("new", ws, "--language", "sw")
    fine("import", ws, make_recordings(ws.parent / "in", clips=4))
    fine("prepare", ws)
    return ws


def folder(ws: Path) -> Path:
    return next(Workspace.open(ws).features.glob("wave-*"))


def noise(path: Path) -> None:
    with path.open("r+b") as out:
        out.seek(20_001)
        out.write(bytes(range(256)) * 80)


def one_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


WAYS = [(name, way) for name in ("samples.i16", "index.json") for way in (noise, one_bit, cut, emptied)]


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_a_damaged_store_is_made_again_and_told_of(prepared: Path, name: str, way) -> None:  # type: ignore[no-untyped-def]
    path = folder(prepared) / name
    good = path.read_bytes()
    assert "there already" in fine("prepare", prepared).out
    way(path)
    assert fault_in(path.parent, jobs=1)
    done = fine("prepare", prepared)
    assert "were damaged" in done.err and "made again" in done.err
    assert path.read_bytes() == good
    assert "there already" in fine("prepare", prepared).out


def test_a_row_that_stays_json_is_found_too(prepared: Path) -> None:
    path = folder(prepared) / "index.json"
    index = json.loads(path.read_text("utf-8"))
    index["clips"][1][0] += "x"
    path.write_text(json.dumps(index), "utf-8")
    assert "were damaged" in fine("prepare", prepared).err


def test_a_training_looks_at_every_sample_first(prepared: Path) -> None:
    fine("train", prepared, *TINY)
    weights = sorted((prepared / "runs" / "vits-001" / "checkpoints").rglob("weights.safetensors"))[-1].read_bytes()
    noise(folder(prepared) / "samples.i16")
    done = fine("train", prepared, *TINY, "--new")
    assert "were damaged" in done.err and done.err.count("were damaged") == 1
    again = sorted((prepared / "runs" / "vits-002" / "checkpoints").rglob("weights.safetensors"))[-1].read_bytes()
    assert again == weights

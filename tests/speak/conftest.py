from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from olu.speak.voice import Voice

from ..helpers import packages as made


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("voices") / "two.voice"
    made.pack(path, speakers=["ada", "obi"])
    return path


@pytest.fixture(scope="session")
def voice(folder: Path) -> Voice:
    return Voice.open(folder, threads=1)


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "in" / "copy.voice"))

from __future__ import annotations

from pathlib import Path

import pytest

from ..helpers import serve_voices as voices


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A voice named test with the speakers ada and obi."""
    return voices.pack(tmp_path_factory.mktemp("served") / "test.voice")

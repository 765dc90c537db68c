"""The notebooks are what their source makes, and their cells run."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOAK = os.environ.get("OLU_SOAK") == "1"
SOURCE = runpy.run_path(str(ROOT / "dev" / "notebooks.py"))
MADE: dict[str, str] = SOURCE["written"]()


def test_the_notebooks_are_what_their_source_makes() -> None:
    held = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert held == MADE, "run 'python dev/notebooks.py'"


@pytest.mark.skipif(not SOAK, reason="minutes: make soak")
@pytest.mark.parametrize("name", sorted(MADE))
def test_the_cells_run(name: str, tmp_path: Path) -> None:
    cells = [cell for cell in json.loads(MADE[name])["cells"] if cell["cell_type"] == "code"]
    script = "\n\n".join("".join(cell["source"]) for cell in cells)
    small = (
        "--set plan.steps=1 --set plan.batch_clips=2"
        if "base" in name
        else ("--set plan.steps=1 --set plan.batch_clips=2 --set base=embedded")
    )
    settings = {
        "OLU_HOME": str(tmp_path),
        "OLU_CLONE": str(ROOT),
        "OLU_INSTALLED": "1",
        "OLU_SAMPLE": "--clips 6",
        "OLU_TRAIN": small,
        "PATH": str(tmp_path),  # no nvidia-smi
        "OMP_NUM_THREADS": "1",
    }
    words = [sys.executable, "-c", script]
    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "hello.wav").stat().st_size > 8000 and (tmp_path / "voice.tar").is_file()

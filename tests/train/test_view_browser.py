"""run.html in a real browser: it shows without errors, plays, tells its age, and comes again while the run lives."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from olu.train.view.viewer import PAGE

from ..helpers import toys
from .test_view import go, new_run, shown_toy, viewer

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]

PROBE = """<script>
window.failures = 0;
window.addEventListener("error", () => { window.failures += 1; }, true);
window.addEventListener("load", async () => {
  const wait = player => new Promise(done => {
    player.addEventListener("loadedmetadata", () => done(player.duration > 0));
    player.addEventListener("error", () => done(false));
    player.preload = "metadata"; player.load();
  });
  const good = await Promise.all([...document.querySelectorAll("audio")].map(wait));
  const drawn = [...document.images].filter(image => image.complete && image.naturalWidth > 0).length;
  document.title = `played ${good.filter(Boolean).length}/${good.length} drawn ${drawn}/${document.images.length}`
    + ` errors ${window.failures} wide ${document.documentElement.scrollWidth - innerWidth}`;
});
</script></head>"""


def opened(page: Path, folder: Path) -> str:
    """The page as the browser has it after a few seconds."""
    probed = folder / "probed.html"
    probed.write_text(page.read_text(encoding="utf-8").replace("</head>", PROBE, 1), encoding="utf-8")
    words = [str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=8000", "--dump-dom"]
    return subprocess.run([*words, probed.as_uri()], capture_output=True, text=True, timeout=120).stdout


def test_the_page_of_a_finished_run_shows_and_plays(tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs")
    go(run, shown_toy(), steps=20, validate_every=10)
    said = re.search(
        r"played (\d+)/(\d+) drawn (\d+)/(\d+) errors (\d+) wide (-?\d+)", text := opened(run.folder / PAGE, tmp_path)
    )
    assert said is not None, text[:500]
    played, players, drawn, pictures, errors, wide = map(int, said.groups())
    assert (played, drawn, errors) == (players, pictures, 0) and players == 4 and pictures == 8 and wide <= 0
    assert "Finished, last word" in text


def test_a_page_without_a_word_for_long_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(tmp_path / "runs")
    engine = toys.engine(shown_toy(), run.checkpoints_folder, steps=10, validate_every=2)
    shown = viewer(run, engine)
    reports = engine.train()
    shown.show(next(reports), best=None)
    assert "Running, last word" in opened(run.folder / PAGE, tmp_path)
    long_ago = time.time() - 7200
    monkeypatch.setattr("olu.train.view.viewer.time.time", lambda: long_ago)
    shown.show(next(reports), best=None)
    text = opened(run.folder / PAGE, tmp_path)
    assert "No word for 2 h: it may have been killed" in text and re.search(r'<p id="again">', text)
    shown.__exit__()

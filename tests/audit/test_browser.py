"""The report in a real browser: it must show without errors, and every player must be able to play."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Clip
from olu.corpus.manifest import Corpus
from olu.corpus.sources import Source
from olu.stages.audit import audit

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]

PROBE = """<script>
window.addEventListener("load", async () => {
  const wait = (player) => new Promise((done) => {
    if (player.readyState >= 1) return done(player.duration > 0);
    player.addEventListener("loadedmetadata", () => done(player.duration > 0));
    player.addEventListener("error", () => done(false));
  });
  const players = [...document.querySelectorAll("audio")];
  players.forEach((player) => { player.preload = "metadata"; player.load(); });
  const good = await Promise.all(players.map(wait));
  document.title = `players ${good.filter(Boolean).length} of ${players.length} errors ${window.failures || 0}`;
});
window.addEventListener("error", () => { window.failures = (window.failures || 0) + 1; });
</script></head>"""


def test_the_report_shows_and_plays(tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "ws", language="swa")
    clips = []
    for number in range(6):
        wave = 0.9 * np.sin(np.arange(16000 * 2) * 0.05 * (number + 1))
        if number == 0:
            wave[:] = 0
        if number == 1:
            wave = np.clip(3 * wave, -1, 1)
        soundfile.write(tmp_path / f"{number}.wav", wave, 16000)
        text = f'sentensi <u>{number}</u> & "hii" ni fupi'
        clip = Clip(id=f"c{number}", audio=f"s1/{number}.wav", seconds=2.0, rate=16000, text=text, language="swa")
        clips.append(clip)
    source = Source(name="s1", root=str(tmp_path), layout="folder")
    Corpus.save(ws, clips, [source], {clip.id: "train" for clip in clips})
    page = finish(audit(ws)).report
    probed = tmp_path / "probed.html"
    probed.write_text(page.read_text(encoding="utf-8").replace("</head>", PROBE, 1), encoding="utf-8")
    words = [
        str(BROWSER),
        *FLAGS,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=8000",
        "--dump-dom",
    ]
    shown = subprocess.run([*words, probed.as_uri()], capture_output=True, text=True, timeout=120).stdout
    said = re.search(r"players (\d+) of (\d+) errors (\d+)", shown)
    assert said is not None, shown[:500]
    good, players, errors = map(int, said.groups())
    assert players >= 2 and good == players and errors == 0
    assert "<u>0</u>" not in shown

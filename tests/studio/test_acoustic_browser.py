"""A voice of two runs, made in a real Chromium from read recordings on: aligned, vocoder and acoustic model planned and
trained, exported, spoken, and its melody drawn."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from olu.speak.package import voice_json

from ..helpers import aligned_workspaces
from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.studio import running

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not BROWSER or os.environ.get("OLU_SOAK") != "1", reason="make soak: a browser is slow"),
]
DESK = Screen(1280, 900)
SHORT = {"model.size": '"tiny"', "plan.steps": "4", "plan.batch_clips": "4", "plan.validate_every": "4"}
LONG = 900  # seconds at most, for a stage on a busy machine
READY = "document.querySelector('#planning').hidden && !document.querySelector('#start').disabled"


def job_ends(tab: Tab) -> None:
    tab.until("document.querySelector('#now .tag')?.textContent === 'Done'", seconds=LONG)


def trained(tab: Tab, base: str, family: str) -> str:
    tab.show(f"{base}/w/ws/train", DESK)
    tab.until(f"document.querySelector('table.recipe') && {READY}", seconds=LONG)
    tab.press(f"[name=family][value={family}]")
    tab.press("[name=base][value=scratch]")
    for key, value in SHORT.items():
        tab.write("#key", key)
        tab.write("#value", value)
        tab.press("#set")
    planned = f"document.querySelector('table.recipe')?.dataset.family === '{family}'"
    tab.until(f"{planned} && document.querySelectorAll('tr.changed').length >= 2 && {READY}", seconds=LONG)
    assert tab.eval("document.querySelector('#wrong').hidden"), tab.eval("document.querySelector('#wrong').textContent")
    tab.press("#start")
    tab.until("location.pathname.startsWith('/w/ws/runs/')", seconds=LONG)
    tab.until("document.querySelector('#state')?.dataset.state === 'finished'", seconds=LONG)
    tab.until("document.querySelectorAll('#curves canvas').length > 1")
    assert tab.eval("window.failures") == []
    return str(tab.eval("location.pathname.split('/').at(-1)"))


def test_a_voice_with_a_melody_is_made_in_the_studio(tmp_path: Path) -> None:
    ws, _ = aligned_workspaces.workspace(tmp_path)
    with running(tmp_path) as address, chromium(tmp_path / "profile") as tab:
        base = address.partition("/?")[0]
        tab.show(address, DESK)
        tab.show(f"{base}/w/ws/options/align", DESK)
        tab.press("#f-force")  # half a minute is too little for an aligner of its own, and it says so
        tab.press("main form button.main")
        tab.until("/\\/jobs\\/\\d+$/.test(location.pathname)")
        job_ends(tab)
        vocoder, acoustic = trained(tab, base, "vocoder"), trained(tab, base, "acoustic")
        tab.show(f"{base}/w/ws/export?run={acoustic}", DESK)
        tab.press("#ask button.main")
        tab.until("/\\/jobs\\/\\d+$/.test(location.pathname)")
        job_ends(tab)
        (package,) = ws.voices.glob("*.voice")
        assert voice_json(package)["engine"] == "mel" and vocoder in (package / "README.md").read_text()
        tab.show(f"{base}/w/ws/speak?voice=ws/{package.name}", DESK)
        tab.until("document.querySelector('#voice').value !== ''")
        tab.write("#text", "Habari ya leo, watu.")
        tab.press("#speak")
        tab.until("document.querySelector('#status').textContent === 'Finished.'")
        before, _ = tab.heard()
        tab.press("#plan")
        tab.until("document.querySelectorAll('.dot').length > 3")
        tab.eval("document.querySelectorAll('.dot')[1].focus()")
        hertz = "Number(document.querySelectorAll('.dot')[1].getAttribute('aria-valuenow'))"
        planned = tab.eval(hertz)
        for _ in range(8):
            for kind in ("keyDown", "keyUp"):
                tab.call("Input.dispatchKeyEvent", type=kind, key="ArrowUp", code="ArrowUp")
        assert tab.eval(hertz) > planned
        tab.press("#say-it")
        tab.until("document.querySelector('#status').textContent === 'Finished.'")
        after, _ = tab.heard()
        size = min(len(before), len(after))
        assert size > 1000 and not np.allclose(before[:size], after[:size], atol=1e-4), "it is another sound"
        if os.environ.get("OLU_PICTURES"):
            tab.picture(Path(os.environ["OLU_PICTURES"]) / "acoustic-melody.png")
        assert tab.eval("window.failures") == []

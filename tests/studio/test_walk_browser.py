"""A newcomer's whole way in a real Chromium, by clicks and typing alone: from no folder at all to a voice that speaks.

With OLU_PICTURES=FOLDER each step is kept as a picture: those of docs/studio.md are made so.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..helpers.browser import BROWSER, PATIENCE, Screen, Tab, chromium

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not BROWSER or os.environ.get("OLU_SOAK") != "1", reason="make soak: a browser is slow"),
]
LONG = 1200  # seconds at most, for a training on a busy machine
DESK = Screen(1280, 860)
SETTINGS = {"plan.steps": "10", "plan.batch_clips": "4"}


@contextmanager
def olu_studio(folder: Path) -> Iterator[str]:
    """`olu studio FOLDER` itself; gives the address it prints."""
    folder.mkdir()
    words = [sys.executable, "-m", "olu", "studio", str(folder), "--no-browser", "--port=0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    said = ""
    try:
        for line in process.stdout:
            said += line
            if found := re.search(r"http://127\.0\.0\.1:\d+/\?key=\S+", line):
                yield found[0]
                break
        else:
            raise AssertionError(said)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()


class Walk:
    """A person at the studio: presses, types, waits, and looks."""

    def __init__(self, tab: Tab, pictures: Path) -> None:
        self.tab = tab
        self.pictures = pictures

    def arrives(self, code: str, *, seconds: float = PATIENCE) -> None:
        self.tab.until(code, seconds=seconds)

    def at(self, pattern: str, *, seconds: float = PATIENCE) -> None:
        self.arrives(f"/{pattern}/.test(location.pathname) && document.readyState === 'complete'", seconds=seconds)

    def press(self, element: str) -> None:
        self.tab.press(element)

    def job_ends(self) -> None:
        self.at("\\/jobs\\/\\d+$")
        self.arrives("document.querySelector('#now .tag')?.textContent === 'Done'", seconds=LONG)

    def picture(self, name: str, of: str = "") -> None:
        if of:
            self.tab.eval(f"document.querySelector({of!r}).scrollIntoView({{block: 'start'}}), scrollBy(0, -70)")
        self.tab.until("document.fonts.status === 'loaded' && document.querySelector('#told').textContent === ''")
        time.sleep(0.4)
        self.tab.picture(self.pictures / f"{name}.png")
        assert self.tab.eval("window.failures") == []


def test_from_an_empty_folder_to_a_voice_that_speaks(tmp_path: Path) -> None:
    pictures = Path(os.environ.get("OLU_PICTURES") or tmp_path / "pictures")
    pictures.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="olu-") as outer,
        olu_studio(folder := Path(outer) / "voices") as address,
        chromium(tmp_path / "profile") as tab,
    ):
        tab.show(address, DESK)
        walk = Walk(tab, pictures)
        made(walk)
        imported(walk)
        audited_and_read(walk)
        run = trained(walk)
        exported(walk, run)
        walk.press(".item a.button:not([download])")
        spoken(walk, "ሰላም፣ እንደምን አደርክ?")
        tab.press(".brand")
        walk.at("^\\/$")
        walk.arrives("!!document.querySelector('.stages .fresh')")
        walk.picture("home")
        assert list(folder.glob("selam/voices/*.voice"))
        assert {one.split("/")[2] for one in tab.asked if one.startswith("http")} == {address.split("/")[2]}


def made(walk: Walk) -> None:
    walk.picture("empty")
    walk.press(".empty .button.main")
    walk.at("^\\/new$")
    walk.tab.write("#language", "Amharic")
    walk.tab.write("#licence", "CC0-1.0")
    walk.tab.write("#consent", "Spoken by Olu's own voice: nobody was recorded for it")
    walk.tab.write("#name", "selam")  # last: a list of suggestions would take the next press
    walk.picture("new")
    walk.press("#new button.main")
    walk.at("^\\/w\\/selam\\/import$")


def imported(walk: Walk) -> None:
    walk.picture("import")
    walk.press("#sample")
    walk.job_ends()
    assert not walk.tab.eval("document.querySelector('#busy')"), "it does not count as running any more"
    walk.picture("sample")
    walk.press("form[data-go=look] button")
    walk.at("\\/import\\/2$")
    walk.arrives("!!document.querySelector('form[data-take] button')")
    assert "Would add 60 clips" in walk.tab.eval("document.body.innerText")
    walk.picture("look")
    walk.press("form[data-take] button")
    walk.at("\\/import\\/3$")
    walk.arrives("document.body?.innerText.includes('Added 60 clips')")
    walk.picture("taken")


def audited_and_read(walk: Walk) -> None:
    walk.press("form[data-job=audit] button")
    walk.job_ends()
    walk.press("#now a.main")
    walk.at("\\/audit$")
    walk.arrives("!!document.querySelector('.verdict')")
    walk.picture("audit")
    walk.press(".tabs a[href$='/clips']")
    walk.arrives("!!document.querySelector('.spectrum')")
    time.sleep(1)
    walk.picture("clips")
    walk.press(".tabs a")
    walk.arrives("!!document.querySelector('.next-step')")
    walk.picture("next")
    walk.press(".next-step button.main")
    walk.job_ends()
    walk.press("#now a.main")
    walk.at("\\/reading$")
    walk.arrives("!!document.querySelector('#words button')")
    walk.picture("reading")


def trained(walk: Walk) -> str:
    walk.press(".tabs a")
    walk.press(".next-step .main")
    walk.at("\\/train$")
    ready = "document.querySelector('#planning').hidden && !document.querySelector('#start').disabled"
    walk.arrives(f"document.querySelector('table.recipe') && {ready}")
    walk.tab.press("[name=base][value=embedded]")
    for key, value in SETTINGS.items():
        walk.tab.write("#key", key)
        walk.tab.write("#value", value)
        walk.tab.press("#set")
    walk.arrives(f"document.querySelectorAll('tr.changed').length >= 2 && {ready}")
    assert walk.tab.eval("document.querySelector('#wrong').hidden")
    walk.picture("train-whole")
    walk.picture("train", "#recipe-title")
    walk.press("#start")
    walk.at("\\/runs\\/[^/]+$")
    walk.arrives("document.querySelector('#state')?.dataset.state === 'finished'", seconds=LONG)
    walk.arrives("document.querySelectorAll('#curves canvas').length > 3")
    walk.picture("run")
    return str(walk.tab.eval("location.pathname.split('/').at(-1)"))


def exported(walk: Walk, run: str) -> None:
    walk.press("#part-now a[href*='/export']")
    walk.at("\\/export$")
    assert walk.tab.eval("document.querySelector('#run').value") == run
    walk.picture("export")
    walk.press("#ask button.main")
    walk.job_ends()
    walk.press("#now a.main")
    walk.at("\\/export$")
    walk.arrives("!!document.querySelector('a[download]')")
    walk.picture("exported")


def spoken(walk: Walk, text: str) -> None:
    walk.at("\\/speak$")
    walk.arrives("document.querySelector('#voice')?.value.startsWith('selam/')")
    walk.tab.write("#text", text)
    walk.tab.press("#speak")
    walk.arrives("document.querySelector('#status').textContent === 'Finished.'")
    assert walk.tab.eval("document.querySelector('#trouble').hidden")
    walk.picture("speak")
    samples, rate = walk.tab.heard()
    assert len(samples) > rate / 2

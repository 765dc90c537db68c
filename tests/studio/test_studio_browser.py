"""The studio in a real Chromium: a newcomer's import, many tabs, a broken line, hostile names, narrow screens."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from olu.core.files import Workspace
from olu.studio import job_files
from olu.studio.jobs import Jobs
from olu.studio.roots import Roots

from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.studio import reap, running

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not BROWSER or os.environ.get("OLU_SOAK") != "1", reason="make soak: a browser is slow"),
]
WIDE, PHONE = Screen(1280, 900), Screen(390, 844, phone=True, dark=True)
SCRIPT = '"><script>window.taken=1</script><img src=x onerror="window.taken=1">'


def recordings(folder: Path, *, text: str = "Habari ya asubuhi") -> list[Path]:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for number in range(3):
        soundfile.write(folder / f"a{number}.wav", 0.1 * rng.normal(size=16000), 16000)
        (folder / f"a{number}.txt").write_text(f"{text} {number}", encoding="utf-8")
    return sorted(folder.iterdir())


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    with chromium(tmp_path / "profile") as held:
        yield held


def choose(tab: Tab, element: str, files: list[Path]) -> None:
    found = tab.call("Runtime.evaluate", expression=f"document.querySelector({element!r})")["result"]["objectId"]
    tab.call("DOM.setFileInputFiles", files=list(map(str, files)), objectId=found)


def quiet(tab: Tab) -> None:
    assert tab.eval("window.failures") == []


def test_a_newcomer_brings_recordings_in_without_a_terminal(tab: Tab, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    files = recordings(tmp_path / "elsewhere")
    with running(root) as address:
        tab.show(address, WIDE)
        assert "key=" not in tab.eval("location.href")
        tab.press(".button.main")
        tab.until("!!document.querySelector('#language')")
        tab.write("#language", "Swahili")
        tab.write("#name", "habari")  # last: a list of suggestions would take the next press
        tab.press("#new button.main")
        tab.until("location.pathname === '/w/habari/import' && !!document.querySelector('#import')")
        tab.until("!!document.querySelector('dialog.picker')")  # the page's scripts are there
        choose(tab, "#panel-computer label:nth-of-type(2) input", files)
        tab.until("/import\\/1$/.test(location.pathname)")
        tab.until("!!document.querySelector('form[data-take] button')")
        assert "Would add 3 clips" in tab.eval("document.body.innerText")
        heard = "fetch(document.querySelector('audio').src).then((told) => told.arrayBuffer())"
        assert tab.eval(f"{heard}.then((data) => data.byteLength)") > 1000
        tab.press("form[data-take] button")
        tab.until("/import\\/2$/.test(location.pathname)")
        tab.until("document.body?.innerText.includes('Added 3 clips')")
        quiet(tab)
        tab.press("form[data-job=audit] button")
        tab.until("document.querySelector('#now .tag')?.textContent === 'Done'")
        quiet(tab)
    assert {one.split("/")[2] for one in tab.asked if one.startswith("http")} == {address.split("/")[2]}


def test_a_press_before_the_scripts_are_there_is_kept(tab: Tab, tmp_path: Path) -> None:
    root = tmp_path / "root"
    Workspace.create(root / "habari", language="swa")
    with running(root) as address:
        tab.show(address, WIDE)
        slow = {"offline": False, "latency": 1000, "downloadThroughput": -1, "uploadThroughput": -1}
        tab.call("Network.emulateNetworkConditions", **slow)
        tab.call("Page.navigate", url=address.partition("/?")[0] + "/settings")
        tab.until("!!document.querySelector('form[data-job=doctor] button')")
        before = "document.querySelector('form[data-job=doctor] button').click(), document.readyState"
        assert tab.eval(before) != "complete", "the scripts are on their way"
        tab.until("location.pathname === '/jobs/1'")
        _wait_for_end(Jobs(Roots([root])))


def test_eight_tabs_and_a_broken_line(tab: Tab, tmp_path: Path) -> None:
    """A browser has six connections for a host: hidden tabs let theirs go."""
    root = tmp_path / "root"
    Workspace.create(root / "habari", language="swa")
    recordings(root / "rec")
    jobs = Jobs(Roots([root]))
    job = jobs.start("habari", "import", {"source": str(root / "rec")})
    os.kill(job.pid, signal.SIGSTOP)
    first = tab.session
    try:
        with running(root) as address:
            base = address.partition("/?")[0]
            tab.show(address, WIDE)
            for _ in range(8):
                tab.session = ""
                target = tab.call("Target.createTarget", url=f"{base}{job.address}")["targetId"]
                tab.session = tab.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
                for domain in ("Page", "Runtime", "Network"):
                    tab.call(f"{domain}.enable")
                tab.until("document.querySelector('#now .tag')?.textContent === 'Running'")
            offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
            tab.call("Network.emulateNetworkConditions", offline=True, **offline)
            time.sleep(1.5)
            os.kill(job.pid, signal.SIGCONT)
            _wait_for_end(jobs)
            tab.call("Network.emulateNetworkConditions", offline=False, **offline)
            tab.until("document.querySelector('#now .tag')?.textContent === 'Done'")
    finally:
        tab.session = first
        for live in jobs.live():
            os.kill(live.pid, signal.SIGCONT)
        _wait_for_end(jobs)


def _wait_for_end(jobs: Jobs) -> None:
    for _ in range(600):
        jobs.advance()
        if not jobs.live():
            return reap(jobs)
        time.sleep(0.1)
    raise AssertionError("a job came to no end")


def test_a_server_that_dies_and_comes_back_is_found_again_by_the_open_page(tab: Tab, tmp_path: Path) -> None:
    root = tmp_path / "root"
    Workspace.create(root / "habari", language="swa")
    recordings(root / "rec")
    with running(root) as address:
        port = int(address.partition("//")[2].partition("/")[0].partition(":")[2])
        jobs = Jobs(Roots([root]))
        job = jobs.start("habari", "import", {"source": str(root / "rec")})
        os.kill(job.pid, signal.SIGSTOP)
        tab.show(address, WIDE)
        tab.show(address.partition("/?")[0] + job.address, WIDE)
        tab.until("document.querySelector('#now .tag')?.textContent === 'Running'")
    os.kill(job.pid, signal.SIGCONT)
    _wait_for_end(jobs)
    with running(root, at=port):
        tab.until("document.querySelector('#now .tag')?.textContent === 'Done'")


@pytest.mark.parametrize("screen", [WIDE, PHONE, Screen(320, 700, phone=True)], ids=["wide", "phone", "narrow"])
def test_hostile_names_are_text_and_nothing_sticks_out(tab: Tab, tmp_path: Path, screen: Screen) -> None:
    root = tmp_path / "root"
    name = "<img src=x onerror=window.taken=1>" + "long" * 20
    Workspace.create(root / "w", language="swa", name=name)
    recordings(root / "rec", text=SCRIPT + "ሰላም" * 30 + "x" * 200)
    jobs = Jobs(Roots([root]))
    jobs.start("w", "import", {"source": str(root / "rec"), "dry_run": True})
    _wait_for_end(jobs)
    folder = job_files.new_folder(root / "w/jobs")
    (folder / "ask.json").write_text('{"verb": "<b>", "argv": ["<script>window.taken=1</script>"], "asked": "2026"}')
    (folder / "exit.json").write_text('{"code": 2}')
    with running(root) as address:
        base = address.partition("/?")[0]
        tab.show(address, screen)
        paths = ["/", "/new", "/jobs", "/settings", "/options", "/w/w", "/w/w/import", "/w/w/import/1", "/w/w/jobs"]
        paths += ["/w/w/jobs/1", "/w/w/jobs/2", "/w/w/options", "/w/w/options/train", "/w/w/options/import", "/nowhere"]
        for path in paths:
            tab.show(base + path, screen)
            tab.until("document.fonts.status === 'loaded'")
            time.sleep(0.3)
            facts: Any = tab.eval(
                "({over: Math.max(0, document.documentElement.scrollWidth - innerWidth), taken: window.taken ?? 0,"
                " h1: document.querySelectorAll('h1').length, bare: [...document.querySelectorAll("
                "'input:not([hidden]):not([type=hidden]), select, textarea')].filter((one) => !one.labels?.length"
                " && !one.ariaLabel).length, small: [...document.querySelectorAll('main button, .tabs a, .side a')]"
                ".filter((one) => one.offsetHeight && one.offsetHeight < 30).length})"
            )
            assert facts == {"over": 0, "taken": 0, "h1": 1, "bare": 0, "small": 0}, (path, facts)
            quiet(tab)

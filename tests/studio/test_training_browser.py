"""Training in the studio by a real Chromium: planned, started, watched, reloaded, cut off, stopped and gone on with."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from olu.core.files import Workspace
from olu.studio.jobs import Jobs
from olu.studio.roots import Roots

from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.melodic import melodic
from ..helpers.studio import running, server
from ..helpers.workspaces import trained, workspace

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]

LONG = 1200  # seconds at most, for a training on a busy machine
DESK, PHONE = Screen(1280, 900), Screen(390, 844, phone=True)
TEXTS = ("Habari ya asubuhi", "Leo tunazungumza", "Maji safi ni uhai", "Mji wetu ni mkubwa", "Karibu sana", "Asante")
SETTINGS = {
    "model.size": "tiny",
    "model.hidden_size": "32",
    "plan.batch_clips": "2",
    "plan.validate_every": "40",
    "plan.save_every": "40",
    "data.loudness": "0",
}
STEPS = "window.oluRun?.figures.curves.get('gen/mel')?.steps ?? []"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return clips_to_train_on(tmp_path_factory.mktemp("studio"))


def clips_to_train_on(root: Path) -> Workspace:
    sides = ("train", "train", "train", "valid", "train", "test")
    rows = [
        (f"c{n}{turn}", f"{text} {['moja', 'mbili', 'tatu', 'nne'][turn]}.", "amina", side)
        for turn in range(4)
        for n, (text, side) in enumerate(zip(TEXTS, sides, strict=True))
    ]
    return workspace(root, rows, language="swa")


@pytest.fixture(scope="module")
def studio(place: Workspace) -> Iterator[str]:
    with running(place.root.parent) as address:
        yield address


@pytest.fixture(scope="module")
def tab(studio: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as made:
        made.show(studio, DESK)
        yield made


def at(studio: str, path: str) -> str:
    return studio.partition("/?")[0] + path


def plan(tab: Tab, studio: str, *, steps: int, seed: int, **more: str) -> None:
    """On the page of a training: from scratch, with tiny settings, each set as a person sets it."""
    tab.show(at(studio, "/w/ws/train"), DESK)
    tab.until("!document.querySelector('#start').disabled")
    tab.press("[name=family][value=vits]")
    tab.press("[name=base][value=scratch]")
    for key, value in {**SETTINGS, "plan.steps": str(steps), "seed": str(seed), **more}.items():
        tab.write("#key", key)
        tab.write("#value", value)
        tab.press("#set")
    tab.until("document.querySelector('#planning').hidden && !document.querySelector('#start').disabled")
    assert tab.eval("document.querySelector('#wrong').hidden"), tab.eval("document.querySelector('#wrong').textContent")


def start(tab: Tab) -> str:
    tab.press("#start")
    tab.until("location.pathname.startsWith('/w/ws/runs/')")
    return str(tab.eval("location.pathname.split('/').at(-1)"))


def recorded(ws: Workspace, run: str) -> list[dict[str, Any]]:
    lines = (ws.runs_folder / run / "metrics.jsonl").read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def whole(steps: list[float]) -> None:
    """A curve of every step from the first on: none is missing, none is there twice."""
    assert steps == [float(n) for n in range(1, len(steps) + 1)], steps


def test_a_plan_tells_why_and_a_changed_value_is_planned_again(tab: Tab, studio: str) -> None:
    tab.show(at(studio, "/w/ws/train"), DESK)
    tab.until("document.querySelector('table.recipe') && document.querySelector('#planning').hidden")
    rows = "[...document.querySelectorAll('table.recipe td.why')]"
    assert tab.eval(f"{rows}.length") > 15 and tab.eval(f"{rows}.every((one) => one.textContent.length > 5)")
    before = tab.eval("document.querySelector('[name=\"plan.validate_every\"]').value")
    tab.write('[name="plan.steps"]', "20000")
    tab.press("#recipe-title")
    tab.until("document.querySelector('tr.changed') && document.querySelector('#planning').hidden")
    changed = "document.querySelector('tr.changed')"
    assert tab.eval(f"{changed}.querySelector('input').value") == "20000"
    assert tab.eval(f"{changed}.querySelector('.why').textContent") == "You set it."
    assert tab.eval("document.querySelector('[name=\"plan.validate_every\"]').value") != before, "what follows from it"
    tab.eval("window.before = 1, location.reload()")
    tab.until(
        "window.before === undefined && document.querySelector('tr.changed') !== null"
    )  # the plan is where it was
    tab.press("[name=family][value=recogniser]")
    tab.until("document.querySelector('table.recipe').dataset.family === 'recogniser'")
    licences = tab.eval("[...document.querySelectorAll('.pick')].map((one) => one.textContent)")
    assert any("embedded" in one and "MIT" in one for one in licences)
    assert any("facebook/mms" in one and "not for business" in one for one in licences)
    assert not tab.eval("window.failures")


def test_a_try_trains_nothing(tab: Tab, studio: str, place: Workspace) -> None:
    plan(tab, studio, steps=50, seed=1)
    tab.press("#try")
    tab.until("!document.querySelector('#tried').hidden")
    assert "parameters" in tab.eval("document.querySelector('#tried').textContent").lower()
    assert not list(place.runs_folder.glob("*"))


def test_reloaded_ten_times_and_cut_off_it_is_always_where_it_is(tab: Tab, studio: str, place: Workspace) -> None:
    plan(tab, studio, steps=20_000, seed=1)  # more than it ever takes: it is stopped
    run = start(tab)
    last = 0
    for _ in range(10):
        tab.eval("window.before = 1, location.reload()")
        tab.until("window.before === undefined && document.readyState === 'complete' && Boolean(window.oluRun)")
        drawn = "Number(document.querySelector('#curves').dataset.step)"
        tab.until(f"({STEPS}).length > {last} && {drawn} === ({STEPS}).length")
        held = tab.eval("structuredClone(oluRun.figures.curves.get('gen/mel'))")
        whole([float(step) for step in held["steps"]])
        assert len(held["steps"]) > last, "it never goes back"
        last = len(held["steps"])
        told = [row["gen"]["losses"]["mel"] for row in recorded(place, run)[:last]]
        assert np.allclose(held["values"], told, rtol=1e-5), "the curve is what was recorded"
    first = tab.eval("performance.now()")
    tab.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    time.sleep(3)
    tab.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    tab.until(f"({STEPS}).length > {len(recorded(place, run))}")
    whole([float(step) for step in tab.eval(STEPS)])
    assert tab.eval("performance.now()") > first, "the page was never loaded anew"
    tab.until("document.querySelectorAll('#part-samples audio').length > 0")  # a validation has come
    stopped(tab, place, run)
    assert tab.eval("[...document.querySelectorAll('#part-samples audio')].length") > 0
    assert tab.eval("document.querySelector('#curves canvas') !== null")


def stopped(tab: Tab, place: Workspace, run: str) -> int:
    """Press stop, and wait until it has saved; gives the step."""
    tab.press("[data-do=stop]")
    return has_stopped(tab, place, run)


@contextmanager
def held_still(pid: int) -> Iterator[None]:
    """A training that takes no step, however busy the machine is."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def has_stopped(tab: Tab, place: Workspace, run: str) -> int:
    tab.until("document.querySelector('#state')?.dataset.state === 'unfinished'")
    rows, saved = recorded(place, run), sorted((place.runs_folder / run / "checkpoints").glob("step-*"))
    step = rows[-1]["step"]
    assert any(path.name == f"step-{step}" for path in saved), "no step was lost"
    return int(step)


def test_stopped_and_gone_on_with_it_is_the_run_that_never_stopped(tab: Tab, studio: str, place: Workspace) -> None:
    rarely = {"plan.save_every": "400"}
    plan(tab, studio, steps=170, seed=7, **rarely)
    halted = start(tab)
    until_trained(place, halted, more_than=55)
    (job,) = Jobs(Roots([place.root.parent])).live()
    with held_still(job.pid):
        tab.until(f"({STEPS}).length > 55")
        tab.press("[data-do=stop]")
        tab.until(
            f"fetch('/api/w/ws/jobs/{job.number}').then((one) => one.json()).then((one) => one.state === 'stopping')"
        )
    step = has_stopped(tab, place, halted)
    assert 55 < step < 170, "in the middle, where nothing is saved else"
    tab.press("[data-do=resume]")
    tab.until("document.querySelector('#state')?.dataset.state === 'finished'", seconds=LONG)
    tab.until(f"({STEPS}).length === 170")
    whole([float(one) for one in tab.eval(STEPS)])
    plan(tab, studio, steps=170, seed=7, **rarely)
    straight = start(tab)
    assert straight != halted
    tab.until("document.querySelector('#state')?.dataset.state === 'finished'", seconds=LONG)
    one, other = (
        load_file(place.runs_folder / run / "checkpoints/step-170/weights.safetensors") for run in (halted, straight)
    )
    assert one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)
    told = [[{**row, "seconds": 0} for row in recorded(place, run)] for run in (halted, straight)]
    assert told[0] == told[1]


def test_a_server_killed_in_training_harms_no_run_and_the_open_page_finds_it_again(tab: Tab, tmp_path: Path) -> None:
    """The page is never loaded anew: window.before would be gone."""
    place = clips_to_train_on(tmp_path)
    first = {"changes": [f"{key}={value}" for key, value in SETTINGS.items()], "from_scratch": True, "new": True}
    first["changes"] += ["plan.steps=250", "family=vits"]
    second = {**first, "changes": [*first["changes"], "plan.steps=3", "seed=5"]}
    with server(tmp_path) as (process, opened):
        port = int(opened.rpartition(":")[2].partition("/")[0])
        tab.show(opened, DESK)
        for options in (first, second):
            ask = json.dumps({"ws": "ws", "verb": "train", "options": options})
            told = tab.eval(
                "fetch('/api/jobs', {method: 'POST', body: JSON.stringify(" + ask + "), headers: {'X-Olu-Studio': '1',"
                " 'Content-Type': 'application/json'}}).then((one) => one.json())"
            )
            assert told.get("state") in ("running", "waiting"), told
        until_trained(place, "vits-001", more_than=3)
        until_trained(place, "vits-001", more_than=20)
        job = Jobs(Roots([tmp_path])).one("ws", 1)
        with held_still(job.pid):
            tab.show(at(opened, "/w/ws/runs/vits-001"), DESK)
            tab.until(f"({STEPS}).length > 20")
            tab.eval("window.before = 1")
            process.kill()
            process.wait()
            cut = len(recorded(place, "vits-001"))
    until_trained(place, "vits-001", more_than=cut + 40)  # nobody serves, and it goes on
    with held_still(job.pid), server(tmp_path, at=port):
        assert len(recorded(place, "vits-001")) < 250
        tab.until(f"({STEPS}).length > {cut + 40}")
        whole([float(step) for step in tab.eval(STEPS)])
        alive = Jobs(Roots([tmp_path]))
        assert (alive.one("ws", 1).pid, alive.one("ws", 1).state) == (job.pid, "running")
        assert alive.one("ws", 2).state == "waiting"
        os.kill(job.pid, signal.SIGCONT)
        tab.until("document.querySelector('#state')?.dataset.state === 'finished'", seconds=LONG)
        tab.until(f"({STEPS}).length === 250")
        whole([float(step) for step in tab.eval(STEPS)])
        told = [row["gen"]["losses"]["mel"] for row in recorded(place, "vits-001")]
        assert np.allclose(tab.eval("oluRun.figures.curves.get('gen/mel').values"), told, rtol=1e-5)
        assert tab.eval("window.before") == 1
        state = "fetch('/api/w/ws/jobs/{}').then((one) => one.json()).then((one) => one.state === 'done')"
        for number in (1, 2):  # the queue goes on
            tab.until(state.format(number))
    assert len(recorded(place, "vits-002")) == 3


def until_trained(place: Workspace, run: str, *, more_than: int) -> None:
    end = time.monotonic() + 180
    while not (place.runs_folder / run / "metrics.jsonl").is_file() or len(recorded(place, run)) <= more_than:
        assert time.monotonic() < end, f"{run} does not go on"
        time.sleep(0.1)


def test_runs_beside_each_other(tab: Tab, studio: str, place: Workspace) -> None:
    names = sorted(path.name for path in place.runs_folder.glob("vits-*"))
    tab.show(at(studio, f"/w/ws/runs?show={','.join(names[-2:])}"), DESK)
    tab.until("document.querySelectorAll('#curves canvas').length > 3")
    tab.until("document.querySelectorAll('#curves .legend')[0].querySelectorAll('.key').length === 2")
    item = "document.querySelector('.item')"
    assert tab.eval(f"{item}.querySelectorAll('audio').length") == 2
    tab.eval(
        "window.played = []; document.querySelectorAll('.item audio').forEach((one) => "
        "one.addEventListener('ended', () => played.push(one.getAttribute('aria-label'))))"
    )
    tab.press(".item [data-row]")
    tab.until("played.length === 2")
    assert tab.eval("played") == names[-2:], "one after the other"
    for screen in (DESK, PHONE):
        tab.show(at(studio, "/w/ws/runs"), screen)
        assert tab.eval("document.documentElement.scrollWidth") <= screen.width
    assert not tab.eval("window.failures")


def test_exported_with_its_rights_and_spoken(tab: Tab, studio: str, place: Workspace) -> None:
    names = sorted(path.name for path in place.runs_folder.glob("vits-*"))
    run = names[-1] if names else trained(place)[0].run
    tab.show(at(studio, f"/w/ws/export?run={run}"), DESK)
    assert "Not complete" in tab.eval("document.body.innerText")
    tab.write("#licence", "CC-BY-4.0")
    tab.write("#consent", "Amina agreed on 3 May 2026 to a public voice")
    tab.press("#rights button.main")
    tab.until("document.querySelector('.verdict.good')?.textContent === 'Complete'")
    tab.press("#ask button.main")
    tab.until("location.pathname.startsWith('/w/ws/jobs/')")
    number = int(tab.eval("Number(location.pathname.split('/').at(-1))"))
    tab.until(f"fetch('/api/w/ws/jobs/{number}').then((one) => one.json()).then((one) => one.state === 'done')")
    tab.show(at(studio, "/w/ws/export"), DESK)
    link = tab.eval("document.querySelector('a[download]').getAttribute('href')")
    assert link == f"/api/w/ws/voices/ws-{run}.voice/download"
    tab.show(at(studio, f"/w/ws/speak?voice=ws/ws-{run}.voice"), PHONE)
    spoken(tab, "Habari ya asubuhi. Karibu sana.")
    assert tab.eval("document.querySelectorAll('#rows tr').length") == 5, "each word has its times"


def spoken(tab: Tab, text: str) -> None:
    tab.until("document.querySelector('#voice').value !== ''")
    tab.write("#text", text)
    tab.press("#speak")
    tab.until("document.querySelector('#status').textContent === 'Finished.'")
    assert tab.eval("document.querySelector('#trouble').hidden")


def test_a_tone_is_dragged_and_said_so(tab: Tab, studio: str, place: Workspace) -> None:
    melodic(place.voices / "ade.voice")
    found = "fetch('/api/voices').then((one) => one.json()).then((all) => JSON.stringify(all).includes('ade.voice'))"
    tab.until(found)  # voices that come are looked for once a second
    tab.show(at(studio, "/w/ws/speak?voice=ws/ade.voice"), DESK)
    spoken(tab, "Ẹ káàárọ̀.")
    before, _ = tab.heard()
    tab.press("#plan")
    tab.until("document.querySelectorAll('.dot').length > 3")
    high = ".dot[aria-label*='tone H']"
    tab.eval(f"document.querySelector({high!r}).scrollIntoView({{block: 'center'}})")
    box = f"document.querySelector({high!r}).getBoundingClientRect()"
    x, y = tab.eval(f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({box})")
    hertz = tab.eval(f"Number(document.querySelector({high!r}).getAttribute('aria-valuenow'))")
    for kind, to in (("mousePressed", y), ("mouseMoved", y - 20), ("mouseMoved", y - 40), ("mouseReleased", y - 40)):
        tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=to, button="left", buttons=1, clickCount=1)
    moved = tab.eval(f"Number(document.querySelector({high!r}).getAttribute('aria-valuenow'))")
    assert moved > 1.05 * hertz and not tab.eval("document.querySelector('#as-planned').disabled")
    tab.eval(f"document.querySelector({high!r}).focus()")
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, key="ArrowDown", code="ArrowDown")
    assert tab.eval(f"Number(document.querySelector({high!r}).getAttribute('aria-valuenow'))") < moved
    tab.press("#say-it")
    tab.until("document.querySelector('#status').textContent === 'Finished.'")
    after, _ = tab.heard()
    size = min(len(before), len(after))
    assert size > 1000 and not np.allclose(before[:size], after[:size], atol=1e-3), "it is another sound"
    tab.press("#as-planned")
    assert tab.eval("document.querySelectorAll('.dot.moved').length") == 0
    assert not tab.eval("window.failures")

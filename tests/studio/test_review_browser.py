"""Reviewers in real browsers: corrections by keyboard alone, by two people and a terminal at once, and taken back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from olu.core.files import Workspace
from olu.corpus import corrections
from olu.corpus.decisions import load
from olu.corpus.manifest import Corpus
from olu.studio.people import Links
from olu.studio.roots import Roots

from ..helpers.browser import BROWSER, chromium
from ..helpers.clip_workspaces import large_workspace, wave
from ..helpers.studio import running
from ..helpers.studio_tab import DESK, StudioTab

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]
COUNT = int(os.environ.get("OLU_CORRECTIONS", "500"))
CHOSEN = "document.querySelector('.chosen')?.dataset.id"
FOCUS = "document.activeElement.closest('.clip-row')?.dataset.id"


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return large_workspace(tmp_path, COUNT + 60, sounds=COUNT + 60)


@pytest.fixture
def people(tmp_path: Path, ws: Workspace) -> Iterator[tuple[StudioTab, StudioTab]]:
    """Two reviewers with links of their own, each in a browser of her own."""
    with running(tmp_path) as address:
        base = address.partition("/?")[0]
        links = Links(Roots((tmp_path,)))
        with chromium(tmp_path / "one") as one, chromium(tmp_path / "two") as two:
            tabs = []
            for tab, name in ((one, "Amina"), (two, "Juma")):
                _, secret = links.make(role="reviewer", name=name, ws=ws)
                tab.show(f"{base}/l/{secret}", DESK)
                tabs.append(StudioTab(tab, base))
                tabs[-1].until(f"!!{CHOSEN}")
            yield tabs[0], tabs[1]
            for tab in (one, two):
                tab.call("Page.navigate", url="about:blank")


def correct(person: StudioTab, count: int) -> list[str]:
    """So many clips, one after another, by keys alone; the focus stays in the list all the while."""
    done = []
    for _ in range(count):
        id = person.until(CHOSEN)
        assert person.until(f"{FOCUS} === {id!r}")
        person.key("e")
        person.until("document.activeElement.name === 'text'")
        person.tab.call("Input.insertText", text=" tena")
        person.key("Enter")
        person.until(f"{CHOSEN} && {CHOSEN} !== {id!r} && {FOCUS} === {CHOSEN}")
        done.append(id)
    return done


def take_all_back(person: StudioTab, count: int) -> None:
    for left in range(count, 0, -1):
        before = person.until("document.getElementById('undo').dataset.batch")
        person.key("z")
        person.until(f"document.getElementById('undo').dataset.batch !== {before!r}")
        assert left == 1 or person.tab.eval("document.activeElement !== document.body")
    person.until("document.getElementById('undo').disabled")


def test_corrections_by_two_people_by_keyboard_alone_then_taken_back(
    people: tuple[StudioTab, StudioTab], ws: Workspace
) -> None:
    amina, juma = people
    before, texts = corrections.load(ws), [clip.text for clip in Corpus.open(ws)]
    first = correct(amina, COUNT // 2)
    time.sleep(1.5)  # where she stopped is written
    juma.show("/w/large/clips")
    juma.until("!!document.getElementById('go-on')")
    juma.key("g")
    juma.until(f"location.hash.startsWith('#clip=') && !!{CHOSEN} && {FOCUS} === {CHOSEN}")
    second = correct(juma, COUNT - COUNT // 2)
    ids = [clip.id for clip in Corpus.open(ws)]
    assert first + second == ids[: len(first) + len(second)]  # he began where she stopped
    held = corrections.in_force(ws)
    assert [held[id].by for id in first] == ["Amina"] * len(first)
    assert [held[id].by for id in second] == ["Juma"] * len(second)
    assert all(held[id].text.endswith(" tena") for id in ids[:COUNT])
    take_all_back(amina, len(first))
    take_all_back(juma, len(second))
    assert corrections.load(ws) == before and [clip.text for clip in Corpus.open(ws)] == texts
    assert corrections.hash_texts(ws) == ""
    for person in people:
        person.quiet()


def test_two_people_and_a_terminal_while_an_import_runs(
    people: tuple[StudioTab, StudioTab], ws: Workspace, tmp_path: Path
) -> None:
    from olu.audio import io

    amina, juma = people
    more = tmp_path / "more"
    more.mkdir()
    for number in range(150):
        io.write(more / f"new{number:03}.wav", wave(number % 12, 2.0))
        (more / f"new{number:03}.txt").write_text(f"neno jipya {number}", encoding="utf-8")
    olu, terminal = [sys.executable, "-m", "olu"], {**os.environ, "LOGNAME": "terminal"}
    juma.show("/w/large/clips")
    juma.until(f"!!{CHOSEN}")
    importing = subprocess.Popen([*olu, "import", str(ws.root), str(more)], stdout=subprocess.DEVNULL)
    ids = [clip.id for clip in Corpus.open(ws)]
    row = "document.querySelector('[data-id=\"{id}\"]')"
    waits = []
    for turn in range(5):
        mine = correct(amina, 1)[0]
        begun = time.monotonic()
        juma.until(f"{row.format(id=mine)}.querySelector('.text').textContent.endsWith(' tena')", seconds=20)
        seen = time.monotonic() - begun
        dropped = ids[20 + turn]
        subprocess.run([*olu, "drop", str(ws.root), dropped], check=True, stdout=subprocess.DEVNULL, env=terminal)
        begun = time.monotonic()
        for person in people:
            person.until(f"{row.format(id=dropped)}.classList.contains('dropped')", seconds=20)
        waits.append((seen, time.monotonic() - begun))
    assert importing.wait(120) == 0
    assert median(max(pair) for pair in waits) < 2, waits  # one may meet a busy machine
    assert len(corrections.load(ws)) == 5 and sum(one.who == "terminal" for one in load(ws)) == 5
    assert len(Corpus.open(ws)) == len(ids) + 150
    for person in people:
        person.quiet()


def test_a_clip_in_her_hands_is_grey_for_him(people: tuple[StudioTab, StudioTab], ws: Workspace) -> None:
    amina, juma = people
    id = amina.until(CHOSEN)
    amina.tab.eval("new Promise((done) => setTimeout(done, 800))")
    amina.key("e")
    juma.until("document.querySelector('.chosen').classList.contains('held')", seconds=10)
    assert juma.tab.eval("document.querySelector('.chosen .hands').textContent") == "Amina is writing here"
    if folder := os.environ.get("OLU_PICTURES"):
        juma.tab.picture(Path(folder) / "hands.png")
        amina.tab.picture(Path(folder) / "edit.png")
    juma.key("e")
    juma.until("document.getElementById('told').textContent === 'Amina is writing here'")
    assert juma.tab.eval("document.activeElement.name !== 'text'")
    amina.key("Escape")
    juma.until("!document.querySelector('.chosen').classList.contains('held')", seconds=10)
    amina.key("e")
    juma.until("document.querySelector('.chosen').classList.contains('held')", seconds=10)
    amina.tab.call("Page.navigate", url="about:blank")  # she is gone without a word
    juma.until("!document.querySelector('.chosen').classList.contains('held')", seconds=30)
    juma.key("e")
    juma.until("document.activeElement.name === 'text'")
    assert juma.until(CHOSEN) == id
    juma.quiet()

"""Clips, audit and reading in a real Chromium: by keyboard, by finger, with hostile texts, beside a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.decisions import in_force, load
from olu.corpus.manifest import Corpus
from olu.stages.audit import audit
from olu.stages.decide import decide

from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.clip_workspaces import HOSTILE, TEXTS, clip_workspace, large_workspace
from ..helpers.studio import running
from ..helpers.studio_tab import StudioTab as Studio

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]
DESK, PHONE = Screen(1280, 900), Screen(390, 844, phone=True)
SCREENS = [DESK, PHONE, Screen(320, 640, phone=True), Screen(390, 844, phone=True, dark=True), Screen(640, 450)]
CHOSEN = "document.querySelector('.chosen')?.dataset.id"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return clip_workspace(tmp_path)


@pytest.fixture
def studio(tmp_path: Path, ws: Workspace, tab: Tab) -> Iterator[Studio]:
    with running(tmp_path) as address:
        tab.show(address, DESK)
        yield Studio(tab, address.partition("/?")[0])
        tab.call("Page.navigate", url="about:blank")


def test_clips_are_heard_dropped_kept_and_taken_back_by_keys_alone(studio: Studio, ws: Workspace) -> None:
    tab = studio.tab
    studio.show("/w/swa/clips")
    studio.until(f"{CHOSEN} === 'c0'")
    studio.until(
        "document.querySelector('.chosen .spectrum').complete && !document.querySelector('.chosen .spectrum').hidden"
    )
    studio.key(" ")
    studio.until("!document.getElementById('player').paused && document.getElementById('player').currentTime > 0.1")
    studio.until("document.querySelector('.chosen .head').style.left !== ''")
    studio.key("j")
    studio.until(f"{CHOSEN} === 'c1'")
    studio.key("d")
    studio.until(f"{CHOSEN} === 'c2' && document.querySelector('[data-id=c1]').classList.contains('dropped')")
    assert in_force(load(ws))["c1"].decision == "drop"
    studio.key("a")
    studio.until(f"{CHOSEN} === 'c3'")
    studio.key("k")
    studio.until(f"{CHOSEN} === 'c2'")
    assert tab.eval("document.activeElement.dataset.id") == "c2"  # the focus is never lost
    studio.key("z")
    studio.until("document.querySelector('#told').textContent.includes('Taken back: 1 clip kept')")
    studio.key("z")
    studio.until("!document.querySelector('[data-id=c1]').classList.contains('dropped')")
    studio.until("document.getElementById('undo').disabled")
    assert load(ws) == ()
    studio.quiet()


def test_a_text_is_corrected_by_keys_with_its_reading_below(studio: Studio, ws: Workspace) -> None:
    tab = studio.tab
    studio.show("/w/swa/clips")
    tab.eval("document.getElementById('by').value = 'amina'")
    studio.key("j")
    studio.key("e")
    studio.until("document.activeElement.name === 'text'")
    studio.until("document.querySelector('.chosen .reading').textContent.includes('k ˈu m i')")  # of 12
    tab.eval("document.activeElement.select()")
    tab.call("Input.insertText", text="Watu wawili djk")
    studio.until("document.querySelector('.chosen .reading').textContent.startsWith('w ˈa t u | w')")
    studio.key("Enter")
    studio.until(f"{CHOSEN} === 'c2'")
    assert [clip.text for clip in Corpus.open(ws)][1] == "Watu wawili djk" and load(ws) == ()  # letters were no keys
    studio.key("k")
    studio.key("e")
    studio.key("Escape")
    studio.until("document.querySelector('.chosen .edit').hidden")
    studio.key("z")
    studio.until("document.querySelector('[data-id=c1] .text').textContent === 'Watu 12 wamefika'")
    assert [clip.text for clip in Corpus.open(ws)][1] == TEXTS[1]
    studio.quiet()


def test_all_of_a_filter_are_dropped_after_a_question_and_come_back_at_once(studio: Studio, ws: Workspace) -> None:
    tab = studio.tab
    studio.show("/w/swa/clips?check=clipping")
    tab.press("[data-all=drop]")
    assert studio.until("document.getElementById('all').open && document.getElementById('all-title').textContent") == (
        "Drop all 2 clips?"
    )
    tab.press("#all button[value=no]")
    studio.until("!document.getElementById('all').open")
    assert load(ws) == ()
    tab.press("[data-all=drop]")
    tab.write("#all [name=reason]", "too loud")
    tab.press("#all button[value=yes]")
    studio.until("document.querySelectorAll('.dropped').length === 2 && !!document.querySelector('.chosen')")
    assert {(one.id, one.reason) for one in load(ws)} == {("c2", "too loud"), ("c4", "too loud")}
    tab.press("#undo")
    studio.until("document.querySelectorAll('.dropped').length === 0")
    assert load(ws) == ()
    studio.quiet()


def test_what_a_terminal_decides_is_seen_within_two_seconds(studio: Studio, ws: Workspace) -> None:
    studio.show("/w/swa/clips")
    studio.until(f"{CHOSEN} === 'c0'")
    studio.tab.eval("new Promise((done) => setTimeout(done, 1000))")
    decide(ws, ["c4"], decision="drop", by="terminal")
    studio.until("document.querySelector('[data-id=c4]').classList.contains('dropped')")
    studio.until("document.querySelector('#counts').textContent.includes('drop')")
    studio.quiet()


def test_hostile_texts_are_seen_as_texts(studio: Studio, ws: Workspace) -> None:
    finish(audit(ws))
    for path in ("/w/swa/clips", "/w/swa/audit", "/w/swa/reading"):
        studio.show(path)
        studio.tab.eval("new Promise((done) => setTimeout(done, 800))")
        studio.quiet()
    studio.tab.write("#text", HOSTILE)
    studio.tab.eval("new Promise((done) => setTimeout(done, 800))")
    studio.quiet()
    assert studio.tab.eval("document.querySelectorAll('main img[src=x], main script').length") == 0


@pytest.mark.parametrize("screen", SCREENS, ids=lambda one: f"{one.width}{'-dark' if one.dark else ''}")
def test_nothing_sticks_out_and_targets_are_large(studio: Studio, ws: Workspace, screen: Screen) -> None:
    finish(audit(ws))
    for path in ("/w/swa/clips", "/w/swa/audit", "/w/swa/reading"):
        studio.show(path, screen)
        studio.tab.eval("new Promise((done) => setTimeout(done, 700))")
        assert studio.tab.eval("document.documentElement.scrollWidth <= innerWidth"), path
        if screen.phone:
            small = (
                "[...document.querySelectorAll('main button')].filter((one) => one.checkVisibility()"
                " && one.getBoundingClientRect().height < 40).map((one) => one.outerHTML)"
            )
            assert studio.tab.eval(small) == [], path
    studio.quiet()


def test_an_audit_is_made_fixed_and_undone_on_its_page(studio: Studio, ws: Workspace) -> None:
    tab = studio.tab
    studio.show("/w/swa/audit")
    tab.press("[data-again]")
    studio.until("!!document.querySelector('.verdict')")
    tab.press("[data-run*=dry_run]")
    studio.until("!document.getElementById('outcome').hidden && !!document.querySelector('#outcome td')")
    assert load(ws) == ()
    tab.press("[data-run='{\"fix\": true}']")
    studio.until("document.querySelector('[data-run*=undo]')?.disabled === false")
    studio.until("document.querySelector('#told')?.textContent.includes('Fixed')")
    assert {one.by for one in load(ws)} == {"fix"}
    tab.press("[data-run*=undo]")
    studio.until("document.querySelector('#told')?.textContent.includes('taken back')")
    assert load(ws) == ()
    tab.press("tbody td[data-label=clips] a")
    studio.until("location.pathname === '/w/swa/clips' && !!document.querySelector('.chip[aria-current]')")
    studio.quiet()


def test_a_word_is_tried_saved_and_read(studio: Studio, ws: Workspace) -> None:
    tab = studio.tab
    studio.show("/w/swa/reading")
    tab.write("#text", "Watu 3")
    studio.until("document.querySelector('#words').textContent.includes('tatu')")
    studio.until("document.querySelector('#steps').textContent.includes('number')")
    tab.press("#words button")
    assert studio.until("document.querySelector('#add').elements.phones.value") == "w ˈa t u"
    tab.write("#add [name=phones]", "w a t a")
    studio.until("document.querySelector('#look').textContent.includes('touches 1 clip')")
    assert not (ws.root / "lexicon.tsv").exists()
    tab.press("#add button[type=submit]")
    studio.until("document.querySelector('#held').textContent.includes('w a t a')")
    assert "watu\tw a t a" in (ws.root / "lexicon.tsv").read_text()
    studio.until("!document.querySelector('#words .stress')?.closest('li').textContent.includes('watu')")
    studio.quiet()


def test_a_hundred_thousand_clips_are_paged_and_found(tmp_path: Path, tab: Tab) -> None:
    large_workspace(tmp_path, 100_000, sounds=60)
    with running(tmp_path) as address:
        tab.show(address, DESK)
        studio = Studio(tab, address.partition("/?")[0])
        studio.show("/w/large/clips")
        studio.until("document.querySelectorAll('.clip-row').length === 50")
        assert "100,000 clips" in tab.eval("document.querySelector('.tally').innerText")
        tab.press(".pager a[rel=next]")
        studio.until(
            "location.search === '?at=50' && document.querySelector('.clip-row')?.dataset.id.includes('000050')"
        )
        tab.write("#where", "seconds > 11.9 and speaker == 'speaker7'")
        studio.key("Enter")
        studio.until("location.search.includes('where') && !!document.querySelector('#found')")
        count = int(tab.eval("document.querySelector('#found').textContent").replace(",", ""))
        assert 0 < count < 1000
        studio.show("/w/large/clips")
        studio.key("d")
        studio.until("document.querySelector('.clip-row').classList.contains('dropped')")
        studio.quiet()
        tab.call("Page.navigate", url="about:blank")

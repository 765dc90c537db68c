"""Listeners in a real Chromium, on a desk and on a phone: blind, one answer after another, nothing lost on a reload."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from olu.core.files import Workspace
from olu.evaluate.listening import answers, place_of, trials
from olu.evaluate.listening_results import result_of

from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.listened import SENTENCES, VOICES, evaluated_workspace, made_test
from ..helpers.studio import running
from ..helpers.studio_tab import DESK, StudioTab

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]
PHONE = Screen(390, 844, phone=True)
SCREENS = [DESK, Screen(1280, 900, dark=True), PHONE, Screen(320, 640, phone=True, dark=True), Screen(640, 450)]
SHOWN = "!document.getElementById('trial').hidden"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return evaluated_workspace(tmp_path)


@pytest.fixture
def owner(tmp_path: Path, ws: Workspace, tab: Tab) -> Iterator[StudioTab]:
    with running(tmp_path) as address:
        tab.show(address, DESK)
        yield StudioTab(tab, address.partition("/?")[0])
        tab.call("Page.navigate", url="about:blank")


def link(owner: StudioTab, test: str = "evening-1", name: str = "Amina") -> str:
    """A link from the test's page, as whoever made the test gets it."""
    owner.show(f"/w/ws/listening/{test}")
    owner.tab.write("#names", name)
    owner.tab.press("#people button.main")
    address = owner.until("document.querySelector('#made code')?.textContent")
    assert owner.tab.eval("!!document.querySelector('#made svg')")
    return str(re.sub(r"^https?://[^/]+", "", address))


def answered(person: StudioTab, number: int) -> None:
    person.until(f"document.getElementById('far').value === {number}")


def test_a_test_is_made_by_its_form_and_heard_blind(owner: StudioTab, ws: Workspace) -> None:
    owner.show("/w/ws/listening")
    for name in VOICES:
        owner.tab.press(f"input[value='evaluations/{name}']")
    owner.tab.press("#make button.main")
    owner.until("location.pathname.includes('/jobs/')")
    owner.until("document.body.innerText.includes('Done') && document.body.innerText.includes('evening-1')", seconds=60)
    secret = link(owner)
    person = owner
    person.tab.asked.clear()
    person.show(secret)
    person.until("location.pathname === '/w/ws/listen/evening-1'")
    person.until(SHOWN)
    for n in range(len(SENTENCES)):
        answered(person, n)
        person.tab.press("[data-play='1']")
        person.until("document.querySelector('[data-play=\"1\"]').classList.contains('heard')")
        if n == 2:  # in the middle the page is opened anew
            person.show("/w/ws/listen/evening-1")
            person.until(SHOWN)
            assert person.tab.eval("document.getElementById('place').textContent") == f"3 of {len(SENTENCES)}"
        person.tab.press(f"[data-answer='{1 + n % 2}']")
    person.until("!document.getElementById('end').hidden")
    source = person.tab.eval("document.documentElement.outerHTML + JSON.stringify(localStorage)")
    for trace in (*VOICES, "alpha", "beta", "swapped"):
        assert trace not in source and not [one for one in person.tab.asked if trace in one], trace
    held = answers(place_of(ws, "evening-1"))
    assert len(held) == len(SENTENCES) and {one.name for one in held} == {"Amina"}
    person.quiet()


def test_words_are_typed_and_opinions_given_by_keys(owner: StudioTab, ws: Workspace) -> None:
    typed = made_test(ws, "typed", kind="words")
    made_test(ws, "rated", kind="mos")
    owner.show("/w/ws/listen/typed")
    owner.until(SHOWN)
    for n, one in enumerate(trials(typed, "owner")):
        answered(owner, n)
        owner.tab.press("#typed textarea")
        owner.tab.call("Input.insertText", text=typed.sentences[one.sentence].text.upper())
        owner.key("Enter")
    owner.until("!document.getElementById('end').hidden")
    assert all(voice.letters and voice.letters.middle == 0 for voice in result_of(place_of(ws, "typed")).voices)
    owner.show("/w/ws/listen/rated")
    owner.until(SHOWN)
    for n in range(2 * len(SENTENCES)):
        answered(owner, n)
        owner.tab.press(f"[data-answer='{1 + n % 5}']")
    owner.until("!document.getElementById('end').hidden")
    assert result_of(place_of(ws, "rated")).answers == 2 * len(SENTENCES)
    owner.quiet()


@pytest.mark.parametrize("screen", SCREENS, ids=lambda one: f"{one.width}{'-dark' if one.dark else ''}")
def test_nothing_sticks_out_and_targets_are_large(owner: StudioTab, ws: Workspace, screen: Screen) -> None:
    for kind in ("ab", "mos", "words"):
        made_test(ws, f"evening-{kind}", kind=kind)
    pages = {f"listen-{kind}": f"/w/ws/listen/evening-{kind}" for kind in ("ab", "mos", "words")}
    pages |= {"listening": "/w/ws/listening", "listened": "/w/ws/listening/evening-ab"}
    for name, path in pages.items():
        owner.show(path, screen)
        owner.tab.eval("new Promise((done) => setTimeout(done, 500))")
        if folder := os.environ.get("OLU_PICTURES"):
            owner.tab.picture(Path(folder) / f"{name}-{screen.width}{'-dark' if screen.dark else ''}.png")
        assert owner.tab.eval("document.documentElement.scrollWidth <= innerWidth"), path
        small = (
            "[...document.querySelectorAll('main button, main a.button, main input:not([type=checkbox])')]"
            ".filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 40)"
            ".map((one) => one.outerHTML)"
        )
        assert not screen.phone or owner.tab.eval(small) == [], path
    owner.quiet()

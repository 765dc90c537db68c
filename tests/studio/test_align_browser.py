"""Boundaries in a real Chromium: dragged, moved by keys, heard, kept by an alignment made anew."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from olu.align.textgrid_files import write_all
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Alignment
from olu.corpus.hand_bounds import load, read_alignments
from olu.stages.align import align
from olu.stages.bounds import set_bounds

from ..helpers.aligned_workspaces import TEXTS, workspace
from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.studio import running
from ..helpers.studio_tab import DESK, StudioTab

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
]
SAVED = "document.getElementById('state').textContent === 'saved'"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as made:
        yield made


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    made, truth = workspace(tmp_path, TEXTS[:4])
    write_all(tmp_path / "grids", truth.values())
    finish(align(made, source=tmp_path / "grids"))
    return made


@pytest.fixture
def studio(tmp_path: Path, ws: Workspace, tab: Tab) -> Iterator[StudioTab]:
    with running(tmp_path) as address:
        tab.show(address, DESK)
        yield StudioTab(tab, address.partition("/?")[0])
        tab.call("Page.navigate", url="about:blank")


def first(ws: Workspace) -> Alignment:
    return next(iter(read_alignments(ws).values()))


def opened(studio: StudioTab, ws: Workspace, screen: Screen = DESK) -> Alignment:
    base = first(ws)
    studio.show(f"/w/ws/align/clip?id={base.id}", screen)
    studio.until("document.querySelectorAll('.edge').length > 3 && document.getElementById('spectrum').complete")
    return base


def touching(one: Alignment) -> bool:
    pairs = zip(one.phones, one.phones[1:], strict=False)
    return all(a.end == b.start for a, b in pairs) and one.phones[0].start == 0


def test_a_boundary_is_dragged_and_an_alignment_made_anew_keeps_it(studio: StudioTab, ws: Workspace) -> None:
    base = opened(studio, ws)
    width = studio.tab.eval("document.getElementById('lane').clientWidth")
    studio.drag("[data-edge='2']", 0.05 * width / base.seconds)
    studio.until(SAVED)
    now = first(ws)
    assert now.method == "hand" and touching(now)
    assert abs(now.phones[2].end - base.phones[2].end - 0.05) <= 0.0051
    assert round(now.phones[2].end * 1000) % 5 == 0  # in steps of 5 ms
    heard = studio.until("document.getElementById('lane').dataset.heard")
    assert heard == f"{now.phones[2].start:.3f} {now.phones[3].end:.3f}"  # at once, both sides
    command = [sys.executable, "-m", "olu", "align", str(ws.root), "--from", str(ws.root.parent / "grids"), "--force"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "1 clip keeps the boundaries set by hand" in told.stdout
    assert first(ws) == now
    opened(studio, ws)
    assert studio.tab.eval("document.getElementById('made').textContent").startswith("set by hand")
    studio.quiet()


def test_boundaries_are_moved_by_keys_alone_and_taken_back(studio: StudioTab, ws: Workspace) -> None:
    base = opened(studio, ws)
    studio.until("document.activeElement.classList.contains('edge')")
    studio.keys("jj")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        studio.key(key)
    studio.until(SAVED)
    now = first(ws)
    assert abs(now.phones[2].end - base.phones[2].end - 0.01) <= 0.0026 and touching(now)
    assert len(load(ws)) == 1  # one burst is one change
    assert studio.tab.eval("document.activeElement.dataset.edge") == "2"
    assert studio.tab.eval("document.activeElement.ariaValueText") == f"{now.phones[2].end:.3f} s"
    studio.key("i")
    studio.until("document.querySelectorAll('.phones .quiet').length > 0")
    studio.until(SAVED)
    assert len(first(ws).phones) == len(base.phones) + 1
    studio.key("x")
    studio.until(f"document.querySelectorAll('.edge').length === {len(base.phones) - 1}")
    studio.until(SAVED)
    for _ in range(3):
        studio.key("z")
        studio.until("document.getElementById('told').textContent.startsWith('Taken back')")
        studio.tab.eval("document.getElementById('told').textContent = ''")
    studio.until("document.getElementById('undo').disabled")
    assert first(ws) == base
    studio.key("w")
    studio.until("!!document.getElementById('lane').dataset.heard")
    studio.quiet()


def test_what_another_sets_is_seen_and_never_overwritten(studio: StudioTab, ws: Workspace) -> None:
    base = opened(studio, ws)
    studio.tab.eval("new Promise((done) => setTimeout(done, 1000))")
    phones = [(one.label, one.start, one.end) for one in base.phones]
    phones[1:3] = [(phones[1][0], phones[1][1], phones[1][2] + 0.02), (phones[2][0], phones[2][1] + 0.02, phones[2][2])]
    set_bounds(ws, base, phones, by="juma")
    studio.until("document.getElementById('made').textContent === 'set by hand: juma'", seconds=10)
    studio.quiet()


@pytest.mark.parametrize(
    "screen",
    [
        DESK,
        Screen(1280, 900, dark=True),
        Screen(390, 844, phone=True),
        Screen(320, 640, phone=True, dark=True),
        Screen(640, 450),
    ],
    ids=lambda one: f"{one.width}{'-dark' if one.dark else ''}",
)
def test_nothing_sticks_out_and_targets_are_large(studio: StudioTab, ws: Workspace, screen: Screen) -> None:
    opened(studio, ws, screen)
    for path in (None, "/w/ws/align"):
        if path:
            studio.show(path, screen)
        studio.tab.eval("new Promise((done) => setTimeout(done, 700))")
        if folder := os.environ.get("OLU_PICTURES"):
            name = f"{'align' if path else 'bounds'}-{screen.width}{'-dark' if screen.dark else ''}.png"
            studio.tab.picture(Path(folder) / name)
        assert studio.tab.eval("document.documentElement.scrollWidth <= innerWidth"), path
        small = (
            "[...document.querySelectorAll('main button:not(.tier *), main a.button')].filter((one) =>"
            " one.checkVisibility() && one.getBoundingClientRect().height < 40).map((one) => one.outerHTML)"
        )
        assert not screen.phone or studio.tab.eval(small) == [], path
    studio.quiet()

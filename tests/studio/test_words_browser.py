"""Every kind of page in every language of the interface, narrow and wide, in Chromium: long words push nothing out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from olu.align.textgrid_files import write_all
from olu.core.job import finish
from olu.stages.align import align
from olu.studio import words

from ..helpers.aligned_workspaces import TEXTS as SAID
from ..helpers.aligned_workspaces import workspace as aligned
from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.melodic import melodic
from ..helpers.studio import running
from ..helpers.workspaces import trained, workspace
from .test_axe_browser import KINDS, placed

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not BROWSER or os.environ.get("OLU_SOAK") != "1", reason="make soak: a browser is slow"),
]
SCREENS = (Screen(1280, 900), Screen(360, 740, phone=True))
TEXTS = ("abba", "bab", "abab", "baab")
PICTURES = os.environ.get("OLU_PICTURES", "")  # a folder: each page is kept there as a picture
PAGES = ("/", "/new", "/jobs", "/settings", "/options", "/options/new", "/enter", "/nowhere")
TABS = (
    *("", "import", "record", "clips", "audit", "reading", "align", "train", "runs", "evaluate", "listening"),
    *("export", "speak", "jobs", "options", "options/train"),
)
TRAINED = ("runs", "train", "export", "speak", "evaluate")  # of the workspace that has runs, too
# One of each kind is looked at: a clip's boundaries, a run, an evaluation, a listening test and its listening, a job.
LINKED = (
    *(r"/align/clip\?[^\"#]*", r"/runs/[^\"?#]+", r"/evaluate/[^\"?#]+", r"/listening/[^\"?#]+", r"/listen/[^\"?#]+"),
    *(r"/jobs/\d+", r"/import/\d+"),
)
OPEN = """document.querySelectorAll("details").forEach((one) => { one.open = true; });
document.querySelectorAll(".more, [role=tabpanel], #trial, #result, #melody, #heard, #desk, #consent, #room, #over")
  .forEach((one) => { one.hidden = false; }); document.querySelectorAll(".clip-row .more form.edit").forEach((one) =>
  { one.hidden = false; });"""
# What is wider than its place: the page, and whatever is neither scrolled nor meant to be cut.
WIDE = """(() => {
  const root = document.documentElement, found = [];
  if (root.scrollWidth > root.clientWidth) found.push(`page ${root.scrollWidth} of ${root.clientWidth}`);
  const scrolled = (one) => { for (let at = one; at && at !== document.body; at = at.parentElement)
    if (/auto|scroll|hidden|clip/.test(getComputedStyle(at).overflowX)) return true; return false; };
  for (const one of document.body.querySelectorAll("*")) {
    if (!one.checkVisibility() || one.closest("svg, .hidden, .unseen, .skip") || scrolled(one)) continue;
    const look = getComputedStyle(one), box = one.getBoundingClientRect();
    const out = box.right > root.clientWidth + 1 || box.left < -1;
    const over = look.display !== "inline" && one.clientWidth && one.scrollWidth > one.clientWidth + 1;
    if (out || over) found.push(`${one.tagName}.${one.className} ${one.textContent.trim().slice(0, 60)} ` +
      `(${one.scrollWidth} of ${one.clientWidth}, at ${Math.round(box.left)} to ${Math.round(box.right)})`);
  }
  return found.slice(-4);
})()"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Tab, dict[str, str]]]:
    root = tmp_path_factory.mktemp("root")
    (root / ".olu-studio").mkdir()
    _, secrets = placed(root)
    (root / "bounds").mkdir()
    bounds, truth = aligned(root / "bounds", SAID[:4])
    write_all(root / "grids", truth.values())
    finish(align(bounds, source=root / "grids"))
    place = workspace(
        root / "made", [(f"c{n}", text, "ada", "valid" if n == 3 else "train") for n, text in enumerate(TEXTS)]
    )
    trained(place)
    trained(place, "seed=2")
    melodic(place.voices / "ade.voice")
    french = words.languages()["fr"]  # as long as any, and here from right to left
    words.languages()["ar"] = replace(french, code="ar", name="العربية", direction="rtl")
    flags = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
    with (
        running(root, *(root / name for name in ("heard", "made", "bounds"))) as address,
        chromium(root / "browser", flags=flags) as tab,
    ):
        base, _, key = address.partition("/?")
        yield base, key, tab, secrets
        as_owner(base, key, tab, SCREENS[0])  # plans that the page Train has begun come to their end
        tab.until("fetch('/jobs').then((one) => one.text()).then((page) => !page.includes('id=\"busy\"'))", seconds=120)
        tab.call("Page.navigate", url="about:blank")
    del words.languages()["ar"]


def as_owner(base: str, key: str, tab: Tab, screen: Screen) -> None:
    """Without the link that the last page was opened by."""
    tab.call("Network.deleteCookies", name=f"olu-link-{base.rpartition(':')[2]}", url=base)
    tab.show(f"{base}/?{key}", screen)


def kinds_of(base: str, tab: Tab, links: dict[str, str]) -> list[str]:
    """An address of each kind of page."""
    slugs = sorted(set(re.findall(r"/w/([\w-]+)", tab.eval("document.body.innerHTML"))))
    found = [*PAGES, *(f"/w/ws/{one}".rstrip("/") for one in TABS), *(f"/w/made-ws/{one}" for one in TRAINED)]
    for path in (f"/w/{slug}/{one}" for slug in slugs for one in TABS):
        tab.show(base + path, SCREENS[0])
        page = tab.eval("document.body.innerHTML").replace("&amp;", "&")
        for kind in LINKED:
            seen = any(re.fullmatch(rf"/w/[^/]+{kind}", one) for one in found)
            if not seen and (link := re.search(rf'href="(/w/[^/]+{kind})"', page)):
                found.append(link[1])
    return [*found, f"/r/{links['speaker']}", *(f"/l/{links[kind]}" for kind in (*KINDS, "reviewer"))]


@pytest.mark.parametrize("language", [*(one for one in words.languages() if one != "en"), "ar"])
def test_nothing_is_pushed_out_of_a_page(studio: tuple[str, str, Tab, dict[str, str]], language: str) -> None:
    base, key, tab, links = studio
    tab.call("Network.setCookie", name=words.COOKIE, value=language, url=base)
    found: dict[str, list[str]] = {}
    for screen in SCREENS:
        as_owner(base, key, tab, screen)
        pages = kinds_of(base, tab, links)
        assert len(pages) > 38, pages
        for number, path in enumerate(pages):
            tab.show(base + path, screen)
            tab.until(
                "document.body && document.readyState === 'complete' && !document.querySelector('meta[http-equiv]')"
            )
            assert tab.eval("document.documentElement.lang") == language, path
            tab.eval(OPEN)
            if wide := tab.eval(WIDE):
                found[f"{screen.width} {path}"] = wide
            if PICTURES:
                tab.picture(Path(PICTURES) / f"{language}-{screen.width}-{number:02}.png")
    assert not found, "\n".join(f"{path}: {one}" for path, held in found.items() for one in held)

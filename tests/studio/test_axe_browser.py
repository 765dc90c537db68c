"""The pages in Chromium: no serious fault by axe-core, light and dark, either direction; no letter without a font."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from olu.core.files import Workspace
from olu.corpus.prompts import RecordingPrompt, prompt_id, write_prompts
from olu.studio import words
from olu.studio.people import Links
from olu.studio.roots import Roots

from ..helpers.aligned_workspaces import workspace
from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.listened import evaluated_workspace, made_test
from ..helpers.studio import StudioClient, running

AXE = Path(os.environ.get("OLU_AXE", ""))
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not BROWSER or os.environ.get("OLU_SOAK") != "1", reason="make soak: a browser is slow"),
    pytest.mark.skipif(not AXE.is_file(), reason="OLU_AXE names no axe.min.js: npm pack axe-core, and unpack it"),
]
SCREENS = (Screen(1280, 900), Screen(390, 844, phone=True, dark=True))
OWNERS = ("/", "/new", "/jobs", "/settings", "/options", "/options/new", "/enter", "/nowhere")
TABS = (
    *("", "import", "record", "clips", "audit", "reading", "align", "train", "runs", "evaluate", "listening"),
    *("export", "speak", "jobs", "options", "options/train"),
)
KINDS = ("mos", "ab", "words")
DRAWN = """(letter) => {
  const sheet = document.createElement("canvas").getContext("2d");
  sheet.font = "40px " + getComputedStyle(document.body).fontFamily;
  sheet.fillText(letter, 20, 60);
  return sheet.canvas.toDataURL();
}"""
RUN = "axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations)"


@dataclass
class People:
    """A studio, and the links that were given out."""

    base: str
    key: str
    tab: Tab
    links: dict[str, str]

    def show(self, path: str, screen: Screen) -> None:
        self.tab.show(self.base + path, screen)
        self.tab.until("!document.querySelector('#wait') || document.querySelector('#wait').hidden")

    def faults(self) -> list[str]:
        """What axe calls serious or critical, with the first element of each."""
        self.tab.eval(AXE.read_text(encoding="utf-8") + "; 0")
        found = self.tab.eval(RUN)
        return [
            f"{one['impact']} {one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0]['failureSummary'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


def placed(root: Path) -> tuple[Workspace, dict[str, str]]:
    """An aligned workspace and an evaluated one, prompts, and a link for each role."""
    ws, _ = workspace(root)
    StudioClient.of(root).job("ws", "audit")
    StudioClient.of(root).job("ws", "align")
    texts = ["Habari ya asubuhi.", "Asante sana, karibu tena."]
    write_prompts(ws, [RecordingPrompt(id=prompt_id(text), text=text) for text in texts], ())
    (root / "heard").mkdir()
    heard = evaluated_workspace(root / "heard")
    for kind in KINDS:
        made_test(heard, f"evening-{kind}", kind=kind)
    links = Links(Roots((root, root / "heard")))
    secrets = {kind: links.make(role="listener", name="Bo", ws=heard, test=f"evening-{kind}")[1] for kind in KINDS}
    secrets["speaker"] = links.make(role="speaker", name="Amina", ws=ws)[1]
    secrets["reviewer"] = links.make(role="reviewer", name="Juma", ws=ws)[1]
    return ws, secrets


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    root = tmp_path_factory.mktemp("root")
    (root / ".olu-studio").mkdir()
    _, secrets = placed(root)
    arabic = 'name = "العربية"\ndirection = "rtl"\n[words]\n"Settings" = "الإعدادات"\n"Clips" = "المقاطع"\n'
    words.languages()["ar"] = words.read_language("ar", arabic)
    flags = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
    with running(root, root / "heard") as address, chromium(root / "browser", flags=flags) as tab:
        base, _, key = address.partition("/?")
        yield People(base, key, tab, secrets)
        tab.call("Page.navigate", url="about:blank")
    del words.languages()["ar"]


@pytest.mark.parametrize("language", ["en", "am", "ar"])
@pytest.mark.parametrize("screen", SCREENS, ids=["desk", "phone"])
def test_no_page_has_a_serious_fault(people: People, screen: Screen, language: str) -> None:
    people.tab.call("Network.setCookie", name=words.COOKIE, value=language, url=people.base)
    people.show(f"/?{people.key}", screen)
    slugs = sorted(set(re.findall(r"/w/([\w-]+)", people.tab.eval("document.body.innerHTML"))))
    found: dict[str, list[str]] = {}
    pages = [*OWNERS, *(f"/w/{slug}/{tab}".rstrip("/") for slug in slugs for tab in TABS)]
    for path in pages:
        people.show(path, screen)
        found[path] = people.faults()
        assert people.tab.eval("document.documentElement.lang") == language, path
        wide = people.tab.eval("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path} is {wide} px too wide"
    for path in [f"/r/{people.links['speaker']}", *(f"/l/{people.links[one]}" for one in (*KINDS, "reviewer"))]:
        people.show(path, screen)
        people.tab.until("!document.querySelector('meta[http-equiv=refresh]')")
        found[path[:2] + people.tab.eval("document.title")] = people.faults()
    assert not {path: faults for path, faults in found.items() if faults}, json.dumps(
        {path: faults for path, faults in found.items() if faults}, indent=1, ensure_ascii=False
    )


TEXTS = {  # language, what is written, and whose letters the page must bring where the device has none
    "am": ("ድምፁ ምን ያህል ጥሩ ነው", "Ethiopic"),
    "ar": ("الإعدادات پڤڭ", "Arabic"),
    "nqo": ("ߒߞߏ ߞߊ߲ ߠߎ߬", "NKo"),
    "yo": ("Ẹ̀rọ yìí kò tíì mọ gbólóhùn ŋ ɲ ɓ ˥˧˩ ɔ̀ ɛ́", ""),
    "ig": ("Ị́bụ́ ọ́kụ̀ ǹkè", ""),
}
BARE = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>{fonts}</dir>
<cachedir>{cache}</cachedir></fontconfig>"""
LIBERATION = Path("/usr/share/fonts/truetype/liberation")  # Latin, Greek and Cyrillic: what Debian's browser brings


@pytest.fixture(scope="module")
def bare(people: People, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The same studio, seen by a device that has no letters but Latin, Greek and Cyrillic."""
    if not LIBERATION.is_dir():
        pytest.skip("fonts-liberation is not here")
    folder = tmp_path_factory.mktemp("bare")
    (folder / "fonts.conf").write_text(BARE.format(fonts=LIBERATION, cache=folder / "cache"), encoding="utf-8")
    with chromium(folder / "browser", under=["/usr/bin/env", f"FONTCONFIG_FILE={folder / 'fonts.conf'}"]) as tab:
        yield People(people.base, people.key, tab, people.links)
        tab.call("Page.navigate", url="about:blank")


def no_empty_box(people: People, language: str) -> set[str]:
    """Each letter is drawn otherwise than one that no font has; gives the fonts of the text."""
    text = TEXTS[language][0]
    people.show(f"/?{people.key}", SCREENS[0])
    people.tab.eval(f"document.querySelector('h1').textContent = {text!r}")
    people.tab.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    people.tab.eval("document.fonts.ready.then(() => 0)")
    for domain in ("DOM", "CSS"):
        people.tab.call(f"{domain}.enable")
    page = people.tab.call("DOM.getDocument")["root"]["nodeId"]
    head = people.tab.call("DOM.querySelector", nodeId=page, selector="h1")["nodeId"]
    fonts = people.tab.call("CSS.getPlatformFontsForNode", nodeId=head)["fonts"]
    assert fonts and all(one["familyName"] and one["glyphCount"] for one in fonts)
    empty = people.tab.eval(f"({DRAWN})('\\u{{10FFFD}}')")  # what no font has
    assert people.tab.eval(f"({DRAWN})('\\u{{10FFF0}}')") == empty
    for letter in sorted(set(text) - {" "}):
        assert people.tab.eval(f"({DRAWN})({letter!r})") != empty, (letter, fonts)
    return {one["familyName"] for one in fonts}


@pytest.mark.parametrize("language", TEXTS)
def test_no_letter_is_an_empty_box(people: People, language: str) -> None:
    no_empty_box(people, language)


@pytest.mark.parametrize("language", TEXTS)
def test_no_letter_is_an_empty_box_on_a_debian_without_fonts(bare: People, language: str) -> None:
    fonts = no_empty_box(bare, language)
    ours = TEXTS[language][1]
    assert not ours or any(ours in one.replace("'", "") for one in fonts), fonts


def test_a_text_runs_by_its_own_letters(people: People) -> None:
    """A sentence in N'Ko or Arabic on an English page begins at the right, one in Latin at the left."""
    code = """(() => { const line = document.createElement("p"); line.dir = "auto"; line.textContent = %r;
    document.querySelector("main").append(line); const range = document.createRange(); range.selectNodeContents(line);
    const box = line.getBoundingClientRect(), said = range.getBoundingClientRect();
    return said.right > box.right - 2 && said.left > box.left + 2; })()"""
    people.show(f"/?{people.key}", SCREENS[0])
    for language, (text, _) in TEXTS.items():
        assert people.tab.eval(code % text) == (language in ("ar", "nqo")), language

"""The page at /: every file of it is served, asks nobody else for anything, and fits together."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from olu.pages.render import style_sheet

from ..helpers.servers import Running, running

FOLDER = Path(str(files("olu.serve").joinpath("page")))
FILES = sorted(path for path in FOLDER.iterdir() if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'  # a name that looks like an address: nothing is fetched
FOREIGN = re.compile(r"\b(?:https?|wss?|ftp|javascript|data(?=:\w)):|(?<![:\w/])//(?=[\w-]+\.\w)|@import|\burl\(", re.I)
COMMENT = re.compile(r"(?m)(?:^|\s)//\s.*$|/\*.*?\*/", re.S)


class Page(HTMLParser):
    """The tags of a page with their attributes, and the words inside each script."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside = ""
        self.feed((FOLDER / "index.html").read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style"):
            self.inside += data.strip()

    def all(self, name: str) -> list[str]:
        return [str(attributes[name]) for _, attributes in self.tags if attributes.get(name)]


@pytest.fixture(scope="module")
def here() -> Iterator[Running]:
    with running(keys=(b"a-key-for-tests",)) as started:
        yield started


def _get(address: str) -> tuple[int, dict[str, str], bytes]:
    try:
        with urllib.request.urlopen(address, timeout=20) as answer:
            return answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, {}, refused.read()


def test_there_is_a_page() -> None:
    names = {path.name for path in FILES}
    assert {"index.html", "page.css", "page.js", "icon.svg"} <= names and len(SCRIPTS) >= 4
    assert {path.suffix for path in FILES} <= set(KINDS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_served_without_a_key_and_under_a_strict_policy(here: Running, path: Path) -> None:
    address = here.base + ("/" if path.name == "index.html" else f"/page/{path.name}")
    status, headers, body = _get(address)
    assert status == 200 and body == path.read_bytes()
    kind = headers["content-type"].partition(";")[0].replace("application/javascript", "text/javascript")
    assert kind == KINDS[path.suffix]
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'self'" and "unsafe" not in headers["content-security-policy"]
    assert not set(policy) & {"script-src", "style-src", "connect-src"}  # what loads and asks stays at 'self'
    assert policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


def test_what_is_no_file_of_the_page_is_not_there(here: Running) -> None:
    for name in ("page/", "page/index.html/..", "page/../app.py", "page/%2e%2e/app.py", "page/nothing.js"):
        status, _, body = _get(f"{here.base}/{name}")
        assert status == 404 and b"import" not in body, name


def test_only_the_page_is_open_when_there_is_a_key(here: Running) -> None:
    status, _, body = _get(here.base + "/v1/audio/voices")
    assert status == 401 and json.loads(body)["error"]["code"] == "missing_api_key"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_names_another_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".svg":
        assert text.count(NAMESPACE) == 1
        text = text.replace(NAMESPACE, "")
    assert FOREIGN.search(text) is None, FOREIGN.search(text)


@pytest.mark.parametrize(
    "text", ["https://a.example/x", 'src="//cdn.example.org/a.js"', "url(x)", "data:text/html,x", "@import 'a'"]
)
def test_that_search_would_find_them(text: str) -> None:
    assert FOREIGN.search(text)


def test_nothing_is_inline() -> None:
    page = Page()
    assert page.inside == "" and "style" not in {tag for tag, _ in page.tags} and not page.all("style")
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    for path in SCRIPTS:
        code = COMMENT.sub("", path.read_text(encoding="utf-8"))
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            ".style",
        ):
            assert way not in code, f"{path.name} uses {way}"


def test_what_the_page_points_at_is_there() -> None:
    page = Page()
    for address in page.all("src") + page.all("href"):
        assert not address.startswith("/"), f"{address}: a proxy may put a prefix before the page"
        assert address in ("docs", "docs.css") or (FOLDER / address.removeprefix("page/")).is_file(), address
    for path in SCRIPTS:
        for name in re.findall(r'from "([^"]+)"', path.read_text(encoding="utf-8")):
            assert (FOLDER / name).is_file(), f"{path.name}: {name}"


def test_the_scripts_find_what_they_look_for() -> None:
    identities = Page().all("id")
    assert len(identities) == len(set(identities))
    code = (FOLDER / "page.js").read_text(encoding="utf-8")
    looked = set(re.findall(r'\bby\("([^"]+)"\)', code))
    (several,) = re.findall(r"\[([^\]]+)\]\.map\(by\)", code)
    looked |= set(re.findall(r'"([^"]+)"', several))
    assert len(looked) > 15 and looked <= set(identities), looked - set(identities)


def test_the_page_is_labelled_and_fits_a_phone() -> None:
    page = Page()
    labelled = set(page.all("for"))
    fields = [attributes for tag, attributes in page.tags if tag in ("input", "select", "textarea")]
    assert len(fields) >= 6 and all(field["id"] in labelled for field in fields)
    (html,) = [attributes for tag, attributes in page.tags if tag == "html"]
    assert html["lang"] == "en"
    named = {attributes.get("name"): attributes.get("content") for tag, attributes in page.tags if tag == "meta"}
    assert named["viewport"] == "width=device-width, initial-scale=1" and named["color-scheme"] == "light dark"
    assert {"status", "alert"} <= set(page.all("role")) and page.all("aria-live") == ["polite"]
    (text,) = [attributes for tag, attributes in page.tags if tag == "textarea"]
    assert text["dir"] == "auto"


def _colours(scheme: str) -> dict[str, str]:
    light, dark = style_sheet().split("@media (prefers-color-scheme: dark)", 1)
    rules = light if scheme == "light" else dark.split("} }", 1)[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})\b", rules))


def _light(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(scheme: str) -> None:
    """WCAG: 4.5 for words, 3 for the edges of fields."""
    colours = _colours(scheme)
    pairs = [("ink", "card"), ("ink", "glow"), ("ink", "paper"), ("soft", "card"), ("soft", "paper"), ("error", "card")]
    pairs += [
        (front, back) for front in ("error", "warn", "info", "good", "c1", "c2", "c3") for back in ("card", "paper")
    ]
    for front, back in [*pairs, ("main-ink", "main"), ("main", "paper"), ("edge", "card"), ("edge", "paper")]:
        high, low = sorted((_light(colours[front]), _light(colours[back])), reverse=True)
        contrast = (high + 0.05) / (low + 0.05)
        assert contrast >= (3 if front == "edge" else 4.5), f"{front} on {back}: {contrast:.2f}"

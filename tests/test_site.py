"""The document site builds without a complaint, and its pages ask no other host for anything."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .helpers.browser import BROWSER, Screen, chromium

pytest.importorskip("material", reason="the extra docs builds the site")

ROOT = Path(__file__).parents[1]
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*\bsrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon))[^>]*\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|@import\s+["']?((?:https?:)?//[^"';]+)|url\(["']?((?:https?:)?//[^)]+)"""
)


def _fetched(text: str) -> list[str]:
    return ["".join(found) for found in FETCHED.findall(text)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    unreachable = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, **unreachable},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    return folder


def test_every_page_of_the_project_is_in_the_site(site: Path) -> None:
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 30 and not [page for page in pages if not (site / page).is_file()]
    assert "that comes with Olu" in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "project" / "results" / "voices_h200_202611.html").is_file()
    assert "My voice mumbles" in (site / "search" / "search_index.json").read_text(encoding="utf-8")


def test_every_page_of_docs_is_in_the_menu() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    missing = [
        name
        for page in (ROOT / "docs").rglob("*.md")
        if not re.search(rf"[ :]{re.escape(name := page.relative_to(ROOT / 'docs').as_posix())}$", menu, flags=re.M)
    ]
    assert not missing, f"add {missing} to the nav of mkdocs.yml"


def test_the_pages_ask_no_other_host_for_anything(site: Path) -> None:
    asked = {
        f"{page.relative_to(site)}: {one}"
        for page in site.rglob("*")
        if page.suffix in (".html", ".css")
        for one in _fetched(page.read_text(encoding="utf-8"))
    }
    assert not asked
    scripts = [script.read_text(encoding="utf-8") for script in (site / "assets" / "javascripts").glob("*.js")]
    assert scripts and not [
        one for text in scripts for one in re.findall(r"""["'`]https?://[^"'`]*\.?js["'`]|unpkg""", text)
    ]


class SilentFiles(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1" or not BROWSER, reason="make soak, with a Chromium")
def test_a_browser_searches_and_asks_nobody_else(site: Path, tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(SilentFiles, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/"
    try:
        with chromium(tmp_path / "profile") as tab:
            for page, screen in (
                ("index.html", Screen(1280, 900)),
                ("index.html", Screen(390, 844, phone=True, dark=True)),
            ):
                tab.show(home + page, screen)
                assert tab.eval("document.documentElement.scrollWidth <= window.innerWidth")
            tab.show(home + "index.html", Screen(1280, 900))
            tab.write(".md-search__input", "mumbles")
            tab.until("[...document.querySelectorAll('.md-search-result__link')].some(a => a.href.includes('trouble'))")
            asked = [one for one in tab.asked if not one.startswith(("data:", "blob:", home))]
    finally:
        server.shutdown()
        server.server_close()
    assert len(tab.asked) > 5 and not asked and not tab.missed


def test_what_is_looked_for_would_be_found() -> None:
    planted = [
        '<script src="https://a.example/x.js">',
        '<link rel="stylesheet" href="//a.example/x.css">',
        "@import 'https://a.example/x.css'",
        "url(https://a.example/x.woff)",
    ]
    assert all(_fetched(one) for one in planted)
    assert not _fetched('<a href="https://a.example/"> <link rel="icon" href="assets/x.png">')

"""A hook of mkdocs (mkdocs.yml): pages that lie outside docs/ become pages of the site, and links to them follow.

A link to a file that is no page (a recipe, a Containerfile) becomes its path in plain text: the site has no address of
the project to point to. Pages stay as they are in the project, where the same links work.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r'"https://unpkg\.com/[^"]*"')
FENCE = re.compile(r"(^```.*?^```|`[^`\n]+`(?!\]))", flags=re.M | re.S)


def _outside() -> dict[str, str]:
    """Path in the project -> path in the site, of what lies outside docs/ and becomes a page or a picture."""
    pages = {page.name: f"project/{page.name}" for page in ROOT.glob("*.md")}
    results = {
        path.relative_to(ROOT).as_posix(): "project/" + path.relative_to(ROOT / "benchmarks").as_posix()
        for path in sorted((ROOT / "benchmarks" / "results").rglob("*"))
        if path.suffix in (".md", ".png", ".ogg")
    }
    single = {"notebooks/README.md": "project/notebooks.md", "dev/dependencies.md": "project/dependencies.md"}
    return {**pages, **results, **single, "README.md": "index.md"}


SITE = _outside()
PROJECT = {there: here for here, there in SITE.items()}


def on_files(files: Files, config: Any, **_: Any) -> Files:
    for here, there in SITE.items():
        files.append(File.generated(config, there, abs_src_path=str(ROOT / here)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    there = page.file.src_uri
    here = PROJECT.get(there, f"docs/{there}")
    parts = FENCE.split(markdown)
    return "".join(part if at % 2 else LINK.sub(lambda m: _link(m, here, there), part) for at, part in enumerate(parts))


def on_post_build(config: Any, **_: Any) -> None:
    """The theme would fetch two libraries from another host, for old browsers and for diagrams: not needed here."""
    for script in Path(config.site_dir, "assets", "javascripts").glob("*.js"):
        text = script.read_text(encoding="utf-8")
        script.write_text(ELSEWHERE.sub('"assets/not-here.js"', text), encoding="utf-8")
    for plan in Path(config.site_dir, "assets", "javascripts").glob("*.js.map"):
        plan.unlink()  # it would no longer fit


def _link(match: re.Match[str], here: str, there: str) -> str:
    picture, words, target = match.groups()
    if "://" in target or target.startswith(("#", "mailto:")):
        return match[0]
    path, mark, anchor = target.partition("#")
    aim = os.path.normpath(PurePosixPath(here).parent / path).replace(os.sep, "/")
    inside = SITE.get(aim, aim.removeprefix("docs/") if aim.startswith("docs/") else "")
    if inside and (ROOT / aim).is_file():
        return f"{picture}[{words}]({os.path.relpath(inside, PurePosixPath(there).parent)}{mark}{anchor})"
    if not (ROOT / aim).exists():
        return match[0]  # mkdocs then says that it leads nowhere
    return f"`{aim}`" if words.strip("`") in aim else f"{words} (`{aim}`)"

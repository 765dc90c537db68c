"""The studio asks no other host for anything, and everything it needs is in the wheel."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import olu.studio

from ..helpers.studio import StudioClient

HOME = Path(olu.studio.__file__).parent
ROOT = HOME.parents[2]
OWN = [path for path in sorted(HOME.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
ADDRESS = re.compile(
    r"""(?:src|href|action)=["']([^"'{]*)|url\(["']?([^"')]*)|from\s+["']([^"']*)|import\s+["']([^"']*)"""
)
WORDS = ("http://www.w3.org/2000/svg",)


@pytest.mark.parametrize(
    "path", [path for path in OWN if path.suffix in (".html", ".css", ".js") and "vendor" not in path.parts]
)
def test_no_page_names_another_host_nor_holds_a_script(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for found in ADDRESS.findall(text):
        address = "".join(found)
        assert not re.match(r"(?:[a-z]+:)?//", address), address
    for known in WORDS:
        text = text.replace(known, "")
    assert "http://" not in text and "https://" not in text
    if path.suffix == ".html":
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son[a-z]+=|\sstyle=|javascript:", text)


def test_every_part_that_a_page_names_is_there(tmp_path: Path) -> None:
    client = StudioClient.of(tmp_path)
    named = set()
    for path in OWN:
        if path.suffix in (".html", ".js", ".css"):
            text = path.read_text(encoding="utf-8")
            named |= set(re.findall(r"/parts/([\w./-]+\.\w+)", text))
            named |= set(re.findall(r"""(?:from|import)\s+["']\./([\w./-]+)["']""", text))
    assert len(named) > 10
    for name in sorted(named):
        answer = client.get(f"/parts/{name}")
        assert answer.status == 200 and answer.body, name
        again = client.get(f"/parts/{name}", **{"if-none-match": answer.headers["etag"]})
        assert again.status == 304 and not again.body


def test_the_first_page_is_small(tmp_path: Path) -> None:
    import gzip

    client = StudioClient.of(tmp_path)
    first = client.get("/")
    parts = set(re.findall(r'"/parts/([\w./-]+)"', first.text))
    sent = sum(len(gzip.compress(client.get(f"/parts/{name}").body)) for name in parts) + len(gzip.compress(first.body))
    assert sent < 60_000


def test_everything_is_in_the_wheel(tmp_path: Path) -> None:
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("this is no clone")
    try:
        import hatchling  # noqa: F401
    except ImportError:
        pytest.skip("hatchling is not installed")
    for name in ("src/olu/studio", "src/olu/web"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "src/olu/__init__.py", tmp_path / "src/olu/__init__.py")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        names = set(held.namelist())
    assert {f"olu/studio/{path.relative_to(HOME).as_posix()}" for path in OWN} <= names

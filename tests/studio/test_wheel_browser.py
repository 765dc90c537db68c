"""The wheel in an empty environment, with the network cut: the studio has everything it needs and asks nobody else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

import olu

from ..helpers.browser import BROWSER, Screen, Tab, chromium
from ..helpers.melodic import melodic
from ..helpers.workspaces import workspace

ROOT = Path(olu.__file__).parents[2]
UNSHARE, NSENTER = shutil.which("unshare"), shutil.which("nsenter")
pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="make soak: a wheel is built and installed"),
    pytest.mark.skipif(BROWSER is None, reason="no chromium here"),
    pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="this is no clone"),
    pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed"),
    pytest.mark.skipif(UNSHARE is None or NSENTER is None, reason="no unshare and nsenter here: the network stays"),
]
WIDE = Screen(1280, 900)
# A new network has a loopback that is down: 0x8914 sets the flags of an interface, 65 is up and running.
LOOPBACK_UP = "import fcntl, os, socket, struct, sys; fcntl.ioctl(socket.socket(), 0x8914,"
LOOPBACK_UP += "struct.pack('16sH14x', b'lo', 65)); os.execv(sys.argv[1], sys.argv[1:])"


def pip(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `olu` in an environment that holds the wheel and what it asks for, and nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv/bin/python"
    pins = ("-c", str(ROOT / "constraints.txt"))
    if pip(python, "download", "--no-deps", "--dest", str(folder / "probe"), *pins, "jinja2").returncode:
        pytest.skip("pip reaches no packages here")
    done = pip(python, "install", "--quiet", *pins, f"{wheel}[studio]")
    assert done.returncode == 0, done.stderr
    assert not list((folder / "venv").glob("lib/python*/site-packages/torch")), "a studio needs no training"
    return python.parent


@contextmanager
def cut_off(scripts: Path, root: Path, home: Path) -> Iterator[tuple[int, str]]:
    """`olu studio` of the wheel in a network of its own that leads nowhere: its process and the address to open."""
    command = [str(UNSHARE), "--net", "--map-root-user", str(scripts / "python"), "-c", LOOPBACK_UP]
    command += [str(scripts / "olu"), "studio", str(root), "--port", "0", "--no-browser"]
    plain = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=plain, cwd=home
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if "unshare failed" in line or "Operation not permitted" in line:
            pytest.skip(f"the network cannot be cut here: {line.strip()}")
        found = re.search(r"http://\S+", line)
        assert found, line + process.stdout.read()
        yield process.pid, found[0]
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert process.returncode == 0, "it was asked to end"


def show(tab: Tab, address: str) -> None:
    tab.show(address, WIDE)
    tab.until("document.fonts.status === 'loaded'")
    time.sleep(0.5)  # what its scripts ask for
    assert tab.eval("window.failures") == []
    assert tab.eval("document.querySelectorAll('h1').length") == 1, address


def test_every_part_is_there_and_no_other_address_is_asked(scripts: Path, tmp_path: Path) -> None:
    rows = [(f"c{number}", f"Ẹ káàárọ̀ {number}.", "ade", "train") for number in range(4)]
    place = workspace(tmp_path / "root", rows, language="yor")
    melodic(place.voices / "ade.voice")
    with cut_off(scripts, tmp_path / "root", tmp_path) as (pid, opened):
        devices = Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii")
        assert re.findall(r"^\s*(\w+):", devices, re.MULTILINE) == ["lo"], "the network is cut"
        inside = (str(NSENTER), "--preserve-credentials", "--user", "--net", "--target", str(pid))
        base = opened.partition("/?")[0]
        with chromium(tmp_path / "profile", under=inside) as tab:
            show(tab, opened)
            for path in ("/", "/new", "/jobs", "/settings", "/options", "/options/train", "/w/ws", "/w/ws/import"):
                show(tab, base + path)
            for path in ("clips", "audit", "reading", "runs", "evaluate", "export", "jobs"):
                show(tab, f"{base}/w/ws/{path}")
            show(tab, f"{base}/w/ws/speak?voice=ws/ade.voice")
            tab.until("document.querySelector('#voice').value !== ''")
            tab.write("#text", "Ẹ káàárọ̀.")
            tab.press("#speak")
            tab.until("document.querySelector('#status').textContent === 'Finished.'")
            assert tab.eval("document.querySelector('#trouble').hidden")
            assert tab.eval("window.failures") == []
    assert tab.missed == []
    asked = {address.partition("?")[0] for address in tab.asked if not address.startswith(("data:", "blob:"))}
    assert {address.split("/")[2] for address in asked if "//" in address} == {base.split("/")[2]}
    kinds = {Path(address).suffix for address in asked}
    assert {".js", ".css"} <= kinds and len([one for one in asked if "/parts/" in one]) > 10

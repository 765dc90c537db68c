"""What can be known of Windows and macOS from here: the parts of POSIX taken away, other consoles, other line ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from olu.core import halt
from olu.studio import job_files

ROOT = Path(__file__).parents[1]
SOAK = os.environ.get("OLU_SOAK") == "1"

# A Python without what Windows has not. `sys.platform` stays: torch and the rest would look for their DLLs.
BARE = """
import os, signal, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "syslog", "readline"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

import multiprocessing, subprocess, tempfile  # Python's own know their system already
for name in ("fcntl", "resource", "termios", "tty", "pty", "pwd", "grp"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
for name in ("killpg", "setsid", "sched_getaffinity", "sync", "geteuid", "getuid", "getpgid", "nice", "getloadavg"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM"):
    delattr(signal, name)
from olu.cli.main import main
for line in sys.stdin.read().splitlines():
    sys.argv = ["olu", *line.split("\\t")]
    try:
        main()
    except SystemExit as end:
        if end.code:
            sys.exit(f"{line}: {end.code}")
"""


def _env(**changes: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", **changes}


def test_the_whole_path_needs_no_posix(tmp_path: Path) -> None:
    verbs = [
        ["sample", "recordings", "--clips", "6"],
        ["new", "ws", "--language", "am"],
        ["import", "ws", "recordings"],
        ["audit", "ws", "--fix"],
        ["read", "ws"],
        ["speak", "ሰላም።", "-o", "hello.wav"],
        ["pack", "ws", "-o", "ws.tar", "--runs", "none"],
        ["status", "ws"],
    ]
    if SOAK:
        verbs += [
            ["train", "ws", "--base", "embedded", "--set", "plan.steps=1", "--set", "plan.batch_clips=2"],
            ["export", "ws", "--to", "voice"],
            ["speak", "ሰላም።", "--voice", "ws", "-o", "hello.wav"],
        ]
    lines = "\n".join("\t".join(words) for words in verbs)
    done = subprocess.run(
        [sys.executable, "-c", BARE], input=lines, cwd=tmp_path, env=_env(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "hello.wav").stat().st_size > 8000 and (tmp_path / "ws.tar").is_file()


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", *(["cp850"] if SOAK else [])])
def test_a_console_of_another_encoding_ends_nothing(encoding: str) -> None:
    words = [sys.executable, "-m", "olu", "read", "--language", "yor", "Báwo ni ọjọ́ rẹ?"]
    env = _env(PYTHONIOENCODING=encoding, PYTHONUTF8="0", LC_ALL="C", PYTHONCOERCECLOCALE="0")
    done = subprocess.run(words, env=env, capture_output=True, check=False)
    assert done.returncode == 0 and "ɔ" in done.stdout.decode("utf-8")


def test_lists_and_recipes_with_the_line_ends_of_windows(tmp_path: Path) -> None:
    olu = [sys.executable, "-m", "olu"]
    for words in (["sample", "recordings", "--clips", "6"], ["new", "ws", "--language", "am"]):
        subprocess.run([*olu, *words], cwd=tmp_path, env=_env(), check=True, capture_output=True)
    for path in (tmp_path / "recordings" / "metadata.csv", tmp_path / "ws" / "olu.toml"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    subprocess.run([*olu, "import", "ws", "recordings"], cwd=tmp_path, env=_env(), check=True, capture_output=True)
    assert b"\\r" not in (tmp_path / "ws" / "corpus" / "clips.jsonl").read_bytes()


def test_a_clone_on_windows_keeps_the_bytes_of_packages() -> None:
    rules = (ROOT / ".gitattributes").read_text(encoding="utf-8")
    assert "* text=auto eol=lf" in rules
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    kinds = {path.suffix for path in files if b"\0" in path.read_bytes()[:4096]}
    assert kinds and all(f"*{kind} binary" in rules for kind in kinds), kinds


def test_a_stop_on_windows_is_ctrl_break(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.delattr(os, "killpg")
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    monkeypatch.setattr(signal, "CTRL_BREAK_EVENT", 1, raising=False)
    job = SimpleNamespace(over=False, folder=tmp_path, state="running", pid=4711)
    job_files.ask_to_stop(job)  # type: ignore[arg-type]
    job_files.ask_to_stop(job, at_once=True)  # type: ignore[arg-type]
    assert sent == [(4711, 1), (4711, signal.SIGTERM)]
    assert "SIGBREAK" in halt.SIGNALS and "SIGBREAK" in halt.WORDS

"""Plant six faults in the sample corpus, train, and print what happened.

`python dev/faults.py [CASE ...]`; the full disk needs Linux and the right to mount.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile

TINY = ["--set", "model.size=tiny", "--set", "plan.batch_clips=4", "--set", "plan.validate_every=100"]
GREETING = "እንደምን አደራችሁ?"
WIDTH = 300  # characters of a line that are shown

# olu with one clip's sound made NaN in memory, behind the audit and the int16 store, which let none through.
NAN = """
import sys
from olu.cli.main import main
from olu.families.vits.learn import VitsLearner
name, collate = sys.argv.pop(1), VitsLearner.collate
def planted(self, examples):
    batch = collate(self, examples)
    for row, example in enumerate(examples):
        if example.id.startswith(name):
            batch.padded_BS[row] = float("nan")
    return batch
VitsLearner.collate = planted
main()
"""

# olu with a memory that holds so many seconds of padded sound: more raise what torch raises on a full GPU.
NARROW = """
import sys
import torch
from olu.cli.main import main
from olu.families.vits.learn import VitsLearner
room, step = float(sys.argv.pop(1)), VitsLearner.step
def narrow(self, batch, clock):
    if batch.padded_BS.numel() / self.config.sampling_rate > room:
        raise torch.OutOfMemoryError("CUDA out of memory")
    yield from step(self, batch, clock)
VitsLearner.step = narrow
main()
"""


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def olu(*words: str | Path, hook: str = "", given: str = "", quiet: bool = False) -> int:
    """Run a verb, and print its command and what it said, without the figures of single steps."""
    start = ["-c", hook, given] if hook else ["-m", "olu"]
    command = [sys.executable, *start, *map(str, words)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "400"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False)
    if quiet and done.returncode == 0:
        return 0
    say(f"$ olu {shlex.join(map(str, words))}")
    for line in done.stdout.splitlines():
        if "|" not in line and not line.startswith(("watch it", "or: ")):
            say(line if len(line) <= WIDTH else line[:WIDTH] + " ...")
    say(f"[exit code {done.returncode}]")
    return done.returncode


def imported(place: Path, recordings: Path) -> None:
    olu("new", place, "--language", "amh", quiet=True)
    olu("import", place, recordings, quiet=True)


def add(recordings: Path, name: str, text: str, samples: np.ndarray, rate: int, *, subtype: str = "PCM_16") -> None:
    soundfile.write(recordings / "wavs" / f"{name}.wav", samples, rate, subtype=subtype)
    with (recordings / "metadata.csv").open("a", encoding="utf-8") as rows:
        rows.write(f"{name}|{text}\n")


def nan(recordings: Path) -> None:
    """A float WAV with samples that are not numbers, and one whose numbers go bad in memory."""
    samples, rate = soundfile.read(recordings / "wavs" / "amh_0007.wav", dtype="float32")
    samples[1000:3000] = np.nan
    add(recordings, "planted", GREETING, samples, rate, subtype="FLOAT")
    imported(Path("ws"), recordings)
    olu("train", "ws", *TINY, "--set", "plan.steps=80", hook=NAN, given="amh_0020")


def long(recordings: Path) -> None:
    noise = np.random.default_rng(0).normal(0, 0.05, 1800 * 8000).astype(np.float32)
    add(recordings, "lecture", GREETING, noise, 8000)
    imported(Path("ws"), recordings)
    olu("train", "ws", *TINY, "--set", "plan.steps=25")


def high(recordings: Path) -> None:
    imported(Path("ws"), recordings)
    olu("train", "ws", *TINY, "--set", "plan.steps=50", "--set", "model.learning_rate=0.2")


def low(recordings: Path) -> None:
    imported(Path("ws"), recordings)
    olu("train", "ws", *TINY, "--set", "plan.steps=320", "--set", "model.learning_rate=0.0002")


def disk(recordings: Path) -> None:
    """A disk of 12 MiB with room for two checkpoints and half a third."""
    imported(Path("first"), recordings)
    olu("prepare", "first", quiet=True)
    small = Path("disk")
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12288k", "tmpfs", str(small)], check=True)
    try:
        shutil.copytree("first", small / "ws")
        with (small / "plug").open("wb") as plug:
            plug.write(b"\0" * (shutil.disk_usage(small).free - 2300 * 1024))
        often = ["--set", "plan.save_every=5", "--set", "plan.keep=2", "--set", "plan.steps=30"]
        olu("train", small / "ws", *TINY, *often)
        say("$ rm disk/plug")
        (small / "plug").unlink()
        olu("train", small / "ws", "--resume")
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def memory(recordings: Path) -> None:
    """A clip of 19 s among clips of 3 s, in a memory for 13 s."""
    rows = [row.split("|") for row in (recordings / "metadata.csv").read_text(encoding="utf-8").splitlines()[:8]]
    sounds = [soundfile.read(recordings / "wavs" / f"{row[0]}.wav", dtype="float32") for row in rows]
    joined = np.concatenate([samples for samples, _ in sounds])[: 19 * sounds[0][1]]
    add(recordings, "sermon", " ".join(row[1] for row in rows), joined, sounds[0][1])
    imported(Path("ws"), recordings)
    olu("train", "ws", *TINY, "--set", "plan.steps=40", hook=NARROW, given="13")


CASES: dict[str, Callable[[Path], None]] = {
    "nan": nan,
    "long": long,
    "high": high,
    "low": low,
    "disk": disk,
    "memory": memory,
}


def main() -> None:
    for case in sys.argv[1:] or list(CASES):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            olu("sample", "recordings", quiet=True)
            say(f"== {case}")
            CASES[case](Path("recordings"))
            os.chdir("/")


if __name__ == "__main__":
    main()

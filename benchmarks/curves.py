"""A finished run as a page of figures: `python benchmarks/curves.py RUN "what it is" results/NAME.md`.

Curves are means over stretches of steps; beside the page lie the alignment of the first sample at its first and last
validation, as pictures.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from olu.audio.io import read
from olu.core.files import write_text
from olu.train.run import Run
from olu.train.view.history import History

STRETCHES = 10


def main(folder: str, about: str, out: str) -> None:
    run, page = Run(Path(folder)), Path(out)
    history = History.load(run.folder / "metrics.jsonl")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {run.document('facts.json')['device']}, commit {commit}"
    lines = [f"# {about}", "", f"{machine}. Means over stretches of steps.", ""]
    lines += [*curves(history), "", *samples(run, page)]
    write_text(page, "\n".join(lines) + "\n")


def curves(history: History) -> list[str]:
    names = [name for name in history.series if name.startswith("gen/") and not name.endswith(("/lr", "/ratio"))]
    last = max(step for step, _ in history.points(names[0]))
    ends = np.linspace(0, last, STRETCHES + 1)
    rows = ["| steps | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for first, end in pairwise(ends):
        means = []
        for name in names:
            values = [value for step, value in history.points(name) if first < step <= end]
            means.append(f"{np.mean(values):.3g}" if values else "")
        rows.append(f"| {first:.0f} to {end:.0f} | " + " | ".join(means) + " |")
    valid = [name for name in history.series if name.startswith("valid/")]
    rows += ["", "| validation at step | " + " | ".join(valid) + " |", "|---" * (len(valid) + 1) + "|"]
    for step, _ in history.points(valid[0]):
        found = [dict(history.points(name)).get(step) for name in valid]
        rows.append(f"| {step:.0f} | " + " | ".join("" if one is None else f"{one:.4g}" for one in found) + " |")
    return rows


def samples(run: Run, page: Path) -> list[str]:
    steps = sorted((run.folder / "samples").iterdir(), key=lambda path: int(path.name.removeprefix("step-")))
    first, last = steps[0], steps[-1]
    pictures = []
    for step in (first, last):
        source = sorted(step.glob("*.alignment.png"))[0]
        target = page.with_name(f"{page.stem}_{step.name}.png")
        shutil.copy(source, target)
        pictures.append(f"![tokens from top to bottom, frames from left to right, {step.name}]({target.name})")
    rows = ["| sample of " + last.name + " | seconds | finite | level, dB |", "|---|---|---|---|"]
    for path in sorted(last.glob("*.wav")):
        sound = read(path)
        level = 20 * np.log10(np.sqrt(np.mean(sound.samples**2)) + 1e-9)
        finite = "yes" if np.isfinite(sound.samples).all() else "no"
        rows.append(f"| {path.stem} | {sound.seconds:.2f} | {finite} | {level:.1f} |")
    return [*rows, "", *pictures]


if __name__ == "__main__":
    main(*sys.argv[1:4])

"""A voice in a real Chromium beside the same voice in Python: first sound and CPU time, in turns in one run.

    python benchmarks/web.py --runtime node_modules/onnxruntime-web [--rounds 7] [--voice my.voice ...]

The voice that comes with Olu and an acoustic one of its real size with random weights, unless voices are named. The
browser's CPU time is that of all its processes together, the page's own work and drawing included. Prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.export.test_web import finished, served
from tests.helpers.browser import Screen, Tab, chromium
from tests.helpers.packages import random_acoustic

from olu.speak.voice import Voice
from olu.stages.export import export
from olu.text.languages import load

TICK = os.sysconf("SC_CLK_TCK")
LINES = {  # about six seconds each
    "embedded": "እንኳን ደህና መጣችሁ። ሰላም ነው እንዴት ናችሁ ሁላችሁም። ዛሬ ስለ ቋንቋዎቻችን እንነጋገራለን።",
    "acoustic": "Habari ya asubuhi, karibu sana nyumbani kwetu. Tunafurahi kukuona tena baada ya siku nyingi.",
}
SPOKEN = """(async () => {
  window.made = null;
  const begun = performance.now();
  let first = 0, samples = 0;
  for await (const piece of voice.stream(%s, { quick: %s })) {
    first = first || performance.now() - begun;
    samples += piece.samples.length;
  }
  window.made = { first: first / 1000, all: (performance.now() - begun) / 1000, seconds: samples / voice.facts.rate };
})(); 0"""
Figures = dict[str, list[float]]


def family_of(root: int) -> list[int]:
    """A process and all that it started."""
    parents = dict[int, int]()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = [root]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def cpu_of(root: int) -> float:
    total = 0
    for one in family_of(root):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def browser_says(tab: Tab, text: str, *, quick: bool) -> tuple[float, float, float]:
    """Seconds to the first sound, CPU-seconds, seconds of speech."""
    before = cpu_of(tab.process.pid)
    tab.eval(SPOKEN % (json.dumps(text), json.dumps(quick)))
    made = tab.until("window.made")
    return made["first"], cpu_of(tab.process.pid) - before, made["seconds"]


def python_says(voice: Voice, text: str, *, quick: bool) -> tuple[float, float, float]:
    clock, cpu, first, samples = time.perf_counter(), time.process_time(), 0.0, 0
    for piece in voice.stream(text, quick=quick):
        first = first or time.perf_counter() - clock
        samples += len(piece.audio.samples)
    return first, time.process_time() - cpu, samples / voice.rate


def measure(name: str, package: Path, text: str, *, runtime: Path, folder: Path, rounds: int) -> None:
    page = Path(finished(export(package, to="web", runtime=runtime, output=folder / name)).voice)
    size = sum(file.stat().st_size for file in page.iterdir()) / 1e6
    voice = Voice.open(package, threads=1)
    with served(page) as (address, _), chromium(folder / f"profile-{name}") as tab:
        begun = time.perf_counter()
        tab.show(address, Screen(1280, 800))
        tab.until("!!window.voice")
        opened = time.perf_counter() - begun
        ways: dict[str, Callable[[], tuple[float, float, float]]] = {
            "page": lambda: browser_says(tab, text, quick=True),
            "Python": lambda: python_says(voice, text, quick=True),
            "page, whole": lambda: browser_says(tab, text, quick=False),
            "Python, whole": lambda: python_says(voice, text, quick=False),
        }
        found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
        for turn in range(rounds + 1):
            for way, says in ways.items():
                made = says()
                if turn:
                    found[way].append(made)
    print(f"\n{name}: a folder of {size:.1f} MB, open after {opened:.1f} s; {found['Python'][0][2]:.1f} s of speech\n")
    print("| | first sound, ms | CPU-seconds a second |\n|---|---|---|")
    for way, rows in found.items():
        first = statistics.median(row[0] for row in rows) * 1000
        costs = sorted(row[1] / row[2] for row in rows)
        print(f"| {way} | {first:.0f} | {statistics.median(costs):.3f} ({costs[0]:.3f} to {costs[-1]:.3f}) |")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--runtime", type=Path, default=Path("node_modules/onnxruntime-web"))
    asked.add_argument("--rounds", type=int, default=7)
    asked.add_argument("--voice", type=Path, nargs="*", default=[])
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as place:
        voices = {path.stem: path for path in given.voice}
        if not voices:
            voices = {"embedded": Path("embedded"), "acoustic": Path(place) / "acoustic.voice"}
            random_acoustic(voices["acoustic"])
        for name, package in voices.items():
            text = LINES.get(name) or next(iter(load(Voice.open(package).language).sentences()))
            measure(name, package, text, runtime=given.runtime, folder=Path(place), rounds=given.rounds)
    print(f"\nload average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

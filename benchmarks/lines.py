"""Seconds from a line to its first sound, with `olu speak --lines` open: by the clock, and the CPU's own.

    python benchmarks/lines.py [--voice embedded] [--rounds 20]

Writes nothing; the figures go to benchmarks/results/ by hand, with the machine and the commit.
"""

from __future__ import annotations

import argparse
import os
import select
import statistics
import subprocess
import sys
import time
from pathlib import Path

from olu.speak.voice import Voice

TEXTS = ("ሰላም።", "ይኼ ለማንም አይበጅም ።", "ሰላም ለሁሉም ይሁን። እንደምን አደራችሁ?")


def by_the_clock(voice: str, rounds: int) -> list[float]:
    """From a line written into the pipe to the first byte out of it; the first line opens the voice and is left out."""
    olu = Path(sys.executable).with_name("olu")
    sizes = [2 * len(Voice.open(voice).speak(text).samples) for text in TEXTS]
    words = [olu, "speak", "--lines", "--voice", voice, "-o", "-", "--format", "pcm"]
    found = []
    with subprocess.Popen([*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin and process.stdout
        out = process.stdout.fileno()
        for number in range(rounds + 1):
            begun = time.perf_counter()
            process.stdin.write(f"{TEXTS[number % len(TEXTS)]}\n".encode())
            select.select([out], [], [])
            found.append(time.perf_counter() - begun)
            left = sizes[number % len(TEXTS)]
            while left:
                left -= len(os.read(out, left))
        process.stdin.close()
    return found[1:]


def of_the_cpu(voice: str, rounds: int) -> list[float]:
    """The same inside this process, in seconds of the CPU, on one thread."""
    opened = Voice.open(voice, threads=1)
    found = []
    for number in range(rounds + 1):
        begun = time.process_time()
        next(iter(opened.stream(TEXTS[number % len(TEXTS)], quick=True)))
        found.append(time.process_time() - begun)
    return found[1:]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--voice", default="embedded")
    asked.add_argument("--rounds", type=int, default=20)
    given = asked.parse_args()
    for name, found in (
        ("clock", by_the_clock(given.voice, given.rounds)),
        ("CPU", of_the_cpu(given.voice, given.rounds)),
    ):
        middle, worst = 1000 * statistics.median(found), 1000 * max(found)
        print(f"{name}: median {middle:.0f} ms, least {1000 * min(found):.0f}, most {worst:.0f}")


if __name__ == "__main__":
    main()

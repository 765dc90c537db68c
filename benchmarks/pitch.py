"""`python benchmarks/pitch.py CORPORA [RESULT.md]`: pitch trackers on speech whose pitch is known.

Real clips are taken apart by WORLD and put together with a made melody, clean and with 20 dB of noise. Voicing is
scored on frames where WORLD's harvest and SwiftF0 agreed about the original.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyworld

from olu.audio import io
from olu.core.types import Audio
from olu.evaluate.metrics import f0
from olu.features.pitch import RATE, STEP

CLIPS = 10
SECONDS = 6.0
FRAME = STEP / RATE
LOW, HIGH = 60.0, 400.0


def swift(audio: Audio) -> Any:
    return f0.track(audio, low=LOW, high=HIGH).hertz


def harvest(audio: Audio) -> Any:
    wave = audio.samples.astype(np.float64)
    return pyworld.harvest(wave, audio.rate, f0_floor=LOW, f0_ceil=HIGH, frame_period=1000 * FRAME)[0]


def dio(audio: Audio) -> Any:
    wave = audio.samples.astype(np.float64)
    rough, times = pyworld.dio(wave, audio.rate, f0_floor=LOW, f0_ceil=HIGH, frame_period=1000 * FRAME)
    return pyworld.stonemask(wave, rough, times, audio.rate)


TRACKERS: dict[str, Callable[[Audio], Any]] = {
    "SwiftF0": swift,
    "WORLD harvest": harvest,
    "WORLD dio and stonemask": dio,
}


def main() -> None:
    head = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    )
    lines = ["# Pitch trackers on a known melody", "", head, ""]
    lines += [" ".join(line for line in (__doc__ or "").splitlines()[2:] if line), ""]
    lines += [
        "| tracker | sound | median error, cents | RMS without gross errors, cents | gross errors | voicing errors |"
    ]
    lines += ["|---|---|---|---|---|---|"]
    spent = dict.fromkeys(TRACKERS, 0.0)
    scores: dict[tuple[str, str], list[list[float]]] = {}
    seconds = 0.0
    for audio in clips(Path(sys.argv[1])):
        made, truth, sure = melody(audio)
        noise = np.random.default_rng(0).normal(0, float(np.std(made.samples)) / 10, len(made.samples))
        noisy = Audio((made.samples + noise).astype(np.float32), made.rate)
        seconds += 2 * made.seconds
        for sound, name in ((made, "clean"), (noisy, "20 dB noise")):
            for tracker, track in TRACKERS.items():
                start = time.process_time()
                found = track(sound)
                spent[tracker] += time.process_time() - start
                scores.setdefault((tracker, name), []).append(score(found, truth, sure))
    for (tracker, name), rows in scores.items():
        median, rms, gross, voicing = np.mean(rows, axis=0)
        lines.append(f"| {tracker} | {name} | {median:.1f} | {rms:.1f} | {gross:.1%} | {voicing:.1%} |")
    lines += [
        "",
        "CPU seconds per second of speech: " + ", ".join(f"{n} {s / seconds:.3f}" for n, s in spent.items()) + ".",
    ]
    text = "\n".join([*lines, ""])
    print(text)
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(text, encoding="utf-8")


def clips(corpora: Path) -> list[Audio]:
    found = []
    for language in ("amh", "yor"):
        files = sorted((corpora / language / "audio").glob("*.ogg"))
        found += [
            io.read(file, seconds=min(SECONDS, io.header(file).seconds))
            for file in files[:: len(files) // CLIPS][:CLIPS]
        ]
    return found


def melody(audio: Audio) -> tuple[Audio, Any, Any]:
    """The clip with a melody of 4 semitones up and down, its pitch per frame, and the frames whose voicing is sure."""
    wave = audio.samples.astype(np.float64)
    fine, times = pyworld.harvest(wave, audio.rate, f0_floor=LOW, f0_ceil=HIGH, frame_period=5.0)
    envelope, breath = pyworld.cheaptrick(wave, fine, times, audio.rate), pyworld.d4c(wave, fine, times, audio.rate)
    line = 130 * 2 ** (4 / 12 * np.sin(2 * np.pi * 0.7 * times))
    made = pyworld.synthesize(np.where(fine > 0, line, 0.0), envelope, breath, audio.rate, 5.0)
    one, two = harvest(audio) > 0, swift(audio) > 0
    count = min(len(one), len(two))
    at = np.arange(count) * FRAME
    truth = np.where(one[:count], 130 * 2 ** (4 / 12 * np.sin(2 * np.pi * 0.7 * at)), 0.0)
    return Audio(made.astype(np.float32), audio.rate), truth, one[:count] == two[:count]


def score(found: Any, truth: Any, sure: Any) -> list[float]:
    count = min(len(found), len(truth))
    found, truth, sure = found[:count], truth[:count], sure[:count]
    both = (found > 0) & (truth > 0) & sure
    cents = 1200 * np.log2(found[both] / truth[both])
    gross = np.abs(found[both] / truth[both] - 1) > f0.GROSS
    wrong = ((found > 0) != (truth > 0))[sure]
    return [np.median(np.abs(cents)), np.sqrt(np.mean(cents[~gross] ** 2)), np.mean(gross), np.mean(wrong)]


if __name__ == "__main__":
    main()

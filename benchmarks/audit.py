"""`python benchmarks/audit.py`: what the audit costs on made sound, by format and by number of clips.

Prints a table; with a path as its only word, writes it there too.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import tempfile
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `olu audit` does, before numpy comes

import numpy as np
import soundfile

from olu.audio import io
from olu.audit.check import MeasuredClip
from olu.audit.checks import CHECKS
from olu.audit.sound import measure
from olu.audit.thresholds import Thresholds
from olu.core.errors import MissingExtra
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio, Clip
from olu.corpus.manifest import Corpus, Source
from olu.networks import models as dnsmos
from olu.networks import silero, speaker
from olu.networks.models import Models
from olu.stages.audit import audit

RATE = 16000
SECONDS = 6
MINUTES = 40  # of made sound for each format: the report's players cost the same for any corpus
DEEP_MINUTES = 2
COUNTS = (1_000, 10_000, 100_000)
FORMATS = {"WAV": ("wav", "WAV", "PCM_16"), "FLAC": ("flac", "FLAC", "PCM_16"), "Ogg Opus": ("ogg", "OGG", "OPUS")}


def main() -> None:
    random = np.random.default_rng(0)
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name in FORMATS:
            whole, decoding = speed(Path(place), name, random)
            rows.append((f"audit of {name}, hours of audio per CPU-minute", f"{whole:.1f}"))
            rows.append((f"decoding of {name} alone, the same", f"{decoding:.1f}"))
    rows += deep(random)
    for count in COUNTS:
        seconds, megabytes = judging(count, random)
        rows.append((f"the checks alone on {count:,} clips, CPU seconds; MB", f"{seconds:.1f}; {megabytes:.0f}"))
    rows.append(("peak memory of this run, MB", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}"))
    head = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    )
    lines = ["# The audit", "", head, "", "| what | figure |", "|---|---|"]
    lines += [f"| {what} | {figure} |" for what, figure in rows]
    print("\n".join(lines))
    if len(sys.argv) == 2:
        Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")


def made(random: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    shape = np.repeat(random.uniform(0.001, 0.3, SECONDS * 10), RATE // 10)
    sound: np.ndarray[tuple[int], np.dtype[np.float32]] = (shape * random.standard_normal(len(shape))).astype(
        np.float32
    )
    return np.clip(sound, -0.99, 0.99)


def speed(place: Path, name: str, random: np.random.Generator) -> tuple[float, float]:
    """Hours of audio per CPU-minute, in all and of decoding. Import is left out: the manifest is written by hand."""
    ending, form, subtype = FORMATS[name]
    folder = place / ending
    folder.mkdir()
    clips = []
    for number in range(MINUTES * 60 // SECONDS):
        soundfile.write(folder / f"{number}.{ending}", made(random), RATE, format=form, subtype=subtype)
        text = f"this is sentence {number} of a made corpus and it has some words"
        audio = f"made/{number}.{ending}"
        clips.append(Clip(id=str(number), audio=audio, seconds=SECONDS, rate=RATE, text=text, language="eng"))
    ws = Workspace.create(place / f"ws-{ending}", language="eng")
    source = Source(name="made", root=str(folder), layout="folder")
    Corpus.save(ws, clips, [source], {clip.id: "train" for clip in clips})
    before = time.process_time()
    finish(audit(ws))
    between = time.process_time()
    for path in sorted(folder.iterdir()):
        io.read(path)
    return MINUTES / (between - before), MINUTES / (time.process_time() - between)


def deep(random: np.random.Generator) -> list[tuple[str, str]]:
    """CPU seconds of each network for an hour of sound."""
    try:
        models = Models()
    except MissingExtra as missing:
        return [("--deep", str(missing))]
    sounds = [made(random) for _ in range(DEEP_MINUTES * 60 // SECONDS)]
    half = np.arange(SECONDS * RATE // silero.FRAME) % 2 == 0
    rows = []
    for name, listen in (
        ("human voice (Silero)", lambda sound: silero.spoken(models.silero, sound)),
        ("quality (DNSMOS)", lambda sound: dnsmos.overall(models.dnsmos, sound)),
        ("speakers (Resemblyzer)", lambda sound: speaker.embed(models.speaker, silero.only(sound, half))),
    ):
        before = time.process_time()
        for sound in sounds:
            listen(sound)
        taken = (time.process_time() - before) * 60 / DEEP_MINUTES
        rows.append((f"--deep, {name}, CPU seconds per hour of audio", f"{taken:.0f}"))
    return rows


def judging(count: int, random: np.random.Generator) -> tuple[float, float]:
    """CPU seconds of all checks on the facts of `count` clips, and the memory of facts and findings."""
    tracemalloc.start()
    facts = measure(Audio(made(random), RATE))
    lengths = random.uniform(2, 12, count)
    heard = []
    for number in range(count):
        prints = (random.bytes(128), random.bytes(128))
        text = f"sentence {number} " + "word " * int(lengths[number] * 2)
        seconds = float(lengths[number])
        clip = Clip(id=str(number), audio=f"s/{number}.wav", seconds=seconds, rate=RATE, text=text, language="eng")
        known = replace(facts, seconds=seconds, pcm=str(number), prints=prints)
        heard.append(MeasuredClip(clip=clip, facts=known))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    before = time.process_time()
    for check in CHECKS:
        list(check.look(heard, Thresholds()))
    return time.process_time() - before, held / 1e6


if __name__ == "__main__":
    main()

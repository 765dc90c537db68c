"""`python benchmarks/subtitles.py SHARED/corpora`: subtitles with planted faults over real speech of known times.

Clips of a corpus are laid one after the other, with pauses between, and cut into cues: a cue ends with a clip, at a
pause inside it, or (`running`) in the middle of the speech. Then every edge is moved by chance and all by a shift. For
each: the share of the speech that clips hold, the shift that is told, and the clips that hold a fifth of a second or
more of speech that their text does not have, or lack as much of their own. PYTHONPATH chooses the code to measure.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.audio.activity import frame_dbfs, sounds
from olu.audio.io import header, read, resample
from olu.core.types import Audio
from olu.corpus.readers import Options, SourceFolder, subtitles
from olu.corpus.readers.rows import Problem, Row

RATE = 16000
FPS = 100
WORD_SECONDS = 0.2
CUE_SECONDS = 5.0
LONG_SECONDS = 20.0
SHIFTS = (0.0, 0.8, 2.4, -1.5, 6.0)
JITTERS = (0.15, 0.35, 0.6)


@dataclass(frozen=True)
class Unit:
    """Words of one cue and where they are said."""

    start: float
    end: float
    text: str


@dataclass(frozen=True)
class Recording:
    samples: NDArray[np.float32]
    units: list[Unit]
    voiced: NDArray[np.bool_]  # frames


def recording(corpus: Path, *, minutes: float, running: bool, seed: int) -> Recording:
    rng = np.random.default_rng(seed)
    lines = [line.partition("|") for line in (corpus / "metadata.csv").read_text(encoding="utf-8").splitlines()]
    parts: list[NDArray[np.float32]] = []
    units: list[Unit] = []
    at = 0.0
    for number in rng.permutation(len(lines)):
        id, _, text = lines[number]
        path = corpus / "audio" / f"{id}.ogg"
        words = re.sub(r"[\[\](){}#♪:<>]", " ", text).split()
        if not words or header(path).seconds > 30:
            continue
        wave = resample(read(path), RATE).samples
        starts, ends = sounds(frame_dbfs(Audio(wave, RATE)))
        if len(starts) == 0:
            continue
        first, last = int(starts[0]) * RATE // FPS, int(ends[-1]) * RATE // FPS
        wave = wave[max(0, first - RATE // 20) : last + RATE // 20]
        pause = rng.uniform(0.3, 1.2)
        noise = np.asarray(rng.normal(size=round(pause * RATE)) * 10 ** (-60 / 20), dtype=np.float32)
        parts += [noise, wave]
        at += len(noise) / RATE
        units += _units(wave, words, at=at, running=running)
        at += len(wave) / RATE
        if at > minutes * 60:
            break
    samples = np.concatenate([*parts, np.zeros(RATE, dtype=np.float32)])
    levels = frame_dbfs(Audio(samples, RATE))
    voiced = np.zeros(len(levels), dtype=np.bool_)
    for start, end in zip(*sounds(levels), strict=True):
        voiced[start:end] = True
    return Recording(samples, units, voiced)


def _units(wave: NDArray[np.float32], words: list[str], *, at: float, running: bool) -> Iterator[Unit]:
    length = len(wave) / RATE
    count = min(max(1, round(length / CUE_SECONDS)), len(words))
    cuts = [(length * n / count,) * 2 for n in range(1, count)]
    if not running:  # at pauses, where there are any near
        starts, ends = sounds(frame_dbfs(Audio(wave, RATE)))
        pauses = [(float(a) / FPS, float(b) / FPS) for a, b in zip(ends[:-1], starts[1:], strict=True)]
        near = [min(pauses, key=lambda one: abs(sum(one) / 2 - cut[0]), default=cut) for cut in cuts]
        cuts = sorted({cut for cut in near if cut[0] > 0.5 and cut[1] < length - 0.5})
    edges = [0.0, *(time for cut in cuts for time in cut), length]
    for n in range(len(cuts) + 1):
        said = words[round(n * len(words) / (len(cuts) + 1)) : round((n + 1) * len(words) / (len(cuts) + 1))]
        yield Unit(at + edges[2 * n], at + edges[2 * n + 1], " ".join(said) or "na")


def srt(units: list[Unit], *, shift: float, jitter: float, seed: int, overlaps: int = 0) -> str:
    """`overlaps`: every so-many-th cue begins 0.3 s before the one before it ends."""
    rng = np.random.default_rng(seed)
    blocks, before = [], 0.0
    for number, unit in enumerate(units):
        start, end = unit.start + rng.normal(0, jitter) - shift, unit.end + rng.normal(0, jitter) - shift
        if overlaps and number % overlaps == overlaps - 1:
            start = min(start, before - 0.3)
        before = end
        stamps = " --> ".join(_stamp(time) for time in (max(start, 0.0), max(end, 0.0)))
        blocks.append(f"{number + 1}\n{stamps}\nu{number} {unit.text}\n")
    return "\n".join(blocks)


def _stamp(seconds: float) -> str:
    ms = round(seconds * 1000)
    return f"{ms // 3600000:02d}:{ms // 60000 % 60:02d}:{ms // 1000 % 60:02d},{ms % 1000:03d}"


@dataclass(frozen=True)
class Outcome:
    clips: int
    kept: float  # of the seconds that are spoken
    skipped: int
    foreign: int  # clips with words that their text does not have
    lacking: int
    told: str
    longest: float
    long: float  # of the seconds, in clips that training leaves out by default


def bring(folder: Path, made: Recording, text: str, *, shift: float | None = None) -> Outcome:
    (folder / "a.srt").write_text(text, encoding="utf-8")
    found = list(subtitles.rows(SourceFolder(folder, Options(shift=shift))))
    rows = [one for one in found if isinstance(one, Row)]
    notes = " ".join(f"{one.text} {getattr(one, 'remedy', '')}" for one in found if not isinstance(one, (Row, Problem)))
    told = re.search(r"--shift ([-\d.]+)", notes)
    kept = np.zeros(len(made.voiced), dtype=np.bool_)
    foreign = lacking = 0
    owners = np.full(len(made.voiced), -1)
    for number, unit in enumerate(made.units):
        owners[round(unit.start * FPS) : round(unit.end * FPS)] = number
    for row in rows:
        mine = {int(n) for n in re.findall(r"\bu(\d+)\b", row.text or "")}
        first, end = round(row.start * FPS), round((row.start + (row.seconds or 0.0)) * FPS)
        inside = np.zeros(len(kept), dtype=np.bool_)
        inside[first:end] = True
        kept |= inside
        own = np.isin(owners, list(mine))
        foreign += int((inside & made.voiced & ~own & (owners >= 0)).sum()) > WORD_SECONDS * FPS
        lacking += int((~inside & made.voiced & own).sum()) > WORD_SECONDS * FPS
    return Outcome(
        clips=len(rows),
        kept=float((kept & made.voiced).sum() / made.voiced.sum()),
        skipped=sum(isinstance(one, Problem) for one in found),
        foreign=foreign,
        lacking=lacking,
        told=told[1] if told else "runs away" if "runs away" in notes else "",
        long=sum(row.seconds or 0.0 for row in rows if (row.seconds or 0.0) > LONG_SECONDS)
        / max(1e-9, sum(row.seconds or 0.0 for row in rows)),
        longest=max((row.seconds or 0.0 for row in rows), default=0.0),
    )


def main(corpora: Path, *, lengths: list[float], out: Path | None) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for language, running in (("swa", False), ("swa", True), ("amh", False)):
            for minutes in lengths:
                made = recording(corpora / language, minutes=minutes, running=running, seed=int(minutes))
                folder = Path(place)
                soundfile.write(folder / "a.wav", made.samples, RATE)
                for jitter in (0.0, *JITTERS):
                    for shift in SHIFTS:
                        text = srt(made.units, shift=shift, jitter=jitter, seed=1, overlaps=50)
                        one = bring(folder, made, text)
                        mended = bring(folder, made, text, shift=shift) if shift else one
                        kind = f"{language}{' running' if running else ''}"
                        row = {"kind": kind, "minutes": minutes, "cues": len(made.units)}
                        row |= {"jitter": jitter, "shift": shift, "told": one.told, "kept": round(one.kept, 3)}
                        row |= {"clips": one.clips, "skipped": one.skipped, "foreign": one.foreign}
                        row |= {"then_kept": round(mended.kept, 3), "then_clips": mended.clips}
                        row |= {"then_foreign": mended.foreign, "then_lacking": mended.lacking}
                        row |= {"then_told": mended.told, "longest": round(mended.longest, 1)}
                        row |= {"then_long": round(mended.long, 3)}
                        rows.append(row)
                        print(json.dumps(row), flush=True)
    if out is not None:
        out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    corpora, *rest = sys.argv[1:]
    main(
        Path(corpora),
        lengths=[float(one) for one in (rest[1:] or ["3", "10", "20"])],
        out=Path(rest[0]) if rest else None,
    )

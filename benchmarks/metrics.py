"""`python benchmarks/metrics.py CORPORA [RESULT.md]`: which metric moves by what, on real clips of amh and yor.

Each clip is changed in one way and judged against itself; the table says what each metric made of it.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyworld

from olu.audio import io
from olu.core.types import Audio
from olu.evaluate.estimates import mean
from olu.evaluate.metrics import cer, dnsmos, duration, f0, paired, sanity, speaker
from olu.evaluate.metrics import paired as mcd

CLIPS = 20
TRAIN = 20
LONGEST = 6.0  # seconds
COLUMNS = (
    "cer", "mcd", "f0_error", "f0_shift", "f0_correlation", "voicing_error", "gross_pitch_error", "duration_ratio",
    "file_ratio", "rate_ratio", "pauses", "speaker", "dnsmos", "dnsmos_signal", "dnsmos_background", "faults",
)  # fmt: skip

Clip = tuple[str, Audio]


def main() -> None:
    corpora = Path(sys.argv[1])
    head = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    )
    lines = ["# Which metric moves by what", "", head, "", *ABOUT]
    for language in ("amh", "yor"):
        lines += ["", f"## {language}", "", *matrix(corpora / language)]
    text = "\n".join([*lines, "", *NOTES, ""])
    print(text)
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(text, encoding="utf-8")


def matrix(folder: Path) -> list[str]:
    rows = [line.split("|", 1) for line in (folder / "metadata.csv").read_text(encoding="utf-8").splitlines()]
    every = [(text, io.read(folder / "audio" / f"{name}.ogg")) for name, text in rows[:: len(rows) // 150]]
    clips = [clip for clip in every if clip[1].seconds <= LONGEST][: CLIPS + TRAIN]
    judged, train = clips[::2][:CLIPS], clips[1::2][:TRAIN]
    low, high = f0.bounds(audio for _, audio in train)
    middle = speaker.centroid(audio for _, audio in train)
    usual = sanity.usual((audio, letters(text)) for text, audio in train)
    said = (
        f"{len(judged)} clips judged, {len(train)} others for the speaker's middle; pitch {low:.0f} to {high:.0f} Hz."
    )
    table = [said, "", "| change | " + " | ".join(COLUMNS) + " | faults named |", "|---" * (len(COLUMNS) + 2) + "|"]
    spent: dict[str, float] = {}
    for name, change in CHANGES.items():
        figures: dict[str, list[float | None]] = {column: [] for column in COLUMNS}
        named: dict[str, int] = {}
        for place, (text, audio) in enumerate(judged):
            other = judged[(place + 1) % len(judged)][0]
            heard = other if name == "another text" else "" if name == "silence" else text
            spoken = change(audio, low, high)
            pair = timed(spent, "mcd and pitch", lambda a=audio, s=spoken: paired.pair(a, s, low=low, high=high))
            melody = f0.compare(pair)
            times = timed(
                spent, "durations", lambda a=audio, s=spoken, t=text: duration.compare(a, s, symbols=letters(t))
            )
            opinion = timed(spent, "dnsmos", lambda s=spoken: dnsmos.opinion(s))
            like = timed(spent, "speaker", lambda s=spoken: None if middle is None else speaker.likeness(s, middle))
            pitch = f0.track(spoken, low=low, high=high)
            sane = timed(
                spent,
                "sanity",
                lambda a=audio, s=spoken, t=text, p=pitch: sanity.check(
                    s, natural=a.seconds, letters=letters(t), usual=usual, pitch=p
                ),
            )
            for fault in sane.faults:
                named[fault] = named.get(fault, 0) + 1
            row = {
                "cer": cer.compare(text, spoken=heard).letters.rate,
                "mcd": mcd.distortion(pair),
                "f0_error": melody and melody.semitones,
                "f0_shift": melody and melody.shift,
                "f0_correlation": melody and melody.correlation,
                "voicing_error": melody and melody.voicing,
                "gross_pitch_error": melody and melody.gross,
                "duration_ratio": times and times.ratio,
                "file_ratio": times and times.whole_ratio,
                "rate_ratio": times and times.rate_ratio,
                "pauses": times and float(len(times.spoken.pauses)),
                "speaker": like,
                "dnsmos": opinion and opinion.overall,
                "dnsmos_signal": opinion and opinion.signal,
                "dnsmos_background": opinion and opinion.background,
                "faults": float(bool(sane.faults)),
            }
            for column in COLUMNS:
                figures[column].append(row[column])
        cells = (shown(mean(figures[column])) for column in COLUMNS)
        said = ", ".join(f"{fault} {count}" for fault, count in sorted(named.items(), key=lambda one: -one[1]))
        table.append(f"| {name} | " + " | ".join(cells) + f" | {said} |")
        print(table[-1], file=sys.stderr, flush=True)
    seconds = len(CHANGES) * sum(audio.seconds for _, audio in judged)
    costs = ", ".join(f"{name} {spent[name] / seconds:.3f}" for name in spent)
    return [*table, "", f"CPU seconds per second of speech, one thread: {costs}."]


def timed(spent: dict[str, float], name: str, work: Callable[[], object]) -> object:
    start = time.process_time()
    found = work()
    spent[name] = spent.get(name, 0.0) + time.process_time() - start
    return found


def letters(text: str) -> int:
    return sum(not char.isspace() for char in text)


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def vocoded(audio: Audio, low: float, high: float, *, semitones: float = 0.0, slow: float = 1.0) -> Audio:
    """WORLD's analysis and synthesis: pitch and pace alone can be changed in between."""
    wave = audio.samples.astype(np.float64)
    times = np.arange(len(wave) // (audio.rate // 200) + 1) * 0.005
    hertz = f0.track(audio, low=low, high=high, finer=3).at(times)
    envelope = pyworld.cheaptrick(wave, hertz, times, audio.rate)
    noise = pyworld.d4c(wave, hertz, times, audio.rate)
    made = pyworld.synthesize(hertz * 2 ** (semitones / 12), envelope, noise, audio.rate, 5.0 * slow)
    return Audio(made.astype(np.float32), audio.rate)


def noisy(audio: Audio) -> Audio:
    power = float(np.mean(audio.samples**2)) / 100
    noise = np.random.default_rng(0).normal(0, power**0.5, len(audio.samples))
    return Audio((audio.samples + noise).astype(np.float32), audio.rate)


def looped(audio: Audio) -> Audio:
    """The second second of it again and again, as long as the clip."""
    piece = audio.samples[audio.rate : 2 * audio.rate]
    return Audio(np.resize(piece, len(audio.samples)), audio.rate)


CHANGES: dict[str, Callable[[Audio, float, float], Audio]] = {
    "none": lambda audio, low, high: audio,
    "WORLD, nothing changed": lambda audio, low, high: vocoded(audio, low, high),
    "WORLD, 2 semitones up": lambda audio, low, high: vocoded(audio, low, high, semitones=2.0),
    "WORLD, 10 % slower": lambda audio, low, high: vocoded(audio, low, high, slow=1.1),
    "20 dB noise": lambda audio, low, high: noisy(audio),
    "another text": lambda audio, low, high: audio,
    "half a frame later": lambda audio, low, high: Audio(np.pad(audio.samples, (128, 0)), audio.rate),
    "half as loud": lambda audio, low, high: Audio(audio.samples / 2, audio.rate),
    "silence": lambda audio, low, high: Audio(np.zeros_like(audio.samples), audio.rate),
    "a loop": lambda audio, low, high: looped(audio),
    "10 times as loud, clipped": lambda audio, low, high: Audio(np.clip(audio.samples * 10, -1, 1), audio.rate),
    "no end (4 times)": lambda audio, low, high: Audio(np.tile(audio.samples, 4), audio.rate),
    "a buzz": lambda audio, low, high: Audio(
        (0.1 * np.sign(np.sin(2 * np.pi * 110 * np.arange(len(audio.samples)) / audio.rate))).astype(np.float32),
        audio.rate,
    ),
    "begins in the middle": lambda audio, low, high: Audio(
        audio.samples[int(np.argmax(np.abs(audio.samples))) :], audio.rate
    ),
}

ABOUT = (
    "Real clips, each changed in one way and judged against itself. `cer` compares the text with what was said (the",
    "recogniser is measured elsewhere): here it moves with the text alone. WORLD's own loss is in the row that changes",
    "nothing; read the two rows after it against that one.",
)
NOTES = (
    "`half a frame later` is what MCD, melody and voicing make of nothing but where their frames happen to lie:",
    "no system can be told from another by less.",
    "",
    "Made by `python benchmarks/metrics.py ../shared/corpora benchmarks/results/metrics_x86_64-2core_202611.md`.",
)


if __name__ == "__main__":
    main()

"""What no listener is needed for: files that are silent, broken, endless, stuck, or cut in the middle of a sound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu import __version__
from olu.audio import activity, io
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate, figure, mean
from olu.evaluate.metrics.duration import numbers_only
from olu.evaluate.metrics.f0 import Pitch
from olu.train.guards.progress import ENDLESS, REPEATS, SILENT_LEVEL, SILENT_PEAK
from olu.train.validation import measure

CLIPPED = 1e-4  # share of the samples
LONGEST_SILENCE = 1.5  # seconds
LEAST_VOICED = 0.2
COLLAPSED = 0.35  # of what the corpus has in the middle
SHORTEST, LONGEST = 0.5, 2.0  # times what the corpus takes for as many letters
OFFSET = 0.01
EDGE_SECONDS, EDGE_DBFS = 0.005, -30.0
MEL_RATE, MEL_FFT, MEL_HOP, MELS = 16000, 1024, 256, 80
LIVELY = MELS // 4
MOST = 100  # recordings that say what is usual

FAULTS = {
    "nan": "holds samples that are no numbers",
    "silent": f"peak below {SILENT_PEAK} or level below {SILENT_LEVEL:.0f} dBFS",
    "collapsed": f"its spectrum varies less than {COLLAPSED} of what is usual in the corpus",
    "clipped": f"more than {CLIPPED:.2%} of the samples at full scale",
    "pause": f"a silence longer than {LONGEST_SILENCE} s",
    "unvoiced": f"less than {LEAST_VOICED:.0%} of it has a pitch",
    "length": f"shorter than {SHORTEST} or longer than {LONGEST} times what its letters take in the corpus",
    "endless": f"longer than {ENDLESS:.0f} times the natural recording, or what its letters take",
    "loop": f"two half seconds that are the same (likeness above {REPEATS})",
    "offset": f"its mean is off zero by more than {OFFSET}",
    "click": f"begins or ends inside a sound (above {EDGE_DBFS:.0f} dBFS in the outer 5 ms)",
}


@dataclass(frozen=True, slots=True)
class Usual:
    """Medians of the natural recordings of a corpus, to hold spoken ones against."""

    spread: float  # standard deviation of the log mel values
    motion: float  # standard deviation over time, mean of the liveliest bands
    seconds_per_letter: float


@dataclass(frozen=True, slots=True)
class Sane:
    """One file: what was measured, and the names of its faults (FAULTS says what they mean)."""

    measured: dict[str, float]
    faults: tuple[str, ...]


def usual(recordings: Iterable[tuple[Audio, int]]) -> Usual | None:
    """What is usual in up to 100 natural recordings, given with their number of letters."""
    rows = []
    for audio, letters in recordings:
        if letters > 0 and len(audio.samples) >= MEL_FFT:
            rows.append((*_movement(audio), audio.seconds / letters))
        if len(rows) == MOST:
            break
    if not rows:
        return None
    spread, motion, pace = (float(value) for value in np.median(rows, axis=0))
    return Usual(spread, motion, pace)


def check(
    audio: Audio,
    *,
    natural: float | None = None,
    letters: int | None = None,
    usual: Usual | None = None,
    pitch: Pitch | None = None,
) -> Sane:
    """All that can be said of one file; `natural` is the seconds of the recording of the same text.

    Without `usual`, `letters` or `pitch` what needs them is not looked at.
    """
    broken = float(np.mean(~np.isfinite(audio.samples))) if len(audio.samples) else 0.0
    audio = numbers_only(audio)
    sound = measure("", audio, natural=natural)
    samples = audio.samples.astype(np.float64)
    measured = {
        "nan": broken,
        "seconds": sound.seconds,
        "peak": sound.peak,
        "level": sound.level,
        "clipped": sound.clipped,
        "repeats": sound.repeats,
        "silence": longest_silence(audio),
        "offset": abs(float(np.mean(samples))) if len(samples) else 0.0,
        "edge": edge_level(samples, rate=audio.rate),
    }
    if pitch is not None:
        measured["voiced"] = pitch.voiced
    if usual is not None:
        measured["spread"], measured["motion"] = _movement(audio)
    if natural:
        measured["against_natural"] = sound.seconds / natural
    if usual is not None and letters:
        measured["against_letters"] = sound.seconds / (letters * usual.seconds_per_letter)
    return Sane(measured, _faults(measured, usual))


def longest_silence(audio: Audio) -> float:
    """The longest silence in seconds, at the ends too."""
    if len(audio.samples) == 0:
        return 0.0
    levels = activity.frame_dbfs(audio)
    if float(np.max(levels)) <= activity.SILENT_DBFS:
        return audio.seconds
    starts, ends = activity.sounds(levels)
    gaps = np.append(starts, len(levels)) - np.append(0, ends)
    return float(np.max(gaps)) / activity.frame_rate(audio.rate)


def edge_level(samples: NDArray[np.float64], *, rate: int) -> float:
    """dBFS of the louder of the first and the last 5 ms."""
    size = max(1, round(EDGE_SECONDS * rate))
    power = max((float(np.mean(edge**2)) for edge in (samples[:size], samples[-size:]) if len(edge)), default=0.0)
    return float(10 * np.log10(max(power, 1e-12)))


def summarise(clips: Sequence[Sane | None], *, natural: Sequence[Sane | None] | None = None) -> tuple[Estimate, ...]:
    """faults (share of files with any) and one `fault_<name>` for each that was found."""
    said: dict[str, Any] = {
        "unit": "share of files",
        "instrument": f"signal checks of Olu {__version__}",
        "trust": "high",
        "reason": "counted in the sound itself",
        "counted": True,
    }
    natural = natural or ()
    figures = [figure("faults", _any(clips), natural=mean(_any(natural)), **said)]
    for fault in FAULTS:
        values = _has(clips, fault)
        if any(values):
            figures.append(figure(f"fault_{fault}", values, natural=mean(_has(natural, fault)), **said))
    return tuple(figures)


def _faults(measured: dict[str, float], usual: Usual | None) -> tuple[str, ...]:
    def collapsed(name: str, middle: float) -> bool:
        return name in measured and measured[name] < COLLAPSED * middle

    against = measured.get("against_letters", 1.0)
    found = {
        "nan": measured["nan"] > 0,
        "silent": measured["peak"] < SILENT_PEAK or measured["level"] < SILENT_LEVEL,
        "collapsed": usual is not None and (collapsed("spread", usual.spread) or collapsed("motion", usual.motion)),
        "clipped": measured["clipped"] > CLIPPED,
        "pause": measured["silence"] > LONGEST_SILENCE,
        "unvoiced": measured.get("voiced", 1.0) < LEAST_VOICED,
        "length": not SHORTEST <= against <= LONGEST,
        "endless": max(measured.get("against_natural", 0.0), against) > ENDLESS,
        "loop": measured["repeats"] > REPEATS,
        "offset": measured["offset"] > OFFSET,
        "click": measured["edge"] > EDGE_DBFS,
    }
    return tuple(fault for fault in FAULTS if found[fault])


def _movement(audio: Audio) -> tuple[float, float]:
    """Standard deviation of the log mel values of a file, and that over time in the liveliest quarter of the bands.

    Noise fills the bands that speech leaves empty, so all of them together would call noisy speech stuck.
    """
    from olu.features.mel import FLOOR, mel_bank

    sound = io.resample(audio, MEL_RATE).samples
    if len(sound) < MEL_FFT:
        return 0.0, 0.0
    frames = np.lib.stride_tricks.sliding_window_view(sound, MEL_FFT)[::MEL_HOP]
    bank = mel_bank(rate=MEL_RATE, fft_size=MEL_FFT, bins=MELS, low=0.0, high=MEL_RATE / 2)
    mels = np.log(np.maximum(np.abs(np.fft.rfft(frames * np.hanning(MEL_FFT), axis=1)) @ bank.T, FLOOR))
    return float(mels.std()), float(np.sort(mels.std(axis=0))[-LIVELY:].mean())


def _any(clips: Sequence[Sane | None]) -> list[float | None]:
    return [None if one is None else float(bool(one.faults)) for one in clips]


def _has(clips: Sequence[Sane | None], fault: str) -> list[float | None]:
    return [None if one is None else float(fault in one.faults) for one in clips]

"""Sound and pitch as pieces of a page: players, mel pictures and melodies, all inside the page."""

from __future__ import annotations

import io as memory
from dataclasses import dataclass

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.audio import io
from olu.core.types import Audio
from olu.pages.png import data_uri

MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
LONGEST_SECONDS = 20.0
LOUD_DBFS = -23.0  # both sides of a blind pair are brought to it
WIDTH, HEIGHT, ROOM = 900, 110, 6


@dataclass(frozen=True)
class Melody:
    """Hertz over seconds; 0 where nothing is voiced."""

    times: NDArray[np.float64]
    hertz: NDArray[np.float64]


def player(audio: Audio, *, label: str) -> str:
    """A small player that phones can play too."""
    return f'<audio controls preload="none" aria-label="{label}" src="{mp3_uri(audio)}"></audio>'


def mp3_uri(audio: Audio) -> str:
    """The first seconds as MP3, which every browser plays."""
    fitting = next((rate for rate in MP3_RATES if rate >= audio.rate), MP3_RATES[-1])
    return data_uri(_packed(io.resample(_start(audio), fitting), "MP3", "MPEG_LAYER_III"), "audio/mpeg")


def flac_uri(audio: Audio) -> str:
    """The first seconds, nothing lost, at a loudness that gives neither side away."""
    start = _start(audio)
    power = float(np.mean(np.square(start.samples, dtype=np.float64))) if len(start.samples) else 0.0
    gain = 10 ** (LOUD_DBFS / 20) / max(power**0.5, 1e-6)
    peak = float(np.max(np.abs(start.samples), initial=1e-6))
    louder = Audio(start.samples * np.float32(min(gain, 0.98 / peak)), start.rate)
    return data_uri(_packed(louder, "FLAC", "PCM_16"), "audio/flac")


def _start(audio: Audio) -> Audio:
    return Audio(np.nan_to_num(audio.samples[: round(LONGEST_SECONDS * audio.rate)]), audio.rate)


def _packed(audio: Audio, form: str, subtype: str) -> bytes:
    out = memory.BytesIO()
    soundfile.write(out, audio.samples.clip(-1.0, 1.0), audio.rate, format=form, subtype=subtype)
    return out.getvalue()


def shown_seconds(audio: Audio) -> float:
    """How much of a sound its picture and its player hold."""
    return min(audio.seconds, LONGEST_SECONDS)


def mel_image(audio: Audio, *, label: str, end: float) -> str:
    """As wide as its part of `end` seconds, so that pictures under one another have one scale of time."""
    from olu.train.view.sounds import mel_picture  # torch comes with it

    wide = 100 * shown_seconds(audio) / max(end, 1e-6)
    return (
        f'<img alt="{label}" style="width:{min(wide, 100.0):.1f}%" src="{data_uri(mel_picture(audio), "image/png")}">'
    )


def melodies(natural: Melody | None, spoken: Melody, *, end: float) -> str:
    """Both melodies over one another, on a scale of semitones and on that of the pictures: up to `end` seconds."""
    held = [one.hertz[one.hertz > 0] for one in (natural, spoken) if one is not None]
    voiced = np.concatenate([*held, np.zeros(0)])
    if len(voiced) == 0:
        return '<p class="soft">No pitch was found.</p>'
    low, high = (12 * np.log2(value) for value in np.percentile(voiced, (1, 99)))
    low, high = low - 1, high + 1
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Melody" class="melody">']
    for style, one in (("c1", natural), ("c0", spoken)):
        if one is not None:
            parts += [f'<polyline class="line {style}" points="{run}"/>' for run in _runs(one, end, low, high)]
    named = '<span class="c1">natural</span>' if natural is not None else ""
    scale = f"{2 ** (low / 12):.0f} to {2 ** (high / 12):.0f} Hz"
    return (
        f"{''.join(parts)}</svg>"
        f'<div class="legend">{named}<span class="c0">voice</span><span class="soft">{scale}</span></div>'
    )


def _runs(melody: Melody, end: float, low: float, high: float) -> list[str]:
    """Each voiced stretch as the points of a line."""
    runs: list[list[str]] = [[]]
    for time, hertz in zip(melody.times, melody.hertz, strict=True):
        if hertz <= 0 or time > end:
            runs.append([])
            continue
        x = WIDTH * time / max(end, 1e-6)
        height = (12 * np.log2(hertz) - low) / (high - low)
        y = HEIGHT - ROOM - (HEIGHT - 2 * ROOM) * min(max(height, 0.0), 1.0)
        runs[-1].append(f"{x:.1f},{y:.1f}")
    return [" ".join(run) for run in runs if len(run) > 1]

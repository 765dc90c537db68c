"""What the spectrum of a clip tells: how high its sound reaches, mains hum, and a print to find copies by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olu.core.types import Audio

BAND_HZ = 250.0
FRAME_SECONDS = 0.032
CHUNK = 1024  # frames transformed at once: the memory of a clip of half an hour stays small
LOWEST_HZ = 50.0  # an offset and rumble are no sound
QUIETEST = 1e-12  # power of a band that counts as nothing: below the steps of 16-bit samples

# Effective bandwidth: the highest band that rises and falls with the speech.
FLOOR_SHARE = 0.05  # of the frames of a band are at its floor
ABOVE_FLOOR_DB = 10.0
BELOW_LOUD_DB = 72.0  # weaker than this next to the loudest band is a resampler's leftover, not sound
AUDIBLE_DB = 45.0  # louder than this next to the loudest band is sound even if steady: noise over the speech hides it
WINDOW_SECONDS = 1.0
# A coder fills the empty bands of an upsampled recording with faint noise, but leaves the cliff at their edge. In 2,200
# real clips no voice falls this steeply and stays this faint.
CLIFF_DB, CLIFF_FAINT_DB = 24.0, 50.0
CLIFF_BANDS = 4  # bands below the edge that are averaged

# The print: 33 x 33 levels become 32 x 32 signs.
PRINT_BANDS, PRINT_TIMES = 33, 33

HUM_HZ = (50.0, 60.0)
HUM_RATE = 500.0  # enough for the lines and cheap
HUM_APART_HZ = (6.0, 12.0)  # a line is judged against what lies this far to either side of it
STANDS_OUT = 10.0  # times the sound around it: a deep voice has no line


def bands(audio: Audio) -> NDArray[np.float32]:
    """(frames, bands) power in bands of 250 Hz from 50 Hz up to half the rate."""
    width = max(2, round(audio.rate * FRAME_SECONDS))
    samples = audio.samples
    if len(samples) < width:
        samples = np.pad(samples, (0, width - len(samples)))
    count = len(samples) // width
    frames = samples[: count * width].reshape(count, width)
    window = np.hanning(width).astype(np.float32)
    window /= np.float32(np.sqrt(width * np.dot(window, window) / 2))
    hertz = np.arange(width // 2 + 1) * audio.rate / width
    first = int(np.searchsorted(hertz, LOWEST_HZ))
    edges = np.unique(np.maximum(np.searchsorted(hertz, np.arange(0.0, audio.rate / 2, BAND_HZ)), first))
    edges = edges[edges < len(hertz)]
    into = np.zeros((len(hertz), len(edges)), dtype=np.float32)  # which bin counts for which band
    for band, (low, high) in enumerate(zip(edges, [*edges[1:], len(hertz)], strict=True)):
        into[low:high, band] = 1.0
    parts = []
    for start in range(0, count, CHUNK):
        spectrum = np.fft.rfft(frames[start : start + CHUNK] * window, axis=1)
        parts.append((spectrum.real**2 + spectrum.imag**2) @ into)
    return np.concatenate(parts)


def bandwidth(power: NDArray[np.float32]) -> float:
    """Hz up to which the clip holds sound: the loudest second of a band is audible or stands out of its own quiet."""
    step = max(1, round(WINDOW_SECONDS / FRAME_SECONDS))
    starts = np.arange(0, max(1, len(power) - step // 2), step)
    sums = np.add.reduceat(power, starts, axis=0)
    lengths = np.diff(np.append(starts, len(power)))[:, None]
    loudest = (sums / lengths).max(axis=0)
    lowest = int(FLOOR_SHARE * (len(power) - 1))
    floor = np.partition(power.T.copy(), lowest, axis=1)[:, lowest]
    least = np.maximum(floor * 10 ** (ABOVE_FLOOR_DB / 10), loudest.max() * 10 ** (-BELOW_LOUD_DB / 10))
    if not np.any(loudest > np.maximum(least, QUIETEST)):
        return 0.0  # steady from one end to the other: a tone, no speech
    least = np.minimum(least, loudest.max() * 10 ** (-AUDIBLE_DB / 10))
    sounding = np.flatnonzero(loudest > np.maximum(least, QUIETEST))
    return min(int(sounding[-1]) + 1, _cliff(loudest)) * BAND_HZ


def _cliff(loudest: NDArray[np.float32]) -> int:
    """How many bands lie below the first steep fall after which nothing comes back; all of them without one."""
    levels = 10 * np.log10(loudest / max(float(loudest.max()), QUIETEST) + 1e-12)
    above = np.maximum.accumulate(levels[::-1])[::-1]  # the loudest band from here up
    for band in range(CLIFF_BANDS + 2, len(levels) - CLIFF_BANDS):
        before = levels[band - CLIFF_BANDS : band].mean()
        if before - above[band + 1] > CLIFF_DB and above[band + 1] < -CLIFF_FAINT_DB:
            return band
    return len(levels)


def sound_print(power: NDArray[np.float32]) -> bytes:
    """1024 bits of the shape of a sound up to 8 kHz; loudness, coding and a little noise hardly change them."""
    wide = power[:, :PRINT_BANDS]
    if wide.shape[1] < PRINT_BANDS:
        wide = np.pad(wide, ((0, 0), (0, PRINT_BANDS - wide.shape[1])))
    if len(wide) == 0 or not wide.any():
        return b""
    total = np.zeros((len(wide) + 1, PRINT_BANDS))
    np.cumsum(wide, axis=0, out=total[1:])
    place = np.linspace(0, len(wide), PRINT_TIMES + 1)
    whole = np.minimum(place.astype(np.intp), len(wide) - 1)
    part = (place - whole)[:, None]
    sums = np.diff(total[whole] * (1 - part) + total[whole + 1] * part, axis=0)
    levels = np.log(sums + sums.max() * 1e-7)
    bits = np.diff(np.diff(levels, axis=0), axis=1) > 0
    return np.packbits(bits).tobytes()


def hum_dbfs(audio: Audio) -> float | None:
    """Level of the steady line at 50 or 60 Hz above what surrounds it; None when the clip is too short to tell."""
    width = max(1, int(audio.rate / HUM_RATE))
    rate = audio.rate / width
    size = int(rate)  # one second
    low = audio.samples[: len(audio.samples) // width * width].reshape(-1, width) @ np.full(
        width, 1 / width, np.float32
    )
    count = len(low) // size
    if count == 0:
        return None
    frames = low[: count * size].reshape(count, size)
    window = np.hanning(size).astype(np.float32)
    spectrum = np.fft.rfft((frames - frames.mean(axis=1, keepdims=True)) * window, axis=1)
    power = np.median(np.abs(spectrum) ** 2, axis=0) * 2 / (size * np.dot(window, window))  # steady: in most seconds
    near, far = HUM_APART_HZ
    hertz = np.arange(size // 2 + 1) * rate / size
    best = 0.0
    for line in HUM_HZ:
        own = power[np.abs(hertz - line) <= 2.0].sum()
        apart = np.abs(hertz - line)
        around = np.median(power[(apart >= near) & (apart <= far)]) * 5
        if own > STANDS_OUT * around:
            best = max(best, float(own - around))
    return float(10 * np.log10(max(best, 1e-12)))

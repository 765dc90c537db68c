"""A recording as it might have been: said faster, higher, by somebody larger, in a room, in noise, through a codec.

Every function keeps where things are heard: nothing is delayed, and only `paced` changes the length.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.audio.io import resample
from olu.audio.stretch import Stretcher
from olu.core.types import Audio

Wave = NDArray[np.float32]
Random = np.random.Generator

FRAME_SECONDS, HOP_SECONDS = 0.032, 0.008
ENVELOPE_SECONDS = 0.0015  # quefrencies below it are the throat's, those above the voice's
ENVELOPE_ROUNDS = 4  # so that the envelope lies on the harmonics and not between them
STEEPEST = 4.0  # natural logarithm of the most that an envelope is moved by: 35 dB
REVERB_SECONDS = (0.15, 0.6)  # until the sound of a room has fallen by 60 dB
DIRECT_DB = (0.0, 15.0)  # of the speaker over the room
GAP_SECONDS = 0.003  # before the first wall is heard
TILT = (0.0, 2.0)  # of noise: its power falls with the frequency to this power; 1 is pink
QUIETER_DB = 20.0  # of the noise: from the loudest that is allowed down to so much less
TELEPHONE = 8000  # Hz


def paced(audio: Audio, speed: float) -> Audio:
    """Said so many times faster, in the same pitch: round(samples / speed) of them."""
    return Audio(Stretcher(audio.rate, speed).push(audio.samples, last=True), audio.rate)


def pitched(audio: Audio, semitones: float, *, formants: bool) -> Audio:
    """Higher by so many semitones and as long as before. `formants`: they rise too, as of somebody smaller."""
    ratio = 2.0 ** (semitones / 12)
    risen = resample(audio, audio.rate, factor=ratio)
    moved = _as_long(paced(risen, 1 / ratio).samples, len(audio.samples))
    return Audio(moved if formants else _with_envelope(moved, audio), audio.rate)


def _as_long(samples: Wave, length: int) -> Wave:
    return np.pad(samples, (0, max(0, length - len(samples))))[:length].astype(np.float32)


def _with_envelope(samples: Wave, of: Audio) -> Wave:
    """The sound with the spectral envelope of another that is said at the same time."""
    size, hop = 2 * round(FRAME_SECONDS * of.rate / 2), round(HOP_SECONDS * of.rate)
    window = np.hanning(size + 1)[:-1].astype(np.float32)
    own, wanted = (_frames(one, size, hop) * window for one in (samples, of.samples))
    spectra = np.fft.rfft(own, axis=1)
    keep = max(2, round(ENVELOPE_SECONDS * of.rate))
    moves = _envelope(np.fft.rfft(wanted, axis=1), keep) - _envelope(spectra, keep)
    changed = np.fft.irfft(spectra * np.exp(np.clip(moves, -STEEPEST, STEEPEST)), size, axis=1) * window
    made, weight = (np.zeros(size + hop * len(own), np.float64) for _ in range(2))
    for number, frame in enumerate(changed):
        at = slice(number * hop, number * hop + size)
        made[at] += frame
        weight[at] += window**2
    middle = slice(size // 2, size // 2 + len(samples))
    return (made[middle] / np.maximum(weight[middle], 1e-3)).astype(np.float32)


def _frames(samples: Wave, size: int, hop: int) -> NDArray[np.float32]:
    """[F, size], the first of them around sample 0."""
    padded = np.pad(samples, (size // 2, size // 2 + hop))
    return np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]


def _envelope(spectra: NDArray[np.complex128], keep: int) -> NDArray[np.float64]:
    """The logarithm of the smooth curve that lies on the peaks of each spectrum [F, bins]: the true envelope."""
    heights = np.log(np.abs(spectra) + 1e-4)
    size, curve = 2 * (heights.shape[1] - 1), heights
    for _ in range(ENVELOPE_ROUNDS):
        cepstra = np.fft.irfft(np.maximum(heights, curve), size, axis=1)
        cepstra[:, keep : size - keep + 1] = 0
        curve = np.fft.rfft(cepstra, axis=1).real
    return curve


def in_room(audio: Audio, random: Random) -> Audio:
    """As a microphone in some room hears it: what comes straight stays in its place, the walls come after it."""
    seconds, direct = random.uniform(*REVERB_SECONDS), random.uniform(*DIRECT_DB)
    time = np.arange(1, round(seconds * audio.rate)) / audio.rate
    tail = random.normal(size=len(time)) * np.exp(-6.9 * time / seconds) * (time >= GAP_SECONDS)
    tail *= 10 ** (-direct / 20) / max(1e-9, float(np.sqrt((tail**2).sum())))
    heard = _convolved(audio.samples, np.concatenate([[1.0], tail]))
    return Audio(heard * np.float32(_loudness(audio.samples) / max(1e-9, _loudness(heard))), audio.rate)


def _convolved(samples: Wave, response: NDArray[np.float64]) -> Wave:
    """As long as the sound."""
    size = 1 << (len(samples) + len(response) - 1).bit_length()
    made = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(response, size), size)
    return made[: len(samples)].astype(np.float32)


def _loudness(samples: Wave) -> float:
    return float(np.sqrt(np.mean(samples.astype(np.float64) ** 2))) if len(samples) else 0.0


def noisy(audio: Audio, decibels: float, random: Random) -> Audio:
    """With noise whose power is so many dB below that of the whole recording, from white to brown."""
    count = len(audio.samples)
    shape = np.maximum(np.fft.rfftfreq(count, 1 / audio.rate), 50.0) ** (-random.uniform(*TILT) / 2)
    noise = np.fft.irfft(np.fft.rfft(random.normal(size=count)) * shape, count)
    level = _loudness(audio.samples) * 10 ** (-decibels / 20) / max(1e-12, float(np.sqrt(np.mean(noise**2))))
    return Audio((audio.samples + level * noise).astype(np.float32), audio.rate)


def _filed(form: str, subtype: str, **more: float) -> Callable[[Audio], Audio]:
    """Through a file of this form and back."""

    def through(audio: Audio) -> Audio:
        held = BytesIO()
        with soundfile.SoundFile(held, "w", audio.rate, 1, subtype, format=form, **more) as out:
            out.write(np.clip(audio.samples, -1.0, 1.0))
        held.seek(0)
        samples, rate = soundfile.read(held, dtype="float32")
        return Audio(samples, int(rate))

    return through


CODECS: dict[str, tuple[Callable[[Audio], Audio], int]] = {  # and the rate each is given
    "opus at 8 kbit/s": (_filed("OGG", "OPUS", compression_level=1.0), 16000),
    "opus at 30 kbit/s": (_filed("OGG", "OPUS", compression_level=0.9), 16000),
    "mp3 at 22 kbit/s": (_filed("MP3", "MPEG_LAYER_III", compression_level=0.99), 16000),
    "mobile phone (GSM)": (_filed("WAV", "GSM610"), TELEPHONE),
    "telephone (mu-law)": (_filed("WAV", "ULAW"), TELEPHONE),
}


def coded(audio: Audio, codec: str) -> Audio:
    """Through one of CODECS and back to its rate."""
    through, rate = CODECS[codec]
    back = resample(through(resample(audio, rate)), audio.rate)
    return Audio(_as_long(back.samples, len(audio.samples)), audio.rate)

"""Sounds and pictures that a page holds inside itself: packed sound, and PNGs made with numpy and zlib alone."""

from __future__ import annotations

import base64
import io as memory
import struct
import zlib
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from olu.audio import io
from olu.core.types import Audio

SHADES = 32  # few enough to pack well, too many to see steps
DARK_TO_BRIGHT = ((13, 17, 38), (45, 52, 120), (34, 116, 134), (66, 178, 118), (178, 214, 62), (252, 244, 180))
WIDTH, HEIGHT = 300, 64  # of a spectrogram
WINDOW_SECONDS = 0.025
RANGE_DB = 70.0
MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)


def data_uri(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def packed(audio: Audio, form: str, subtype: str, **settings: Any) -> bytes:
    """A sound as the bytes of a file of the form; what is no number is silent, what is too loud is cut."""
    out = memory.BytesIO()
    samples = np.nan_to_num(audio.samples).clip(-1.0, 1.0)
    soundfile.write(out, samples, audio.rate, format=form, subtype=subtype, **settings)
    return out.getvalue()


def mp3_uri(audio: Audio) -> str:
    """As MP3, which every browser and phone plays."""
    fitting = next((rate for rate in MP3_RATES if rate >= audio.rate), MP3_RATES[-1])
    return data_uri(packed(io.resample(audio, fitting), "MP3", "MPEG_LAYER_III"), "audio/mpeg")


def first_seconds(audio: Audio, seconds: float) -> Audio:
    return Audio(np.nan_to_num(audio.samples[: round(seconds * audio.rate)]), audio.rate)


def spectrogram(audio: Audio) -> str:
    return data_uri(spectrogram_png(audio), "image/png")


def spectrogram_png(audio: Audio, *, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    """As a PNG: time to the right, 0 Hz to half the rate upwards, bright where it is loud."""
    size = max(2 * height, round(audio.rate * WINDOW_SECONDS))
    samples = np.pad(audio.samples, (size // 2, size))  # a column is what lies around its time
    starts = np.linspace(0, len(audio.samples), width, endpoint=False).astype(np.intp)
    frames = samples[starts[:, None] + np.arange(size)]
    power = np.abs(np.fft.rfft((frames - frames.mean(axis=1, keepdims=True)) * np.hanning(size), axis=1)) ** 2
    edges = np.linspace(0, power.shape[1], height, endpoint=False).astype(np.intp)
    decibel = 10 * np.log10(np.add.reduceat(power, edges, axis=1) + 1e-10)
    shade = (decibel - max(float(decibel.max()), -30.0)) / RANGE_DB + 1
    return heat_png(shade.T[::-1])


def heat_png(values_HW: NDArray[Any]) -> bytes:
    """A picture of values between 0 and 1, dark where they are low; row 0 is at the top."""
    shades = np.clip(np.nan_to_num(values_HW) * (SHADES - 1) + 0.5, 0, SHADES - 1).astype(np.uint8)
    height, width = shades.shape
    stops, at = np.linspace(0, 1, len(DARK_TO_BRIGHT)), np.linspace(0, 1, SHADES)
    palette = np.stack([np.interp(at, stops, part) for part in zip(*DARK_TO_BRIGHT, strict=True)], axis=1)
    rows = np.pad(shades, ((0, 0), (1, 0)))  # each row begins with the name of its filter: none
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    )
    parts = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def shrunk(values_HW: NDArray[Any], *, width: int, height: int) -> NDArray[Any]:
    """At most so wide and high: each pixel the largest value it covers, so that a thin path stays seen."""
    for axis, most in ((0, height), (1, width)):
        if values_HW.shape[axis] > most:
            starts = np.linspace(0, values_HW.shape[axis], most, endpoint=False).astype(np.intp)
            values_HW = np.maximum.reduceat(values_HW, starts, axis=axis)
    return values_HW

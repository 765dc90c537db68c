"""A spectrogram as a small PNG data: URI, made with numpy and zlib alone."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from olu.core.types import Audio

WIDTH, HEIGHT = 300, 64
WINDOW_SECONDS = 0.025
RANGE_DB = 70.0
SHADES = 24  # few enough to pack well, too many to see steps
INK = (
    (0.0, (12, 14, 28)),
    (0.35, (70, 30, 105)),
    (0.65, (190, 65, 80)),
    (0.85, (245, 150, 60)),
    (1.0, (252, 245, 190)),
)


def spectrogram(audio: Audio) -> str:
    """Time to the right, 0 Hz to half the rate upwards, bright where it is loud."""
    return "data:image/png;base64," + base64.b64encode(_png(_levels(audio))).decode("ascii")


def _levels(audio: Audio) -> NDArray[np.uint8]:
    """(HEIGHT, WIDTH) shades, the highest band on top."""
    size = max(2 * HEIGHT, round(audio.rate * WINDOW_SECONDS))
    samples = np.pad(audio.samples, (0, size))
    starts = np.linspace(0, len(audio.samples), WIDTH, endpoint=False).astype(np.intp)
    frames = samples[starts[:, None] + np.arange(size)]
    power = np.abs(np.fft.rfft((frames - frames.mean(axis=1, keepdims=True)) * np.hanning(size), axis=1)) ** 2
    edges = np.linspace(0, power.shape[1], HEIGHT, endpoint=False).astype(np.intp)
    decibel = 10 * np.log10(np.add.reduceat(power, edges, axis=1) + 1e-10)
    shade = (decibel - max(float(decibel.max()), -30.0)) / RANGE_DB + 1
    picture: NDArray[np.uint8] = np.clip(shade * (SHADES - 1), 0, SHADES - 1).astype(np.uint8)
    return picture.T[::-1]


def _png(shades: NDArray[np.uint8]) -> bytes:
    height, width = shades.shape
    at = np.linspace(0, 1, SHADES)
    places, colours = [place for place, _ in INK], np.array([colour for _, colour in INK])
    palette = np.stack([np.interp(at, places, colours[:, part]) for part in range(3)], axis=1).astype(np.uint8)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), shades], axis=1)  # each row begins with its filter: none
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", palette.tobytes()),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

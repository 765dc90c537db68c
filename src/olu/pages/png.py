"""Numbers as a small PNG, made with numpy and zlib alone, and bytes as a data: URI."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHADES = 32  # few enough to pack well, too many to see steps
DARK_TO_BRIGHT = ((13, 17, 38), (45, 52, 120), (34, 116, 134), (66, 178, 118), (178, 214, 62), (252, 244, 180))


def data_uri(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


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
    packed = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


def shrunk(values_HW: NDArray[Any], *, width: int, height: int) -> NDArray[Any]:
    """At most so wide and high: each pixel the largest value it covers, so that a thin path stays seen."""
    for axis, most in ((0, height), (1, width)):
        if values_HW.shape[axis] > most:
            starts = np.linspace(0, values_HW.shape[axis], most, endpoint=False).astype(np.intp)
            values_HW = np.maximum.reduceat(values_HW, starts, axis=axis)
    return values_HW

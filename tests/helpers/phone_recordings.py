"""Recordings as phones and recorders write them, made here by PyAV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

RATE = 16000
# ending -> encoder, container, rate
KINDS = {
    ".m4a": ("aac", "ipod", RATE),
    ".aac": ("aac", "adts", RATE),
    ".3gp": ("aac", "3gp", RATE),
    ".amr": ("libopencore_amrnb", "amr", 8000),
    ".wma": ("wmav2", "asf", 44100),
    ".caf": ("pcm_s16le", "caf", RATE),
    ".mka": ("flac", "matroska", RATE),
    ".webm": ("libopus", "webm", 48000),
    ".mp4": ("aac", "mp4", RATE),
    ".aiff": ("pcm_s16be", "aiff", RATE),
}


def tone(seed: int, rate: int, *, seconds: float = 0.5) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A beep that begins and ends loud, so that samples too many or too few are seen."""
    time = np.arange(round(seconds * rate)) / rate
    return np.asarray(0.3 * np.sin(2 * np.pi * (300 + 50 * seed) * time), dtype=np.float32)


def record(path: Path, seed: int = 0, *, seconds: float = 0.5) -> Path:
    """Write what the ending says; ValueError where this ffmpeg has no such encoder."""
    import av

    codec, form, rate = KINDS[path.suffix]
    path.parent.mkdir(parents=True, exist_ok=True)
    samples = tone(seed, rate, seconds=seconds)
    with av.open(str(path), "w", format=form) as out:
        stream: Any = out.add_stream(codec, rate=rate)
        stream.layout = "mono"
        if codec in ("aac", "wmav2"):
            stream.bit_rate = 64000
        context = stream.codec_context
        context.open()
        whole = av.AudioFrame.from_ndarray(samples[None], format="flt", layout="mono")
        whole.sample_rate, whole.pts = rate, 0
        mixer = av.AudioResampler(
            format=context.format, layout="mono", rate=rate, frame_size=context.frame_size or None
        )
        for frame in (*mixer.resample(whole), *mixer.resample(None)):
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path

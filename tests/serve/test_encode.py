"""Every format as a stream: whole, early, and of the right length."""

from __future__ import annotations

import io
import resource
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import av
import numpy as np
import pytest

from olu.serve.encode import KINDS, PCM_RATE, encoder, rate_of

from ..helpers.servers import tone

RATES = (8000, 16_000, 22_050, 24_000, 44_100, 48_000)


def decoded(data: bytes) -> tuple[int, int]:
    with av.open(io.BytesIO(data)) as file:
        return sum(frame.samples for frame in file.decode(audio=0)), file.streams.audio[0].rate


@pytest.mark.parametrize("voice_rate", RATES)
@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_any_size_join_to_the_whole_sound(kind: str, voice_rate: int):
    rate = rate_of(kind, voice_rate)
    sound = tone(0.0, 1.5, rate)
    coder, out = encoder(kind, rate), b""
    for size in (2, 0, 400, 10_000, len(sound)):
        out += coder.push(sound[:size])
        sound = sound[size:]
    out += coder.close()
    if kind == "pcm":
        assert (rate, len(out)) == (PCM_RATE, 3 * PCM_RATE)
        return
    samples, found = decoded(out)
    assert abs(samples / found - 1.5) < 0.05 + 1024 / rate  # a frame of padding


@pytest.mark.parametrize("kind", KINDS)
def test_sound_leaves_at_once(kind: str):
    """After a quarter of a second of sound most of it is on its way."""
    rate = rate_of(kind, 22_050)
    coder = encoder(kind, rate)
    early = coder.push(tone(0.0, 0.25, rate))
    if kind == "pcm":
        assert len(early) == rate // 2
        return
    assert decoded(early + coder.close())[0] > 0
    again = encoder(kind, rate)
    again.push(tone(0.0, 0.25, rate))
    assert len(again.push(tone(0.25, 0.25, rate))) > 400


@pytest.mark.parametrize("kind", KINDS)
def test_no_sound_at_all_is_no_fault(kind: str):
    coder = encoder(kind, rate_of(kind, 22_050))
    assert isinstance(coder.push(b"") + coder.close(), bytes)
    assert coder.close() == b""


def test_lossless_formats_give_the_very_samples():
    sound = tone(0.0, 1.0, 22_050)
    for kind in ("flac", "wav"):
        coder = encoder(kind, 22_050)
        data = coder.push(sound[:1000]) + coder.push(sound[1000:]) + coder.close()
        with av.open(io.BytesIO(data)) as file:
            found = np.concatenate([frame.to_ndarray().reshape(-1) for frame in file.decode(audio=0)])
        assert np.array_equal(found, np.frombuffer(sound, "<i2"))


def test_pythons_own_reader_takes_the_wav():
    coder = encoder("wav", 16_000)
    with wave.open(io.BytesIO(coder.push(tone(0.0, 0.5, 16_000)) + coder.close())) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 16_000)


def test_a_client_that_leaves_leaves_no_memory_behind():
    """Its encoder is closed in the middle, by another thread than the one that is at work."""

    def begun(number: int) -> None:
        coder = encoder(("mp3", "opus", "aac", "flac")[number % 4], 24_000)
        late = threads.submit(coder.push, tone(0.0, 0.5, 24_000))
        coder.push(tone(0.0, 0.25, 24_000))
        coder.close()
        late.result()
        assert coder.push(tone(0.0, 0.25, 24_000)) == b""

    with ThreadPoolExecutor(1) as threads:
        for number in range(40):
            begun(number)
        before = resident()
        for number in range(200):
            begun(number)
    assert resident() - before < 10_000_000


def resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()

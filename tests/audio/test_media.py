"""Films and phone recordings: decoded to mono at the right time, or one sentence why not."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from olu.audio.media import AudioTrack, decode, is_media, is_recording
from olu.core.errors import AudioError

av = pytest.importorskip("av", reason="the extra media is not installed")

RATE = 16000
BEEPS = (1.0, 2.5, 7.25)


def beeps(seconds: float = 9.0) -> np.ndarray[Any, np.dtype[np.float32]]:
    samples = np.zeros(round(seconds * RATE), dtype=np.float32)
    time = np.arange(RATE // 2) / RATE
    for start in BEEPS:
        first = round(start * RATE)
        samples[first : first + len(time)] = 0.5 * np.sin(2 * np.pi * 440 * time)
    return samples


def make(
    path: Path,
    *,
    codec: str,
    layout: str = "mono",
    pictures: bool = False,
    delay: float = 0.0,
    hole: tuple[float, float] | None = None,
    seconds: float = 9.0,
) -> Path:
    """A film of beeps; `delay` starts the sound later than the pictures, `hole` leaves packets of a stretch out."""
    samples = beeps(seconds)
    channels = {"mono": 1, "stereo": 2, "5.1": 6}[layout]
    with av.open(str(path), "w") as film:
        screen = film.add_stream("mpeg4", rate=5) if pictures else None
        rate = 48000 if codec == "libopus" else RATE
        sound = film.add_stream(codec, rate=rate, layout=layout)
        if screen is not None:
            screen.width, screen.height, screen.pix_fmt = 32, 32, "yuv420p"
            for _ in range(10):
                film.mux(screen.encode(av.VideoFrame(32, 32, "yuv420p")))
            film.mux(screen.encode())
        form = sound.codec_context.format.name if sound.codec_context.format else "fltp"
        mixer = av.AudioResampler(format=form, layout=layout, rate=rate, frame_size=960)
        whole = av.AudioFrame.from_ndarray(np.stack([samples] * channels), format="fltp", layout=layout)
        whole.sample_rate, whole.time_base, whole.pts = RATE, Fraction(1, RATE), 0
        for frame in [*mixer.resample(whole), *mixer.resample(None)]:
            for packet in sound.encode(frame):
                _mux(film, packet, delay, hole)
        for packet in sound.encode(None):
            _mux(film, packet, delay, hole)
    return path


def _mux(film: Any, packet: Any, delay: float, hole: tuple[float, float] | None) -> None:
    at = float(packet.pts * packet.time_base)
    if hole is not None and hole[0] <= at < hole[1]:
        return
    packet.pts += round(delay / packet.time_base)
    packet.dts += round(delay / packet.time_base)
    film.mux(packet)


def decoded(path: Path) -> tuple[np.ndarray[Any, np.dtype[np.float32]], int]:
    out = path.with_name(f"{path.name}.flac")
    list(decode(path, into=out))
    samples, rate = soundfile.read(out, dtype="float32", always_2d=True)
    assert samples.shape[1] == 1
    return samples[:, 0], rate


def starts(samples: np.ndarray[Any, np.dtype[np.float32]], rate: int) -> list[float]:
    heard = np.flatnonzero(np.abs(samples) > 0.1)
    return [heard[0] / rate, *(heard[n + 1] / rate for n in np.flatnonzero(np.diff(heard) > rate // 4))]


@pytest.mark.parametrize(
    ("name", "codec", "layout"),
    [
        ("a.mp4", "aac", "stereo"),
        ("a.mkv", "flac", "mono"),
        ("a.mkv", "aac", "5.1"),
        ("a.webm", "libopus", "stereo"),
        ("a.m4a", "aac", "mono"),
        ("a.mp3", "libmp3lame", "stereo"),
        ("a.wav", "pcm_s16le", "stereo"),
    ],
)
def test_beeps_come_when_they_should(tmp_path: Path, name: str, codec: str, layout: str) -> None:
    film = make(tmp_path / name, codec=codec, layout=layout, pictures=name.endswith((".mp4", ".mkv")))
    samples, rate = decoded(film)
    assert starts(samples, rate) == pytest.approx(BEEPS, abs=0.03)
    assert len(samples) / rate == pytest.approx(9.0, abs=0.1)
    loudest = np.abs(samples).max()
    assert 0.4 < loudest < 0.6 if layout != "5.1" else loudest > 0.4


def test_time_counts_from_the_beginning_of_the_film(tmp_path: Path) -> None:
    film = make(tmp_path / "late.mkv", codec="flac", pictures=True, delay=1.5)
    samples, rate = decoded(film)
    assert starts(samples, rate) == pytest.approx([start + 1.5 for start in BEEPS], abs=0.03)


def test_a_hole_is_silence_and_what_follows_keeps_its_time(tmp_path: Path) -> None:
    samples, rate = decoded(make(tmp_path / "hole.mkv", codec="flac", hole=(4.0, 6.0)))
    assert starts(samples, rate) == pytest.approx(BEEPS, abs=0.03)


def test_what_is_no_film_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "words.mp4").write_text("no film", encoding="utf-8")
    (tmp_path / "empty.mp4").touch()
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(make(tmp_path / "a.mp4", codec="aac").read_bytes()[:3000])
    silent = tmp_path / "silent.mp4"
    with av.open(str(silent), "w") as film:
        screen = film.add_stream("mpeg4", rate=5)
        screen.width, screen.height, screen.pix_fmt = 32, 32, "yuv420p"
        film.mux(screen.encode(av.VideoFrame(32, 32, "yuv420p")))
        film.mux(screen.encode())
    for name, words in [
        ("words.mp4", "can be read"),
        ("empty.mp4", "is empty"),
        ("cut.mp4", "can be read"),
        ("silent.mp4", "has no sound track"),
        ("none.mp4", "is not there"),
    ]:
        with pytest.raises(AudioError, match=words) as raised:
            list(decode(tmp_path / name, into=tmp_path / "out.flac"))
        assert "\n" not in str(raised.value)
        assert not (tmp_path / "out.flac").exists()


def test_damage_inside_ends_in_sound_or_a_sentence(tmp_path: Path) -> None:
    whole = bytearray(make(tmp_path / "a.mkv", codec="aac").read_bytes())
    rng = np.random.default_rng(0)
    for turn in range(20):
        data = whole.copy()
        for at in rng.integers(0, len(data), size=int(rng.integers(1, 200))):
            data[at] = int(rng.integers(0, 256))
        path = tmp_path / f"{turn}.mkv"
        path.write_bytes(bytes(data))
        try:
            samples, _ = decoded(path)
        except AudioError as bad:
            assert "\n" not in str(bad)
        else:
            assert np.isfinite(samples).all()


def test_a_playlist_opens_no_other_file(tmp_path: Path) -> None:
    make(tmp_path / "secret.wav", codec="pcm_s16le")
    (tmp_path / "list.mp4").write_text(f"ffconcat version 1.0\nfile {tmp_path / 'secret.wav'}\n", encoding="utf-8")
    (tmp_path / "list.mkv").write_text("#EXTM3U\n#EXTINF:9,\nsecret.wav\n#EXT-X-ENDLIST\n", encoding="utf-8")
    for name in ("list.mp4", "list.mkv"):
        with pytest.raises(AudioError):
            decoded(tmp_path / name)


def test_only_blocks_are_in_memory(tmp_path: Path) -> None:
    film = make(tmp_path / "long.mkv", codec="flac", seconds=200.0)
    tracemalloc.start()
    try:
        with AudioTrack(film) as sound:
            total = sum(len(block) for block in sound.blocks())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == 200 * RATE
    assert peak < 3_000_000  # the whole is 13 MB
    ticks = list(decode(film, into=tmp_path / "out.flac"))
    assert {tick.what for tick in ticks} == {"the sound of long.mkv in seconds"} and ticks[-1].total == 200


def test_names() -> None:
    assert is_media("x/FILM.MP4")
    assert not is_media("a.wav")
    assert is_recording("a.wav")
    assert not is_recording("a.srt")

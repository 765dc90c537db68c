"""Short Opus files that claim more than they hold: read where all sound is there, refused with the reason where not."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.audio import repair as opus
from olu.audio.activity import file_levels
from olu.audio.io import header, read
from olu.core.errors import AudioError
from olu.corpus.intake.stream import facts_of

RATE = 16000
SECONDS = 0.8


def whole(path: Path) -> Path:
    """A tone of one page, as libsndfile writes it."""
    tone = 0.4 * np.sin(2 * np.pi * 300 * np.arange(round(SECONDS * RATE)) / RATE)
    soundfile.write(str(path), tone.astype(np.float32), RATE, format="OGG", subtype="OPUS")
    return path


def claiming(path: Path, more: int) -> Path:
    """The same, with a last page that claims so many samples more than its packets hold."""
    data = bytearray(path.read_bytes())
    found = opus._claim(bytes(data))
    assert found is not None
    data[found.at + 6 : found.at + 14] = (found.held + more).to_bytes(8, "little")
    data[found.at + 22 : found.at + 26] = bytes(4)
    data[found.at + 22 : found.at + 26] = opus._checksum(data[found.at :]).to_bytes(4, "little")
    path.write_bytes(data)
    return path


def test_the_checksum_is_that_of_the_format(tmp_path: Path) -> None:
    assert opus._claim(whole(tmp_path / "a.opus").read_bytes()) is not None  # which compares it with the file's own


def test_a_claim_past_the_end_is_put_right(tmp_path: Path) -> None:
    right = read(whole(tmp_path / "a.opus"))
    path = claiming(whole(tmp_path / "b.opus"), 144)
    kept = path.read_bytes()
    with pytest.raises(soundfile.SoundFileError):
        soundfile.info(str(path))
    facts, sound = header(path), read(path)
    assert facts.rate == sound.rate == RATE
    assert facts.frames == len(sound.samples) >= len(right.samples)
    assert np.abs(sound.samples[: len(right.samples)] - right.samples).max() < 1e-4
    assert len(sound.samples) - len(right.samples) < 0.1 * RATE  # no more than the encoder's padding
    part = read(path, start=0.2, seconds=0.3)
    assert np.abs(part.samples - sound.samples[3200:8000]).max() < 0.01
    assert len(file_levels(path)) > 0
    assert path.read_bytes() == kept  # a recording is never changed


def test_bytes_are_put_right_as_files_are(tmp_path: Path) -> None:
    path = claiming(whole(tmp_path / "b.opus"), 144)
    found = facts_of(path.read_bytes())
    assert not isinstance(found, str)
    assert found[0].seconds == pytest.approx(header(path).seconds)


def test_missing_sound_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = claiming(whole(tmp_path / "b.opus"), 24000)
    with pytest.raises(AudioError, match=r"claims 1\.\d\d s and holds 0\.8\d s\): convert or copy it again"):
        header(path)
    assert "claims 1." in str(facts_of(path.read_bytes()))


def test_a_damaged_page_is_refused(tmp_path: Path) -> None:
    path = claiming(whole(tmp_path / "b.opus"), 144)
    data = bytearray(path.read_bytes())
    data[-20] ^= 255
    path.write_bytes(data)
    with pytest.raises(AudioError, match="not a readable sound file"):
        header(path)


def test_a_right_claim_and_other_bytes_are_left_alone(tmp_path: Path) -> None:
    good = whole(tmp_path / "a.opus").read_bytes()
    assert opus.mended(good) is None
    assert opus.fault(good) == ""
    wrong = claiming(tmp_path / "a.opus", 144).read_bytes()
    draw = random.Random(1)
    for _ in range(300):
        data = bytearray(wrong[: draw.randrange(len(wrong) + 1)])
        for _ in range(draw.randrange(3)):
            if data:
                data[draw.randrange(len(data))] = draw.randrange(256)
        made = opus.mended(bytes(data))
        assert made is None or soundfile.info(io.BytesIO(made)).frames > 0


@pytest.mark.parametrize("seconds", [0.3, 0.94, 0.98, 0.99])
def test_what_pyav_writes_is_read(tmp_path: Path, seconds: float) -> None:
    av = pytest.importorskip("av", reason="the extra media is not installed")
    path = tmp_path / "short.opus"
    tone = (0.4 * np.sin(np.arange(round(seconds * RATE)) * 0.1)).astype(np.float32)
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libopus", rate=RATE, layout="mono")
        frame = av.AudioFrame.from_ndarray(tone[None], format="flt", layout="mono")
        frame.sample_rate = RATE
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            file.mux(packet)
    assert read(path).seconds == pytest.approx(seconds, abs=0.021)

"""Files that end too early, as copying and full disks leave them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.audio.repair import cut_off

from ..audit.conftest import RATE, speech


def write(path: Path, *, form: str, subtype: str) -> bytes:
    soundfile.write(path, speech(3), RATE, format=form, subtype=subtype)
    return path.read_bytes()


@pytest.mark.parametrize(("form", "subtype"), [("OGG", "OPUS"), ("OGG", "VORBIS"), ("WAV", "PCM_16"), ("WAV", "FLOAT")])
def test_a_whole_file_is_whole_and_every_shorter_one_is_not(tmp_path: Path, form: str, subtype: str):
    path = tmp_path / "sound"
    whole = write(path, form=form, subtype=subtype)
    assert cut_off(path) == ""
    for share in np.linspace(0.1, 0.99, 25):
        path.write_bytes(whole[: int(share * len(whole))])
        assert cut_off(path), share


def test_streamed_and_foreign_files_are_left_alone(tmp_path: Path):
    path = tmp_path / "sound.wav"
    whole = write(path, form="WAV", subtype="PCM_16")
    at = whole.index(b"data") + 4
    path.write_bytes(whole[:at] + b"\xff\xff\xff\xff" + whole[at + 4 :])
    assert cut_off(path) == ""
    path.write_bytes(b"fLaC and more")
    assert cut_off(path) == ""
    path.write_bytes(b"")
    assert cut_off(path) == cut_off(tmp_path / "gone") == ""

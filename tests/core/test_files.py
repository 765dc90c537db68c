"""Writing whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from olu.core.files import whole, write_text


def test_a_file_never_takes_the_place_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / "a.wav").write_bytes(b"irreplaceable")
    with pytest.raises(IsADirectoryError):
        write_text(folder, "a table")
    assert (folder / "a.wav").read_bytes() == b"irreplaceable"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with whole(tmp_path / "x.voice") as partial:
            partial.mkdir()
            (partial / "voice.json").write_text(text)
    assert (tmp_path / "x.voice" / "voice.json").read_text() == "new"


def test_speaking_asks_no_other_machine_for_anything() -> None:
    """onnxruntime reads this when it is imported, which is after olu."""
    import os
    import subprocess
    import sys

    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    code = "import olu, os; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "1"


@pytest.mark.parametrize("name", ["ENOSPC", "EDQUOT", "EFBIG"])
def test_a_write_that_fails_names_the_file(tmp_path: Path, name: str) -> None:
    """A full disk says nothing of where; the name that is shown is the one that was asked for."""
    import errno

    with pytest.raises(OSError) as caught, whole(tmp_path / "a.tar"):
        raise OSError(getattr(errno, name), "no room")
    assert caught.value.filename == str(tmp_path / "a.tar")
    with pytest.raises(OSError) as caught, whole(tmp_path / "a.tar") as partial:
        (partial / "inside").write_bytes(b"")
    assert caught.value.filename == str(partial / "inside")
    with pytest.raises(OSError) as caught, whole(tmp_path / "a.tar") as partial:
        partial.open()
    assert caught.value.filename == str(tmp_path / "a.tar")
    with pytest.raises(OSError) as caught, whole(tmp_path / "a.tar"):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "nobody there")
    assert caught.value.filename is None


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_files_are_as_open_as_the_umask_says(tmp_path: Path, mask: int) -> None:
    """Some libraries write files that only their owner can read."""
    import os

    before = os.umask(mask)
    try:
        with whole(tmp_path / "x") as partial:
            partial.mkdir()
            (partial / "inner").mkdir()
            for name in ("model.safetensors", "inner/weights.safetensors"):
                os.close(os.open(partial / name, os.O_CREAT | os.O_WRONLY, 0o600))
            (partial / "config.json").write_text("{}")
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "x").rglob("*") if path.is_file()}
    assert modes == {0o666 & ~mask}

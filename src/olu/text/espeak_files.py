"""Where espeak-ng and its data lie, under a path short enough for it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from olu.core.errors import LanguageError, MissingExtra

LONGEST_PATH = 140  # bytes; espeak-ng cuts the path of its data off at 160, file names and all, on some systems


def located() -> tuple[str, Path]:
    """The library and its data."""
    try:
        import espeakng_loader
    except ImportError:
        raise MissingExtra("reading with espeak-ng", extra="espeak", package="espeakng-loader") from None
    return str(espeakng_loader.get_library_path()), Path(espeakng_loader.get_data_path())


@contextmanager
def short(data: Path) -> Iterator[Path]:
    """`data` itself, or a short name for it where its path is too long for espeak-ng."""
    if len(os.fsencode(data)) <= LONGEST_PATH:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="olu-") as place:
        name = Path(place) / "espeak-ng-data"
        if len(os.fsencode(name)) > LONGEST_PATH:
            raise LanguageError(
                f"{data} is too long a path for espeak-ng (over {LONGEST_PATH} bytes), and so is the temporary folder"
                f" {place}: set TMPDIR to a folder with a short path"
            )
        try:
            name.symlink_to(data.absolute(), target_is_directory=True)
        except OSError:  # Windows lets few people make links
            shutil.copytree(data, name)
        yield name

"""A made-up speaker: sentences recorded by espeak-ng, the same bytes every time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import wave
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from olu.corpus import espeak
from olu.errors import CorpusError, MissingExtra

WORKERS = 2
LONGEST_PATH = 140  # bytes; espeak-ng cuts the path of its data off at 160, file names and all, on some systems
PATIENCE_SECONDS = 60


def record(folder: Path, *, lines: Mapping[str, str], voice: str, workers: int = WORKERS) -> Iterator[float]:
    """Write `folder`/<id>.wav for every id and text, and yield each clip's seconds in order."""
    library, data = _espeak()
    with _short(data) as path, ThreadPoolExecutor(workers) as pool:
        command = [library, str(path), voice]
        jobs = [pool.submit(_clip, folder / f"{id}.wav", text=text, command=command) for id, text in lines.items()]
        try:
            for job in jobs:
                yield job.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _espeak() -> tuple[str, Path]:
    """Where the library and its data lie."""
    try:
        import espeakng_loader
    except ImportError:
        raise MissingExtra("olu sample", extra="sample", package="espeakng-loader") from None
    return str(espeakng_loader.get_library_path()), Path(espeakng_loader.get_data_path())


@contextmanager
def _short(data: Path) -> Iterator[Path]:
    """`data` itself, or a short name for it where its path is too long for espeak-ng."""
    if len(os.fsencode(data)) <= LONGEST_PATH:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="olu-") as place:
        short = Path(place) / "espeak-ng-data"
        if len(os.fsencode(short)) > LONGEST_PATH:
            raise CorpusError(
                f"{data} is too long a path for espeak-ng (over {LONGEST_PATH} bytes), and so is the temporary folder"
                f" {place}: set TMPDIR to a folder with a short path"
            )
        try:
            short.symlink_to(data.absolute(), target_is_directory=True)
        except OSError:  # Windows lets few people make links
            shutil.copytree(data, short)
        yield short


def _clip(out: Path, *, text: str, command: list[str]) -> float:
    # The file, not -m: it works wherever this package was imported from, and -P keeps its folder off the path.
    whole = [sys.executable, "-P", espeak.__file__, *command, str(out)]
    try:
        ended = subprocess.run(whole, input=text.encode(), capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise CorpusError(f"clip {out.stem}: espeak-ng was still busy after {PATIENCE_SECONDS} s: try again") from None
    if ended.returncode != 0:
        said = ended.stderr.decode(errors="replace").strip().splitlines()
        reason = said[-1] if said else f"espeak-ng broke off with code {ended.returncode}: try again"
        raise CorpusError(f"clip {out.stem}: {reason}")
    with wave.open(str(out), "rb") as sound:
        return sound.getnframes() / sound.getframerate()

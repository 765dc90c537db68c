"""A made-up speaker: sentences recorded by espeak-ng, the same bytes every time."""

from __future__ import annotations

import subprocess
import sys
import wave
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from olu.corpus import espeak
from olu.corpus.espeak_files import located, short
from olu.errors import CorpusError

WORKERS = 2
PATIENCE_SECONDS = 60


def record(folder: Path, *, lines: Mapping[str, str], voice: str, workers: int = WORKERS) -> Iterator[float]:
    """Write `folder`/<id>.wav for every id and text, and yield each clip's seconds in order."""
    library, data = located("olu sample", extra="sample")
    with short(data) as path, ThreadPoolExecutor(workers) as pool:
        command = [library, str(path), voice]
        jobs = [pool.submit(_clip, folder / f"{id}.wav", text=text, command=command) for id, text in lines.items()]
        try:
            for job in jobs:
                yield job.result()
        finally:
            pool.shutdown(cancel_futures=True)


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

"""One recording: what it is, where in it a row lies, and the id a clip of it has."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from olu.audio.io import header
from olu.core.errors import AudioError
from olu.core.files import hash_file
from olu.corpus.changed_files import is_other
from olu.corpus.readers.rows import Problem, Row, Why

SLACK_SECONDS = 0.05  # lists round their times: an end that lies this far behind the last sample means the last sample
STEM_BYTES = 120  # ids become file names, and those have a limit in bytes


@dataclass(frozen=True, slots=True)
class RecordingFacts:
    """What a recording is: its content, and how to see later that it changed."""

    sha256: str
    bytes: int
    mtime_ns: int
    seconds: float
    rate: int

    def is_other(self, path: Path) -> bool:
        """Whether a copy that lies there is no longer this recording."""
        return is_other(path, sha256=self.sha256, bytes=self.bytes, mtime_ns=self.mtime_ns)


def clip_id(audio: str, *, sha256: str, start: float = 0.0, seconds: float | None = None) -> str:
    """From name, content and span: the same recording has the same id wherever it lies."""
    stem = unicodedata.normalize("NFC", PurePosixPath(audio).stem)
    safe = "".join(c if c in "._-" or unicodedata.category(c)[0] in "LMN" else "-" for c in stem)
    span = f"{start:.3f}" if seconds is None else f"{start:.3f}+{seconds:.3f}"
    short = safe.encode("utf-8")[:STEM_BYTES].decode("utf-8", "ignore")
    return f"{short}-{hashlib.sha256(f'{sha256}{span}'.encode()).hexdigest()[:8]}"


def probe(root: Path, row: Row) -> RecordingFacts | Problem:
    """Look at one recording; whatever is wrong with it becomes a sentence."""
    path = root / row.audio
    try:
        found = header(path)
        state = path.stat()
        return RecordingFacts(hash_file(path), state.st_size, state.st_mtime_ns, round(found.seconds, 6), found.rate)
    except AudioError as bad:
        message = str(bad).replace(str(path), row.audio)
    except (OSError, ValueError) as bad:
        message = (
            f"{row.audio} cannot be read ({getattr(bad, 'strerror', None) or bad}): allow reading it, or copy it again"
        )
    return Problem(where=row.where, message=message, why=Why.SOUND)


def fit(row: Row, facts: RecordingFacts) -> tuple[float, float | None] | Problem:
    """Where in its recording a row lies: start, and seconds unless it is the whole recording."""
    left = facts.seconds - row.start
    if left <= 0 or (row.seconds or 0.0) > left + SLACK_SECONDS:
        end = "" if row.seconds is None else f" to {row.start + row.seconds:.3f}"
        span = f"the span from {row.start:.3f}{end} s goes beyond the recording"
        message = f"{span}, which has {facts.seconds:.3f} s: correct the times, or copy {row.audio} again"
        return Problem(where=row.where, message=message, why=Why.BEYOND, seconds=row.seconds or 0.0)
    seconds = left if row.seconds is None else min(row.seconds, left)
    if seconds * facts.rate < 1:
        message = f"the span from {row.start:.3f} s is shorter than one sample: correct the times"
        return Problem(where=row.where, message=message, why=Why.TIMES)
    if row.start == 0 and facts.seconds - seconds <= SLACK_SECONDS:
        return 0.0, None
    return round(row.start, 6), round(seconds, 6)

"""New recordings beside those a corpus has: what is added, what was there, what is left out and why."""

from __future__ import annotations

import hashlib
import posixpath
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from olu.audio.io import header
from olu.corpus.readers.rows import Problem, Row, exists
from olu.errors import AudioError
from olu.files import hash_file
from olu.types import Clip

LONG_SECONDS = 60.0
STEM_LETTERS = 64  # ids become file names, and those have a limit


@dataclass(frozen=True, slots=True)
class Facts:
    """What a recording is: its content, and how to see later that it changed."""

    sha256: str
    bytes: int
    mtime_ns: int
    seconds: float
    rate: int


def clip_id(audio: str, *, sha256: str, start: float = 0.0) -> str:
    """From name, content and span: the same recording has the same id wherever it lies."""
    stem = unicodedata.normalize("NFC", PurePosixPath(audio).stem)
    safe = "".join(c if c in "._-" or unicodedata.category(c)[0] in "LMN" else "-" for c in stem)
    return f"{safe[:STEM_LETTERS]}-{hashlib.sha256(f'{sha256}{start:.3f}'.encode()).hexdigest()[:8]}"


def sift(rows: Iterable[Row | Problem], *, root: Path) -> tuple[list[Row], list[Problem]]:
    """One row for each recording inside `root` (resolved) that has a text; the rest as problems."""
    kept: dict[str, Row] = {}
    problems: list[Problem] = []
    for row in rows:
        if isinstance(row, Problem):
            where, message = printable(row.where), printable(row.message)
            problems.append(replace(row, where=where, message=message))
            continue
        row = replace(row, audio=posixpath.normpath(row.audio))
        fault = _fault(row, root)
        first = kept.get(row.audio)
        if not fault and first is not None and first.text != row.text:
            fault = f"{row.audio} has another text in {first.where}, which was kept: remove one of the two"
        if fault:
            problems.append(Problem(where=printable(row.where), message=fault))
        else:
            kept.setdefault(row.audio, row)
    return list(kept.values()), problems


def _fault(row: Row, root: Path) -> str:
    shown = printable(row.audio)
    if shown != row.audio:
        return f"the name {shown} is not valid UTF-8: rename the file"
    if not _inside(root, row.audio):
        return f"{row.audio} leads out of {root}: copy the file into it"
    if not row.text.strip():
        return f"{row.audio} has no text: write what is said in it"
    return ""


def _inside(root: Path, audio: str) -> bool:
    try:
        return (root / audio).resolve().is_relative_to(root)
    except (OSError, ValueError, RuntimeError):  # a link that leads in a circle leads nowhere
        return False


def printable(name: str) -> str:
    """A file name that is not UTF-8 cannot be printed or stored as it is."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def probe(root: Path, row: Row) -> Facts | Problem:
    """Look at one recording; whatever is wrong with it becomes a sentence."""
    path = root / row.audio
    try:
        found = header(path)
        state = path.stat()
        return Facts(hash_file(path), state.st_size, state.st_mtime_ns, round(found.seconds, 6), found.rate)
    except AudioError as bad:
        message = str(bad).replace(str(path), row.audio)
    except OSError as bad:
        message = f"{row.audio} cannot be read ({bad.strerror}): allow reading it, or copy it again"
    return Problem(where=row.where, message=message)


class Merge:
    """Takes recordings one by one. `clips` keeps the order it had; new ones come after."""

    def __init__(self, clips: Iterable[Clip], *, places: dict[str, Path]) -> None:
        self.clips = {clip.id: clip for clip in clips}
        self.by_audio = {clip.audio: clip.id for clip in self.clips.values()}
        self.places = places  # source name -> where it lies
        self.fresh: dict[str, Facts] = {}  # audio -> facts of what was added or moved
        self.added = self.already = self.moved = 0
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.elsewhere: Counter[str] = Counter()
        self.other_speaker = 0

    def take(self, row: Row, facts: Facts, *, source: str, language: str, speaker: str | None) -> None:
        audio = f"{source}/{row.audio}"
        id = clip_id(row.audio, sha256=facts.sha256)
        old = self.clips.get(id)
        if old is not None:
            self._again(old, row, facts, audio)
            self.other_speaker += speaker is not None and old.speaker != speaker
            return
        if audio in self.by_audio:
            del self.clips[self.by_audio[audio]]
            self.notes.append(f"{row.audio} has changed since it was imported: its clip was replaced")
        self.clips[id] = Clip(
            id=id,
            audio=audio,
            seconds=facts.seconds,
            rate=facts.rate,
            text=row.text,
            language=language,
            speaker=speaker or row.speaker or "default",
        )
        self.by_audio[audio] = id
        self.fresh[audio] = facts
        self.added += 1
        if facts.seconds > LONG_SECONDS:
            long = f"clip {id} is {facts.seconds:.0f} s long"
            self.notes.append(f"{long}: the audit will mark it; training leaves it out")

    def _again(self, old: Clip, row: Row, facts: Facts, audio: str) -> None:
        source, _, inside = old.audio.partition("/")
        if old.text != row.text:
            message = f"{row.audio} is clip {old.id} already with another text, which was kept: to take this"
            message += " one, delete the workspace's corpus folder and import again"
            self.problems.append(Problem(where=row.where, message=message))
            return
        there = old.audio in self.fresh or (source in self.places and exists(self.places[source] / inside))
        if old.audio != audio and not there:
            self.clips[old.id] = replace(old, audio=audio)
            self.by_audio[audio] = old.id
            self.fresh[audio] = facts
            self.moved += 1
        elif old.audio != audio and audio.startswith(f"{source}/"):
            message = f"{row.audio} is the same recording as {inside}, which was kept: remove one of the two"
            self.problems.append(Problem(where=row.where, message=message))
            return
        elif old.audio != audio:
            self.elsewhere[source] += 1
        self.already += 1

    def all_notes(self) -> tuple[str, ...]:
        notes = list(self.notes)
        if self.moved:
            notes.append(f"{self.moved} clips had moved and were found again here")
        for source, number in self.elsewhere.items():
            notes.append(f"{number} clips were imported before from {self.places[source]} and stay there")
        if self.other_speaker:
            notes.append(f"{self.other_speaker} clips were imported before with another speaker, which they keep")
        return tuple(notes)

"""Recordings without any text: cut at their silences, kept as clips that are never trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from olu.audio.activity import Levels, file_levels, frame_rate, stretches
from olu.audio.io import header
from olu.audio.media import is_media, is_recording
from olu.core.errors import AudioError
from olu.corpus.readers import films as by_name
from olu.corpus.readers.folder import PAPERS
from olu.corpus.readers.rows import Problem, Row, SourceNote, Tree, Why, look
from olu.corpus.readers.subtitles import is_for

BESIDE = (".md", ".jpg", ".jpeg", ".png", ".pdf", ".ini", ".db")  # papers and pictures, and what systems leave


@dataclass(frozen=True, slots=True)
class PieceLengths:
    """How long the pieces are, in seconds."""

    shortest: float = 3.0
    longest: float = 15.0
    cap: float = 20.0  # speech without a pause is cut only where it is longer than this, at its softest place
    pause: float = 2.0  # always a cut
    pad: float = 0.2
    least: float = 0.4  # shorter sounds hold no word


def seen(source: Path, tree: Tree, *, film: str | None = None) -> str:
    """Why this is such a folder, or nothing: where anything might be a transcript, somebody meant something else."""
    if film is None and (tree.refused or not all(is_recording(file) or _is_paper(file) for file in tree.files)):
        return ""
    if film is not None and any(is_for(file, film) for file in tree.files):
        return ""
    return asked(source, tree, film=film)


def asked(source: Path, tree: Tree, *, film: str | None = None) -> str:
    number = len(by_name.recordings(tree, film=film)[0])
    if not number:
        return ""
    files = "one recording" if number == 1 else f"{number} recordings"
    return f"{files} and no text: cut at silences, and trained on only when they have a text"


def films(source: Path, tree: Tree, *, film: str | None = None) -> list[str]:
    """The recordings to take along, where one of them is a film that must be decoded first."""
    found = list(by_name.recordings(tree, film=film)[0].values())
    return found if any(map(is_media, found)) else []


def rows(source: Path, *, film: str | None = None, sounds: Path | None = None) -> Iterator[Row | Problem | SourceNote]:
    tree = look(source)
    found, problems = by_name.recordings(tree, film=film)
    yield from tree.problems if film is None else ()
    yield from problems
    for file in found.values():
        audio = by_name.sound_of(file)
        if not is_media(file) or ((sounds or source) / audio).is_file():
            yield from _rows((sounds or source) / audio, audio=audio, file=file)


def _is_paper(file: str) -> bool:
    path = PurePosixPath(file)
    return path.suffix.lower() in BESIDE or path.stem.lower() in PAPERS - {"metadata", "speakers"}


def _rows(path: Path, *, audio: str, file: str) -> Iterator[Row | Problem | SourceNote]:
    cutting = PieceLengths()
    try:
        facts = header(path)
        if facts.seconds <= cutting.longest:  # whole, so that it is the same clip when a text comes for it
            yield Row(audio=audio, text=None, where=file)
            return
        pieces = cut(file_levels(path), frames_per_second=frame_rate(facts.rate), cutting=cutting)
    except AudioError as bad:
        yield Problem(where=file, message=str(bad).replace(str(path), "it").removeprefix("it "), why=Why.SOUND)
        return
    if not pieces:
        yield Problem(where=file, message="nothing is heard in it: record or copy it again", why=Why.SOUND)
        return
    kept = sum(end - start for start, end in pieces)
    yield SourceNote(f"{file}: {len(pieces)} pieces, {kept:.0f} of {facts.seconds:.0f} s; the rest is silence")
    for start, end in pieces:
        start, end = round(start, 3), round(min(end, facts.seconds), 3)
        yield Row(audio=audio, text=None, where=file, start=start, seconds=round(end - start, 3))


def cut(
    levels: Levels, *, frames_per_second: float, cutting: PieceLengths = PieceLengths()
) -> list[tuple[float, float]]:
    """Pieces in seconds: between pauses, at the longest ones, never inside speech that is shorter than the cap."""
    starts, ends = stretches(levels, frames_per_second)
    spoken = [
        part
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for part in _under_cap(levels, start, end, cap=round(cutting.cap * frames_per_second))
    ]
    frames = [(spoken[first][0], spoken[last][1]) for first, last in _groups(spoken, frames_per_second, cutting)]
    pad = cutting.pad * frames_per_second
    found = []
    for number, (start, end) in enumerate(frames):
        if end - start < cutting.least * frames_per_second:
            continue
        before = (frames[number - 1][1] + start) / 2 if number else 0.0
        after = (end + frames[number + 1][0]) / 2 if number + 1 < len(frames) else float(len(levels))
        low, high = max(start - pad, before), min(end + pad, after)
        found.append((low / frames_per_second, high / frames_per_second))
    return found


def _under_cap(levels: Levels, start: int, end: int, *, cap: int) -> Iterator[tuple[int, int]]:
    """Speech without a pause, in parts no longer than `cap`, parted where it is softest."""
    while end - start > cap:
        low, high = start + cap // 2, min(start + cap, end - 1)
        soft = np.convolve(levels[low:high], np.ones(10), mode="same") if high - low > 10 else levels[low:high]
        at = low + int(np.argmin(soft))
        yield start, at
        start = at
    yield start, end


def _groups(spoken: list[tuple[int, int]], fps: float, cutting: PieceLengths) -> Iterator[tuple[int, int]]:
    """First and last stretch of each piece."""
    first = 0
    while first < len(spoken):
        last = _last(spoken, first, fps, cutting)
        yield first, last
        first = last + 1


def _last(spoken: list[tuple[int, int]], first: int, fps: float, cutting: PieceLengths) -> int:
    """Of the places where a piece is long enough to end, the longest pause; a very long one ends any piece."""
    places: list[tuple[bool, float, int]] = []
    for last in range(first, len(spoken)):
        length = (spoken[last][1] - spoken[first][0]) / fps
        if length > cutting.longest and last > first:
            break
        pause = (spoken[last + 1][0] - spoken[last][1]) / fps if last + 1 < len(spoken) else float("inf")
        if pause >= cutting.pause:
            return last
        enough = length >= cutting.shortest
        places.append((enough, pause if enough else 0.0, last))
    return max(places)[2]

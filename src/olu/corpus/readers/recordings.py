"""Files that hold sound: films and what phones record, decoded for every stage; and the layout of recordings alone.

Recordings without any text are cut at their silences, and kept as clips that are never trained on.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from olu.audio.activity import Levels, file_levels, frame_rate, stretches
from olu.audio.io import header
from olu.audio.media import decode, is_media, is_recording, need_media
from olu.core.errors import AudioError
from olu.core.files import fault_of, hash_file
from olu.core.job import Job, Tick
from olu.core.words import first_names
from olu.corpus.readers.beside import PAPERS
from olu.corpus.readers.rows import Problem, Row, SourceNote, Tree, Why, without_ending
from olu.corpus.readers.source import SourceFolder

DECODED = ".flac"
SHOWN = 3
SUBTITLES = (".srt", ".vtt")
TAGS = re.compile(r"(?:\.(?:[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*|forced|default|sdh|cc|hi))+")
BESIDE = (".md", ".jpg", ".jpeg", ".png", ".pdf", ".ini", ".db")  # papers and pictures, and what systems leave


def find_recordings(tree: Tree, *, film: str | None = None) -> tuple[dict[str, str], list[Problem]]:
    """Name without ending -> recording, films too; of two with one name a sound file goes before a film."""
    found: dict[str, str] = {}
    problems = []
    files = [file for file in tree.files if is_recording(file) and film in (None, file)]
    for file in sorted(files, key=lambda file: (without_ending(file), is_media(file), file)):
        if first := found.get(without_ending(file)):
            problems.append(Problem(file, f"has the name of {first}, which was taken: rename or remove one", Why.TWICE))
        else:
            found[without_ending(file)] = file
    return found, problems


def sound_of(file: str) -> str:
    """The name of a recording's sound: of a film, the one it has once it is decoded."""
    return f"{PurePosixPath(file).with_suffix('')}{DECODED}" if is_media(file) else file


def sounds_of(files: Iterable[str]) -> dict[str, str]:
    """Recording -> the name its sound gets; of two that would get the same, the decoded one keeps its ending too."""
    given = sorted(dict.fromkeys(files), key=is_media)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for file in given:
        name = sound_of(file)
        found[file] = name if name not in taken else f"{file}{DECODED}"
        taken.add(found[file])
    return found


def take_out(
    source: Path, files: Mapping[str, str], *, into: Path, known: dict[str, Path], made: dict[str, str]
) -> Job[list[Problem]]:
    """Write the sound of `files` (recording -> its name there) under `into`, a folder of our own: films and phone
    recordings decoded, sound files copied.

    `known`: hash of a film -> its sound from an earlier time, taken as it is: another version of the decoder may differ
    in a bit, and the clips would be others. `made` gets the hash of each film and of its sound.
    """
    if media := [file for file in files if is_media(file)]:
        need_media(f"decoding {told(media)}")
    problems = []
    for file, name in files.items():
        to = into / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if fault := fault_of(source, file):
            problems.append(Problem(file, fault, Why.OUTSIDE))
            continue
        yield Tick(0, 0, file)
        try:
            if is_media(file):
                content = hash_file(source / file)
                if content in known:
                    shutil.copyfile(known[content], to)
                else:
                    yield from decode(source / file, into=to)
                made[content] = hash_file(to)
            else:
                shutil.copyfile(source / file, to)
        except AudioError as bad:
            message = str(bad).replace(str(source / file), "it")
            problems.append(Problem(file, message.removeprefix("it "), Why.SOUND))
        except OSError as bad:
            problems.append(Problem(file, f"cannot be read ({bad.strerror}): allow reading it", Why.SOUND))
    return problems


def told(files: Sequence[str]) -> str:
    """How many recordings, and some of their names."""
    return f"{len(files)} recording{'s' if len(files) > 1 else ''} ({first_names(files, SHOWN)})"


@dataclass(frozen=True, slots=True)
class PieceLengths:
    """How long the pieces are, in seconds."""

    shortest: float = 3.0
    longest: float = 15.0
    cap: float = 20.0  # speech without a pause is cut only where it is longer than this, at its softest place
    pause: float = 2.0  # always a cut
    pad: float = 0.2
    least: float = 0.4  # shorter sounds hold no word


def is_for(file: str, sound: str) -> bool:
    """Whether a file holds subtitles for a recording."""
    return file.lower().endswith(SUBTITLES) and names_same(without_ending(file), without_ending(sound))


def names_same(name: str, stem: str) -> bool:
    """Whether subtitles of this name belong to a recording of that: x.srt or x.en.srt to x.mp4."""
    return name == stem or (name.startswith(stem) and TAGS.fullmatch(name[len(stem) :]) is not None)


def seen(folder: SourceFolder) -> str:
    """Why a folder holds recordings alone; nothing where any file of it might be a transcript."""
    tree, film = folder.tree, folder.options.film
    if film is None and (tree.refused or not all(is_recording(file) or _is_paper(file) for file in tree.files)):
        return ""
    if film is not None and any(is_for(file, film) for file in tree.files):
        return ""
    return asked(folder)


def asked(folder: SourceFolder) -> str:
    number = len(find_recordings(folder.tree, film=folder.options.film)[0])
    files = "one recording" if number == 1 else f"{number} recordings"
    return f"{files} and no text: cut at silences, and trained on only when they have a text" if number else ""


def to_decode(folder: SourceFolder) -> list[str]:
    """The recordings to take along, where one of them is a film that must be decoded first."""
    found = list(find_recordings(folder.tree, film=folder.options.film)[0].values())
    return found if any(map(is_media, found)) else []


def rows(folder: SourceFolder) -> Iterator[Row | Problem | SourceNote]:
    film, place = folder.options.film, folder.options.sounds or folder.path
    found, problems = find_recordings(folder.tree, film=film)
    yield from folder.tree.problems if film is None else ()
    yield from problems
    for file in found.values():
        audio = sound_of(file)
        if not is_media(file) or (place / audio).is_file():
            yield from _rows(place / audio, audio=audio, file=file)


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
        yield Problem(file, str(bad).replace(str(path), "it").removeprefix("it "), Why.SOUND)
        return
    if not pieces:
        yield Problem(file, "nothing is heard in it: record or copy it again", Why.SOUND)
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
    """The last stretch of a piece: at the longest pause where it may end; a very long pause ends any."""
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

"""What every reader yields, and the look at a source that all of them share."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath

from olu.audio.media import is_recording
from olu.core.files import fault_of

DEEPEST = 100  # folders inside each other: nobody sorts recordings further, and every tool has a limit


class Why(Enum):
    """Why something was left out, to be counted: of one row, of several."""

    MISSING = "names no recording that is there", "name no recording that is there"
    NO_TEXT = "has no text", "have no text"
    NO_SOUND = "is a text without a recording", "are texts without a recording"
    FORM = "is not written as this layout is", "are not written as this layout is"
    LETTERS = "cannot be read as text", "cannot be read as text"
    SOUND = "is no readable sound", "are no readable sound"
    TWICE = "is there twice", "are there twice"
    OUTSIDE = "leads out of the source or is no plain file", "lead out of the source or are no plain files"
    TIMES = "has times that cannot be used", "have times that cannot be used"
    BACKWARDS = "ends before it starts", "end before they start"
    ORDER = "is out of order", "are out of order"
    OVERLAP = "overlaps another cue", "overlap another cue"
    BEYOND = "lies past the end of the sound", "lie past the end of the sound"
    OTHER = "has another fault", "have other faults"

    def told(self, number: int) -> str:
        return f"{number} {self.value[0 if number == 1 else 1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One recording and its text, as the source gives them."""

    audio: str  # with forward slashes, from the source's root
    text: str | None  # None: nobody has written down what is said
    where: str  # for messages: "metadata.csv line 7", "a/b.txt"
    speaker: str | None = None
    start: float = 0.0
    seconds: float | None = None  # to the end of the recording
    read: int = 1  # rows of the source it was made of
    sound: str = ""  # what the source calls the recording, where `audio` is what was decoded of it

    @property
    def shown(self) -> str:
        """The recording's name as a person knows it."""
        return self.sound or self.audio


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """One line of a text file, without its ending."""

    number: int
    text: str
    where: str  # "data/text line 7"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was left out: where, why, and what to do."""

    where: str
    message: str
    why: Why = Why.OTHER
    seconds: float = 0.0  # of speech that is lost with it, where that is known
    missing: str = ""  # the recording a row names, where it is not there

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True, slots=True)
class SourceNote:
    """Something a person should know of a source that was read."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Texts of a recording that may not be said where they stand."""

    audio: str  # as rows name it
    sound: str  # as it lies in the source
    text: str  # what was measured, or that it could not be
    remedy: str = ""  # the options of an import that mends it


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What a person said of the times of a recording's subtitles."""

    audio: str  # as rows name it
    shift: float = 0.0
    stretch: float = 1.0
    in_sync: bool = False
    starts: tuple[int, ...] = ()  # of some cues, in milliseconds: by these the subtitles are known again
    again: str = ""  # a sentence, where it was said at an earlier import

    @property
    def is_plain(self) -> bool:
        return (self.shift, self.stretch, self.in_sync) == (0.0, 1.0, False)


@dataclass(frozen=True, slots=True)
class Guessed:
    """A text file that is not UTF-8: what it was read as, and words that show whether that is right."""

    file: str
    encoding: str
    words: tuple[str, ...]


Read = Row | Problem | SourceNote | Guessed  # what a reader yields


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a source, sorted; the folders that could not be entered, and the files that are never opened."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    refused: tuple[Problem, ...] = ()

    @property
    def audio(self) -> list[str]:
        return [file for file in self.files if is_recording(file)]


def look(source: Path) -> Tree:
    """Every file under `source`; hidden ones are the system's, not a person's recordings.

    What is no plain file, or a link that leads out, is refused here: no reader ever sees it. The sound of such a
    recording is refused where it is taken, for its row should say so.
    """
    files: list[str] = []
    problems: list[Problem] = []
    refused: list[Problem] = []
    waiting = [("", 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            entries = sorted(_entries(source / folder), key=lambda entry: entry.name)
        except OSError as bad:
            problems.append(Problem(folder or ".", f"cannot be opened ({bad.strerror}): allow reading it"))
            continue
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir():
                if not is_recording(name) and not entry.is_file(follow_symlinks=False):
                    fault = fault_of(source, name)
                    if fault:
                        refused.append(Problem(name, fault, Why.OUTSIDE))
                        continue
                files.append(name)
            elif entry.is_symlink():  # may lead out of the source, or round in a circle
                message = "is a link to a folder and is not followed: import that folder itself, or copy it here"
                problems.append(Problem(name, message, Why.OUTSIDE))
            elif depth >= DEEPEST:
                message = f"lies more than {DEEPEST} folders deep and is not looked into: move it further up"
                problems.append(Problem(name, message))
            else:
                waiting.append((name, depth + 1))
    return Tree(tuple(sorted(files)), tuple(sorted(problems, key=str)), tuple(sorted(refused, key=str)))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        yield from (entry for entry in entries if not entry.name.startswith("."))


def without_ending(name: str) -> str:
    """a/b.wav -> a/b, in NFC: some systems store names decomposed, whatever the metadata says."""
    return unicodedata.normalize("NFC", str(PurePosixPath(name).with_suffix("")))


def speaker_name(given: str) -> str | None:
    return " ".join(given.split()) or None


def folder_of(file: str) -> str:
    """a/b/c.csv -> a/b, and nothing for a file at the top."""
    return file.rpartition("/")[0]


def name_of(file: str) -> str:
    return file.rpartition("/")[2]


def exists(path: Path) -> bool:
    """Whether `path` is a file, where `path` may be anything somebody typed."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False

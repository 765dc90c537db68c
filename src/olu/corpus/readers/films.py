"""Which files of a source hold sound, and the sound of films and phone recordings as files every stage can read."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from olu.audio.media import decode, is_media, is_recording, need_media
from olu.core.errors import AudioError
from olu.core.files import hash_file
from olu.core.inside import fault_of
from olu.core.job import Job, Tick
from olu.corpus.readers.rows import Problem, Tree, Why, without_ending

DECODED = ".flac"
SHOWN = 3


def recordings(tree: Tree, *, film: str | None = None) -> tuple[dict[str, str], list[Problem]]:
    """Name without ending -> recording, films too; of two with one name a sound file goes before a film."""
    found: dict[str, str] = {}
    problems = []
    files = [file for file in tree.files if is_recording(file) and film in (None, file)]
    for file in sorted(files, key=lambda file: (without_ending(file), is_media(file), file)):
        if first := found.get(without_ending(file)):
            message = f"has the name of {first}, which was taken: rename or remove one"
            problems.append(Problem(where=file, message=message, why=Why.TWICE))
        else:
            found[without_ending(file)] = file
    return found, problems


def sound_of(file: str) -> str:
    """The name a recording has once films are decoded."""
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
            problems.append(Problem(where=file, message=fault, why=Why.OUTSIDE))
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
            problems.append(Problem(where=file, message=message.removeprefix("it "), why=Why.SOUND))
        except OSError as bad:
            message = f"cannot be read ({bad.strerror}): allow reading it"
            problems.append(Problem(where=file, message=message, why=Why.SOUND))
    return problems


def told(files: Sequence[str]) -> str:
    """How many recordings, and some of their names."""
    shown = ", ".join(files[:SHOWN]) + (" ..." if len(files) > SHOWN else "")
    return f"{len(files)} recording{'s' if len(files) > 1 else ''} ({shown})"

"""Which files of a source hold sound, and the sound of films as files that every stage can read."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable
from pathlib import Path, PurePosixPath

from olu.audio.media import decode, is_media, is_recording, need_media
from olu.corpus.readers.rows import Problem, Tree, without_ending
from olu.errors import AudioError
from olu.files import hash_file
from olu.types import Tick

DECODED = ".flac"


def recordings(tree: Tree, *, film: str | None = None) -> tuple[dict[str, str], list[Problem]]:
    """Name without ending -> recording, films too; of two with one name a sound file goes before a film."""
    found: dict[str, str] = {}
    problems = []
    files = [file for file in tree.files if is_recording(file) and film in (None, file)]
    for file in sorted(files, key=lambda file: (without_ending(file), is_media(file), file)):
        if first := found.get(without_ending(file)):
            message = f"has the name of {first}, which was taken: rename or remove one"
            problems.append(Problem(where=file, message=message))
        else:
            found[without_ending(file)] = file
    return found, problems


def sound_of(file: str) -> str:
    """The name a recording has once films are decoded."""
    return f"{PurePosixPath(file).with_suffix('')}{DECODED}" if is_media(file) else file


def take_out(
    source: Path, files: Iterable[str], *, into: Path, known: dict[str, Path], made: dict[str, str]
) -> Generator[Tick, None, list[Problem]]:
    """Write the sound of `files` under `into`, a folder of our own: films decoded, sound files copied.

    `known`: hash of a film -> its sound from an earlier time, taken as it is: another version of the decoder may differ
    in a bit, and the clips would be others. `made` gets the hash of each film and of its sound.
    """
    need_media("importing films")
    problems = []
    for file in files:
        to = into / sound_of(file)
        to.parent.mkdir(parents=True, exist_ok=True)
        if not (source / file).resolve().is_relative_to(source.resolve()):
            problems.append(Problem(where=file, message=f"leads out of {source}: copy the file into it"))
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
            problems.append(Problem(where=file, message=message.removeprefix("it ")))
        except OSError as bad:
            problems.append(Problem(where=file, message=f"cannot be read ({bad.strerror}): allow reading it"))
    return problems

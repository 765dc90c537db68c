"""One text for all recordings of a folder: the parts of a book or a programme, joined in the order of their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np
import soundfile

from olu.audio import io
from olu.core.errors import AudioError
from olu.core.files import whole
from olu.core.words import first_names, many
from olu.corpus.readers.beside import PAPERS
from olu.corpus.readers.recordings import find_recordings
from olu.corpus.readers.rows import Problem, Read, SourceNote, name_of, without_ending
from olu.corpus.readers.source import SourceFolder
from olu.corpus.readers.tables import unnamed_tables

TEXTS = (".txt", ".text", ".lab")
JOINED = ".flac"
BLOCK_SECONDS = 60.0
SHOWN = 6
LEAST_WORDS = 8  # a shorter text is a title or a note
NUMBER = re.compile(r"(\d+)")


def natural(name: str) -> list[tuple[int, str]]:
    """What to sort names by so that part 2 comes before part 10."""
    return [(int(one), "") if one.isdigit() else (-1, one.casefold()) for one in NUMBER.split(name) if one]


def texts_of(folder: SourceFolder) -> list[str]:
    """The texts of a folder that no recording has the name of, papers left out."""
    named = {without_ending(one) for one in folder.tree.audio}
    files = [file for file in folder.tree.files if file.lower().endswith(TEXTS)]
    return [
        file
        for file in files
        if name_of(without_ending(file)).lower() not in PAPERS and without_ending(file) not in named
    ]


def seen(folder: SourceFolder) -> str:
    """Why one text is that of all recordings; nothing where it is a list of them, or there are several."""
    texts, recordings = texts_of(folder), parts_of(folder)
    if len(texts) != 1 or not recordings or unnamed_tables(folder) or _is_list(folder, texts[0]):
        return ""
    if sum(len(line.split()) for line in folder.glance(texts[0])) < LEAST_WORDS:
        return ""
    if len(recordings) == 1:
        return f"{texts[0]} is the one text beside {recordings[0]}"
    return f"{texts[0]} is the one text for {len(recordings)} recordings, joined in the order of their names"


def several(folder: SourceFolder) -> str:
    """A sentence where there are several texts and none of them belongs to a recording; else nothing."""
    texts, recordings = texts_of(folder), parts_of(folder)
    if len(texts) < 2 or not recordings:
        return ""
    return (
        f"has {many(len(recordings), 'recording')} and {len(texts)} texts ({first_names(texts, 3)}) of other names:"
        " give each text the name of its recording, or leave one text for all of them in their order"
    )


def _is_list(folder: SourceFolder, text: str) -> bool:
    """Whether lines of a text begin with names of recordings."""
    stems = [without_ending(one).casefold() for one in folder.tree.audio]
    names = (*stems, *map(name_of, stems))
    lines = folder.glance(text)
    return sum(line.strip().casefold().startswith(names) for line in lines) > len(lines) / 2


def parts_of(folder: SourceFolder) -> list[str]:
    return sorted(find_recordings(folder.tree)[0].values(), key=natural)


def to_join(folder: SourceFolder) -> tuple[list[str], str]:
    """The recordings in their order, and the name of what they are joined to; none where there is one."""
    found = parts_of(folder)
    text = texts_of(folder)
    name = f"{name_of(without_ending(text[0]))}{JOINED}" if text else ""
    return (found, name) if len(found) > 1 else ([], "")


def rows(folder: SourceFolder) -> Iterator[Read]:
    yield from folder.tree.problems
    files, name = to_join(folder)
    for text in texts_of(folder)[:1]:
        if files:
            shown = f"{', '.join(files[:SHOWN])}{', ...' * (len(files) > SHOWN)}"
            yield SourceNote(f"{many(len(files), 'recording')} were joined to {name} in this order: {shown}")
        yield from folder.row_beside(name or parts_of(folder)[0], text)


def join(files: list[Path], to: Path) -> Iterator[Problem | str]:
    """Write these recordings one behind the other; yields the name of each, or why it is not in it."""
    rate = 0
    with whole(to) as partial:
        sound: soundfile.SoundFile | None = None
        try:
            for file in files:
                try:
                    facts = io.header(file)
                    rate = rate or facts.rate
                    sound = sound or soundfile.SoundFile(partial, "w", rate, 1, "PCM_16", format="FLAC")
                    for number in range(int(np.ceil(facts.seconds / BLOCK_SECONDS))):
                        start = number * BLOCK_SECONDS
                        size = min(BLOCK_SECONDS, facts.seconds - start)
                        sound.write(io.resample(io.read(file, start=start, seconds=size), rate).samples)
                    yield file.name
                except AudioError as bad:
                    yield Problem(PurePosixPath(file).name, str(bad).replace(str(file), "it").removeprefix("it "))
        finally:
            if sound is not None:
                sound.close()
        if sound is None:
            raise AudioError("none of the recordings can be read: convert or copy them again")

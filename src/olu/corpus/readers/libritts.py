"""LibriTTS: speaker/chapter/*.wav, each with .normalized.txt and .original.txt beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from olu.corpus.readers.rows import Problem, Row, Tree, look, name_of, row_beside, without_ending

ENDINGS = (".normalized.txt", ".original.txt")  # the first that is there counts
ID = re.compile(r"(\d+)_\d+_\d+_\d+")


def seen(source: Path, tree: Tree) -> str:
    """Why this is such a tree, or nothing."""
    texts = _texts(tree)
    pairs = sum(without_ending(audio) in texts for audio in tree.audio)
    return (
        f"{pairs} of {len(tree.audio)} audio files have a .normalized.txt or .original.txt beside them" if pairs else ""
    )


def rows(source: Path) -> Iterator[Row | Problem]:
    tree = look(source)
    texts = _texts(tree)
    yield from tree.problems
    taken: dict[str, str] = {}
    for audio in tree.audio:
        stem = without_ending(audio)
        if stem not in texts:
            name = name_of(stem)
            yield Problem(where=audio, message=f"no {name}.normalized.txt beside it: write what is said in it there")
        elif stem in taken:
            yield Problem(where=audio, message=f"has the name of {taken[stem]}, which was taken: rename or remove one")
        else:
            taken[stem] = audio
            yield row_beside(source, audio=audio, text=texts[stem], speaker=_speaker(audio))
    for stem, text in texts.items():
        if stem not in taken:
            yield Problem(where=text, message="no audio of that name beside it: add it or remove the text")


def _texts(tree: Tree) -> dict[str, str]:
    """Name without ending -> text file."""
    found = {}
    for ending in reversed(ENDINGS):
        for file in tree.files:
            if file.endswith(ending):
                found[without_ending(f"{file.removesuffix(ending)}.wav")] = file
    return found


def _speaker(audio: str) -> str | None:
    """The number that every id begins with, or the folder above the chapter's."""
    if found := ID.match(name_of(audio)):
        return found[1]
    folders = audio.split("/")[:-1]
    return folders[-2] if len(folders) > 1 else None

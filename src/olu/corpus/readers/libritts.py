"""LibriTTS: speaker/chapter/*.wav, each with .normalized.txt and .original.txt beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from olu.corpus.readers.rows import Problem, Read, Tree, Why, look, name_of, without_ending
from olu.corpus.readers.texts import row_beside

ENDINGS = (".normalized.txt", ".original.txt")  # the first that is there counts
ID = re.compile(r"(\d+)_\d+_\d+_\d+")


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a tree, or nothing."""
    texts = _texts(tree)
    pairs = sum(without_ending(audio) in texts for audio in tree.audio)
    return (
        f"{pairs} of {len(tree.audio)} audio files have a .normalized.txt or .original.txt beside them" if pairs else ""
    )


def rows(source: Path, *, encoding: str | None = None) -> Iterator[Read]:
    tree = look(source)
    texts = _texts(tree)
    yield from tree.problems
    taken: dict[str, str] = {}
    for audio in tree.audio:
        stem = without_ending(audio)
        if stem not in texts:
            name = name_of(stem)
            message = f"no {name}.normalized.txt beside it: write what is said in it there"
            yield Problem(where=audio, message=message, why=Why.NO_TEXT)
        elif stem in taken:
            message = f"has the name of {taken[stem]}, which was taken: rename or remove one"
            yield Problem(where=audio, message=message, why=Why.TWICE)
        else:
            taken[stem] = audio
            speaker = _speaker(audio)
            yield from row_beside(source, audio=audio, text=texts[stem], speaker=speaker, encoding=encoding)
    for stem, text in texts.items():
        if stem not in taken:
            message = "no audio of that name beside it: add it or remove the text"
            yield Problem(where=text, message=message, why=Why.NO_SOUND)


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

"""M-AILABS: by_book/<gender>/<speaker>/<book>/ with metadata.csv and wavs/ in every book."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from olu.core.errors import CorpusError
from olu.corpus.readers import ljspeech
from olu.corpus.readers.rows import Guessed, Problem, Read, SourceNote, Tree, folder_of, look, name_of

BOOKS = "by_book"
GENDERS = ("female", "male", "mix")


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a tree, or nothing."""
    books = _books(source, tree)
    number = f"{len(books)} book{'s' if len(books) > 1 else ''}"
    return f"{number} with metadata.csv and wavs/ under {BOOKS}/<gender>/<speaker>" if books else ""


def rows(source: Path, *, encoding: str | None = None) -> Iterator[Read]:
    tree = look(source)
    yield from tree.problems
    for book, speaker in _books(source, tree).items():
        try:
            for row in ljspeech.rows(source / book, home=source, encoding=encoding):
                if isinstance(row, SourceNote):
                    yield row
                elif isinstance(row, Guessed):
                    yield replace(row, file=f"{book}/{row.file}")
                elif isinstance(row, Problem):
                    yield replace(row, where=f"{book}/{row.where}")
                else:
                    where = f"{book}/{row.where}"
                    audio = row.audio if row.audio.startswith("/") else f"{book}/{row.audio}"
                    yield replace(row, audio=audio, where=where, speaker=row.speaker or speaker)
        except CorpusError as bad:
            yield Problem(where=f"{book}/metadata.csv", message=str(bad).removeprefix(f"{source / book}/"))


def _books(source: Path, tree: Tree) -> dict[str, str | None]:
    """Folder of a book -> its speaker; a book that several people read has none."""
    found: dict[str, str | None] = {}
    above = source.resolve().parts
    for file in tree.files:
        book = folder_of(file)
        if name_of(file) != "metadata.csv" or not book:
            continue
        path = (*above, *book.split("/"))
        if BOOKS not in path:
            continue
        below = path[len(path) - path[::-1].index(BOOKS) :]
        if below and below[0] in GENDERS:
            found[book] = below[1] if len(below) > 2 else None
    return found

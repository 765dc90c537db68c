"""Common Voice: TSV tables with client_id, path and sentence, and the recordings in clips/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from olu.corpus.readers import columns as by_name
from olu.corpus.readers.audio_index import AudioIndex
from olu.corpus.readers.rows import Read, Tree, folder_of, look
from olu.corpus.readers.texts import glance

COLUMNS = {"audio": "path", "text": "sentence", "speaker": "client_id"}
CHECKED = "validated.tsv"
PARTS = ("train.tsv", "dev.tsv", "test.tsv")  # what other listeners refused or did not hear yet stays out


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a folder, or nothing."""
    files = _files(source, tree, encoding)
    return f"{', '.join(files)} {'have' if len(files) > 1 else 'has'} client_id, path and sentence" if files else ""


def rows(source: Path, *, encoding: str | None = None) -> Iterator[Read]:
    shelf = AudioIndex.of(source)
    for file in _files(source, look(source), encoding):
        yield from by_name.table(source, file, mark="\t", shelf=shelf, columns=COLUMNS, raw=True, encoding=encoding)


def _files(source: Path, tree: Tree, encoding: str | None) -> list[str]:
    """The validated table of each language, or its parts where that is not there."""
    found: dict[str, list[str]] = {}
    for name in (CHECKED, *PARTS):
        for file in tree.files:
            folder = folder_of(file)
            if file.rpartition("/")[2] != name or f"{folder}/{CHECKED}".lstrip("/") in found.get(folder, []):
                continue
            if by_name.pick(next(iter(glance(source, file, encoding=encoding)), "").split("\t"), COLUMNS):
                found.setdefault(folder, []).append(file)
    return [file for files in found.values() for file in files]

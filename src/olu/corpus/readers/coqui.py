"""metadata_train.csv and metadata_eval.csv with the header `audio_file|text|speaker_name`, and lang.txt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from olu.corpus.readers import columns as by_name
from olu.corpus.readers.audio_index import AudioIndex
from olu.corpus.readers.rows import Read, Tree, look
from olu.corpus.readers.texts import glance

FILES = ("metadata_train.csv", "metadata_eval.csv")


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a folder, or nothing."""
    files = _files(source, tree, encoding)
    return f"{' and '.join(files)} {'have' if len(files) > 1 else 'has'} an audio_file|text header" if files else ""


def rows(source: Path, *, root: Path | None = None, encoding: str | None = None) -> Iterator[Read]:
    shelf = AudioIndex.of(source, root=root)
    for file in _files(source, look(source), encoding):
        yield from by_name.table(source, file, mark="|", shelf=shelf, encoding=encoding)


def language(source: Path) -> str | None:
    """The language code that lang.txt names."""
    return next(iter(glance(source, "lang.txt")), "").strip()[:40] or None


def _files(source: Path, tree: Tree, encoding: str | None) -> list[str]:
    there = [file for file in FILES if file in tree.files]
    heads = {file: next(iter(glance(source, file, encoding=encoding)), "") for file in there}
    return [file for file, head in heads.items() if head.lower().startswith("audio_file|")]

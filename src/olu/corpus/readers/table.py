"""A CSV or TSV table whose header names the columns, or one whose contents do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from olu.corpus.readers import columns as by_name
from olu.corpus.readers import unnamed
from olu.corpus.readers.audio_index import AudioIndex
from olu.corpus.readers.rows import Read, Tree, look
from olu.corpus.readers.texts import glance

ENDINGS = (".csv", ".tsv")
MARKS = "\t,;|"


def seen(source: Path, tree: Tree, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> str:
    """Why this is such a folder, or nothing."""
    for file, mark in _tables(source, tree, columns, encoding).items():
        header = glance(source, file, encoding=encoding)[0]
        names = ", ".join(f"{kind}={name}" for kind, name in by_name.pick(by_name.cells(header, mark), columns).items())
        return f"{file} has a header with {names}"
    return ""


def asked(source: Path, tree: Tree, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> str:
    """The same, where its contents may say which column is which."""
    why = seen(source, tree, columns=columns, encoding=encoding)
    if why or columns:
        return why
    certain = unnamed.certain(unnamed.tables(source, tree, encoding=encoding))
    return certain.why if certain else ""


def headers(source: Path, tree: Tree, *, encoding: str | None = None) -> dict[str, list[str]]:
    """Table -> what its header names, for a message."""
    found = {}
    for file in _files(tree, known=None):
        header = next(iter(glance(source, file, encoding=encoding)), "")
        found[file] = max((by_name.cells(header, mark) for mark in MARKS), key=len)
    return found


def rows(
    source: Path,
    *,
    columns: Mapping[str, str] | None = None,
    root: Path | None = None,
    encoding: str | None = None,
) -> Iterator[Read]:
    tree, shelf = look(source), AudioIndex.of(source, root=root)
    known = _tables(source, tree, columns, encoding)
    for file, mark in known.items():
        yield from by_name.table(source, file, mark=mark, shelf=shelf, columns=columns, encoding=encoding)
    if not known and not columns and (found := unnamed.certain(unnamed.tables(source, tree, encoding=encoding))):
        yield from unnamed.rows(source, found, shelf=shelf, encoding=encoding)


def _files(tree: Tree, known: Mapping[str, str] | None) -> list[str]:
    """With columns that somebody named, any text may be the table they mean."""
    endings = (*ENDINGS, ".txt", ".tab") if known else ENDINGS
    return [file for file in tree.files if file.lower().endswith(endings)]


def _tables(source: Path, tree: Tree, columns: Mapping[str, str] | None, encoding: str | None) -> dict[str, str]:
    """Table -> what parts its columns."""
    found = {}
    for file in _files(tree, columns):
        header = next(iter(glance(source, file, encoding=encoding)), "")
        if mark := by_name.delimiter(header, among=MARKS, columns=columns):
            found[file] = mark
    return found

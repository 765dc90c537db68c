"""A CSV or TSV table whose header names the columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from olu.corpus.readers import columns as by_name
from olu.corpus.readers.rows import Problem, Row, Tree, glance, look
from olu.corpus.readers.shelf import Shelf

ENDINGS = (".csv", ".tsv")
MARKS = "\t,;|"


def seen(source: Path, tree: Tree, *, columns: Mapping[str, str] | None = None) -> str:
    """Why this is such a folder, or nothing."""
    for file, mark in _tables(source, tree, columns).items():
        header = glance(source, file)[0]
        names = ", ".join(f"{kind}={name}" for kind, name in by_name.pick(by_name.cells(header, mark), columns).items())
        return f"{file} has a header with {names}"
    return ""


def headers(source: Path, tree: Tree) -> dict[str, list[str]]:
    """Table -> what its header names, for a message."""
    found = {}
    for file in _files(tree):
        header = next(iter(glance(source, file)), "")
        found[file] = max((by_name.cells(header, mark) for mark in MARKS), key=len)
    return found


def rows(
    source: Path, *, columns: Mapping[str, str] | None = None, root: Path | None = None
) -> Iterator[Row | Problem]:
    shelf = Shelf.of(source, root=root)
    for file, mark in _tables(source, look(source), columns).items():
        yield from by_name.table(source, file, mark=mark, shelf=shelf, columns=columns)


def _files(tree: Tree) -> list[str]:
    return [file for file in tree.files if file.lower().endswith(ENDINGS)]


def _tables(source: Path, tree: Tree, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Table -> what parts its columns."""
    found = {}
    for file in _files(tree):
        header = next(iter(glance(source, file)), "")
        if mark := by_name.delimiter(header, among=MARKS, columns=columns):
            found[file] = mark
    return found

"""The layouts a source of recordings may have: one file each, found by looking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.audio.io import SUFFIXES
from olu.config import did_you_mean
from olu.corpus.readers import folder, ljspeech
from olu.corpus.readers.rows import Problem, Row, Tree, look
from olu.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Layout:
    """How to know a layout (a reason in words, or nothing) and how to read it."""

    name: str
    seen: Callable[[Path, Tree], str]
    rows: Callable[[Path], Iterator[Row | Problem]]


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("ljspeech", ljspeech.seen, ljspeech.rows),
        Layout("folder", folder.seen, folder.rows),
    )
}


def detect(source: Path) -> tuple[str, str]:
    """The layout of a source, and why it is that."""
    tree = look(source)
    for layout in LAYOUTS.values():
        if why := layout.seen(source, tree):
            return layout.name, why
    raise refusal(source)


def choose(source: Path, *, layout: str) -> tuple[Layout, str]:
    """The layout that was asked for or seen, and why."""
    known = ("auto", *LAYOUTS)
    if layout not in known:
        hint = did_you_mean(layout, known) or f"; known: {', '.join(known)}"
        raise CorpusError(f"unknown layout {layout!r}{hint}")
    if not source.exists():
        raise CorpusError(f"{source} is not there: check the path to the recordings")
    if not source.is_dir():
        raise CorpusError(f"{source} is a file: name the folder that holds the recordings")
    if layout != "auto" and LAYOUTS[layout].seen(source, look(source)):
        return LAYOUTS[layout], "asked for with --layout"
    name, why = detect(source)
    if layout not in ("auto", name):
        raise CorpusError(f"{source} has the layout {name!r}, not {layout!r} ({why}): leave --layout out")
    return LAYOUTS[name], why


def refusal(source: Path) -> CorpusError:
    """Why nothing in a source can be imported, in one sentence."""
    tree = look(source)
    found = ljspeech.metadata(source)
    if not tree.files:
        return CorpusError(f"{source} is empty: name the folder that holds the recordings")
    if found is not None:
        return CorpusError(f"{found} has no line of the form id|text: write one for every recording")
    if not tree.audio:
        return CorpusError(
            f"{source} holds no audio ({', '.join(SUFFIXES)}): name the folder that holds the recordings"
        )
    number = f"{len(tree.audio)} audio file{'s' if len(tree.audio) > 1 else ''}"
    return CorpusError(
        f"{source} has {number} but no metadata.csv and no .txt beside them: write metadata.csv with id|text lines,"
        f" or a .txt with the words beside each recording"
    )

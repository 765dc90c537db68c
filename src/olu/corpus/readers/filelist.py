"""Lists of `path|text` or `path|speaker|text` lines, as VITS and its kin train from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from olu.audio.media import is_recording
from olu.corpus.readers.audio_index import LOOKED_IN, AudioIndex
from olu.corpus.readers.rows import (
    Problem,
    Read,
    Row,
    TextLine,
    Tree,
    Why,
    folder_of,
    look,
    name_of,
    speaker_name,
)
from olu.corpus.readers.texts import glance, read_lines

LONGEST_SPEAKER = 64


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a folder, or nothing."""
    files = _files(source, tree, encoding)
    others = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"{files[0]}{others} {'have' if others else 'has'} path|text lines" if files else ""


def rows(source: Path, *, root: Path | None = None, encoding: str | None = None) -> Iterator[Read]:
    shelf = AudioIndex.of(source, root=root)
    for file in _files(source, look(source), encoding):
        lines = list(read_lines(source, file, encoding=encoding))
        spoken_by = _second_is_speaker(lines)
        for line in lines:
            if isinstance(line, TextLine):
                yield _row(line, shelf=shelf, near=folder_of(file), spoken_by=spoken_by)
            else:
                yield line


def _files(source: Path, tree: Tree, encoding: str | None) -> list[str]:
    lists = [file for file in tree.files if file.lower().endswith(".txt") or _is_part(name_of(file))]
    starts = {file: glance(source, file, encoding=encoding) for file in lists}
    return [
        file for file, lines in starts.items() if any(is_recording(line.partition("|")[0].strip()) for line in lines)
    ]


def _is_part(name: str) -> bool:
    """metadata_train.csv and its like, without a header."""
    return name.startswith("metadata_") and name.endswith(".csv")


def _second_is_speaker(lines: Sequence[object]) -> bool:
    """Of three columns: is the second a speaker everywhere, or a text that the third says again, normalised?"""
    triples = [parts for line in lines if isinstance(line, TextLine) and len(parts := line.text.split("|")) == 3]
    names = [second.strip() for _, second, _ in triples]
    return all(len(name) <= LONGEST_SPEAKER and not any(c.isspace() for c in name) for name in names) and not any(
        second.strip().casefold() == third.strip().casefold() for _, second, third in triples
    )


def _row(line: TextLine, *, shelf: AudioIndex, near: str, spoken_by: bool) -> Row | Problem:
    parts = line.text.split("|")
    if not 2 <= len(parts) <= 3:
        number = f"{len(parts)} column{'s' if len(parts) > 1 else ''}"
        return Problem(where=line.where, message=f"{number}: write path|text or path|speaker|text", why=Why.FORM)
    audio = shelf.take(_real(parts[0].strip(), shelf, near), where=line.where, near=near, hint=f" in {LOOKED_IN}")
    if isinstance(audio, Problem):
        return audio
    if len(parts) == 3 and spoken_by:
        return Row(audio=audio, text=parts[2], where=line.where, speaker=speaker_name(parts[1]))
    return Row(audio=audio, text=parts[1], where=line.where)


def _real(path: str, shelf: AudioIndex, near: str) -> str:
    """Without leading folders that are not there: lists are shared with DUMMY/ for wherever the audio lies."""
    while "/" in path.strip("/") and not path.startswith(("/", "../")):
        first, _, rest = path.partition("/")
        if _is_folder(shelf.source / near / first) or _is_folder(shelf.source / first):
            break
        if shelf.root is not None and _is_folder(shelf.root / first):
            break
        path = rest
    return path


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False

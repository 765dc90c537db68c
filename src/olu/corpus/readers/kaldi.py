"""Kaldi: wav.scp, text, utt2spk and segments in one folder or several. A command in wav.scp is never run."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.corpus.readers.audio_index import AudioIndex
from olu.corpus.readers.rows import Problem, Read, Row, TextLine, Tree, Why, folder_of, look, name_of, speaker_name
from olu.corpus.readers.texts import read_lines

SEGMENT = "is not of the form utterance recording start end: write it so"
FOLDERS = ("", "wavs", "wav", "audio", "clips")


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a folder, or nothing."""
    folders = _folders(tree)
    places = ", ".join(folder or "the folder itself" for folder in folders)
    return f"wav.scp and text are in {places}" if folders else ""


def rows(source: Path, *, root: Path | None = None, encoding: str | None = None) -> Iterator[Read]:
    shelf, tree = AudioIndex.of(source, root=root), look(source)
    for folder in _folders(tree):
        yield from _rows(source, folder, shelf, there=frozenset(tree.files), encoding=encoding)


def _folders(tree: Tree) -> list[str]:
    there = set(tree.files)
    folders = [folder_of(file) for file in tree.files if name_of(file) == "wav.scp"]
    return [folder for folder in folders if posixpath.join(folder, "text") in there]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The rest of a line behind its key, and where it stands."""

    rest: str
    where: str


def _table(source: Path, file: str, others: list[Read], encoding: str | None) -> dict[str, _Entry]:
    """Key -> entry of a file; the first of two counts."""
    found: dict[str, _Entry] = {}
    for line in read_lines(source, file, encoding=encoding):
        if not isinstance(line, TextLine):
            others.append(line)
            continue
        key, *rest = line.text.split(maxsplit=1)
        if key in found:
            message = f"{key} stands in {found[key].where} too: remove one"
            others.append(Problem(where=line.where, message=message, why=Why.TWICE))
        else:
            found[key] = _Entry(rest[0].strip() if rest else "", line.where)
    return found


def _rows(
    source: Path, folder: str, shelf: AudioIndex, *, there: frozenset[str], encoding: str | None
) -> Iterator[Read]:
    others: list[Read] = []
    files = [posixpath.join(folder, name) for name in ("wav.scp", "text", "utt2spk", "segments")]
    wavs, texts, speakers, segments = (
        _table(source, file, others, encoding) if file in there else {} for file in files
    )
    yield from others
    refused = set()
    audio: dict[str, str] = {}
    for key, entry in wavs.items():
        found = _audio(entry, folder, shelf)
        if isinstance(found, Problem):
            refused.add(key)
            yield found
        else:
            audio[key] = found
    for key, text in texts.items():
        span = _span(segments[key]) if key in segments else (key, 0.0, None)
        if isinstance(span, Problem):
            yield span
            continue
        recording, start, seconds = span
        if recording in audio:
            speaker = speaker_name(speakers[key].rest) if key in speakers else None
            yield Row(
                audio=audio[recording], text=text.rest, where=text.where, speaker=speaker, start=start, seconds=seconds
            )
        elif recording not in refused:
            at = f" (from {segments[key].where})" if key in segments else ""
            message = f"{recording}{at} is not in wav.scp: add it there or remove the line"
            yield Problem(where=text.where, message=message, why=Why.MISSING)
    for key, entry in (segments or wavs).items():
        if key not in texts and key not in refused:
            message = f"{key} has no line in text: write what is said in it there"
            yield Problem(where=entry.where, message=message, why=Why.NO_TEXT)


def _audio(entry: _Entry, folder: str, shelf: AudioIndex) -> str | Problem:
    if "|" in entry.rest:
        message = "is a command (a '|'), and commands are never run: convert the sound to files and write their paths"
        return Problem(where=entry.where, message=message, why=Why.FORM)
    return shelf.take(
        entry.rest, where=entry.where, near=folder, folders=FOLDERS, hint=f" beside {folder or 'wav.scp'}"
    )


def _span(entry: _Entry) -> tuple[str, float, float | None] | Problem:
    """Recording, start and seconds of a line of segments; an end of -1 is the recording's."""
    parts = entry.rest.split()
    try:
        recording, start, end = parts[0], float(parts[1]), float(parts[2])
    except (IndexError, ValueError):
        return Problem(where=entry.where, message=SEGMENT, why=Why.FORM)
    return recording, start, None if end == -1 else end - start

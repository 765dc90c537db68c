"""Festvox: lines of `( id "text" )` in etc/txt.done.data, and the recordings in wav/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from olu.corpus.readers.audio_index import AudioIndex
from olu.corpus.readers.rows import Problem, Read, Row, TextLine, Tree, Why, folder_of, look, name_of
from olu.corpus.readers.texts import read_lines

PROMPTS = "txt.done.data"
FOLDERS = ("wav", "wavs", "")
LINE = re.compile(r'\s*\(\s*([^\s"()]++)\s+"((?:[^"\\]|\\.)*+)"\s*\)\s*')
VOICE = re.compile(r"cmu_[a-z]+_(\w+)_arctic")  # the speaker's letters in the names of the best known of them


def seen(source: Path, tree: Tree, *, encoding: str | None = None) -> str:
    """Why this is such a folder, or nothing."""
    files = _files(tree)
    return f'{" and ".join(files[:2])} {"have" if len(files) > 1 else "has"} ( id "text" ) lines' if files else ""


def rows(source: Path, *, encoding: str | None = None) -> Iterator[Read]:
    shelf = AudioIndex.of(source)
    for file in _files(look(source)):
        folder = folder_of(file)
        voice = folder_of(folder) if name_of(folder) == "etc" else folder
        for line in read_lines(source, file, encoding=encoding):
            yield _row(line, shelf=shelf, voice=voice) if isinstance(line, TextLine) else line


def _files(tree: Tree) -> list[str]:
    return [file for file in tree.files if name_of(file) == PROMPTS]


def _row(line: TextLine, *, shelf: AudioIndex, voice: str) -> Row | Problem:
    found = LINE.fullmatch(line.text)
    if found is None:
        return Problem(where=line.where, message='is not of the form ( id "text" ): write it so', why=Why.FORM)
    audio = shelf.take(found[1], where=line.where, near=voice, folders=FOLDERS, hint=" in wav/")
    if isinstance(audio, Problem):
        return audio
    return Row(audio=audio, text=re.sub(r"\\(.)", r"\1", found[2]), where=line.where, speaker=_speaker(voice))


def _speaker(voice: str) -> str | None:
    """The folder's name, where a source has a folder for each voice."""
    name = name_of(voice)
    known = VOICE.fullmatch(name)
    return known[1] if known else name or None

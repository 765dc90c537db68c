"""JSON lines, one object for each recording: NeMo manifests, metadata.jsonl, and their like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from olu.core.parse import BadData, from_json
from olu.corpus.readers import columns as by_name
from olu.corpus.readers.audio_index import LOOKED_IN, AudioIndex
from olu.corpus.readers.rows import Problem, Read, Row, TextLine, Tree, Why, folder_of, look, speaker_name
from olu.corpus.readers.texts import glance, read_lines

ENDINGS = (".jsonl", ".json", ".ndjson")


def seen(source: Path, tree: Tree, *, columns: Mapping[str, str] | None = None, encoding: str | None = None) -> str:
    """Why this is such a folder, or nothing."""
    for file, keys in headers(source, tree, encoding=encoding).items():
        if chosen := by_name.pick(keys, columns):
            names = ", ".join(f"{kind}={name}" for kind, name in chosen.items())
            return f"{file} has JSON lines with {names}"
    return ""


def headers(source: Path, tree: Tree, *, encoding: str | None = None) -> dict[str, list[str]]:
    """File of JSON lines -> the keys of its first objects."""
    found: dict[str, list[str]] = {}
    for file in tree.files:
        if file.lower().endswith(ENDINGS):
            lines = glance(source, file, encoding=encoding)
            objects = [value for line in lines if isinstance(value := _value(line), dict)]
            if objects:
                found[file] = list(dict.fromkeys(key for value in objects for key in value))
    return found


def rows(
    source: Path,
    *,
    columns: Mapping[str, str] | None = None,
    root: Path | None = None,
    encoding: str | None = None,
) -> Iterator[Read]:
    shelf = AudioIndex.of(source, root=root)
    for file, keys in headers(source, look(source), encoding=encoding).items():
        if not by_name.pick(keys, columns):
            continue
        for line in read_lines(source, file, encoding=encoding):
            row = _row(line, shelf=shelf, near=folder_of(file), columns=columns) if isinstance(line, TextLine) else line
            yield row


def _value(text: str) -> Any:
    try:
        return from_json(text)
    except BadData:
        return None


def _row(line: TextLine, *, shelf: AudioIndex, near: str, columns: Mapping[str, str] | None) -> Row | Problem:
    value = _value(line.text)
    if not isinstance(value, dict):
        return Problem(where=line.where, message="is no JSON object: write one object on each line", why=Why.FORM)
    chosen = by_name.pick(value, columns, lax=True)
    if not chosen:
        message = "names no audio or no text: write both, or remove the line"
        return Problem(where=line.where, message=message, why=Why.FORM)
    name, text = value[chosen["audio"]], value[chosen["text"]]
    if isinstance(name, dict):  # as Hugging Face writes it
        name = name.get("path")
    if not isinstance(name, str) or not isinstance(text, str):
        message = "the audio or the text is no string: write both in quotes"
        return Problem(where=line.where, message=message, why=Why.FORM)
    start, seconds = _number(value.get("offset")), _number(value.get("duration"))
    if start is False or seconds is False:
        return Problem(where=line.where, message="offset or duration is no number: write seconds", why=Why.TIMES)
    audio = shelf.take(name, where=line.where, near=near, hint=f" in {LOOKED_IN}")
    if isinstance(audio, Problem):
        return audio
    speaker = value[chosen["speaker"]] if "speaker" in chosen else None
    said_by = speaker_name(str(speaker)) if isinstance(speaker, str | int) else None
    return Row(audio=audio, text=text, where=line.where, speaker=said_by, start=start or 0.0, seconds=seconds)


def _number(given: Any) -> float | Literal[False] | None:
    """Seconds, None where nothing was given, False for what is no number."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return False
    try:
        return float(given)
    except (ValueError, OverflowError):
        return False

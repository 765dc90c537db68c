"""The voice package: everything a voice needs to speak, written whole, and heard once before it is handed out."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from olu.errors import ExportError, TextError
from olu.files import whole, write_json
from olu.speak.voice import SCHEMA, Voice
from olu.text.frontend import AnyFrontend
from olu.text.languages import Language
from olu.text.vocabulary import SymbolVocabulary


@dataclass(frozen=True)
class Contents:
    """What goes into a package beside the graphs."""

    name: str
    family: str
    language: Language
    frontend: AnyFrontend
    vocabulary: SymbolVocabulary
    speakers: list[str]
    sentences: list[str]  # spoken once at export; their ids and lengths are kept as a check
    scores: dict[str, float]
    facts: dict[str, Any]  # where it comes from: run, step, corpus, versions


def write_package(path: Path, contents: Contents, *, graphs: Callable[[Path], dict[str, Any]]) -> Voice:
    """`x.voice` becomes a folder, `x.zip` one file. `graphs` writes the ONNX files into the folder it is given."""
    zipped = path.suffix == ".zip"
    if path.exists() and not _is_voice(path, zipped=zipped):
        raise ExportError(f"{path} is there already and is no voice: choose another name with -o")
    with whole(path) as partial:
        folder = partial.with_name(f"{partial.name}.partial") if zipped else partial
        try:
            folder.mkdir()
            _fill(folder, contents, graphs(folder))
            if zipped:
                _zip(folder, partial)
        finally:
            if zipped:
                shutil.rmtree(folder, ignore_errors=True)
    return Voice.open(path)


def _zip(folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(file, file.relative_to(folder).as_posix())


def _is_voice(path: Path, *, zipped: bool) -> bool:
    """Whether what stands there is ours to replace."""
    if not zipped:
        return (path / "voice.json").is_file()
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "voice.json" in archive.namelist()


def _fill(folder: Path, contents: Contents, facts: dict[str, Any]) -> None:
    _write_language(folder / "language", contents)
    write_json(folder / "vocabulary.json", contents.vocabulary.state())
    write_json(
        folder / "voice.json",
        {
            "schema": SCHEMA,
            "name": contents.name,
            "family": contents.family,
            "language": contents.language.code,
            "speakers": contents.speakers,
            "sentence_ends": list(contents.language.sentence_ends),
            **facts,
            "licence": None,
            "consent": None,
            "scores": contents.scores,
            "facts": contents.facts,
        },
    )
    write_json(folder / "check.json", {"sentences": []})
    write_json(folder / "check.json", {"sentences": _hear(folder, contents)})


def _write_language(folder: Path, contents: Contents) -> None:
    """The language's files as they were in training, and the frontend that reads with them."""
    state = contents.frontend.state()
    pack = contents.frontend.pack
    folder.mkdir()
    files = pack.files if pack else contents.language.files()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    if pack is not None:
        state = {**state, "pack": {**state["pack"], "files": list(pack.files)}}
    write_json(folder / "frontend.json", state)


def _hear(folder: Path, contents: Contents) -> list[dict[str, Any]]:
    voice = Voice.open(folder)
    rows = []
    for text in contents.sentences:
        try:
            audio = voice.speak(text)
        except TextError:
            continue  # a sentence this voice has no letters for proves nothing
        if not np.isfinite(audio.samples).all():
            raise ExportError(f"the voice says {text!r} as numbers that are not finite: export an earlier step")
        ids = contents.vocabulary.encode(contents.frontend.read(text))
        rows.append({"text": text, "ids": ids, "samples": len(audio.samples)})
    return rows

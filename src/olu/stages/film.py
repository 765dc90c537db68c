"""The part of an import that is about sound to be decoded: films, and what phones record, with subtitles or a text."""

from __future__ import annotations

import math
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from olu.audio.media import is_recording
from olu.core.errors import CorpusError
from olu.core.files import Workspace, read_json, read_jsonl, write_json
from olu.core.types import Tick
from olu.corpus import doubts, timings
from olu.corpus.doubts import Standing
from olu.corpus.intake.merge import Merge
from olu.corpus.readers import Layout, Options, films
from olu.corpus.readers.rows import Doubt, Problem, Row, Timing
from olu.corpus.shapes import FILE
from olu.stages.import_place import ImportPlace

MADE = ".made.json"  # in the folder of what was just decoded
DECODED = "decoded.json"
LAYOUTS = ("auto", "subtitles", "recordings")
STRETCHES = (0.5, 2.0)


def options(source: Path, *, layout: str, options: Options, subtitles: Path | None) -> Options:
    """What was said of a film, checked."""
    shift, stretch = options.shift, options.stretch
    if shift is not None and not math.isfinite(shift):
        raise CorpusError(f"--shift {shift} is no number of seconds: write one such as 1.5 or -0.8")
    if stretch is not None and not STRETCHES[0] <= stretch <= STRETCHES[1]:
        low, high = STRETCHES
        raise CorpusError(f"--stretch {stretch} is no factor for times: write one from {low} to {high}, such as 1.0427")
    if subtitles is not None and not subtitles.is_file():
        raise CorpusError(f"--subtitles {subtitles} is not there: check the path")
    alone = is_recording(source.name) and source.is_file()
    if alone and layout not in LAYOUTS:
        raise CorpusError(f"{source} is a file: the layout {layout!r} needs the folder that holds the recordings")
    return replace(
        options,
        film=source.name if alone else None,
        subtitles=subtitles.resolve() if subtitles else None,
    )


def take_out(
    ws: Workspace, chosen: Layout, source: Path, options: Options
) -> Generator[Tick, None, tuple[Options, list[Problem]]]:
    """The options with the place of the decoded sound, where anything had to be decoded."""
    files = chosen.to_decode(source, options)
    if not files:
        return options, []
    into, problems = yield from _decoded_into(ws, source, {file: films.sound_of(file) for file in files})
    return replace(options, sounds=into), problems


def take_out_rows(
    ws: Workspace, rows: Sequence[Row], *, root: Path, options: Options
) -> Generator[Tick, None, tuple[list[Row], Options, list[Problem]]]:
    """Rows whose recordings soundfile reads: those of other kinds are decoded, and then all lie in one place."""
    names = films.sounds_of(row.audio for row in rows)
    into, problems = yield from _decoded_into(ws, root, names)
    lost = {problem.where: problem for problem in problems}
    kept = [replace(row, audio=names[row.audio], sound=row.audio) for row in rows if row.audio not in lost]
    found = [
        replace(lost[row.audio], where=row.where, message=f"{row.audio} {lost[row.audio].message}")
        for row in rows
        if row.audio in lost
    ]
    return kept, replace(options, sounds=into), found


def _decoded_into(
    ws: Workspace, source: Path, files: Mapping[str, str]
) -> Generator[Tick, None, tuple[Path, list[Problem]]]:
    clear(ws)  # of an import that was killed
    into = _place(ws)
    into.mkdir(parents=True)
    made: dict[str, str] = {}
    problems = yield from films.take_out(source, files, into=into.resolve(), known=_known(ws), made=made)
    write_json(into / MADE, made)
    return into.resolve(), problems


def remember(ws: Workspace, options: Options) -> None:
    """After an import: which sound came out of which film, so that it is not decoded again."""
    if options.sounds is not None:
        before = _decoded(ws)
        after = before | read_json(options.sounds / MADE)
        if after != before:
            write_json(ws.corpus / "audio" / DECODED, after)


def remembered(ws: Workspace, options: Options) -> Options:
    """With what was said of subtitles before, unless something is said of their times now."""
    if options.shift is not None or options.stretch is not None:
        return options
    return replace(options, remembered=timings.load(ws))


def keep_doubts(
    ws: Workspace,
    found: Sequence[Doubt | Timing],
    *,
    name: str,
    layout: Layout,
    merge: Merge,
    place: ImportPlace,
    asked: dict[str, Any],
) -> None:
    """What is doubtful of the texts of source `name`, with what mends it, and what was said of their times."""
    if layout.name != "subtitles":
        return
    used = {merge.audio(one.audio, source=name): one for one in found if isinstance(one, Timing)}
    known = {audio: merge.seen[audio][0].sha256 for audio in used if audio in merge.seen}
    timings.renew(ws, {hash: replace(used[audio], audio=audio, again="") for audio, hash in known.items()})
    doubtful = [one for one in found if isinstance(one, Doubt)]
    given = [word for key in ("subtitles", "speaker") if asked[key] for word in (f"--{key}", asked[key])]
    standing = [
        Standing(
            audio=merge.audio(one.audio, source=name),
            text=one.text,
            source=_to_mend(one, place=place, asked=asked, alone=len(doubtful) == 1),
            options=(*given, *(["--copy"] if asked["copy"] else [])),
            remedy=one.remedy,
        )
        for one in doubtful
    ]
    doubts.renew(ws, seen=merge.seen, found=standing)


def doubts_of(ws: Workspace) -> list[str]:
    """Sentences on the texts that are in doubt now."""
    return [one.sentence(ws) for one in doubts.standing(ws)]


def _to_mend(one: Doubt, *, place: ImportPlace, asked: dict[str, Any], alone: bool) -> str:
    if place.unpacked and not alone:  # of several in an archive no single one can be named
        return ""
    source = Path(asked["source"])
    return str(source if source.is_file() else source / one.sound)


def _decoded(ws: Workspace) -> dict[str, str]:
    path = ws.corpus / "audio" / DECODED
    return dict(read_json(path, shape={})) if path.exists() else {}


def _known(ws: Workspace) -> dict[str, Path]:
    files = read_jsonl(ws.corpus / "files.jsonl", shape=FILE, lost=[])  # what cannot be read is decoded again
    there = {row["sha256"]: ws.corpus / "audio" / row["audio"] for row in files}
    sounds = {film: there[sound] for film, sound in _decoded(ws).items() if sound in there}
    return {film: path for film, path in sounds.items() if path.is_file()}


def clear(ws: Workspace) -> None:
    shutil.rmtree(_place(ws), ignore_errors=True)
    for empty in (_place(ws).parent, ws.corpus):
        with suppress(OSError):
            empty.rmdir()


def _place(ws: Workspace) -> Path:
    return ws.corpus / "audio" / ".films.partial"

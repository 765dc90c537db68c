"""Where what is imported lies, and where an import works until everything is looked at: claims, and folders that go."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Self

from olu.core.errors import CorpusError
from olu.core.files import Workspace, hash_file, hash_value, read_json, read_jsonl, write_json
from olu.core.job import Job, Tick
from olu.core.workspace_lock import writing
from olu.corpus.changed_files import RECORDING
from olu.corpus.readers import Layout, Options, huggingface, parts, recordings, shards
from olu.corpus.readers.huggingface import DatasetRow
from olu.corpus.readers.rows import Problem, Row, look

DECODED = "decoded.json"  # in corpus/audio: hash of a film or a phone's recording -> hash of its sound


@dataclass(frozen=True, slots=True)
class ImportPlace:
    """What a person named, and where its files lie: there, or where they were unpacked or fetched."""

    named: Path  # for messages and to know it again
    files: Path  # resolved
    unpacked: bool = False
    lost: tuple[Problem, ...] = ()
    hub_id: str | None = None

    def said(self, text: str) -> str:
        return text.replace(str(self.files), str(self.named)) if self.unpacked else text


class Workbench(ExitStack):
    """The claim on the corpus and the folders of one import, gone with it. A dry run claims and writes nothing here."""

    def __init__(self, ws: Workspace, *, dry: bool = False) -> None:
        super().__init__()
        self.ws, self.dry = ws, dry
        self.made: dict[str, str] = {}  # hash of what was decoded -> hash of its sound

    def __enter__(self) -> Self:
        return self

    def claim(self, *, patience: float | None = None) -> None:
        if not self.dry:
            self.enter_context(writing(self.ws, patience=patience))

    def check_claim(self) -> None:
        """Refuse before the work begins where another command holds the corpus."""
        if not self.dry:
            with writing(self.ws):
                pass

    def folder(self, name: str) -> Path:
        """A folder that is not there yet: of a dry run outside the workspace. Whoever asks holds the claim."""
        if self.dry:
            return Path(self.enter_context(tempfile.TemporaryDirectory())).resolve() / name
        place = self.ws.corpus / "audio" / f".{name}.partial"
        self.callback(_clear, place, self.ws)
        shutil.rmtree(place, ignore_errors=True)  # of an import that was killed
        return place.resolve()

    def decode(self, source: Path, files: Mapping[str, str]) -> Job[tuple[Path, list[Problem]]]:
        """The sound of `files` (recording -> its name there) in one folder, those that no stage reads decoded."""
        self.claim()
        into = self.folder("films")
        into.mkdir(parents=True)
        problems = yield from recordings.take_out(source, files, into=into, known=self._known(), made=self.made)
        return into, problems

    def decode_rows(self, rows: Sequence[Row], *, root: Path) -> Job[tuple[list[Row], Path, list[Problem]]]:
        """As `decode`, for recordings whose text lies beside them or in a table; gives the rows anew."""
        names = recordings.sounds_of(row.audio for row in rows)
        into, problems = yield from self.decode(root, names)
        lost = {problem.where: problem for problem in problems}
        kept = [replace(row, audio=names[row.audio], sound=row.audio) for row in rows if row.audio not in lost]
        found = [
            replace(lost[row.audio], where=row.where, message=f"{row.audio} {lost[row.audio].message}")
            for row in rows
            if row.audio in lost
        ]
        return kept, into, found

    def join(self, source: Path, files: Sequence[str], name: str) -> Job[tuple[Path, list[Problem]]]:
        """The sound of `files` one behind the other under this name; what was joined before is taken as it is."""
        self.claim()
        into = self.folder("films")
        apart, to = into / ".parts", into / name
        apart.mkdir(parents=True)
        content = hash_value([hash_file(source / file) for file in files])
        problems: list[Problem] = []
        if content in (known := self._known()):
            shutil.copyfile(known[content], to)
        else:
            names = {
                file: f"{at:05d}{PurePosixPath(recordings.sound_of(file)).suffix}" for at, file in enumerate(files)
            }
            problems = yield from recordings.take_out(source, names, into=apart, known={}, made={})
            shown = {names[file]: file for file in files}
            for one in parts.join([apart / own for own in names.values() if (apart / own).exists()], to):
                if isinstance(one, Problem):
                    problems.append(replace(one, where=shown[one.where]))
                else:
                    yield Tick(0, 0, shown[one])
        shutil.rmtree(apart)
        self.made[content] = hash_file(to)
        return into, problems

    def _known(self) -> dict[str, Path]:
        """Hash of a film -> its sound, decoded at an earlier import."""
        files = read_jsonl(
            self.ws.corpus / "files.jsonl", shape=RECORDING, lost=[]
        )  # what cannot be read is decoded again
        there = {row["sha256"]: self.ws.corpus / "audio" / row["audio"] for row in files}
        sounds = {film: there[sound] for film, sound in _decoded(self.ws).items() if sound in there}
        return {film: path for film, path in sounds.items() if path.is_file()}

    def remember(self) -> None:
        """Keep, after an import, which sound came out of which film: it is decoded once."""
        before = _decoded(self.ws)
        if before | self.made != before:
            write_json(self.ws.corpus / "audio" / DECODED, before | self.made)


def _decoded(ws: Workspace) -> dict[str, str]:
    path = ws.corpus / "audio" / DECODED
    return dict(read_json(path, shape={})) if path.exists() else {}


def _clear(place: Path, ws: Workspace) -> None:
    shutil.rmtree(place, ignore_errors=True)
    for empty in (place.parent, ws.corpus):
        with suppress(OSError):
            empty.rmdir()


def stream_of(place: ImportPlace, chosen: Layout, options: Options) -> Iterator[DatasetRow | Problem] | None:
    """The examples of a dataset whose sound lies inside other files or on the hub; none for one of plain files."""
    streamed = place.hub_id or (chosen.name == "huggingface" and huggingface.is_streamed(look(place.files)))
    if streamed and options.encoding:
        raise CorpusError(f"{place.named}: the texts of a dataset are always UTF-8: leave --encoding out")
    if place.hub_id:
        return huggingface.hub_examples(place.hub_id, **options.given())
    return shards.examples(place.files, **options.given()) if streamed else None


def total_of(place: ImportPlace, options: Options) -> int:
    return 0 if place.hub_id else shards.count(place.files, config=options.config, split=options.split)

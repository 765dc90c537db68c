"""A source that is imported: which layout it has, its rows, and what each of its recordings is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from olu.audio.media import is_media
from olu.core.errors import CorpusError
from olu.core.job import Job, Tick
from olu.corpus import doubts, readers
from olu.corpus.intake.apply import write_origins
from olu.corpus.intake.held import HeldCorpus
from olu.corpus.intake.place import ImportPlace, Workbench, total_of
from olu.corpus.intake.plan import FoundSource, is_there, name_source, places_of
from olu.corpus.intake.probe import printable, probed_in, sift, tidy
from olu.corpus.intake.stream import Intake
from olu.corpus.readers import SourceFolder, unusable
from olu.corpus.readers.recordings import sound_of
from olu.corpus.readers.rows import Doubt, Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedSource:
    """A source whose layout is known."""

    place: ImportPlace
    layout: readers.Layout
    why: str
    options: readers.Options
    asked: dict[str, Any]

    @property
    def shown(self) -> Path:
        """What messages call it."""
        return self.place.files if self.place.unpacked or self.options.film else self.place.named


def locate(place: ImportPlace, options: readers.Options, asked: dict[str, Any]) -> LocatedSource:
    """The source of an import, with its layout: the one asked for, or the one it is seen to have."""
    source = LocatedSource(place=place, layout=readers.LAYOUTS["huggingface"], why="", options=options, asked=asked)
    if place.hub_id:
        return replace(source, why=f"{place.hub_id} is a dataset on the hub")
    layout, why = readers.choose(source.shown, layout=asked["layout"], options=options)
    return replace(source, layout=layout, why=f"{place.named.name} unpacked: {why}" if place.unpacked else why)


def read(bench: Workbench, source: LocatedSource) -> Job[FoundSource]:
    """The rows of a source; recordings that no stage can read are decoded first."""
    place, options, lost = source.place, source.options, list(source.place.lost)
    root = own = options.root or place.files
    if media := source.layout.to_decode(SourceFolder(place.files, options)):
        root, more = yield from bench.decode(place.files, {file: sound_of(file) for file in media})
        options, lost = replace(options, sounds=root), lost + more
    files, joined = source.layout.to_join(SourceFolder(place.files, options))
    if files:
        root, more = yield from bench.join(place.files, files, joined)
        lost += more
    _check_paths(root, place.files)
    if source.layout.name == "subtitles" and options.shift is None and options.stretch is None:
        options = replace(options, remembered=doubts.load_timings(bench.ws))  # what was said of them before
    folder, notes, doubtful = SourceFolder(place.files, options), list[str](), list[Doubt | Timing]()
    rows, problems = sift(source.layout.read(folder, notes=notes, doubts=doubtful), root=root)
    if number := sum(is_media(row.audio) for row in rows):  # with a text beside them or in a table
        which = "it was copied" if len(rows) == 1 else f"all {len(rows)} were copied"
        sound = "have sound that must be decoded (m4a and the like)"
        notes.append(f"{number} of {len(rows)} rows {sound}: {which} into the workspace")
        rows, root, more = yield from bench.decode_rows(rows, root=root)
        lost += more
    problems = [*map(tidy, lost), *problems]
    if not rows:
        raise unusable(source.shown, problems)
    ours = place.unpacked or root != own
    return FoundSource(
        place=place,
        layout=source.layout,
        root=root,
        origin=place.named.resolve() if place.unpacked else own,
        copy=source.asked["copy"] or ours,
        ours=ours,
        rows=rows,
        problems=problems,
        notes=notes,
        doubts=doubtful,
        languages=[source.layout.language(SourceFolder(place.files))],
    )


def _check_paths(*paths: Path) -> None:
    for path in paths:
        if printable(str(path)) != str(path):
            raise CorpusError(f"the path {printable(str(path))} is not valid UTF-8: rename the folder")


def probe_source(found: FoundSource) -> Job[FoundSource]:
    """The source with what each of its recordings is: rate, length, content, or what is wrong."""
    probed = []
    for done, one in enumerate(probed_in(found.root, found.rows), 1):
        probed.append(one)
        yield Tick(done, len(found.rows), one[0].audio)
    return replace(found, probed=probed)


def probe_stream(
    bench: Workbench, source: LocatedSource, held: HeldCorpus, stream: Iterator[Any], *, keep: int = 0
) -> Job[FoundSource]:
    """As `probe_source`, for sound that comes as bytes and is written into the workspace.

    In a dry run the first sounds are kept, as many as `keep` says.
    """
    ws, place = bench.ws, source.place
    own = source.options.root or place.files
    origin = place.named.resolve() if place.unpacked else own
    found = FoundSource(place=place, layout=source.layout, root=own, origin=origin, copy=True, streamed=True)
    named = name_source(held, found)
    mine, places = f"{named.name}/", places_of(held, named)
    clips = {clip.id: clip for clip in held.clips if clip.transcribed and not clip.audio.startswith(mine)}

    def begin() -> None:
        write_origins(ws, {**held.origins, named.name: str(origin)})

    intake = Intake(
        home=places[named.name].resolve(),
        known={audio.removeprefix(mine): row["sha256"] for audio, row in held.files.items() if audio.startswith(mine)},
        lies_elsewhere=lambda id: id in clips and is_there(places, clips[id].audio),
        begin=None if bench.dry else begin,
        keep=keep,
    )
    yield from intake.run(stream, total=total_of(place, source.options))
    problems = [*map(tidy, place.lost), *intake.problems]
    languages = list(intake.languages)
    looked = replace(found, probed=intake.probed, problems=problems, languages=languages)
    return replace(looked, written=intake.written, first=intake.kept)

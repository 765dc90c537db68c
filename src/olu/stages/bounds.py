"""Set the boundaries of words and phones by hand, and take them back. What an aligner found stays on record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olu.align.textgrid import decode, parse, to_alignment
from olu.align.textgrid_files import match, read_all
from olu.core.errors import ConfigError, CorpusError, WorkspaceError
from olu.core.files import Workspace, read_jsonl
from olu.core.told import Remedy, TextTable, Told
from olu.core.types import Alignment, Clip, Span
from olu.core.words import many
from olu.core.workspace_lock import appending
from olu.corpus import hand_bounds
from olu.corpus.corrections import new_batch, now, who_is
from olu.corpus.hand_bounds import Bound, HandBounds, checked
from olu.corpus.manifest import Corpus
from olu.stages.decide import check_known
from olu.stages.verbs.corpus import BoundsOptions

SHOWN = 5
ROW = {"id": str, "phones": list[Span]}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsSummary:
    by: str
    at: str
    batch: str  # what 'olu bounds WS --undo' takes back together
    ids: tuple[str, ...]  # clips whose boundaries lie elsewhere now
    unchanged: int
    refused: tuple[str, ...]  # which clip, and why
    unknown: tuple[str, ...]  # files of no clip

    def row(self, options: BoundsOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), "undone": False, **asdict(self)}

    def sentences(self, options: BoundsOptions) -> Iterator[Told]:
        other = f"; {self.unchanged} unchanged" if self.unchanged else ""
        yield f"Boundaries of {many(len(self.ids), 'clip')} set by {self.by}{other}."
        for lines, what in ((self.refused, "not taken"), (self.unknown, "of no clip here")):
            if lines:
                yield f"{len(lines)} {what}:"
                yield from (f"  {line}" for line in lines[:SHOWN])
            if len(lines) > SHOWN:
                yield f"  and {len(lines) - SHOWN} more: --json lists them all"
        if self.ids:
            yield f"Back again: {Remedy('bounds', (options.ws,), {'undo': True})}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsUndone:
    ids: tuple[str, ...]
    by: tuple[str, ...]  # who had set them

    def row(self, options: BoundsOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), "undone": True, **asdict(self)}

    def sentences(self, options: BoundsOptions) -> Iterator[Told]:
        if not self.ids:
            yield "Nothing to take back: no boundary was set so."
            return
        yield f"Taken back for {many(len(self.ids), 'clip')}: what {', '.join(self.by)} set."


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsList:
    """The clips with boundaries set by hand."""

    clips: tuple[dict[str, Any], ...]  # id, by, at, counts

    def sentences(self, options: BoundsOptions) -> Iterator[Told]:
        if not self.clips:
            yield "No boundary was set by hand yet."
            grids = Remedy("align", (options.ws,), {"textgrid": "grids"})
            yield f"To set some: {grids}, move them in Praat, then {Remedy('bounds', (options.ws, 'grids'))}"
            return
        rows = [[one["id"], one["by"], one["at"], "" if one["counts"] else "its text changed"] for one in self.clips]
        yield TextTable(["clip", "by", "at", ""], rows)


def run(options: BoundsOptions) -> BoundsSummary | BoundsUndone | BoundsList:
    """`olu bounds`"""
    ws = Workspace.open(options.ws)
    if options.undo:
        if options.file is not None:
            raise ConfigError("--undo takes back what was set last: give no FILE with it")
        return undo_bounds(ws, clip=options.clip, by=options.by)
    if options.clip is not None:
        raise ConfigError("--clip says whose boundaries --undo takes back: a FILE names its clips itself")
    if options.file is None:
        return _listed(ws)
    return set_from_file(ws, options.file, by=options.by)


def _listed(ws: Workspace) -> BoundsList:
    found = hand_bounds.found_alignments(ws)
    rows = (
        {"id": id, "by": one.by, "at": one.at, "counts": hand_bounds.counts(one, found.get(id))}
        for id, one in hand_bounds.in_force(ws).items()
    )
    return BoundsList(clips=tuple(rows))


def set_from_file(ws: Workspace, file: Path, *, by: str | None = None) -> BoundsSummary:
    """TextGrids, or JSON lines with an id and its phones; what does not fit its clip is told, and the rest taken."""
    bases = hand_bounds.read_alignments(ws)
    if not bases:
        raise WorkspaceError(f"{ws.root} is not aligned, so there are no boundaries to move: run 'olu align {ws.root}'")
    if not file.exists():
        raise CorpusError(f"{file} is not there: name TextGrids, a folder or archive of them, or JSON lines")
    refused: list[str] = []
    if file.suffix == ".jsonl":
        lost: list[WorkspaceError] = []
        rows = list(read_jsonl(file, shape=ROW, lost=lost))
        if lost:
            said = str(lost[0]).partition(": delete it")[0]
            raise CorpusError(f'{said}: a line is {{"id": ..., "phones": [[label, start, end], ...]}}')
        given = {str(row["id"]): [(one.label, one.start, one.end) for one in row["phones"]] for row in rows}
        unknown = [id for id in given if id not in bases]
    else:
        given, unknown = _grids(file, Corpus.open(ws).clips, refused)
    chosen: dict[str, Sequence[Bound]] = {id: phones for id, phones in given.items() if id in bases}
    refused += [
        f"clip {id} is not aligned: run 'olu align {ws.root}'"
        for id in given.keys() - bases.keys()
        if id not in unknown
    ]
    if not chosen and not refused:
        raise CorpusError(f"{file} names no clip of {ws.root}; the first is {unknown[0] if unknown else 'nothing'!r}")
    return _record(ws, bases, chosen, by=by, refused=refused, unknown=unknown)


def _grids(file: Path, clips: Sequence[Clip], refused: list[str]) -> tuple[dict[str, list[Bound]], list[str]]:
    """Clip id -> the phones of its TextGrid; and files of no clip."""
    data, seconds = read_all(file), {clip.id: clip.seconds for clip in clips}
    files, strangers = match(data, clips)
    given: dict[str, list[Bound]] = {}
    for id, name in files.items():
        try:
            grid = parse(decode(data[name], where=name), where=name)
            phones = to_alignment(grid, id=id, seconds=seconds[id], where=name).phones
            given[id] = [(span.label, span.start, span.end) for span in phones]
        except CorpusError as bad:
            refused.append(f"clip {id}: {bad}")
    return given, strangers


def set_bounds(
    ws: Workspace, base: Alignment, phones: Sequence[Bound], *, by: str | None = None, expect: str | None = None
) -> BoundsSummary:
    """One clip, which `base` is the alignment of. `expect`: the batch that was seen, "" for none."""
    with appending(ws):
        if expect is not None:
            now_held = hand_bounds.in_force(ws, ids=[base.id]).get(base.id)
            if now_held is not None and now_held.batch != expect:
                raise CorpusError(f"{now_held.by} has set other boundaries of clip {base.id} meanwhile: look again")
        done = _record(ws, {base.id: base}, {base.id: phones}, by=by, refused=[], unknown=[])
    if done.refused:
        raise CorpusError(done.refused[0])
    return done


def _record(
    ws: Workspace,
    bases: Mapping[str, Alignment],
    given: Mapping[str, Sequence[Bound]],
    *,
    by: str | None,
    refused: list[str],
    unknown: Sequence[str],
) -> BoundsSummary:
    who, at, batch = who_is(by), now(), new_batch()
    rows: list[HandBounds] = []
    for id, phones in given.items():
        try:
            words, kept = checked(bases[id], phones)
        except CorpusError as bad:
            refused.append(str(bad))
            continue
        if not _is_same(bases[id], kept):
            seconds = round(bases[id].seconds, 4)
            rows.append(HandBounds(id=id, seconds=seconds, words=words, phones=kept, by=who, at=at, batch=batch))
    hand_bounds.journal(ws).append(rows)
    ids = tuple(one.id for one in rows)
    unchanged = len(given) - len(ids) - sum(id in " ".join(refused) for id in given)
    return BoundsSummary(
        by=who, at=at, batch=batch, ids=ids, unchanged=max(0, unchanged), refused=tuple(refused), unknown=tuple(unknown)
    )


def _is_same(base: Alignment, phones: Sequence[Bound]) -> bool:
    if len(base.phones) != len(phones):
        return False
    return all(
        abs(span.end - end) < hand_bounds.SAME_SECONDS for span, (_, _, end) in zip(base.phones, phones, strict=True)
    )


def undo_bounds(ws: Workspace, *, clip: str | None = None, by: str | None = None) -> BoundsUndone:
    """Take the last batch back (`by`: the last of this person), or all that was set for one clip."""
    if clip is not None and not hand_bounds.load(ws, ids=[clip]):
        check_known(ws, [clip])
    gone = hand_bounds.take_back(ws, who=who_is(by), id=clip, by=by)
    return BoundsUndone(ids=tuple(dict.fromkeys(one.id for one in gone)), by=tuple(sorted({one.by for one in gone})))

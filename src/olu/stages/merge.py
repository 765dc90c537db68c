"""Take the clips of other workspaces into one; their recordings stay where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, read_jsonl, write_jsonl
from olu.core.job import Job, Tick
from olu.core.told import Remedy, some
from olu.core.words import many
from olu.core.workspace_lock import appending, writing
from olu.corpus import corrections, decisions, speakers
from olu.corpus.manifest import Corpus
from olu.corpus.merge_workspaces import Join, WorkspaceIndex
from olu.corpus.rights import of_sources, save_source
from olu.corpus.split import choose_sides
from olu.stages.import_ import STAGE
from olu.stages.merge_alignments import MergedAlignments
from olu.stages.verbs.corpus import MergeOptions

SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSummary:
    """What a merge did, and what the corpus holds after it."""

    added: dict[str, int]  # workspace -> clips
    already: int
    duplicates: tuple[str, ...]
    renamed: dict[str, dict[str, str]]  # workspace -> speaker there -> speaker here
    decisions: int
    corrections: int
    alignments: int
    texts: int  # clips without a text that got theirs
    moved: int  # clips of before that have another speaker now
    clips: int
    seconds: float
    speakers: tuple[str, ...]

    def row(self, options: MergeOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), **asdict(self), "next": f"olu audit {options.ws}"}

    def sentences(self, options: MergeOptions) -> Iterator[str]:
        for workspace, number in self.added.items():
            yield f"Added {number} clips of {workspace}."
        if not self.added:
            yield "Nothing new."
        if self.already:
            yield f"{self.already} clips were there already."
        for workspace, names in self.renamed.items():
            for there, here in names.items():
                yield f"The speaker {there} of {workspace} is {here} here."
        if self.decisions:
            yield f"{many(self.decisions, 'decision')} came along."
        if self.corrections:
            yield f"{many(self.corrections, 'corrected text')} came along."
        if self.alignments:
            yield f"{many(self.alignments, 'alignment')} came along."
        if self.texts:
            yield f"{self.texts} clips that had no text have one now."
        if self.moved:
            back = Remedy("speakers", (options.ws,), {"undo": True})
            yield f"{many(self.moved, 'clip')} of before changed speakers, as there; back again: {back}"
        if self.duplicates:
            yield f"Left out, since their sound is here already: {len(self.duplicates)}"
            yield from some(self.duplicates, most=SHOWN, more=f"see {options.ws / 'corpus' / 'duplicates.jsonl'}")
        speakers = ", ".join(self.speakers)
        yield f"The corpus has {self.clips} clips, {self.seconds / 3600:.2f} h; speakers: {speakers}."
        yield f"Next: {Remedy('audit', (options.ws,))}"


def run(options: MergeOptions) -> Job[MergeSummary]:
    """`olu merge`"""
    several = options.several_languages
    return merge(Workspace.open(options.ws), options.others, same_speakers=options.same_speakers, several=several)


def merge(
    ws: Workspace, others: Sequence[Path], *, same_speakers: bool = False, several: bool = False
) -> Job[MergeSummary]:
    """Look at all of them, then write, the manifest last. When nothing is new nothing is written.

    `several`: workspaces of other languages may come, whose clips keep theirs.
    """
    guests = _open(ws, others, several=several)
    with writing(ws):
        join = Join(WorkspaceIndex.of(ws), same_speakers=same_speakers)
        for done, guest in enumerate(guests, 1):
            join.take(WorkspaceIndex.of(guest))
            yield Tick(done, len(guests), str(guest.root))
        aligned = MergedAlignments.of(ws, join.ids)
        summary = _summary(join, aligned)
        _write_duplicates(ws, join)
        _keep_rights(ws, join, guests)
        if join.added or join.texts or STAGE.state(ws) != "fresh":
            _write(ws, join, cut=aligned.cut)
            asked = {"merge": [str(guest.root.resolve()) for guest in guests], "same_speakers": same_speakers}
            STAGE.stamp(ws, asked, asdict(summary))
        else:
            _write_decided(ws, join)
        aligned.write(ws)
        return summary


def _open(ws: Workspace, others: Sequence[Path], *, several: bool) -> list[Workspace]:
    """The other workspaces, each with its recordings in place, and in the same language where there are not to be
    several."""
    guests: list[Workspace] = []
    for path in others:
        guest = Workspace.open(path)
        if guest.root.resolve() == ws.root.resolve():
            raise WorkspaceError(f"{path} is the workspace itself: name others to merge into it")
        if guest.language != ws.language and not several:
            raise WorkspaceError(
                f"{path} is for {guest.language!r}, {ws.root} for {ws.language!r}: merge workspaces of one language, or"
                " add --several-languages"
            )
        Corpus.open(guest).check_sources()
        guests.append(guest)
    return guests


def _keep_rights(ws: Workspace, join: Join, guests: list[Workspace]) -> None:
    """Write what was said of the recordings that came along."""
    for guest in guests:
        shelf = WorkspaceIndex.of(guest)
        for name, rights in of_sources(guest, list(shelf.sources)).items():
            save_source(ws, join.names[shelf.root(name)], rights)


def _write_duplicates(ws: Workspace, join: Join) -> None:
    path = ws.corpus / "duplicates.jsonl"
    before = list(read_jsonl(path, shape={"workspace": str, "id": str}))
    known = {(row["workspace"], row["id"]): row for row in before}  # of earlier merges and of this one, each once
    rows = list((known | {(one.workspace, one.id): asdict(one) for one in join.duplicates}).values())
    if rows != before:
        write_jsonl(path, rows)


def _write(ws: Workspace, join: Join, *, cut: Mapping[str, Sequence[str]]) -> None:
    clips, (sources, files) = list(join.clips.values()), join.used()
    write_jsonl(ws.corpus / "files.jsonl", files)
    _write_decided(ws, join)
    Corpus.save(ws, clips, sources, choose_sides(ws, clips, cut=cut))


def _write_decided(ws: Workspace, join: Join) -> None:
    """Append decisions and corrections that came along, but for clips decided on here meanwhile."""
    with appending(ws):
        here = {(one.id, one.by) for one in decisions.load(ws)}
        decisions.record(ws, [one for one in join.came if (one.id, one.by) not in here])
        known, batch = corrections.in_force(ws), corrections.new_batch()
        corrections.add(ws, [replace(one, batch=batch) for one in join.corrected if one.id not in known])
        if join.moved:
            speakers.assign(ws, join.moved, by=speakers.MERGE)


def _summary(join: Join, aligned: MergedAlignments) -> MergeSummary:
    clips = join.clips.values()
    return MergeSummary(
        added=join.added,
        already=join.already,
        duplicates=tuple(map(str, join.duplicates)),
        renamed=join.renamed,
        decisions=len(join.came),
        corrections=len(join.corrected),
        alignments=len(aligned.found.keys() | aligned.hand.keys()),
        texts=join.texts,
        moved=len(join.moved),
        clips=len(clips),
        seconds=round(sum(clip.seconds for clip in clips), 3),
        speakers=tuple(sorted(set(map(join.speaker_of, clips)))),
    )

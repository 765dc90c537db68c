"""Take recordings and their texts into a workspace: locate, read, probe, plan, then write, the manifest last."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from olu.audio.media import is_recording
from olu.audit.summary import to_cut
from olu.core.errors import CorpusError, LanguageError
from olu.core.files import Workspace
from olu.core.job import Job
from olu.core.options import stamp, to_json
from olu.core.stage import Stage, State
from olu.core.told import Remedy, some, write_texts
from olu.core.types import Clip
from olu.core.words import first_names, length, many
from olu.core.workspace_lock import AFTER_WORK
from olu.corpus import doubts, readers
from olu.corpus.doubts import in_doubt
from olu.corpus.intake import apply
from olu.corpus.intake.first_clips import FIRST, write_first
from olu.corpus.intake.held import HeldCorpus
from olu.corpus.intake.place import ImportPlace, Workbench, stream_of
from olu.corpus.intake.plan import FoundSource, ImportPlan, look_around, name_source, plan_import
from olu.corpus.intake.probe import printable
from olu.corpus.intake.read import LocatedSource, locate, probe_source, probe_stream, read
from olu.corpus.manifest import Corpus, are_all_same, imported
from olu.corpus.readers import archive, huggingface, unusable
from olu.corpus.readers import columns as by_name
from olu.corpus.readers.rows import Timing
from olu.corpus.readers.texts import check_encoding
from olu.corpus.rights import Rights
from olu.stages.long_path import is_cold
from olu.stages.new import given_rights
from olu.stages.verbs.corpus import ImportOptions
from olu.text.languages import resolve
from olu.train.recipe import Recipe

SHOWN = 5
RIGHTS = ("licence", "consent", "agreed", "credits")
WITHOUT_DRY = "the same without --dry-run"
DRY = ("plan", "preview")  # of the summary: of a dry run alone
MOST_LISTED = 500  # of a preview
MET = "changed"  # in the stamp: recordings that stayed other ones than were imported, with size and date
ALONE = ("auto", "subtitles", "recordings")  # layouts that one recording can have
STRETCHES = (0.5, 2.0)


class _Import(Stage):
    def state(self, ws: Workspace) -> State:
        """Stale too when recordings are no longer what was imported, whatever else was stamped since."""
        state = super().state(ws)
        return "stale" if state == "fresh" and not are_all_same(ws) and Corpus.open(ws).changed() else state

    def did_all(self, ws: Workspace) -> bool:
        """Whether it is stale by nothing but recordings that the last import met as they are, and could not take."""
        stamp = ws.stamped(self.name)
        met = stamp["summary"].get(MET) if stamp else None
        if not isinstance(met, dict) or super().state(ws) != "fresh":
            return False
        return all(met.get(audio) == state for audio, state in Corpus.open(ws).changed_files().items())


STAGE = _Import(
    name="import", command="olu import {ws} SOURCE", folder="corpus", inputs=lambda ws, options: imported(ws)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedClips:
    """What a dry run shows: the ids of clips."""

    added: tuple[str, ...]
    changed: tuple[str, ...]  # another text, or the recording lies elsewhere
    replaced: tuple[str, ...]  # that give way to new ones
    left: tuple[str, ...]  # that came again and stay as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPreview:
    """What else a dry run shows, for a page: enough to hear and to judge, of large sources not all."""

    first: tuple[dict[str, Any], ...]  # of the first new clips: id, file in the source, start, seconds, text, speaker
    recordings: tuple[dict[str, Any], ...]  # file, and how many new clips and seconds it has
    problems: tuple[dict[str, str], ...]  # where, message, and the kind that `reasons` counts
    seconds: float  # of the new clips
    bytes: int  # that would be copied into the workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSummary:
    """What one import did, or would do, and what the corpus holds after it."""

    layout: str
    why: str
    added: int
    already: int
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]  # sentences on the corpus' texts that may be at wrong times, with the import that mends it
    mending: str  # the first of these imports
    fitting: str  # the same where a person says that they fit
    clips: int
    seconds: float
    speakers: tuple[str, ...]
    language: str
    reasons: dict[str, int] = field(default_factory=dict)  # why rows were skipped -> how many
    summed: str = ""  # the same in words
    examples: tuple[str, ...] = ()  # of the skipped ones, of each reason
    lost: str = ""  # a sentence where more than a tenth was skipped
    untranscribed: int = 0  # of the corpus' clips: nobody has written down what is said in them
    cold: bool = False  # it has long recordings, and no short clips to learn from
    plan: PlannedClips | None = None  # of a dry run
    preview: ImportPreview | None = None  # of a dry run

    def row(self, options: ImportOptions) -> dict[str, Any]:
        following = self.mending or str(self._following(options.ws))
        shown = {key: value for key, value in asdict(self).items() if key not in DRY or value is not None}
        return {"workspace": str(options.ws), **shown, "next": following if self.plan is None else WITHOUT_DRY}

    def sentences(self, options: ImportOptions) -> Iterator[str]:
        ws, dry = options.ws, self.plan is not None
        yield f"Layout {self.layout}: {self.why}."
        were = "was" if self.already == 1 else "were"
        already = f", {self.already} {were} there already" if self.already else ""
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        yield f"{'Would add' if dry else 'Added'} {many(self.added, 'clip')}{already}{skipped}."
        if self.plan is not None:
            for kind, ids in asdict(self.plan).items():
                named = first_names(ids, SHOWN)
                yield f"  {kind}: {len(ids)}{f' ({named})' if ids else ''}"
        clips = f"{many(self.clips, 'clip')}, {length(self.seconds)}, in {self.language}"
        yield f"The corpus {'would have' if dry else 'has'} {clips}; speakers: {', '.join(self.speakers)}."
        if self.untranscribed:
            have = "has no text and is" if self.untranscribed == 1 else "have no text and are"
            yield f"{self.untranscribed} of them {have} never trained on. To change that: {write_texts(ws)}"
        yield from self._left_out(ws)
        if self.plan is not None:
            yield f"Nothing was written. Next: {WITHOUT_DRY}"
            return
        audited = self._following(ws)
        if self.mending:
            yield f"Next: listen to a few clips; if it is so, {self.mending}"
            yield f"Else: {self.fitting}, then {audited}"
        else:
            yield f"Next: {audited}"

    def _following(self, ws: Path) -> Remedy:
        return Remedy("align" if self.cold else "audit", (ws,))

    def _left_out(self, ws: Path) -> Iterator[str]:
        """What was skipped, and what is strange of the rest."""
        all_of_them = "--json lists them all"
        if self.skipped:
            yield f"Skipped: {self.summed}."
            more = all_of_them if self.plan is not None else f"see {ws / 'corpus' / 'problems.jsonl'}"
            yield from some(self.examples, most=len(self.examples), of=len(self.skipped), more=more)
        if self.notes:
            yield "Notes:"
            yield from some(self.notes, most=SHOWN, more=all_of_them)
        yield from in_doubt(self.doubts)
        if self.lost:
            yield f"Much is lost: {self.lost}."


def run(options: ImportOptions) -> Job[ImportSummary]:
    """`olu import`"""
    ws = Workspace.open(options.ws)
    given = {name: getattr(options, name) for name in to_json(options) if name not in ("ws", *RIGHTS)}
    return import_source(ws, rights=given_rights({name: getattr(options, name) for name in RIGHTS}), **given)


def import_source(ws: Workspace, source: Path, *, rights: Rights | None = None, **given: Any) -> Job[ImportSummary]:
    """Add what is new in `source`. Its audio stays where it lies, unless `copy` or it comes out of an archive.

    `given`: what `ImportOptions` have beside. With `dry_run` the summary is the same, and nothing is written.
    """
    wish = ImportOptions(ws=ws.root, source=source, **given)
    options = _checked(wish)
    asked = stamp(wish) | ({"rights": asdict(rights)} if rights else {})
    with Workbench(ws, dry=wish.dry_run) as bench:
        if hub_id := huggingface.hub_id(source, layout=wish.layout):
            readers.check_use("huggingface", options)
            named = Path(f"{huggingface.HUB}{hub_id}")
            place = ImportPlace(named=named, files=named, hub_id=hub_id)
            named_so = {**asked, "source": str(named)}
            return (yield from _import(bench, place, options=options, asked=named_so, hear=wish.hear))
        if archive.is_archive(source):
            return (yield from _import_archive(bench, source, options=options, asked=asked, hear=wish.hear))
        place = ImportPlace(named=source, files=source.parent.resolve() if options.film else source.resolve())
        return (yield from _import(bench, place, options=options, asked=asked, hear=wish.hear))


def _checked(wish: ImportOptions) -> readers.Options:
    """What was said of the source, where it makes sense."""
    source = wish.source
    if wish.speaker is not None and not wish.speaker.strip():
        raise CorpusError("the speaker's name is empty: write --speaker NAME, or leave it out")
    if wish.hear is not None and not wish.dry_run:
        raise CorpusError("--hear writes the first clips of a look: add --dry-run, or leave it out")
    readers.check(wish.layout)
    if wish.root is not None and not wish.root.is_dir():
        raise CorpusError(f"--root {wish.root} is not a folder: name the one that absolute paths may lead into")
    same = {name: getattr(wish, name) for name in ("config", "split", "encoding", "shift", "stretch", "in_sync")}
    options = readers.Options(
        columns=by_name.parse(wish.columns),
        root=wish.root.resolve() if wish.root else None,
        subtitles=wish.subtitles.resolve() if wish.subtitles else None,
        film=source.name if is_recording(source.name) and source.is_file() else None,
        **same,
    )
    check_encoding(wish.encoding)
    _check_times(wish.shift, wish.stretch)
    if wish.subtitles is not None and not wish.subtitles.is_file():
        raise CorpusError(f"--subtitles {wish.subtitles} is not there: check the path")
    if options.film and wish.layout not in ALONE:
        raise CorpusError(f"{source} is a file: the layout {wish.layout!r} needs the folder that holds the recordings")
    return options


def _check_times(shift: float | None, stretch: float | None) -> None:
    low, high = STRETCHES
    if shift is not None and not math.isfinite(shift):
        raise CorpusError(f"--shift {shift} is no number of seconds: write one such as 1.5 or -0.8")
    if stretch is not None and not low <= stretch <= high:
        raise CorpusError(f"--stretch {stretch} is no factor for times: write one from {low} to {high}, such as 1.0427")


def _import_archive(
    bench: Workbench, source: Path, *, options: readers.Options, asked: dict[str, Any], hear: Path | None
) -> Job[ImportSummary]:
    if options.root is not None:
        raise CorpusError(
            f"{source} is an archive, where nothing lies outside: leave --root out, or unpack it yourself"
        )
    bench.claim()
    place = ImportPlace(named=source, files=bench.folder("unpacked"), unpacked=True)
    try:
        lost = yield from archive.unpack(source, into=place.files)
        place = replace(place, files=archive.inner(place.files), lost=tuple(lost))
        return (yield from _import(bench, place, options=options, asked=asked, hear=hear))
    except CorpusError as bad:
        raise CorpusError(place.said(str(bad))) from None


def _notes(ws: Workspace, found: FoundSource, plan: ImportPlan) -> tuple[str, ...]:
    """What else a person should know of an import."""
    languages = (note for said in found.languages for note in _other_language(said, ws))
    again = (one.again for one in found.doubts if isinstance(one, Timing) and one.again)
    return (*languages, *_long(plan, ws), *again, *found.notes)


def _import(
    bench: Workbench, place: ImportPlace, *, options: readers.Options, asked: dict[str, Any], hear: Path | None
) -> Job[ImportSummary]:
    source = locate(place, options, asked)
    stream = stream_of(place, source.layout, source.options)
    if stream is None:
        bench.check_claim()
        found = yield from probe_source((yield from read(bench, source)))
        bench.claim(patience=AFTER_WORK)
        held = HeldCorpus.of(bench.ws)
    else:
        bench.claim()
        held = HeldCorpus.of(bench.ws)
        found = yield from probe_stream(bench, source, held, stream, keep=FIRST if hear else 0)
    named = name_source(held, found)
    plan = plan_import(held, found, named, look_around(held, found, named), speaker=asked["speaker"])
    apply.remove_unused(bench.ws, plan)
    if plan.is_empty and plan.problems:
        raise unusable(source.shown, plan.problems)
    if plan.is_empty:
        raise CorpusError(f"{source.shown} has no rows: name another dataset")
    notes = _notes(bench.ws, found, plan)
    kept = _doubts(bench.ws, plan, asked)
    if bench.dry:
        new, changed = tuple(plan.merge.new), plan.changed
        planned = PlannedClips(added=new, changed=changed, replaced=plan.gone, left=plan.left)
        summary = _summary(plan, source, notes=notes, kept=kept, corpus=plan.corpus())
        return replace(summary, plan=planned, preview=_preview(plan, hear))
    anew = bool(plan.is_new or held.lost) or STAGE.state(bench.ws) != "fresh"  # else no later stage shall look stale
    yield from apply.apply_plan(bench, plan, asked=asked, kept=kept, anew=anew)
    corpus = Corpus.open(bench.ws)
    summary = _summary(plan, source, notes=notes, kept=kept, corpus=corpus)
    if plan.is_new or STAGE.state(bench.ws) != "fresh":
        STAGE.stamp(bench.ws, asked, {**asdict(summary), MET: corpus.changed_files()})
    return summary


def _preview(plan: ImportPlan, hear: Path | None) -> ImportPreview:
    clips = [plan.merge.clips[id] for id in plan.merge.new]
    first = clips[:FIRST]
    if hear is not None:
        write_first(plan.found, first, hear)
    shown = {row.audio: row.shown for row, _ in plan.found.probed}  # of what is decoded: the film

    def file(clip: Clip) -> str:
        inside = clip.audio.partition("/")[2]
        return shown.get(inside, inside)

    held: dict[str, dict[str, Any]] = {}
    for clip in clips:
        row = held.setdefault(clip.audio, {"file": file(clip), "clips": 0, "seconds": 0.0})
        row["clips"] += 1
        row["seconds"] = round(row["seconds"] + clip.seconds, 3)
    rows = (
        {
            "id": clip.id,
            "file": file(clip),
            "start": clip.start,
            "seconds": clip.seconds,
            "text": clip.text,
            "speaker": clip.speaker,
        }
        for clip in first
    )
    problems = ({"where": one.where, "message": one.message, "kind": one.why.name.lower()} for one in plan.problems)
    sizes = (plan.merge.fresh[audio].bytes for audio in plan.copies)
    return ImportPreview(
        first=tuple(rows),
        recordings=tuple(held.values())[:MOST_LISTED],
        problems=tuple(problems)[:MOST_LISTED],
        seconds=round(sum(clip.seconds for clip in clips), 3),
        bytes=sum(sizes),
    )


def _doubts(ws: Workspace, plan: ImportPlan, asked: dict[str, Any]) -> list[doubts.Standing]:
    """All that is doubtful of the corpus' texts after it."""
    before = doubts.load(ws)
    if plan.found.layout.name != "subtitles":
        return before
    given = [word for key in ("subtitles", "speaker") if asked[key] for word in (f"--{key}", asked[key])]
    found = plan.standing(source=Path(asked["source"]), options=[*given, *(["--copy"] if asked["copy"] else [])])
    return doubts.renewed(before, seen=plan.merge.seen, found=found)


def _summary(
    plan: ImportPlan, source: LocatedSource, *, notes: Sequence[str], kept: list[doubts.Standing], corpus: Corpus
) -> ImportSummary:
    """What an import comes to; `corpus`: as it is after it, or would be."""
    ws, merge, skipped = corpus.ws, plan.merge, plan.tally()
    standing = doubts.standing(ws, corpus, doubts=kept)
    standing.sort(key=lambda one: one.audio not in merge.seen)  # those of this import first
    mended = next((one for one in standing if one.mending(ws)), None)
    name, home = plan.named.name, plan.named.home
    return ImportSummary(
        layout=source.layout.name,
        why=source.why,
        added=merge.added,
        already=merge.already,
        skipped=tuple(map(str, plan.problems)),
        reasons=skipped.reasons,
        summed=skipped.told,
        examples=skipped.examples,
        lost=skipped.lost,
        notes=(
            *notes,
            *plan.held.found_again(name, home),
            *merge.all_notes(),
            *plan.held.notes(name=name),
            *corpus.changed(imported=True),
        ),
        doubts=tuple(one.sentence(ws) for one in standing),
        mending=mended.mending(ws) if mended else "",
        fitting=mended.fitting(ws) if mended else "",
        clips=len(merge.clips),
        seconds=round(sum(clip.seconds for clip in merge.clips.values()), 3),
        speakers=tuple(corpus.speakers),
        language=ws.language,
        untranscribed=sum(not clip.transcribed for clip in corpus),
        cold=is_cold(corpus),
    )


def doubts_of(ws: Workspace) -> list[str]:
    """Sentences on the texts that are in doubt now."""
    return [one.sentence(ws) for one in doubts.standing(ws)]


def _long(plan: ImportPlan, ws: Workspace) -> tuple[str, ...]:
    """A sentence on new clips that training would leave out for their length."""
    most, clips = Recipe().data.max_seconds, plan.merge.clips
    new = [clips[id] for id in plan.merge.new if id in clips and clips[id].transcribed and clips[id].seconds > most]
    said = to_cut(new, most=most, place=str(ws.root))
    return (said,) if said else ()


def _other_language(said: str | None, ws: Workspace) -> tuple[str, ...]:
    """What a source says of its language, where that is not the workspace's."""
    if said is None:
        return ()
    said = printable(said)
    try:
        code = resolve(said)
    except LanguageError:
        code = said
    other = f"the source says its language is {said!r}, this workspace is for {ws.language!r}"
    return () if code == ws.language else (f"{other}: check that it is the right one",)

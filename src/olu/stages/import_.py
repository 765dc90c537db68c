"""Take recordings and their texts into a workspace: look at everything, then write, the manifest last."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from olu.audio.media import is_media
from olu.audit.verdict import to_cut
from olu.core.errors import CorpusError, LanguageError
from olu.core.files import Workspace
from olu.core.stage import Stage, State
from olu.core.types import Tick, Work
from olu.core.workspace_lock import AFTER_WORK, writing
from olu.corpus import readers
from olu.corpus.corrections import in_force
from olu.corpus.doubts import standing
from olu.corpus.intake.check_rows import printable, sift, tidy
from olu.corpus.intake.existing import Before
from olu.corpus.intake.merge import Merge
from olu.corpus.intake.stream import Intake
from olu.corpus.manifest import Corpus, are_all_same, imported
from olu.corpus.readers import archive, huggingface
from olu.corpus.readers import columns as by_name
from olu.corpus.readers.rows import Doubt, Problem, Row, Timing
from olu.corpus.readers.texts import check_encoding
from olu.corpus.rights import Rights, moved_rights, save_source
from olu.corpus.sources import Source
from olu.stages import film
from olu.stages.import_files import copy_in, probed_in, unusable, write_corpus, write_origins, write_problems
from olu.stages.import_place import ImportPlace, room_to_unpack, stream_of, total_of
from olu.stages.import_tally import tally
from olu.text.languages import resolve
from olu.train.recipe import Recipe

MET = "changed"  # in the stamp: recordings that stayed other ones than were imported, with size and date


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
class ImportSummary:
    """What one import did, and what the corpus holds after it."""

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


def import_source(
    ws: Workspace,
    source: Path,
    *,
    layout: str = "auto",
    speaker: str | None = None,
    copy: bool = False,
    columns: str | None = None,
    root: Path | None = None,
    config: str | None = None,
    split: str | None = None,
    subtitles: Path | None = None,
    shift: float | None = None,
    encoding: str | None = None,
    stretch: float | None = None,
    in_sync: bool = False,
    rights: Rights | None = None,
) -> Work[ImportSummary]:
    """Add what is new in `source`. Its audio stays where it lies, unless `copy` or it comes out of an archive."""
    if speaker is not None and not speaker.strip():
        raise CorpusError("the speaker's name is empty: write --speaker NAME, or leave it out")
    readers.check(layout)
    if root is not None and not root.is_dir():
        raise CorpusError(f"--root {root} is not a folder: name the one that absolute paths may lead into")
    options = readers.Options(columns=by_name.parse(columns), root=root.resolve() if root else None)
    check_encoding(encoding)
    options = replace(options, config=config, split=split, encoding=encoding)
    asked: dict[str, Any] = {"source": str(source.resolve()), "layout": layout, "speaker": speaker, "copy": copy}
    asked |= {"columns": columns, "root": str(root.resolve()) if root else None}
    asked |= {"config": config, "split": split, "encoding": encoding}
    asked |= {"subtitles": str(subtitles.resolve()) if subtitles else None, "shift": shift}
    asked |= {"stretch": stretch, "in_sync": in_sync}
    asked |= {"rights": asdict(rights)} if rights else {}
    options = replace(options, shift=shift, stretch=stretch, in_sync=in_sync)
    options = film.options(source, layout=layout, options=options, subtitles=subtitles)
    if hub_id := huggingface.hub_id(source, layout=layout):
        readers.check_use("huggingface", options)
        named = Path(f"{huggingface.HUB}{hub_id}")
        place = ImportPlace(named=named, files=named, hub_id=hub_id)
        return (yield from _import(ws, place, options=options, asked={**asked, "source": str(named)}))
    if not archive.is_archive(source):
        place = ImportPlace(named=source, files=source.parent.resolve() if options.film else source.resolve())
        return (yield from _import(ws, place, options=options, asked=asked))
    if root is not None:
        raise CorpusError(
            f"{source} is an archive, where nothing lies outside: leave --root out, or unpack it yourself"
        )
    with writing(ws):
        return (yield from _import_archive(ws, source, options=options, asked=asked))


def _import_archive(
    ws: Workspace, source: Path, *, options: readers.Options, asked: dict[str, Any]
) -> Work[ImportSummary]:
    with room_to_unpack(ws) as unpacked:
        place = ImportPlace(named=source, files=unpacked, unpacked=True)
        try:
            lost = yield from archive.unpack(source, into=place.files)
            place = replace(place, files=archive.inner(place.files), lost=tuple(lost))
            return (yield from _import(ws, place, options=options, asked=asked))
        except CorpusError as bad:
            raise CorpusError(place.said(str(bad))) from None


def _import(
    ws: Workspace, place: ImportPlace, *, options: readers.Options, asked: dict[str, Any]
) -> Work[ImportSummary]:
    with ExitStack() as claims:
        return (yield from _import_files(ws, place, options=options, asked=asked, claims=claims))


def _import_files(
    ws: Workspace, place: ImportPlace, *, options: readers.Options, asked: dict[str, Any], claims: ExitStack
) -> Work[ImportSummary]:
    source, speaker = place.files if place.unpacked or options.film else place.named, asked["speaker"]
    if place.hub_id:
        chosen, why = readers.LAYOUTS["huggingface"], f"{place.hub_id} is a dataset on the hub"
    else:
        chosen, why = readers.choose(source, layout=asked["layout"], options=options)
    stream = stream_of(place, chosen, options)
    if stream is not None or chosen.to_decode(place.files, options):  # sound is written into the workspace from here on
        claims.enter_context(writing(ws))
        claims.callback(film.clear, ws)
    else:
        with writing(ws):  # where another command holds it for long, that is said before the work
            pass
    options, lost = yield from film.take_out(ws, chosen, place.files, options)
    root = options.root or options.sounds or place.files
    for path in (root, place.files):
        if printable(str(path)) != str(path):
            raise CorpusError(f"the path {printable(str(path))} is not valid UTF-8: rename the folder")
    notes: list[str] = []
    doubtful: list[Doubt | Timing] = []
    if chosen.name == "subtitles":
        options = film.remembered(ws, options)
    coming = chosen.read(place.files, options, notes=notes, doubts=doubtful)
    rows, found = sift(coming, root=root) if stream is None else ([], [])
    if media := [row for row in rows if is_media(row.audio)]:  # with a text beside them or in a table
        claims.enter_context(writing(ws))
        claims.callback(film.clear, ws)
        notes.append(_decoded(len(media), len(rows)))
        rows, options, more = yield from film.take_out_rows(ws, rows, root=root, options=options)
        lost, root = [*lost, *more], options.sounds or root
    copy = asked["copy"] or place.unpacked or stream is not None or options.sounds is not None
    problems = [tidy(problem) for problem in (*place.lost, *lost)] + found
    if not rows and stream is None:
        raise unusable(source, problems)

    probed = []
    for done, one in enumerate(probed_in(root, rows), 1):
        probed.append(one)
        yield Tick(done, len(rows), one[0].audio)
    claims.enter_context(writing(ws, patience=AFTER_WORK))
    before = Before.of(ws)
    own = options.root or place.files
    origin = place.named.resolve() if place.unpacked else own if options.sounds else root
    said = [chosen.language(place.files)]
    here = {row.audio: facts.sha256 for row, facts in probed if not isinstance(facts, Problem)}
    known_as = before.known_as(origin, (row.audio for row in rows)) if "film" in chosen.takes else {}
    owner = _owner(known_as, rows)
    name = owner or before.name(origin, copy=copy, here=here)
    home = before.sources[owner].root if owner else f"corpus/audio/{name}" if copy else str(root)
    places = {**{s.name: ws.root / s.root for s in before.sources.values()}, name: ws.root / home}
    merge = Merge(before.clips, places=places, corrected=in_force(ws), known_as=known_as)
    joined = 0
    for row, facts in probed:
        if isinstance(facts, Problem):
            merge.problems.append(facts)
        else:
            merge.take(row, facts, source=name, language=ws.language, speaker=speaker)
            joined += row.read - 1
    merge.settle(complete=chosen.complete)
    copied = {one.name for one in before.sources.values() if not Path(one.root).is_absolute()} - {name}
    copied |= set() if Path(home).is_absolute() else {name}
    here_now = {audio: facts for audio, (facts, _) in merge.seen.items() if _source_of(audio) in copied}
    other = {audio: facts for audio, facts in here_now.items() if facts.is_other(_at(places, audio))}
    merge.fresh = {**other, **merge.fresh}  # a copy that was changed is made anew
    if stream is not None:
        into = (ws.root / home).resolve()
        intake = Intake(merge, home=into, source=name, language=ws.language, speaker=speaker)
        begin = partial(write_origins, ws, {**before.origins, name: str(origin)})
        yield from intake.run(stream, total=total_of(place, options), begin=begin)
        problems += intake.problems
        said = list(intake.languages)
    problems += (tidy(problem) for problem in merge.problems)
    problems = [replace(problem, message=place.said(problem.message)) for problem in problems]
    if not merge.added + merge.already:
        raise (unusable(source, problems) if problems else CorpusError(f"{source} has no rows: name another dataset"))

    if stream is None:
        origins = before.origins if owner or not copy else {**before.origins, name: str(origin)}
        move = place.unpacked or options.sounds is not None
        fresh = [audio for audio in merge.fresh if _source_of(audio) in copied]
        yield from copy_in(ws, root, fresh=fresh, merge=merge, origins=origins, move=move)
    sources = _sources(before, merge, Source(name=name, root=home, layout=chosen.name))
    is_new = merge.fresh or sources != before.sources
    write_problems(ws, problems, source=asked["source"], anew=bool(merge.fresh))
    if is_new or before.lost or STAGE.state(ws) != "fresh":  # else no later stage shall look stale
        write_corpus(ws, before, merge=merge, sources=list(sources.values()))
    film.remember(ws, options)
    film.keep_doubts(ws, doubtful, name=name, layout=chosen, merge=merge, place=place, asked=asked)
    for taken in sorted({name, *map(_source_of, merge.seen)}):
        save_source(ws, taken, Rights(**asked.get("rights", {})).over(moved_rights(ws, merge.moved_from)))

    clips = list(merge.clips.values())
    corpus = Corpus.open(ws)
    doubts = sorted(standing(ws, corpus), key=lambda one: one.audio not in merge.seen)  # those of this import first
    mended = next((one for one in doubts if one.mending(ws)), None)
    skipped = tally(problems, merge, joined=joined)
    summary = ImportSummary(
        layout=chosen.name,
        why=f"{place.named.name} unpacked: {why}" if place.unpacked else why,
        added=merge.added,
        already=merge.already,
        skipped=tuple(str(problem) for problem in problems),
        reasons=skipped.reasons,
        summed=skipped.told,
        examples=skipped.examples,
        lost=skipped.lost,
        notes=(
            *(note for one in said for note in _other_language(one, ws)),
            *_long(merge, ws),
            *(one.again for one in doubtful if isinstance(one, Timing) and one.again),
            *notes,
            *before.found_again(name, home),
            *merge.all_notes(),
            *before.notes(name=name),
            *corpus.changed(imported=True),
        ),
        doubts=tuple(one.sentence(ws) for one in doubts),
        mending=mended.mending(ws) if mended else "",
        fitting=mended.fitting(ws) if mended else "",
        clips=len(clips),
        seconds=round(sum(clip.seconds for clip in clips), 3),
        speakers=tuple(sorted({clip.speaker for clip in clips})),
        language=ws.language,
        untranscribed=sum(not clip.transcribed for clip in corpus),
    )
    if is_new or STAGE.state(ws) != "fresh":
        STAGE.stamp(ws, asked, {**asdict(summary), MET: corpus.changed_files()})
    return summary


def _sources(before: Before, merge: Merge, source: Source) -> dict[str, Source]:
    """Those that clips lie in: one that gave none is asked for by nobody."""
    used = {clip.audio.partition("/")[0] for clip in merge.clips.values()}
    known = dict(before.sources)
    if merge.fresh or source.name not in known or known[source.name].root != source.root:
        known[source.name] = source
    return {name: one for name, one in known.items() if name in used}


def _decoded(media: int, rows: int) -> str:
    """Why recordings that were imported from a folder lie in the workspace now."""
    which = "it was copied" if rows == 1 else f"all {rows} were copied"
    return f"{media} of {rows} rows have sound that must be decoded (m4a and the like): {which} into the workspace"


def _long(merge: Merge, ws: Workspace) -> tuple[str, ...]:
    """On new clips that training would leave out for their length."""
    most = Recipe().data.max_seconds
    new = [clip for id in merge.new if (clip := merge.clips.get(id)) and clip.transcribed and clip.seconds > most]
    said = to_cut(new, most=most, place=str(ws.root))
    return (said,) if said else ()


def _source_of(audio: str) -> str:
    return audio.partition("/")[0]


def _owner(known_as: Mapping[str, str], rows: list[Row]) -> str:
    """The one source that has all of these recordings already, or nothing."""
    owners = {_source_of(known_as.get(row.audio, "")) for row in rows}
    return owners.pop() if len(owners) == 1 else ""


def _at(places: dict[str, Path], audio: str) -> Path:
    name, _, inside = audio.partition("/")
    return places[name] / inside


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

"""Take recordings and their texts into a workspace: look at everything, then write, the manifest last."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from olu.corpus import readers
from olu.corpus.before import Before
from olu.corpus.claim import AFTER_WORK, writing
from olu.corpus.examples import Intake
from olu.corpus.manifest import Corpus, Source, are_all_same, fingerprint
from olu.corpus.merge import Facts, Merge, printable, probe, sift, tidy
from olu.corpus.readers import archive, hub, huggingface, shards
from olu.corpus.readers import columns as by_name
from olu.corpus.readers.huggingface import Example
from olu.corpus.readers.rows import Problem, Row, look
from olu.corpus.readers.shelf import LOOKED_IN
from olu.corpus.rights import Rights, save_source
from olu.errors import CorpusError, LanguageError
from olu.files import Workspace, read_jsonl, whole, write_json, write_jsonl
from olu.stages import film
from olu.stages.split import choose_sides
from olu.stages.stage import Stage, State
from olu.text.languages import resolve
from olu.types import Tick, Work

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
    name="import", command="olu import {ws} SOURCE", folder="corpus", inputs=lambda ws, options: fingerprint(ws)
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
    clips: int
    seconds: float
    speakers: tuple[str, ...]
    language: str
    untranscribed: int = 0  # of the corpus' clips: nobody has written down what is said in them


@dataclass(frozen=True, slots=True)
class _Place:
    """Where what was named lies now: itself, or what was unpacked from it."""

    named: Path  # for messages and to know it again
    files: Path  # resolved
    unpacked: bool = False
    lost: tuple[Problem, ...] = ()
    hub_id: str | None = None

    def said(self, text: str) -> str:
        return text.replace(str(self.files), str(self.named)) if self.unpacked else text


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
    rights: Rights | None = None,
) -> Work[ImportSummary]:
    """Add what is new in `source`. Its audio stays where it lies, unless `copy` or it comes out of an archive."""
    if speaker is not None and not speaker.strip():
        raise CorpusError("the speaker's name is empty: write --speaker NAME, or leave it out")
    readers.check(layout)
    if root is not None and not root.is_dir():
        raise CorpusError(f"--root {root} is not a folder: name the one that absolute paths may lead into")
    options = readers.Options(columns=by_name.parse(columns), root=root.resolve() if root else None)
    options = replace(options, config=config, split=split)
    asked: dict[str, Any] = {"source": str(source.resolve()), "layout": layout, "speaker": speaker, "copy": copy}
    asked |= {"columns": columns, "root": str(root.resolve()) if root else None}
    asked |= {"config": config, "split": split}
    asked |= {"subtitles": str(subtitles.resolve()) if subtitles else None, "shift": shift}
    asked |= {"rights": asdict(rights)} if rights else {}
    options = film.options(source, layout=layout, options=options, subtitles=subtitles, shift=shift)
    if hub_id := huggingface.hub_id(source, layout=layout):
        readers.check_use("huggingface", options)
        named = Path(f"{huggingface.HUB}{hub_id}")
        place = _Place(named=named, files=named, hub_id=hub_id)
        return (yield from _import(ws, place, options=options, asked={**asked, "source": str(named)}))
    if not archive.is_archive(source):
        place = _Place(named=source, files=source.parent.resolve() if options.film else source.resolve())
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
    unpacked = ws.corpus / "audio" / ".unpacked.partial"
    shutil.rmtree(unpacked, ignore_errors=True)  # of an import that was killed
    place = _Place(named=source, files=unpacked.resolve(), unpacked=True)
    try:
        lost = yield from archive.unpack(source, into=place.files)
        place = replace(place, files=archive.inner(place.files), lost=tuple(lost))
        return (yield from _import(ws, place, options=options, asked=asked))
    except CorpusError as bad:
        raise CorpusError(place.said(str(bad))) from None
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
        for empty in (unpacked.parent, ws.corpus):
            with suppress(OSError):
                empty.rmdir()


def _import(ws: Workspace, place: _Place, *, options: readers.Options, asked: dict[str, Any]) -> Work[ImportSummary]:
    with ExitStack() as claims:
        return (yield from _import_files(ws, place, options=options, asked=asked, claims=claims))


def _import_files(
    ws: Workspace, place: _Place, *, options: readers.Options, asked: dict[str, Any], claims: ExitStack
) -> Work[ImportSummary]:
    source, speaker = place.files if place.unpacked or options.film else place.named, asked["speaker"]
    if place.hub_id:
        chosen, why = readers.LAYOUTS["huggingface"], f"{place.hub_id} is a dataset on the hub"
    else:
        chosen, why = readers.choose(source, layout=asked["layout"], options=options)
    stream = _stream(place, chosen, options)
    if stream is not None or chosen.to_decode(place.files, options):  # sound is written into the workspace from here on
        claims.enter_context(writing(ws))
        claims.callback(film.clear, ws)
    else:
        with writing(ws):  # where another command holds it for long, that is said before the work
            pass
    options, lost = yield from film.take_out(ws, chosen, place.files, options)
    copy = asked["copy"] or place.unpacked or stream is not None or options.sounds is not None
    root = options.root or options.sounds or place.files
    for path in (root, place.files):
        if printable(str(path)) != str(path):
            raise CorpusError(f"the path {printable(str(path))} is not valid UTF-8: rename the folder")
    notes: list[str] = []
    coming = chosen.read(place.files, options, notes=notes)
    rows, found = sift(coming, root=root) if stream is None else ([], [])
    problems = [tidy(problem) for problem in (*place.lost, *lost)] + found
    if not rows and stream is None:
        raise _nothing(source, problems)

    probed = []
    for done, one in enumerate(_probed(root, rows), 1):
        probed.append(one)
        yield Tick(done, len(rows), one[0].audio)
    claims.enter_context(writing(ws, patience=AFTER_WORK))
    before = Before.of(ws)
    origin = place.named.resolve() if place.unpacked else place.files if options.sounds else root
    said = [chosen.language(place.files)]
    name = before.name(origin, copy=copy)
    home = f"corpus/audio/{name}" if copy else str(root)
    places = {name: ws.root / home, **{s.name: ws.root / s.root for s in before.sources.values()}}
    merge = Merge(before.clips, places=places)
    for row, facts in probed:
        if isinstance(facts, Problem):
            merge.problems.append(facts)
        else:
            merge.take(row, facts, source=name, language=ws.language, speaker=speaker)
    merge.settle(complete=chosen.complete)
    if copy:  # a copy that was changed is made anew
        other = {audio: facts for audio, (facts, _) in merge.seen.items() if facts.is_other(_at(places, audio))}
        merge.fresh = {**other, **merge.fresh}
    if stream is not None:
        into = (ws.root / home).resolve()
        intake = Intake(merge, home=into, source=name, language=ws.language, speaker=speaker)
        begin = partial(_write_origins, ws, {**before.origins, name: str(origin)})
        yield from intake.run(stream, total=_total(place, options), begin=begin)
        problems += intake.problems
        said = list(intake.languages)
    problems += (tidy(problem) for problem in merge.problems)
    problems = [replace(problem, message=place.said(problem.message)) for problem in problems]
    if not merge.added + merge.already:
        raise _nothing(source, problems) if problems else CorpusError(f"{source} has no rows: name another dataset")

    if copy and stream is None:
        origins = {**before.origins, name: str(origin)}
        move = place.unpacked or options.sounds is not None
        yield from _copy(ws, root, name=name, merge=merge, origins=origins, move=move)
    sources = dict(before.sources)
    if merge.fresh or (name not in sources and any(c.audio.startswith(f"{name}/") for c in merge.clips.values())):
        sources[name] = Source(name=name, root=home, layout=chosen.name)
    _write(ws, before, merge=merge, sources=list(sources.values()), problems=problems, source=asked["source"])
    film.remember(ws, options)
    save_source(ws, name, Rights(**asked.get("rights", {})))

    clips = list(merge.clips.values())
    corpus = Corpus.open(ws)
    summary = ImportSummary(
        layout=chosen.name,
        why=f"{place.named.name} unpacked: {why}" if place.unpacked else why,
        added=merge.added,
        already=merge.already,
        skipped=tuple(str(problem) for problem in problems),
        notes=(
            *(note for one in said for note in _other_language(one, ws)),
            *notes,
            *merge.all_notes(),
            *before.notes(name=name),
            *corpus.changed(imported=True),
        ),
        clips=len(clips),
        seconds=round(sum(clip.seconds for clip in clips), 3),
        speakers=tuple(sorted({clip.speaker for clip in clips})),
        language=ws.language,
        untranscribed=sum(not clip.transcribed for clip in clips),
    )
    if merge.fresh or STAGE.state(ws) != "fresh":
        STAGE.stamp(ws, asked, {**asdict(summary), MET: corpus.changed_files()})
    return summary


def _stream(place: _Place, chosen: readers.Layout, options: readers.Options) -> Iterator[Example | Problem] | None:
    """The examples of a dataset whose sound lies inside other files or on the hub; none for one of plain files."""
    if place.hub_id:
        return hub.examples(place.hub_id, **options.given())
    if chosen.name == "huggingface" and huggingface.is_streamed(look(place.files)):
        return shards.examples(place.files, **options.given())
    return None


def _total(place: _Place, options: readers.Options) -> int:
    return 0 if place.hub_id else shards.count(place.files, config=options.config, split=options.split)


def _at(places: dict[str, Path], audio: str) -> Path:
    name, _, inside = audio.partition("/")
    return places[name] / inside


def _write_origins(ws: Workspace, origins: dict[str, str]) -> None:
    write_json(ws.corpus / "audio" / "origins.json", origins)


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


def _probed(root: Path, rows: list[Row]) -> Iterator[tuple[Row, Facts | Problem]]:
    """Every row with what was found, in order; each file is read once, and several at a time."""
    first = {row.audio: row for row in reversed(rows)}
    files = [row for row in rows if first[row.audio] is row]
    found: dict[str, Facts | Problem] = {}
    pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))
    try:
        coming = pool.map(partial(probe, root), files)
        for row in rows:
            if row.audio not in found:
                found[row.audio] = next(coming)
            facts = found[row.audio]
            yield row, replace(facts, where=row.where) if isinstance(facts, Problem) else facts
    finally:
        pool.shutdown(cancel_futures=True)


def _nothing(source: Path, problems: list[Problem]) -> CorpusError:
    """One sentence on why a source gave no clip."""
    missing = [problem for problem in problems if problem.missing]
    if not problems:
        return readers.refusal(source)
    if len(missing) == len(problems):
        number = f"{len(missing)} recordings" if len(missing) > 1 else "one recording"
        return CorpusError(
            f"{source} has metadata for {number} but no audio for any: the first, {missing[0].missing!r}"
            f" ({missing[0].where}), is not in {LOOKED_IN}; put the audio there"
        )
    number = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    return CorpusError(f"nothing in {source} can be used ({number}); the first is {problems[0]}")


def _copy(ws: Workspace, root: Path, *, name: str, merge: Merge, origins: dict[str, str], move: bool) -> Iterator[Tick]:
    if not merge.fresh:
        return
    _write_origins(ws, origins)
    for done, audio in enumerate(merge.fresh, 1):
        inside = audio.partition("/")[2]
        with whole(ws.corpus / "audio" / name / inside) as part:
            if move:
                (root / inside).rename(part)
            else:
                shutil.copyfile(root / inside, part)
            mtime_ns = merge.fresh[audio].mtime_ns
            os.utime(part, ns=(mtime_ns, mtime_ns))
        yield Tick(done, len(merge.fresh), f"copying {inside}")


def _write(
    ws: Workspace, before: Before, *, merge: Merge, sources: list[Source], problems: list[Problem], source: str
) -> None:
    """What was found. When nothing is new nothing is written, so that no later stage looks stale."""
    shown = [{"source": source, "where": p.where, "problem": p.message} for p in problems]
    if merge.fresh or shown != list(read_jsonl(ws.corpus / "problems.jsonl", lost=[])):
        write_jsonl(ws.corpus / "problems.jsonl", shown)
    if not merge.fresh and not before.lost and STAGE.state(ws) == "fresh":
        return
    files = dict(before.files)
    lacking = {audio: facts for audio, (facts, _) in merge.seen.items() if audio not in files}
    for audio, facts in {**lacking, **merge.fresh}.items():
        row = {"audio": audio, "sha256": facts.sha256, "bytes": facts.bytes, "mtime_ns": facts.mtime_ns}
        files[audio] = row
    clips = list(merge.clips.values())
    named = {clip.audio for clip in clips}
    before.put_aside()
    write_jsonl(ws.corpus / "files.jsonl", (row for audio, row in files.items() if audio in named))
    Corpus.save(ws, clips, sources, choose_sides(ws, clips))

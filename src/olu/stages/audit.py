"""Listen to every clip once, say what is wrong with which, and write a page to look at."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from olu.align.state import alignment_path, alignments
from olu.align.text_match import Match, match_path, read_match
from olu.audit.check import Check, Finding, MeasuredClip, order
from olu.audit.checks import CHECKS
from olu.audit.coverage import Spoken
from olu.audit.fix import edges_path, effect, plan, too_long, without_aside, write_edges
from olu.audit.measure import hear_all
from olu.audit.report import exhibit, render
from olu.audit.summary import AuditSummary, DefaultTraining, row, summarise
from olu.audit.thresholds import Thresholds
from olu.audit.voices import save_voices, voices_path
from olu.core.config import Strict, check, read_toml
from olu.core.errors import OluError, WorkspaceError
from olu.core.files import Workspace, hash_file, hash_value, read_jsonl, write_json, write_jsonl, write_text
from olu.core.job import Job, Tick
from olu.core.stage import Stage
from olu.core.types import Clip, Mark, Span
from olu.core.words import many
from olu.corpus.decisions import Decision, load, set_aside
from olu.corpus.hand_bounds import hash_bounds
from olu.corpus.manifest import Corpus, fingerprint, recordings, sides
from olu.corpus.speakers import hash_speakers
from olu.families import family
from olu.stages.bases import advise
from olu.stages.prompts import record_next
from olu.stages.read import corpus_frontend
from olu.text.frontend import read_clip, read_settings
from olu.train.family import Family
from olu.train.recipe import Recipe

if TYPE_CHECKING:
    from olu.networks.models import Models

AUDIT_VERSION = 6  # raise it when the same sound and thresholds would be judged differently
MOST_WORKERS = 4
THRESHOLDS = "thresholds.toml"  # in the workspace: what a person set otherwise


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    own = ws.root / THRESHOLDS
    written = hash_file(own) if own.exists() else ""
    known: list[Any] = [fingerprint(ws), sides(ws), recordings(ws), options.get("thresholds"), AUDIT_VERSION, written]
    known += [hash_file(path) for path in (match_path(ws), alignment_path(ws)) if path.exists()]
    known += [moved] if (moved := hash_bounds(ws)) else []
    aside, spoken_by = set_aside(load(ws)), hash_speakers(ws)
    known += [sorted(aside)] if aside else []
    return hash_value([*known, {"speakers": spoken_by}] if spoken_by else known)


STAGE = Stage(name="audit", command="olu audit {ws}", folder="audit", inputs=_inputs)


def read_thresholds(ws: Workspace) -> Thresholds:
    """The defaults, with the workspace's own file laid over them."""
    path = ws.root / THRESHOLDS
    return check(Thresholds, read_toml(path), where=str(path)) if path.exists() else Thresholds()


def audit(
    ws: Workspace, *, thresholds: Thresholds | None = None, force: bool = False, deep: bool = False
) -> Job[AuditSummary]:
    """An earlier audit holds while nothing has changed; a deep one also stands for a plain one.

    Long clips that were cut are not heard again: their pieces are.
    """
    limits = thresholds or read_thresholds(ws)
    options = {"thresholds": limits.model_dump(), "deep": deep}
    if not force and (earlier := _earlier(ws, options)):
        return earlier
    begun = STAGE.inputs(ws, options)
    corpus, aside = without_aside(Corpus.open(ws))
    corpus.check_sources()
    if len(corpus) == 0:
        raise WorkspaceError(f"{ws.root} has no clips: run 'olu import {ws.root} SOURCE' first")
    matches = read_match(ws)
    heard = yield from _heard(ws, corpus, matches, models=_models() if deep else None)
    checks = _checks(matches, deep=deep)
    found = {one.name: list(one.look(heard, limits)) for one in checks}
    worst_first: dict[str, list[Finding]] = {name: sorted(marks, key=order) for name, marks in found.items()}
    marks = _marks(found)
    decisions = _decisions(corpus, heard, marks, limits)
    training = _plan()
    summary = summarise(
        heard,
        worst_first,
        limits=limits,
        folder=ws.audit_folder,
        plan=training,
        fixed=effect(corpus, decisions),
        aside=aside,
        long=too_long(corpus, marks, decisions, most=training.most_seconds),
        notes=[
            *_left_at_import(ws),
            *corpus.changed(),
            *(said for one in checks if (said := one.tell(heard, found[one.name], limits))),
        ],
        start=partial(_start, ws.language, limits),
        spoken=_spoken(ws, corpus),
        record_next=record_next(ws),
    )
    yield Tick(len(corpus), len(corpus), "writing the report")
    page = render(
        ws.name,
        place=str(ws.root),
        heard=heard,
        findings=worst_first,
        summary=summary,
        thresholds=limits,
        play=partial(exhibit, corpus),
    )
    places = corpus.places
    rows = sorted(chain.from_iterable(found.values()), key=lambda finding: places[finding.id])
    write_jsonl(summary.marks, map(row, rows))
    write_edges(ws, {one.clip.id: one.facts for one in heard if one.facts})
    if deep:
        save_voices(ws, heard)
    write_text(summary.report, page)
    write_json(summary.summary, summary.row())
    STAGE.stamp(ws, options, summary.row(), inputs=begun)
    return summary


def _checks(matches: Mapping[str, Match], *, deep: bool) -> list[Check]:
    """The checks that can be made now: some need networks, some what the aligner heard."""
    known = {"", "words"} if matches else {""}
    known |= {"scores"} if any(one.score is not None for one in matches.values()) else set()
    return [one for one in CHECKS if (deep or not one.deep) and one.aligned in known]


def _earlier(ws: Workspace, options: dict[str, Any]) -> AuditSummary | None:
    """What an audit said before, where nothing has changed since and all its files are there."""
    row = STAGE.done(ws, options) or STAGE.done(ws, {**options, "deep": True})
    summary = AuditSummary.from_row(row, folder=ws.audit_folder) if row is not None else None
    files = [] if summary is None else [summary.marks, summary.report, summary.summary, edges_path(ws)]
    files += [voices_path(ws)] if options["deep"] else []
    return replace(summary, fresh=True) if summary and all(path.exists() for path in files) else None


def _heard(
    ws: Workspace, corpus: Corpus, matches: Mapping[str, Match], *, models: Models | None
) -> Job[list[MeasuredClip]]:
    """Every clip with what one hearing tells, and with its words where it is aligned."""
    found, words = list[MeasuredClip](), _words(ws)
    for one in hear_all(corpus, workers=min(MOST_WORKERS, os.cpu_count() or 1), models=models):
        method, spoken = words.get(one.clip.id, ("", ()))
        found.append(replace(one, match=matches.get(one.clip.id), words=spoken, aligner=method))
        yield Tick(len(found), len(corpus), "listening to clips")
    return found


def _start(language: str, limits: Thresholds, seconds: float) -> str:
    advice = advise(seconds, language=language, limits=limits)
    return advice.sentence() if advice else ""


def _spoken(ws: Workspace, corpus: Corpus) -> Spoken | None:
    """How a language that is learnt as phones is read; nothing for one by letters, or with settings nobody can read."""
    try:
        frontend = corpus_frontend(ws, corpus, read_settings(ws))
    except OluError:
        return None
    if frontend.kind != "phones":
        return None

    def spoken(text: str) -> list[tuple[str, Sequence[str]]]:
        return [(word.text, word.phones) for word in read_clip(frontend, text)[0].words]

    return spoken


def _models() -> Models:
    from olu.networks.models import Models

    return Models()


def most_seconds() -> float:
    """How long a clip may be to train, where nobody says otherwise."""
    return Recipe().data.max_seconds


def long_clips(corpus: Corpus) -> list[Clip]:
    """Clips that would train if they were shorter, and that nobody has dropped."""
    marks = {clip.id: corpus.marks(clip) for clip in corpus}
    found = too_long(corpus, marks, corpus.decisions.values(), most=most_seconds())
    return [clip for clip in found if corpus.is_wanted(clip)]


def _plan() -> DefaultTraining:
    """The default recipe, for every size of its family."""
    recipe = Recipe()
    chosen = family(recipe.family)
    rooms = {}
    for size in chosen.advice.sizes if chosen.advice else ():
        rooms[size] = partial(_room, chosen, chosen.config.model_validate({"size": size}))
    return DefaultTraining(
        batch_clips=recipe.plan.batch_clips,
        batch_seconds=recipe.plan.batch_seconds,
        most_seconds=most_seconds(),
        memory=rooms,
    )


def _room(family: Family, config: Strict, clips: int, seconds: float, letters: int) -> float:
    assert family.advice is not None
    return family.advice.memory(config, clips=clips, seconds=seconds, tokens=family.data.tokens("x" * letters))


def _words(ws: Workspace) -> dict[str, tuple[str, tuple[Span, ...]]]:
    """Clip id -> how it was aligned, and its words; of pieces too, which have theirs from the whole."""
    return {id: (one.method, one.words) for id, one in alignments(ws).items()}


def _marks(found: Mapping[str, Sequence[Finding]]) -> dict[str, list[Mark]]:
    marks: dict[str, list[Mark]] = {}
    for findings in found.values():
        for one in findings:
            marks.setdefault(one.id, []).append(one.mark)
    return marks


def _decisions(
    corpus: Corpus, heard: Sequence[MeasuredClip], marks: Mapping[str, Sequence[Mark]], limits: Thresholds
) -> list[Decision]:
    """What --fix would decide, beside what people have decided already."""
    facts = {one.clip.id: one.facts for one in heard if one.facts}
    own = [one for one in corpus.decisions.values() if one.by != "fix"]
    return [*plan(corpus.unchanged(), marks, facts, limits), *own]


def _left_at_import(ws: Workspace) -> list[str]:
    path = ws.corpus / "problems.jsonl"
    count = sum(1 for _ in read_jsonl(path)) if path.exists() else 0
    return (
        [f"{many(count, 'row')} could not be imported at all: {path.name} beside the corpus says why."] if count else []
    )

"""Train a voice or a recogniser: from the recipe to the last checkpoint, recorded, shown and stamped.

Under torchrun the first process does all of this, and the others only train along.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.config import check, with_overrides
from olu.core.errors import TrainError
from olu.core.files import Workspace, hash_file, hash_value
from olu.core.halt import Halt, heeded, why
from olu.core.job import Job, Note, Tick
from olu.core.machine import take_device
from olu.core.stage import Stage, need_training
from olu.core.threads import said_of_change, use_threads_for
from olu.corpus.corrections import hash_texts
from olu.corpus.decisions import hash_chosen
from olu.corpus.manifest import Corpus
from olu.corpus.speakers import hash_speakers
from olu.families import family as family_named
from olu.families.runs import kind_of, passed_over, runs_of, whole_runs
from olu.stages.plan import advice_on, choose_recipe, recipe_path
from olu.stages.train_setup import match_of, prepare_run, set_up
from olu.stages.verbs.training import TrainOptions
from olu.train.family import Kind
from olu.train.guards import Verdict
from olu.train.recipe import Recipe, read_recipe
from olu.train.run import Recorder, Run
from olu.train.view.history import run_state
from olu.train.view.trackers import Watching, watching
from olu.train.view.viewer import Profile, Viewer

if TYPE_CHECKING:
    from olu.train.ranks import Ranks
    from olu.train.setup.job import TrainingJob

TRAIN_VERSION = 1
BESIDE = "; or add --new to train another beside it"
STOP = "stop"  # a file of this name in a run's folder ends its training


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    """What a training is made from: when it changes, a stamp is stale."""
    paths = [ws.corpus / "clips.jsonl", ws.corpus / "splits.jsonl", ws.audit_folder / "audit.jsonl"]
    paths.append(ws.readings / "readings.jsonl")
    known = [TRAIN_VERSION, hash_chosen(ws), [hash_file(path) if path.exists() else "" for path in paths]]
    changed = [one for one in (hash_texts(ws), hash_speakers(ws)) if one]
    return hash_value([*known, *changed])


STAGE = Stage(name="train", command="olu train {ws}", folder="runs", inputs=_inputs)
LISTENING = Stage(name="listening", command="olu train {ws} --set family=recogniser", folder="runs", inputs=_inputs)
VOCODING = Stage(name="vocoding", command="olu train {ws} --set family=vocoder", folder="runs", inputs=_inputs)
STAGES: dict[Kind, Stage] = {"voice": STAGE, "listener": LISTENING, "vocoder": VOCODING}


def stage_of(job: TrainingJob) -> Stage:
    """The stage whose stamp a run writes: each kind of family has its own."""
    return STAGES[job.family.kind]


def options_of(job: TrainingJob) -> dict[str, Any]:
    return {"recipe": job.facts["recipe"], "from": job.facts["from"]}


@dataclass(frozen=True)
class TrainSummary:
    run: str
    steps: int
    best: dict[str, Any] | None = None
    stopped: str | None = None
    leads: bool = True  # of several processes, this one speaks
    fresh: bool = False  # nothing was done: an equal run exists
    speaks: bool = True  # else it is a recogniser or a vocoder, and there is no voice to export
    kind: Kind = "listener"  # which of them, where it does not speak
    dry: dict[str, Any] = field(default_factory=dict)


class UnfinishedRun(TrainError):
    """A new run was asked for while another waits to be gone on with."""

    def __init__(self, ws: Workspace, run: Run, *, same_recipe: bool) -> None:
        super().__init__(
            f"{run.name} is unfinished: go on with 'olu train {ws.root} --resume', or add --new for another"
        )
        self.same_recipe = same_recipe


def train(
    ws: Workspace,
    *,
    overrides: Sequence[str] | None = None,
    dry: bool = False,
    device: str = "cpu",
    scratch: bool = True,
    **more: Any,
) -> Job[TrainSummary]:
    """Start a run, or go on with one. Yields progress, sentences and a `Report` per step. `more`: as of TrainOptions.

    Without `scratch` hours from scratch on too little speech are refused, unless a recipe asks for them.
    """
    need_training("olu train")
    from olu.train.ranks import joined  # torch comes with it

    asked = TrainOptions(ws=ws.root, changes=tuple(overrides or ()), dry_run=dry, from_scratch=scratch, **more)
    device = take_device(device)
    with joined(device) as (ranks, own):
        if not ranks.leads:
            return (yield from _follow(ws, device=own, ranks=ranks))
        view, changes = watching(ws, list(asked.changes), profile=asked.profile)
        asked = replace(asked, changes=tuple(changes))
        if asked.resume:
            run, job = yield from _resumed(ws, asked, ranks, device=own)
        else:
            job = yield from _begun(ws, asked, ranks, device=own)
            if dry:
                from olu.train.dry_run import dry_run

                return TrainSummary(run="(dry run)", steps=0, dry=dry_run(job))
            if not asked.new and (earlier := _equal_run(ws, job)):
                return earlier
            yield from map(Note, job.check_disk(shutil.disk_usage(ws.root).free))
            run = Run.create(ws.runs_folder, job.recipe, facts=job.facts, documents=job.documents)
        return (yield from _go(ws, run, job, view))


def _resumed(ws: Workspace, asked: TrainOptions, ranks: Ranks, *, device: str) -> Job[tuple[Run, TrainingJob]]:
    """A run that was left unfinished, ready to go on as it began."""
    if asked.recipe or asked.changes or asked.base or asked.from_run or asked.new or asked.dry_run:
        raise TrainError("--resume goes on with a run as it is: to change settings use --from-run RUN")
    run = Run.named(ws.runs_folder, asked.resumed) if asked.resumed else _unfinished(ws)
    damaged = [] if asked.resumed else passed_over(ws, run)
    if run is not None and run.is_locked():
        raise being_trained(run)
    if run is None:
        told = f"{ws.root} has no unfinished run: start one with 'olu train {ws.root}'"
        raise TrainError(". ".join([told, *damaged]))
    yield from map(Note, damaged)
    before = run.document("facts.json")
    yield from map(Note, use_threads_for(before, run=run.name, device=device))
    yield from _prepared(ws, run.recipe, run=run)
    with _room():
        job = set_up(ws, run.recipe, device=device, run=run, ranks=ranks)
    if job.facts["clips"] != before.get("clips"):
        raise TrainError(
            f"the clips are not those {run.name} began with, so it cannot go on exactly:"
            f" start from its weights with 'olu train {ws.root} --from-run {run.name} --new'"
        )
    yield Note(f"going on with {run.name}")
    yield from map(Note, [*said_of_change(before, job.facts, run=run.name), *job.notes])
    return run, job


def _matched(ws: Workspace, asked: TrainOptions) -> TrainOptions:
    """The options, with the settings that --match stands for."""
    if not asked.match:
        return asked
    if not (asked.from_run or asked.base):
        raise TrainError("--match goes on from a vocoder that can speak: add --from-run RUN")
    return replace(asked, changes=(*match_of(ws, asked.match), *asked.changes))


def _begun(ws: Workspace, asked: TrainOptions, ranks: Ranks, *, device: str) -> Job[TrainingJob]:
    """A new run with the settings that are asked for, or with the weights of another."""
    from olu.train.setup.start import parse_start

    if not any((asked.new, asked.dry_run, asked.compares, asked.from_run)):
        _refuse_beside_unfinished(ws, asked.recipe, list(asked.changes))
    yield from map(Note, use_threads_for(None, run="", device=device))
    start = parse_start(ws, asked.from_run) if asked.from_run else None
    asked = _matched(ws, asked)
    before = start[0] if start else None
    size = before.recipe.model.get("size") if before else None  # a damaged recipe is said by its own name
    settings, said = yield from choose_recipe(
        ws,
        recipe=asked.recipe or (before.folder / "recipe.toml" if before else None),
        overrides=list(asked.changes),
        base=asked.base,
        device=device,
        scratch=asked.from_scratch or asked.dry_run,
    )
    settings = _going_on(ws, settings, list(asked.changes)) if before and asked.recipe is None else settings
    yield from map(Note, said)
    if before is None and (advice := advice_on(ws, settings)):
        yield Note(advice.sentence())
    if before and settings.model.get("size") != size:
        raise TrainError(f"recipe: model.size has no effect with --from-run: {before.name} has its own sizes")
    yield from _prepared(ws, settings, run=before)
    with _room():
        job = set_up(ws, settings, device=device, start=start, ranks=ranks)
    yield from map(Note, job.notes)
    return job


def _prepared(ws: Workspace, recipe: Recipe, *, run: Run | None) -> Job[None]:
    """The earlier stages, also for the acoustic model that a vocoder is matched to."""
    if recipe.match:
        other = Run.named(ws.runs_folder, recipe.match.partition("@")[0])
        yield from prepare_run(ws, other.recipe, run=other)
    yield from prepare_run(ws, recipe, run=run)


def _going_on(ws: Workspace, recipe: Recipe, changes: list[str]) -> Recipe:
    """The recipe of the run before, with what its family changes for one that goes on from weights."""
    family = family_named(recipe.family)
    if family.advice is None or family.advice.again is None:
        return recipe
    corpus, texts = Corpus.open(ws), "text" in family.data.needs
    taken = [clip for clip in corpus if corpus.why_not(clip, texts=texts) is None]
    asked = [clip for clip in taken if not recipe.data.speakers or clip.speaker in recipe.data.speakers]
    seconds = sum(corpus.taken(clip).seconds for clip in asked)
    config = check(family.config, recipe.model, where="recipe [model]")
    values = recipe.model_dump(mode="json")
    for one in family.advice.again(config, seconds):
        section, _, name = one.key.partition(".")
        values[section][name] = one.value
    return check(Recipe, with_overrides(values, changes), where="recipe")


def _equal_run(ws: Workspace, job: TrainingJob) -> TrainSummary | None:
    """A finished run of the same settings and clips, if there is one; beside an open or damaged one it is refused."""
    kind = job.family.kind
    if (earlier := stage_of(job).done(ws, options_of(job))) and _is_there(ws, earlier["run"]):
        return TrainSummary(**{**earlier, "fresh": True, "speaks": kind == "voice", "kind": kind})
    if (unfinished := _unfinished(ws, kind=kind)) is not None:
        if unfinished.is_locked():
            raise being_trained(unfinished, other=BESIDE)
        same = unfinished.document("facts.json")["recipe"] == job.facts["recipe"]
        raise UnfinishedRun(ws, unfinished, same_recipe=same)
    _refuse_beside_damage(ws, kind=kind)
    return None


def being_trained(run: Run, *, other: str = "") -> TrainError:
    stands = run_state(run)
    return TrainError(
        f"{run.name} is being trained by another process (step {stands.step} of {stands.steps}): wait for it or"
        f" stop it{other}"
    )


@contextmanager
def _room() -> Iterator[None]:
    """Turn running out of memory into an error that says which settings to lower."""
    from olu.train.engine_state import NO_ROOM

    try:
        yield
    except (RuntimeError, MemoryError) as bad:
        said = str(bad).lower()
        if not isinstance(bad, MemoryError) and not any(words in said for words in ("out of memory", *NO_ROOM)):
            raise
        raise TrainError(
            "the model does not fit into the memory: choose a smaller model.size or lower [model]"
        ) from None


def _unfinished(ws: Workspace, *, kind: Kind | None = None) -> Run | None:
    """The latest unfinished run among the newest ones of each kind; None where there is none."""
    runs = whole_runs(ws)
    newest = {kind_of(run): run for run in runs}
    open_ = [run for of, run in newest.items() if kind in (None, of) and run.result is None]
    return max(open_, key=runs.index) if open_ else None


def _refuse_beside_unfinished(ws: Workspace, recipe: Path | None, changes: list[str]) -> None:
    """Refuse a new run beside an unfinished one, before anything is read or listened to."""
    own = recipe_path(ws)
    kind = family_named(read_recipe(recipe or (own if own.exists() else None), changes).family).kind
    run = _unfinished(ws, kind=kind)
    if run is None or STAGES[kind].state(ws) == "fresh":
        return
    raise being_trained(run, other=BESIDE) if run.is_locked() else UnfinishedRun(ws, run, same_recipe=False)


def _refuse_beside_damage(ws: Workspace, *, kind: Kind) -> None:
    """Refuse a new run where the newest is damaged: it may be the one that is asked for."""
    newest = runs_of(ws, kind)[-1:]
    if damaged := passed_over(ws, newest[0] if newest else None, kind=kind):
        raise TrainError(f"{'. '.join(damaged)}. Or add --new to train another")


def _is_there(ws: Workspace, name: str) -> bool:
    run = Run(ws.runs_folder / name)
    return not run.fault and run.result is not None


def _go(ws: Workspace, run: Run, job: TrainingJob, view: Watching) -> Job[TrainSummary]:
    with run.locked():
        job.ranks.from_first(run.name)
        try:
            return (yield from _train(ws, run, job, view))
        except RuntimeError as bad:
            if "out of memory" in str(bad).lower():  # in a step the engine helps itself
                low = "lower plan.batch_clips with --from-run, or go on with --resume when memory is free"
                raise TrainError(f"the memory was full in validation: {low}") from None
            if job.ranks.size == 1 or not _is_lost(bad):
                raise
            again = f"see its message, then go on with 'olu train {ws.root} --resume'"
            raise TrainError(f"another process of this training ended: {again}") from None


def _is_lost(bad: RuntimeError) -> bool:
    """Whether the talk between processes broke off."""
    return any(word in str(bad).lower() for word in ("gloo", "nccl", "connection", "socket", "process group"))


def _follow(ws: Workspace, *, device: str, ranks: Ranks) -> Job[TrainSummary]:
    """Train along with the first process: it alone writes and speaks."""
    run = Run(ws.runs_folder / ranks.from_first(""))
    job = set_up(ws, run.recipe, device=device, run=run, ranks=ranks)
    engine = job.engine(run)
    try:
        if ranks.from_first(False):
            engine.resume()
        with heeded(wait=True) as engine.asked:
            reports = list(engine.train())
    except RuntimeError as bad:
        if not _is_lost(bad):
            raise
        return TrainSummary(run=run.name, steps=engine.step, stopped="another process ended", leads=False)
    if engine.halted:
        raise Halt("", asked=engine.halted)  # the first process says it
    stopped = next((e.message for r in reports[-1:] for e in r.events if e.verdict is Verdict.STOP), None)
    return TrainSummary(run=run.name, steps=engine.step, stopped=stopped, leads=False)
    yield  # makes this a generator like its brother


def _train(ws: Workspace, run: Run, job: TrainingJob, view: Watching) -> Job[TrainSummary]:
    begun = stage_of(job).inputs(ws, options_of(job))  # clips may be dropped while it trains
    engine = job.engine(run)
    if job.ranks.from_first(bool(engine.checkpoints.steps())):
        for sentence in engine.resume():
            yield Note(sentence)
    run.rewind_records(engine.step, rewinds=engine.rewinds)
    if engine.best:
        run.write_best(engine.best, metric=job.metric)
    else:
        (run.folder / "best.json").unlink(missing_ok=True)  # of a checkpoint that was damaged since
    yield Note(f"{run.name}: {job.describe()}, from step {engine.step} to {engine.plan.steps}")
    stopped, ended = None, False
    viewer = Viewer(
        run,
        family=job.family,
        settings=view.settings,
        metric=job.metric,
        step=engine.step,
        rewinds=engine.rewinds,
        steps=engine.plan.steps,
        again=f"olu train {shlex.quote(str(ws.root))} --resume",
    )
    profile = Profile(run.folder, steps=view.profile)
    stop = run.folder / STOP
    stop.unlink(missing_ok=True)  # of a training that was over when it came
    with Recorder(run) as recorder, viewer, heeded(stop, wait=job.ranks.size > 1) as engine.asked:
        yield from map(Note, viewer.sentences())
        yield Tick(0, 0, "the first step")  # may take long, and nothing else is told before its end
        for report in profile.over(engine.train()):
            if not report.cut:
                recorder.record(report, best=engine.best, metric=job.metric)
                viewer.show(report, best=engine.best)
            yield report
            yield from map(Note, viewer.sentences() + profile.sentences())
            stopped = next((e.message for e in report.events if e.verdict is Verdict.STOP), None)
            ended = report.ends
        limits = [one for name, live in engine.live.items() for one in live.said_of_limits(name)]
        yield from map(Note, [*profile.sentences(), *limits])
        if not ended:
            viewer.finish(stopped=stopped)
    kind = job.family.kind
    summary = TrainSummary(
        run=run.name, steps=engine.step, best=run.best, stopped=stopped, speaks=kind == "voice", kind=kind
    )
    if stopped is None:  # stamped first: a kill between the two leaves a run that --resume finishes at once
        told = {"run": summary.run, "steps": summary.steps, "best": summary.best}
        stage_of(job).stamp(ws, options_of(job), told, inputs=begun)
    if not ended:  # a budget that was used up leaves a run to go on with
        run.finish(steps=engine.step, stopped=stopped)
    if engine.halted:
        stop.unlink(missing_ok=True)
        raise Halt(_said_of_halt(ws, run, engine.halted, ended=ended), asked=engine.halted)
    return summary


def _said_of_halt(ws: Workspace, run: Run, asked: int, *, ended: bool) -> str:
    kept = run.checkpoints().steps()[-1]
    if not ended:
        return f"stopped {why(asked)}; {run.name} had just ended, at step {kept}, and is kept"
    again = f"go on with 'olu train {shlex.quote(str(ws.root))} --resume'"
    return f"{run.name} was stopped {why(asked)}; step {kept} is kept: {again}"

"""Try settings in short runs of a recipe, judge each by what is heard of it, and write the recipe of the best."""

from __future__ import annotations

import math
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.config import check
from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace, hash_value, write_text
from olu.core.halt import Halt, Request, heeded, why
from olu.core.job import Job, Note, Tick, phase
from olu.core.machine import best_device, take_device
from olu.core.stage import need_training
from olu.core.threads import ask_for, use_threads_for
from olu.core.told import Caution, Remedy, TextTable, Told
from olu.core.words import length
from olu.core.workspace_lock import LockHeld, locked
from olu.evaluate.evaluation import spread_evenly
from olu.families import family as family_named
from olu.stages.plan import choose_recipe
from olu.stages.train_setup import prepare_run, set_up
from olu.stages.tune_grid import LEAST_STEPS, SweepPoint, check_apart, grid, rungs, shortened
from olu.stages.tune_judge import SweepJudge, TrainedStep, judge_for
from olu.stages.tune_results import Sweep, SweepRun, corpus_of, is_worse, new_path, sweep_folder, sweeps, told
from olu.stages.verbs.training import TuneOptions
from olu.train.family import Family
from olu.train.guards import Verdict
from olu.train.recipe import Recipe, recipe_toml
from olu.train.run import Recorder, Run

if TYPE_CHECKING:
    from olu.train.engine import Engine
    from olu.train.setup.job import TrainingJob

MINUTES = 5.0
WORTH = 20  # steps: shorter runs tell nothing, and are refused where a number of minutes leads to them
SWEEP = "sweep"  # in the facts of a run: of which sweep, and which of its points


@dataclass(frozen=True)
class TuneSummary:
    sweep: Sweep
    recipe: str  # of the best, in full length
    fresh: bool  # nothing was trained: it was all there
    seconds: float  # of training, in this command

    def row(self, options: TuneOptions) -> dict[str, Any]:
        best = self.sweep.best
        return {
            "sweep": self.sweep.path,
            "recipe": self.recipe,
            "judge": self.sweep.judge,
            "steps": self.sweep.steps,
            "sentences": len(self.sweep.clips),
            "best": best.values if best else None,
            "alike": [run.values for run in self.sweep.equals()],
            "runs": [_row(self.sweep, run) for run in self.sweep.runs],
            "fresh": self.fresh,
            "seconds": round(self.seconds, 1),
        }

    def sentences(self, options: TuneOptions) -> Iterator[Told]:
        sweep, best = self.sweep, self.sweep.best
        keys = list(sweep.runs[0].values)
        rows = []
        for run in _in_order(sweep):
            row = _row(sweep, run)
            rows.append(
                [*(str(run.values[key]) for key in keys), str(run.step), row["score"], row["behind"], row["state"]]
            )
        yield TextTable([*keys, "steps", "score", "behind the best", "what became of it"], rows)
        yield f"Score: {sweep.judge}; lower is better. In brackets: 95 % of draws of the sentences."
        yield sweep.sentence()
        if sweep.equals() or not sweep.tells(sweep.steps):
            yield Caution("with more --steps, --minutes or --sentences the others may be told apart")
        if self.fresh:
            yield f"{sweep.name} was made with these settings already: nothing to do (--new tries again)"
        assert best
        yield f"Next: {Remedy('train', (options.ws,), {'recipe': Path(self.recipe)})}"


def _in_order(sweep: Sweep) -> list[SweepRun]:
    """The best first; those that were left come after them, the longest in it first."""

    def place(run: SweepRun) -> tuple[bool, int, float]:
        score = run.newest.mean().middle if run.newest else None
        return bool(run.left), -run.step, math.inf if score is None else score

    return sorted(sweep.runs, key=place)


def _row(sweep: Sweep, run: SweepRun) -> dict[str, Any]:
    best, newest = sweep.best, run.newest
    behind, state = "", run.left
    against = best
    if run.beaten_by:
        against = next(one for one in sweep.runs if one.run == run.beaten_by)
    if newest and against and against is not run and run.step in against.scores:
        behind = told(newest.behind(against.scores[run.step]), signed=True)
    if not run.left:
        state = "best" if run is best else "worse" if best and is_worse(run, best) else "not told apart from the best"
    return {
        **run.values,
        "run": run.run,
        "step": run.step,
        "score": told(newest.mean()) if newest else "not judged",
        "behind": behind,
        "state": state,
    }


@dataclass(frozen=True)
class SweepRequest:
    """What is to be tried, with the recipe of every point, and what judges."""

    ws: Workspace
    options: TuneOptions
    points: Sequence[SweepPoint]
    recipes: Sequence[Recipe]
    family: Family
    judge: SweepJudge
    device: str

    @property
    def key(self) -> str:
        """A hash of all that decides what comes out."""
        options = self.options
        asked = [options.steps, options.minutes, options.sentences, self.judge.name, self.device.partition(":")[0]]
        recipes = [made.model_dump(mode="json") for made in self.recipes]
        return hash_value([recipes, [list(point.changes) for point in self.points], asked, corpus_of(self.ws)])


def run(options: TuneOptions) -> Job[TuneSummary]:
    """`olu tune`"""
    need_training("olu tune")
    ask_for(options.threads)
    if options.steps is not None and options.minutes is not None:
        raise ConfigError("--steps and --minutes both say how long the runs are: leave one out")
    if options.minutes is not None and not 0 < options.minutes < math.inf:
        raise ConfigError(f"--minutes {options.minutes:g}: give a number above 0")
    ws, points = Workspace.open(options.ws), grid(options.over)
    device = take_device(options.device or best_device())
    yield from map(Note, use_threads_for(None, run="", device=device))
    recipes, family = yield from _recipes(ws, points, options, device)
    judge = judge_for(ws, family, by=options.by, device=device)
    folder = sweep_folder(ws)
    folder.mkdir(exist_ok=True)
    try:
        with locked(folder):
            return (yield from _swept(SweepRequest(ws, options, points, recipes, family, judge, device)))
    except LockHeld as other:
        raise TrainError(f"another sweep of {ws.root} is at work: wait for it or stop it{other}") from None


def _recipes(
    ws: Workspace, points: Sequence[SweepPoint], options: TuneOptions, device: str
) -> Job[tuple[list[Recipe], Family]]:
    """What `olu train --set` would train for each point, checked to its last setting."""
    from olu.train.setup.start import config_for, read_base

    recipes = list[Recipe]()
    for point in points:
        asked = [*options.changes, *point.changes]
        made, said = yield from choose_recipe(
            ws, recipe=options.recipe, overrides=asked, base=options.base, device=device
        )
        if not recipes:
            yield from map(Note, said)
        recipes.append(made)
    family = family_named(recipes[0].family)
    base = read_base(family, recipes[0])
    for made in recipes:
        config_for(family, made, base)
    check_apart(points, recipes)
    return recipes, family


def _swept(request: SweepRequest) -> Job[TuneSummary]:
    ws, options, recipes = request.ws, request.options, request.recipes
    asked = request.key
    known = [] if options.new else [one for one in sweeps(ws) if one.asked == asked]
    if known and known[-1].done:
        return TuneSummary(known[-1], _write_recipe(options, known[-1], recipes), True, 0.0)
    if known:
        sweep = known[-1]
        yield Note(f"going on with {sweep.name}")
    else:
        sweep = yield from _begun(request, asked=asked)
    seconds = 0.0
    with heeded() as halt:
        for step in rungs(sweep.steps):
            for number, point in enumerate(sweep.runs):
                if point.left or step in point.scores:
                    continue
                work = _judged(request, sweep, number, halt, step=step)
                sweep, spent = yield from phase(str(point), work)
                seconds += spent
            sweep = yield from _without_beaten(sweep, step)
    if sweep.best is None:
        first = sweep.runs[0]
        raise TrainError(f"{sweep.name}: no run came to its end; of {first}: {first.left}")
    sweep = replace(sweep, done=True)
    sweep.save()
    _drop_weights(ws, sweep)
    return TuneSummary(sweep, _write_recipe(options, sweep, recipes), False, seconds)


def _begun(request: SweepRequest, *, asked: str) -> Job[Sweep]:
    """A new sweep: how many steps its runs have, and the sentences that all of them are judged by."""
    from olu.train.dry_run import dry_run

    ws, options, points, judge = request.ws, request.options, request.points, request.judge
    clips: list[str] | None = None
    pace = 0.0
    for number, (point, recipe) in enumerate(zip(points, request.recipes, strict=True), 1):
        short = shortened(recipe, options.steps or WORTH)
        yield from prepare_run(ws, short)
        job = set_up(ws, short, device=request.device)
        learnt = set(job.train)
        own = [clip for clip in job.valid if clip not in learnt]
        clips = own if clips is None else [clip for clip in clips if clip in own]
        if options.steps is None:
            yield Tick(number, len(points), f"timing {point}")
            pace += dry_run(job)["seconds_per_step"]
    held = spread_evenly(clips or [], options.sentences)
    if len(held) < 2:
        raise TrainError(
            f"{ws.root} has {len(held)} held-out sentences to judge by, and a sweep needs two or more: 'olu split"
            f" {shlex.quote(str(ws.root))}' makes a validation side"
        )
    minutes = options.minutes or MINUTES
    steps = options.steps or int(60 * minutes / max(pace, 1e-9))
    if options.steps is None and steps < WORTH:
        raise TrainError(
            f"{minutes:g} minutes are {max(steps, 0)} steps for each of {len(points)} runs, and fewer than {WORTH} tell"
            f" nothing: give --minutes {math.ceil(WORTH * pace / 60)}, or fewer values"
        )
    steps -= steps % LEAST_STEPS
    if options.steps is None:
        yield Note(f"{steps} steps for each of {len(points)} runs, {length(pace * steps)} of training at most")
    runs = tuple(SweepRun(changes=point.changes) for point in points)
    sweep = Sweep(
        asked=asked,
        corpus=corpus_of(ws),
        family=request.family.name,
        judge=judge.name,
        steps=steps,
        clips=tuple(held),
        runs=runs,
        bar=judge.bar,
        path=str(new_path(ws)),
    )
    sweep.save()
    return sweep


def _judged(request: SweepRequest, sweep: Sweep, number: int, halt: Request, *, step: int) -> Job[tuple[Sweep, float]]:
    """One run trained on to `step`, judged there and written down; and the seconds its steps took."""
    held, job = yield from _run_of(request, sweep, number)
    with held.locked():
        engine = job.engine(held)
        if engine.checkpoints.steps():
            yield from map(Note, engine.resume())
        held.rewind_records(engine.step, rewinds=engine.rewinds)
        point = replace(sweep.runs[number], run=held.name)
        trained = TrainedStep(held, job, engine)
        engine.asked = halt
        left, seconds = yield from _trained_to(step, held, job, engine, steps=sweep.steps)
        if engine.halted:
            again = f"the same command goes on with {sweep.name}"
            raise Halt(
                f"stopped {why(engine.halted)} at step {engine.step} of {held.name}: {again}", asked=engine.halted
            )
        if left or engine.step < step:
            point = replace(point, left=f"stopped at step {engine.step}: {left or 'nothing better came'}")
        else:
            found = yield from request.judge.scores(trained, sweep.clips)
            point = replace(point, scores={**point.scores, step: found})
    sweep = sweep.with_run(number, point)
    sweep.save()
    return sweep, seconds


def _trained_to(step: int, run: Run, job: TrainingJob, engine: Engine, *, steps: int) -> Job[tuple[str, float]]:
    """Train up to a step, whose checkpoint is then there: why a guard stopped it before, and the seconds it took."""
    left, seconds = "", 0.0
    if engine.step >= step:
        return left, seconds
    with Recorder(run) as recorder, closing(engine.train()) as training:  # closed at a step, it saves that first
        for report in training:
            seconds += report.seconds
            if not report.cut:
                recorder.record(report, best=engine.best, metric=job.metric)
            yield Tick(report.step, steps, "training")
            left = next((event.message for event in report.events if event.verdict is Verdict.STOP), "")
            if report.step >= step and not report.cut:
                break
    return left, seconds


def _run_of(request: SweepRequest, sweep: Sweep, number: int) -> Job[tuple[Run, TrainingJob]]:
    """The run of a point: the one that was begun, else a new one."""
    ws, device, recipe = request.ws, request.device, shortened(request.recipes[number], sweep.steps)
    mark = [sweep.asked, sweep.name, number]
    folder = sweep_folder(ws)
    begun = [one for one in Run.all(folder) if not one.fault and one.document("facts.json").get(SWEEP) == mark]
    if not begun:
        yield from prepare_run(ws, recipe)
        job = set_up(ws, recipe, device=device)
        facts = {**job.facts, SWEEP: mark}
        return Run.create(folder, job.recipe, facts=facts, documents=job.documents), job
    held = begun[-1]
    yield from prepare_run(ws, held.recipe, run=held)
    return held, set_up(ws, held.recipe, device=device, run=held)


def _without_beaten(sweep: Sweep, step: int) -> Job[Sweep]:
    """Runs that are surely worse than the best of this step go no further: the difference's interval excludes 0."""
    leader = sweep.leader(step)
    if step >= sweep.steps or leader is None or not sweep.tells(step):
        return sweep
    for number, run in enumerate(sweep.runs):
        if run.left or not is_worse(run, leader, step=step):
            continue
        left = f"left at step {step} of {sweep.steps}: it cannot win against {leader}"
        sweep = sweep.with_run(number, replace(run, left=left, beaten_by=leader.run))
        yield Note(f"{run} {left}")
    sweep.save()
    return sweep


def _drop_weights(ws: Workspace, sweep: Sweep) -> None:
    """Short runs are no voices: their records stay, their weights go."""
    for run in sweep.runs:
        shutil.rmtree(sweep_folder(ws) / run.run / "checkpoints", ignore_errors=True)


def _write_recipe(options: TuneOptions, sweep: Sweep, recipes: Sequence[Recipe]) -> str:
    """The recipe of the best run in its full length."""
    assert sweep.best
    path = options.output or Path(sweep.path).with_name(f"{sweep.name}.toml")
    recipe = check(Recipe, recipes[sweep.runs.index(sweep.best)].model_dump(mode="json"), where="recipe")
    write_text(path, f"# {sweep.sentence()}.\n{recipe_toml(recipe)}")
    return str(path)

"""A run that goes from where it is to its end: recorded, shown, stamped; and the processes that train along."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.halt import Halt, heeded, why
from olu.core.job import Job, Note, Tick
from olu.stages.train_stage import TrainSummary, options_of, stage_of
from olu.train.guards import Verdict
from olu.train.run import Recorder, Run
from olu.train.view.profile import Profile
from olu.train.view.viewer import Viewer
from olu.train.view.workspace_settings import Watching

if TYPE_CHECKING:
    from olu.stages.train_ready import Setup
    from olu.train.ranks import Ranks


STOP = "stop"  # a file of this name in a run's folder ends its training


def go(ws: Workspace, run: Run, setup: Setup, view: Watching) -> Job[TrainSummary]:
    with run.claimed():
        setup.ranks.from_first(run.name)
        try:
            return (yield from _train(ws, run, setup, view))
        except RuntimeError as bad:
            if "out of memory" in str(bad).lower():  # in a step the engine helps itself
                low = "lower plan.batch_clips with --from-run, or go on with --resume when memory is free"
                raise TrainError(f"the memory was full in validation: {low}") from None
            if setup.ranks.size == 1 or not _is_lost(bad):
                raise
            again = f"see its message, then go on with 'olu train {ws.root} --resume'"
            raise TrainError(f"another process of this training ended: {again}") from None


def _is_lost(bad: RuntimeError) -> bool:
    """Whether the talk between processes broke off."""
    return any(word in str(bad).lower() for word in ("gloo", "nccl", "connection", "socket", "process group"))


def follow(ws: Workspace, *, device: str, ranks: Ranks) -> Job[TrainSummary]:
    """Train along with the first process: it alone writes and speaks."""
    from olu.stages.train_setup import set_up

    run = Run(ws.runs / ranks.from_first(""))
    setup = set_up(ws, run.recipe, device=device, run=run, ranks=ranks)
    engine = setup.engine(run)
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


def _train(ws: Workspace, run: Run, setup: Setup, view: Watching) -> Job[TrainSummary]:
    begun = stage_of(setup).inputs(ws, options_of(setup))  # clips may be dropped while it trains
    engine = setup.engine(run)
    if setup.ranks.from_first(bool(engine.checkpoints.steps())):
        for sentence in engine.resume():
            yield Note(sentence)
    run.rewind_records(engine.step, rewinds=engine.rewinds)
    if engine.best:
        run.write_best(engine.best, metric=setup.metric)
    else:
        (run.folder / "best.json").unlink(missing_ok=True)  # of a checkpoint that was damaged since
    yield Note(f"{run.name}: {setup.describe()}, from step {engine.step} to {engine.plan.steps}")
    stopped, ended = None, False
    viewer = Viewer(
        run,
        family=setup.family,
        settings=view.settings,
        metric=setup.metric,
        step=engine.step,
        rewinds=engine.rewinds,
        steps=engine.plan.steps,
        again=f"olu train {shlex.quote(str(ws.root))} --resume",
    )
    profile = Profile(run.folder, steps=view.profile)
    stop = run.folder / STOP
    stop.unlink(missing_ok=True)  # of a training that was over when it came
    with Recorder(run) as recorder, viewer, heeded(stop, wait=setup.ranks.size > 1) as engine.asked:
        yield from map(Note, viewer.sentences())
        yield Tick(0, 0, "the first step")  # may take long, and nothing else is told before its end
        for report in profile.over(engine.train()):
            if not report.cut:
                recorder.record(report, best=engine.best, metric=setup.metric)
                viewer.show(report, best=engine.best)
            yield report
            yield from map(Note, viewer.sentences() + profile.sentences())
            stopped = next((e.message for e in report.events if e.verdict is Verdict.STOP), None)
            ended = report.ends
        yield from map(Note, profile.sentences())
        if not ended:
            viewer.finish(stopped=stopped)
    speaks = setup.family.kind == "voice"
    summary = TrainSummary(run=run.name, steps=engine.step, best=run.best, stopped=stopped, speaks=speaks)
    if stopped is None:  # stamped first: a kill between the two leaves a run that --resume finishes at once
        told = {"run": summary.run, "steps": summary.steps, "best": summary.best}
        stage_of(setup).stamp(ws, options_of(setup), told, inputs=begun)
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

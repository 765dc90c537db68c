"""Train a voice: everything a run needs, from the recipe to the last checkpoint."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.corpus.decisions import hash_chosen
from olu.errors import TrainError
from olu.files import Workspace, hash_file, hash_value
from olu.stages.extras import need_training
from olu.stages.kinds import does_speak
from olu.stages.plan import choose_recipe
from olu.stages.stage import Stage
from olu.stages.watching import Watching, watching
from olu.train.guards import Verdict
from olu.train.run import Recorder, Run
from olu.types import Tick
from olu.view.profile import Profile
from olu.view.viewer import Viewer

if TYPE_CHECKING:
    from olu.stages.train_setup import Setup
    from olu.train.ranks import Ranks
    from olu.train.report import Report

TRAIN_VERSION = 1


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    paths = [ws.corpus / "clips.jsonl", ws.corpus / "splits.jsonl", ws.audit / "audit.jsonl"]
    paths.append(ws.readings / "readings.jsonl")
    return hash_value([TRAIN_VERSION, hash_chosen(ws), [hash_file(path) if path.exists() else "" for path in paths]])


STAGE = Stage(name="train", command="olu train {ws}", folder="runs", inputs=_inputs)
LISTENING = Stage(name="listening", command="olu train {ws} --set family=recogniser", folder="runs", inputs=_inputs)


def _stage(setup: Setup) -> Stage:
    """A recogniser's run leaves the stamp of the voice alone."""
    return STAGE if setup.family.speaks else LISTENING


class UnfinishedRun(TrainError):
    """A new run was asked for while another waits to be gone on with."""

    def __init__(self, ws: Workspace, run: Run, setup: Setup) -> None:
        super().__init__(
            f"{run.name} is unfinished: go on with 'olu train {ws.root} --resume', or add --new for another"
        )
        self.same_recipe = run.document("facts.json")["recipe"] == setup.facts["recipe"]


@dataclass(frozen=True)
class Note:
    """A sentence for the person watching."""

    text: str


@dataclass(frozen=True)
class TrainSummary:
    run: str
    steps: int
    best: dict[str, Any] | None = None
    stopped: str | None = None
    leads: bool = True  # of several processes, this one speaks
    fresh: bool = False  # nothing was done: an equal run exists
    speaks: bool = True  # else it is a recogniser, and there is no voice to export
    dry: dict[str, Any] = field(default_factory=dict)


Training = Generator["Tick | Note | Report", None, TrainSummary]


def train(
    ws: Workspace,
    *,
    recipe: Path | None = None,
    overrides: list[str] | None = None,
    base: Path | None = None,
    resume: bool = False,
    new: bool = False,
    from_run: str | None = None,
    dry: bool = False,
    device: str = "cpu",
    profile: int = 0,
    resumed: str | None = None,
) -> Training:
    """Start a run, or go on with one. Yields progress, sentences and a `Report` per step.

    `resumed` names the run to go on with, where it need not be the newest.

    Under torchrun the first process does all of this, and the others only train along.
    """
    need_training("olu train")
    from olu.train.ranks import joined  # torch comes with it

    check_device(device)
    with joined(device) as (ranks, own):
        if not ranks.leads:
            return (yield from _follow(ws, device=own, ranks=ranks))
        return (
            yield from _lead(
                ws,
                recipe=recipe,
                overrides=overrides,
                base=base,
                resume=resume,
                new=new,
                from_run=from_run,
                dry=dry,
                device=own,
                ranks=ranks,
                profile=profile,
                resumed=resumed,
            )
        )


def _lead(
    ws: Workspace,
    *,
    recipe: Path | None,
    overrides: list[str] | None,
    base: Path | None,
    resume: bool,
    new: bool,
    from_run: str | None,
    dry: bool,
    device: str,
    ranks: Ranks,
    profile: int,
    resumed: str | None,
) -> Training:
    from olu.stages.train_dry import dry_run
    from olu.stages.train_setup import parse_start, prepare_run, set_up

    view, changes = watching(ws, list(overrides or []), profile=profile)
    if resume:
        if recipe or changes or base or from_run or new or dry:
            raise TrainError("--resume goes on with a run as it is: to change settings use --from-run RUN")
        run = Run.named(ws.runs, resumed) if resumed else _unfinished(ws)
        if run is None:
            raise TrainError(f"{ws.root} has no unfinished run: start one with 'olu train {ws.root}'")
        yield from prepare_run(ws, run.recipe, run=run)
        with _room():
            setup = set_up(ws, run.recipe, device=device, run=run, ranks=ranks)
        if setup.facts["clips"] != run.document("facts.json").get("clips"):
            raise TrainError(
                f"the clips are not those {run.name} began with, so it cannot go on exactly:"
                f" start from its weights with 'olu train {ws.root} --from-run {run.name} --new'"
            )
        yield Note(f"going on with {run.name}")
        for sentence in setup.notes:
            yield Note(sentence)
        return (yield from _go(ws, run, setup, view))
    start = parse_start(ws, from_run) if from_run else None
    size = start[0].recipe.model.get("size") if start else None
    own = start[0].folder / "recipe.toml" if start else None
    settings, said = yield from choose_recipe(ws, recipe=recipe or own, overrides=changes, base=base, device=device)
    for sentence in said:
        yield Note(sentence)
    if start and settings.model.get("size") != size:
        raise TrainError(f"recipe: model.size has no effect with --from-run: {start[0].name} has its own sizes")
    yield from prepare_run(ws, settings, run=start[0] if start else None)
    with _room():
        setup = set_up(ws, settings, device=device, start=start, ranks=ranks)
    for sentence in setup.notes:
        yield Note(sentence)
    if dry:
        return TrainSummary(run="(dry run)", steps=0, dry=dry_run(setup))
    if not new:
        if (earlier := _stage(setup).done(ws, _options(setup))) and (ws.runs / earlier["run"] / "result.json").exists():
            return TrainSummary(**{**earlier, "fresh": True, "speaks": setup.family.speaks})
        if (unfinished := _unfinished(ws, speaks=setup.family.speaks)) is not None:
            raise UnfinishedRun(ws, unfinished, setup)
    run = Run.create(ws.runs, setup.recipe, facts=setup.facts, documents=setup.documents)
    return (yield from _go(ws, run, setup, view))


@contextmanager
def _room() -> Iterator[None]:
    """A model that is larger than the memory is a setting to change, not a bug."""
    from olu.train.engine import NO_ROOM

    try:
        yield
    except (RuntimeError, MemoryError) as bad:
        said = str(bad).lower()
        if not isinstance(bad, MemoryError) and not any(words in said for words in ("out of memory", *NO_ROOM)):
            raise
        raise TrainError(
            "the model does not fit into the memory: choose a smaller model.size or lower [model]"
        ) from None


def check_device(device: str) -> None:
    import torch

    if device not in ("cpu", "cuda", "mps"):
        raise TrainError(f"unknown device {device!r}: use cpu, cuda or mps")
    if device == "cuda" and not torch.cuda.is_available():
        raise TrainError("no CUDA device here: use --device cpu, or install a torch built for your GPU")
    if device == "mps" and not torch.backends.mps.is_available():
        raise TrainError("no Apple GPU here: use --device cpu")


def _unfinished(ws: Workspace, *, speaks: bool | None = None) -> Run | None:
    """The newest of the voices or the newest of the recognisers, where it has no end; the later one of both."""
    runs = Run.all(ws.runs)
    of_kind = {kind: [run for run in runs if does_speak(run) is kind][-1:] for kind in (True, False)}
    newest = [run for kind, last in of_kind.items() for run in last if speaks in (None, kind)]
    open_ = [run for run in newest if run.result is None]
    return max(open_, key=runs.index) if open_ else None


def _options(setup: Setup) -> dict[str, Any]:
    return {"recipe": setup.facts["recipe"], "from": setup.facts["from"]}


def _go(ws: Workspace, run: Run, setup: Setup, view: Watching) -> Training:
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


def _follow(ws: Workspace, *, device: str, ranks: Ranks) -> Training:
    """Train along with the first process: it alone writes and speaks."""
    from olu.stages.train_setup import set_up

    run = Run(ws.runs / ranks.from_first(""))
    setup = set_up(ws, run.recipe, device=device, run=run, ranks=ranks)
    engine = setup.engine(run)
    if ranks.from_first(False):
        engine.resume()
    try:
        reports = list(engine.train())
    except RuntimeError as bad:
        if not _is_lost(bad):
            raise
        return TrainSummary(run=run.name, steps=engine.step, stopped="another process ended", leads=False)
    stopped = next((e.message for r in reports[-1:] for e in r.events if e.verdict is Verdict.STOP), None)
    return TrainSummary(run=run.name, steps=engine.step, stopped=stopped, leads=False)
    yield  # makes this a generator like its brother


def _train(ws: Workspace, run: Run, setup: Setup, view: Watching) -> Training:
    begun = _stage(setup).inputs(ws, _options(setup))  # clips may be dropped while it trains
    engine = setup.engine(run)
    if setup.ranks.from_first(bool(engine.checkpoints.steps())):
        for sentence in engine.resume():
            yield Note(sentence)
    run.rewind_records(engine.step, rewinds=engine.rewinds)
    if engine.best:
        run.write_best(engine.best, metric=setup.metric)
    yield Note(f"{run.name}: {setup.describe()}, from step {engine.step} to {engine.plan.steps}")
    stopped, ended = None, False
    viewer = Viewer(
        run,
        family=setup.family,
        settings=view.settings,
        step=engine.step,
        rewinds=engine.rewinds,
        steps=engine.plan.steps,
        again=f"olu train {shlex.quote(str(ws.root))} --resume",
    )
    profile = Profile(run.folder, steps=view.profile)
    with Recorder(run) as recorder, viewer:
        yield from map(Note, viewer.sentences())
        for report in profile.over(engine.train()):
            recorder.record(report, best=engine.best, metric=setup.metric)
            viewer.show(report, best=engine.best)
            yield report
            yield from map(Note, viewer.sentences() + profile.sentences())
            stopped = next((e.message for e in report.events if e.verdict is Verdict.STOP), None)
            ended = report.ends
        yield from map(Note, profile.sentences())
        if not ended:
            viewer.finish(stopped=stopped)
    speaks = setup.family.speaks
    summary = TrainSummary(run=run.name, steps=engine.step, best=run.best, stopped=stopped, speaks=speaks)
    if stopped is None:  # stamped first: a kill between the two leaves a run that --resume finishes at once
        told = {"run": summary.run, "steps": summary.steps, "best": summary.best}
        _stage(setup).stamp(ws, _options(setup), told, inputs=begun)
    if not ended:  # a budget that was used up leaves a run to go on with
        run.finish(steps=engine.step, stopped=stopped)
    return summary

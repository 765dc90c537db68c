"""Train a voice: everything a run needs, from the recipe to the last checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from olu.core.errors import TrainError
from olu.core.extras import need_training
from olu.core.files import Workspace
from olu.core.job import Job, Note
from olu.families import family as family_named
from olu.families.runs import kind_of, passed_over, runs_of, whole_runs
from olu.stages.plan import advice_on, choose_recipe, recipe_path
from olu.stages.run_state import run_state
from olu.stages.threads import said_of_change, use_threads_for
from olu.stages.train_go import follow, go
from olu.stages.train_stage import STAGES, TrainSummary, options_of, stage_of
from olu.train.family import Kind
from olu.train.machine import take_device
from olu.train.recipe import read_recipe
from olu.train.run import Run
from olu.train.view.workspace_settings import watching

if TYPE_CHECKING:
    from olu.train.ranks import Ranks


BESIDE = "; or add --new to train another beside it"


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
    scratch: bool = True,
    compares: bool = False,
) -> Job[TrainSummary]:
    """Start a run, or go on with one. Yields progress, sentences and a `Report` per step.

    `resumed` names the run to go on with, where it need not be the newest. Without `scratch` hours from scratch on too
    little speech are refused, unless a recipe asks for them. Beside an unfinished run a new one is refused at once, or
    with `compares` after the earlier stages, when it is known whether both have the same settings.

    Under torchrun the first process does all of this, and the others only train along.
    """
    need_training("olu train")
    from olu.train.ranks import joined  # torch comes with it

    device = take_device(device)
    with joined(device) as (ranks, own):
        if not ranks.leads:
            return (yield from follow(ws, device=own, ranks=ranks))
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
                scratch=scratch or dry,
                compares=compares,
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
    scratch: bool,
    compares: bool,
) -> Job[TrainSummary]:
    from olu.stages.train_dry import dry_run
    from olu.stages.train_setup import prepare_run, set_up
    from olu.stages.train_start import parse_start

    view, changes = watching(ws, list(overrides or []), profile=profile)
    if resume:
        if recipe or changes or base or from_run or new or dry:
            raise TrainError("--resume goes on with a run as it is: to change settings use --from-run RUN")
        run = Run.named(ws.runs, resumed) if resumed else _unfinished(ws)
        damaged = [] if resumed else passed_over(ws, run)
        if run is not None and run.is_claimed():
            raise being_trained(run)
        if run is None:
            told = f"{ws.root} has no unfinished run: start one with 'olu train {ws.root}'"
            raise TrainError(". ".join([told, *damaged]))
        yield from map(Note, damaged)
        before = run.document("facts.json")
        yield from map(Note, use_threads_for(before, run=run.name, device=device))
        yield from map(Note, (yield from prepare_run(ws, run.recipe, run=run)))
        with _room():
            setup = set_up(ws, run.recipe, device=device, run=run, ranks=ranks)
        if setup.facts["clips"] != before.get("clips"):
            raise TrainError(
                f"the clips are not those {run.name} began with, so it cannot go on exactly:"
                f" start from its weights with 'olu train {ws.root} --from-run {run.name} --new'"
            )
        yield Note(f"going on with {run.name}")
        yield from map(Note, said_of_change(before, setup.facts, run=run.name))
        for sentence in setup.notes:
            yield Note(sentence)
        return (yield from go(ws, run, setup, view))
    if not (new or dry or compares or from_run):
        _refuse_beside_unfinished(ws, recipe, changes)
    yield from map(Note, use_threads_for(None, run="", device=device))
    start = parse_start(ws, from_run) if from_run else None
    size = start[0].recipe.model.get("size") if start else None
    own = start[0].folder / "recipe.toml" if start else None
    settings, said = yield from choose_recipe(
        ws, recipe=recipe or own, overrides=changes, base=base, device=device, scratch=scratch
    )
    for sentence in said:
        yield Note(sentence)
    if start is None and (advice := advice_on(ws, settings)):
        yield Note(advice.sentence())
    if start and settings.model.get("size") != size:
        raise TrainError(f"recipe: model.size has no effect with --from-run: {start[0].name} has its own sizes")
    yield from map(Note, (yield from prepare_run(ws, settings, run=start[0] if start else None)))
    with _room():
        setup = set_up(ws, settings, device=device, start=start, ranks=ranks)
    for sentence in setup.notes:
        yield Note(sentence)
    if dry:
        return TrainSummary(run="(dry run)", steps=0, dry=dry_run(setup))
    if not new:
        if (earlier := stage_of(setup).done(ws, options_of(setup))) and _is_there(ws, earlier["run"]):
            return TrainSummary(**{**earlier, "fresh": True, "speaks": setup.family.kind == "voice"})
        if (unfinished := _unfinished(ws, kind=setup.family.kind)) is not None:
            if unfinished.is_claimed():
                raise being_trained(unfinished, other=BESIDE)
            same = unfinished.document("facts.json")["recipe"] == setup.facts["recipe"]
            raise UnfinishedRun(ws, unfinished, same_recipe=same)
        _refuse_beside_damage(ws, kind=setup.family.kind)
    run = Run.create(ws.runs, setup.recipe, facts=setup.facts, documents=setup.documents)
    return (yield from go(ws, run, setup, view))


def being_trained(run: Run, *, other: str = "") -> TrainError:
    stands = run_state(run)
    return TrainError(
        f"{run.name} is being trained by another process (step {stands.step} of {stands.steps}): wait for it or"
        f" stop it{other}"
    )


@contextmanager
def _room() -> Iterator[None]:
    """A model that is larger than the memory is a setting to change, not a bug."""
    from olu.train.memory import NO_ROOM

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
    """The newest of each kind, where it has no end; the latest of them."""
    runs = whole_runs(ws)
    newest = {kind_of(run): run for run in runs}
    open_ = [run for of, run in newest.items() if kind in (None, of) and run.result is None]
    return max(open_, key=runs.index) if open_ else None


def _refuse_beside_unfinished(ws: Workspace, recipe: Path | None, changes: list[str]) -> None:
    """Before anything is read or listened to; where an earlier run may be the one that is asked for, that decides."""
    own = recipe_path(ws)
    kind = family_named(read_recipe(recipe or (own if own.exists() else None), changes).family).kind
    run = _unfinished(ws, kind=kind)
    if run is None or STAGES[kind].state(ws) == "fresh":
        return
    raise being_trained(run, other=BESIDE) if run.is_claimed() else UnfinishedRun(ws, run, same_recipe=False)


def _refuse_beside_damage(ws: Workspace, *, kind: Kind) -> None:
    """The newest run might be the one that was asked for, or wait to be gone on with: its owner decides."""
    newest = runs_of(ws, kind)[-1:]
    if damaged := passed_over(ws, newest[0] if newest else None, kind=kind):
        raise TrainError(f"{'. '.join(damaged)}. Or add --new to train another")


def _is_there(ws: Workspace, name: str) -> bool:
    run = Run(ws.runs / name)
    return not run.fault and run.result is not None

"""A second recogniser, from half of the training side: where both agree, neither has learnt a fault by heart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.job import Job
from olu.corpus.manifest import Corpus
from olu.families.runs import runs_of
from olu.stages.recogniser import SECOND_HALF, as_ticks
from olu.stages.train import train
from olu.train.machine import this_machine
from olu.train.run import Run

if TYPE_CHECKING:
    from olu.families.recogniser.recognise import Trained


def second_recogniser(ws: Workspace, *, device: str | None = None) -> Job[Trained]:
    """The newest finished one of this corpus; an unfinished one is gone on with, else a new one is trained."""
    from olu.families.recogniser.recognise import load

    where = this_machine(device).device
    corpus = Corpus.open(ws).fingerprint
    second = [run for run in runs_of(ws, "listener") if is_second(run)]
    fitting = [run for run in second if run.document("facts.json").get("corpus") == corpus]
    if done := [run for run in fitting if run.finished]:
        return load(done[-1], language=ws.language, device=where)
    if open_ := [run for run in fitting if run.result is None and run.checkpoints().steps() and not run.is_claimed()]:
        work = train(ws, resume=True, resumed=open_[-1].name, device=where)
    else:
        changes = ["family=recogniser", "model.units=letters", f"data.hold_back={SECOND_HALF}"]
        work = train(ws, overrides=changes, new=True, device=where)
    summary = yield from as_ticks(work, "second recogniser")
    if summary.stopped:
        raise TrainError(f"{summary.run} stopped at step {summary.steps}: {summary.stopped}")
    return load(Run.named(ws.runs, summary.run), language=ws.language, device=where)


def is_second(run: Run) -> bool:
    return run.recipe.data.hold_back == SECOND_HALF and run.recipe.model.get("units") == "letters"

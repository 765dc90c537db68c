"""A second recogniser, from half of the training side: where both agree, neither has learnt a fault by heart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from olu.corpus.manifest import Corpus
from olu.errors import TrainError
from olu.files import Workspace
from olu.stages.kinds import listeners
from olu.stages.machine import this_machine
from olu.stages.recogniser import SECOND_HALF
from olu.stages.train import train
from olu.train.run import Run
from olu.types import Tick, Work

if TYPE_CHECKING:
    from olu.families.recogniser.recognise import Trained


def second_recogniser(ws: Workspace, *, device: str | None = None) -> Work[Trained]:
    """The newest finished one of this corpus, or a new one."""
    from olu.families.recogniser.recognise import load
    from olu.train.report import Report

    where = device or this_machine().device
    corpus = Corpus.open(ws).fingerprint
    done = [run for run in listeners(ws) if is_second(run) and run.finished]
    fitting = [run for run in done if run.document("facts.json").get("corpus") == corpus]
    if fitting:
        return load(fitting[-1], language=ws.language, device=where)
    changes = ["family=recogniser", "model.units=letters", f"data.hold_back={SECOND_HALF}"]
    work = train(ws, overrides=changes, new=True, device=where)
    while True:
        try:
            seen = next(work)
        except StopIteration as end:
            summary = end.value
            break
        if isinstance(seen, Tick):
            yield seen
        elif isinstance(seen, Report):
            yield Tick(seen.step, seen.steps, "second recogniser")
    if summary.stopped:
        raise TrainError(f"{summary.run} stopped at step {summary.steps}: {summary.stopped}")
    return load(Run.named(ws.runs, summary.run), language=ws.language, device=where)


def is_second(run: Run) -> bool:
    return run.recipe.data.hold_back == SECOND_HALF and run.recipe.model.get("units") == "letters"

"""How far a run is: one answer for every verb that shows runs."""

from __future__ import annotations

from dataclasses import dataclass

from olu.train.run import Run
from olu.train.view.history import whole_rows


@dataclass(frozen=True)
class RunState:
    state: str  # running, unfinished, finished, stopped or damaged
    step: int  # steps done
    steps: int  # of its plan; 0 where that cannot be read
    saved: int  # the step of its last checkpoint: what --resume goes on from
    fault: str = ""  # what is wrong with a damaged one, and what to do

    def sentence(self) -> str:
        if self.fault:
            return f"damaged: {self.fault}"
        kept = f", saved at step {self.saved}" if self.state in ("running", "unfinished") else ""
        return f"{self.state} at step {self.step} of {self.steps}{kept}"


def run_state(run: Run) -> RunState:
    saved = max(run.checkpoints().steps(), default=0)
    if fault := run.fault:
        return RunState("damaged", saved, 0, saved, fault)
    step = 0
    for held in whole_rows(run.folder / "metrics.jsonl"):
        step = held["step"]
    return RunState(_state(run), step, run.recipe.plan.steps, saved)


def _state(run: Run) -> str:
    if run.is_locked():
        return "running"
    if (result := run.result) is not None:
        return "finished" if result["finished"] else "stopped"
    return "unfinished"

"""A whole run beside the same batches of made sound: `python benchmarks/train_epochs.py WS RUN`, on the GPU it ran on.

The run's own figures come from its metrics.jsonl: clips over seconds, with and without what is no step.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from train_step import machine

from olu.core.files import Workspace, write_json
from olu.stages.train_setup import set_up
from olu.train.family import Example
from olu.train.run import Run

WARM_EPOCHS = 6  # every shape that comes often is recorded by then


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("ws", type=Path)
    ask.add_argument("run")
    ask.add_argument("--epochs", type=int, default=40)
    ask.add_argument("--json", type=Path)
    given = ask.parse_args()
    ws = Workspace.open(given.ws)
    run = Run.named(ws.runs_folder, given.run)
    found = {"machine": machine(), "run": of_the_run(run), "made": made(ws, run, epochs=given.epochs)}
    found["share"] = found["run"]["samples_per_s_of_steps"] / found["made"]["samples_per_s"]
    found["share_of_whole_run"] = found["run"]["samples_per_s"] / found["made"]["samples_per_s"]
    print(json.dumps(found, indent=1))
    if given.json:
        write_json(given.json, found)


def of_the_run(run: Run) -> dict[str, Any]:
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    steps = [row for row in rows if "clips" in row]
    wall = (run.folder / "metrics.jsonl").stat().st_mtime - (run.folder / "facts.json").stat().st_mtime
    usual = 3 * float(np.median([row["seconds"] for row in steps]))
    quick = [row for row in steps if row["seconds"] < usual]  # not those that record a shape, validate or save
    clips = sum(row["clips"] for row in steps)
    return {
        "steps": len(steps),
        "clips": clips,
        "wall_s": wall,
        "samples_per_s": clips / wall,
        "samples_per_s_of_steps": sum(row["clips"] for row in quick) / sum(row["seconds"] for row in quick),
    }


def made(ws: Workspace, run: Run, *, epochs: int) -> dict[str, Any]:
    setup = set_up(ws, run.recipe, device="cuda", run=run)
    random = np.random.default_rng(0)
    noise = {clip: (3000 * random.standard_normal(setup.store.length(clip))).astype(np.int16) for clip in setup.train}
    real = setup.example

    def example(clip: str) -> Example:
        return replace(real(clip), samples=noise[clip])

    with tempfile.TemporaryDirectory() as folder:
        own = Run.create(Path(folder), endless(setup.recipe), facts=setup.facts, documents=setup.documents)
        setup = replace(setup, recipe=own.recipe, start=None)
        object.__setattr__(setup, "example", example)
        engine = setup.engine(own)
        while engine.batches.epoch < WARM_EPOCHS:
            engine.advance()
        torch.cuda.synchronize()
        began, first, clips = time.monotonic(), engine.batches.epoch, 0
        while engine.batches.epoch < first + epochs:
            clips += engine.advance().clips
        torch.cuda.synchronize()
    took = time.monotonic() - began
    return {"clips": clips, "samples_per_s": clips / took, "peak_gib": torch.cuda.max_memory_reserved() / 2**30}


def endless(recipe: Any) -> Any:
    far = {"steps": 10**6, "validate_every": 10**6, "save_every": 10**6, "max_hours": 0.0}
    return recipe.model_copy(update={"plan": recipe.plan.model_copy(update=far)})


if __name__ == "__main__":
    main()

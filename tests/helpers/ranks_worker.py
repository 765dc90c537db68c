"""One process of a training under torchrun: a toy, its engine, and a fault if asked for."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.helpers import toys

from olu.core.halt import heeded
from olu.train.ranks import joined

PLAN = {"steps": 12, "save_every": 3, "validate_every": 4, "batch_clips": 5}


def main(folder: Path, name: str, *, accumulate: int, kill_at: int, stop_at: int) -> None:
    torch.manual_seed(1)
    learner = {"tokens": lambda: toys.Tokens(ema=0.9, clip=1.0), "judged": toys.Judged}[name]()
    with joined("cpu") as (ranks, _):
        engine = toys.engine(learner, folder / "checkpoints", accumulate=accumulate, ranks=ranks, **PLAN)
        if ranks.from_first(bool(engine.checkpoints.steps())):
            engine.resume()
        with heeded(wait=True) as engine.asked:
            for report in engine.train():
                if report.step == kill_at and ranks.rank == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                if report.step == stop_at - 1 and ranks.rank == 1:
                    os.kill(os.getpid(), signal.SIGTERM)
        if engine.halted:
            (folder / f"stopped-{ranks.rank}.txt").write_text(f"{engine.step} {engine.halted}")
        elif ranks.leads:
            save_file(dict(engine.snapshot().weights), folder / "end.safetensors")
            (folder / "best.txt").write_text(repr(engine.best))


if __name__ == "__main__":
    main(
        Path(sys.argv[1]), sys.argv[2], accumulate=int(sys.argv[3]), kill_at=int(sys.argv[4]), stop_at=int(sys.argv[5])
    )
    sys.stderr.flush()
    os._exit(0)  # as the tool does after a stop: a native thread that asks for the interpreter while it goes aborts it

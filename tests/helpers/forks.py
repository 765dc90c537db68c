"""Processes that begin with Python and torch loaded: copies of one server, which loads them once."""

from __future__ import annotations

from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from typing import Any

FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(
    ["olu.cli.main", "olu.train.setup.job", "olu.stages.train", "torch._dynamo", "torch.distributed"]
)


def begun(code: str, **names: Any) -> BaseProcess:
    """A process that runs this program, with these names in it."""
    process = FORKS.Process(target=exec, args=(code, {"__name__": "forked", **names}))
    process.start()
    return process

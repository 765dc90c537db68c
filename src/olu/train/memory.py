"""When the memory is full: the same clips in smaller pieces, and what is said of it."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import torch

from olu.core.words import many
from olu.train.guards import GuardEvent, Verdict

if TYPE_CHECKING:
    from olu.train.engine import Engine

NO_ROOM = ("not enough memory", "allocate memory", "could not create a primitive")  # the last is oneDNN's, on CPUs


class Full(Exception):
    """Some process ran out of memory; the argument is the place of the micro-batch."""


def in_pieces(clips: list[str], number: int) -> list[list[str]]:
    """`clips` dealt into at most `number` pieces of almost the same size."""
    return [clips[first::number] for first in range(min(number, len(clips)))]


def lighter(engine: Engine, clips: list[str]) -> GuardEvent:
    """After the memory was full: the same clips in smaller pieces, or without the one that is too much alone."""
    for live in engine.live.values():
        live.clear()
    if engine.device.type == "cuda":
        torch.cuda.empty_cache()
    longest = max(clips, key=engine.batches.length)
    said = f"the memory was full with clip {longest} ({engine.batches.length(longest):.1f} s) in the batch"
    if len(clips) > engine.ranks.size:
        engine.pieces *= 2
        most = many(-(-len(clips) // 2), "clip")
        message = f"{said}: from now on at most {most} at a time; the effective batch stays"
        return GuardEvent(engine.step, "memory", Verdict.NOTE, message, (longest,))
    if engine.batches.length(longest) <= median(engine.batches.seconds):
        message = f"{said}, alone, and it is not even long: this voice needs more memory; try a smaller model.size"
        return GuardEvent(engine.step, "memory", Verdict.STOP, message, (longest,))
    engine.batches.put_aside([longest])
    message = f"{said}, which does not fit even alone: it is left out; cut it, or lower data.max_seconds"
    return GuardEvent(engine.step, "memory", Verdict.SKIP, message, (longest,))

"""Which jobs keep out of each other's way: one stage at a time changes a workspace, one heavy job has the device."""

from __future__ import annotations

from functools import cache
from pathlib import Path

CORPUS, DEVICE = "corpus", "device"
LANES: dict[str, tuple[str, ...]] = {
    "make": (CORPUS, DEVICE),
    "import": (CORPUS,),
    "merge": (CORPUS,),
    "audit": (CORPUS,),
    "split": (CORPUS,),
    "read": (CORPUS,),
    "align": (CORPUS, DEVICE),
    "cut": (CORPUS,),
    "prepare": (CORPUS, DEVICE),
    "clean": (CORPUS,),
    "pack": (CORPUS,),
    "export": (CORPUS,),
    "export-corpus": (CORPUS,),
    "transcribe": (CORPUS, DEVICE),
    "distil": (CORPUS, DEVICE),
    "train": (DEVICE,),
    "tune": (DEVICE,),
    "evaluate": (DEVICE,),
    "listening": (DEVICE,),
    "prompts": (CORPUS,),
}


def lanes_of(verb: str, *, about: str) -> tuple[str, ...]:
    """The lanes of a job, by names that are the same for jobs that must wait for each other."""
    return tuple(f"{CORPUS} {about}" if lane == CORPUS else lane for lane in LANES.get(verb, ()))


@cache
def devices() -> int:
    """How many heavy jobs may run at once: one for each GPU, or one."""
    gpus = Path("/proc/driver/nvidia/gpus")
    return max(1, len(list(gpus.iterdir())) if gpus.is_dir() else 0)

"""How many threads torch uses. Its threads wait for each other in every operation, and spin while they wait: where
another program has a core, all crawl. So there are as many as there are free cores, and a run keeps its number, for
another one rounds differently.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from olu.core.machine import cores_here
from olu.core.words import many

VARIABLE = "OMP_NUM_THREADS"
LOOKS, SPAN, APART = 3, 0.1, 0.15  # looks at how busy the machine is, seconds of each and between them
BLOCK = bytes(1 << 20)  # hashing one lets other threads run
SLACK, SLACK_A_CORE = 0.3, 0.03  # cores that may seem taken on an idle machine
ROUND = 0.35  # of a core more counts as a whole one

_asked: list[int] = []  # by --threads


@dataclass(frozen=True)
class Threads:
    number: int
    cores: int  # this process may use
    why: str
    free: float | None = None  # cores, where it was measured
    fewer: bool = False  # than torch would take, because others have the cores


def ask_for(number: int | None) -> None:
    """Remember how many threads a person wants for this command; None: Olu chooses."""
    _asked[:] = [] if number is None else [number]


def settle(number: int | None) -> list[str]:
    """As `ask_for`; returns what is to be told of the choice."""
    ask_for(number)
    return said_of(choose())


def choose(held: int | None = None) -> Threads:
    """How many threads to compute with, and why; `held`: the number a run began with."""
    cores = cores_here()
    told = re.match(r"\s*([1-9]\d*)", os.environ.get(VARIABLE, ""))
    if _asked:
        return Threads(_asked[0], cores, "--threads says so")
    if told:
        return Threads(int(told[1]), cores, f"{VARIABLE} says so")
    free, most = free_cores(cores), _most(cores)
    if held is not None and held <= cores:
        return Threads(held, cores, "the run began with as many", free)
    taken = cores - free >= SLACK + SLACK_A_CORE * cores
    number = min(most, max(1, int(free + ROUND))) if taken else most
    if number < most:
        return Threads(number, cores, f"other programs take the rest, {free:.1f} are free", free, fewer=True)
    return Threads(most, cores, "they are free" if not taken else f"{free:.1f} are free", free)


@cache
def free_cores(cores: int) -> float:
    """Seconds of computing that so many threads get in a second: the least of a few looks, for others come and go."""
    if cores == 1:
        return 1.0
    found = [_looked(cores)]
    while len(found) < LOOKS and found[-1] > 1:
        time.sleep(APART)
        found.append(_looked(cores))
    return min(found)


def _looked(cores: int) -> float:
    used: list[float] = []
    gate = threading.Barrier(cores + 1)

    def work() -> None:
        gate.wait()
        end, began = time.monotonic() + SPAN, time.thread_time()
        while time.monotonic() < end:
            hashlib.sha256(BLOCK).digest()
        used.append(time.thread_time() - began)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(cores)]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.monotonic()
    for thread in threads:
        thread.join()
    return min(float(cores), sum(used) / (time.monotonic() - began))


def _most(cores: int) -> int:
    """The threads torch takes by itself, where it is loaded: of hyperthreads every other one."""
    return min(cores, _first_number()) if "torch" in sys.modules else cores


@cache
def _first_number() -> int:
    import torch

    return int(torch.get_num_threads())


def use_threads() -> None:
    """Set torch's threads, where it computes without a run of its own."""
    _used(choose())


def use_threads_for(facts: Mapping[str, Any] | None, *, run: str, device: str) -> list[str]:
    """Set torch's threads for a run on this device that has these facts, or for a new one."""
    if device != "cpu" and not _asked:
        return []
    held = facts.get("threads") if facts else None
    chosen = choose(held if isinstance(held, int) else None)
    said = _used(chosen)
    if chosen.number == held and chosen.free is not None and chosen.free + ROUND < chosen.number:
        said = [
            f"{run} goes on with {chosen.number} threads, as it began, though only {chosen.free:.1f} cores are free:"
            " --threads 1 may be quicker, and will not be bit for bit the run that was never stopped"
        ]
    return said


def _used(chosen: Threads) -> list[str]:
    import torch

    _first_number()
    torch.set_num_threads(chosen.number)
    return said_of(chosen)


def said_of(chosen: Threads) -> list[str]:
    if not chosen.fewer:
        return []
    return [
        f"torch uses {many(chosen.number, 'thread')} on {chosen.cores} cores: {chosen.why}; --threads decides otherwise"
    ]


SAME = {"threads": "threads", "torch": "torch", "machine": "machine", "device": "device"}  # what changes the bits


def said_of_change(before: Mapping[str, Any], now: Mapping[str, Any], *, run: str) -> list[str]:
    """One sentence where a run goes on under other conditions; facts that it did not know of itself are passed over."""
    apart = [name for key, name in SAME.items() if before.get(key) is not None and before[key] != now.get(key)]
    if not apart:
        return []
    told = ", ".join(f"{name} {before[key]} -> {now.get(key)}" for key, name in SAME.items() if name in apart)
    return [f"{run} began under other conditions ({told}): it goes on, but not bit for bit as if it had never stopped"]

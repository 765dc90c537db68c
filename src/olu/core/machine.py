"""What this machine has in all. Not what is free just now: a plan made twice must be the same."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from olu.core.errors import TrainError

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container
QUOTA = "/sys/fs/cgroup/cpu.max"  # microseconds of computing, and in how many
OLD_QUOTA = ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us")
CPU_FACTS, BF16_FLAG = Path("/proc/cpuinfo"), "avx512_bf16"
UNKNOWN_BYTES = 8e9  # where the system does not tell


@dataclass(frozen=True, kw_only=True)
class Machine:
    device: str  # cpu, cuda or mps
    name: str
    memory: float  # bytes that it has in all, so that a plan does not change with what else runs
    cores: int
    bf16: bool = False
    fp16: bool = False  # with cores of its own for it: faster than fp32, not only smaller
    devices: int = 1


def version_of(package: str) -> str:
    """The version of an installed package; a question mark where it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"


def this_machine(device: str | None = None) -> Machine:
    """The device that is asked for, or the best there is."""
    cores = cores_here()
    kind = take_device(device or best_device())
    if kind == "cuda":
        import torch

        facts = torch.cuda.get_device_properties(torch.cuda.current_device())
        return Machine(
            device="cuda",
            name=str(facts.name),
            memory=float(facts.total_memory),
            cores=cores,
            bf16=facts.major >= 8,  # torch would also emulate it on older ones
            fp16=facts.major >= 7,
            devices=torch.cuda.device_count(),
        )
    name = f"this {platform.machine()} CPU" if kind == "cpu" else "this Apple GPU"
    return Machine(device=kind, name=name, memory=_ram(), cores=cores)


def cpu_has_bf16() -> bool:
    """Whether this CPU multiplies in bf16 itself; Linux tells it."""
    try:
        flags = CPU_FACTS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return BF16_FLAG in flags


def cores_here() -> int:
    """How many cores this process may use: of the machine, its own set, and what a container allows."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for files in ((QUOTA,), OLD_QUOTA):
        try:
            words = [word for path in files for word in Path(path).read_text(encoding="ascii").split()]
            allowed, period = float(words[0]), float(words[1])
        except (OSError, ValueError, IndexError):  # not there, or "max"
            continue
        if allowed > 0 and period > 0:
            cores = min(cores, max(1, int(allowed / period)))
    return cores


def take_device(name: str) -> str:
    """Check the device that was asked for, and make `cuda:1` the GPU that "cuda" means from here on in this process."""
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (number and (kind != "cuda" or not number.isdecimal())):
        raise TrainError(f"unknown device {name!r}: use cpu, cuda, cuda:0 (or another number) or mps")
    if kind == "cpu":
        return kind
    import torch

    if kind == "mps" and not torch.backends.mps.is_available():
        raise TrainError("no Apple GPU here: use --device cpu")
    if kind == "cuda" and not _cuda():
        raise TrainError("no CUDA device here: use --device cpu, or install a torch built for your GPU")
    if number:
        _choose(int(number))
    return kind


def _choose(number: int) -> None:
    import torch

    if started_by_torchrun():
        raise TrainError("torchrun gives every process a GPU of its own: use --device cuda")
    if number >= (known := torch.cuda.device_count()):
        raise TrainError(f"no device cuda:{number}: this machine has {known}, cuda:0 to cuda:{known - 1}")
    torch.cuda.set_device(number)


def started_by_torchrun() -> bool:
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def best_device() -> str:
    return "cuda" if _cuda() else "cpu"


def _cuda() -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    return bool(torch.cuda.is_available())


def _ram() -> float:
    try:
        size = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        size = UNKNOWN_BYTES
    for path in map(Path, LIMITS):
        try:
            size = min(size, float(path.read_text(encoding="ascii")))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return size

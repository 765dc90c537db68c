"""How much memory a worker may take, so that one voice cannot take the machine's."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

SHARE = 0.75  # of the machine's memory, for all workers together
LEAST = 1 << 30  # bytes a worker may take, however small the machine's share is
GROUPS = Path("/sys/fs/cgroup")


def share(workers: int) -> int:
    """Bytes for each worker; 0 where it is not known how much there is, or nothing can hold a process to it."""
    there = machine()
    return max(LEAST, int(there * SHARE) // workers) if there and _usable() else 0


def machine() -> int:
    """Bytes that this process could have: the machine's, or what a container or a service is given of them."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    return min([found, *_given()])


def _given() -> list[int]:
    """What the control groups of this process allow, the outer ones too."""
    try:
        own = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip().lstrip("/")
    except OSError:
        return []
    folder, found = GROUPS / own, list[int]()
    while folder.is_relative_to(GROUPS):
        try:
            told = (folder / "memory.max").read_text().strip()
        except OSError:
            told = "max"
        found += [int(told)] if told.isdecimal() and int(told) > 0 else []
        folder = folder.parent
    return found


def hold(most: int) -> bool:
    """Hold this process to so many bytes more than it has now: what goes over is refused to whoever asks for it."""
    if not most or not _usable():
        return False
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = taken + most
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    return True


def _usable() -> bool:
    return resource is not None and Path("/proc/self/statm").is_file()

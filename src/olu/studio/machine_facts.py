"""What the system says of itself: since when it runs, and how often it killed a process for want of memory."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")
COUNTS = (Path("/proc/vmstat"), Path("/sys/fs/cgroup/memory.events"))


def boot_id() -> str:
    try:
        return BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def memory_kills() -> int:
    """Processes that were killed because memory ran out, of the machine and of this container."""
    found = 0
    for path in COUNTS:
        with suppress(OSError, ValueError):
            for line in path.read_text(encoding="ascii").splitlines():
                name, _, count = line.partition(" ")
                found += int(count) if name == "oom_kill" else 0
    return found

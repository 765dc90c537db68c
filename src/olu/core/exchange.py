"""A new folder in the place of an old one: in one step of the system, or in two renames that can be taken back."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

AT_FDCWD = -100
RENAME_EXCHANGE = 2
CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)  # an old kernel, or a file system that does not
OWNER = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)(?P<old>\.old)?\.partial")  # how what is half done is called


def replace_folder(new: Path, path: Path) -> None:
    """`path` is the old folder or the new one at every moment, whole; `new` may hold the old one afterwards.

    Where the system cannot exchange two names there is a moment without either: `take_back` mends it.
    """
    if swap(new, path):
        return
    aside = new.with_name(f".{path.name}.{os.getpid()}.old.partial")
    shutil.rmtree(aside, ignore_errors=True)  # of a killed process that had our number; the old folder is at its place
    path.rename(aside)
    try:
        new.rename(path)
    except OSError:
        aside.rename(path)
        raise
    shutil.rmtree(aside)


def swap(one: Path, other: Path) -> bool:
    """Exchange two names at once; false where the system or the disk cannot."""
    call = _renameat2()
    if call is None:
        return False
    if call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(other))


@cache
def _renameat2() -> Any:
    if sys.platform != "linux":
        return None
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library without it
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call


def take_back(places: Iterable[Path]) -> list[Path]:
    """Put folders back that a killed process had moved aside, in these places, where nothing took their name since."""
    found = []
    for place in places:
        try:
            left = [entry for entry in os.scandir(place) if entry.name.endswith(".old.partial")]
        except OSError:  # not there
            continue
        for entry in left:
            match = OWNER.fullmatch(entry.name)
            if match is None or (int(match["pid"]) != os.getpid() and is_alive(int(match["pid"]))):
                continue  # our own number is that of a process that had it before
            path = place / match["name"]
            if not path.exists():
                try:
                    Path(entry.path).rename(path)
                except OSError:  # a place one may only read
                    continue
                found.append(path)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process has this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True

"""What `olu studio` was told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StudioSettings:
    roots: tuple[Path, ...]  # what may be seen and changed lies below these
    key: str  # opens the studio, in the address once and then as a cookie
    host: str = "127.0.0.1"
    port: int = 8420
    behind_proxy: str = ""  # the address of the proxy that may pass requests on
    secure: bool = False  # https, by our own certificate or the proxy's
    passphrase: bool = False  # whether one opens it in place of the key
    most_upload: int = 64 * 2**30  # bytes of one file
    leave_free: int = 2**30  # bytes of a disk that uploads leave free

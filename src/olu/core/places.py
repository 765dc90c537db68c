"""Bases by name: a path here, the voice inside this package, or an id on the Hugging Face hub, kept in its cache."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from olu.core.errors import MissingExtra, TrainError
from olu.core.files import embedded_voice, is_embedded

# owner/name, a folder inside it, and a version
ID = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)((?:/[\w.-]+)*)(?:@([\w./-]+))?", re.ASCII)
SMALL = ("*.json", "*.txt", "*.md", "LICENSE*")
SAFE = "*.safetensors"
PICKLED = ("*.bin", "*.pth", "*.ckpt")


def is_hub_id(text: str) -> bool:
    return bool(ID.fullmatch(text)) and not Path(text).exists()


def named(text: str, *, beside: Path | None = None) -> str:
    """A base as a recipe keeps it: a name as it is, a path in full, from `beside` if it is relative."""
    path = (beside or Path()) / text
    return text if not path.exists() and (is_hub_id(text) or is_embedded(text)) else str(path.resolve())


def located(text: str) -> Path:
    """Where a base lies on this machine; an id on the hub is fetched if it is not there yet."""
    if is_embedded(text):
        if (voice := embedded_voice()) is None:
            raise TrainError("this Olu was built without a voice of its own: name a base by its folder or hub id")
        return voice
    return fetched(text) if is_hub_id(text) else Path(text)


def is_here(text: str) -> bool:
    """Whether a base can be asked what it allows."""
    return is_hub_id(text) or is_embedded(text) or Path(text).exists()


def fetched(id: str, *, weights: tuple[str, ...] = ()) -> Path:
    """Settings, words and weights of `owner/name`, or of a folder `owner/name/folder` in it; `@` names a version.

    `weights`: these files alone, where a repository has many; then no pickle is fetched.
    """
    parts = ID.fullmatch(id)
    if parts is None:
        raise TrainError(f"{id!r} is no id on the hub: it looks like owner/name")
    repo, under, version = parts[1], parts[2].removeprefix("/"), parts[3]
    prefix = f"{under}/" if under else ""
    wanted = [f"{prefix}{pattern}" for pattern in (*SMALL, *(weights or (SAFE,)))]
    place = _snapshot(repo, wanted, version=version, id=id) / under
    if not weights and not any(place.glob(SAFE)):
        wanted += [f"{prefix}{pattern}" for pattern in PICKLED]
        place = _snapshot(repo, wanted, version=version, id=id) / under
    if not place.is_dir() or not any(place.iterdir()):
        raise TrainError(f"{repo} on the hub has no folder {under!r}: check the name")
    return place


def _snapshot(repo: str, patterns: list[str], *, version: str | None, id: str) -> Path:
    try:
        import huggingface_hub
        from huggingface_hub import errors, utils
    except ImportError:
        raise MissingExtra(f"the base {id!r} on the hub", extra="hub", package="huggingface_hub") from None
    utils.logging.set_verbosity_error()  # what goes wrong is told below
    if not sys.stderr.isatty():
        utils.disable_progress_bars()
    try:
        return Path(huggingface_hub.snapshot_download(repo, revision=version, allow_patterns=patterns))
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError):
        raise TrainError(f"there is no {repo!r} on the hub, or it is not for everyone: check the name") from None
    except Exception as failed:  # no network has many faces; none of them is a mistake of ours
        raise TrainError(f"{_why(failed)}: {id!r} cannot be fetched, and is not in the cache") from None


def _why(failed: Any) -> str:
    told = " ".join(str(failed).split())
    offline = isinstance(failed, OSError) or "connect" in told.lower() or "offline" in told.lower()
    return "the hub cannot be reached" if offline else f"the hub answered {told[:160] or type(failed).__name__}"

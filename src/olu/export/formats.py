"""The formats a voice can be written in, the package and what each family declares, and the hub it can be put on."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, Literal

from olu.core.config import did_you_mean
from olu.core.errors import ExportError, MissingExtra
from olu.families import FAMILIES, family
from olu.train.family import Family, Format

VOICE = "voice"  # the one package that keeps everything; it is written by itself
WEB = "web"  # made of such a package: a folder for a browser


def formats() -> dict[str, Format]:
    """The formats of all families, by name."""
    speaking = [found.speaks for name in FAMILIES if (found := family(name)).speaks]
    return {one.name: one for speaks in speaking if speaks for one in speaks.formats}


def format_named(name: str, *, of: Family | None = None) -> Format:
    """The format that goes by this name; `of`: as that family writes it."""
    held = formats() if of is None else {one.name: one for one in (of.speaks.formats if of.speaks else ())}
    for one in held.values():
        if name in (one.name, *one.also):
            return one
    names = (VOICE, *held, WEB)
    if of is not None and name == "android":
        raise ExportError(
            f"a voice of the family {of.name!r} does not fit Android's engine: sherpa-onnx has room for one graph from"
            " ids to a mel, and ours has lengths and pitch in between; VITS voices fit"
        )
    if of is not None:
        raise ExportError(f"the family {of.name!r} has no format {name!r}: it has {', '.join(names)}")
    raise ExportError(f"cannot export to {name!r}{did_you_mean(name, names)}; there is: {', '.join(names)}")


# ---- the hub that an export is put on: a repository of its own, not for everyone unless asked


REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)


def check_repo(repo: str) -> None:
    """Refuse, before anything is made, what is no OWNER/NAME on the hub."""
    if not REPO.fullmatch(repo):
        raise ExportError(f"--push {repo!r} is no place on the hub: write it as OWNER/NAME")
    _library()


def push(folder: Path, repo: str, *, public: bool, kind: Literal["model", "dataset"] = "model") -> str:
    """Make the repository if it is not there and put the folder into it; returns its address."""
    api, utils = _library()
    utils.logging.set_verbosity_error()  # what goes wrong is told below
    if not sys.stderr.isatty():
        utils.disable_progress_bars()
    try:
        made = api.create_repo(repo, repo_type=kind, private=not public, exist_ok=True)
        api.upload_folder(repo_id=repo, repo_type=kind, folder_path=folder, commit_message="Made with Olu")
    except Exception as failed:  # the network has many faces; none of them is a mistake of ours
        raise ExportError(_sentence(failed, repo, folder)) from None
    return str(made)


def _library() -> tuple[Any, Any]:
    try:
        from huggingface_hub import HfApi, utils
    except ImportError:
        raise MissingExtra("--push", extra="hub", package="huggingface_hub") from None
    return HfApi(), utils


def _sentence(failed: Exception, repo: str, folder: Path) -> str:
    kept = f"the export is kept in {folder}"
    code = getattr(getattr(failed, "response", None), "status_code", None)
    if code == 401 or type(failed).__name__ == "LocalTokenNotFoundError":
        return f"the hub does not accept your token: log in with 'hf auth login', then push again; {kept}"
    if code == 403:
        return f"your token may not write to {repo!r}: take one with the right to write, or another OWNER/NAME; {kept}"
    if code == 404:
        return f"the hub has no place {repo!r} for you: check the owner's name; {kept}"
    told = " ".join(str(failed).split())[:160] or type(failed).__name__
    if code is None:
        return f"the hub cannot be reached ({told}): push again when the network is back; {kept}"
    return f"the hub answered {code} ({told}): push again later; {kept}"

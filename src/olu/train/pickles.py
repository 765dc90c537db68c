"""Files of weights from elsewhere: read as plain data, without running any code of theirs."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from olu.core.errors import TrainError

# Plain data that training programs store beside the tensors. A path is made as one that touches no file.
HARMLESS: list[Any] = [
    *((PurePosixPath, f"{module}.PosixPath") for module in ("pathlib", "pathlib._local")),
    *((PureWindowsPath, f"{module}.WindowsPath") for module in ("pathlib", "pathlib._local")),
    defaultdict,
    OrderedDict,
    dict,
]


MOST_VALUES, DEEPEST = 100_000, 32  # of settings


class Inert:
    """Stands for a class of another program: it keeps what was stored in it, and does nothing."""


def stored(path: Path, *, inert: Iterable[str] = ()) -> Any:
    """What a file of weights holds. A pickle is read only as far as it is plain data; tensors stay in the file.

    `inert`: classes by their full names that may stand in it, and are read as plain holders of their values.
    """
    if path.is_dir():
        raise TrainError(f"{path} is a folder, and should be a file of weights: download it again")
    if path.suffix == ".safetensors":
        try:
            return dict(load_file(path))
        except SafetensorError as bad:
            raise TrainError(f"{path} is damaged ({bad}): download it again") from None
    allowed = [*HARMLESS, *((Inert, name) for name in inert)]
    try:
        with torch.serialization.safe_globals(allowed):
            return torch.load(path, map_location="cpu", weights_only=True, mmap=_can_be_mapped(path))
    except FileNotFoundError:
        raise TrainError(f"{path} is not there: check the path") from None
    except Exception:  # torch raises many kinds; none of them may run code from the file
        raise TrainError(f"{path} holds more than plain tensors, or is damaged: convert it to safetensors") from None


def _can_be_mapped(path: Path) -> bool:
    """Old files are no archives, and have to be read whole."""
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def plain(value: Any) -> Any:
    """What was read as tables, lists and values: holders become tables of what they hold."""
    return _plain(value, [MOST_VALUES], DEEPEST)


def _plain(value: Any, left: list[int], deep: int) -> Any:
    """A file may hold itself, or one thing in many places: how much is gone through is bounded."""
    left[0] -= 1
    if left[0] < 0 or deep < 0:
        raise TrainError(
            "the settings inside the checkpoint are too many or hold themselves: put a config.json beside it"
        )
    if isinstance(value, Inert):
        value = vars(value)
    if isinstance(value, dict):
        return {key: _plain(one, left, deep - 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, left, deep - 1) for one in value]
    return value

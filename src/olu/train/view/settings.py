"""Where a run can be watched: [view] in the workspace's olu.toml, or --set view.x=y for one training."""

from __future__ import annotations

from importlib.util import find_spec

from olu.core.config import Strict
from olu.core.errors import MissingExtra


class ViewSettings(Strict):
    tensorboard: bool | None = None  # write TensorBoard event files; not set: where the package is there
    wandb: str = ""  # the Weights & Biases project to send figures and samples to; empty: nothing is sent


def wants_tensorboard(settings: ViewSettings) -> bool:
    there = find_spec("tensorboard") is not None
    if settings.tensorboard and not there:
        raise MissingExtra("view.tensorboard = true", extra="watch", package="tensorboard")
    return there if settings.tensorboard is None else settings.tensorboard


def check_packages(settings: ViewSettings) -> None:
    """Before anything is written: what was asked for must be there."""
    wants_tensorboard(settings)
    if settings.wandb and find_spec("wandb") is None:
        raise MissingExtra("view.wandb", package="wandb", install="pip install wandb")

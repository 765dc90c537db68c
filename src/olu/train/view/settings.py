"""Where a run can be watched: [view] in the workspace's olu.toml, or --set view.x=y for one training."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from olu.core.config import Strict, check, read_toml, with_overrides
from olu.core.errors import MissingExtra, TrainError
from olu.core.files import Workspace


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


@dataclass(frozen=True)
class Watching:
    settings: ViewSettings
    profile: int  # steps to profile


def watching(ws: Workspace, changes: list[str], *, profile: int) -> tuple[Watching, list[str]]:
    """What was chosen, and the changes that are of the recipe: views never make a run another run."""
    if profile < 0:
        raise TrainError(f"--profile {profile}: give the number of steps to profile")
    of_view = [change for change in changes if change.startswith("view.")]
    held = with_overrides({"view": read_toml(ws.root / "olu.toml").get("view", {})}, of_view)["view"]
    settings = check(ViewSettings, held, where=f"{ws.root / 'olu.toml'} [view]")
    check_packages(settings)
    return Watching(settings, profile), [change for change in changes if change not in of_view]

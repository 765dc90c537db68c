"""How a training is watched: [view] of the workspace's olu.toml, and --set view.x=y laid over it for one training."""

from __future__ import annotations

from dataclasses import dataclass

from olu.core.config import check, read_toml, with_overrides
from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.train.view.settings import ViewSettings, check_packages


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

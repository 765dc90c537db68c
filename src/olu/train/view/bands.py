"""Is this normal? Where the curves of reference runs lay, and where this run's lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olu.core.files import read_json
from olu.pages.curves import Band, smoothed


@dataclass(frozen=True)
class Reference:
    """What earlier runs of one kind came to. `about` says which they were."""

    about: str = ""
    bands: Mapping[str, Band] = field(default_factory=dict)


def reference(path: Path | None, *, model: Mapping[str, Any], scratch: bool) -> Reference:
    """The reference runs of this size of network that also began as this one; none where there are none."""
    for kind in read_json(path)["kinds"] if path else ():
        if scratch == kind["scratch"] and all(model.get(key) == value for key, value in kind["model"].items()):
            bands = {name: Band([(s, a, b) for s, a, b in points]) for name, points in kind["bands"].items()}
            return Reference(kind["about"], bands)
    return Reference()


def verdict(points: Sequence[tuple[float, float]], band: Band, *, smooth: bool) -> tuple[str, str]:
    """("good" or "warn", a sentence): where the newest value lies against the band at its step."""
    if not points:
        return "", ""
    step, value = (smoothed(points) if smooth else list(points))[-1]
    last = band.points[-1][0]
    if step > last:
        return "", f"The reference runs ended at step {last:,.0f}: beyond it there is nothing to compare with."
    low, high = band.at(step)
    where = f"{value:.3g}, and the reference runs had {low:.3g} to {high:.3g} at this step"
    if low <= value <= high:
        return "good", f"Normal: {where}."
    side = "Higher" if value > high else "Lower"
    return "warn", f"{side} than usual: {where}."

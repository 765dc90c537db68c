"""Reference curves for "is this normal?": bands from whole runs, written beside the family that names them.

Use: python benchmarks/reference.py OUT.json "what these runs were" RUN... [-- "other kind" RUN...]
Runs of one kind must share model.size and be trained from scratch. A band is the lowest and highest smoothed value over
the runs at a step, widened by a sixth on each side; it goes to the end of the shortest run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from olu.core.files import write_text
from olu.pages.charts import smoothed
from olu.train.run import Run
from olu.train.view.history import History

POINTS = 24  # steps at which a band is written
ROOM = 1 / 6


def kind(about: str, runs: list[Run]) -> dict[str, Any]:
    sizes = {run.recipe.model["size"] for run in runs}
    assert len(sizes) == 1 and all(run.recipe.base is None for run in runs), sizes
    held = [History.load(run.folder / "metrics.jsonl") for run in runs]
    bands = {}
    for name in held[0].series:
        if not name.endswith(("/lr", "/ratio", "/grad_norm")):
            bands[name] = band([history.points(name) for history in held], smooth=not name.startswith("valid/"))
    return {"about": about, "scratch": True, "model": {"size": sizes.pop()}, "bands": bands}


def band(curves: list[list[tuple[float, float]]], *, smooth: bool) -> list[list[float]]:
    curves = [smoothed(curve) if smooth else curve for curve in curves]
    first, last = max(curve[0][0] for curve in curves), min(curve[-1][0] for curve in curves)
    steps = np.unique(np.linspace(first, last, POINTS).round())
    values = np.stack([np.interp(steps, *zip(*curve, strict=True)) for curve in curves])
    low, high = values.min(axis=0), values.max(axis=0)
    low, high = low - ROOM * np.abs(low), high + ROOM * np.abs(high)
    return [[int(s), float(f"{a:.4g}"), float(f"{b:.4g}")] for s, a, b in zip(steps, low, high, strict=True)]


def main(words: list[str]) -> None:
    out, *rest = words
    kinds, group = [], list[str]()
    for word in [*rest, "--"]:
        if word != "--":
            group.append(word)
            continue
        kinds.append(kind(group[0], [Run(Path(folder)) for folder in group[1:]]))
        group = []
    write_text(
        Path(out), json.dumps({"kinds": kinds}).replace('], "', '],\n"').replace('"bands": {', '"bands": {\n') + "\n"
    )
    print(f"{out}: {len(kinds)} kinds, {Path(out).stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])

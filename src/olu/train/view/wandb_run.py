"""Weights & Biases, for those who name a project; the package is imported on use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import TrainError

if TYPE_CHECKING:
    from olu.train.report import StepReport


class WandbRun:
    def __init__(self, folder: Path, *, project: str, id: str, config: Mapping[str, Any]) -> None:
        import wandb

        self._wandb = wandb
        try:
            self._run = wandb.init(
                project=project, id=id, name=folder.name, dir=str(folder), config=dict(config), resume="allow"
            )
        except Exception as bad:  # of many kinds: no key, no network, no such project
            raise TrainError(
                f"view.wandb: Weights & Biases did not start ({bad}): log in with 'wandb login', or leave it out"
            ) from None
        self._run.define_metric("*", step_metric="step")

    def add(self, report: StepReport, found: Mapping[str, float], *, row: int) -> None:
        """`row` counts the rows of metrics.jsonl: a resumed run sends some again, and these are not taken twice."""
        values: dict[str, Any] = {"step": report.tried, **found}
        for exhibit in report.exhibits:
            sound = self._wandb.Audio(exhibit.audio.samples, sample_rate=exhibit.audio.rate)
            values[f"samples/{exhibit.name}"] = sound
        self._run.log(values, step=row)

    def close(self) -> None:
        self._run.finish()

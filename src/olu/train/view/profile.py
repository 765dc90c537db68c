"""A torch profile of a few steps of a run that goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.files import whole

if TYPE_CHECKING:
    from olu.train.report import StepReport

COSTLIEST = 10  # operations in the table


class Profile:
    """Of `steps` steps, after a first one that pays for warming up."""

    def __init__(self, folder: Path, *, steps: int) -> None:
        self.folder, self.steps, self._said = folder, steps, list[str]()

    def sentences(self) -> list[str]:
        """What there is to tell of it, once."""
        said, self._said = self._said, []
        return said

    def over(self, reports: Iterator[StepReport]) -> Iterator[StepReport]:
        """The same reports."""
        if self.steps:
            if (first := next(reports, None)) is not None:
                yield first
            yield from self._watched(reports)
        yield from reports

    def _watched(self, reports: Iterator[StepReport]) -> Iterator[StepReport]:
        watch, seen = _profile(), list[int]()
        watch.start()
        try:
            while len(seen) < self.steps and (report := next(reports, None)) is not None:
                seen.append(report.tried)
                if len(seen) == self.steps:  # before the report goes out: what others do with it is not the step's
                    watch.stop()
                yield report
        finally:
            if len(seen) < self.steps:
                watch.stop()
        if seen:
            place = self.folder / f"profile-step-{seen[0]}"
            _write(watch, place)
            where = f"{place}/costliest.txt, and trace.json for chrome://tracing or ui.perfetto.dev"
            self._said.append(f"profile of steps {seen[0]} to {seen[-1]}: {where}")


def _profile() -> Any:
    import torch
    from torch.profiler import ProfilerActivity, profile

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else it writes lines of its own between ours
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    return profile(activities=activities)


def _write(watch: Any, place: Path) -> None:
    import torch

    by = "self_cuda_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
    table = watch.key_averages().table(sort_by=by, row_limit=COSTLIEST, max_name_column_width=60)
    with whole(place) as partial:
        partial.mkdir()
        watch.export_chrome_trace(str(partial / "trace.json"))
        (partial / "costliest.txt").write_text(table, encoding="utf-8")

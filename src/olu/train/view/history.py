"""The curves of a run, short enough to draw however long it is, the names its figures go by, and how fast it goes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.parse import BadData, from_json
from olu.train.run import Run

if TYPE_CHECKING:
    from olu.core.job import Report
    from olu.train.engine_state import StepReport

MOST_POINTS = 1200
WINDOW = 100  # reports that the figures of speed are means over


def figures(report: StepReport) -> dict[str, float]:
    """Every figure of a report under the name that all views use: gen/mel, gen/lr, valid/mel."""
    found: dict[str, float] = {}
    for seen in report.seen:
        found |= {f"{seen.part}/{name}": value for name, value in seen.losses.items()}
        found |= {f"{seen.part}/grad_norm": seen.grad_norm, f"{seen.part}/lr": seen.lr}
        if seen.ratio is not None:
            found[f"{seen.part}/ratio"] = seen.ratio
    return found | {f"valid/{name}": value for name, value in report.scores.items()}


def row_figures(row: Mapping[str, Any]) -> dict[str, float]:
    """As `figures`, of a row of metrics.jsonl."""
    found: dict[str, float] = {}
    for part, held in row.items():
        if part == "valid":
            found |= {f"valid/{name}": float(value) for name, value in held.items()}
        elif isinstance(held, dict) and "losses" in held:
            found |= {f"{part}/{name}": float(value) for name, value in held["losses"].items()}
            found |= {f"{part}/{name}": float(held[name]) for name in ("grad_norm", "lr", "ratio") if name in held}
    return found


class Series:
    """One figure over steps, as means over ever wider stretches of them."""

    def __init__(self) -> None:
        self.width = 1
        self._held: list[list[float]] = []  # first step, sum of steps, sum of values, number

    def add(self, step: int, value: float) -> None:
        if not math.isfinite(value):
            return
        if not self._held or self._held[-1][3] >= self.width:
            self._held.append([step, 0.0, 0.0, 0])
        last = self._held[-1]
        self._held[-1] = [last[0], last[1] + step, last[2] + value, last[3] + 1]
        if len(self._held) > MOST_POINTS:
            pairs = [self._held[at : at + 2] for at in range(0, len(self._held), 2)]
            self._held = [[pair[0][0], *(sum(one[n] for one in pair) for n in (1, 2, 3))] for pair in pairs]
            self.width *= 2

    def cut(self, step: int) -> None:
        while self._held and self._held[-1][0] > step:
            self._held.pop()

    @property
    def points(self) -> list[tuple[float, float]]:
        return [(steps / number, values / number) for _, steps, values, number in self._held]


class History:
    """The figures of a run by name, along the path that survived: what a rewind undid is cut off."""

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}
        self.rows, self.seconds, self.rewinds = 0, 0.0, 0

    @staticmethod
    def load(path: Path) -> History:
        history = History()
        for row in whole_rows(path):
            history.add(row["step"], row_figures(row), rewinds=row["rewinds"], seconds=row["seconds"])
        return history

    def add(self, step: int, found: Mapping[str, float], *, rewinds: int, seconds: float) -> None:
        if rewinds > self.rewinds:
            self.rewinds = rewinds
            for held in self.series.values():
                held.cut(step - 1)
        self.rows, self.seconds = self.rows + 1, self.seconds + seconds
        for name, value in found.items():
            self.series.setdefault(name, Series()).add(step, value)

    def points(self, name: str) -> list[tuple[float, float]]:
        return self.series[name].points if name in self.series else []


def whole_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a log whose last line a kill may have cut."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                yield from_json(line)
            except BadData:
                continue


class Pace:
    """How fast a run goes, from its last reports."""

    def __init__(self) -> None:
        self._last: deque[tuple[float, int, float]] = deque(maxlen=WINDOW)
        self.memory = 0  # bytes of the device at most
        self._remaining = 0

    def add(self, report: Report) -> None:
        self._last.append((report.seconds, report.clips, report.waited))
        self.memory, self._remaining = report.memory, report.steps - report.step

    @property
    def seconds_per_step(self) -> float:
        return sum(seconds for seconds, _, _ in self._last) / max(len(self._last), 1)

    @property
    def clips_per_second(self) -> float:
        return sum(clips for _, clips, _ in self._last) / max(self.seconds_per_step * len(self._last), 1e-9)

    @property
    def waiting(self) -> float:
        """Share of the time in which a step waited for its batch."""
        return sum(waited for _, _, waited in self._last) / max(self.seconds_per_step * len(self._last), 1e-9)

    @property
    def seconds_left(self) -> float:
        return self.seconds_per_step * self._remaining


@cache
def _device() -> Any:
    """The GPU this process uses, as NVML knows it; nothing where there is no GPU or no pynvml."""
    try:
        import pynvml
        import torch

        if not torch.cuda.is_available():
            return None
        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties().uuid}".encode())
    except Exception:  # whatever NVML dislikes here, the figure is left out
        return None


def gpu_use() -> int | None:
    """Percent of the last moment in which the GPU was busy."""
    if (device := _device()) is None:
        return None
    import pynvml

    try:
        return int(pynvml.nvmlDeviceGetUtilizationRates(device).gpu)
    except pynvml.NVMLError:
        return None


@dataclass(frozen=True)
class RunState:
    state: str  # running, unfinished, finished, stopped or damaged
    step: int  # steps done
    steps: int  # of its plan; 0 where that cannot be read
    saved: int  # the step of its last checkpoint: what --resume goes on from
    fault: str = ""  # what is wrong with a damaged one, and what to do

    def sentence(self) -> str:
        if self.fault:
            return f"damaged: {self.fault}"
        kept = f", saved at step {self.saved}" if self.state in ("running", "unfinished") else ""
        return f"{self.state} at step {self.step} of {self.steps}{kept}"


@dataclass(frozen=True)
class Progress:
    """How far a run is by its own records."""

    step: int = 0  # that was tried last
    rewinds: int = 0
    seconds: float = 0.0  # of all steps


def progress_of(run: Run) -> Progress:
    step, rewinds, seconds = 0, 0, 0.0
    for held in whole_rows(run.folder / "metrics.jsonl"):
        step, rewinds, seconds = held["step"], held["rewinds"], seconds + held["seconds"]
    return Progress(step, rewinds, seconds)


def run_state(run: Run, progress: Progress | None = None) -> RunState:
    """How a run stands; `progress` where it is known already, else the records are read."""
    saved = max(run.checkpoints().steps(), default=0)
    if fault := run.fault:
        return RunState("damaged", saved, 0, saved, fault)
    step = (progress or progress_of(run)).step
    return RunState(_state(run), step, run.recipe.plan.steps, saved)


def _state(run: Run) -> str:
    if run.is_locked():
        return "running"
    if (result := run.result) is not None:
        return "finished" if result["finished"] else "stopped"
    return "unfinished"

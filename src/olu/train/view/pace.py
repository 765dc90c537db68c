"""How fast a run goes, from its last reports."""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olu.core.job import Report

WINDOW = 100  # reports that the figures are means over


class Pace:
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


def clock(seconds: float) -> str:
    """3:05 for minutes and seconds, 2 h 10 min beyond an hour."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60}:{whole % 60:02d}"


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

"""What runs have written of themselves, held in memory: a look reads only the bytes that came since the last one."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.parse import BadData, from_json
from olu.train.run import Run
from olu.train.view.history import MOST_POINTS, WINDOW, History, Progress, row_figures

METRICS = "metrics.jsonl"
HELD = 64  # runs
MOMENT = 0.3  # seconds for which pages that watch the same run are told the same
SEAM = 256  # bytes before the place read last that must still be there
MOST_ROWS = MOST_POINTS  # that are sent one by one; after more than these the whole curves are sent again


@dataclass(frozen=True)
class MetricsRow:
    """One step as a curve needs it. What a rewind undid lies at and after the first step of a higher `rewinds`."""

    step: int
    rewinds: int
    figures: dict[str, float]


@dataclass(frozen=True)
class CurvePace:
    seconds_per_step: float = 0.0
    clips_per_second: float = 0.0


class RunRecords:
    """metrics.jsonl of one run. A resumed run replaces it: then everything is read anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._reset(0)

    def _reset(self, inode: int) -> None:
        self.inode, self.at, self._seam = inode, 0, b""
        self.history, self.step = History(), 0
        self._last: deque[tuple[float, int]] = deque(maxlen=WINDOW)

    def look(self) -> RunRecords:
        """Read what came since; whole lines only, as the last may be half written."""
        with self._lock:
            try:
                with self.path.open("rb") as file:
                    self._read(file)
            except FileNotFoundError:
                self._reset(0)
        return self

    def _read(self, file: Any) -> None:
        found = os.fstat(file.fileno())
        if found.st_ino != self.inode or not self._continues(file):
            self._reset(found.st_ino)
        file.seek(self.at)
        for line in file:
            if not line.endswith(b"\n"):
                break
            self.at += len(line)
            self._seam = (self._seam + line)[-SEAM:]
            for row in _rows([line]):
                self._add(row)

    def _continues(self, file: Any) -> bool:
        """Whether the bytes before the place read last are still those: a system may give an inode away again."""
        file.seek(self.at - len(self._seam))
        return bool(file.read(len(self._seam)) == self._seam)

    def _add(self, row: dict[str, Any]) -> None:
        self.step = int(row["step"])
        self.history.add(self.step, row_figures(row), rewinds=row["rewinds"], seconds=row["seconds"])
        self._last.append((float(row["seconds"]), int(row["clips"])))

    @property
    def progress(self) -> Progress:
        return Progress(self.step, self.history.rewinds, self.history.seconds)

    @property
    def pace(self) -> CurvePace:
        if not self._last:
            return CurvePace()
        seconds = sum(one for one, _ in self._last)
        return CurvePace(seconds / len(self._last), sum(clips for _, clips in self._last) / max(seconds, 1e-9))

    @property
    def place(self) -> str:
        """Up to where it was read: what `since` takes."""
        return f"{self.inode}-{self.at}"

    def curves(self) -> dict[str, Any]:
        """All of it, thinned to what can be drawn: by name steps and values."""
        with self._lock:
            points = {name: held.points for name, held in self.history.series.items()}
            widest = max((held.width for held in self.history.series.values()), default=1)
            told = {"place": self.place, "step": self.step, "rewinds": self.history.rewinds, "width": widest}
        return {
            **told,
            "curves": {
                name: {"steps": [_short(step) for step, _ in held], "values": [_figure(value) for _, value in held]}
                for name, held in points.items()
            },
        }

    def since(self, place: str) -> tuple[str, list[MetricsRow]] | None:
        """The rows after a place and the place after them; None where they cannot be told apart from others."""
        inode, _, start = place.partition("-")
        until = self.look().at
        if not (inode.isdecimal() and start.isdecimal() and int(inode) == self.inode and int(start) <= until):
            return None
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            if os.fstat(file.fileno()).st_ino != self.inode:
                return None
            file.seek(int(start))
            data = file.read(until - int(start))
            if data.count(b"\n") > MOST_ROWS:
                return None
            rows = [MetricsRow(int(row["step"]), int(row["rewinds"]), _finite(row)) for row in _rows(data.splitlines())]
            return f"{self.inode}-{int(start) + len(data)}", rows
        return None


class RunShelf:
    """The records of the runs that were looked at last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[Path, RunRecords] = OrderedDict()
        self._making = threading.Lock()  # those who come meanwhile wait for it, and make nothing
        self._told: dict[str, tuple[float, dict[str, Any]]] = {}
        self._parts: dict[str, tuple[dict[str, Any], bytes]] = {}

    def of(self, run: Run) -> RunRecords:
        path = run.folder / METRICS
        with self._lock:
            found = self._held.pop(path, None) or RunRecords(path)
            self._held[path] = found
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        return found.look()

    def progress(self, run: Run) -> Progress:
        return self.of(run).progress

    def told(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What `make` tells of a run: made once for all who ask within a moment."""
        with self._making:
            at, row = self._told.get(name, (0.0, {}))
            if time.monotonic() - at > MOMENT:
                row = make()
                self._told = {**dict(list(self._told.items())[-HELD:]), name: (time.monotonic(), row)}
        return row

    def part(self, name: str, row: dict[str, Any], make: Callable[[], bytes]) -> bytes:
        """A piece of a page, made once for all who ask while the run stands as `row` tells: never older than it."""
        with self._making:
            of, part = self._parts.get(name, ({}, b""))
            if of != row:
                part = make()
                self._parts = {**dict(list(self._parts.items())[-HELD:]), name: (row, part)}
        return part


def _rows(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        with suppress(BadData):
            row = from_json(line)
            if isinstance(row, dict) and {"step", "rewinds", "seconds", "clips"} <= row.keys():
                yield row


def _finite(row: dict[str, Any]) -> dict[str, float]:
    return {name: _figure(value) for name, value in row_figures(row).items() if value - value == 0}


def _short(step: float) -> float:
    return int(step) if step == int(step) else round(step, 2)


def _figure(value: float) -> float:
    return float(f"{value:.6g}")

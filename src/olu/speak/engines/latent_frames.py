"""Hidden rows of a transformer as frames of a decoder that has more of them a second.

Frames lie on straight lines between rows, in steps: each step takes the points of the one before. A frame is certain
once the rows it lies between are there, so that chunks of a sentence are equal to the whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
LEAST_ROWS = 12  # with fewer the last step may still turn out to move nothing


@dataclass(frozen=True)
class FrameSteps:
    """`factors`: points that each step makes of one point before it."""

    factors: tuple[float, ...]

    def at_speed(self, speed: float) -> FrameSteps:
        return self if speed == 1.0 else FrameSteps((1.0 / speed, *self.factors))

    def count(self, rows: int) -> int:
        """Frames of a whole sentence of so many rows."""
        for factor in self.factors:
            rows = math.floor(rows * factor)
        return rows

    def certain(self, rows: int) -> int:
        """Frames that stay as they are whatever rows come after these."""
        if rows < LEAST_ROWS:
            return 0
        for factor in self.factors:  # a point needs the one below it and the next
            places = _places(np.arange(math.floor(rows * factor)), factor)
            rows = int((places.astype(np.intp) + 1 < rows).sum())
        return rows

    def frames(self, rows: Sequence[Rows], first: int, last: int) -> Rows:
        """[D, last - first] of the rows that are there; beyond them the last one stands for those to come."""
        counts = [len(rows)]
        for factor in self.factors:
            counts.append(math.floor(counts[-1] * factor))
        return self._points(rows, np.arange(first, last), counts, len(self.factors) - 1).T

    def _points(self, rows: Sequence[Rows], wanted: NDArray[np.intp], counts: list[int], step: int) -> Rows:
        if step < 0:
            begin = int(wanted[0])
            return np.stack(rows[begin : int(wanted[-1]) + 1])[wanted - begin]
        if counts[step] == counts[step + 1]:  # as the published decoders have it: nothing is moved then
            return self._points(rows, wanted, counts, step - 1)
        place = _places(wanted, self.factors[step])
        below = place.astype(np.intp)
        above = np.minimum(below + 1, counts[step] - 1)
        share = (place - below).astype(np.float32)[:, None]
        points = self._points(rows, np.arange(below[0], above[-1] + 1), counts, step - 1)
        made: Rows = points[below - below[0]] * (1 - share) + points[above - below[0]] * share
        return made


def _places(points: NDArray[np.intp], factor: float) -> Rows:
    """Where points lie between those of the step before, rounded once to 32 bits, as other programs do."""
    scale = np.float64(np.float32(1.0 / factor))
    return np.maximum((points + 0.5) * scale - 0.5, 0.0).astype(np.float32)

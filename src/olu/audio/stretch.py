"""Speech said faster or slower without another pitch: WSOLA, in pieces that join to the whole."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Wave = NDArray[np.float32]

SLOWEST, FASTEST = 0.5, 2.0
WINDOW_SECONDS = 0.025
SEEK_SECONDS = 0.0075  # how far a window may move to where the sound goes on best


class Stretcher:
    """Windows of the sound are laid over each other closer together, or further apart, than they were taken.

    Each is taken near its due place, from where it is most like what would have followed the one before it. What is
    pushed in pieces comes out as it would whole: `round(samples / speed)` of them at the end.
    """

    def __init__(self, rate: int, speed: float) -> None:
        self.speed = speed
        self._hop = max(1, round(WINDOW_SECONDS * rate) // 2)
        self._seek = round(SEEK_SECONDS * rate)
        at = (np.arange(2 * self._hop) + 0.5) / (2 * self._hop)
        self._window = (0.5 - 0.5 * np.cos(2 * np.pi * at)).astype(np.float32)  # halves add up to one
        self._held, self._first = (
            np.zeros(0, np.float32),
            0,
        )  # samples that are still needed, and the place of their first
        self._open = np.zeros(self._hop, np.float32)  # the second half of the last window, not laid over yet
        self._windows, self._follows = 0, 0  # laid so far, and the place that would follow the last of them
        self.taken = self.given = 0  # samples

    def push(self, wave: Wave, *, last: bool = False) -> Wave:
        if self.speed == 1.0:
            self.taken, self.given = self.taken + len(wave), self.given + len(wave)
            return wave
        self._held = np.concatenate([self._held, wave])
        self.taken += len(wave)
        due = round(self.taken / self.speed) if last else None
        made = list[Wave]()
        while due is None or self.given < due:
            place = round(self._windows * self._hop * self.speed)
            if due is None and max(place + self._seek, self._follows) + 2 * self._hop > self.taken:
                break
            made.append(self._laid(place))
            self.given += self._hop
        whole = np.concatenate(made) if made else np.zeros(0, np.float32)
        if due is not None and self.given > due:
            whole, self.given = whole[: len(whole) - (self.given - due)], due
        return whole

    def _laid(self, place: int) -> Wave:
        """One hop of sound: the end of the last window with the beginning of the next."""
        hop = self._hop
        if self._windows:
            place = self._best(place)
        taken = self._at(place, 2 * hop)
        # before the first there is nothing to come from
        made = self._open + taken[:hop] * self._window[:hop] if self._windows else taken[:hop]
        self._open = taken[hop:] * self._window[hop:]
        self._windows, self._follows = self._windows + 1, place + hop
        keep = max(0, min(self._follows, round(self._windows * hop * self.speed) - self._seek) - self._first)
        self._held, self._first = self._held[keep:], self._first + keep
        return made

    def _best(self, place: int) -> int:
        hop, low = self._hop, max(self._first, place - self._seek)
        wanted = self._at(self._follows, 2 * hop)
        tried = self._at(low, place + self._seek - low + 2 * hop)
        scores = np.correlate(tried, wanted, mode="valid")
        squares = np.concatenate([[0.0], np.cumsum(tried.astype(np.float64) ** 2)])
        power = squares[2 * hop :][: len(scores)] - squares[: len(scores)]
        return low + int((scores / np.sqrt(power + 1e-9)).argmax())

    def _at(self, place: int, count: int) -> Wave:
        """Samples from a place on; beyond the end there is silence."""
        begin = place - self._first
        found = self._held[begin : begin + count]
        return found if len(found) == count else np.pad(found, (0, count - len(found)))

"""A mark in the sound that people do not hear and a detector finds (Perth, by Resemble AI), put in piece by piece.

watermark: magnitude [1, 128, T], logarithms scaled to about 0 to 1 -> what is added to them

The network was made for windows of 64 ms every 10 ms, at 32 kHz; only what lies below 2 kHz is changed. Such windows
have the same bins at any rate, so nothing is resampled: the change of the lowest bins is added to the sound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from olu.speak.graphs import OnnxGraph
from olu.speak.stream import Wave

WINDOW_SECONDS, STEP_SECONDS = 0.064, 0.01
OWN_RATE = 32_000
BINS = 128
LEAST = 1e-9  # of a magnitude
HEADROOM = 15.0  # dB
SPAN = -20 * np.log10(LEAST) + HEADROOM  # dB that 0 to 1 stand for
QUIET = 0.05  # of the loudest frame: those below are left alone
AROUND = 15  # frames on either side that the network hears
RUN_FRAMES = 100  # that go through it together


def scaled(magnitudes: NDArray[np.float64]) -> NDArray[np.float64]:
    logs: NDArray[np.float64] = (20 * np.log10(np.maximum(magnitudes, LEAST)) + SPAN - HEADROOM) / SPAN
    return logs


class WatermarkStream:
    """Takes the sound of a sentence in pieces and gives as many samples, a quarter of a second later.

    The loudest frame of the whole is not known yet: the loudest so far stands for it.
    """

    def __init__(self, graph: OnnxGraph, rate: int) -> None:
        self._graph = graph
        self._step = round(STEP_SECONDS * rate)
        self._size = round(WINDOW_SECONDS * rate)
        self._half = self._size // 2
        self._window = np.hanning(self._size + 1)[:-1]
        self._gain = OWN_RATE / rate  # a window of fewer samples sums up to less
        self._wave = np.zeros(0)  # all of the sentence: sums over it must not hang on how it was cut
        self._frames = list[NDArray[np.complex128]]()  # the lowest bins
        self._loud = list[float]()
        self._loudest = 0.0
        self._change = np.zeros(self._half)  # to be added, from before the first sample on
        self._weight = np.zeros(self._half)
        self._laid = 0  # frames whose change is added
        self.given = 0  # samples

    def push(self, wave: Wave, *, last: bool = False) -> Wave:
        self._wave = np.concatenate([self._wave, wave.astype(np.float64)])
        count = self._listen(last=last)
        upto = count if last else (count - AROUND) // RUN_FRAMES * RUN_FRAMES
        while self._laid < upto:
            self._mark(min(upto, self._laid + RUN_FRAMES))
        # A sample lies in windows up to half a window after it.
        certain = len(self._wave) if last else max(self.given, self._laid * self._step - self._half)
        made = self._wave[self.given : certain] + self._laid_change(self.given, certain)
        self.given = max(self.given, certain)
        return np.clip(made, -1.0, 1.0).astype(np.float32)

    def _listen(self, *, last: bool) -> int:
        """Frames that are whole; those at the edges see the sound mirrored. Gives how many there are."""
        samples, half = len(self._wave), self._half
        if samples == 0:
            return 0
        while True:
            middle = len(self._frames) * self._step
            if (not last and middle + half > samples) or (last and middle > samples):
                return len(self._frames)
            places = _mirrored(np.arange(middle - half, middle - half + self._size), samples)
            spectrum = np.fft.rfft(self._wave[places] * self._window)
            self._loud.append(float(scaled(np.abs(spectrum) * self._gain).sum()))
            self._frames.append(spectrum[:BINS])

    def _mark(self, upto: int) -> None:
        first, last = max(0, self._laid - AROUND), min(len(self._frames), upto + AROUND)
        heard = np.stack(self._frames[first:last], axis=1)
        (added,) = self._graph.run({"magnitude": scaled(np.abs(heard) * self._gain)[None].astype(np.float32)})
        for at in range(self._laid, upto):
            self._loudest = max(self._loudest, self._loud[at])
            spectrum = np.zeros(self._half + 1, np.complex128)
            if self._loud[at] > QUIET * self._loudest:
                gains = 10 ** (np.clip(added[0, :, at - first], -1.0, 1.0).astype(np.float64) * SPAN / 20)
                spectrum[: len(gains)] = self._frames[at] * (gains - 1)
            self._add(at, np.fft.irfft(spectrum, self._size) * self._window)
        self._laid = upto

    def _add(self, frame: int, change: NDArray[np.float64]) -> None:
        begin = frame * self._step  # of arrays that begin half a window before the first sample
        if (more := begin + self._size - len(self._change)) > 0:
            self._change, self._weight = (np.pad(one, (0, more)) for one in (self._change, self._weight))
        self._change[begin : begin + self._size] += change
        self._weight[begin : begin + self._size] += self._window**2

    def _laid_change(self, first: int, last: int) -> NDArray[np.float64]:
        first, last = first + self._half, last + self._half
        change, weight = self._change[first:last], self._weight[first:last]
        found: NDArray[np.float64] = np.where(weight > 1e-6, change / np.maximum(weight, 1e-6), 0.0)
        return np.pad(found, (0, last - first - len(found)))


def _mirrored(places: NDArray[np.intp], samples: int) -> NDArray[np.intp]:
    """Places outside of the sound, mirrored at its first or last sample."""
    if samples == 1:
        return np.zeros_like(places)
    period = 2 * (samples - 1)
    folded = np.abs(places) % period
    return np.asarray(np.minimum(folded, period - folded))

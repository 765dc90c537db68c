"""What makes a step on a GPU fast, each of it on its own switch, so that a benchmark can show what it is worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Levers:
    channels_last: bool = True
    kernels: bool = True  # our own, in Triton
    streams: bool = True  # independent pieces side by side
    separable: bool = True  # the stochastic durations' layers in few kernels


LEVERS = Levers()

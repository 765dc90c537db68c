"""Independent pieces of a network side by side on a GPU, where each alone would leave most of it idle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# ---- what makes a step on a GPU fast, each of it on its own switch, so that a benchmark can show what it is worth


@dataclass
class Levers:
    channels_last: bool = True
    kernels: bool = True  # our own, in Triton
    streams: bool = True  # independent pieces side by side
    separable: bool = True  # the stochastic durations' layers in few kernels


LEVERS = Levers()


_streams: dict[torch.device, list[torch.cuda.Stream]] = {}


def side_by_side(works: Sequence[Callable[[], Any]], *, device: torch.device) -> list[Any]:
    """What each returns. The last works on the stream that called; gradients go back the way the values came."""
    if device.type != "cuda" or not LEVERS.streams:
        return [work() for work in works]
    streams = _streams.setdefault(device, [])
    while len(streams) < len(works) - 1:
        streams.append(torch.cuda.Stream(device))
    main = torch.cuda.current_stream(device)
    found = []
    for stream, work in zip(streams, works[:-1], strict=False):
        stream.wait_stream(main)
        with torch.cuda.stream(stream):
            found.append(work())
    found.append(works[-1]())
    for stream, result in zip(streams, found[:-1], strict=False):
        main.wait_stream(stream)
        _now_used_by(main, result)
    return found


def _now_used_by(stream: torch.cuda.Stream, value: Any) -> None:
    """So that the memory is not given to the other stream again while this one reads it."""
    if isinstance(value, Tensor):
        value.record_stream(stream)
    elif isinstance(value, list | tuple):
        for one in value:
            _now_used_by(stream, one)

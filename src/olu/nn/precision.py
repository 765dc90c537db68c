"""The widest floats of a device. Apple's GPUs have no float64, and refuse it in the middle of a training."""

from __future__ import annotations

import torch
from torch import Tensor

WITHOUT_DOUBLES = {"mps"}


def widest_of(device: torch.device) -> torch.dtype:
    return torch.float32 if device.type in WITHOUT_DOUBLES else torch.float64


def widened(x: Tensor) -> Tensor:
    """For long sums: in float64 where the device has it. Over a training's seconds float32 is 1e-4 of a turn off."""
    return x.to(widest_of(x.device))

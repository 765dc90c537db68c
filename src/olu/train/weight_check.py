"""Whether weights from elsewhere are numbers."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from olu.core.errors import TrainError


def check_numbers(weights: Mapping[str, Tensor]) -> None:
    """One tensor at a time, straight from the file."""
    for name, value in weights.items():
        if value.is_floating_point() and not bool(value.isfinite().all()):
            raise TrainError(f"numbers in {name} are none: take an earlier checkpoint, or download it again")

"""torch's weight norm, quick also where a network is built for its shapes alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import torch
from torch import nn
from torch.nn.utils import parametrizations
from torch.overrides import TorchFunctionMode

Layer = TypeVar("Layer", bound=nn.Module)


class ShapesOnly(TorchFunctionMode):
    """The norm of a weight without memory, which torch reckons slowly, in Python, and which is nothing."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.norm_except_dim:
            weight = args[0]
            return weight.new_empty([len(weight)] + [1] * (weight.ndim - 1))
        return func(*args, **(kwargs or {}))


def weight_norm(layer: Layer) -> Layer:
    weight: Any = layer.weight
    with ShapesOnly() if weight.is_meta else nullcontext():
        normed: Any = parametrizations.weight_norm(layer)
    same: Layer = normed
    return same

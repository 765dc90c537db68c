"""What stands between two convolutions, in one kernel each way. Off a GPU the same in plain torch.

Channels last: a tensor [B, C, ...] lies in memory as rows of C numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from olu.nn.kernels.streams import LEVERS


def can_fuse(x: Tensor) -> bool:
    return LEVERS.kernels and x.is_cuda and find_spec("triton") is not None


def bias_leaky(x: Tensor, bias: Tensor, slope: float) -> Tensor:
    """leaky_relu(x + bias)."""
    if can_fuse(x):
        from olu.nn.kernels.fused_triton import BiasLeaky

        out: Tensor = BiasLeaky.apply(x, bias, slope)
        return out
    return F.leaky_relu(x + _wide(bias, x), slope)


def bias_leaky_apart(x: Tensor, bias: Tensor, like: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    """y = leaky_relu(x + bias), and the sum of |y - like|."""
    if can_fuse(x):
        from olu.nn.kernels.fused_triton import BiasLeakyApart

        both: tuple[Tensor, Tensor] = BiasLeakyApart.apply(x, bias, like, slope)
        return both
    bent = F.leaky_relu(x + _wide(bias, x), slope)
    return bent, (bent.float() - like.float()).abs().sum()


def bias_add_leaky(x: Tensor, bias: Tensor, other: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    """y = x + bias + other, and leaky_relu(y)."""
    if can_fuse(x):
        from olu.nn.kernels.fused_triton import BiasAddLeaky

        both: tuple[Tensor, Tensor] = BiasAddLeaky.apply(x, bias, other, slope)
        return both
    added = x + _wide(bias, x) + other
    return added, F.leaky_relu(added, slope)


def bias_gate(x: Tensor, bias: Tensor) -> Tensor:
    """tanh of the first half of the channels times sigmoid of the second, after the bias."""
    if can_fuse(x):
        from olu.nn.kernels.fused_triton import BiasGate

        out: Tensor = BiasGate.apply(x, bias)
        return out
    gate, level = (x + _wide(bias, x)).chunk(2, dim=1)
    return torch.tanh(gate) * torch.sigmoid(level)


def skip_add(both: Tensor, bias: Tensor, x: Tensor, out: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(x + first half of both) * mask, the same in the precision of `both`, and out + second half; bias included."""
    if can_fuse(x):
        from olu.nn.kernels.fused_triton import SkipAdd

        three: tuple[Tensor, Tensor, Tensor] = SkipAdd.apply(both, bias, x, out, mask)
        return three
    kept, skipped = (both + _wide(bias, both)).chunk(2, dim=1)
    new = (x + kept) * mask
    return new, new.to(both.dtype), out + skipped


_kept: dict[tuple[int, str], Tensor] | None = None


@contextmanager
def weights_made_once() -> Iterator[None]:
    """Within it nothing moves: a weight that needs no gradient is made when it is first used, and kept."""
    global _kept
    _kept = {}
    try:
        yield
    finally:
        _kept = None


def made_once(conv: nn.Module, kind: str, make: Callable[[], Tensor]) -> Tensor:
    if _kept is None:
        return make()
    key = (id(conv), kind)
    if key not in _kept:
        weight = make()
        if weight.requires_grad:
            return weight
        _kept[key] = weight
    return _kept[key]


def normed_weight(conv: nn.Module) -> Tensor:
    """The weight of a convolution, made in one go where it is weight-normed and on a GPU."""
    weight = getattr(getattr(conv, "parametrizations", None), "weight", None)
    if weight is None or not can_fuse(weight.original1):
        return conv.weight  # type: ignore[return-value]
    from olu.nn.kernels.weights_triton import NormedWeight

    return made_once(conv, "normed", lambda: NormedWeight.apply(weight.original0, weight.original1, half_of()))


def half_of(x: Tensor | None = None) -> torch.dtype:
    """What products on a GPU are made in just now."""
    if torch.is_autocast_enabled("cuda"):
        return torch.get_autocast_dtype("cuda")
    return torch.float32 if x is None else x.dtype


def _wide(bias: Tensor, x: Tensor) -> Tensor:
    return bias.view(-1, *(1,) * (x.ndim - 2))

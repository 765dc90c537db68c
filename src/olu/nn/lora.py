"""Low-rank adapters (LoRA): a large matrix stays, and what is added to it is the product of two thin ones.

For layers whose matrix stands [in, out] (`nn.causal.InOut`) or [out, in] (`nn.Linear`). The names of the layer's own
weights stay; beside them come `lora_down` [in, rank] and `lora_up` [rank, out], which begins at zero, so that nothing
changes at first.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from olu.nn.causal import InOut

DOWN, UP = "lora_down", "lora_up"


def add_lora(module: nn.Module, *, rank: int) -> None:
    """An adapter on every matrix of the module's blocks."""
    for layer in _layers(module):
        inner, outer = layer.weight.shape if isinstance(layer, InOut) else layer.weight.shape[::-1]
        down = nn.Parameter(torch.randn(inner, rank) * inner**-0.5)
        layer.register_parameter(DOWN, down)
        layer.register_parameter(UP, nn.Parameter(torch.zeros(rank, outer)))
        layer.register_forward_hook(_added)


def is_lora(name: str) -> bool:
    """Whether a parameter is of an adapter."""
    return name.rpartition(".")[2] in (DOWN, UP)


@torch.no_grad()
def merge_lora(module: nn.Module) -> int:
    """Add the adapters to their matrices and take them away; returns how many there were."""
    merged = 0
    for layer in _layers(module):
        if DOWN not in layer._parameters:
            continue
        added = _of(layer, DOWN) @ _of(layer, UP)
        layer.weight.add_(added if isinstance(layer, InOut) else added.t())
        del layer._parameters[DOWN], layer._parameters[UP]
        layer._forward_hooks.clear()
        merged += 1
    return merged


def merged_copy(module: nn.Module) -> nn.Module:
    """The module as it is where it has no adapters, else a copy with them in their matrices."""
    if not any(is_lora(name) for name, _ in module.named_parameters()):
        return module
    own = deepcopy(module)
    merge_lora(own)
    return own


def _layers(module: nn.Module) -> Iterator[InOut | nn.Linear]:
    return (layer for layer in module.modules() if isinstance(layer, InOut | nn.Linear))


def _of(layer: nn.Module, name: str) -> Tensor:
    held = layer._parameters[name]
    assert held is not None
    return held


def _added(layer: nn.Module, inputs: tuple[Any, ...], made: Tensor) -> Tensor:
    down, up = _of(layer, DOWN), _of(layer, UP)
    added: Tensor = (inputs[0] @ down) @ up
    return made + added

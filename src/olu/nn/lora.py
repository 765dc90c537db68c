"""Low-rank adapters (LoRA): a large matrix stays, and what is added to it is the product of two thin ones.

For layers whose matrix stands [in, out] (`nn.causal.InOut`). The names of the layer's own weights stay; beside them
come `lora_down` [in, rank] and `lora_up` [rank, out], which begins at zero, so that nothing changes at first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from olu.nn.causal import InOut

DOWN, UP = "lora_down", "lora_up"


def add_lora(module: nn.Module, *, rank: int) -> None:
    """An adapter on every matrix of the module's blocks."""
    for layer in _layers(module):
        inner, outer = layer.weight.shape
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
        layer.weight.add_(_of(layer, DOWN) @ _of(layer, UP))
        del layer._parameters[DOWN], layer._parameters[UP]
        layer._forward_hooks.clear()
        merged += 1
    return merged


def _layers(module: nn.Module) -> Iterator[InOut]:
    return (layer for layer in module.modules() if isinstance(layer, InOut))


def _of(layer: nn.Module, name: str) -> Tensor:
    held = layer._parameters[name]
    assert held is not None
    return held


def _added(layer: nn.Module, inputs: tuple[Any, ...], made: Tensor) -> Tensor:
    down, up = _of(layer, DOWN), _of(layer, UP)
    added: Tensor = (inputs[0] @ down) @ up
    return made + added

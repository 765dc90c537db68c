"""Weights in few bits: what only a training needs of a voice that comes with Olu is kept small."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as fn

from olu.core.errors import TrainError
from olu.networks.session import load_model

GROUP = 32  # numbers that share a scale
SCALE = ":scale"  # behind the name of a tensor
HALF_BYTE = 4

Grain = dict[str, int | list[int]]  # bits of a number, and the shape of the tensor


def coarsened(weights: Mapping[str, Tensor], bits: Mapping[str, int]) -> tuple[dict[str, Tensor], dict[str, Grain]]:
    """The same tensors, those in `bits` rounded to so many (4 or 8), and what it takes to read them."""
    stored, grains = dict[str, Tensor](), dict[str, Grain]()
    for name, value in weights.items():
        if name not in bits:
            stored[name] = value
            continue
        most = 2 ** (bits[name] - 1) - 1
        flat = value.float().flatten()
        groups = fn.pad(flat, (0, -len(flat) % GROUP)).reshape(-1, GROUP)
        scale = (groups.abs().amax(1, keepdim=True) / most).to(torch.float16)
        steps = (groups / scale.float().clamp_min(torch.finfo(torch.float16).tiny)).round().clamp(-most, most)
        whole = (steps + most).to(torch.uint8).flatten()
        stored[name] = whole[::2] << HALF_BYTE | whole[1::2] if bits[name] == HALF_BYTE else whole
        stored[name + SCALE] = scale.flatten()
        grains[name] = {"bits": bits[name], "shape": list(value.shape)}
    return stored, grains


def refined(stored: Mapping[str, Tensor], grains: Mapping[str, Grain], *, where: str) -> dict[str, Tensor]:
    """All of them as fp32 again."""
    found = dict[str, Tensor]()
    for name, value in stored.items():
        if name.endswith(SCALE) and name.removesuffix(SCALE) in grains:
            continue
        try:
            found[name] = _refine(value, stored[name + SCALE], grains[name]) if name in grains else value.float()
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise TrainError(f"{where} is damaged ({name} cannot be read): export it again") from None
    return found


def _refine(value: Tensor, scale: Tensor, grain: Grain) -> Tensor:
    bits, shape = grain["bits"], grain["shape"]
    assert isinstance(bits, int) and isinstance(shape, list)
    whole = torch.stack([value >> HALF_BYTE, value & 2**HALF_BYTE - 1], 1).flatten() if bits == HALF_BYTE else value
    steps = whole.float() - (2 ** (bits - 1) - 1)
    flat = (steps.reshape(-1, GROUP) * scale.float().unsqueeze(1)).flatten()
    found: Tensor = flat[: torch.Size(shape).numel()].reshape(shape)
    return found


# ---- weights that a voice package holds once: what stands in the graphs it speaks with is left out of training/


GRAPHS = ("encoder.onnx", "decoder.onnx")

Place = dict[str, Any]  # graph, its tensor, and how its axes lie


def take_shared(package: Path, places: Mapping[str, Place], *, where: str) -> dict[str, Tensor]:
    """These weights again, out of the graphs."""
    held = {(graph, name): array for graph in GRAPHS for name, array in arrays_of(package, graph, where=where)}
    found = {}
    for name, place in places.items():
        try:
            array = held[place["graph"], place["tensor"]].transpose(place["axes"]).reshape(place["shape"])
        except (KeyError, ValueError, TypeError):
            raise TrainError(f"{where} is damaged (no {name} in its graphs): export it again") from None
        found[name] = torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
    return found


def arrays_of(package: Path, graph: str, *, where: str = "") -> Iterator[tuple[str, NDArray[np.generic]]]:
    from onnx import numpy_helper

    for tensor in load_model(package / graph, name=f"{where or package}: {graph}").graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float16:
            yield tensor.name, array

"""Weights that a voice package holds once: what stands in the graphs it speaks with is left out of training/."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from olu.core.errors import TrainError
from olu.networks.session import load_model

GRAPHS = ("encoder.onnx", "decoder.onnx")
LEAST = 256  # numbers; smaller ones are not kept in half precision, nor worth a line
CLOSE = 2e-3  # of a tensor's largest number: weight norm folded in another order rounds otherwise

Place = dict[str, Any]  # graph, its tensor, and how its axes lie


def find_shared(package: Path, weights: Mapping[str, Tensor]) -> dict[str, Place]:
    """Where in the graphs of a package folder each of these weights stands, for those that do."""
    held = [(graph, name, array) for graph in GRAPHS for name, array in _arrays(package, graph)]
    found = {}
    for name, value in weights.items():
        if value.numel() >= LEAST and (place := _place(value.float().numpy(), held)) is not None:
            found[name] = place
    return found


def take_shared(package: Path, places: Mapping[str, Place], *, where: str) -> dict[str, Tensor]:
    """These weights again, out of the graphs."""
    held = {(graph, name): array for graph in GRAPHS for name, array in _arrays(package, graph, where=where)}
    found = {}
    for name, place in places.items():
        try:
            array = held[place["graph"], place["tensor"]].transpose(place["axes"]).reshape(place["shape"])
        except (KeyError, ValueError, TypeError):
            raise TrainError(f"{where} is damaged (no {name} in its graphs): export it again") from None
        found[name] = torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
    return found


def _arrays(package: Path, graph: str, *, where: str = "") -> Iterator[tuple[str, NDArray[np.generic]]]:
    from onnx import numpy_helper

    for tensor in load_model(package / graph, name=f"{where or package}: {graph}").graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float16:
            yield tensor.name, array


def _place(wanted: NDArray[np.float32], held: list[tuple[str, str, NDArray[np.generic]]]) -> Place | None:
    room = CLOSE * float(np.abs(wanted).max())
    for graph, name, array in held:
        if array.size != wanted.size:
            continue
        for axes in permutations(range(array.ndim)):
            turned = array.transpose(axes)
            if [n for n in turned.shape if n > 1] != [n for n in wanted.shape if n > 1]:
                continue
            if np.abs(turned.reshape(wanted.shape).astype(np.float32) - wanted).max() <= room:
                return {"graph": graph, "tensor": name, "axes": list(axes), "shape": list(wanted.shape)}
    return None

"""Say which extra a verb needs, before anything is written."""

from __future__ import annotations

from importlib.util import find_spec

from olu.errors import MissingExtra

TRAIN = ("torch", "numba", "safetensors", "tomli_w", "onnx")


def need_training(verb: str) -> None:
    for package in TRAIN:
        if find_spec(package) is None:
            raise MissingExtra(verb, extra="train", package=package)

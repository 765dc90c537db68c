"""Say which extra a verb needs, before anything is written."""

from __future__ import annotations

from importlib.util import find_spec

from olu.core.errors import MissingExtra

TRAIN = ("torch", "numba", "safetensors", "tomli_w", "onnx")
EVALUATE = ("torch", "numba")
SERVE = ("fastapi", "uvicorn", "prometheus_client", "av")
NETWORKS = ("silero_vad", "speechmos", "resemblyzer", "swift_f0")


def need_training(verb: str) -> None:
    for package in TRAIN:
        if find_spec(package) is None:
            raise MissingExtra(verb, extra="train", package=package)


def need_serving(verb: str) -> None:
    for package in SERVE:
        if find_spec(package) is None:
            raise MissingExtra(verb, extra="serve", package=package)


def need_evaluation(verb: str) -> None:
    for package in EVALUATE:
        if find_spec(package) is None:
            raise MissingExtra(verb, extra="eval", package=package)
    for package in NETWORKS:
        if find_spec(package) is None:
            raise MissingExtra(verb, package=package, install="olu doctor --install-eval")

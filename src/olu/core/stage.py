"""What every stage shares: when it is done, when it is stale, the command that runs it, the extra that it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from olu.core.errors import MissingExtra
from olu.core.files import Workspace

State = Literal["fresh", "stale", "missing"]
TRAIN = ("torch", "numba", "safetensors", "tomli_w", "onnx")
EVALUATE = ("torch", "numba")
SERVE = ("fastapi", "uvicorn", "prometheus_client", "av")
NETWORKS = ("silero_vad", "speechmos", "resemblyzer", "swift_f0")


@dataclass(frozen=True)
class Stage:
    name: str
    command: str  # with {ws}: what a person types to run it
    folder: str  # where its results lie in the workspace
    inputs: Callable[[Workspace, dict[str, Any]], str]  # a hash of what it reads, given its options
    makes: tuple[str, ...] = ()  # files in its folder without which it is not done

    def state(self, ws: Workspace) -> State:
        """Fresh when the stamp's hash equals the hash of the inputs as they are now."""
        stamp = ws.stamped(self.name)
        folder = ws.root / self.folder
        if stamp is None or not folder.exists() or not all((folder / name).exists() for name in self.makes):
            return "missing"
        return "fresh" if stamp["inputs"] == self.inputs(ws, stamp["options"]) else "stale"

    def done(self, ws: Workspace, options: dict[str, Any]) -> dict[str, Any] | None:
        """The earlier summary when nothing has changed since, options included."""
        stamp = ws.stamped(self.name)
        if stamp is None or stamp["options"] != options or self.state(ws) != "fresh":
            return None
        summary: dict[str, Any] = stamp["summary"]
        return summary

    def stamp(
        self, ws: Workspace, options: dict[str, Any], summary: dict[str, Any], *, inputs: str | None = None
    ) -> None:
        """Record that it is done. `inputs`: the hash from before the work, as they may have changed since."""
        ws.stamp(self.name, inputs=inputs or self.inputs(ws, options), options=options, summary=summary)


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

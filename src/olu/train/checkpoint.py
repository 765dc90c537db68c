"""Checkpoints: whole or not there, checksummed, pruned by step number, never the best or the newest."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.errors import TrainError
from olu.files import disk_bytes, hash_file, whole, write_json
from olu.parse import BadData, load_json

if TYPE_CHECKING:
    from torch import Tensor

UNREADABLE = (OSError, LookupError, TypeError, AttributeError, BadData)
WEIGHTS, OPTIMISER, STATE = "weights.safetensors", "optimiser.safetensors", "state.json"


@dataclass(frozen=True)
class Checkpoint:
    weights: dict[str, Tensor]  # "learner/<name>" and "average/<part>/<name>"
    optimiser: dict[str, Tensor]  # "<part>/<name>/<moment>"
    state: dict[str, Any]


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self.folder, self.keep = folder, keep

    def steps(self) -> list[int]:
        """By number, not by name: step 10000 comes after step 2000."""
        names = (path.name for path in self.folder.glob("step-*") if path.is_dir())
        return sorted(int(name.removeprefix("step-")) for name in names if name.removeprefix("step-").isdigit())

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step}"

    def save(self, step: int, checkpoint: Checkpoint, *, best: int | None) -> None:
        with whole(self.path(step)) as partial:
            partial.mkdir()
            _write(checkpoint.weights, partial / WEIGHTS)
            _write(checkpoint.optimiser, partial / OPTIMISER)
            sums = {name: hash_file(partial / name) for name in (WEIGHTS, OPTIMISER)}
            write_json(partial / STATE, {**checkpoint.state, "sha256": sums})
        self._prune(best)

    def _prune(self, best: int | None) -> None:
        for old in self.steps()[: -self.keep]:
            if old != best:
                _discard(self.path(old))

    def load(self, step: int) -> Checkpoint:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        path = self.path(step)
        try:
            state = load_json(path / STATE)
            for name, expected in state.pop("sha256").items():
                if hash_file(path / name) != expected:
                    raise TrainError(f"{path / name} is damaged (its checksum differs)")
            return Checkpoint(load_file(path / WEIGHTS), load_file(path / OPTIMISER), state)
        except (*UNREADABLE, SafetensorError) as bad:
            raise TrainError(f"{path} is damaged ({bad})") from None

    def newest(self, until: int | None = None) -> tuple[Checkpoint, int, list[str]]:
        """The newest whole checkpoint (up to a step), its step, and a sentence for every damaged one passed over."""
        passed: list[str] = []
        for step in reversed([step for step in self.steps() if until is None or step <= until]):
            try:
                return self.load(step), step, passed
            except TrainError as bad:
                passed.append(f"{bad}: falling back to the one before it")
        raise TrainError(
            f"{self.folder} has no whole checkpoint: start a new run ({'; '.join(passed) or 'it is empty'})"
        )

    def room(self) -> tuple[int, int]:
        """Bytes left on the disk, and bytes the newest checkpoint takes."""
        newest = self.steps()[-1:]
        return shutil.disk_usage(self.folder).free, disk_bytes(self.path(newest[0])) if newest else 0

    def drop_after(self, step: int) -> None:
        """Remove the damaged or misled checkpoints newer than the one a run goes on from."""
        for later in self.steps():
            if later > step:
                _discard(self.path(later))

    def tidy(self, step: int, *, best: int | None) -> None:
        """When a run is taken up again at `step`: away with what a kill left half written or half removed."""
        self.drop_after(step)
        for left in self.folder.glob(".step-*.partial"):
            shutil.rmtree(left)
        self._prune(best)


def _discard(path: Path) -> None:
    """Out of sight first: a folder that is half removed must not pass for a checkpoint."""
    aside = path.with_name(f".{path.name}.gone.partial")
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)
    shutil.rmtree(aside)


def _write(tensors: dict[str, Tensor], path: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as failed:  # safetensors hides the operating system's error in its own
        raise TrainError(
            f"a checkpoint could not be written ({failed}): free some disk, then go on with --resume"
        ) from None

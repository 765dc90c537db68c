"""Checkpoints: whole or not there, every file with a digest, pruned by step number, never the best or the newest.

What is read and wrong is damaged: it is passed over and put aside for a person to look at. What cannot be read says
nothing of what is there: it is tried again, and then training stops and removes nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from olu.core.errors import TrainError
from olu.core.files import disk_bytes, hash_file, hash_value, whole, write_json
from olu.core.parse import BadData, load_json

if TYPE_CHECKING:
    from torch import Tensor, nn

    from olu.train.family import Part

Value = TypeVar("Value")

WRONG = (LookupError, TypeError, AttributeError, BadData)
NOT_THERE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)  # the disk answered: a file is missing
WAITS = (0.2, 1.0, 3.0)  # seconds before each further try to read
WEIGHTS, OPTIMISER, STATE = "weights.safetensors", "optimiser.safetensors", "state.json"
DIGEST = "digest"  # in a JSON file: the hash of all it holds beside it
DAMAGED = ".damaged"
EXTRA = "extra"  # in the state of a checkpoint that a run never stopped would not have: no rewind goes there


class DamagedError(TrainError):
    """A checkpoint was read, and is not what was written."""


class UnreadableError(TrainError):
    """The disk did not hand it out: nobody knows what is there."""


def sealed(value: dict[str, Any]) -> dict[str, Any]:
    """The value with a digest of what it holds, as JSON keeps it."""
    return {**value, DIGEST: hash_value(json.loads(json.dumps(value)))}


def unsealed(value: dict[str, Any]) -> dict[str, Any]:
    """What `sealed` was given; a file of before there were digests is taken as it is."""
    held = {name: one for name, one in value.items() if name != DIGEST}
    if DIGEST in value and value[DIGEST] != hash_value(held):
        raise BadData("its digest differs")
    return held


@dataclass(frozen=True)
class Checkpoint:
    weights: dict[str, Tensor]  # "learner/<name>" and "average/<part>/<name>"
    optimiser: dict[str, Tensor]  # "<part>/<name>/<moment>"
    state: dict[str, Any]
    frozen: frozenset[str] = frozenset()  # names among the weights that no step of the run moves


class Checkpoints:
    """The checkpoints of one run. Weights that never move lie once beside them, in a file named by its digest."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self.folder, self.keep, self._kept = folder, keep, dict[str, str]()

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, in order of their numbers."""
        numbers = (name.removeprefix("step-") for name in self._folders() if name.startswith("step-"))
        return sorted(int(number) for number in numbers if number.isdigit())

    def damaged(self) -> list[Path]:
        """The folders of damaged checkpoints that were put aside."""
        return [self.folder / name for name in sorted(self._folders()) if DAMAGED in name and name.startswith("step-")]

    def _folders(self) -> list[str]:
        def listed() -> list[str]:
            with os.scandir(self.folder) as found:
                return [one.name for one in found if one.is_dir()]

        return patiently(listed, self.folder) if self.folder.is_dir() else []

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step}"

    def save(self, step: int, checkpoint: Checkpoint, *, best: int | None, extra: int | None = None) -> None:
        """Write a checkpoint. `extra`: the step of one that only a stop made; this takes its place."""
        with whole(self.path(step)) as partial:
            partial.mkdir()
            moving = {name: one for name, one in checkpoint.weights.items() if name not in checkpoint.frozen}
            _write(moving, partial / WEIGHTS)
            _write(checkpoint.optimiser, partial / OPTIMISER)
            sums = {name: hash_file(partial / name) for name in (WEIGHTS, OPTIMISER)} | self._frozen(checkpoint)
            write_json(partial / STATE, sealed({**checkpoint.state, "sha256": sums}))
        if extra not in (None, step):
            _discard(self.path(extra))
        if not checkpoint.state.get(EXTRA):
            self._prune(best)

    def _frozen(self, checkpoint: Checkpoint) -> dict[str, str]:
        """Write what never moves, once for this object; its path from a checkpoint, and its digest."""
        if checkpoint.frozen and not self._kept:
            draft = self.folder / ".frozen.partial"
            _write({name: checkpoint.weights[name] for name in sorted(checkpoint.frozen)}, draft)
            digest = hash_file(draft)
            with whole(self.folder / f"frozen-{digest[:16]}.safetensors") as partial:
                draft.replace(partial)
            self._kept = {f"../frozen-{digest[:16]}.safetensors": digest}
        return self._kept if checkpoint.frozen else {}

    def _prune(self, best: int | None, *, extra: int | None = None) -> None:
        for old in [step for step in self.steps() if step != extra][: -self.keep]:
            if old != best:
                _discard(self.path(old))

    def load(self, step: int) -> Checkpoint:
        return patiently(lambda: self._load(step), self.path(step))

    def _load(self, step: int) -> Checkpoint:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        path = self.path(step)
        try:
            state = unsealed(load_json(path / STATE))
            sums = state.pop("sha256")
            for name, expected in sums.items():
                if hash_file(path / name) != expected:
                    raise DamagedError(f"{path / name} is damaged (its checksum differs)")
            still: dict[str, Tensor] = {}
            for name in sums.keys() - {WEIGHTS, OPTIMISER}:
                still |= load_file(path / name)
            weights = {**load_file(path / WEIGHTS), **still}
            return Checkpoint(weights, load_file(path / OPTIMISER), state, frozenset(still))
        except SafetensorError as bad:
            if "os error" in str(bad).lower() or "i/o" in str(bad).lower():  # its checksum was right just now
                raise OSError(str(bad)) from None
            raise DamagedError(f"{path} is damaged ({bad})") from None
        except (*WRONG, *NOT_THERE) as bad:
            raise DamagedError(f"{path} is damaged ({bad})") from None

    def newest(self, until: int | None = None, *, but: int | None = None) -> tuple[Checkpoint, int, dict[int, str]]:
        """The newest whole checkpoint (up to a step, `but` one), its step, and the damaged ones, each with a sentence.

        One that cannot be read ends the search: an older one in its place would cost what was learnt since.
        """
        passed: dict[int, str] = {}
        for step in reversed([step for step in self.steps() if step != but and (until is None or step <= until)]):
            try:
                return self.load(step), step, passed
            except DamagedError as bad:
                passed[step] = f"{bad}: falling back to the one before it; it is kept as step-{step}{DAMAGED}"
        said = "; ".join(passed.values()) or "it is empty"
        raise TrainError(f"{self.folder} has no whole checkpoint: start a new run ({said})")

    def room(self) -> tuple[int, int]:
        """Bytes left on the disk, and bytes the newest checkpoint takes."""
        newest = self.steps()[-1:]
        return shutil.disk_usage(self.folder).free, disk_bytes(self.path(newest[0])) if newest else 0

    def drop_after(self, step: int, *, damaged: Iterable[int] = ()) -> None:
        """Remove the misled checkpoints newer than the one a run goes back to; damaged ones are put aside."""
        self.put_aside(damaged)
        for later in self.steps():
            if later > step:
                _discard(self.path(later))

    def put_aside(self, steps: Iterable[int]) -> None:
        """Rename damaged checkpoints so that training passes over them; a person may mend them."""
        for step in steps:
            aside, more = self.folder / f"step-{step}{DAMAGED}", 2
            while aside.exists():
                aside, more = self.folder / f"step-{step}{DAMAGED}-{more}", more + 1
            self.path(step).rename(aside)

    def tidy(self, *, damaged: Iterable[int] = (), best: int | None, extra: int | None = None) -> None:
        """When a run is taken up again: away with what a kill left half written or half removed."""
        self.put_aside(damaged)
        for left in self.folder.glob(".step-*.partial"):
            shutil.rmtree(left)
        (self.folder / ".frozen.partial").unlink(missing_ok=True)
        self._prune(best, extra=extra)


def patiently(read: Callable[[], Value], path: Path) -> Value:
    """What `read` gives; a disk that fails is asked again, then UnreadableError: nothing is concluded."""
    for wait in (*WAITS, None):
        try:
            return read()
        except (OSError, MemoryError) as failed:
            if wait is None:
                why = getattr(failed, "strerror", None) or str(failed) or "the memory is full"
                raise UnreadableError(
                    f"{path} cannot be read ({why.lower()}), though it was tried {len(WAITS) + 1} times: nothing was"
                    " removed; see to the disk, then run the command again"
                ) from None
            time.sleep(wait)
    raise AssertionError


def _discard(path: Path) -> None:
    """Remove a folder, renamed first: half removed it must not pass for a checkpoint."""
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


def load_averaged(learner: nn.Module, checkpoint: Checkpoint) -> None:
    """A checkpoint's weights as they speak: the EMA (exponential moving average) where a part has one."""
    own = {key.removeprefix("learner/"): t for key, t in checkpoint.weights.items() if key.startswith("learner/")}
    learner.load_state_dict(own)
    parts: dict[str, Part] = learner.parts()  # type: ignore[operator]
    for name, part in parts.items():
        prefix = f"average/{name}/"
        average = {k.removeprefix(prefix): t for k, t in checkpoint.weights.items() if k.startswith(prefix)}
        if average:
            part.module.load_state_dict({**part.module.state_dict(), **average})
    learner.eval().requires_grad_(False)

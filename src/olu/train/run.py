"""A run's folder: its recipe and facts, what happened, its checkpoints and samples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from olu.audio import io
from olu.core.config import read_toml
from olu.core.errors import ConfigError, OluError, TrainError
from olu.core.files import hash_file, whole, write_json, write_jsonl, write_text
from olu.core.job import plain
from olu.core.parse import BadData, from_json, load_json
from olu.core.places import PICKLED, SAFE, located
from olu.core.rows import corrupt_file, schema_error
from olu.core.workspace_lock import LockHeld, is_locked, locked
from olu.text.frontend import fault_of
from olu.text.vocabulary import VOCABULARY
from olu.train.checkpoint import Checkpoints, sealed, unsealed
from olu.train.recipe import Recipe, read_recipe, recipe_toml
from olu.train.validation import why

if TYPE_CHECKING:
    from olu.train.engine_state import StepReport


RECIPE = {"family": str, "seed": int, "data": dict, "model": dict, "plan": dict, "guards": dict}
FAULTS: dict[str, Callable[[Any], str]] = {  # file -> in what its content is not what was written
    "facts.json": partial(schema_error, shape={"recipe": str}),
    "vocabulary.json": partial(schema_error, shape=VOCABULARY),
    "frontend.json": fault_of,
    "speakers.json": lambda value: "" if isinstance(value, list) and value else "it is no list of speakers",
    "result.json": partial(schema_error, shape={"finished": bool, "steps": int}),
    "best.json": partial(schema_error, shape={"step": int}),
}
CONTRACT = "mel"  # in its facts: what of a spectrogram runs that join must agree on
HEARD_BY = "heard_by"  # in its facts: the recogniser's run that hears its samples, also when it goes on
PROBED = 0.2  # seconds that a training waits for a lock: whoever asks whether it is held has it for a moment
SEALED = ("result.json", "best.json")  # these steer what is gone on with, spoken and exported
REMEDIES = {
    "result.json": "delete it, and 'olu train {ws} --resume' writes it again",
    "best.json": "delete it; the newest checkpoint then counts as the best",
}


class Run:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.checkpoints_folder = folder / "checkpoints"
        self._read: tuple[tuple[int, int, int], Recipe] | None = None  # the recipe, and the file it was read from

    @staticmethod
    def create(runs: Path, recipe: Recipe, *, facts: dict[str, Any], documents: dict[str, Any]) -> Run:
        """A new folder that appears whole. `documents` are JSON files the run needs to be understood alone."""
        taken = [number for path in runs.glob("*") if (number := _number(path)) is not None]
        for number in count(max(taken, default=0) + 1):
            folder = runs / f"{recipe.family}-{number:03d}"
            try:
                with whole(folder, new=True) as partial:
                    partial.mkdir()
                    write_text(partial / "recipe.toml", recipe_toml(recipe))
                    write_json(partial / "facts.json", facts)
                    for name, value in documents.items():
                        write_json(partial / name, value)
                    (partial / "checkpoints").mkdir()
                break
            except FileExistsError:  # another training took this number a moment ago
                continue
        return Run(folder)

    @staticmethod
    def all(runs: Path) -> list[Run]:
        found = [Run(path) for path in runs.glob("*") if (path / "recipe.toml").is_file() and _number(path) is not None]
        return sorted(found, key=lambda run: (_number(run.folder), run.name))

    @staticmethod
    def named(runs: Path, name: str) -> Run:
        run = Run(runs / name)
        if not (run.folder / "recipe.toml").is_file():
            known = ", ".join(other.name for other in Run.all(runs)) or "none yet"
            raise TrainError(f"no run {name!r} in {runs}; there are: {known}")
        return run

    @property
    def recipe(self) -> Recipe:
        path = self.folder / "recipe.toml"
        file = _stamp(path)
        if file is not None and self._read is not None and self._read[0] == file:
            return self._read[1]
        try:
            fault = schema_error(read_toml(path), RECIPE)  # all of them were written: an empty file is no recipe
            if not fault:
                found = read_recipe(path, [])
                self._read = (file, found) if file is not None else None
                return found
        except ConfigError as bad:
            fault = str(bad).removeprefix(str(path)).lstrip(": ")
        raise corrupt_file(path, fault, remedy=self._remedy)

    @property
    def fault(self) -> str:
        """What is wrong with a file that every list of runs asks for, as one sentence; nothing where all are whole."""
        try:
            _ = self.recipe, self.result, self.best, self.document("facts.json")
        except OluError as bad:
            return str(bad)
        except OSError as bad:
            return f"{bad.filename} cannot be read ({bad.strerror}): {self._remedy}"
        return ""

    def document(self, name: str) -> Any:
        """What one of its files holds; a file that holds something else is named, with what to do."""
        path = self.folder / name
        remedy = REMEDIES.get(name, "").format(ws=self.folder.parent.parent) or self._remedy
        try:
            value = load_json(path)
            value = unsealed(value) if name in SEALED and isinstance(value, dict) else value
        except FileNotFoundError:
            raise corrupt_file(path, "it is not there", remedy=remedy) from None
        except BadData as bad:
            raise corrupt_file(path, str(bad), remedy=remedy) from None
        if fault := FAULTS[name](value) if name in FAULTS else "":
            raise corrupt_file(path, fault, remedy=remedy)
        return value

    @property
    def _remedy(self) -> str:
        return f"put it back from a copy, or move the folder {self.folder} away and train anew"

    @property
    def result(self) -> dict[str, Any] | None:
        return self._optional("result.json")

    def _optional(self, name: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.document(name) if (self.folder / name).exists() else None
        return found

    @property
    def finished(self) -> bool:
        result = self.result
        return result is not None and bool(result["finished"])

    @property
    def best(self) -> dict[str, Any] | None:
        return self._optional("best.json")

    def best_step(self) -> int | None:
        """The best step whose checkpoint is kept, else the last; None where there is no checkpoint."""
        steps, best = self.checkpoints().steps(), self.best
        return int(best["step"]) if best and best["step"] in steps else steps[-1] if steps else None

    def write_best(self, best: dict[str, Any], *, metric: str, reason: str = "") -> None:
        told = {**best, "metric": metric, "why": reason or why(best, metric=metric)}
        write_json(self.folder / "best.json", sealed(told))

    def checkpoints(self, *, keep: int = 3) -> Checkpoints:
        return Checkpoints(self.checkpoints_folder, keep=keep)

    def rewind_records(self, step: int, *, rewinds: int) -> None:
        """Forget what was recorded after `step`: a resumed run writes it again. Each rewind tries steps once more."""
        for name in ("metrics.jsonl", "events.jsonl"):
            path = self.folder / name
            if path.exists():
                write_jsonl(path, [r for r in _whole_rows(path) if (r["rewinds"], r["step"]) <= (rewinds, step)])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of a run: one process trains it. The system lets go when the process dies."""
        try:
            with locked(self.folder / "lock", patience=PROBED):
                yield
        except LockHeld as other:
            raise TrainError(
                f"{self.name} is being trained by another process: wait for it or stop it{other}"
            ) from None

    def is_locked(self) -> bool:
        """Whether a process trains it now; where there are no locks it cannot be told."""
        return is_locked(self.folder / "lock")

    def finish(self, *, steps: int, stopped: str | None) -> None:
        result = {"finished": stopped is None, "steps": steps, "stopped": stopped}
        write_json(self.folder / "result.json", sealed(result))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        held = path.stat()
    except OSError:
        return None
    return held.st_ino, held.st_mtime_ns, held.st_size


def _number(folder: Path) -> int | None:
    """The number of a run's folder; None for hidden, partial and other folders."""
    match = re.fullmatch(r"[^.].*-(\d+)", folder.name)
    return int(match[1]) if match else None


def _whole_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a log that a kill may have cut in its last line."""
    rows = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            rows.append(from_json(line))
        except BadData:
            continue
    return rows


class Recorder:
    """Appends each report to the run's files as it comes."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._metrics = (run.folder / "metrics.jsonl").open("a", encoding="utf-8", newline="\n")
        self._events = (run.folder / "events.jsonl").open("a", encoding="utf-8", newline="\n")

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *exc: object) -> None:
        self._metrics.close()
        self._events.close()

    def record(self, report: StepReport, *, best: dict[str, Any] | None, metric: str) -> None:
        at = {"step": report.tried, "rewinds": report.rewinds}
        row: dict[str, Any] = {**at, "epoch": report.epoch, "clips": report.clips}
        row["seconds"] = round(report.seconds, 4)
        row |= report.parts()
        if report.scores:
            row["valid"] = dict(report.scores)
        _append(self._metrics, row)
        for event in report.events:
            _append(self._events, {**asdict(event), "verdict": event.verdict.name, **at})
        for exhibit in report.exhibits:
            io.write(self.run.folder / "samples" / f"step-{report.tried}" / f"{exhibit.name}.wav", exhibit.audio)
        if best and best["step"] == report.step:
            self.run.write_best(best, metric=metric)


def _append(file: IO[str], row: dict[str, Any]) -> None:
    file.write(json.dumps(plain(row), ensure_ascii=False, allow_nan=False) + "\n")
    file.flush()


def hash_base(text: str) -> str | None:
    """A hash of a base's weights: of the file, or of the first file of weights in its folder."""
    path = located(text)
    if (path / "recipe.toml").is_file():
        return _hash_run(path)
    folders = (path, path / "training")  # of a voice package
    files = (
        [path] if path.is_file() else sorted(p for end in (SAFE, *PICKLED) for one in folders for p in one.glob(end))
    )
    return hash_file(files[0]) if files else None


def _hash_run(folder: Path) -> str | None:
    """A hash of the weights of a run's best step, else of its last."""
    run = Run(folder)
    step = run.best_step()
    return None if step is None else hash_file(run.checkpoints_folder / f"step-{step}" / "weights.safetensors")


def run_as_base(folder: Path, *, family: str, what: str, instead: str = "") -> Run:
    """The run of a family in a folder, to start from. `what` it is called; `instead`: what else may be named."""
    if not (folder / "recipe.toml").is_file():
        raise ConfigError(
            f"recipe: base: {folder} is no {what}: name {instead}the folder of a run, as 'other/runs/{family}-001'"
        )
    run = Run(folder)
    if run.recipe.family != family:
        raise ConfigError(f"recipe: base: {folder} is a run of {run.recipe.family}, and starts no {what}: name another")
    if not run.checkpoints().steps():
        raise ConfigError(f"recipe: base: {folder} has no checkpoint to start from: train it first")
    return run

"""A sweep as it lies in `tune/` of a workspace: what was asked, what every run came to, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from olu.core.config import flat, with_overrides
from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, hash_value, read_json, write_json
from olu.core.rows import as_row, corrupt_file, from_row
from olu.core.words import many
from olu.corpus.decisions import hash_chosen
from olu.corpus.manifest import fingerprint, sides
from olu.evaluate.estimates import Interval, interval, paired

FOLDER = "tune"
NAME = re.compile(r"sweep-(\d+)\.json")


@dataclass(frozen=True)
class SentenceScores:
    """Of each sentence, by its id, how bad it is; `weights`: how much it counts, where they differ."""

    values: Mapping[str, float]
    weights: Mapping[str, float] = field(default_factory=dict)

    def mean(self) -> Interval:
        ids = list(self.values)
        return interval([self.values[id] for id in ids], weights=self._weights(ids))

    def behind(self, best: SentenceScores) -> Interval:
        """How much worse than `best`, over the sentences that both have."""
        ids = [id for id in self.values if id in best.values]
        first, second = ([held.values[id] for id in ids] for held in (best, self))
        return paired(first, second, weights=self._weights(ids))

    def _weights(self, ids: Sequence[str]) -> list[float] | None:
        return [self.weights[id] for id in ids] if self.weights else None


@dataclass(frozen=True)
class SweepRun:
    """One point of the grid and its run."""

    changes: tuple[str, ...]  # KEY=VALUE
    run: str = ""
    scores: Mapping[int, SentenceScores] = field(default_factory=dict)  # after so many steps
    left: str = ""  # why it was not trained to its end
    beaten_by: str = ""  # the run it cannot catch up with

    @property
    def values(self) -> dict[str, Any]:
        return flat(with_overrides({}, self.changes))

    @property
    def step(self) -> int:
        """The last step it was judged after."""
        return max(self.scores, default=0)

    @property
    def newest(self) -> SentenceScores | None:
        return self.scores.get(self.step)

    def __str__(self) -> str:
        return ", ".join(change.replace("=", " = ", 1) for change in self.changes)


@dataclass(frozen=True)
class Sweep:
    asked: str  # a hash of all that decides its result
    corpus: str
    family: str
    judge: str
    steps: int
    clips: tuple[str, ...]  # the sentences that judge
    runs: tuple[SweepRun, ...]
    bar: float | None = None  # the best score that still tells nothing
    done: bool = False
    path: str = ""

    @property
    def name(self) -> str:
        return Path(self.path).stem

    def save(self) -> None:
        write_json(Path(self.path), as_row(replace(self, path="")))

    def with_run(self, number: int, run: SweepRun) -> Sweep:
        runs = list(self.runs)
        runs[number] = run
        return replace(self, runs=tuple(runs))

    def leader(self, step: int) -> SweepRun | None:
        """The best of those that were judged after this step and are still in it."""
        judged = [run for run in self.runs if step in run.scores and not run.left]
        return min(judged, key=lambda run: run.scores[step].mean().middle or 0.0, default=None)

    def tells(self, step: int) -> bool:
        """Whether the best run of a step has begun to do what it is judged by."""
        leader = self.leader(step)
        score = None if leader is None else leader.scores[step].mean().middle
        return score is not None and (self.bar is None or score < self.bar)

    @property
    def best(self) -> SweepRun | None:
        return self.leader(self.steps)

    def equals(self) -> list[SweepRun]:
        """The runs that cannot be told from the best one."""
        best = self.best
        return [run for run in self.runs if best and run is not best and not run.left and not is_worse(run, best)]

    def sentence(self) -> str:
        """What it found, with its interval."""
        best = self.best
        if best is None or best.newest is None:
            return f"{self.name}: no run came to its end"
        said = (
            f"{self.name} ({many(len(self.runs), 'run')} of {self.steps} steps, {many(len(self.clips), 'sentence')},"
            f" {self.judge}) found {best} best: {told(best.newest.mean())}"
        )
        if not self.tells(self.steps):
            return f"{said}; which tells nothing, for no run has begun to be understood: give more steps"
        if alike := self.equals():
            return f"{said}; not told apart from {' and from '.join(map(str, alike))}"
        return said


def is_worse(run: SweepRun, best: SweepRun, *, step: int | None = None) -> bool:
    """Whether a run is surely worse after a step: the interval of the difference lies above 0."""
    step = run.step if step is None else step
    if step not in run.scores or step not in best.scores:
        return False
    low = run.scores[step].behind(best.scores[step]).low
    return low is not None and low > 0


def told(found: Interval, *, signed: bool = False) -> str:
    """A mean with its interval."""
    if found.middle is None:
        return "not measured"
    form = "+.3f" if signed else ".3f"
    if found.low is None or found.high is None:
        return f"{found.middle:{form}} (no interval: one sentence)"
    return f"{found.middle:{form}} ({found.low:{form}} to {found.high:{form}})"


def sweep_folder(ws: Workspace) -> Path:
    return ws.root / FOLDER


def corpus_of(ws: Workspace) -> str:
    """What names the clips, their sides and what was decided of them."""
    return hash_value([fingerprint(ws), sides(ws), hash_chosen(ws)])


def sweeps(ws: Workspace) -> list[Sweep]:
    """The sweeps of a workspace, oldest first; one that cannot be read is an error that names it."""
    found = [(int(match[1]), path) for path in sweep_folder(ws).glob("*") if (match := NAME.fullmatch(path.name))]
    return [_read(path) for _, path in sorted(found)]


def _read(path: Path) -> Sweep:
    try:
        return replace(from_row(read_json(path, shape={"asked": str, "runs": list}), Sweep), path=str(path))
    except ValueError as bad:
        if isinstance(bad, WorkspaceError):
            raise
        raise corrupt_file(path, str(bad), remedy="delete it, and run the sweep again") from None


def new_path(ws: Workspace) -> Path:
    taken = [int(match[1]) for path in sweep_folder(ws).glob("*") if (match := NAME.fullmatch(path.name))]
    return sweep_folder(ws) / f"sweep-{max(taken, default=0) + 1:03d}.json"


def findings(ws: Workspace, family: str) -> Iterator[str]:
    """What the newest sweep over each set of settings found, for a plan of this family and these clips."""
    newest: dict[tuple[str, ...], Sweep] = {}
    try:
        for one in sweeps(ws):
            if one.done and one.family == family and one.corpus == corpus_of(ws):
                newest[tuple(sorted(one.runs[0].values))] = one
    except WorkspaceError as bad:
        yield str(bad)
    for one in newest.values():
        if one.best is not None and one.tells(one.steps):
            yield f"{one.sentence()}: take it with {' '.join(f'--set {change}' for change in one.best.changes)}"

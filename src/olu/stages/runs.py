"""The runs of a workspace side by side: what they came to, and in what they differ."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from olu.core.config import check, flat
from olu.core.errors import ConfigError, OluError, WorkspaceError
from olu.core.files import Workspace, disk_bytes, workspace_here, write_text
from olu.core.told import Caution, Remedy, TextTable, Told
from olu.core.words import first_names, length, size
from olu.families import family
from olu.families.runs import kind_of
from olu.stages.align import STAGE as ALIGN
from olu.stages.verbs.training import RunsOptions
from olu.train.run import HEARD_BY, Run
from olu.train.view.history import Progress, progress_of, row_figures, run_state, whole_rows
from olu.train.view.viewer import PAGE

MOST_SETTINGS = 8  # that differ, in the table; --json has all
MOST_VALIDATIONS = 12
MOST_EVENTS = 10


@dataclass(frozen=True)
class RunRow:
    """One run. `differs` holds the settings in which the runs of the workspace are not all alike."""

    run: str
    state: str  # running, unfinished, finished, stopped or damaged
    step: int  # steps done
    steps: int  # of its plan; 0 where that cannot be read
    saved: int  # the step of its last checkpoint
    best: dict[str, Any] | None
    hours: float
    events: dict[str, int]  # verdict -> how often
    rewinds: int
    differs: dict[str, Any]
    started_from: str | None
    fault: str = ""  # what is wrong with a damaged one, and what to do


@dataclass(frozen=True)
class RunDetail:
    row: RunRow
    stopped: str | None
    facts: dict[str, Any]
    settings: dict[str, Any]
    validations: list[dict[str, float]]  # step and scores
    events: list[dict[str, Any]]
    checkpoints: list[int]
    samples: list[int]  # steps that can be heard
    page: str | None
    bytes: int

    def sentences(self, options: RunsOptions) -> Iterator[Told]:
        row = self.row
        whence = f", from {row.started_from}" if row.started_from else ""
        kept = f", saved at step {row.saved}" if row.state in ("running", "unfinished") else ""
        took = length(row.hours * 3600)
        yield f"{row.run}: {row.state} at step {row.step} of {row.steps}{kept}, {took}{whence}"
        if self.stopped:
            yield f"It stopped: {self.stopped}"
        yield f"Best: {_best(row.best)}. Checkpoints: {', '.join(map(str, self.checkpoints)) or 'none'}"
        if self.validations:
            names = list(self.validations[-1])
            shown = self.validations[-MOST_VALIDATIONS:]
            yield TextTable(names, [[f"{one[name]:.5g}" if name in one else "" for name in names] for one in shown])
        for event in self.events[-MOST_EVENTS:]:
            yield f"step {event['step']}: {event['guard']}: {event['message']}"
        if row.differs:
            yield "Unlike other runs: " + ", ".join(f"{key} = {value}" for key, value in row.differs.items())
        if self.page:
            yield f"Page: {self.page}"


@dataclass(frozen=True)
class RunsSummary:
    runs: list[RunRow]

    def sentences(self, options: RunsOptions) -> Iterator[Told]:
        if not self.runs:
            yield f"No runs yet. Next: {Remedy('train', (options.ws,))}"
            return
        yield TextTable(["run", "state", "steps", "best", "time", "events"], [_cells(row) for row in self.runs])
        yield from (Caution(f"{row.run} is damaged: {row.fault}") for row in self.runs if row.fault)
        rows = [row for row in self.runs if not row.fault]
        keys = list(rows[0].differs) if rows else []
        if keys:
            yield "Settings that differ:"
            lines = [[key, *(_short(row.differs[key]) for row in rows)] for key in keys[:MOST_SETTINGS]]
            yield TextTable(["setting", *(row.run for row in rows)], lines)
            if len(keys) > MOST_SETTINGS:
                yield f"{len(keys) - MOST_SETTINGS} more: --json has all"


def _cells(row: RunRow) -> list[str]:
    if row.fault:
        return [row.run, row.state, *[""] * 4]
    happened = ", ".join(f"{number} {verdict.lower()}" for verdict, number in row.events.items()) or "none"
    steps, took = f"{row.step} of {row.steps}", length(row.hours * 3600, short=True)
    return [row.run, row.state, steps, _best(row.best), took, happened]


def _best(best: dict[str, Any] | None) -> str:
    return f"{best['metric']} {best['score']:.4g} at step {best['step']}" if best else "none yet"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 24 else text[:21] + "..."


def run(options: RunsOptions) -> RunsSummary | RunDetail | Removal:
    """`olu runs`"""
    place, name = options.ws, options.run
    if name is None and (here := workspace_here()) and (here / "runs" / place).is_dir() and not place.exists():
        place, name = here, str(place)
    ws = Workspace.open(place)
    if options.remove is not None or options.yes:
        if options.remove is None or name is not None:
            raise ConfigError("write 'olu runs WS --remove RUN', with --yes where nobody is to be asked")
        removal(ws, options.remove)  # what may not go is said first
        if not options.yes:
            raise ConfigError(f"nobody is here to be asked whether {options.remove} may go: add --yes to remove it")
        return remove_run(ws, options.remove)
    return run_detail(ws, name) if name is not None else RunsSummary(runs(ws))


def _keys_apart(settings: Mapping[str, dict[str, Any]], given: Mapping[str, dict[str, Any]]) -> list[str]:
    """Settings that are not the same in all runs, but for those that the size of a model gives (`given`)."""
    differ = [
        key
        for key in sorted({key for held in settings.values() for key in held})
        if len({repr(held.get(key)) for held in settings.values()}) > 1
    ]
    return [
        key
        for key in differ
        if any(key not in given[name] or given[name][key] != held.get(key) for name, held in settings.items())
    ]


def runs(ws: Workspace, progress: Callable[[Run], Progress] = progress_of) -> list[RunRow]:
    """A row for every run; a damaged one has a row too, and is not compared with the others.

    `progress` tells how far each is: who asks often need not read all records each time.
    """
    everything = Run.all(ws.runs_folder)
    faults = {run.name: run.fault for run in everything}
    found = [run for run in everything if not faults[run.name]]
    apart = differing(found)
    return [
        _damaged_row(run, fault) if (fault := faults[run.name]) else _row(run, apart[run.name], progress(run))
        for run in everything
    ]


def differing(found: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """By run, the settings in which these runs are not all alike."""
    settings = {run.name: flat(run.recipe.model_dump(mode="json")) for run in found}
    apart = _keys_apart(settings, {run.name: _of_its_size(run) for run in found})
    return {name: {key: held.get(key) for key in apart} for name, held in settings.items()}


def _of_its_size(run: Run) -> dict[str, Any]:
    """Settings that come with the size of the network: they need not be told beside it."""
    recipe = run.recipe
    try:
        config = check(family(recipe.family).config, {"size": recipe.model["size"]}, where="recipe [model]")
    except (KeyError, OluError):  # a family without sizes, or one that is gone
        return {}
    return flat({"model": config.model_dump(mode="json", exclude={"size"})})


def run_detail(ws: Workspace, name: str) -> RunDetail:
    run = Run.named(ws.runs_folder, name)
    if fault := run.fault:
        raise WorkspaceError(fault)
    row = next(row for row in runs(ws) if row.run == name)
    page = run.folder / PAGE
    validations = []
    for held in whole_rows(run.folder / "metrics.jsonl"):
        if "valid" in held:
            scores = {key.removeprefix("valid/"): v for key, v in row_figures({"valid": held["valid"]}).items()}
            validations.append({"step": float(held["step"]), **scores})
    return RunDetail(
        row=row,
        stopped=(run.result or {}).get("stopped"),
        facts=run.document("facts.json"),
        settings=flat(run.recipe.model_dump(mode="json")),
        validations=validations,
        events=list(whole_rows(run.folder / "events.jsonl")),
        checkpoints=run.checkpoints().steps(),
        samples=sorted(int(path.name.removeprefix("step-")) for path in (run.folder / "samples").glob("step-*")),
        page=str(page) if page.exists() else None,
        bytes=disk_bytes(run.folder),
    )


def _row(run: Run, differs: dict[str, Any], told: Progress) -> RunRow:
    happened = Counter(event["verdict"] for event in whole_rows(run.folder / "events.jsonl"))
    stands = run_state(run, told)
    return RunRow(
        run=run.name,
        state=stands.state,
        step=stands.step,
        steps=stands.steps,
        saved=stands.saved,
        best=run.best,
        hours=round(told.seconds / 3600, 6),
        events=dict(sorted(happened.items())),
        rewinds=told.rewinds,
        differs=differs,
        started_from=run.document("facts.json").get("from"),
    )


def _damaged_row(run: Run, fault: str) -> RunRow:
    """The row of a damaged run: what its folder tells without the files that cannot be read."""
    stands = run_state(run)
    return RunRow(
        run=run.name,
        state="damaged",
        step=stands.step,
        steps=0,
        saved=stands.saved,
        best=None,
        hours=0.0,
        events={},
        rewinds=0,
        differs={},
        started_from=None,
        fault=fault,
    )


SHOWN = 3
READ_AT_MOST = 2**24  # bytes of a card or an evaluation


@dataclass(frozen=True)
class Removal:
    run: str
    bytes: int
    stands: str  # how far it was

    def row(self, options: RunsOptions) -> dict[str, Any]:
        return {"removed": asdict(self)}

    def sentences(self, options: RunsOptions) -> Iterator[str]:
        yield f"{self.run} was removed: {size(self.bytes)} given back."


def removal(ws: Workspace, name: str) -> Removal:
    """What would be removed; an error where it may not be."""
    run = Run.named(ws.runs_folder, name)
    if run.is_locked():
        raise WorkspaceError(f"{name} is being trained now: stop it first")
    if made := list(dict.fromkeys(_made_from(ws, run))):
        listed = first_names(made, SHOWN, count=True)
        were = "was" if len(made) == 1 else "were"
        raise WorkspaceError(f"{name} stays: {listed} {were} made with it; remove {_them(made)} first if you can")
    return Removal(name, disk_bytes(run.folder), run_state(run).sentence())


def remove_run(ws: Workspace, name: str) -> Removal:
    """Remove a run, renamed first so that nobody sees it half removed; its number is not used again."""
    found = removal(ws, name)
    folder = Run.named(ws.runs_folder, name).folder
    gone = folder.with_name(f".{name}.gone.partial")
    shutil.rmtree(gone, ignore_errors=True)
    folder.rename(gone)
    write_text(folder / "removed.txt", f"{name} was removed. This folder keeps its number from being given again.\n")
    shutil.rmtree(gone)
    return found


def _them(made: list[str]) -> str:
    return "it" if len(made) == 1 else "these"


def _made_from(ws: Workspace, run: Run) -> Iterator[str]:
    """Everything in the workspace that was made from a run or with its ears."""
    named = re.compile(rf"(?<![\w-]){re.escape(run.name)}(?![\w-])")
    for voice in sorted(path for path in ws.voices.glob("*") if path.is_dir() and not path.name.startswith(".")):
        if named.search(_text(voice / "voice.json") + " " + _text(voice / "README.md")):
            yield f"voices/{voice.name}"
    for other in Run.all(ws.runs_folder):
        if other.name != run.name and _needs(other, run, named):
            yield other.name
    if _speaks(run):
        return
    for file in sorted(ws.evaluations.glob("*/evaluation.json")):
        if named.search(_text(file)):
            yield f"evaluations/{file.parent.name}"
    summary = (ws.stamped(ALIGN.name) or {}).get("summary", {})
    if named.search(str(summary.get("made_by", ""))):
        yield "alignment"


def _needs(other: Run, run: Run, named: re.Pattern[str]) -> bool:
    try:
        facts, base = other.document("facts.json"), other.recipe.base
    except (OluError, OSError):  # a damaged one cannot tell: what its files still say decides
        return any(named.search(_text(other.folder / file)) for file in ("facts.json", "recipe.toml"))
    if any(named.search(str(facts.get(key) or "")) for key in ("from", HEARD_BY)):
        return True
    return bool(base) and Path(str(base)).resolve().is_relative_to(run.folder.resolve())


def _speaks(run: Run) -> bool:
    try:
        return kind_of(run) == "voice"
    except (OluError, OSError):
        return False  # a damaged one may have been a recogniser


def _text(path: Path) -> str:
    try:
        with path.open("rb") as data:
            return data.read(READ_AT_MOST).decode("utf-8", "replace")
    except OSError:
        return ""

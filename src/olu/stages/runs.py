"""The runs of a workspace side by side: what they came to, and in what they differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from olu.core.config import check, flat
from olu.core.errors import OluError, WorkspaceError
from olu.core.files import Workspace, disk_bytes
from olu.families import family
from olu.stages.run_state import run_state
from olu.train.run import Run
from olu.train.view.history import row_figures, whole_rows
from olu.train.view.viewer import PAGE


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


def runs(ws: Workspace) -> list[RunRow]:
    """A damaged one has a row too, and is not held against the others."""
    everything = Run.all(ws.runs_folder)
    faults = {run.name: run.fault for run in everything}
    found = [run for run in everything if not faults[run.name]]
    settings = {run.name: flat(run.recipe.model_dump(mode="json")) for run in found}
    keys = sorted({key for held in settings.values() for key in held})
    given = {run.name: _of_its_size(run) for run in found}
    apart = [
        key
        for key in keys
        if len({repr(held.get(key)) for held in settings.values()}) > 1
        and any(key not in given[name] or given[name][key] != held.get(key) for name, held in settings.items())
    ]
    return [
        _damaged_row(run, fault)
        if (fault := faults[run.name])
        else _row(run, {key: settings[run.name].get(key) for key in apart})
        for run in everything
    ]


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


def _row(run: Run, differs: dict[str, Any]) -> RunRow:
    rewinds, seconds = 0, 0.0
    for held in whole_rows(run.folder / "metrics.jsonl"):
        rewinds, seconds = held["rewinds"], seconds + held["seconds"]
    happened = Counter(event["verdict"] for event in whole_rows(run.folder / "events.jsonl"))
    stands = run_state(run)
    return RunRow(
        run=run.name,
        state=stands.state,
        step=stands.step,
        steps=stands.steps,
        saved=stands.saved,
        best=run.best,
        hours=round(seconds / 3600, 6),
        events=dict(sorted(happened.items())),
        rewinds=rewinds,
        differs=differs,
        started_from=run.document("facts.json").get("from"),
    )


def _damaged_row(run: Run, fault: str) -> RunRow:
    """No more than its folder tells without the files that cannot be read."""
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

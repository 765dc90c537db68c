"""What the pages of runs show: how a run stands, its curves and bands, what can be heard of it, what can be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.config import flat
from olu.core.errors import ConfigError, OluError
from olu.core.files import Workspace
from olu.core.parse import BadData, from_json
from olu.families import family
from olu.families.runs import kind_of
from olu.studio.job_files import Job
from olu.studio.records import RunRecords
from olu.studio.roots import NotHere
from olu.studio.words import t
from olu.train.run import Run
from olu.train.view.history import MOST_POINTS, RunState, run_state, whole_rows
from olu.train.view.page import Reference, compared, figure_groups, reference
from olu.train.view.viewer import TEXTS

MOST_EVENTS = 60
BAND_POINTS = 300
HEAD = 64 * 1024  # bytes of a job's events in which its run is named
TRAINS = ("train", "make")


@dataclass(frozen=True)
class HeardSample:
    """A sample of a run at one step: its file's name, what it says, and the pictures beside it."""

    name: str
    text: str
    pictures: tuple[str, ...] = ()


def find_run(ws: Workspace, name: str) -> Run:
    """The run of an address: only names that are there are ever compared."""
    found = next((run for run in Run.all(ws.runs_folder) if run.name == name), None)
    if found is None:
        raise NotHere(t("there is no run {name} here: go back to the list of runs", name=repr(name[:80])))
    return found


@dataclass(frozen=True)
class RunView:
    """One run as a page shows it now."""

    ws: Workspace
    run: Run
    records: RunRecords
    job: Job | None  # that trains it

    @property
    def stands(self) -> RunState:
        return run_state(self.run, self.records.progress)

    @property
    def best(self) -> dict[str, Any] | None:
        with suppress(OluError, OSError):
            return self.run.best
        return None

    @property
    def stopped(self) -> str:
        with suppress(OluError, OSError):
            return str((self.run.result or {}).get("stopped") or "")
        return ""

    @property
    def seconds_left(self) -> float:
        stands = self.stands
        return self.records.pace.seconds_per_step * max(0, stands.steps - stands.step)

    @property
    def family(self) -> str:
        return self.run.recipe.family

    @property
    def kind(self) -> str:
        return kind_of(self.run)

    @property
    def metric(self) -> str:
        with suppress(ConfigError):
            return family(self.family).figures.score
        return ""

    def events(self) -> list[dict[str, Any]]:
        """What the guards said, the newest first."""
        return list(whole_rows(self.run.folder / "events.jsonl"))[::-1]

    def settings(self) -> dict[str, Any]:
        return flat(self.run.recipe.model_dump(mode="json"))

    def facts(self) -> dict[str, Any]:
        with suppress(OluError, OSError):
            return flat(dict(self.run.document("facts.json")))
        return {}

    def reference(self) -> Reference:
        """Bands of earlier runs of its kind; none where there are none, or where its files do not tell."""
        with suppress(OluError, OSError):
            recipe = self.run.recipe.model_dump(mode="json")
            scratch = recipe["base"] is None and self.run.document("facts.json").get("from") is None
            return reference(family(self.family).figures.reference, model=recipe["model"], scratch=scratch)
        return Reference()

    def normal(self) -> tuple[str, list[tuple[str, str]]]:
        """Whether its curves lie where those of the reference runs did; nothing where there are none."""
        bands = self.reference()
        return compared(self.records.history, bands) if bands.bands else ("", [])

    def curves(self) -> dict[str, Any]:
        """All that a page draws."""
        made = self.records.curves()
        bands = {name: _thinned(band.points) for name, band in self.reference().bands.items()}
        groups = [
            {"title": one.title, "names": list(one.names), "log": one.log} for one in figure_groups(made["curves"])
        ]
        undone = [event["step"] for event in self.events() if event.get("guard") == "rewind"]
        return {**made, "groups": groups, "bands": bands, "undone": undone, "most": MOST_POINTS}

    def texts(self) -> dict[str, str]:
        with suppress(OluError, OSError):
            held = self.run.document(TEXTS)
            return {str(name): str(text) for name, text in held.items()} if isinstance(held, dict) else {}
        return {}

    def sample_steps(self) -> list[int]:
        """Steps that can be heard, the newest first."""
        names = (path.name.removeprefix("step-") for path in (self.run.folder / "samples").glob("step-*"))
        return sorted((int(name) for name in names if name.isdecimal()), reverse=True)

    def samples(self, step: int) -> list[HeardSample]:
        folder, texts = self.run.folder / "samples" / f"step-{step}", self.texts()
        made = []
        for path in sorted(folder.glob("*.wav")):
            beside = sorted(one.name for one in folder.glob("*.png") if one.name.startswith(f"{path.stem}."))
            made.append(HeardSample(path.stem, texts.get(path.stem, path.stem), tuple(beside)))
        return made

    def sample_file(self, step: int, name: str) -> Path:
        """A file of its samples, by a name that is compared with those that are there."""
        folder = self.run.folder / "samples" / f"step-{step}"
        found = next((path for path in sorted(folder.glob("*")) if path.name == name), None)
        if found is None or not found.is_file() or found.is_symlink():
            raise NotHere(t("there is no such sample here: it may have been removed"))
        return found

    @property
    def may_resume(self) -> bool:
        return self.stands.state == "unfinished"

    def row(self) -> dict[str, Any]:
        """What a page that watches is told: it asks for what else it needs."""
        stands = self.stands
        return {
            "run": self.run.name,
            "state": stands.state,
            "step": stands.step,
            "steps": stands.steps,
            "saved": stands.saved,
            "place": self.records.place,
            "best": self.best,
            "samples": self.sample_steps()[:1],
            "events": _size(self.run.folder / "events.jsonl"),
            "job": self.job.number if self.job else None,
            "job_state": self.job.state if self.job else "",
        }


def job_of(jobs: Sequence[Job], run: Run) -> Job | None:
    """The job that trains a run now: its first notes name it."""
    going = [job for job in jobs if job.verb in TRAINS and job.state in ("running", "stopping")]
    return next((job for job in going if run.name in runs_named(job)), None)


def runs_named(job: Job) -> list[str]:
    """The runs that a job's notes say it trains or goes on with."""
    try:
        with job.path("events").open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return []
    return [name for line in head.splitlines() if (name := _named(line))]


def _named(line: bytes) -> str:
    try:
        row = from_json(line)
    except BadData:
        return ""
    text = str(row.get("text", "")) if isinstance(row, Mapping) and row.get("event") == "note" else ""
    name, colon, rest = text.partition(": ")
    return name if colon and ", from step " in rest else ""


def sentences_of(views: Sequence[RunView]) -> Iterator[tuple[str, list[tuple[RunView, int, str] | None]]]:
    """Every text that some of the runs have said, and of each run its step and the sample's name."""
    heard = [_newest_texts(view) for view in views]
    for text in dict.fromkeys(text for held in heard for text in held):
        yield text, [(view, *held[text]) if text in held else None for view, held in zip(views, heard, strict=True)]


def _newest_texts(view: RunView) -> dict[str, tuple[int, str]]:
    """By text, at the best step that can be heard, else at the newest."""
    steps, best = view.sample_steps(), (view.best or {}).get("step")
    step = best if best in steps else next(iter(steps), None)
    return {} if step is None else {one.text: (step, one.name) for one in view.samples(step)}


def _thinned(points: Sequence[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    every = max(1, -(-len(points) // BAND_POINTS))
    kept = list(points[::every])
    return kept if not points or kept[-1] == points[-1] else [*kept, points[-1]]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0

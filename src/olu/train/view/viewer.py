"""Everything that shows a run as it goes, fed with the same reports as its records, and a profile of a few steps."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.config import flat
from olu.core.errors import OluError, how_to_install
from olu.core.files import whole, write_text
from olu.train.view.history import History, figures, whole_rows
from olu.train.view.page import PageFacts, reference, render
from olu.train.view.samples import keep_pictures
from olu.train.view.trackers import EventFile, ViewSettings, WandbRun, wants_tensorboard

if TYPE_CHECKING:
    from olu.train.engine_state import StepReport
    from olu.train.family import Family
    from olu.train.run import Run

TEXTS = "sample_texts.json"
PAGE = "run.html"
COSTLIEST = 10  # operations in the table of a profile
PAGE_SECONDS = 30.0  # the page is written at every validation, else at most this often


class Viewer:
    """Draws a run's views. It is made after the records were cut back to the step the run goes on from."""

    def __init__(
        self,
        run: Run,
        *,
        family: Family,
        settings: ViewSettings,
        metric: str,
        step: int,
        rewinds: int,
        steps: int,
        again: str,
    ) -> None:
        recipe = run.recipe.model_dump(mode="json")
        started = run.document("facts.json")
        self.run = run
        self._facts = PageFacts(
            name=run.name,
            folder=run.folder,
            again=again,
            settings=flat(recipe),
            metric=metric,
            workspace=run.folder.resolve().parent.parent.name,
            texts=_texts(run),
            steps=steps,
            step=step,
            history=History.load(run.folder / "metrics.jsonl"),
            events=list(whole_rows(run.folder / "events.jsonl")),
            best=run.best,
            reference=reference(
                family.figures.reference,
                model=recipe["model"],
                scratch=recipe["base"] is None and started.get("from") is None,
            ),
        )
        self._wandb: WandbRun | None = None
        if settings.wandb:
            id = f"{run.name}-{started['started']}"
            self._wandb = WandbRun(run.folder, project=settings.wandb, id=id, config=recipe)
        self._events = EventFile(run.folder, step=step, rewinds=rewinds) if wants_tensorboard(settings) else None
        self._written, self._gap = 0.0, 0.0
        self._said, self._failed = self._introduction(), set[str]()
        self._draw()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._facts.state == "running":
            self._facts.state = "left"
            self._draw()
        self._close_events()
        if self._wandb:
            self._wandb.close()

    def sentences(self) -> list[str]:
        """What a person should know of the views; each is said once."""
        said, self._said = self._said, []
        return said

    def _introduction(self) -> list[str]:
        page = f"watch it in a browser: {self.run.folder / PAGE}"
        if self._events is None:
            return [page, f"no TensorBoard files are written: view.tensorboard is false, or {how_to_install('watch')}"]
        return [page, f"or: tensorboard --logdir {self.run.folder.parent}"]

    def show(self, report: StepReport, *, best: Mapping[str, Any] | None) -> None:
        facts, found = self._facts, figures(report)
        facts.step, facts.best = report.step, best
        facts.pace.add(report)
        facts.history.add(report.tried, found, rewinds=report.rewinds, seconds=report.seconds)
        at = {"step": report.tried, "rewinds": report.rewinds}
        facts.events += [{**asdict(event), "verdict": event.verdict.name, **at} for event in report.events]
        self._try(partial(keep_pictures, self.run.folder, report), "the pictures of the samples")
        found |= {
            "speed/clips_per_second": report.clips / max(report.seconds, 1e-9),
            "speed/waiting": report.waited / max(report.seconds, 1e-9),
        }
        if report.memory:
            found["speed/memory_gib"] = report.memory / 2**30
        if self._events and not self._try(partial(self._events.add, report, found), "the TensorBoard file"):
            self._close_events()  # a record may be half there: what follows it could not be read
        if self._wandb:
            self._send(self._wandb, report, found)
        if report.scores or report.rewound or time.monotonic() - self._written > PAGE_SECONDS:
            self._draw()

    def finish(self, *, stopped: str | None) -> None:
        self._facts.state, self._facts.why = ("stopped", stopped) if stopped else ("finished", "")
        self._draw()

    def _close_events(self) -> None:
        if self._events:
            with suppress(OSError):
                self._events.close()
        self._events = None

    def _send(self, wandb: WandbRun, report: StepReport, found: Mapping[str, float]) -> None:
        try:
            wandb.add(report, found, row=self._facts.history.rows)
        except Exception as bad:  # a network that fails must not end a training
            self._wandb = None
            self._said.append(f"Weights & Biases failed ({bad}): the run goes on without it")

    def _draw(self) -> None:
        now = time.monotonic()
        if self._written:
            self._gap = max(self._gap, now - self._written)
        self._written, self._facts.updated = now, time.time()
        self._facts.patience = max(180.0, 4 * self._gap)
        self._try(lambda: write_text(self.run.folder / PAGE, render(self._facts)), PAGE)

    def _try(self, write: Callable[[], None], what: str) -> bool:
        """A view that cannot be written is said once and never ends a training."""
        try:
            write()
            return True
        except OSError as failed:
            if what not in self._failed:
                self._failed.add(what)
                self._said.append(f"{what} could not be written ({failed.strerror or failed}): the run goes on")
            return False


def _texts(run: Run) -> dict[str, str]:
    """What each sample says; an older run does not know it, and a damaged file ends no training."""
    with suppress(OluError, OSError):
        held = run.document(TEXTS)
        return held if isinstance(held, dict) else {}
    return {}


class Profile:
    """Profiles `steps` steps, after a first one that pays for warming up."""

    def __init__(self, folder: Path, *, steps: int) -> None:
        self.folder, self.steps, self._said = folder, steps, list[str]()

    def sentences(self) -> list[str]:
        """What there is to tell of it, once."""
        said, self._said = self._said, []
        return said

    def over(self, reports: Iterator[StepReport]) -> Iterator[StepReport]:
        """Yields the same reports, and profiles while they are made."""
        if self.steps:
            if (first := next(reports, None)) is not None:
                yield first
            yield from self._watched(reports)
        yield from reports

    def _watched(self, reports: Iterator[StepReport]) -> Iterator[StepReport]:
        watch, seen = _profile(), list[int]()
        watch.start()
        try:
            while len(seen) < self.steps and (report := next(reports, None)) is not None:
                seen.append(report.tried)
                if len(seen) == self.steps:  # before the report goes out: what others do with it is not the step's
                    watch.stop()
                yield report
        finally:
            if len(seen) < self.steps:
                watch.stop()
        if seen:
            place = self.folder / f"profile-step-{seen[0]}"
            _write(watch, place)
            where = f"{place}/costliest.txt, and trace.json for chrome://tracing or ui.perfetto.dev"
            self._said.append(f"profile of steps {seen[0]} to {seen[-1]}: {where}")


def _profile() -> Any:
    import torch
    from torch.profiler import ProfilerActivity, profile

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else it writes lines of its own between ours
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    return profile(activities=activities)


def _write(watch: Any, place: Path) -> None:
    import torch

    by = "self_cuda_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
    table = watch.key_averages().table(sort_by=by, row_limit=COSTLIEST, max_name_column_width=60)
    with whole(place) as partial:
        partial.mkdir()
        watch.export_chrome_trace(str(partial / "trace.json"))
        (partial / "costliest.txt").write_text(table, encoding="utf-8")

"""run.html: one file with everything a person wants to know of a run while it goes, and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olu.core.files import read_json
from olu.core.words import clock
from olu.pages.charts import Band, Curve, chart, smoothed
from olu.pages.render import render as render_page
from olu.train.view.history import History, Pace
from olu.train.view.samples import within_page

RELOAD_SECONDS = 15
OF_THE_ENGINE = ("grad_norm", "lr", "ratio")  # figures of a part that are no losses
MOST_EVENTS = 60


@dataclass(frozen=True)
class Reference:
    """What earlier runs of one kind came to. `about` says which they were."""

    about: str = ""
    bands: Mapping[str, Band] = field(default_factory=dict)


@dataclass
class PageFacts:
    """What the page is drawn from. `state` is running, finished, stopped or left."""

    name: str
    folder: Path
    again: str  # the command that goes on with the run
    settings: Mapping[str, Any]
    metric: str
    steps: int
    step: int
    history: History
    pace: Pace = field(default_factory=Pace)
    reference: Reference = field(default_factory=Reference)
    events: list[dict[str, Any]] = field(default_factory=list)
    best: Mapping[str, Any] | None = None
    state: str = "running"
    why: str = ""
    updated: float = 0.0
    patience: float = 180.0  # seconds without a word after which a running run looks dead
    workspace: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)  # what each sample says, by its name

    @property
    def title(self) -> str:
        return f"{self.workspace}: {self.name}" if self.workspace else self.name


def render(facts: PageFacts) -> str:
    normal, odd = compared(facts.history, facts.reference)
    return render_page(
        "run.html",
        facts=facts,
        reload_seconds=RELOAD_SECONDS,
        clock=clock,
        normal=normal,
        odd=odd,
        figures=[_figure(facts, group) for group in figure_groups(facts.history.series)],
        samples=within_page(facts.folder, until=facts.step),
        events=facts.events[: -MOST_EVENTS - 1 : -1],
    )


def reference(path: Path | None, *, model: Mapping[str, Any], scratch: bool) -> Reference:
    """The reference runs of this size of network that also began as this one; none where there are none."""
    for kind in read_json(path)["kinds"] if path else ():
        if scratch == kind["scratch"] and all(model.get(key) == value for key, value in kind["model"].items()):
            bands = {name: Band([(s, a, b) for s, a, b in points]) for name, points in kind["bands"].items()}
            return Reference(kind["about"], bands)
    return Reference()


def verdict(points: Sequence[tuple[float, float]], band: Band, *, smooth: bool) -> tuple[str, str]:
    """("good" or "warn", a sentence): where the newest value lies against the band at its step."""
    if not points:
        return "", ""
    step, value = (smoothed(points) if smooth else list(points))[-1]
    last = band.points[-1][0]
    if step > last:
        return "", f"The reference runs ended at step {last:,.0f}: beyond it there is nothing to compare with."
    low, high = band.at(step)
    where = f"{value:.3g}, and the reference runs had {low:.3g} to {high:.3g} at this step"
    if low <= value <= high:
        return "good", f"Normal: {where}."
    side = "Higher" if value > high else "Lower"
    return "warn", f"{side} than usual: {where}."


def _verdict(history: History, bands: Reference, name: str) -> tuple[str, str]:
    return verdict(history.points(name), bands.bands[name], smooth=not name.startswith("valid/"))


def compared(history: History, bands: Reference) -> tuple[str, list[tuple[str, str]]]:
    """The verdict on all curves that have a band, and those that lie elsewhere with a sentence on each."""
    found = [(name, *_verdict(history, bands, name)) for name in sorted(bands.bands)]
    judged = [name for name, kind, _ in found if kind]
    odd = [(name, text) for name, kind, text in found if kind == "warn"]
    if not judged:
        return "Too early, or too late, to say: no curve can be compared at this step.", odd
    if not odd:
        return f"Yes: all {len(judged)} curves that can be compared lie where the reference runs had theirs.", odd
    return f"{len(judged) - len(odd)} of {len(judged)} curves lie where the reference runs had theirs.", odd


@dataclass(frozen=True)
class FigureGroup:
    """Curves that one picture holds. `log`: on a logarithmic scale."""

    title: str
    names: tuple[str, ...]
    log: bool = False


def figure_groups(figures: Iterable[str]) -> Iterator[FigureGroup]:
    """Every loss with its validation, validations alone, then what the engine tells of each part."""
    held = list(figures)
    valid = [name for name in held if name.startswith("valid/")]
    names = [name for name in held if name not in valid]
    losses = {name: loss for name in names if (loss := name.split("/")[1]) not in OF_THE_ENGINE}
    for name in losses:
        part, _, loss = name.partition("/")
        judged = (f"valid/{loss}",) if f"valid/{loss}" in valid else ()
        yield FigureGroup(f"{loss} ({part})" if loss != part else loss, (name, *judged))
    for name in valid:
        if name[6:] not in losses.values():
            yield FigureGroup(f"{name[6:]} (validation)", (name,))
    for title, ending, log in (
        ("Learning rate", "lr", False),
        ("Gradient norms", "grad_norm", True),
        ("Movement of the weights per update, as a share of them", "ratio", True),
    ):
        if chosen := [name for name in names if name.endswith(f"/{ending}")]:
            yield FigureGroup(title, tuple(chosen), log)


def _figure(facts: PageFacts, group: FigureGroup) -> dict[str, Any]:
    title, names, log = group.title, group.names, group.log
    lines = [_curve(facts, name, colour % 4, named=len(names) > 2 or log) for colour, name in enumerate(names)]
    marks = [(e["step"], e["message"]) for e in facts.events if e["guard"] == "rewind"]
    banded = next((name for name in reversed(names) if name in facts.reference.bands), "")
    band = facts.reference.bands[banded] if banded else None
    style, said = _verdict(facts.history, facts.reference, banded) if banded else ("", "")
    whose = "Validation. " if said and banded.startswith("valid/") and len(names) > 1 else ""
    return {
        "title": title,
        "drawn": chart(lines, label=title, band=band, marks=marks, steps=facts.step, log=log),
        "loss": names[0].partition("/")[2],
        "style": style or "soft",
        "said": whose + said,
    }


def _curve(facts: PageFacts, name: str, colour: int, *, named: bool) -> Curve:
    """A figure as a line; `named`: by its own name, as several stand beside each other."""
    part, _, loss = name.partition("/")
    noisy = part != "valid" and loss not in ("lr", "ratio")
    called = part if loss in OF_THE_ENGINE else "validation" if part == "valid" else name if named else "training"
    return Curve(called, facts.history.points(name), colour, smooth=noisy)

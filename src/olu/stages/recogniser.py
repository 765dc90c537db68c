"""The recogniser of a workspace: the newest that fits its corpus, or a new one, trained as any run is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from olu.core.errors import CorpusError, TrainError
from olu.core.extras import need_training
from olu.core.files import Workspace
from olu.core.job import Job, Note, Report, Tick
from olu.core.units import length, minutes
from olu.corpus.manifest import Corpus
from olu.families.runs import runs_of
from olu.stages.audit import audit
from olu.stages.plan import forecast
from olu.stages.read import read_corpus
from olu.stages.threads import use_threads
from olu.stages.train import train
from olu.stages.train_stage import TrainSummary
from olu.text.frontend import read_state
from olu.train.machine import this_machine
from olu.train.run import Run

if TYPE_CHECKING:
    from olu.families.recogniser.recognise import Trained

Units = Literal["letters", "symbols"]
FAMILY = "recogniser"
SECOND_HALF = 0.5  # of the training side is not heard by a second recogniser, which checks the first
ENOUGH_TO_JUDGE = 60.0  # minutes of speech: see docs/recogniser.md
LEAST_MINUTES = 10.0  # of speech: with less, boundaries are no better than spreading the sounds evenly


def recogniser_for(
    ws: Workspace, *, units: Units, device: str | None = None, everything: bool = False, force: bool = False
) -> Job[Trained]:
    """One that hears `units`; `everything`: learnt from all clips (to align), else from the train side (to judge).

    A finished run whose corpus, readings and settings fit is used again, an unfinished one is gone on with. `force`
    trains even on a corpus that is too small to align with.
    """
    need_training("a recogniser")
    from olu.families.recogniser.recognise import load

    use_threads()
    yield from audit(ws)
    yield from read_corpus(ws)
    where = this_machine(device).device
    fitting = [run for run in runs_of(ws, "listener") if _fits(ws, run, units=units, everything=everything)]
    if done := [run for run in fitting if run.finished]:
        return load(done[-1], language=ws.language, device=where)
    if everything and not force:
        _check_enough(ws)
    open_ = [run for run in fitting if run.result is None and run.checkpoints().steps() and not run.is_claimed()]
    if open_:
        summary = yield from as_ticks(train(ws, resume=True, resumed=open_[-1].name, device=where))
    else:
        changes = [f"family={FAMILY}", f"model.units={units}", f"data.everything={str(everything).lower()}"]
        changes += ["data.hold_back=0.0"] if everything else []
        steps, hours = yield from forecast(ws, overrides=changes, device=where)
        yield Note(_ahead(ws, steps=steps, hours=hours, judges=not everything))
        summary = yield from as_ticks(train(ws, overrides=changes, new=True, device=where))
    if summary.stopped:
        raise TrainError(f"{summary.run} stopped at step {summary.steps}: {summary.stopped}")
    return load(Run.named(ws.runs, summary.run), language=ws.language, device=where)


def _ahead(ws: Workspace, *, steps: int, hours: float | None, judges: bool) -> str:
    """Before it begins: how long it takes, and whether it is worth that."""
    time = "" if hours is None else f", {length(3600 * hours)} or so here"
    said = f"a recogniser is trained first ({steps:,} steps{time}); it is kept and used again"
    heard = speech_minutes(ws)
    if judges and heard < ENOUGH_TO_JUDGE:
        said += (
            f". From {minutes(60 * heard)} of speech it will hear too badly to judge a voice, for which it needs about"
            f" {ENOUGH_TO_JUDGE:.0f}: --only with other metrics leaves it out"
        )
    return said


def speech_minutes(ws: Workspace) -> float:
    """That can be learnt from."""
    corpus = Corpus.open(ws)
    return sum(corpus.taken(clip).seconds for clip in corpus if corpus.why_not(clip) is None) / 60


def ready(ws: Workspace, *, units: Units, everything: bool) -> Run | None:
    """The newest finished one that fits, if there is any: nothing is trained."""
    if not (ws.readings / "frontend.json").is_file():
        return None
    fitting = [run for run in runs_of(ws, "listener") if _fits(ws, run, units=units, everything=everything)]
    return next((run for run in reversed(fitting) if run.finished), None)


def _fits(ws: Workspace, run: Run, *, units: Units, everything: bool) -> bool:
    """Whether it was made, or is being made, from this corpus as it is read now."""
    recipe = run.recipe
    wanted = recipe.family == FAMILY and recipe.model.get("units") == units and recipe.data.everything == everything
    if recipe.data.hold_back >= SECOND_HALF:  # one of the collusion check
        return False
    if not wanted or recipe.model.get("tone_marks") != "remove" or recipe.data.speakers or recipe.data.train_clips:
        return False
    same = run.document("facts.json").get("corpus") == Corpus.open(ws).fingerprint
    return bool(same and run.document("frontend.json") == read_state(ws.readings / "frontend.json"))


def _check_enough(ws: Workspace) -> None:
    minutes = speech_minutes(ws)
    if minutes < LEAST_MINUTES:
        raise CorpusError(
            f"{ws.root} has {minutes:.1f} minutes of speech to learn from, and an aligner of its own needs"
            f" {LEAST_MINUTES:.0f}: with less it finds boundaries no better than spreading the sounds evenly."
            " Record more, import TextGrids of another aligner, or try it all the same with --force"
        )


def as_ticks(work: Job[TrainSummary], what: str = "training the recogniser") -> Job[TrainSummary]:
    """A training as progress."""
    while True:
        try:
            seen = next(work)
        except StopIteration as end:
            summary: TrainSummary = end.value
            return summary
        if isinstance(seen, Tick):
            yield seen
        elif isinstance(seen, Report):
            yield Tick(seen.step, seen.steps, what)

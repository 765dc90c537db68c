"""The recogniser of a workspace: the newest that fits its corpus, or a new one, trained as any run is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from olu.core.errors import CorpusError, TrainError
from olu.core.files import Workspace
from olu.core.job import Job, Note, Report, Tick
from olu.core.machine import this_machine
from olu.core.stage import need_training
from olu.core.threads import use_threads
from olu.core.words import length, minutes
from olu.corpus.manifest import Corpus
from olu.families.runs import RECOGNISER, SECOND_HALF, Units, fitting, is_second, runs_of
from olu.stages.audit import audit
from olu.stages.plan import forecast
from olu.stages.read import read_corpus
from olu.stages.train import TrainSummary, train
from olu.train.run import Run

if TYPE_CHECKING:
    from olu.families.recogniser.recognise import Trained

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
    use_threads()
    yield from audit(ws)
    yield from read_corpus(ws)
    where = this_machine(device).device
    known = fitting(ws, units=units, everything=everything)
    if everything and not force and not any(run.finished for run in known):
        _check_enough(ws)

    def changes() -> Job[list[str]]:
        asked = [f"family={RECOGNISER}", f"model.units={units}", f"data.everything={str(everything).lower()}"]
        asked += ["data.hold_back=0.0"] if everything else []
        steps, hours = yield from forecast(ws, overrides=asked, device=where)
        yield Note(_ahead(ws, steps=steps, hours=hours, judges=not everything))
        return asked

    return (yield from _newest(ws, known, changes, device=where, what="training the recogniser"))


def second_recogniser(ws: Workspace, *, device: str | None = None) -> Job[Trained]:
    """One from half of the training side: where it agrees with the first, neither has learnt a fault by heart."""
    corpus = Corpus.open(ws).fingerprint
    second = [run for run in runs_of(ws, "listener") if is_second(run)]
    known = [run for run in second if run.document("facts.json").get("corpus") == corpus]

    def changes() -> Job[list[str]]:
        return [f"family={RECOGNISER}", "model.units=letters", f"data.hold_back={SECOND_HALF}"]
        yield  # makes this a generator like its brother

    where = this_machine(device).device
    return (yield from _newest(ws, known, changes, device=where, what="second recogniser"))


def _newest(
    ws: Workspace, known: list[Run], changes: Callable[[], Job[list[str]]], *, device: str, what: str
) -> Job[Trained]:
    """The newest finished one of the known; an unfinished one is gone on with, else one with `changes` is trained."""
    from olu.families.recogniser.recognise import load

    if done := [run for run in known if run.finished]:
        return load(done[-1], language=ws.language, device=device)
    if open_ := [run for run in known if run.result is None and run.checkpoints().steps() and not run.is_locked()]:
        work = train(ws, resume=True, resumed=open_[-1].name, device=device)
    else:
        work = train(ws, overrides=(yield from changes()), new=True, device=device)
    summary = yield from as_ticks(work, what)
    if summary.stopped:
        raise TrainError(f"{summary.run} stopped at step {summary.steps}: {summary.stopped}")
    return load(Run.named(ws.runs_folder, summary.run), language=ws.language, device=device)


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


def _check_enough(ws: Workspace) -> None:
    minutes = speech_minutes(ws)
    if minutes < LEAST_MINUTES:
        raise CorpusError(
            f"{ws.root} has {minutes:.1f} minutes of speech to learn from, and an aligner of its own needs"
            f" {LEAST_MINUTES:.0f}: with less it finds boundaries no better than spreading the sounds evenly."
            " Record more, import TextGrids of another aligner, or try it all the same with --force"
        )


def as_ticks(work: Job[TrainSummary], what: str) -> Job[TrainSummary]:
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

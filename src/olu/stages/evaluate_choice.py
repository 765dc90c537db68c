"""At the end of a training: which of the kept checkpoints is heard best, on more sentences than during it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from olu.core.files import Workspace
from olu.core.job import Job, Tick
from olu.corpus.manifest import Corpus
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import CheckpointMeans, Sample, spread_evenly
from olu.evaluate.sentences import PlannedSentence, reader_of, spoken_takes
from olu.families.runs import voice_named, voices
from olu.stages.evaluate import EvaluateSummary, at_steps, checkpoints, evaluate
from olu.stages.listener import known_of
from olu.stages.verbs.voices import EvaluateOptions
from olu.train.run import Run
from olu.train.validation import GRID, HEARD, length_off

SENTENCES = 24
GROUPS = ("cer", "sanity", "duration")
EVERYTHING = ""  # no metric is named: all are asked


def choose_step(ws: Workspace, name: str, *, device: str | None) -> Job[dict[str, Any]]:
    """The best kept step, written to best.json with the reason. Test sentences have no say: they judge afterwards."""
    from olu.evaluate.judge import judge

    run = voice_named(ws, name)
    corpus = Corpus.open(ws).resampled(run.recipe.data.resample)  # as the voice learnt them
    held = {clip.id: clip for clip in corpus if corpus.split(clip) == "valid" and corpus.why_not(clip) is None}
    before = run.best or {}
    if not held or len(run.checkpoints().steps()) < 2:
        return before
    lines = [PlannedSentence(id, held[id].text, "in", held[id]) for id in spread_evenly(list(held), SENTENCES)]
    known = yield from known_of(corpus, groups=GROUPS, speakers=(), device=device)
    read = reader_of(corpus, None)
    points = []
    for step, speaker in at_steps(ws, name, checkpoints(ws, name, "all"), seed=0):
        with TemporaryDirectory(prefix="olu-") as folder:
            spoken = spoken_takes(lines, speaker, folder=Path(folder), corpus=corpus, read=read)
            takes = [one for one in spoken if isinstance(one, Sample)]
            judged = yield from judge(takes, known, only=GROUPS, what=f"step {step}")
        points.append(CheckpointMeans(step=step, means=scores(judged.figures.get("in", ()))))
        yield Tick(len(points), len(points), f"step {step}")
    best = min(points, key=lambda point: (round(point.means[HEARD] / GRID), point.step != before.get("step")))
    _write_best(run, best, f"heard best of the {len(points)} kept checkpoints on {len(lines)} validation sentences")
    return run.best or {}


def _write_best(run: Run, best: CheckpointMeans, why: str) -> None:
    parts = {name: value for name, value in best.means.items() if name != HEARD}
    said = ", ".join(f"{name.removeprefix('heard_')} {value:.3g}" for name, value in parts.items())
    run.write_best({"step": best.step, "score": best.means[HEARD], **parts}, metric=HEARD, reason=f"{why} ({said})")


def evaluate_after(ws: Workspace, name: str, *, device: str | None) -> Job[EvaluateSummary]:
    """What follows a training: the best step by ear where the recipe asks for it, then all metrics of that step."""
    if voice_named(ws, name).recipe.plan.choose == "heard":
        yield from choose_step(ws, name, device=device)
    newest = [run.name for run in voices(ws) if run.finished][-1:]
    return (
        yield from evaluate(
            EvaluateOptions(place=ws.root, run=None if newest == [name] else name, device=device, only=EVERYTHING)
        )
    )


def scores(figures: tuple[Estimate, ...]) -> dict[str, float]:
    """The figures that a training chooses by, from the full metrics."""
    means = {one.name: one.mean for one in figures if one.mean is not None}
    found = {f"{HEARD}_faults": means.get("faults", 1.0)}
    if ratio := means.get("duration_ratio"):
        found[f"{HEARD}_duration"] = length_off(ratio)
    if "cer" in means:
        found[f"{HEARD}_cer"] = min(1.0, means["cer"])
    return {**found, HEARD: sum(found.values())}

"""A rehearsal of a run: everything resolved, a few updates and one validation batch in memory, nothing written."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from olu.core.words import many
from olu.train.engine import Engine
from olu.train.recipe import PlanSettings
from olu.train.run import Run
from olu.train.setup.job import TrainingJob

REHEARSED = 8  # micro-batches of an update: the rest of a large plan.accumulate takes as long each


def dry_run(job: TrainingJob) -> dict[str, Any]:
    """What the run would do, take and ignore."""
    with TemporaryDirectory() as folder:
        run = Run(Path(folder))
        run.checkpoints_folder.mkdir()
        before = _memory_now()
        engine = job.engine(run)
        parts = min(REHEARSED, engine.plan.accumulate)
        more = engine.plan.accumulate / parts
        ignored = ignored_settings(job, engine)
        engine.plan = engine.plan.model_copy(update={"accumulate": parts})
        engine.advance()  # the first step also pays for warming up
        report = engine.advance()
        clips, longest = _go_to_the_heaviest(engine)
        heavy = engine.advance()
        batches = engine.validation()[:1]
        engine.validation = lambda: batches
        scores, _ = engine._validate()
    tokens = max(len(job.ids.get(clip, ())) for clip in clips)  # a vocoder reads no texts
    advice = job.family.advice
    predicted = advice and advice.memory(job.config, clips=len(clips), seconds=longest, tokens=tokens)
    events = [event.message for one in (report, heavy) for event in one.events]
    return {
        "parameters": {name: sum(p.numel() for p in live.params) for name, live in engine.live.items()},
        "frozen": _frozen(engine),
        "losses": {name: value for seen in report.seen for name, value in seen.losses.items()},
        "rates": {seen.part: seen.lr for seen in report.seen},
        "valid": scores,
        "events": events,
        "seconds_per_step": round(more * report.seconds, 3),
        "seconds_heaviest": round(more * heavy.seconds, 3),
        "hours_expected": float(f"{more * report.seconds * job.recipe.plan.steps / 3600:.3g}"),
        "heaviest_batch": f"{many(len(clips), 'clip')} of up to {longest:.1f} s",
        "memory_predicted": round(predicted) if predicted else None,
        "memory_before": before if engine.device.type == "cpu" else 0,  # of which what was there without a step
        "memory_measured": peak_memory(engine.device),
        "clips": len(job.train),
        "validation_clips": len(job.valid),
        "left_out": len(job.documents["left_out.json"]),
        "padding_share": round(engine.batches.padding_share(), 4),
        "symbols": job.vocabulary.size,
        "ignored": ignored,
    }


def peak_memory(device: torch.device) -> int | None:
    """Bytes at most so far: of the GPU's own allocator, or of the whole process."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else 1024 * most)


def _memory_now() -> int | None:
    """Bytes of this process, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def _go_to_the_heaviest(engine: Engine) -> tuple[list[str], float]:
    """Make the batch with most padded seconds the next one; returns its clips and their longest."""
    batches = engine.batches
    plan = batches.plan(batches.epoch)
    sizes = [len(batch) * max(batches.seconds[i] for i in batch) for batch in plan]
    batches.place = sizes.index(max(sizes))
    clips = [batches.clips[i] for i in plan[batches.place]]
    return clips, max(map(batches.length, clips))


def _frozen(engine: Engine) -> dict[str, int]:
    """Parameters that no part moves, by module."""
    moved = {id(p) for live in engine.live.values() for p in live.params}
    still: dict[str, int] = {}
    for name, p in engine.module.named_parameters():
        if id(p) not in moved:
            where = ".".join(name.split(".")[:2])
            still[where] = still.get(where, 0) + p.numel()
    return still


def ignored_settings(job: TrainingJob, engine: Engine) -> list[str]:
    """Settings that can have no effect in this run, with the reason. A good recipe has none."""
    plan, said = job.recipe.plan, _never_reached(job.recipe.plan, engine)
    if plan.demo_clips > len(job.valid):
        are = "is" if len(job.valid) == 1 else "are"
        said.append(f"plan.demo_clips = {plan.demo_clips}: there {are} {many(len(job.valid), 'validation clip')}")
    if plan.curriculum_epochs and plan.steps * plan.accumulate < len(engine.batches.plan(0)):
        said.append("plan.curriculum_epochs: the run is shorter than an epoch, so the long clips never come")
    sizes = [len(batch) for batch in engine.batches.plan(0)]
    if len(job.train) > plan.batch_clips > max(sizes):
        said.append(f"plan.batch_clips = {plan.batch_clips}: plan.batch_seconds allows {max(sizes)} at most")
    return said


def _never_reached(plan: PlanSettings, engine: Engine) -> list[str]:
    """What would begin after the last step."""
    said = list[str]()
    if plan.steps and plan.warmup_steps >= plan.steps:
        said.append(f"plan.warmup_steps = {plan.warmup_steps}: the run ends after {plan.steps}, below its full rate")
    for name, steps in (("milestones", plan.milestones), ("late", plan.late.values())):
        if beyond := [at for at in steps if at >= plan.steps]:
            said.append(f"plan.{name}: step {beyond[0]} comes after the last, {plan.steps}")
    starts = {name: live.part.start for name, live in engine.live.items() if live.part.start >= plan.steps}
    said += (f"the part {name} starts at step {at}, after the last, {plan.steps}" for name, at in starts.items())
    return said

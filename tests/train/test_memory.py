"""When the memory is full: the same effective batch in smaller pieces, and the clip that is too much named."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from olu.train.family import Clock, Update
from olu.train.guards import Verdict

from ..helpers import toys


def narrow(learner: toys.Toy, *, most: int, error: Exception | None = None) -> toys.Toy:
    """A learner for which more than `most` clips at once are too many."""

    def meddle(update: Update, clock: Clock) -> Update:
        if len(learner.heard[-1]) > most:
            raise error or torch.OutOfMemoryError("CUDA out of memory")
        return update

    learner.meddle = meddle
    return learner


ERRORS = [
    torch.OutOfMemoryError("CUDA"),
    MemoryError(),
    RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("could not create a primitive"),
]


@pytest.mark.parametrize("error", ERRORS, ids=["cuda", "python", "cpu", "onednn"])
def test_the_effective_batch_stays(error: Exception, tmp_path: Path) -> None:
    plan = {"batch_clips": 8, "steps": 10, "save_every": 5, "guards": []}
    torch.manual_seed(1)
    wide = toys.engine(toys.Tokens(clip=1.0), tmp_path / "wide", **plan)
    torch.manual_seed(1)
    small = toys.engine(narrow(toys.Tokens(clip=1.0), most=2, error=error), tmp_path / "small", **plan)
    expected, got = list(wide.train()), list(small.train())
    notes = [event for report in got for event in report.events]
    assert [event.guard for event in notes] == ["memory", "memory"] and small.pieces == 4
    assert all(event.verdict is Verdict.NOTE and event.clips[0] in event.message for event in notes)
    assert "at most 4 clips" in notes[0].message and "at most 2 clips" in notes[1].message
    assert [report.clips for report in got] == [report.clips for report in expected]
    for one, other in zip(expected, got, strict=True):
        assert one.seen[0].losses == pytest.approx(dict(other.seen[0].losses), rel=1e-4)
    for name, tensor in toys.weights(wide.module).items():
        torch.testing.assert_close(small.module.state_dict()[name], tensor, rtol=1e-4, atol=1e-6)


def test_a_clip_too_long_for_itself_is_left_out_by_name(tmp_path: Path) -> None:
    learner = toys.Tokens()

    def meddle(update: Update, clock: Clock) -> Update:
        if "c05" in learner.heard[-1]:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return update

    learner.meddle = meddle
    engine = toys.engine(learner, tmp_path, steps=30, batch_clips=4)
    events = [event for report in engine.train() for event in report.events]
    assert engine.step == 30 and engine.batches.quarantine == ["c05"]
    last = next(event for event in events if event.verdict is Verdict.SKIP)
    assert "c05" in last.message and "does not fit even alone" in last.message


def test_a_resumed_run_keeps_the_smaller_pieces(tmp_path: Path) -> None:
    first = toys.engine(narrow(toys.Tokens(), most=2), tmp_path, steps=20, batch_clips=8, save_every=5)
    for report in (running := first.train()):
        if report.step == 10:
            break
    running.close()
    again = toys.engine(narrow(toys.Tokens(), most=2), tmp_path, steps=20, batch_clips=8, save_every=5)
    again.resume()
    assert again.pieces == first.pieces == 4
    assert not [event for report in again.train() for event in report.events]


def test_another_error_is_not_taken_for_full_memory(tmp_path: Path) -> None:
    engine = toys.engine(narrow(toys.Tokens(), most=2, error=RuntimeError("shape mismatch")), tmp_path)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        engine.advance()


def test_a_memory_too_small_for_any_clip_stops_before_the_corpus_is_put_aside(tmp_path: Path) -> None:
    engine = toys.engine(narrow(toys.Tokens(), most=0), tmp_path, steps=30, batch_clips=4)
    reports = list(engine.train())
    last = reports[-1].events[-1]
    assert last.verdict is Verdict.STOP and "smaller model.size" in last.message and len(reports) < 12
    assert len(engine.batches.quarantine) < len(reports) and engine.checkpoints.steps()[0] == 0

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from olu.train.batches import Batches
from olu.train.family import Example

LENGTHS = np.random.default_rng(3).lognormal(1.2, 0.5, 500).round(3)


@dataclass(frozen=True)
class Named:
    clips: tuple[str, ...]


def stream(
    lengths: Sequence[float] = tuple(LENGTHS), *, seed: int = 1, batch_clips: int = 8, batch_seconds: float = 30.0
) -> Batches:
    names = [f"c{number:03d}" for number in range(len(lengths))]
    return Batches(
        names,
        list(lengths),
        example=lambda id: Example(id=id, ids=(1,), samples=np.zeros(1, dtype=np.int16), speaker=0),
        collate=lambda examples: Named(tuple(e.id for e in examples)),
        seed=seed,
        batch_clips=batch_clips,
        batch_seconds=batch_seconds,
    )


def epoch(batches: Batches) -> list[tuple[str, ...]]:
    """The batches of the epoch the stream now stands at the start of."""
    return [tuple(batches.take()) for _ in range(len(batches.plan(batches.epoch + (batches.place > 0))))]


@pytest.mark.parametrize("settings", [{}, {"batch_clips": 1}, {"batch_seconds": 4.0}, {"batch_clips": 1000}])
def test_every_clip_once_per_epoch(settings: dict[str, float]) -> None:
    batches = stream(**settings)
    for _ in range(3):
        heard = Counter(clip for batch in epoch(batches) for clip in batch)
        assert set(heard) == set(batches.clips) and set(heard.values()) == {1}


@pytest.mark.parametrize(("clips", "seconds"), [(8, 30.0), (16, 10.0), (4, 3.0), (100, 60.0)])
def test_the_budget_holds_but_for_a_single_long_clip(clips: int, seconds: float) -> None:
    batches = stream(batch_clips=clips, batch_seconds=seconds)
    length = dict(zip(batches.clips, batches.seconds, strict=True))
    alone = 0
    for batch in epoch(batches):
        assert 1 <= len(batch) <= clips
        padded = len(batch) * max(length[clip] for clip in batch)
        if padded > seconds:
            assert len(batch) == 1
            alone += 1
    assert alone == sum(value > seconds for value in length.values())


def test_batches_are_filled() -> None:
    """Only the last batch of each pool may have room left."""
    batches = stream(batch_clips=8, batch_seconds=1e9)
    sizes = Counter(len(batch) for batch in epoch(batches))
    assert sizes[8] >= len(LENGTHS) // 8 - 1


def test_the_same_seed_gives_the_same_stream_and_another_another() -> None:
    def take(batches: Batches) -> list[tuple[str, ...]]:
        return [tuple(batches.take()) for _ in range(200)]

    assert take(stream()) == take(stream())
    assert take(stream(seed=2)) != take(stream())


def test_epochs_differ_in_order_and_in_company() -> None:
    batches = stream()
    first, second = epoch(batches), epoch(batches)
    assert first != second
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in second}
    lengths = dict(zip(batches.clips, batches.seconds, strict=True))
    longest = [max(lengths[clip] for clip in batch) for batch in first]
    assert longest != sorted(longest)


@pytest.mark.parametrize("at", [0, 1, 37, 99, 150])
def test_resumes_at_any_place(at: int) -> None:
    through, again = stream(), stream()
    for _ in range(at):
        through.take()
    through.quarantine += ["c007", "c100"]
    state = json.loads(json.dumps(through.state()))
    again.load(state)
    assert again.state() == state
    assert [tuple(through.take()) for _ in range(120)] == [tuple(again.take()) for _ in range(120)]
    assert (through.epoch, through.place) == (again.epoch, again.place)
    assert state["quarantine"] == ["c007", "c100"]


def test_epoch_and_place_count_what_was_given() -> None:
    batches = stream((1.0, 1.0, 1.0), batch_clips=2)
    seen = []
    for _ in range(4):
        batches.make(batches.take())
        seen.append((batches.epoch, batches.place))
    assert seen == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_the_quarantined_do_not_come_back() -> None:
    batches = stream((1.0,) * 12, batch_clips=3)
    away = set(batches.take())
    batches.quarantine += sorted(away)
    later = [tuple(batches.take()) for _ in range(20)]
    assert not any(away & set(batch) for batch in later)
    assert {clip for batch in later for clip in batch} == set(batches.clips) - away
    assert all(later)


def test_ends_when_nothing_is_left() -> None:
    batches = stream((1.0, 2.0))
    batches.quarantine += batches.clips
    with pytest.raises(StopIteration):
        batches.make(batches.take())


def test_the_padding_share() -> None:
    assert stream((1.0,) * 10).padding_share() == pytest.approx(0)
    assert stream((1.0, 3.0), batch_clips=2).padding_share() == pytest.approx(1 - 4 / 6)
    assert stream().padding_share() < 0.06
    careless = [LENGTHS[at : at + 8] for at in range(0, 500, 8)]
    assert 1 - LENGTHS.sum() / sum(len(b) * b.max() for b in careless) > 0.3

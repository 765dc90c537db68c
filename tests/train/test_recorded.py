"""Steps of a few shapes: what can be tested of recorded steps without a GPU."""

from __future__ import annotations

from dataclasses import fields
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from olu.core.errors import TrainError
from olu.families import family
from olu.train.batches import Batches, Buckets, _ends, make_buckets
from olu.train.cuda_graph import Resident
from olu.train.family import Clock, Example
from olu.train.guards import Observation, Spike
from olu.train.ranks import Ranks
from olu.train.recipe import PlanSettings, Recipe
from olu.train.setup.job import TrainingJob

RATE = 16000


def clips(number: int, *, seed: int = 0) -> dict[str, Example]:
    random = np.random.default_rng(seed)
    found = {}
    for at in range(number):
        samples = int(random.integers(12000, 60000))
        wave = (random.standard_normal(samples) * 3000).astype(np.int16)
        found[f"c{at}"] = Example(f"c{at}", tuple(map(int, random.integers(1, 20, samples // 1000))), wave, 0)
    return found


def buckets_of(examples: dict[str, Example], *, clips: int, seconds: float, most: int) -> Buckets:
    length = {clip: len(example.samples) for clip, example in examples.items()}
    tokens = {clip: len(example.ids) for clip, example in examples.items()}
    return make_buckets(length, tokens, rate=RATE, batch_clips=clips, batch_seconds=seconds, most=most)


def test_ends_of_buckets_pad_least() -> None:
    random = np.random.default_rng(1)
    for _ in range(60):
        lengths = np.sort(random.integers(1, 60, random.integers(2, 13)))
        for most in (1, 2, 3, 5):
            ends = _ends(lengths, most)

            def padded(chosen: set[int], lengths: np.ndarray = lengths) -> int:  # type: ignore[type-arg]
                return sum(min(end for end in chosen if end >= length) for length in lengths)

            choices = np.unique(lengths).tolist()
            best = min(padded({*some, choices[-1]}) for size in range(most) for some in combinations(choices, size))
            assert len(ends) <= most and padded(set(ends)) == best


def test_a_batch_unpacked_is_the_batch_collated() -> None:
    vits = family("vits")
    learner = vits.learner(vits.config(size="tiny"), vocab_size=20, num_speakers=1)
    examples = clips(5)
    resident = Resident(
        learner,
        list(examples),
        example=examples.__getitem__,
        buckets=buckets_of(examples, clips=5, seconds=1e6, most=1),
        device="cpu",
    )
    found, wanted = resident.batch(list(examples)), learner.collate(list(examples.values()))
    for name in ("ids_BT", "tokens_B", "padded_BS", "frames_B", "speaker_B"):
        torch.testing.assert_close(getattr(found, name), getattr(wanted, name), rtol=0, atol=0)
    assert (found.counts, found.clips) == (wanted.counts, wanted.clips)


def test_padding_to_a_shape_does_not_change_the_losses() -> None:
    """The mean latents and middle segments have no randomness; only padding differs."""
    vits = family("vits")
    torch.manual_seed(0)
    learner = vits.learner(vits.config(size="tiny"), vocab_size=20, num_speakers=1).eval()
    examples = clips(4)
    wide = {**examples, "long": Example("long", (1,) * 90, np.zeros(90000, np.int16), 0)}
    one = Resident(
        learner,
        list(wide),
        example=wide.__getitem__,
        buckets=buckets_of(wide, clips=4, seconds=1e6, most=1),
        device="cpu",
    )
    plain = learner.collate(list(examples.values()))
    padded = one.batch(list(examples))
    assert padded.padded_BS.shape[1] > plain.padded_BS.shape[1]
    with torch.no_grad():
        alike = learner.align(plain), learner.align(padded)
    frames, tokens = alike[0].shape[1:]
    assert torch.equal(alike[0], alike[1][:, :frames, :tokens])
    assert alike[1].sum() == alike[0].sum()


def test_batches_are_full_and_every_clip_comes() -> None:
    examples = clips(61)
    buckets = buckets_of(examples, clips=8, seconds=20.0, most=4)
    batches = Batches(
        list(examples),
        [len(example.samples) / RATE for example in examples.values()],
        example=examples.__getitem__,
        collate=lambda chosen: None,  # type: ignore[arg-type,return-value]
        seed=1,
        batch_clips=8,
        batch_seconds=20.0,
        buckets=buckets,
    )
    for epoch in range(5):
        plan = [[batches.clips[index] for index in batch] for batch in batches.plan(epoch)]
        assert {clip for batch in plan for clip in batch} == set(examples)
        assert all(buckets.shape_of(batch) in buckets.shapes for batch in plan)
        assert all(len(set(batch)) == len(batch) for batch in plan)
        drawn_again = sum(map(len, plan)) - len(examples)
        assert 0 <= drawn_again < 8
    for shape in buckets.shapes:
        assert shape.clips == 1 or shape.clips * shape.samples / RATE <= 20.0


def test_knobs_are_what_a_plain_step_uses() -> None:
    vits = family("vits")
    config = vits.config(size="tiny", alignment_noise=0.5, alignment_noise_decay=0.1, discriminator_warmup=10)
    learner = vits.learner(config, vocab_size=20, num_speakers=1)
    batch = learner.collate(list(clips(2).values()))
    assert learner.knobs(3) == pytest.approx({"heed": 0.4, "alignment_noise": 0.2, "alignment_guide": 0.0})

    def losses(clock: Clock) -> list[float]:
        torch.manual_seed(7)
        weighed = [one for update in learner.step(batch, clock) for one in update.losses.values()]
        return [float(one.sum.detach() * one.weight) for one in weighed]

    tensors = {name: torch.tensor(value) for name, value in learner.knobs(3).items()}
    assert losses(Clock(3, 10)) == pytest.approx(losses(Clock(3, 10, tensors)))
    assert losses(Clock(3, 10)) != pytest.approx(losses(Clock(9, 10)))


def test_a_spike_is_judged_by_the_line_the_device_drew() -> None:
    guard = Spike(factor=10.0, window=50)
    assert guard.limit("gen") == float("inf")
    for step in range(30):
        guard.watch(Observation(step, "gen", {}, 1.0, 1e-4))
    assert guard.limit("gen") == 10.0
    assert guard.watch(Observation(31, "gen", {}, 50.0, 1e-4, limit=100.0)) is None
    event = guard.watch(Observation(32, "gen", {}, 50.0, 1e-4, limit=10.0))
    assert event is not None and "usually 1" in event.message


def test_recording_several_batches_a_step_is_refused() -> None:
    with pytest.raises(ValueError, match="record has no effect with accumulate"):
        PlanSettings(record=True, accumulate=2)


def a_setup(record: bool | str, **changed: object) -> TrainingJob:
    recipe = Recipe(plan=PlanSettings(record=record, accumulate=changed.pop("accumulate", 1)))  # type: ignore[arg-type]
    facts = {
        **dict.fromkeys(field.name for field in fields(TrainingJob)),
        "recipe": recipe,
        "device": "cpu",
        "ranks": Ranks(),
        "learner": object(),
        "train": [],
        "start": None,
        **changed,
    }
    setup = TrainingJob.__new__(TrainingJob)
    vars(setup).update(facts, family=family("vits"), store=SimpleNamespace(length=len))
    return setup


def test_recording_without_a_gpu_is_refused() -> None:
    with pytest.raises(TrainError, match=r"plan\.record cannot be: it is for a CUDA device"):
        a_setup(True).with_recording_decided()


def test_recording_is_left_out_where_it_cannot_be() -> None:
    for setup in (a_setup("auto"), a_setup(False), a_setup("auto", accumulate=2)):
        setup = setup.with_recording_decided()
        assert setup.recipe.plan.record is False and setup.buckets() is None


def test_a_recorded_run_keeps_its_batches_where_nothing_can_be_recorded() -> None:
    lengths = {"a": 4000, "b": 9000, "c": 9500}
    held = {"train": list(lengths), "ids": dict.fromkeys(lengths, (1, 2)), "rate": 16000}
    setup = a_setup(True, **held)
    vars(setup)["store"] = SimpleNamespace(length=lengths.__getitem__)
    buckets = setup.buckets()
    assert buckets is not None and {buckets.shape_of([clip]).samples for clip in lengths} <= {4000, 9000, 9500}
    assert setup.not_recorded()

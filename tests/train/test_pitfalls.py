"""The known defects of training loops, one test for each, named by its number in the project's list of pitfalls.

Every test runs the real engine with the smallest VITS, and says in one line how the defect would make it fail.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from olu.core.errors import ConfigError, TrainError
from olu.core.types import Audio, Clip
from olu.families import family
from olu.features.store import Store, WaveFeature, build
from olu.train.batches import Batches
from olu.train.checkpoint import Checkpoint, Checkpoints
from olu.train.engine import SEED_SPAN, Engine
from olu.train.family import Clock, Example
from olu.train.guards import Finite, Verdict, Wiring
from olu.train.recipe import GuardSettings, PlanSettings, Recipe, read_recipe

VITS = family("vits")
SMALLEST = {
    "size": "tiny",
    "segment_size": 2048,
    "spectrogram_bins": 257,
    "use_stochastic_duration_prediction": False,
    "num_hidden_layers": 2,
    "discriminator_periods": (2,),
    "discriminator_scale_channels": (),
    "upsample_initial_channel": 16,
}


def clips(count: int = 12, *, seed: int = 0) -> dict[str, Example]:
    random = np.random.default_rng(seed)
    made = {}
    for number in range(count):
        samples = (0.1 * random.normal(size=16 * 256 + 100 * number) * 32767).clip(-32767, 32767).astype(np.int16)
        ids = tuple(int(i) for i in random.integers(1, 8, 4 + number % 5))
        made[f"c{number:02d}"] = Example(id=f"c{number:02d}", ids=ids, samples=samples, speaker=0)
    return made


def voice(**changes: Any) -> nn.Module:
    torch.manual_seed(1)
    return VITS.learner(VITS.config(**{**SMALLEST, **changes}), vocab_size=8, num_speakers=1)


def engine(
    folder: Path, learner: nn.Module | None = None, *, model: dict[str, Any] | None = None, **plan: Any
) -> Engine:
    settings = {"batch_clips": 2, "schedule": "constant", "validate_every": 1000, "save_every": 1000, "demo_clips": 0}
    checked = PlanSettings(**{"steps": 50, **settings, **plan})
    learner = learner or voice(**(model or {}))
    held = clips()
    return Engine(
        learner,
        Batches(
            list(held),
            [len(e.samples) / 16000 for e in held.values()],
            example=held.__getitem__,
            collate=learner.collate,
            seed=1,
            batch_clips=checked.batch_clips,
            batch_seconds=checked.batch_seconds,
        ),
        validation=lambda: [learner.collate(list(clips(3, seed=9).values()))],
        score="mel",
        plan=checked,
        rewinds=GuardSettings(),
        guards=[Wiring(), Finite()],
        checkpoints=Checkpoints(folder, keep=checked.keep),
        seed=1,
    )


def copied(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def moved(before: dict[str, Tensor], module: nn.Module) -> set[str]:
    return {name for name, tensor in module.state_dict().items() if not torch.equal(tensor, before[name])}


def at_the_step(run: Engine, part: str, look: Callable[[torch.optim.Optimizer], Any]) -> list[Any]:
    """What `look` sees of this part's optimiser at the very moment it steps."""
    seen: list[Any] = []
    run.live[part].optimiser.register_step_pre_hook(lambda optimiser, *_: seen.append(look(optimiser)))
    return seen


def rates(optimiser: torch.optim.Optimizer) -> list[float]:
    return [group["lr"] for group in optimiser.param_groups]


def norm(optimiser: torch.optim.Optimizer) -> float:
    grads = [p.grad for group in optimiser.param_groups for p in group["params"] if p.grad is not None]
    return float(nn.utils.get_total_norm(grads))


# ---------------------------------------------------------------- finetune-hf-vits


def test_b1_1_the_judge_is_not_trained_on_stale_gradients(tmp_path: Path) -> None:
    """Gradients the generator's loss left in the judge would make its second update differ from the one by hand."""
    run = engine(tmp_path)
    run.advance()
    assert all(p.grad is None for p in run.module.parameters())
    alone = copy.deepcopy(run.module)
    params = list(run.live["disc"].named)
    used = at_the_step(run, "disc", lambda _: {n: p.grad.clone() for n, p in run.live["disc"].named.items()})
    batch = alone.collate([run.batches.example(clip) for clip in copy.deepcopy(run.batches).take()])
    run.advance()
    torch.manual_seed((run.seed * 1_000_003 + 101) % SEED_SPAN)
    alone.train()
    update = next(iter(alone.step(batch, Clock(1, 50))))
    assert update.part == "disc"
    (loss,) = update.losses.values()
    (loss.sum * loss.weight / batch.counts[loss.over]).backward()
    by_hand = dict(alone.disc.named_parameters())
    for name in params:
        torch.testing.assert_close(used[0][name], by_hand[name].grad * clip_factor(run, by_hand), rtol=1e-3, atol=1e-6)


def clip_factor(run: Engine, named: dict[str, nn.Parameter]) -> float:
    most = run.live["disc"].part.clip
    size = float(nn.utils.get_total_norm([p.grad for p in named.values()]))
    return 1.0 if most is None else min(1.0, most / (size + 1e-6))


def test_b1_2_training_is_in_train_mode_and_no_layer_is_dropped(tmp_path: Path) -> None:
    """A learner left in eval mode would show `training` False; LayerDrop would skip encoder layers in some steps."""
    run = engine(tmp_path, model={"hidden_dropout": 0.5})
    modes: set[bool] = set()
    calls = 0

    def count(module: nn.Module, *_: object) -> None:
        nonlocal calls
        calls += 1
        modes.add(module.training)

    layers = next(m for m in run.module.gen.text_encoder.modules() if isinstance(m, nn.ModuleList) and len(m) == 2)
    for layer in layers:
        layer.register_forward_hook(count)
    for _ in range(12):
        run.advance()
    assert (calls, modes) == (24, {True})
    assert "layerdrop" not in VITS.config.model_fields
    batch = run.learner.collate(list(clips(2).values()))
    run._training_mode()
    torch.manual_seed(1)
    one = run.module.gen.text_encoder(batch.ids_BT, torch.ones(2, 1, batch.ids_BT.shape[1]))[1]
    two = run.module.gen.text_encoder(batch.ids_BT, torch.ones(2, 1, batch.ids_BT.shape[1]))[1]
    assert not torch.equal(one, two), "dropout acts"


def test_b1_3_warm_up_and_schedule_are_what_the_optimiser_used_from_its_first_step(tmp_path: Path) -> None:
    """A schedule that is ignored, stepped before the first epoch, or stepped per process gives other rates."""
    full = VITS.config(**SMALLEST).learning_rate
    run = engine(tmp_path / "linear", steps=8, schedule="linear", warmup_steps=4, final_rate=0.0)
    used = at_the_step(run, "gen", rates)
    list(run.train())
    assert [rate for (rate,) in used] == pytest.approx([full * f for f in (0.25, 0.5, 0.75, 1, 1, 0.75, 0.5, 0.25)])
    for accumulate in (1, 3):  # more work in a step is no more steps of the schedule, and no decay before epoch 1
        run = engine(tmp_path / str(accumulate), steps=9, schedule="exponential", decay=0.5, accumulate=accumulate)
        used = at_the_step(run, "gen", rates)
        epochs = [report.epoch for report in run.train()]
        assert epochs[0] == 0 and used[0] == [full]
        assert [rate for (rate,) in used] == pytest.approx([full * 0.5**epoch for epoch in epochs])


def test_b1_4_no_setting_is_taken_and_not_read(tmp_path: Path) -> None:
    """A decay that is always 0.01, or a setting nobody reads, would move the weights the same or be accepted."""
    ends = []
    for decay in (0.0, 0.5):
        run = engine(tmp_path / str(decay), model={"weight_decay": decay, "learning_rate": 0.01})
        assert {g["weight_decay"] for live in run.live.values() for g in live.optimiser.param_groups} == {decay}
        for live in run.live.values():
            for p in live.params:
                p.register_hook(torch.zeros_like)  # nothing to learn: only the decay can move a weight
        before = copied(run.module)
        run.advance()
        ends.append(moved(before, run.module))
    assert ends[0] == set() and len(ends[1]) > 50
    for unknown in ("plan.optim=adafactor", "plan.evaluation_strategy=steps", "plan.weight_decay=0.1", "bf16=true"):
        with pytest.raises(ConfigError, match="unknown key"):
            read_recipe(None, [unknown])


def test_b1_5_a_run_goes_on_where_it_was_not_at_the_first_batch(tmp_path: Path) -> None:
    """A resume that only says so, or that begins its epoch again, would hear other clips after step 4."""
    through = engine(tmp_path / "through", steps=10, save_every=2)
    order = heard(through)
    list(through.train())
    first = engine(tmp_path / "cut", steps=10, save_every=2)
    running = first.train()
    next(report for report in running if report.step == 4)
    running.close()
    again = engine(tmp_path / "cut", voice(), steps=10, save_every=2)
    after = heard(again)
    again.resume()
    assert again.step == 4
    list(again.train())
    assert after == order[4:] and len(after) == 6
    assert moved(copied(through.module), again.module) == set()


def heard(run: Engine) -> list[tuple[str, ...]]:
    """The clips of every batch from now on."""
    order: list[tuple[str, ...]] = []
    make = run.batches.make
    run.batches.make = lambda ids: (order.append(tuple(ids)), make(ids))[1]
    return order


# ---------------------------------------------------------------- Igbo


def test_b2_1_no_dummy_clip_and_no_sick_buffer(tmp_path: Path) -> None:
    """A dummy for an unreadable clip would be in the store; a NaN in a buffer would be trained on and saved."""

    def audio(clip: Clip) -> Audio:
        from olu.core.errors import AudioError

        if clip.id == "broken":
            raise AudioError("not a sound")
        return Audio(np.ones(8000, np.float32) * 0.1, 16000)

    listed = [Clip(id=id, audio=id, seconds=0.5, rate=16000, text="a", language="swa") for id in ("fine", "broken")]
    work = build(tmp_path / "store", listed, feature=WaveFeature(16000), audio=audio, jobs=1)
    problems = exhausted(work)
    assert "broken" in problems[0] and "broken" not in Store(tmp_path / "store")
    kinds = {type(module).__name__ for module in voice().modules()}
    assert not any("BatchNorm" in kind for kind in kinds)
    learner = voice()
    learner.register_buffer("spare", torch.zeros(2))
    run = engine(tmp_path / "run", learner, steps=6, save_every=2)
    said = []
    for report in run.train():
        said += [event for event in report.events if event.guard == "finite"]
        if report.step == 3 and not run.rewinds:
            learner.spare.fill_(math.nan)
    assert [event.verdict for event in said] == [Verdict.REWIND] and "spare" in said[0].message
    assert run.step == 6 and bool(torch.isfinite(learner.spare).all())


def exhausted(work: Any) -> Any:
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value


def test_b2_1_padding_beside_a_long_clip_changes_nothing_for_a_short_one() -> None:
    """A row whose every position is masked gives NaN in a softmax; leaking padding gives other numbers."""
    learner = voice().eval()
    short, *_, long = clips().values()
    short = Example(id="short", ids=(3,), samples=short.samples, speaker=0)
    with torch.no_grad():
        alone, beside = (learner.align(learner.collate(group)) for group in ([short], [short, long]))
        both = learner.validate(learner.collate([short, long]))
    frames = alone.shape[1]
    assert torch.equal(alone[0], beside[0, :frames, :1]) and bool(torch.isfinite(both["kl"].sum))


def test_b2_4_sound_and_text_are_whole_or_left_out_together() -> None:
    """A cap that cuts the sound but not the text would leave fewer frames than the clip has."""
    learner = voice()
    group = list(clips().values())
    batch = learner.collate(group)
    assert batch.frames_B.tolist() == [len(e.samples) // 256 for e in group]
    assert batch.tokens_B.tolist() == [len(e.ids) for e in group]
    for row, example in enumerate(group):
        assert batch.ids_BT[row, : len(example.ids)].tolist() == list(example.ids)
    why = VITS.data.refuses(learner.config, samples=16 * 256, tokens=17)
    assert why is not None and "16 frames of sound for 17 tokens" in why
    stream = Batches(
        ["long", "short"], [50.0, 1.0], example=lambda id: group[0], collate=lambda e: e, seed=1, batch_clips=4,
        batch_seconds=10.0,
    )  # fmt: skip
    assert sorted(stream.take() + stream.take()) == ["long", "short"], "over the budget is alone, not cut"


def test_b2_8_checkpoints_are_pruned_and_found_by_number(tmp_path: Path) -> None:
    """By name, step-10000 comes before step-2000: the newest would be deleted and the oldest loaded."""
    held = Checkpoints(tmp_path, keep=2)
    for step in (900, 2000, 9000, 10000, 11000):
        held.save(step, Checkpoint({"learner/w": torch.tensor(float(step))}, {}, {}), best=900)
    assert held.steps() == [900, 10000, 11000]
    checkpoint, step, _ = held.newest()
    assert step == 11000 and float(checkpoint.weights["learner/w"]) == 11000


# ---------------------------------------------------------------- Amharic


@pytest.mark.parametrize("accumulate", [1, 2])
def test_b3_2_gradients_are_clipped_before_the_step(accumulate: int, tmp_path: Path) -> None:
    """Clipping after the step, or a switch left at 0, would let the optimiser see the full gradient."""
    run = engine(tmp_path, model={"clip": 0.01}, accumulate=accumulate)
    seen = {part: at_the_step(run, part, norm) for part in ("disc", "gen")}
    reports = [run.advance() for _ in range(3)]
    whole = [one.grad_norm for report in reports for one in report.seen]
    assert min(whole) > 0.02 and max(seen["disc"] + seen["gen"]) <= 0.0100001
    free = engine(tmp_path / "free", model={"clip": 0.0})
    used = at_the_step(free, "gen", norm)
    report = free.advance()
    assert used[0] == pytest.approx(report.seen[-1].grad_norm, rel=1e-5)


def test_b3_3_milestones_are_steps_whatever_the_epochs(tmp_path: Path) -> None:
    """Milestones that count epochs would not act in these nine steps, which are more than one epoch."""
    run = engine(tmp_path, steps=9, schedule="milestones", milestones=[3, 7], drop=0.1)
    used = at_the_step(run, "gen", rates)
    reports = list(run.train())
    full = run.live["gen"].part.lr
    assert [rate for (rate,) in used] == pytest.approx([full] * 3 + [0.1 * full] * 4 + [0.01 * full] * 2)
    assert reports[-1].epoch == 1


def test_b3_7_freezing_late_parts_averages_and_rates_act(tmp_path: Path) -> None:
    """Each of these was once a setting without effect: then nothing would differ below."""
    run = engine(tmp_path, model={"average": 0.5}, rates={"gen.flow": 0.0, "gen.decoder": 0.5}, late={"disc": 2})
    before, tensors = copied(run.module), run.module.state_dict()
    used = at_the_step(run, "gen", rates)
    for _ in range(2):
        run.advance()
    now = moved(before, run.module)
    assert not any(name.startswith(("gen.flow.", "disc.")) for name in now)
    assert any(name.startswith("gen.decoder.") for name in now) and any("text_encoder" in name for name in now)
    full = run.live["gen"].part.lr
    assert sorted(used[0]) == pytest.approx([0.5 * full, full])
    run.advance()
    assert any(name.startswith("disc.") for name in moved(before, run.module))
    average = run.live["gen"].average
    name = "text_encoder.embed.weight" if "text_encoder.embed.weight" in average else next(iter(average))
    live = tensors[f"gen.{name}"].clone()
    assert not torch.equal(average[name], live)
    with run.averaged():
        assert torch.equal(tensors[f"gen.{name}"], average[name])
    assert torch.equal(tensors[f"gen.{name}"], live)


def test_b4_2_sizes_dropout_warm_up_accumulation_and_batch_act(tmp_path: Path) -> None:
    """A knob that is read under another name, or not at all, would change none of these."""
    plain = engine(tmp_path / "plain")
    base, first = sum(p.numel() for p in plain.module.parameters()), plain.advance()
    for model in ({"hidden_size": 32}, {"num_hidden_layers": 3}, {"ffn_dim": 48}, {"flow_size": 8}):
        assert sum(p.numel() for p in voice(**model).parameters()) != base, model
    dropped = engine(tmp_path / "dropped", model={"hidden_dropout": 0.9}).advance()
    assert dropped.seen[-1].losses["kl"] != first.seen[-1].losses["kl"]
    assert engine(tmp_path / "warm", warmup_steps=10).advance().seen[-1].lr == pytest.approx(0.1 * first.seen[-1].lr)
    for plan, expected in (({"batch_clips": 3}, 3), ({"accumulate": 4}, 8), ({"batch_clips": 1}, 1)):
        assert engine(tmp_path / str(plan), **plan).advance().clips == expected
    with pytest.raises(ConfigError, match="unknown key"):
        read_recipe(None, ["data.batch_size=4"])
    with pytest.raises(TrainError, match="names no weights"):
        engine(tmp_path / "typo", rates={"gen.text_encodr": 0.0})


def test_b4_4_weight_decay_does_not_shrink_what_is_frozen_or_waits(tmp_path: Path) -> None:
    """Frozen by masking its gradient only, a weight still shrinks at every step of AdamW."""
    model = {"weight_decay": 0.5, "learning_rate": 0.01}
    run = engine(tmp_path, model=model, rates={"gen.text_encoder": 0.0}, late={"gen.decoder": 4})
    before = copied(run.module)
    for _ in range(3):
        run.advance()
    still = [name for name in before if name.startswith(("gen.text_encoder.", "gen.decoder."))]
    assert len(still) > 20 and not moved(before, run.module) & set(still)
    assert Recipe().plan.rates == {}, "nothing is frozen unless asked for"

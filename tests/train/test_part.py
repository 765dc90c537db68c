"""What a part may ask for: layers without weight decay, limits of single layers, frozen weights stored once."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from olu.core.errors import TrainError
from olu.train.batches import Prompts
from olu.train.checkpoint import DamagedError
from olu.train.grow_symbols import Growth, enlarged, said_of_scale
from olu.train.part import LivePart

from ..helpers import toys


def test_plain_layers_have_no_weight_decay() -> None:
    learner = toys.Tokens(weight_decay=0.5, plain=("net.bias", "extra"))
    live = LivePart(learner.parts()["body"])
    decays = {id(p): group["weight_decay"] for group in live.optimiser.param_groups for p in group["params"]}
    assert {name for name, p in live.named.items() if decays[id(p)]} == {"net.weight"}
    before = {name: p.detach().clone() for name, p in live.named.items()}
    for p in live.params:
        p.grad = torch.zeros_like(p)
    live.apply(0.1)
    assert {name for name, p in live.named.items() if not torch.equal(before[name], p)} == {"net.weight"}


def test_a_limit_of_a_single_layer_acts_before_that_of_all() -> None:
    live = LivePart(toys.Tokens(clip=1.0, clips={"net.weight": 0.5}).parts()["body"])
    for p in live.params:
        p.grad = torch.ones_like(p)
    norm, norms = torch.nn.utils.get_total_norm(live.grads()), live.norms()
    assert float(norms["net.weight"]) == pytest.approx((toys.SIZE * toys.TARGET) ** 0.5)
    live.clip(norm, norms)
    left = live.named["net.weight"].grad
    assert left is not None and float(left.norm()) < 0.5
    assert float(torch.nn.utils.get_total_norm(live.grads())) == pytest.approx(1.0, rel=1e-4)
    live.note_limits(float(norm), {name: float(one) for name, one in norms.items()})
    assert live.acted == {"net.weight": 1, "": 1}


def test_a_run_counts_its_limits_over_a_stop(tmp_path: Path) -> None:
    def made(folder: str) -> toys.Engine:
        torch.manual_seed(1)
        learner = toys.Tokens(clip=100.0, clips={"net": 1e-3})
        return toys.engine(learner, tmp_path / folder, steps=8, save_every=3)

    through = made("a")
    list(through.train())
    stopped = made("b")
    running = stopped.train()
    next(report for report in running if report.step == 5)
    running.close()
    again = made("b")
    again.resume()
    list(again.train())
    for engine in (through, again):
        first, last = engine.live["body"].said_of_limits("body")
        assert first == "the gradients of body.net were cut to 0.001 in 8 of 8 updates"
        assert last == "the gradients of body were cut to 100 in 0 of 8 updates"
    assert not toys.differing(toys.weights(through.module), toys.weights(again.module))


def test_frozen_weights_lie_once_beside_the_checkpoints(tmp_path: Path) -> None:
    def made() -> toys.Engine:
        torch.manual_seed(1)
        return toys.engine(toys.Tokens(), tmp_path, steps=6, save_every=2, rates={"body.extra": 0.0})

    engine = made()
    list(engine.train())
    (once,) = tmp_path.glob("frozen-*.safetensors")
    from safetensors.torch import load_file

    assert set(load_file(once)) == {"learner/body.extra.weight", "learner/body.extra.bias"}
    newest = engine.checkpoints.load(6)
    assert {name.removeprefix("learner/") for name in newest.weights} >= set(toys.weights(engine.module))
    assert not any("extra" in name for name in load_file(tmp_path / "step-6" / "weights.safetensors"))
    again = made()
    again.resume()
    assert again.step == 6 and not toys.differing(toys.weights(engine.module), toys.weights(again.module))
    once.write_bytes(once.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedError, match="frozen-"):
        engine.checkpoints.load(6)


def test_new_rows_of_a_bias_begin_like_the_old_ones() -> None:
    bias = torch.linspace(1.0, 2.0, 6)
    grown = enlarged(bias, Growth(6, (2, None)))
    assert torch.equal(grown[:6], bias) and grown.shape == (8,)
    table = torch.ones(3, 4)
    assert said_of_scale("t", torch.cat([table, 2 * table[:1]]), 3) == (
        "the new rows of t begin at 4, the old ones have 2 (mean length of a row)"
    )


def test_a_clip_beside_another_is_a_pure_choice() -> None:
    speakers = {f"c{at}": at % 2 for at in range(9)} | {"alone": 7}
    prompts = Prompts(3, speakers, list(speakers))
    chosen = {(clip, epoch): prompts.choose(clip, epoch=epoch) for clip in speakers for epoch in range(40)}
    assert prompts.choose("alone", epoch=1) is None
    for (clip, _), other in chosen.items():
        assert clip == "alone" or (other != clip and other is not None and speakers[other] == speakers[clip])
    assert {chosen["c0", epoch] for epoch in range(40)} == {"c2", "c4", "c6", "c8"}
    assert chosen == {
        key: Prompts(3, speakers, list(reversed(list(speakers)))).choose(key[0], epoch=key[1]) for key in chosen
    }
    assert chosen != {key: Prompts(4, speakers, list(speakers)).choose(key[0], epoch=key[1]) for key in chosen}


def test_everything_frozen_is_refused() -> None:
    with pytest.raises(TrainError, match="freezes every weight"):
        LivePart(toys.Tokens().parts()["body"], scales={"": 0.0})

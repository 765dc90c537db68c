"""XTTS learns: sequences, prompts, true counts, adapters, growth, and each fault of the public training code."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from olu.core.errors import TrainError
from olu.families import family
from olu.families.xtts.batch import CODES, Waves, collated, prompt_of, targets
from olu.families.xtts.codes import Dvae
from olu.families.xtts.config import CODE_SAMPLES, RATE, XttsConfig
from olu.families.xtts.learn import XttsLearner, held_beside_lora
from olu.families.xtts.model import Gpt
from olu.families.xtts.scratch import learn_codes
from olu.families.xtts.spectrum import code_mel, prompt_mel
from olu.nn.lora import is_lora, merge_lora
from olu.nn.sequence import CODE, CodeSequence, packed
from olu.train.batches import drawn
from olu.train.family import Clock, Example
from olu.train.grow_symbols import Growth, enlarged
from olu.train.part import LivePart

from ..families.test_conformance import engine_for

STEPS = 10_000 if os.environ.get("OLU_SOAK") == "1" else 40
CPU = torch.device("cpu")
TINY = XttsConfig(size="tiny", dropout=0.0)
PUBLISHED = XttsConfig(size="tiny", dropout=0.0, stops=4, hears_stop=False)  # as the released weights were taught


def clip(
    number: int, *, seconds: float = 0.7, tokens: int = 9, beside: bool = True, codes: int | None = None
) -> Example:
    samples = round(seconds * RATE) + 13 * number
    time = np.arange(samples) / RATE
    wave = 9000 * np.sin(2 * np.pi * (150 + 90 * number) * time) * (1 + np.sin(2 * np.pi * 3 * time)) / 2
    held = {} if codes is None else {CODES: np.arange(number, number + codes, dtype=np.int16) % 64}
    ids = tuple(4 + (number + k) % 8 for k in range(tokens + number))
    made = Example(id=f"clip-{number}", ids=ids, samples=wave.astype(np.int16), speaker=0, features=held)
    return replace(made, beside=replace(made, id="other") if beside else None, draw=number * 7919)


def learner(config: XttsConfig = TINY, *, seed: int = 1, speakers: int = 1, vocabulary: int = 12) -> XttsLearner:
    torch.manual_seed(seed)
    return XttsLearner(config, vocab_size=vocabulary, num_speakers=speakers)


# ---------------------------------------------------------------- sequences


def published_losses(gpt: Gpt, prompt: Tensor, clips: list[CodeSequence], config: XttsConfig) -> tuple[Tensor, Tensor]:
    """As published: texts and codes padded each for themselves, with masks in between; sums."""
    texts = [[config.text_start, *one.ids, config.text_stop] for one in clips]
    codes = [[config.start_code, *one.codes, *[config.stop_code] * 4] for one in clips]
    wide, long = max(map(len, texts)), max(map(len, codes))
    ids = torch.tensor([row + [0] * (wide - len(row)) for row in texts])
    spoken = torch.tensor([row + [config.stop_code] * (long - len(row)) for row in codes])
    lengths = {"text_lengths": torch.tensor(list(map(len, texts))), "code_lengths": torch.tensor(list(map(len, codes)))}
    text_logits, code_logits, _ = gpt(prompt, ids, spoken, **lengths)
    found = []
    for logits, rows in ((text_logits, texts), (code_logits, codes)):
        both = [(logits[b, : len(row) - 1], torch.tensor(row[1:])) for b, row in enumerate(rows)]
        found.append(
            nn.functional.cross_entropy(*(torch.cat(part) for part in zip(*both, strict=True)), reduction="sum")
        )
    return found[0], found[1]


def test_packed_sequences_have_the_published_losses_and_need_no_mask() -> None:
    made = learner(PUBLISHED).eval()
    clips = [CodeSequence((4, 5, 6), np.array([3, 9, 1, 7])), CodeSequence((7, 8), np.array([2] * 9))]
    prompt = torch.randn(2, TINY.prompt_rows, TINY.width)
    sequences = packed(clips, made.rules)
    flat = made.latents(prompt, sequences).flatten(0, 1)
    text = nn.functional.cross_entropy(
        made.gpt.text_head(flat[sequences.text_rows]), sequences.text_targets, reduction="sum"
    )
    codes = nn.functional.cross_entropy(
        made.gpt.mel_head(flat[sequences.code_rows]), sequences.code_targets, reduction="sum"
    )
    wanted = published_losses(made.gpt, prompt, clips, PUBLISHED)
    torch.testing.assert_close(torch.stack([text, codes]), torch.stack(wanted), rtol=1e-5, atol=1e-4)
    assert sequences.code_targets.tolist() == [3, 9, 1, 7, *[65] * 4, *[2] * 9, *[65] * 4]
    assert sequences.text_targets.tolist() == [4, 5, 6, 0, 7, 8, 0]


def test_a_clip_alone_is_the_clip_in_any_batch() -> None:
    made = learner().eval()
    clips = [clip(0), clip(1, seconds=1.3), clip(2, seconds=0.4)]
    with torch.no_grad():
        alone = [{k: float(v.sum) for k, v in made.validate(made.collate([one])).items()} for one in clips]
        together = {k: float(v.sum) for k, v in made.validate(made.collate(clips)).items()}
    assert together == pytest.approx({k: sum(one[k] for one in alone) for k in together}, rel=1e-4)


def test_a_clip_without_codes_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to learn from"):
        packed([CodeSequence((4,), np.zeros(0, np.int64))], learner().rules)


# ---------------------------------------------------------------- prompts and masks


def draws(count: int) -> list[tuple[Example, XttsConfig]]:
    same = XttsConfig(size="v2", conditioning="same", codec="0")
    lengths = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 11.6)
    clips = {seconds: clip(0, seconds=seconds, codes=-(-round(seconds * RATE) // CODE_SAMPLES)) for seconds in lengths}
    return [(replace(clips[lengths[n % 7]], draw=drawn("draw", 1, n, "clip")), same) for n in range(count)]


def test_every_draw_keeps_its_stops_and_something_to_learn() -> None:
    """Micro-batch 1 for 10,000 draws: never nothing to learn, every stop a target, counts as they are."""
    shares = []
    for example, config in draws(10_000):
        hidden = prompt_of(
            example, config, share=((example.draw & 0xFFFFFFFF) / 2**32, (example.draw >> 32) / 2**32)
        ).hidden
        codes = example.features[CODES]
        low, high = hidden
        assert 0 <= low <= high <= len(codes)
        left = targets(len(codes), hidden, config)
        assert left >= config.stops and left == len(codes) - (high - low) + config.stops
        shares.append((high - low) / len(codes))
    assert 0.3 < np.mean(shares) < 0.6


def test_masks_never_touch_a_stop_and_counts_are_true() -> None:
    rules, same = learner(PUBLISHED).rules, XttsConfig(size="v2", conditioning="same", codec="0", codes=64)
    for example, _ in draws(280):
        batch = collated([example], same)
        codes = batch.codes[0]
        assert codes is not None
        sequences = packed([CodeSequence(example.ids, codes, batch.hidden[0])], rules)
        stops = (sequences.code_targets == rules.code_stop).sum()
        assert int(stops) == rules.stops and len(sequences.code_targets) == batch.counts["codes"]
        assert len(sequences.text_targets) == batch.counts["tokens"] == len(example.ids) + 1


def public_mask(samples: int, size: int, start: int, codes: int) -> np.ndarray[Any, Any]:
    """What the public trainer leaves to learn of the last clip: samples divided by 256, not by 1024."""
    kept = np.ones(codes + 4, bool)
    kept[start // 256 : (start + size) // 256] = False
    return kept


def test_the_public_mask_hides_stops_and_leaves_nothing() -> None:
    """The counter-test: with its index both of the properties above fail, and its mean over nothing is no number."""
    lost, empty = 0, 0
    for example, config in draws(10_000):
        least, most = (round(one * RATE) for one in config.prompt_seconds)
        share = (example.draw & 0xFFFFFFFF) / 2**32, (example.draw >> 32) / 2**32
        size = min(round(least + share[0] * (most - least)), len(example.samples) // 2)
        start = round(share[1] * (len(example.samples) - size))
        kept = public_mask(len(example.samples), size, start, len(example.features[CODES]))
        lost, empty = lost + (not kept[-4:].all()), empty + (not kept.any())
    assert lost > 3000 and empty > 20
    nothing = nn.functional.cross_entropy(torch.zeros(1, 9), torch.tensor([-100]), ignore_index=-100)
    assert math.isnan(float(nothing))


def test_every_clip_of_a_batch_is_masked_not_only_the_last() -> None:
    """Another fault of the public code: all but the last clip learnt the codes their prompt gave away."""
    same = XttsConfig(size="tiny", conditioning="same")
    clips = [replace(clip(n, seconds=2.0 + n), draw=drawn("draw", 1, 0, str(n))) for n in range(3)]
    batch = collated(clips, same)
    assert all(high > low for low, high in batch.hidden)
    assert len(set(batch.hidden)) > 1


def test_a_prompt_is_of_another_clip_and_hides_nothing() -> None:
    example = clip(3, seconds=3.0)
    other = replace(clip(5, seconds=2.0), id="other")
    prompt = prompt_of(replace(example, beside=other), TINY, share=(1.0, 0.0))
    assert prompt.hidden == (0, 0)
    np.testing.assert_array_equal(prompt.wave, other.samples[: len(prompt.wave)])
    alone = prompt_of(replace(example, beside=None), TINY, share=(1.0, 0.0))  # its speaker has no other clip
    assert alone.hidden == (0, len(alone.wave) // CODE_SAMPLES) and len(alone.wave) <= len(example.samples) // 2


def test_micro_batches_of_one_stay_finite() -> None:
    """10,000 of them in make soak."""
    made = learner(XttsConfig(size="tiny", conditioning="same", prompt_seconds=(0.3, 0.6)))
    optimiser = torch.optim.AdamW(made.gpt.parameters(), lr=1e-4)
    for number in range(STEPS):
        batch = made.collate(
            [replace(clip(number % 5, seconds=0.2 + 0.1 * (number % 7), beside=False), draw=drawn("d", 2, number, ""))]
        )
        (update,) = made.step(batch, Clock(number, STEPS))
        loss = sum(one.sum / batch.counts[one.over] for one in update.losses.values())
        assert math.isfinite(float(loss.detach()))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


# ---------------------------------------------------------------- codes


def test_codes_of_a_padded_batch_hang_on_the_neighbours() -> None:
    """Why codes are made clip by clip: zeros after a clip reach its last codes."""
    torch.manual_seed(3)
    dvae, ones = Dvae(XttsConfig(size="tiny", dvae_blocks=3)).eval(), torch.ones(80)
    wave = torch.randn(1, 20 * CODE_SAMPLES) * torch.rand(1, 20).repeat_interleave(CODE_SAMPLES, 1)
    x = dvae.encoder(code_mel(wave, ones)).detach()
    learn_codes(dvae.codebook, x, torch.zeros(1, x.shape[-1], dtype=torch.long))
    alone, padded = dvae.codes(wave, ones), dvae.codes(nn.functional.pad(wave, (0, 9 * CODE_SAMPLES)), ones)[:, :20]
    assert not torch.equal(alone, padded) and torch.equal(alone[:, :12], padded[:, :12])
    made = learner().eval()
    clips = [clip(0, seconds=0.5), clip(1, seconds=2.0)]
    batch = made.collate(clips)
    one = made.collate(clips[:1])
    assert np.array_equal(made._codes_of(batch, 0), made._codes_of(one, 0))


def test_codes_that_no_base_made_are_refused() -> None:
    config = XttsConfig(size="tiny", codec="0" * 64)
    strange = replace(clip(0), features={CODES: np.array([5, 64], np.int16)})
    with pytest.raises(TrainError, match="clip-0: its codes are not of this base's DVAE"):
        collated([strange], config)


# ---------------------------------------------------------------- optimiser, adapters, growth


def test_norms_biases_and_tables_have_no_weight_decay() -> None:
    made = learner(XttsConfig(size="tiny", weight_decay=0.5))
    live = LivePart(made.parts()["gpt"])
    groups = {id(p): group["weight_decay"] for group in live.optimiser.param_groups for p in group["params"]}
    decayed = {name for name, p in live.named.items() if groups[id(p)] > 0}
    assert all(p.dim() > 1 for name, p in live.named.items() if name in decayed)
    assert not any("embedding" in name or "norm" in name or "ln_" in name or "latents" in name for name in decayed)
    assert {"gpt.h.0.mlp.c_fc.weight", "mel_head.weight", "conditioning_encoder.init.weight"} <= decayed


def test_a_layer_has_its_own_limit_before_the_step(tmp_path: Path) -> None:
    """The hook of a public fork clips after the step and zero_grad, so it changes nothing; here it acts before."""
    clips = [clip(0), clip(1)]
    made = learner(XttsConfig(size="tiny", dropout=0.0, clip=0.0, layer_clips={"text_embedding": 1e-4}))
    engine = engine_for(family("xtts"), made, tmp_path, clips)
    used: dict[str, Tensor] = {}
    apply = engine.live["gpt"].apply

    def seen(rate: float) -> None:
        used.update({name: p.grad.clone() for name, p in engine.live["gpt"].named.items() if p.grad is not None})
        apply(rate)

    engine.live["gpt"].apply = seen  # type: ignore[method-assign]
    engine.advance()
    assert float(used["text_embedding.weight"].norm()) == pytest.approx(1e-4, rel=1e-3)
    assert float(used["mel_embedding.weight"].norm()) > 1e-3
    assert engine.live["gpt"].acted["text_embedding"] == 1
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.full((3,), 9.0)
    optimiser = torch.optim.AdamW([weight], lr=0.1)
    optimiser.register_step_post_hook(lambda *_: weight.grad is None or weight.grad.clamp_(-0.1, 0.1))  # the fork's way
    optimiser.step()
    assert float(optimiser.state[weight]["exp_avg"][0]) == pytest.approx(0.9)  # the whole gradient went in


def test_what_is_told_of_a_step_is_the_true_mean_whatever_the_accumulation(tmp_path: Path) -> None:
    """The public trainer prints each micro-batch's mean divided by the accumulation, and learns from a mean of means: a
    short clip then counts as much as a long one, and "0.57" is 4.6."""
    clips = [clip(n, seconds=seconds) for n, seconds in enumerate((0.5, 1.0, 2.0, 3.0))]
    told = {}
    for size in (1, 4):
        engine = engine_for(
            family("xtts"), learner(), tmp_path / str(size), clips, batch_clips=size, accumulate=4 // size
        )
        (seen,) = engine.advance().seen
        told[size] = seen.losses["codes"]
    assert told[1] == pytest.approx(told[4], rel=1e-5)
    made = learner().train()
    means, sums, counts = [], 0.0, 0.0
    with torch.no_grad():
        for one in clips:
            batch = engine.batches.make([one.id])
            (update,) = made.step(batch, Clock(0, 1))
            means.append(float(update.losses["codes"].sum) / batch.counts["codes"])
            sums, counts = sums + float(update.losses["codes"].sum), counts + batch.counts["codes"]
    assert told[1] == pytest.approx(sums / counts, rel=1e-5)
    printed = np.array(means) / len(clips)  # as the public trainer prints a step of four micro-batches
    assert printed.max() < 0.3 * told[1] and abs(np.mean(means) / told[1] - 1) > 1e-4


def test_without_a_guard_one_nan_is_there_for_good() -> None:
    """Why clipping is no guard: the norm of a NaN is one, and the optimiser keeps it."""
    weight = torch.nn.Parameter(torch.ones(3))
    optimiser = torch.optim.AdamW([weight], lr=0.1)
    for number in range(3):
        weight.grad = torch.tensor([math.nan if number == 0 else 1.0, 1.0, 1.0])
        nn.utils.clip_grad_norm_([weight], 1.0)
        optimiser.step()
    assert bool(weight.isnan().all())


def test_adapters_change_nothing_at_first_learn_and_are_merged() -> None:
    plain, made = learner(), learner(XttsConfig(size="tiny", dropout=0.0, lora_rank=8))
    made.load_state_dict(plain.state_dict(), strict=False)
    batch = made.collate([clip(0), clip(1)])
    plain.eval(), made.eval()
    with torch.no_grad():
        before = [float(one.validate(batch)["codes"].sum) for one in (plain, made)]
    assert before[0] == pytest.approx(before[1], rel=1e-6)
    live = LivePart(made.parts()["gpt"])
    moving = set(live.named)
    assert {name for name in moving if not is_lora(name)} == {
        "text_embedding.weight",
        "text_head.weight",
        "text_head.bias",
    }
    assert sum(is_lora(name) for name in moving) == 2 * 4 * TINY.layers
    held = {name: p.detach().clone() for name, p in made.gpt.named_parameters() if name not in moving}
    for number in range(3):
        (update,) = made.step(batch, Clock(number, 3))
        sum(one.sum / batch.counts[one.over] for one in update.losses.values()).backward(inputs=live.params)
        live.apply(1e-2)
        live.clear()
    assert all(torch.equal(p, held[name]) for name, p in made.gpt.named_parameters() if name in held)
    with torch.no_grad():
        learnt = float(made.validate(batch)["codes"].sum)
        assert learnt != pytest.approx(before[0], rel=1e-3) and merge_lora(made) == 4 * TINY.layers
        assert float(made.validate(batch)["codes"].sum) == pytest.approx(learnt, rel=1e-5)
    assert made.state_dict().keys() == plain.state_dict().keys()


def test_adapters_of_v2_are_as_large_as_they_should_be() -> None:
    from olu.families.xtts.plan import moved, weights

    config = XttsConfig(size="v2", lora_rank=16)
    assert moved(config) - weights(config)["text"] == 16 * 16_384 * 30 == 7_864_320
    assert weights(XttsConfig(size="v2"))["gpt"] == 441_018_563
    for rank in (4, 64):
        with pytest.raises(ValueError, match="8 to 32"):
            XttsConfig(size="v2", lora_rank=rank)
    assert held_beside_lora(learner(XttsConfig(size="tiny", lora_rank=8)).gpt)[""] == 0.0


def test_growth_leaves_old_logits_and_begins_like_the_old_rows() -> None:
    old, new = learner(vocabulary=40).eval(), learner(vocabulary=52, seed=9).eval()
    growth = Growth(40, (5, None, (1, 2, 3), 7, None, 8, 9, 10, 11, 12, 13, None))
    state = old.state_dict()
    rows = family("xtts").bases.symbol_rows  # type: ignore[union-attr]
    new.load_state_dict({**state, **{name: enlarged(state[name], growth) for name in rows}})
    batch = old.collate([clip(0), clip(1)])
    with torch.no_grad():
        one, other = old.validate(batch), new.validate(batch)
        assert float(one["codes"].sum) == float(other["codes"].sum)
        sequences = old._sequences(batch, batch.hidden)
        prompt = old.gpt.condition(prompt_mel(batch.middles.stacked(CPU), old.mel_stats))
        latents = [made.latents(prompt, sequences) for made in (old, new)]
        assert torch.equal(*latents)
        logits = [made.gpt.text_head(latents[0]) for made in (old, new)]
        torch.testing.assert_close(logits[0], logits[1][..., :40], rtol=0, atol=1e-6)
        strange = replace(clip(0), ids=tuple(range(40, 52)))
        found = new.validate(new.collate([strange]))["text"]
        assert abs(float(found.sum) / 13 - math.log(52)) < 1.5  # at step 0 no worse than a blind guess


# ---------------------------------------------------------------- from scratch, and really learning


def test_parts_learn_one_after_the_other_from_scratch(tmp_path: Path) -> None:
    config = XttsConfig(size="tiny", codes_steps=2, decoder_from=4, average=0.0)
    made = learner(config, speakers=2)
    clips = [clip(0), replace(clip(1), speaker=1)]
    engine = engine_for(family("xtts"), made, tmp_path, clips, steps=6)
    names = ("dvae", "gpt", "hifigan_decoder", "disc")
    kept = {name: [p.detach().clone() for p in getattr(made, name).parameters()] for name in names}
    moved = []
    for _ in range(6):
        report = engine.advance()
        assert not report.events
        found = {
            n
            for n in names
            if any(not torch.equal(p, q) for p, q in zip(getattr(made, n).parameters(), kept[n], strict=True))
        }
        moved.append(found)
        kept = {name: [p.detach().clone() for p in getattr(made, name).parameters()] for name in names}
    assert moved == [{"dvae"}] * 2 + [{"gpt"}] * 2 + [{"disc", "hifigan_decoder"}] * 2
    assert set(engine._validate()[0]) >= {"codes", "text", "mel", "spectrum", "total"}


def test_a_codebook_of_numbers_that_are_none_stays_as_it_was() -> None:
    made = learner(XttsConfig(size="tiny", codes_steps=5)).train()
    batch = made.collate([clip(0)])
    batch = replace(batch, sounds=Waves(tuple(np.full(len(one), math.nan, np.float32) for one in batch.sounds.rows)))
    before = made.dvae.codebook.embed.clone()
    (update,) = made.step(batch, Clock(0, 9))
    assert math.isnan(float(update.losses["mel"].sum.detach())) and torch.equal(before, made.dvae.codebook.embed)
    made.train()
    (update,) = made.step(made.collate([clip(0)]), Clock(0, 9))
    assert not torch.equal(before, made.dvae.codebook.embed)  # codes that nothing chose begin at what is heard


def test_codes_learnt_from_scratch_come_to_be_used() -> None:
    made = learner(XttsConfig(size="tiny", codes_steps=200, codes_learning_rate=2e-3)).train()
    made.mel_stats.fill_(6.0)
    part = LivePart(made.parts()["codes"])
    batch = made.collate([clip(n, seconds=1.2) for n in range(4)])
    first = last = 0.0
    for number in range(160):
        torch.manual_seed(number)
        (update,) = made.step(batch, Clock(number, 200))
        total = sum(loss.sum * loss.weight / batch.counts[loss.over] for loss in update.losses.values())
        total.backward(inputs=part.params)
        part.apply(2e-3)
        part.clear()
        last = float(update.losses["mel"].sum.detach())
        first = first or last
    codes = np.concatenate([made.dvae.codes(one[None], made.mel_stats)[0].numpy() for one in batch.sounds.on(CPU)])
    assert last < 0.5 * first and len(np.unique(codes)) >= 8


def test_a_tiny_one_learns_some_clips_and_speaks_their_codes_back_with_a_stop() -> None:
    config = XttsConfig(size="tiny", dropout=0.0, codec="0" * 64, temperature=0.0, repetition_penalty=1.0)
    made = learner(config)
    chance = np.random.default_rng(4)
    texts = [(4, 5, 6, 7, 8), (8, 9, 4, 4, 10), (11, 6, 9, 5)]
    clips = [
        replace(clip(n), ids=ids, features={CODES: chance.integers(0, 64, 9 + 2 * n).astype(np.int16)})
        for n, ids in enumerate(texts)
    ]
    batch, live = made.collate(clips), LivePart(made.parts()["gpt"])
    made.train()
    for number in range(120):
        (update,) = made.step(batch, Clock(number, 120))
        total = sum(loss.sum * loss.weight / batch.counts[loss.over] for loss in update.losses.values())
        total.backward(inputs=live.params)
        nn.utils.clip_grad_norm_(live.params, 1.0)
        live.apply(3e-3)
        live.clear()
    made.eval()
    with torch.no_grad():
        prompts = made.gpt.condition(prompt_mel(batch.middles.stacked(CPU), made.mel_stats))
    for number, one in enumerate(clips):
        codes, latents, stopped = made.written(one.ids, prompts[number : number + 1], most=60, seed=1)
        assert stopped and codes == one.features[CODES].tolist()
        assert len(latents) == len(codes) + 1  # the stop has one too
        sequences = packed([CodeSequence(one.ids, one.features[CODES].astype(np.int64))], made.rules)
        forced = made.latents(prompts[number : number + 1], sequences)[sequences.kind_BL == CODE]
        torch.testing.assert_close(latents, forced, rtol=1e-3, atol=1e-4)  # one pass is enough

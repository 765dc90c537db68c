"""VITS with the decoder `source`: pulses and noise, filtered, with pitch and voicing of the text."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from olu.core.errors import ExportError
from olu.core.types import Audio
from olu.families import family
from olu.families.vits.base import base_of
from olu.families.vits.config import VitsConfig
from olu.families.vits.export import copied, export, plain
from olu.families.vits.foreign.read import Foreign
from olu.families.vits.foreign.to_transformers import spoken
from olu.families.vits.learn import VitsLearner
from olu.families.vits.model import expansion
from olu.families.vits.plan import memory, parameters
from olu.families.vits.prosody import _places, contour_of
from olu.features.pitch import at_centres
from olu.speak.contour import line_through
from olu.speak.engines import ChunkPlan
from olu.speak.source import pulses
from olu.speak.voice import Voice
from olu.train.batches import BatchShape
from olu.train.family import Card, Example

from ..helpers.packages import TEXT, pack

VITS = family("vits")
LONG = "Kedu ka ị mere taa, ọ dị mma nke ukwuu, na anyị ga-abịa echi n'ụtụtụ ka anyị hụ gị ọzọ."


def learner(*, speakers: int = 1, **changes: Any) -> VitsLearner:
    torch.manual_seed(2)
    config = VitsConfig(size="tiny", **{"decoder": "source", **changes})
    return VitsLearner(config, vocab_size=12, num_speakers=speakers)


def clips(count: int = 3) -> list[Example]:
    made = []
    for number in range(count):
        time = np.arange((40 + 4 * number) * 256 + 17 * number) / 16000
        wave = sum(np.cos(2 * np.pi * (120 + 60 * number) * k * time) for k in range(1, 20)) / 8
        samples = (9000 * wave).astype(np.int16)
        ids = tuple(1 + (number + k) % 11 for k in range(8 + number))
        made.append(Example(f"c{number}", ids, samples, 0, {"pitch": at_centres(samples)}))
    return made


# ---------------------------------------------------------------- pitch


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=7), st.integers(0, 4), st.integers(0, 99))
def test_the_contour_goes_through_the_knots_as_the_engines_line_does(frames: list[int], more: int, seed: int) -> None:
    knots = np.random.default_rng(seed).normal(7, 0.5, (len(frames), 3))
    durations = torch.tensor([[*frames, *[0] * more]], dtype=torch.float32)
    path, _ = expansion(durations, torch.tensor([sum(frames) + more]))  # both padded
    place, _ = _places(durations, path)
    given_knots = torch.full((1, 3, len(frames) + more), 99.0)
    given_knots[0, :, : len(frames)] = torch.from_numpy(knots.T)
    found = contour_of(given_knots, durations, path, place)[0, : sum(frames)].numpy()
    wanted = line_through(knots, np.array(frames), np.ones(len(frames), bool))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_pitch_and_voicing_are_learnt_from_the_text_and_leave_the_text_alone() -> None:
    net = learner(pitch_dropout=0.0)
    batch, start = net.collate(clips()), torch.zeros(3, dtype=torch.long)
    before, optimiser = {}, torch.optim.AdamW(net.gen.prosody.parameters(), lr=1e-2)
    for step in range(80):
        heard = net.eval().forward(batch, start).melody
        if not step:
            before = {name: float(value.detach()) for name, value in heard.items()}
        optimiser.zero_grad()
        sum(heard.values()).backward()
        assert net.gen.text_encoder.embed_tokens.weight.grad is None
        optimiser.step()
    assert float(heard["pitch"].detach()) < 0.2 * before["pitch"]
    assert float(heard["voicing"].detach()) < 0.5 * before["voicing"]


def test_what_lies_on_a_gpu_makes_the_same_batch() -> None:
    net, examples = learner(), clips()
    batch, held = net.collate(examples), [net.resident(one) for one in examples]
    assert [set(one) for one in held] == [{"sound", "pitch"}] * 3
    firsts = {name: np.cumsum([0, *(len(one[name]) for one in held)])[:3].tolist() for name in held[0]}
    shape = BatchShape(3, batch.ids_BT.shape[1] + 2, max(len(one.samples) for one in examples) + 900)
    flat = torch.from_numpy(net.pack(examples, firsts, shape))
    resident = {name: torch.from_numpy(np.concatenate([one[name] for one in held])) for name in held[0]}
    found = net.unpack(flat, resident, shape)
    frames = batch.melody_B2F.shape[2]
    torch.testing.assert_close(found.melody_B2F[:, :, :frames], batch.melody_B2F, atol=0, rtol=0)
    assert not found.melody_B2F[:, :, frames:].any()
    assert found.melody_B2F.shape[2] == shape.samples // 256


def test_only_this_decoder_needs_pitch() -> None:
    wanted = [VITS.data.features(VitsConfig(size="tiny", decoder=kind), None) for kind in ("hifigan", "source")]
    assert [[one.name for one in features] for features in wanted] == [[], ["pitch"]]
    assert set(learner(decoder="hifigan").resident(clips(1)[0])) == {"sound"}


def test_the_plan_knows_it() -> None:
    plain_one, source = (VitsConfig(size="small", decoder=kind) for kind in ("hifigan", "source"))
    made = VITS.learner(source, vocab_size=40, num_speakers=1)
    assert parameters(source) == pytest.approx(sum(p.numel() for p in made.parameters()), rel=0.02)
    of = {"clips": 16, "seconds": 4, "tokens": 80}
    assert 0.4 * memory(plain_one, **of) < memory(source, **of) < memory(plain_one, **of)


# ---------------------------------------------------------------- speaking


@pytest.mark.parametrize("speakers", [1, 2] if os.environ.get("OLU_SOAK") == "1" else [2])
def test_the_graphs_are_the_network(speakers: int, tmp_path: Path) -> None:
    net = learner(speakers=speakers)
    with torch.no_grad():
        for value in net.gen.parameters():
            value.add_(torch.randn_like(value) * 0.05)
    facts = export(net, folder=tmp_path)
    gen, ids = plain(net.gen), torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    who = torch.tensor([speakers - 1])
    noise, lengths = torch.randn(1, 16, 7), torch.randn(1, 2, 8)
    encoder, decoder = (onnxruntime.InferenceSession(tmp_path / f"{half}.onnx") for half in ("encoder", "decoder"))
    feeds = {"ids": ids.numpy(), "noise": noise.numpy(), "duration_noise": lengths.numpy()}
    feeds |= {name: np.array(value, np.float32) for name, value in facts["sampling"].items()}
    known = {"speaker": who.numpy()} if speakers > 1 else {}
    latents, durations, contour, voicing = encoder.run(None, {**feeds, **known})
    with torch.no_grad():
        g = gen.speaker(who)
        scales = {"noise_scale": 0.667, "noise_scale_duration": 0.8, "length_scale": 1.0}
        wanted = gen.latents(ids, torch.tensor([8]), g=g, noise_BCF=noise, duration_noise_B2T=lengths, **scales)
    for found, one in zip((latents, durations, contour, voicing), wanted, strict=True):
        np.testing.assert_allclose(found, one.numpy(), atol=2e-4)
    source = pulses(contour[0], voicing[0], hop=256, rate=16000)
    breath = np.random.default_rng(1).standard_normal(len(source), np.float32)
    columns = {name: one.reshape(1, -1, 256).swapaxes(1, 2) for name, one in (("source", source), ("noise", breath))}
    feeds = {"latents": latents, "contour": contour, "voicing": voicing, **columns, **known}
    (wave,) = decoder.run(None, feeds)
    waves = [torch.from_numpy(one)[None] for one in (source, breath)]
    with torch.no_grad():
        same = gen.decoder(*map(torch.from_numpy, (latents, contour, voicing)), *waves, g)
    np.testing.assert_allclose(wave, same.numpy(), atol=1e-4)


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Voice:
    return pack(tmp_path_factory.mktemp("source") / "x.voice", speakers=["a", "b"], decoder="source")


def test_chunks_are_the_whole(voice: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = voice.speak(LONG, seed=3).samples
    pieces = [piece.audio.samples for piece in voice.stream(LONG, seed=3)]
    assert len(pieces) > 1 and whole.std() > 1e-3
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=2e-6)
    monkeypatch.setattr(ChunkPlan, "of", lambda *_, **__: ChunkPlan(0, 8, 16, 2))  # the test can fail
    pieces = [piece.audio.samples for piece in voice.stream(LONG, seed=3)]
    assert not np.allclose(np.concatenate(pieces), whole, atol=1e-4)


def test_seeds_and_speakers_act(voice: Voice) -> None:
    one, again, other = (voice.speak(TEXT, seed=seed).samples for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert one.shape != other.shape or not np.allclose(one, other)
    another = voice.speak(TEXT, seed=1, speaker="b").samples
    assert one.shape != another.shape or not np.allclose(one, another)


def test_a_copy_has_the_recordings_pitch() -> None:
    """Untrained: the source alone."""
    clip = clips(2)[1]
    copy = copied(learner().eval(), Audio(clip.samples.astype(np.float32) / 32768, 16000), speaker=0)
    heard = at_centres((20000 * copy.samples / np.abs(copy.samples).max()).astype(np.int16))
    voiced = heard[5:-5][heard[5:-5, 1] > 0.5]
    assert len(voiced) > 20 and abs(12 * np.log2(np.median(voiced[:, 0]) / 180)) < 0.5


@pytest.mark.parametrize("form", [one.name for one in VITS.speaks.formats])
def test_no_other_program_knows_it(form: str, tmp_path: Path) -> None:
    write = next(one.write for one in VITS.speaks.formats if one.name == form)
    with pytest.raises(ExportError, match=r"model.decoder = 'source', which no other program knows: use '--to voice'"):
        write(SimpleNamespace(learner=learner()), tmp_path)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- starting from others


def held(net: VitsLearner, *, speakers: int = 1) -> Foreign:
    names = tuple(f"p{n}" for n in range(speakers))
    card = Card(symbols=tuple("abcdefghijkl"), interleave=True, language="ibo", speakers=names)
    return Foreign(
        config=net.config,
        symbols=card.symbols,
        interleave=True,
        lower=True,
        via=None,
        num_speakers=speakers,
        weights=spoken(net, card),
        speakers=names if speakers > 1 else (),
    )


def test_it_begins_with_another_decoders_text_and_flow() -> None:
    old, new = learner(decoder="hifigan"), learner()
    said = " ".join(base_of(held(old), where="x").load(new))
    assert "the base lacks decoder, prosody" in said
    assert torch.equal(new.gen.text_encoder.project.weight, old.gen.text_encoder.project.weight)


def test_it_goes_on_from_its_own_kind() -> None:
    old, new = learner(), learner()
    with torch.no_grad():
        for value in old.gen.parameters():
            value.add_(0.01)
    said = base_of(held(old), where="x").load(new)
    assert not any("lacks decoder" in one for one in said)
    assert torch.equal(new.gen.decoder.enter.bias, old.gen.decoder.enter.bias)
    assert torch.equal(new.gen.prosody.knots.bias, old.gen.prosody.knots.bias)


def test_one_speaker_of_many_is_folded_into_the_decoder() -> None:
    old, new = learner(speakers=2), learner()
    base_of(replace(held(old, speakers=2), speakers=("p0", "p1")), where="x").load(new, None, ["p1"])
    who = old.gen.speaker(torch.tensor([1]))
    latents, line, waves = torch.randn(1, 16, 9), torch.full((1, 9), 7.0), torch.randn(2, 1, 9 * 256)
    with torch.no_grad():
        one = old.gen.decoder(latents, line, line / 7, *waves, who)
        other = new.gen.decoder(latents, line, line / 7, *waves)
    inside = slice(3 * 256, -3 * 256)
    torch.testing.assert_close(other[:, inside], one[:, inside], atol=1e-4, rtol=1e-3)

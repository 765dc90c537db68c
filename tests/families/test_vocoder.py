"""The vocoder: its source, its transform, its pitch before any training, chunks, and what its batches are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.families import family
from olu.families.vocoder.config import HOP, RATE, VocoderConfig
from olu.families.vocoder.learn import VocoderLearner, melody_of
from olu.features import pitch
from olu.networks.session import open_session, quiet, read_network
from olu.nn.source import pulses
from olu.nn.stft import Stft
from olu.speak import source as spoken
from olu.train.batches import make_buckets
from olu.train.cuda_graph import Resident
from olu.train.family import Clock, Example

GOLDEN = [
    0.02462,
    -0.098548,
    0.041329,
    -0.002747,
    0.06025,
]  # samples of first weights, and their level


def voice(seconds: float = 1.5, *, hertz: float = 120.0, seed: int = 0) -> np.ndarray:
    """A vowel: pulses through three resonances, as int16."""
    count = int(seconds * RATE) // HOP
    line = np.log2(hertz) + 0.1 * np.sin(np.arange(count) / 12)
    wave = spoken.pulses(line, np.ones(count), hop=HOP, rate=RATE)
    shape = np.fft.rfftfreq(len(wave), 1 / RATE)
    gain = sum(1 / (1 + ((shape - at) / width) ** 2) for at, width in ((500, 80), (1500, 120), (2500, 160))) + 0.01
    wave = np.fft.irfft(np.fft.rfft(wave) * gain, n=len(wave))
    wave = wave + 1e-3 * np.random.default_rng(seed).standard_normal(len(wave))
    return (12000 * wave / np.abs(wave).max()).astype(np.int16)


def example(id: str = "a", samples: np.ndarray | None = None, **more: Any) -> Example:
    samples = voice(**more) if samples is None else samples
    return Example(id, (), samples, 0, {"pitch": pitch.at_centres(samples)})


def learner(**changes: Any) -> VocoderLearner:
    torch.manual_seed(1)
    return VocoderLearner(VocoderConfig(**{"size": "tiny", **changes}))


# ------------------------------------------------------------ source and transform


def test_pulses_are_the_plain_sum_of_cosines():
    count = 12
    line = torch.linspace(6.3, 8.4, count).repeat(2, 1)
    found = pulses(line, torch.ones(2, count), hop=HOP, rate=RATE, turns_B=torch.tensor([0.0, 0.3]))
    at = np.clip((np.arange(count * HOP) - HOP / 2) / HOP, 0, count - 1)
    hertz = 2 ** np.interp(at, np.arange(count), line[0].double().numpy())
    for turns, row in zip((0.0, 0.3), found, strict=True):
        phase = 2 * np.pi * (turns + np.cumsum(hertz / RATE))
        most = np.floor(RATE / 2 / hertz)
        plain = sum(np.where(k <= most, np.cos(k * phase), 0) for k in range(1, int(most.max()) + 1))
        off = np.abs(row.numpy() - plain * np.sqrt(2 / most)) / np.sqrt(2 * most)
        assert np.quantile(off, 0.999) < 1e-4  # where a harmonic more fits, by rounding, all of it differs


def test_the_source_of_training_is_that_of_speaking():
    line = 7 + 0.5 * np.sin(np.arange(50) / 9).astype(np.float32)
    voicing = (np.arange(50) % 20 < 13).astype(np.float32)
    one = spoken.pulses(line, voicing, hop=HOP, rate=RATE, turns=0.25)
    two = pulses(
        torch.from_numpy(line)[None], torch.from_numpy(voicing)[None], hop=HOP, rate=RATE, turns_B=torch.tensor([0.25])
    )
    assert np.abs(one - two[0].numpy()).max() < 5e-3 and np.abs(one).max() > 10


def test_the_transform_and_back_is_the_same_sound():
    stft, wave = Stft(512), torch.randn(2, 9 * HOP)
    spectrum = stft(wave)
    assert spectrum.shape == (2, 18, 514)
    assert torch.allclose(stft.inverse(spectrum), wave, atol=1e-5)
    middle = torch.nn.functional.pad(wave, (192, 192))[:, 5 * 128 : 5 * 128 + 512] * torch.hann_window(512)
    wanted = torch.fft.rfft(middle)
    assert torch.allclose(spectrum[:, 5], torch.cat([wanted.real, wanted.imag], -1), atol=1e-4)


# ------------------------------------------------------------ before any training


@pytest.mark.parametrize("hertz", [70, 95, 140, 220, 310, 400])
def test_the_pitch_of_an_untrained_vocoder_is_the_one_asked_for(hertz: int):
    own = learner(size="small").eval()
    one = example(hertz=hertz, seconds=2.0)
    (copy,) = own.demo(own.collate([one]))
    heard = pitch.at_centres((20000 * copy.audio.samples / np.abs(copy.audio.samples).max()).astype(np.int16))
    asked = one.features["pitch"]
    both = (heard[:, 1] >= 0.5) & (asked[:, 1] >= 0.5)
    off = 12 * np.log2(heard[both, 0] / asked[both, 0])
    assert both.mean() > 0.7 and np.sqrt(np.mean(off**2)) < 0.5


def test_a_copy_is_as_long_as_its_clip_and_cut_chunks_are_the_whole():
    own = learner(size="small").eval()
    frames, reach = 60, own.config.context
    mel, line = torch.randn(1, 80, frames) - 5, 7 + torch.zeros(1, frames)
    voicing = (torch.arange(frames)[None] % 20 < 13).float()
    source = pulses(line, voicing, hop=HOP, rate=RATE)
    noise = torch.randn_like(source)
    with torch.no_grad():
        whole = own.gen(mel, line, voicing, source, noise)
        assert whole.shape == (1, frames * HOP)
        first, last = 20, 30  # a chunk, and what it depends on around it
        a, b = max(0, first - reach), min(frames, last + reach)
        cut = [one[..., a:b] for one in (mel, line, voicing)] + [one[:, a * HOP : b * HOP] for one in (source, noise)]
        part = own.gen(*cut)[:, (first - a) * HOP : (last - a) * HOP]
    apart = (part - whole[:, first * HOP : last * HOP]).square().mean() / whole.square().mean()
    assert 10 * torch.log10(apart + 1e-20) < -120


# ------------------------------------------------------------ batches


def test_a_batch_unpacked_is_the_batch_collated():
    own = learner()
    clips = {f"c{at}": example(f"c{at}", seconds=0.9 + 0.3 * at, hertz=100 + 30 * at) for at in range(3)}
    size = own.config.segment_size
    buckets = make_buckets(
        dict.fromkeys(clips, size),
        dict.fromkeys(clips, 0),
        rate=RATE,
        batch_clips=4,
        batch_seconds=1e6,
        most=8,
        number=9,
    )
    assert len(buckets.shapes) == 1 and buckets.shapes[0].clips == 4
    resident = Resident(own, list(clips), example=clips.__getitem__, buckets=buckets, device="cpu")
    assert set(resident.held) == {"sound", "pitch"}
    chosen = ["c1", "c0", "c2", "c1"]  # a clip may come twice
    found, wanted = resident.batch(chosen), own.collate([clips[one] for one in chosen])
    assert (found.counts, found.clips) == (wanted.counts, wanted.clips)
    start = torch.tensor([0, 3, 20, 30])
    one, other = (own.cut(batch, start, 32) for batch in (found, wanted))
    for name in ("padded_BS", "contour_BF", "voicing_BF"):
        assert torch.equal(getattr(one, name), getattr(other, name))


def test_a_segment_is_the_sound_and_the_mel_of_its_place():
    own, one = learner(), example(seconds=1.6)
    batch = own.collate([one])
    part = own.cut(batch, torch.tensor([40]), 32)
    pad = (1024 - HOP) // 2
    assert np.allclose(part.padded_BS[0, pad:-pad] * 32768, one.samples[40 * HOP : 72 * HOP])
    whole = own.spec.of(torch.from_numpy(one.samples[None] / 32768).float())
    assert torch.allclose(own.spec.of_padded(part.padded_BS), whole[:, :, 40:72], atol=1e-4)
    short = example(samples=voice(0.6))
    padded = own.cut(own.collate([short]), torch.tensor([0]), 64)
    assert padded.padded_BS.shape[1] == 64 * HOP + 2 * pad and float(padded.padded_BS[:, -HOP:].abs().max()) == 0
    assert float(padded.voicing_BF[0, len(short.samples) // HOP :].max()) == 0


def test_no_pitch_that_is_no_number_reaches_a_weight():
    own, one = learner(discriminator_start=0), example()
    frames = one.features["pitch"].copy()
    frames[::3] = np.nan
    frames[5:9, 0] = np.inf
    bad = replace(one, features={"pitch": frames})
    assert np.isfinite(melody_of(bad)).all()
    silent = replace(one, features={"pitch": np.zeros_like(frames)})  # all unvoiced
    for update in own.step(own.collate([bad, silent]), Clock(0, 10)):
        total = sum((loss.sum * loss.weight for loss in update.losses.values()), start=torch.zeros(()))
        total.backward()
    assert all(torch.isfinite(p.grad).all() for p in own.parameters() if p.grad is not None)


def test_a_clip_of_one_frame_is_refused_in_one_sentence_and_can_be_copied():
    vocoder = family("vocoder")
    said = vocoder.data.refuses(VocoderConfig(size="tiny"), samples=300, tokens=0)
    assert said == "1 frames of sound: a vocoder learns from clips of 0.5 s and more"
    own = learner().eval()
    (copy,) = own.demo(own.collate([example(samples=voice(0.1)[:HOP])]))
    assert len(copy.audio.samples) == HOP and np.isfinite(copy.audio.samples).all()


def test_windows_that_exceed_the_segment_are_refused():
    with pytest.raises(ValueError, match="no window or period may exceed the segment, 2048 samples"):
        VocoderConfig(segment_frames=8, discriminator_windows=(4096,))


# ------------------------------------------------------------ graphs


def test_the_graph_says_what_torch_says(tmp_path: Path):
    own = learner().eval()
    facts = own.write_decoder(tmp_path)
    assert (facts["rate"], facts["hop"], facts["context"]) == (RATE, HOP, own.config.context)
    assert facts["mel"]["hash"] == own.spec.hash and len(facts["vocoder"]["sha256"]) == 64
    session = open_session(read_network(tmp_path / "decoder.onnx"), quiet(1))
    for clips, frames in ((1, 1), (1, 30), (3, 17)):
        mel, line = torch.randn(clips, 80, frames) - 5, 7 + torch.rand(clips, frames)
        voicing = (torch.rand(clips, frames) > 0.3).float()
        source = pulses(line, voicing, hop=HOP, rate=RATE)
        noise = torch.randn_like(source)
        with torch.no_grad():
            wanted = own.gen(mel, line, voicing, source, noise).numpy()
        columns = {"source": source, "noise": noise}
        feeds = {name: one.view(clips, frames, HOP).transpose(1, 2).numpy() for name, one in columns.items()}
        feeds |= {"mel": mel.numpy(), "contour": line.numpy(), "voicing": voicing.numpy()}
        (found,) = session.run(None, {name: np.ascontiguousarray(one) for name, one in feeds.items()})
        assert np.abs(found - wanted).max() < 1e-5


def test_a_matched_segment_has_the_models_mel_at_its_level():
    own, one = learner(), example(seconds=1.6)
    frames = len(one.samples) // HOP
    made = np.arange(frames * 80, dtype=np.float16).reshape(frames, 80) / 4096
    batch = own.collate([replace(one, features={**one.features, "matched": made})])
    part = own.cut(batch, torch.tensor([10]), 32)
    assert part.mel_BMF is not None and np.allclose(part.mel_BMF[0].T, made[10:42])
    torch.manual_seed(3)
    loud = own._levelled(replace(part, padded_BS=part.padded_BS / 4))
    gain = float(loud.padded_BS.abs().max() / part.padded_BS.abs().max() * 4)
    assert loud.mel_BMF is not None and torch.allclose(loud.mel_BMF, part.mel_BMF + np.log(gain), atol=1e-4)
    assert torch.equal(own._given(part, natural=0.0), part.mel_BMF)
    assert torch.allclose(own._given(part, natural=1.1), own.spec.of_padded(part.padded_BS))


def test_golden_numbers():
    own = learner().eval()
    frames = 12
    line = torch.linspace(6.8, 7.3, frames)[None]
    mel = -5 + torch.sin(torch.arange(80 * frames) / 7.0).view(1, 80, frames)
    source = pulses(line, torch.ones_like(line), hop=HOP, rate=RATE)
    noise = torch.cos(torch.arange(frames * HOP) ** 1.5)[None]
    with torch.no_grad():
        wave = own.gen(mel, line, torch.ones_like(line), source, noise)[0]
    found = [float(wave[at]) for at in (100, 700, 1500, 2900)] + [float(wave.square().mean().sqrt())]
    assert found == pytest.approx(GOLDEN, abs=2e-5)


def test_a_resampled_segment_has_the_pitch_it_says():
    own = learner(resampled=1.0)
    batch = own.collate([example(seconds=2.5, hertz=hertz) for hertz in (90, 140, 200)])
    start = torch.tensor([10, 20, 30])
    torch.manual_seed(4)
    plain = own.cut(batch, start, 64)
    made = own._resampled(plain, batch, start)
    moved = 12 * (made.contour_BF - plain.contour_BF).mean(1)
    assert float(moved.abs().max()) > 0.5 and bool((moved < 12 * np.log2(1.25)).all())
    pad = (1024 - HOP) // 2
    for wave, line in zip(made.padded_BS[:, pad:-pad], made.contour_BF, strict=True):
        heard = pitch.at_centres((wave * 32768).numpy().astype(np.int16))[4:-4, 0]
        assert np.median(np.abs(12 * (np.log2(heard) - line[4:-4].numpy()))) < 0.1
    assert torch.allclose(own._resampled(plain, batch, start).padded_BS, plain.padded_BS) is False
    still = learner(resampled=0.0)
    assert torch.equal(still._resampled(plain, batch, start).padded_BS, plain.padded_BS)

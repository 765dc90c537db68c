"""One whole training step against the published mathematics, written again here in plain torch.

The networks that turn text and sound into hidden numbers are shared (their equality with transformers is tested with
the weights); spectra, alignment, durations, losses, the order of the updates and the optimiser are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from olu.families import family
from olu.nn.kernels.mas import best_path
from olu.train.family import Example

from .test_conformance import engine_for, gradients, made, tones

FFT, HOP, RATE, MELS = 1024, 256, 16000, 80
STILL = {"hidden_dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "duration_predictor_dropout": 0.0}
WEIGHTS = {"mel": 45.0, "kl": 1.0, "duration": 1.0, "adversarial": 1.0, "features": 1.0}


# ---------------------------------------------------------------- spectra


def slaney_bank() -> Tensor:
    def to_mel(hz: np.ndarray) -> np.ndarray:
        return np.where(hz < 1000, hz * 3 / 200, 15 + np.log(np.maximum(hz, 1e-9) / 1000) / (np.log(6.4) / 27))

    def to_hz(mel: np.ndarray) -> np.ndarray:
        return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))

    edges = to_hz(np.linspace(to_mel(np.array(0.0)), to_mel(np.array(RATE / 2)), MELS + 2))
    bins = np.arange(FFT // 2 + 1) * RATE / FFT
    bank = np.zeros((MELS, len(bins)))
    for m in range(MELS):
        low, middle, high = edges[m : m + 3]
        rise, fall = (bins - low) / (middle - low), (high - bins) / (high - middle)
        bank[m] = np.maximum(0, np.minimum(rise, fall)) * 2 / (high - low)
    return torch.tensor(bank, dtype=torch.float64)


def magnitude(wave_BS: Tensor) -> Tensor:
    padded = F.pad(wave_BS.unsqueeze(1), ((FFT - HOP) // 2,) * 2, mode="reflect").squeeze(1)
    window = torch.hann_window(FFT)
    found = torch.view_as_real(torch.stft(padded, FFT, HOP, window=window, center=False, return_complex=True))
    return torch.sqrt(found.pow(2).sum(-1) + 1e-6)


def log_mel(linear: Tensor) -> Tensor:
    return torch.log(torch.clamp(slaney_bank() @ linear, min=1e-5))


# ---------------------------------------------------------------- alignment


def search(score: np.ndarray, t_y: int, t_x: int) -> np.ndarray:
    """The double loop of the original, in its own names, with the guard at the first frame."""
    value, path = score.copy(), np.zeros_like(score)
    index = t_x - 1
    for y in range(t_y):
        for x in range(max(0, t_x + y - t_y), min(t_x, y + 1)):
            v_cur = np.float32(-1e9) if x == y else value[y - 1, x]
            outside = np.float32(0.0) if y == 0 else np.float32(-1e9)
            v_prev = outside if x == 0 else value[y - 1, x - 1]
            value[y, x] += max(v_cur, v_prev)
    for y in range(t_y - 1, -1, -1):
        path[y, index] = 1
        if index != 0 and (index == y or (y != 0 and value[y - 1, index] < value[y - 1, index - 1])):
            index -= 1
    return path


def test_the_alignment_search_equals_the_reference_in_a_thousand_cases() -> None:
    """Ties (whole numbers, and scores that are all equal), padding that tempts, and clips as long as their text."""
    rng = np.random.default_rng(3)
    ties = full = 0
    for case in range(1000):
        tokens = [int(rng.integers(1, 10)) for _ in range(2)]
        frames = [t + int(rng.integers(0, 14)) * int(rng.integers(0, 2)) for t in tokens]
        shape = (2, max(frames) + int(rng.integers(0, 3)), max(tokens) + int(rng.integers(0, 3)))
        kinds = (rng.normal(-60, 30, shape), rng.integers(-2, 2, shape), np.full(shape, -1.0))
        scores = kinds[case % 3].astype(np.float32)
        for b in range(2):
            scores[b, frames[b] :] = scores[b, :, tokens[b] :] = 1e6
        found = best_path(torch.from_numpy(scores), torch.tensor(frames), torch.tensor(tokens)).numpy()
        for b in range(2):
            np.testing.assert_array_equal(found[b], search(scores[b], frames[b], tokens[b]), f"case {case}")
        ties, full = ties + (case % 3 > 0), full + any(f == t for f, t in zip(frames, tokens, strict=True))
    assert ties > 600 and full > 400


# ---------------------------------------------------------------- durations


def norm(layer: nn.LayerNorm, x: Tensor) -> Tensor:
    mean = x.mean(1, keepdim=True)
    apart = ((x - mean) ** 2).mean(1, keepdim=True)
    return (x - mean) * torch.rsqrt(apart + layer.eps) * layer.weight[:, None] + layer.bias[:, None]


def dds(m: nn.Module, x: Tensor, mask: Tensor, g: Tensor | None = None) -> Tensor:
    x = x if g is None else x + g
    for i in range(len(m.convs_dilated)):
        sep, point = m.convs_dilated[i], m.convs_pointwise[i]
        y = F.conv1d(x * mask, sep.weight, sep.bias, padding=3**i, dilation=3**i, groups=x.shape[1])
        y = F.gelu(norm(m.norms_1[i], y))
        y = F.gelu(norm(m.norms_2[i], F.conv1d(y, point.weight, point.bias)))
        x = x + y
    return x * mask


def spline(x: float, raw: Tensor, *, bins: int, bound: float) -> tuple[Tensor, Tensor]:
    """One number through its own rational-quadratic spline: where it goes, and the log of the slope there."""
    if bool(abs(x) > bound):
        return x, torch.zeros(())
    w, h, d = raw[:bins], raw[bins : 2 * bins], raw[2 * bins :]
    widths = (1e-3 + (1 - 1e-3 * bins) * torch.softmax(w, 0)) * 2 * bound
    heights = (1e-3 + (1 - 1e-3 * bins) * torch.softmax(h, 0)) * 2 * bound
    slopes = torch.cat([torch.ones(1), 1e-3 + F.softplus(d), torch.ones(1)])
    right = -bound + torch.cumsum(widths, 0)
    k = min(int((right.detach() <= x.detach()).sum()), bins - 1)
    x0, y0 = right[k] - widths[k], -bound + torch.cumsum(heights, 0)[k] - heights[k]
    s, t = heights[k] / widths[k], (x - x0) / widths[k]
    below = s + (slopes[k + 1] + slopes[k] - 2 * s) * t * (1 - t)
    y = y0 + heights[k] * (s * t**2 + slopes[k] * t * (1 - t)) / below
    steep = s**2 * (slopes[k + 1] * t**2 + 2 * s * t * (1 - t) + slopes[k] * (1 - t) ** 2) / below**2
    return y, torch.log(steep)


def conv_flow(m: nn.Module, z: Tensor, mask: Tensor, g: Tensor, config: Any) -> tuple[Tensor, Tensor]:
    z0, z1 = z[:, :1], z[:, 1:]
    h = m.conv_proj(dds(m.conv_dds, m.conv_pre(z0), mask, g)) * mask
    bins = config.duration_predictor_flow_bins
    scale = torch.ones(3 * bins - 1)
    scale[: 2 * bins] = config.hidden_size**-0.5
    total, rows = torch.zeros(()), []
    for b in range(z.shape[0]):
        row = []
        for t in range(z.shape[2]):
            y, log_slope = spline(
                z1[b, 0, t], h[b, :, t] * scale, bins=bins, bound=config.duration_predictor_tail_bound
            )
            row.append(y)
            total = total + log_slope * mask[b, 0, t]
        rows.append(torch.stack(row))
    return torch.cat([z0, torch.stack(rows).unsqueeze(1)], 1) * mask, total


def flows(modules: Any, z: Tensor, mask: Tensor, g: Tensor, config: Any) -> tuple[Tensor, Tensor]:
    affine, *rest = modules
    z = (affine.translate + torch.exp(affine.log_scale) * z) * mask
    total = (affine.log_scale * mask).sum()
    for m in rest:
        z, more = conv_flow(m, z, mask, g, config)
        z, total = torch.flip(z, [1]), total + more
    return z, total


def stochastic(dp: nn.Module, x: Tensor, mask: Tensor, g: Tensor | None, w: Tensor, e_q: Tensor, config: Any) -> Tensor:
    x = dp.conv_pre(x.detach())
    if g is not None:
        x = x + dp.cond(g.detach())
    x = dp.conv_proj(dds(dp.conv_dds, x, mask)) * mask
    h_w = dp.post_conv_proj(dds(dp.post_conv_dds, dp.post_conv_pre(w), mask)) * mask
    e_q = e_q * mask
    z_q, log_det_q = flows(dp.post_flows, e_q, mask, x + h_w, config)
    z_u, z1 = z_q[:, :1], z_q[:, 1:]
    u = torch.sigmoid(z_u) * mask
    log_det_q = log_det_q + ((F.logsigmoid(z_u) + F.logsigmoid(-z_u)) * mask).sum()
    logq = (-0.5 * (math.log(2 * math.pi) + e_q**2) * mask).sum() - log_det_q
    z0 = torch.log(torch.clamp((w - u) * mask, min=1e-5)) * mask
    z, log_det = flows(dp.flows, torch.cat([z0, z1], 1), mask, x, config)
    nll = (0.5 * (math.log(2 * math.pi) + z**2) * mask).sum() - (log_det - z0.sum())
    return (nll + logq) / mask.sum()


def plain(dp: nn.Module, x: Tensor, mask: Tensor, g: Tensor | None, w: Tensor) -> Tensor:
    x = x.detach() if g is None else x.detach() + dp.cond(g.detach())
    x = norm(dp.norm_1, torch.relu(dp.conv_1(x * mask)))
    x = norm(dp.norm_2, torch.relu(dp.conv_2(x * mask)))
    return ((torch.log(w + 1e-6) * mask - dp.proj(x * mask) * mask) ** 2).sum() / mask.sum()


# ---------------------------------------------------------------- one step


def reference_step(learner: nn.Module, clips: list[Example], draws: dict[str, Tensor]) -> tuple[dict[str, float], dict]:
    """Losses, the gradients each side was moved with, and both sides moved."""
    c, gen, disc = learner.config, learner.gen, learner.disc
    waves = [torch.from_numpy(clip.samples.astype(np.float64)) / 32768 for clip in clips]
    specs = [magnitude(wave[None])[0] for wave in waves]
    t_x, t_y = [len(clip.ids) for clip in clips], [spec.shape[1] for spec in specs]
    assert t_y == [len(wave) // HOP for wave in waves]
    ids = torch.zeros(len(clips), max(t_x), dtype=torch.long)
    spec = torch.zeros(len(clips), FFT // 2 + 1, max(t_y))
    x_mask, y_mask = torch.zeros(len(clips), 1, max(t_x)), torch.zeros(len(clips), 1, max(t_y))
    for b, clip in enumerate(clips):
        ids[b, : t_x[b]], spec[b, :, : t_y[b]] = torch.tensor(clip.ids), specs[b]
        x_mask[b, :, : t_x[b]], y_mask[b, :, : t_y[b]] = 1, 1
    speaker = torch.tensor([clip.speaker for clip in clips])
    g = gen.embed_speaker(speaker)[:, :, None] if hasattr(gen, "embed_speaker") else None

    x, m_p, logs_p = gen.text_encoder(ids, x_mask)
    m_q, logs_q = gen.posterior_encoder(spec, y_mask, g)
    z = (m_q + draws["posterior"] * torch.exp(logs_q)) * y_mask
    z_p = gen.flow(z, y_mask, g)
    path = torch.zeros(len(clips), max(t_y), max(t_x))
    with torch.no_grad():  # the density of every frame under every token, from its definition
        for b in range(len(clips)):
            normal = torch.distributions.Normal(m_p[b, :, None, : t_x[b]], torch.exp(logs_p[b, :, None, : t_x[b]]))
            score = normal.log_prob(z_p[b, :, : t_y[b], None]).sum(0)
            path[b, : t_y[b], : t_x[b]] = torch.from_numpy(search(score.to(torch.float32).numpy(), t_y[b], t_x[b]))
    w = path.sum(1)[:, None]
    if c.use_stochastic_duration_prediction:
        duration = stochastic(gen.duration_predictor, x, x_mask, g, w, draws["durations"], c)
    else:
        duration = plain(gen.duration_predictor, x, x_mask, g, w)
    m_p, logs_p = (torch.einsum("bft,bct->bcf", path, value) for value in (m_p, logs_p))
    kl = logs_p - logs_q - 0.5 + 0.5 * (z_p - m_p) ** 2 * torch.exp(-2 * logs_p)
    kl = (kl * y_mask).sum() / y_mask.sum()

    size = c.segment_size // HOP
    starts = [int(draw * (frames - size + 1)) for draw, frames in zip(draws["starts"], t_y, strict=True)]
    fake = gen.decoder(torch.stack([z[b, :, s : s + size] for b, s in enumerate(starts)]), g)
    real = torch.stack([waves[b][s * HOP : (s + size) * HOP] for b, s in enumerate(starts)])
    mel = torch.stack([log_mel(specs[b])[:, s : s + size] for b, s in enumerate(starts)])
    mel_loss = F.l1_loss(mel, log_mel(magnitude(fake)))

    moved: dict[str, Tensor] = {}
    settings = {"lr": c.discriminator_learning_rate, "betas": (0.8, 0.99), "eps": 1e-9, "weight_decay": 0.01}
    optimiser = torch.optim.AdamW(disc.parameters(), **settings)
    verdicts = zip(disc(real), disc(fake.detach()), strict=True)
    d_loss = sum(((1 - r[-1]) ** 2).mean() + (f[-1] ** 2).mean() for r, f in verdicts)
    optimiser.zero_grad()
    d_loss.backward()
    moved |= {f"disc/{name}": p.grad.clone() for name, p in disc.named_parameters()}
    optimiser.step()

    maps_real, maps_fake = disc(real), disc(fake)
    adversarial = sum(((1 - maps[-1]) ** 2).mean() for maps in maps_fake)
    pairs = [(a, b) for r, f in zip(maps_real, maps_fake, strict=True) for a, b in zip(r, f, strict=True)]
    features = 2 * sum((a.detach() - b).abs().mean() for a, b in pairs)
    losses = {"mel": mel_loss, "kl": kl, "duration": duration, "adversarial": adversarial, "features": features}
    total = sum(WEIGHTS[name] * loss for name, loss in losses.items())
    optimiser = torch.optim.AdamW(gen.parameters(), **{**settings, "lr": c.learning_rate})
    optimiser.zero_grad()
    total.backward()
    moved |= {f"gen/{name}": p.grad.clone() for name, p in gen.named_parameters()}
    optimiser.step()
    return {name: loss.detach().item() for name, loss in {"disc": d_loss, **losses}.items()}, moved


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything in double precision, also what is held in single: the mathematics is compared, not the rounding."""
    window = torch.hann_window
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    monkeypatch.setattr(torch, "hann_window", lambda size, **_: window(size, dtype=torch.float64))
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("speakers", [1, 2])
@pytest.mark.parametrize("stochastic", [True, False])
def test_losses_gradients_and_updates_equal_the_reference(
    stochastic: bool, speakers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact: None
) -> None:
    fam = family("vits")
    config = fam.config(size="tiny", use_stochastic_duration_prediction=stochastic, **STILL)
    clips = tones(2, speakers=speakers)
    learner, twin = (_bent(made(fam, config, speakers=speakers).double()) for _ in range(2))
    collate = learner.collate
    learner.collate = lambda chosen: replace(batch := collate(chosen), padded_BS=batch.padded_BS.double())
    engine = engine_for(fam, learner, tmp_path, clips)
    used, draws = gradients(engine), {}

    def recorded(name: str, draw: Any) -> Any:
        def noted(*args: Any, **more: Any) -> Tensor:
            assert name not in draws, "each is drawn once in a step"
            draws[name] = draw(*args, **more)
            return draws[name]

        return noted

    with monkeypatch.context() as patched:
        for name, what in (("starts", "rand"), ("posterior", "randn_like"), ("durations", "randn")):
            patched.setattr(torch, what, recorded(name, getattr(torch, what)))
        report = engine.advance()
    order = [next(clip for clip in clips if clip.id == id) for id in report.seen[0].clips]
    expected, moved = reference_step(twin.train(), order, draws)

    losses = {name: value for seen in report.seen for name, value in seen.losses.items()}
    assert losses == pytest.approx(expected, rel=1e-5)
    assert used.keys() == moved.keys()
    for key, grad in moved.items():
        scale = float(grad.abs().max()) + 1e-9
        torch.testing.assert_close(used[key] / scale, grad / scale, rtol=0, atol=1e-5, msg=lambda m, key=key: key + m)
    after = dict(twin.named_parameters())
    for name, value in learner.named_parameters():
        grad = moved[name.replace(".", "/", 1)].abs()
        sure = (
            grad > 1e-3 * grad.max()
        )  # Adam's first step is the sign of the gradient: rounding decides where it is ~0
        torch.testing.assert_close(value[sure], after[name][sure], rtol=1e-5, atol=1e-5, msg=name)


def _bent(learner: nn.Module) -> nn.Module:
    """Flows that begin as the identity would hide mistakes: none of them may be zero."""
    random = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in learner.gen.parameters():
            if not bool(parameter.any()):
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=random))
    return learner

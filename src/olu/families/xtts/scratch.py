"""What only a training from scratch needs: a DVAE that learns its codes, and judges of the decoder's sound."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.xtts.codes import Codebook, Dvae
from olu.families.xtts.config import CODE_SAMPLES, MELS, OUT_RATE, RATE
from olu.families.xtts.spectrum import CODE_FFT, HIGH, HOP, WINDOW, code_mel
from olu.features.mel import mel_bank
from olu.nn.discriminators import PeriodDiscriminator, SpectrogramDiscriminator, item_means
from olu.nn.precision import widest_of

PERIODS = (2, 3, 5, 7, 11)
WIDENING = (1, 2, 4, 8)  # of a discriminator's channels, layer by layer
WINDOWS = (512, 1024, 2048)
SEEN_AT = 15.0  # spectra are scaled as if their window had this norm
STRETCH = 24  # codes of a clip that the DVAE hears in a step
DECAY = 0.97  # of the running means
NEW, DEAD = 0.5, 0.1  # of the mean use of a code: what one begins with, and below which it is given away
TAPS = 32
ROUNDS = 32  # of finding phases


# ---------------------------------------------------------------- codes


def dvae_losses(dvae: Dvae, waves: tuple[Tensor, ...], mel_stats: Tensor, *, learn: bool) -> tuple[Tensor, Tensor]:
    """How far mels made again are off, and vectors from their codes: sums over clips. `learn`: codes move too."""
    codes = min(STRETCH, *(len(wave) // CODE_SAMPLES for wave in waves))
    size = max(1, codes) * CODE_SAMPLES
    cut = [_stretch(wave, size, drawn=learn) for wave in waves]
    with torch.autocast(mel_stats.device.type, enabled=False):
        mel = code_mel(torch.stack(cut), mel_stats)[..., : size // HOP]
        x = dvae.encoder(mel)
        chosen = dvae.codebook.nearest(x.detach())
        vectors = dvae.codebook.vectors(chosen)
        if learn:
            learn_codes(dvae.codebook, x.detach(), chosen)
        made = dvae.decoder(x + (vectors - x).detach())
        return (made - mel).square().mean((1, 2)).sum(), (vectors - x).square().mean((1, 2)).sum()


def _stretch(wave: Tensor, size: int, *, drawn: bool) -> Tensor:
    room = max(0, len(wave) - size)
    start = int(torch.rand(()) * (room + 1)) if drawn else room // 2
    return F.pad(wave[start : start + size], (0, max(0, size - len(wave))))


@torch.no_grad()
def learn_codes(codebook: Codebook, x_BCN: Tensor, codes_BN: Tensor) -> None:
    """Every vector towards the mean of what chose it; one that nothing chooses begins anew at something heard.

    Nothing moves where a number is none: a codebook is no part, and no guard stands before it.
    """
    if not bool(torch.isfinite(x_BCN).all()):
        return
    heard = x_BCN.transpose(1, 2).flatten(0, 1).float()
    usual = codes_BN.numel() / len(codebook.cluster_size)
    dead = (codebook.cluster_size < DEAD * usual).nonzero().flatten()
    if len(dead):
        rows = heard[torch.randint(len(heard), (len(dead),)).to(heard.device)].t()
        codebook.embed[:, dead] = rows
        codebook.embed_avg[:, dead] = rows * NEW * usual
        codebook.cluster_size[dead] = NEW * usual
    codebook.learn(x_BCN, codes_BN if not len(dead) else codebook.nearest(x_BCN), decay=DECAY)


def griffin_lim(mel_BMF: Tensor, mel_stats: Tensor) -> Tensor:
    """Sound at 22,050 Hz of scaled mels, with phases found by going to and fro: to judge codes before there is a
    decoder."""
    bank = torch.from_numpy(mel_bank(rate=RATE, fft_size=CODE_FFT, bins=MELS, low=0.0, high=HIGH, scale="htk"))
    power = (mel_BMF.float() * mel_stats[:, None]).clamp(max=8.0).exp()
    size = (torch.linalg.pinv(bank).to(power.device) @ power).clamp(min=1e-8).sqrt()
    window, phase = torch.hann_window(WINDOW, device=power.device), torch.zeros_like(size)
    for _ in range(ROUNDS):
        spectrum = torch.polar(size, phase)
        wave = torch.istft(spectrum, CODE_FFT, HOP, window=window)
        phase = torch.stft(wave, CODE_FFT, HOP, window=window, return_complex=True).angle()
    made = torch.istft(torch.polar(size, phase), CODE_FFT, HOP, window=window)
    return made / made.abs().amax(-1, keepdim=True).clamp(min=1.0)


# ---------------------------------------------------------------- sound


class SoundDiscriminator(nn.Module):
    """Judges of waves folded at some periods, and of spectrograms."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.periods = nn.ModuleList(PeriodDiscriminator(one, [width * by for by in WIDENING]) for one in PERIODS)
        self.windows = nn.ModuleList(SpectrogramDiscriminator(width) for _ in WINDOWS)

    def _shown(self, wave_BS: Tensor) -> list[tuple[nn.Module, Tensor]]:
        spectra = [spectrum(wave_BS, size) * (SEEN_AT / (0.375 * size) ** 0.5) for size in WINDOWS]
        waves = [(judge, wave_BS.unsqueeze(1)) for judge in self.periods]
        return [*waves, *zip(self.windows, spectra, strict=True)]

    def forward(self, wave_BS: Tensor) -> list[list[Tensor]]:
        return [judge(shown) for judge, shown in self._shown(wave_BS)]

    def compare(self, real_BS: Tensor, fake_BS: Tensor) -> tuple[Tensor, Tensor]:
        """How far what was made is from being taken for real, and from the features of the real: sums over clips."""
        wrong = apart = torch.zeros((), device=real_BS.device)
        for (judge, real), (_, fake) in zip(self._shown(real_BS), self._shown(fake_BS), strict=True):
            verdict, distance = judge.compare(real, fake)  # type: ignore[operator]
            wrong, apart = wrong + item_means((1 - verdict.float()).square()), apart + distance
        return wrong, apart


def spectrum(wave_BS: Tensor, size: int) -> Tensor:
    """Real and imaginary [B, 2, T, N]."""
    with torch.autocast(wave_BS.device.type, enabled=False):
        window = torch.hann_window(size, device=wave_BS.device)
        made = torch.stft(wave_BS.float(), size, size // 4, window=window, return_complex=True)
        return torch.view_as_real(made).permute(0, 3, 2, 1)


def spectral_distance(real_BS: Tensor, fake_BS: Tensor) -> Tensor:
    """Of the logarithms of magnitudes, and half of the relative distance, a mean over the windows; a sum over clips."""
    total = torch.zeros((), device=real_BS.device)
    for size in WINDOWS:
        wanted, made = (torch.sqrt(spectrum(one, size).square().sum(1) + 1e-7) for one in (real_BS, fake_BS))
        logs = (torch.log(made + 1e-3) - torch.log(wanted + 1e-3)).abs().mean((1, 2)).sum()
        relative = (made - wanted).flatten(1).norm(dim=1) / (wanted.flatten(1).norm(dim=1) + 1e-3)
        total = total + logs + 0.5 * relative.sum()
    return total / len(WINDOWS)


def resampled(wave: Tensor, first: int, samples: int) -> Tensor:
    """So many samples at 24,000 Hz from a sample of the 22,050 Hz on; silence outside the clip."""
    at = first + torch.arange(samples, device=wave.device, dtype=widest_of(wave.device)) * (RATE / OUT_RATE)
    near = at.floor().long()[:, None] + torch.arange(1 - TAPS // 2, TAPS // 2 + 1, device=wave.device)
    apart = (at[:, None] - near).float()
    weight = torch.sinc(apart) * torch.cos(torch.pi / TAPS * apart).square()
    inside = (near >= 0) & (near < len(wave))
    return (wave[near.clamp(0, len(wave) - 1)] * weight * inside).sum(1)

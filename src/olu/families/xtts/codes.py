"""The discrete VAE: sound to codes, 21.5 a second, and codes back to mels. Names of parameters as published.

Shapes: B clips, S samples at 22,050 Hz, F mel frames (S // 256 + 1), N codes, C channels of a code's vector.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from olu.families.xtts.config import CODE_SAMPLES, MELS, XttsConfig
from olu.families.xtts.spectrum import code_mel


class Dvae(nn.Module):
    def __init__(self, config: XttsConfig) -> None:
        super().__init__()
        half, full, blocks = config.dvae_width, 2 * config.dvae_width, config.dvae_blocks
        self.encoder = nn.Sequential(
            nn.Sequential(nn.Conv1d(MELS, half, 3, stride=2, padding=1), nn.ReLU()),
            nn.Sequential(nn.Conv1d(half, full, 3, stride=2, padding=1), nn.ReLU()),
            *(ResidualBlock(full) for _ in range(blocks)),
            nn.Conv1d(full, config.code_width, 1),
        )
        self.decoder = nn.Sequential(
            nn.Conv1d(config.code_width, full, 1),
            *(ResidualBlock(full) for _ in range(blocks)),
            nn.Sequential(Doubled(full, full), nn.ReLU()),
            nn.Sequential(Doubled(full, half), nn.ReLU()),
            nn.Conv1d(half, MELS, 1),
        )
        self.codebook = Codebook(config.code_width, config.codes)

    @torch.no_grad()
    def codes(self, wave_BS: Tensor, mel_stats: Tensor) -> Tensor:
        """Codes [B, N] of whole clips of one length, N = ceil(S / 1024); padding would reach the last ones."""
        return self.codes_of_mel(code_mel(wave_BS, mel_stats))[:, : code_count(wave_BS.shape[1])]

    @torch.no_grad()
    def codes_of_mel(self, mel_BMF: Tensor) -> Tensor:
        return self.codebook.nearest(self.encoder(mel_BMF))

    def mel(self, codes_BN: Tensor) -> Tensor:
        """Scaled mels [B, 80, 4 N] of codes."""
        made: Tensor = self.decoder(self.codebook.vectors(codes_BN))
        return made

    def forward(self, mel_BMF: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """For its training, of frames that are a multiple of four: mels made again, how far vectors lie from their
        codes (a mean), and the codes."""
        x = self.encoder(mel_BMF)
        codes = self.codebook.nearest(x.detach())
        vectors = self.codebook.vectors(codes)
        apart = (vectors - x).square().mean()
        return self.decoder(x + (vectors - x).detach()), apart, codes


def code_count(samples: int) -> int:
    """How many codes a clip of so many samples has."""
    return -(-samples // CODE_SAMPLES)


class ResidualBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv1d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv1d(channels, channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        added: Tensor = self.net(x)
        return x + added


class Doubled(nn.Module):
    """Every frame twice, then a convolution."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inner, outer, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        wide: Tensor = self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return wide


class Codebook(nn.Module):
    """A vector for every code, as running means of what chose it; the table stands [C, codes]."""

    def __init__(self, width: int, codes: int) -> None:
        super().__init__()
        self.embed: Tensor
        self.embed_avg: Tensor
        self.cluster_size: Tensor
        self.register_buffer("embed", torch.randn(width, codes))
        self.register_buffer("embed_avg", self.embed.clone())
        self.register_buffer("cluster_size", torch.zeros(codes))

    def nearest(self, x_BCN: Tensor) -> Tensor:
        """Codes [B, N] of the vectors nearest to each."""
        x = x_BCN.transpose(1, 2).float()
        far = self.embed.square().sum(0) - 2 * x @ self.embed  # the square of x is the same for all codes
        return far.argmin(-1)

    def vectors(self, codes_BN: Tensor) -> Tensor:
        """[B, C, N]."""
        return F.embedding(codes_BN, self.embed.t()).transpose(1, 2)

    @torch.no_grad()
    def learn(self, x_BCN: Tensor, codes_BN: Tensor, *, decay: float = 0.99, floor: float = 1e-5) -> None:
        """Move every vector towards the mean of what chose it."""
        x, chosen = x_BCN.transpose(1, 2).flatten(0, 1).float(), codes_BN.flatten()
        count = torch.zeros_like(self.cluster_size).index_add_(0, chosen, torch.ones_like(chosen, dtype=torch.float32))
        total = torch.zeros_like(self.embed_avg).index_add_(1, chosen, x.t())
        self.cluster_size.mul_(decay).add_(count, alpha=1 - decay)
        self.embed_avg.mul_(decay).add_(total, alpha=1 - decay)
        whole = self.cluster_size.sum()
        smoothed = (self.cluster_size + floor) / (whole + floor * len(count)) * whole
        self.embed.copy_(self.embed_avg / smoothed)

"""Linear and mel spectrograms exactly as VITS defines them, and what an acoustic model and a vocoder must agree on.

Shapes: B clips, S samples, F frames (= S // hop), N spectrogram bins, M mel bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from olu.core.errors import ConfigError
from olu.core.files import hash_value

FLOOR = 1e-5  # smallest mel magnitude before the logarithm


def padding(*, fft_size: int, hop: int) -> int:
    """Samples of reflection on each side, so that there are exactly S // hop frames."""
    return (fft_size - hop) // 2


def linear(padded_BS: Tensor, *, fft_size: int, hop: int) -> Tensor:
    """Magnitudes [B, N, F] of waves that already carry their reflected edges."""
    window = torch.hann_window(fft_size, device=padded_BS.device, dtype=torch.float32)
    spectrum = torch.stft(padded_BS.float(), fft_size, hop_length=hop, window=window, center=False, return_complex=True)
    return torch.sqrt(spectrum.real.square() + spectrum.imag.square() + 1e-6)  # 1e-6 inside the root, as VITS


def reflect(wave_BS: Tensor, *, fft_size: int, hop: int) -> Tensor:
    pad = padding(fft_size=fft_size, hop=hop)
    return torch.nn.functional.pad(wave_BS.unsqueeze(1), (pad, pad), mode="reflect").squeeze(1)


def mel(linear_BNF: Tensor, bank_MN: Tensor) -> Tensor:
    """Log mel [B, M, F] of linear magnitudes (power 1)."""
    return torch.log(torch.clamp(bank_MN @ linear_BNF, min=FLOOR))


def power_mel(wave_BS: Tensor, *, fft: int, hop: int, window: Tensor, bank_MN: Tensor) -> Tensor:
    """Powers [B, M, S // hop + 1] of frames around every hop, the edges reflected."""
    spectrum = torch.stft(
        wave_BS, fft, hop_length=hop, win_length=len(window), window=window, center=True, return_complex=True
    )
    return bank_MN @ (spectrum.real.square() + spectrum.imag.square())


@lru_cache(maxsize=8)
def mel_bank(
    *, rate: int, fft_size: int, bins: int, low: float, high: float, scale: str = "slaney", area: bool = True
) -> NDArray[np.float32]:
    """Triangles [M, N] on the Slaney or the "htk" scale, each of one area or of height one."""
    if scale == "htk":
        bottom, top = (2595.0 * float(np.log10(1 + hertz / 700.0)) for hertz in (low, high))
        edges = 700.0 * (10.0 ** (np.linspace(bottom, top, bins + 2) / 2595.0) - 1)
    else:
        edges = _mel_to_hz(np.linspace(_hz_to_mel(low), _hz_to_mel(high), bins + 2))
    hertz = np.linspace(0, rate / 2, fft_size // 2 + 1)
    rising = (hertz[None, :] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - hertz[None, :]) / (edges[2:] - edges[1:-1])[:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    height = 2.0 / (edges[2:] - edges[:-2]) if area else np.ones(bins)
    return (triangles * height[:, None]).astype(np.float32)


_LINEAR_HZ = 200.0 / 3  # Hz per mel below the break
_BREAK_HZ = 1000.0
_LOG_STEP = float(np.log(6.4)) / 27.0


def _hz_to_mel(hertz: float) -> float:
    if hertz < _BREAK_HZ:
        return hertz / _LINEAR_HZ
    return _BREAK_HZ / _LINEAR_HZ + float(np.log(hertz / _BREAK_HZ)) / _LOG_STEP


def _mel_to_hz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    above = mels - _BREAK_HZ / _LINEAR_HZ
    return np.where(above < 0, mels * _LINEAR_HZ, _BREAK_HZ * np.exp(_LOG_STEP * above))


CLOSE = 1e-2  # how far two probes of one spectrogram may lie apart, on any device


@dataclass(frozen=True)
class MelSpec:
    """All that decides the values of a mel spectrogram: the contract between an acoustic model and a vocoder.

    Files and graphs hold the plain logarithm; a network scales it by itself, (mel + 5) / 2.5, never by statistics of a
    corpus, so that any vocoder fits any acoustic model.
    """

    rate: int = 16000
    fft: int = 1024
    hop: int = 256
    bins: int = 80
    low: float = 0.0
    high: float = 8000.0
    window: str = "hann periodic"
    scale: str = "slaney"
    norm: str = "slaney"
    power: float = 1.0
    inside: float = 1e-6  # added to the power inside the root
    logarithm: str = "natural"
    floor: float = FLOOR
    edges: str = "reflected"  # so that there are samples // hop frames
    loudness: float = -23.0  # LUFS of the recordings

    @cached_property
    def hash(self) -> str:
        return hash_value(asdict(self))[:16]

    @cached_property
    def probe(self) -> tuple[float, ...]:
        """Six values of the mel of a made sound: they change where the code does."""
        at = np.arange(12 * self.hop) / self.rate
        sound = 0.3 * np.sin(2 * np.pi * (220 * at + 900 * at**2)) + 0.05 * np.sin(2 * np.pi * 3100 * at)
        made = self.of(torch.from_numpy(sound.astype(np.float32))[None])[0]
        places = [(0, 0), (5, 3), (12, 6), (30, 7), (60, 9), (self.bins - 1, 11)]
        return tuple(round(float(made[min(bin, self.bins - 1), frame]), 4) for bin, frame in places)

    @property
    def facts(self) -> dict[str, Any]:
        """As runs and packages keep it."""
        return {**asdict(self), "hash": self.hash, "probe": list(self.probe)}

    @cached_property
    def bank(self) -> NDArray[np.float32]:
        return mel_bank(rate=self.rate, fft_size=self.fft, bins=self.bins, low=self.low, high=self.high)

    def of(self, wave_BS: Tensor, bank_MN: Tensor | None = None) -> Tensor:
        """Log mel [B, M, S // hop] of waves, in float32 whatever the networks run in."""
        return self.of_padded(reflect(wave_BS, fft_size=self.fft, hop=self.hop), bank_MN)

    def of_padded(self, padded_BS: Tensor, bank_MN: Tensor | None = None) -> Tensor:
        """As `of`, of waves that carry what lies around them: `padding` more samples on each side.

        A step that is recorded hands in the bank, which has to lie on the device already.
        """
        with torch.autocast(padded_BS.device.type, enabled=False):
            if bank_MN is None:
                bank_MN = torch.from_numpy(self.bank).to(padded_BS.device)
            return mel(linear(padded_BS, fft_size=self.fft, hop=self.hop), bank_MN)

    def must_fit(self, other: Mapping[str, Any], *, whose: str) -> None:
        """An error that names the first thing in which another's facts differ from this."""
        for name, value in self.facts.items():
            theirs = other.get(name)
            if name == "probe" and isinstance(theirs, list) and len(theirs) == len(value):
                same = all(abs(one - two) <= CLOSE for one, two in zip(theirs, value, strict=True))
            else:
                same = theirs == value
            if not same:
                raise ConfigError(
                    f"the mel spectrogram of {whose} differs: {name} is {theirs}, here {value}; train one of the two"
                    " anew"
                )

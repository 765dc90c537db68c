"""Convolutions as a GPU likes them: channels last, so that its kernels need no transposes, and groups as one product.

Shape letters: B clips, C channels, T steps, G groups, K taps. Elsewhere than on a GPU these are torch's own.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from olu.nn.kernels.fused import bias_leaky, bias_leaky_apart, can_fuse, half_of, made_once, normed_weight
from olu.nn.kernels.streams import LEVERS

THIN_TAPS = 512  # of a convolution to or from one channel that our own kernel takes: it unrolls them


class Conv1d(nn.Conv1d):
    def forward(self, x: Tensor) -> Tensor:
        return self._on_gpu(x, self.bias) if x.is_cuda and LEVERS.channels_last else super().forward(x)

    def bare(self, x: Tensor) -> Tensor:
        """Without the bias, for a kernel that adds it on the way."""
        return self._on_gpu(x, None)

    def _on_gpu(self, x: Tensor, bias: Tensor | None) -> Tensor:
        if self.groups > 1 or self._thin():
            return self._grouped(x, bias)
        size = {"stride": (1, self.stride[0]), "padding": (0, _one(self.padding)), "dilation": (1, self.dilation[0])}
        return F.conv2d(x.unsqueeze(2), normed_weight(self).unsqueeze(2), bias, **size).squeeze(2)

    def _thin(self) -> bool:
        """To or from one channel: cuDNN's choices for these are slow."""
        thin = min(self.in_channels, self.out_channels) == 1
        plain = self.dilation[0] == 1 and _one(self.padding) % self.stride[0] == 0
        return thin and plain and self.in_channels * self.kernel_size[0] <= THIN_TAPS

    def _grouped(self, x: Tensor, bias: Tensor | None) -> Tensor:
        stride, padding, groups = self.stride[0], _one(self.padding), self.groups
        if not can_fuse(x) or padding % stride or groups == self.in_channels > 1:
            return grouped(x, self.weight, bias, stride=stride, padding=padding, groups=groups)
        from olu.nn.kernels.groups_triton import by_rows, grouped_conv

        def make() -> Tensor:
            return by_rows(normed_weight(self).to(half_of(x)), groups=groups, stride=stride)

        rows = made_once(self, "rows", make)
        y = grouped_conv(x.to(rows.dtype), rows, taps=self.kernel_size[0], padding=padding)
        return y if bias is None else y + bias.to(y.dtype)[:, None]


class ConvTranspose1d(nn.ConvTranspose1d):
    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        if not x.is_cuda or not LEVERS.channels_last:
            return super().forward(x)
        size = {"stride": (1, self.stride[0]), "padding": (0, _one(self.padding))}
        return F.conv_transpose2d(x.unsqueeze(2), normed_weight(self).unsqueeze(2), self.bias, **size).squeeze(2)


def conv_leaky(conv: nn.Module, x: Tensor, slope: float) -> Tensor:
    """A convolution, its bias and the bend after it."""
    if not can_fuse(x):
        return F.leaky_relu(conv(x), slope)
    return bias_leaky(_bare(conv, x), conv.bias, slope)  # type: ignore[arg-type]


def conv_leaky_apart(conv: nn.Module, x: Tensor, like: Tensor, slope: float) -> tuple[Tensor, Tensor]:
    """The same, and the sum of how far it lies from `like`."""
    if not can_fuse(x):
        y = F.leaky_relu(conv(x), slope)
        return y, (y.float() - like.float()).abs().sum()
    return bias_leaky_apart(_bare(conv, x), conv.bias, like, slope)  # type: ignore[arg-type]


def _bare(conv: nn.Module, x: Tensor) -> Tensor:
    if isinstance(conv, Conv1d):
        return conv.bare(x)
    assert isinstance(conv, nn.Conv2d)
    return F.conv2d(x, normed_weight(conv), None, conv.stride, conv.padding)


def channels_last(x: Tensor) -> Tensor:
    """The same numbers with the channels of a step beside each other; what follows keeps this order."""
    if not x.is_cuda or not LEVERS.channels_last:
        return x
    return x.transpose(1, 2).contiguous().transpose(1, 2)


def grouped(x_BCT: Tensor, weight: Tensor, bias: Tensor | None, *, stride: int, padding: int, groups: int) -> Tensor:
    """One batched product over the groups. cuDNN starts a kernel for every group: hundreds in a wide discriminator."""
    batch = x_BCT.shape[0]
    taps = weight.shape[2]
    windows = F.pad(x_BCT, (padding, padding)).unfold(2, taps, stride)  # [B, C, T, K], a view
    steps = windows.shape[2]
    columns = windows.unflatten(1, (groups, -1)).permute(1, 0, 3, 2, 4).reshape(groups, batch * steps, -1)
    rows = weight.unflatten(0, (groups, -1)).flatten(2).to(columns.dtype)  # [G, C out, C in x K]
    out = columns @ rows.transpose(1, 2)  # [G, B x T, C out]
    out = out.unflatten(1, (batch, steps)).permute(1, 2, 0, 3).flatten(2).transpose(1, 2)
    return out if bias is None else out + bias.to(out.dtype)[:, None]


def _one(padding: tuple[int, ...] | str) -> int:
    assert not isinstance(padding, str)
    return padding[0]

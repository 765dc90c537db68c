"""Fused kernels against plain torch: on a GPU, or through Triton's interpreter where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from olu.families.vits.config import VitsConfig
from olu.families.vits.durations import SeparableConvs
from olu.nn.kernels.convs import Conv1d, grouped
from olu.nn.kernels.fused import bias_add_leaky, bias_gate, bias_leaky, bias_leaky_apart, skip_add
from olu.nn.kernels.streams import LEVERS, side_by_side


@pytest.mark.parametrize(
    ("inside", "outside", "groups", "taps", "stride"), [(16, 64, 4, 41, 4), (64, 64, 16, 41, 4), (8, 8, 8, 5, 1)]
)
def test_groups_as_one_product_are_a_grouped_convolution(
    inside: int, outside: int, groups: int, taps: int, stride: int
) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, inside, 97, dtype=torch.double, requires_grad=True)
    weight = torch.randn(outside, inside // groups, taps, dtype=torch.double, requires_grad=True)
    bias = torch.randn(outside, dtype=torch.double, requires_grad=True)
    found = grouped(x, weight, bias, stride=stride, padding=taps // 2, groups=groups)
    wanted = F.conv1d(x, weight, bias, stride=stride, padding=taps // 2, groups=groups)
    same(found, wanted, (x, weight, bias))


def same(found: Tensor | tuple[Tensor, ...], wanted: Tensor | tuple[Tensor, ...], inputs: tuple[Tensor, ...]) -> None:
    found = found if isinstance(found, tuple) else (found,)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    towards = [torch.randn_like(one) for one in wanted]
    slopes = [
        torch.autograd.grad(sum((one * way).sum() for one, way in zip(side, towards, strict=True)), inputs)
        for side in (found, wanted)
    ]
    for one, other in zip((*found, *slopes[0]), (*wanted, *slopes[1]), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


FUSED: dict[str, tuple[Callable[..., object], tuple[str, ...]]] = {
    "bias_leaky": (lambda x, b: bias_leaky(x, b, 0.1), ("x", "bias")),
    "bias_leaky_apart": (lambda x, b, o: bias_leaky_apart(x, b, o.detach(), 0.1), ("x", "bias", "other")),
    "bias_add_leaky": (lambda x, b, o: bias_add_leaky(x, b, o, 0.1), ("x", "bias", "other")),
    "bias_gate": (bias_gate, ("x", "bias")),
    "skip_add": (skip_add, ("both", "bias2", "x", "other", "mask")),
}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or find_spec("triton") is None, reason="no CUDA device with Triton")
@pytest.mark.parametrize("name", FUSED)
def test_a_fused_kernel_is_its_plain_twin(name: str) -> None:
    torch.manual_seed(0)
    shapes = {
        "x": (3, 6, 50),
        "other": (3, 6, 50),
        "bias": (6,),
        "both": (3, 12, 50),
        "bias2": (12,),
        "mask": (3, 1, 50),
    }
    call, names = FUSED[name]
    plain = [torch.randn(shapes[one], requires_grad=one != "mask") for one in names]
    moved = [one.detach().cuda().requires_grad_(one.requires_grad) for one in plain]
    wanted, found = call(*plain), call(*moved)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = found if isinstance(found, tuple) else (found,)
    sum(one.square().sum() for one in wanted).backward()
    sum(one.square().sum() for one in found).backward()
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-5)
    for one, other in zip(moved, plain, strict=True):
        if other.grad is not None:
            torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or find_spec("triton") is None, reason="no CUDA device with Triton")
@pytest.mark.parametrize(
    ("inside", "outside", "groups", "taps", "stride", "padding"),
    [(16, 64, 4, 41, 4, 20), (64, 64, 16, 41, 4, 20), (8, 16, 2, 9, 2, 4)],
)
def test_groups_in_one_kernel_are_a_grouped_convolution(
    inside: int, outside: int, groups: int, taps: int, stride: int, padding: int
) -> None:
    torch.manual_seed(0)
    conv = Conv1d(inside, outside, taps, stride=stride, groups=groups, padding=padding)
    x = torch.randn(3, inside, 197, requires_grad=True)
    wanted = conv(x)
    towards = torch.randn_like(wanted)
    slopes = torch.autograd.grad((wanted * towards).sum(), (x, *conv.parameters()))
    conv, there = conv.cuda(), x.detach().cuda().requires_grad_()
    found = conv(there)
    again = torch.autograd.grad((found * towards.cuda()).sum(), (there, *conv.parameters()))
    for one, other in zip((found, *again), (wanted, *slopes), strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available() or find_spec("triton") is None, reason="no CUDA device with Triton")
def test_separable_convolutions_are_their_plain_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEVERS, "separable", True)
    torch.manual_seed(0)
    net = SeparableConvs(VitsConfig(size="tiny"), dropout=0.0)
    for parameter in net.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(3, 16, 37, requires_grad=True)
    mask = (torch.arange(37)[None] < torch.tensor([37, 20, 5])[:, None]).float().unsqueeze(1)
    wanted = net(x, mask, None)
    towards = torch.randn_like(wanted)
    slopes = torch.autograd.grad((wanted * towards).sum(), (x, *net.parameters()))
    net, there = net.cuda(), x.detach().cuda().requires_grad_()
    found = net(there, mask.cuda(), None)
    again = torch.autograd.grad((found * towards.cuda()).sum(), (there, *net.parameters()))
    for one, other in zip((found, *again), (wanted, *slopes), strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)


def test_side_by_side_keeps_the_order() -> None:
    assert side_by_side([lambda: 1, lambda: 2, lambda: 3], device=torch.device("cpu")) == [1, 2, 3]

"""Several processes as one: each takes its share of every batch, gradients are summed, decisions are taken together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch import distributed as dist

from olu.core.machine import started_by_torchrun

Value = TypeVar("Value")


class Ranks:
    """One of `size` processes that train together. Alone, its methods give back what they are given."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def leads(self) -> bool:
        """Whether this is the first process, which alone writes."""
        return self.rank == 0

    def share(self, items: Sequence[Value]) -> list[Value]:
        """The items of a batch that this process takes."""
        return list(items[self.rank :: self.size])

    def sum_gradients(self, gradients: Sequence[Tensor]) -> None:
        """Sum gradients over all processes in place, in one message."""
        if self.size == 1 or not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        at = 0
        for gradient in gradients:
            gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
            at += gradient.numel()

    def sum_counts(self, counts: Mapping[str, float], device: torch.device) -> dict[str, float]:
        if self.size == 1:
            return dict(counts)
        names = sorted(counts)
        values = torch.tensor([counts[name] for name in names], dtype=torch.float64, device=device)
        dist.all_reduce(values)
        return dict(zip(names, values.tolist(), strict=True))

    def sum_losses(self, sums: Mapping[str, Tensor]) -> dict[str, Tensor]:
        if self.size == 1:
            return dict(sums)
        names = sorted(sums)
        values = torch.stack([sums[name].double() for name in names])
        dist.all_reduce(values)
        return dict(zip(names, values, strict=True))

    def agree(self, well: bool, device: torch.device) -> bool:
        """Whether all is well in every process."""
        if self.size == 1:
            return well
        value = torch.tensor([1.0 if well else 0.0], device=device)
        dist.all_reduce(value, op=dist.ReduceOp.MIN)
        return bool(value.item() == 1.0)

    def highest(self, value: int, device: torch.device) -> int:
        """The highest value that any process has."""
        if self.size == 1:
            return value
        held = torch.tensor([value], device=device)
        dist.all_reduce(held, op=dist.ReduceOp.MAX)
        return int(held.item())

    def from_first(self, value: Value) -> Value:
        """The value that the first process has, in every process."""
        if self.size == 1:
            return value
        held: list[Any] = [value]
        dist.broadcast_object_list(held, src=0)
        result: Value = held[0]
        return result

    def wait(self) -> None:
        if self.size > 1:
            dist.barrier()


def own_gpu() -> tuple[str, bool]:
    """The GPU of this process, and whether another process has it too: NCCL refuses that, gloo does it slowly."""
    local, known = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    return f"cuda:{local % known}", int(os.environ.get("LOCAL_WORLD_SIZE", "1")) > known


@contextmanager
def joined(device: str) -> Iterator[tuple[Ranks, str]]:
    """The processes torchrun started, and the device of this one; without torchrun, this process alone."""
    if not started_by_torchrun():
        yield Ranks(), device
        return
    if device == "cuda":
        device, shared = own_gpu()
        torch.cuda.set_device(device)
        dist.init_process_group("gloo" if shared else "nccl")
    else:
        dist.init_process_group("gloo")
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size()), device
        dist.barrier()  # who takes its connections down while another still uses them ends it with a crash
    finally:
        dist.destroy_process_group()

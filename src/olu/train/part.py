"""A part with its optimiser, its average and what its losses have come to in this step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from olu.core.errors import TrainError
from olu.core.words import many
from olu.train.family import Part

MOMENTS = ("step", "exp_avg", "exp_avg_sq")
NONE: Mapping[str, Any] = {}
MEASURE_EVERY = 50  # updates between two looks at how far the weights move


class LivePart:
    """`scales` and `late` come from the recipe: prefixes of parameter names with a factor, or a first step.

    `held` says of how many first rows of a parameter none may move.
    """

    def __init__(
        self,
        part: Part,
        *,
        scales: Mapping[str, float] = NONE,
        late: Mapping[str, int] = NONE,
        held: Mapping[str, int] = NONE,
    ) -> None:
        self.part = part
        asked = {**part.lr_scale, **scales}
        self.named = _learning(part.module, asked)
        self.params = list(self.named.values())
        if not self.params:
            raise TrainError("plan.rates freezes every weight of a part: let some of it learn")
        self.late = {name: first for name in self.named if (first := _first(name, late, 0))}
        self.held = {name: rows for name, rows in held.items() if name in self.named and rows}
        groups = self._groups(asked)
        self.limited = self._limited()
        self.limits = {prefix: part.clips[prefix] for prefix in self.limited}
        if part.clip is not None:
            self.limits[""] = part.clip
        self.acted = dict.fromkeys(self.limits, 0)  # in how many updates each limit of the gradients was exceeded
        on_gpu = all(p.is_cuda for p in self.params)  # there one kernel moves all, and its steps can be recorded
        settings = {"lr": part.lr, "betas": part.betas, "eps": part.eps, "weight_decay": part.weight_decay}
        fused = {"fused": True, "capturable": True} if on_gpu else {}
        self.optimiser = torch.optim.AdamW(groups, **settings, **fused)  # type: ignore[arg-type]
        self.average = {n: p.detach().clone() for n, p in self.named.items()} if part.ema else None
        self.updates = 0
        self.ratio: float | None = None  # how far the last measured update moved the weights
        self._ratio: Tensor | None = None
        self._measured: torch.cuda.Event
        self.sums: dict[str, Tensor] = {}
        self.overs: dict[str, str] = {}

    def _groups(self, scales: Mapping[str, float]) -> list[dict[str, Any]]:
        """Parameters by the factor of their rate, those without weight decay apart."""
        alike: dict[tuple[float, bool], list[nn.Parameter]] = {}
        for name, parameter in self.named.items():
            alike.setdefault((_first(name, scales, 1.0), name.startswith(self.part.plain)), []).append(parameter)
        return [
            {"params": params, "scale": scale, **({"weight_decay": 0.0} if plain else {})}
            for (scale, plain), params in alike.items()
        ]

    def _limited(self) -> dict[str, list[nn.Parameter]]:
        """What has a limit of its own for its gradients, by prefix; not what is frozen."""
        named = self.named.items()
        fitting = {prefix: [p for name, p in named if name.startswith(prefix)] for prefix in self.part.clips}
        return {prefix: params for prefix, params in fitting.items() if params}

    def moves(self, step: int) -> bool:
        return self.part.start <= step and (self.part.until is None or step < self.part.until)

    def untouched(self) -> tuple[str, ...]:
        return tuple(name for name, p in self.named.items() if p.grad is None)

    def hold_back(self, step: int) -> None:
        """Parameters that start later do not move yet: no gradient, no decay, no moments."""
        for name, first in self.late.items():
            if step < first:
                self.named[name].grad = None
        for name, rows in self.held.items():
            if (grad := self.named[name].grad) is not None:
                grad[:rows] = 0

    def grads(self) -> list[Tensor]:
        return [p.grad for p in self.params if p.grad is not None]

    def norms(self) -> dict[str, Tensor]:
        """The norms of the gradients that have a limit of their own, by prefix."""
        return {
            prefix: nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])
            for prefix, params in self.limited.items()
        }

    def clip(self, norm: Tensor, norms: Mapping[str, Tensor]) -> None:
        """Bring gradients to their limits: first single layers, by `norms`, then all together, who had `norm`."""
        for prefix, params in self.limited.items():
            nn.utils.clip_grads_with_norm_(params, self.part.clips[prefix], norms[prefix])
        if self.part.clip is not None:
            left = nn.utils.get_total_norm(self.grads()) if self.limited else norm
            nn.utils.clip_grads_with_norm_(self.params, self.part.clip, left)

    def note_limits(self, norm: float, norms: Mapping[str, float]) -> None:
        """Count the limits that an update exceeded."""
        for prefix, limit in self.limits.items():
            self.acted[prefix] += (norms[prefix] if prefix else norm) > limit

    def said_of_limits(self, name: str) -> list[str]:
        """A sentence for every limit: how often it acted."""
        return [
            f"the gradients of {f'{name}.{prefix}' if prefix else name} were cut to {limit:g} in"
            f" {self.acted[prefix]:,} of {many(self.updates, 'update')}"
            for prefix, limit in self.limits.items()
        ]

    def clear(self) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        self.sums, self.overs = {}, {}

    def apply(self, rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["scale"]
        measured = self.updates % MEASURE_EVERY == 0
        before = [p.detach().clone() for p in self.params] if measured else []
        kept = {name: self.named[name].detach()[:rows].clone() for name, rows in self.held.items()}
        self.optimiser.step()
        for name, values in kept.items():  # weight decay and old moments move rows that have no gradient
            self.named[name].detach()[: len(values)] = values
        self.updates += 1
        if before:
            moved = torch._foreach_sub([p.detach() for p in self.params], before)
            size = float(nn.utils.get_total_norm(before))
            self.ratio = float(nn.utils.get_total_norm(moved)) / size if size else None
        if self.average is not None and self.part.ema is not None:
            follow = self.follow(self.updates)
            torch._foreach_lerp_(list(self.average.values()), [p.detach() for p in self.params], follow)

    def follow(self, updates: int) -> float:
        """How far the average (EMA) moves at an update; further while it is young."""
        return 1 - min(self.part.ema, (1 + updates) / (10 + updates)) if self.part.ema else 0.0

    def scales(self) -> list[float]:
        return [float(group["scale"]) for group in self.optimiser.param_groups]

    def apply_recorded(self, rates: Sequence[Tensor], follow: Tensor, bad: Tensor) -> None:
        """`apply` while a graph is recorded: rates are tensors, and where `bad` is 1 nothing moves."""
        for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
            group["lr"] = rate
        self.optimiser.found_inf = bad  # type: ignore[attr-defined]
        self.optimiser.step()
        del self.optimiser.found_inf  # type: ignore[attr-defined]
        if self.average is not None:
            apart = torch._foreach_sub([p.detach() for p in self.params], list(self.average.values()))
            torch._foreach_mul_(apart, follow * (1.0 - bad))
            torch._foreach_add_(list(self.average.values()), apart)

    def use_numbers(self) -> None:
        """Set the rates to plain numbers: tensors of a recording are none for a plain step."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.part.lr * group["scale"]

    def measure_later(self, before: Sequence[Tensor]) -> None:
        """How far the weights have moved since, as numbers that are read when somebody asks."""
        moved = torch._foreach_sub([p.detach() for p in self.params], list(before))
        both = torch.stack([nn.utils.get_total_norm(moved), nn.utils.get_total_norm(list(before))])
        self._ratio = torch.empty(2, pin_memory=True)
        self._ratio.copy_(both, non_blocking=True)
        self._measured = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._measured.record()

    def ratio_now(self) -> float | None:
        if self._ratio is not None and self._measured.query():  # type: ignore[no-untyped-call]
            moved, size = self._ratio.tolist()
            self.ratio, self._ratio = (moved / size if size else None), None
        return self.ratio

    def moments(self) -> dict[str, Tensor]:
        state = self.optimiser.state
        return {f"{n}/{m}": state[p][m] for n, p in self.named.items() if p in state for m in MOMENTS}

    def load_moments(self, moments: Mapping[str, Tensor]) -> None:
        self.optimiser.state.clear()
        for name, p in self.named.items():
            if f"{name}/step" in moments:
                step, *both = (moments[f"{name}/{m}"] for m in MOMENTS)
                self.optimiser.state[p] = {
                    "step": step.to(p.device if self.optimiser.defaults["capturable"] else "cpu", copy=True),
                    **{m: t.to(p.device) for m, t in zip(MOMENTS[1:], both, strict=True)},
                }


def live_parts(
    parts: Mapping[str, Part],
    *,
    rates: Mapping[str, float],
    late: Mapping[str, int],
    held: Mapping[str, int] | None = None,
) -> dict[str, LivePart]:
    """Every part; a prefix in the recipe begins with its part's name, and one that fits nothing is refused."""
    for key, asked in (("rates", rates), ("late", late)):
        for prefix in asked:
            name, _, inside = prefix.partition(".")
            known = parts[name].module.named_parameters() if name in parts else ()
            if not any(parameter.startswith(inside) for parameter, _ in known):
                raise TrainError(
                    f"plan.{key}: {prefix!r} names no weights: begin with {' or '.join(parts)} and a point"
                )
    return {
        name: LivePart(
            part,
            scales=_of(rates, name),
            late=_of(late, name),  # type: ignore[arg-type]
            held=_of(held or {}, name),  # type: ignore[arg-type]
        )
        for name, part in parts.items()
    }


def _learning(module: nn.Module, scales: Mapping[str, float]) -> dict[str, nn.Parameter]:
    """The parameters whose rate has a factor above 0; the others are frozen."""
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(_first(name, scales, 1.0) > 0)
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def _of(asked: Mapping[str, float], name: str) -> dict[str, float]:
    """What is asked of one part, without its name in front."""
    inside = {prefix.partition(".")[::2]: value for prefix, value in asked.items()}
    return {rest: value for (part, rest), value in inside.items() if part == name}


def _first(name: str, by_prefix: Mapping[str, float], otherwise: float) -> float:
    """The value of the longest prefix that fits."""
    fitting = [prefix for prefix in by_prefix if name.startswith(prefix)]
    return by_prefix[max(fitting, key=len)] if fitting else otherwise


def under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


@torch.no_grad()
def assign(targets: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    for name, target in targets.items():
        target.copy_(values[name])

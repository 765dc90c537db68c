"""Weight norm folded and unfolded, and what was missing or left over when weights were loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from olu.core.errors import TrainError

SPELLINGS = (
    (".parametrizations.weight.original0", ".parametrizations.weight.original1"),
    (".weight_g", ".weight_v"),
)


@dataclass(frozen=True)
class LoadReport:
    """Nothing unexplained: what the file lacked (started fresh) and what it had that nothing took."""

    missing: tuple[str, ...] = ()
    leftover: tuple[str, ...] = ()


def fold(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Plain weights: each gain and direction pair, in either spelling, becomes one `.weight`."""
    plain = dict(state)
    for gain_end, direction_end in SPELLINGS:
        for key in [key for key in plain if key.endswith(gain_end)]:
            stem = key.removesuffix(gain_end)
            if stem + direction_end not in plain:
                raise TrainError(f"the weights hold {key} without {stem}{direction_end}: the file is not whole")
            gain, direction = plain.pop(key).float(), plain.pop(stem + direction_end).float()  # half would round
            plain[stem + ".weight"] = torch._weight_norm(direction, gain, 0)
    return plain


def load_plain(module: nn.Module, plain: Mapping[str, Tensor]) -> LoadReport:
    """Load folded weights into a module that may be weight-normed. Shapes must agree; gaps are reported."""
    target, used, missing = module.state_dict(), set(), []
    gain_end, direction_end = SPELLINGS[0]
    for key, tensor in target.items():
        stem = key.removesuffix(gain_end).removesuffix(direction_end)
        name = key if stem == key else stem + ".weight"
        if name not in plain:
            missing.append(key)
            continue
        used.add(name)
        value = plain[name].to(tensor.dtype)
        if key.endswith(gain_end):
            value = torch.linalg.vector_norm(value, dim=tuple(range(1, value.ndim)), keepdim=True)
        if value.shape != tensor.shape:
            raise TrainError(f"{name} has shape {tuple(value.shape)}, this model needs {tuple(tensor.shape)}")
        target[key] = value
    module.load_state_dict(target)
    return LoadReport(missing=tuple(missing), leftover=tuple(sorted(set(plain) - used)))

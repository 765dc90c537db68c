"""A checkpoint's weights as they speak: the averaged ones where a part has an average."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from olu.train.checkpoint import Checkpoint
    from olu.train.family import Part


def load_averaged(learner: nn.Module, checkpoint: Checkpoint) -> None:
    own = {key.removeprefix("learner/"): t for key, t in checkpoint.weights.items() if key.startswith("learner/")}
    learner.load_state_dict(own)
    parts: dict[str, Part] = learner.parts()  # type: ignore[operator]
    for name, part in parts.items():
        prefix = f"average/{name}/"
        average = {k.removeprefix(prefix): t for k, t in checkpoint.weights.items() if k.startswith(prefix)}
        if average:
            part.module.load_state_dict({**part.module.state_dict(), **average})
    learner.eval().requires_grad_(False)

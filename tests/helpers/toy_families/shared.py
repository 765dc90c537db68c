"""What the toys share: bands and pitch of a clip as prepared features, plans, and graphs."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from olu.features.store import FeatureClip, PreparedFeature
from olu.train.plan.facts import Advice, Setting

RATE, HOP, BANDS = 8000, 80, 12


def advice(*, steps: int = 40) -> Advice:
    return Advice(
        model=lambda case: [Setting("plan.rates", {}, "Nothing is frozen.")],
        batch=lambda case: (4, "Four clips."),
        steps=lambda case, config, together: (steps, "A toy."),
        warmup=lambda case, all_: (0, "None."),
        pace=lambda case, config, clips, seconds: (0.01 * clips, "a guess"),
        parameters=lambda config: 1e4,
        memory=lambda config, *, clips, seconds, tokens: 1e5 + 1e4 * clips * seconds,
    )


def digest(module: nn.Module) -> str:
    """SHA-256 of all weights, by name."""
    held = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        held.update(name.encode())
        held.update(np.ascontiguousarray(tensor.cpu().numpy()).tobytes())
    return held.hexdigest()


def framed(samples: NDArray[Any]) -> NDArray[np.float32]:
    """[F, HOP] of int16 samples."""
    count = len(samples) // HOP
    return (samples[: count * HOP].reshape(count, HOP) / 32768).astype(np.float32)


def bands(samples: NDArray[Any]) -> NDArray[np.float32]:
    """Log energies [F, BANDS]."""
    spectrum = np.abs(np.fft.rfft(framed(samples) * np.hanning(HOP).astype(np.float32), axis=1))[:, 1:]
    groups = np.array_split(spectrum, BANDS, axis=1)
    return np.log(np.stack([group.mean(1) for group in groups], 1) + 1e-3).astype(np.float32)


def pitch(samples: NDArray[Any]) -> NDArray[np.float32]:
    """log2 of hertz [F] by autocorrelation over three frames."""
    wave = np.pad(samples[: len(samples) // HOP * HOP] / 32768.0, HOP)
    found = []
    for at in range(len(samples) // HOP):
        part = wave[at * HOP : at * HOP + 3 * HOP]
        likeness = np.correlate(part, part, "full")[len(part) - 1 :]
        found.append(np.log2(RATE / (20 + int(likeness[20:100].argmax()))))
    return np.array(found, np.float32)


def of_samples(name: str, made: Any) -> PreparedFeature:
    return PreparedFeature(
        name, {"rate": RATE, "hop": HOP, "bands": BANDS}, lambda device: lambda clip: made(clip.samples)
    )


def phone_ends(clip: FeatureClip) -> NDArray[np.float32]:
    """The frame that each phone of the alignment ends at; silence goes to the phone before it."""
    from olu.core.errors import AlignError

    ends = [span.end * clip.rate / HOP for span in clip.phones if span.label]
    if not ends:
        raise AlignError("it has no alignment")
    return np.array(ends, np.float32)


def save_graph(
    module: nn.Module, example: Sequence[Tensor], path: Path, *, inputs: list[str], outputs: list[str], axes: Any
) -> None:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(),
            tuple(example),
            str(path),
            input_names=inputs,
            output_names=outputs,
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )

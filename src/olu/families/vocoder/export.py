"""The vocoder as an ONNX graph, and as a package of its own, `x.vocoder`, that voices share and vocoders start from.

decoder.onnx: mel [B, 80, F], contour, voicing [B, F], source, noise [B, 256, F] -> wave [B, 256 F]; frames may come in
              chunks with `context` frames more on either side
"""

from __future__ import annotations

import hashlib
import warnings
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from olu.families.vocoder.config import HOP, MELS, RATE
from olu.families.vocoder.model import MelSourceFilter
from olu.features.pitch import instrument

if TYPE_CHECKING:
    from olu.families.vocoder.learn import VocoderLearner

OPSET = 17
DECODER = "decoder.onnx"
INPUTS = ("mel", "contour", "voicing", "source", "noise")


class VocoderGraph(nn.Module):
    """Source and noise come as columns of a hop, so that a chunk is cut out of all inputs alike."""

    def __init__(self, gen: MelSourceFilter) -> None:
        super().__init__()
        self.gen = gen

    def forward(self, mel: Tensor, contour: Tensor, voicing: Tensor, source: Tensor, noise: Tensor) -> Tensor:
        waves = (one.transpose(1, 2).flatten(1) for one in (source, noise))
        wave: Tensor = self.gen(mel, contour, voicing, *waves)
        return wave


def write_decoder(learner: VocoderLearner, folder: Path) -> dict[str, Any]:
    """Write decoder.onnx; returns what a package keeps of it."""
    gen = deepcopy(learner.gen).cpu().eval().requires_grad_(False)
    known = {"sha256": digest(gen), "tracker": instrument()}
    size = sum(one.numel() for one in gen.parameters())
    gen.stft.as_weights()
    flat, columns = torch.zeros(2, 9), torch.zeros(2, HOP, 9)
    example = (torch.zeros(2, MELS, 9), flat + 7, flat, columns, columns)
    axes: dict[str, dict[int, str]] = {name: {0: "B", 2: "F"} for name in ("mel", "source", "noise")}
    axes |= {name: {0: "B", 1: "F"} for name in ("contour", "voicing")}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer's remarks; a test compares the graph with torch instead
        torch.onnx.export(
            VocoderGraph(gen),
            example,
            str(folder / DECODER),
            input_names=list(INPUTS),
            output_names=["wave"],
            dynamic_axes={**axes, "wave": {0: "B", 1: "S"}},
            opset_version=OPSET,
            dynamo=False,
        )
    return {
        "rate": RATE,
        "hop": HOP,
        "context": learner.config.context,
        "mel": learner.spec.facts,
        "vocoder": known,
        "parameters": size,
    }


def digest(gen: nn.Module) -> str:
    """SHA-256 of its weights, by name: what a voice names its vocoder by."""
    held = hashlib.sha256()
    for name, tensor in sorted(gen.state_dict().items()):
        held.update(name.encode())
        held.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return held.hexdigest()

"""VITS as one ONNX graph, with the names of inputs that other programs expect. Noise is made inside.

input [B, T] int64, input_lengths [B] int64, scales [3] float (noise, length, noise of durations), sid [B] where there
are several speakers -> output [B, 1, S]
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from olu.families.vits.export import OPSET, plain
from olu.families.vits.learn import VitsLearner
from olu.families.vits.model import Generator
from olu.networks.session import load_model


class OneGraph(nn.Module):
    def __init__(self, gen: Generator, reader: nn.Module | None) -> None:
        super().__init__()
        self.gen, self.reader = gen, reader

    def forward(self, input: Tensor, input_lengths: Tensor, scales: Tensor, sid: Tensor | None = None) -> Tensor:
        ids, lengths = self.reader(input, input_lengths) if self.reader else (input, input_lengths)
        g = self.gen.speaker(sid)
        latents, _ = self.gen.latents(
            ids,
            lengths,
            g=g,
            noise_BCF=None,
            duration_noise_B2T=torch.randn_like(ids[:, None].expand(-1, 2, -1).float()),
            noise_scale=scales[0],
            noise_scale_duration=scales[2],
            length_scale=scales[1],
        )
        wave: Tensor = self.gen.decoder(latents, g)[:, None]
        return wave


def one_graph(
    learner: nn.Module, *, path: Path, reader: nn.Module | None = None, facts: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Write the graph, `facts` as its metadata; returns what others must know of it."""
    assert isinstance(learner, VitsLearner)
    config, gen = learner.config, plain(learner.gen)
    several = hasattr(gen, "embed_speaker")
    example = (torch.full((1, 7), 1), torch.tensor([7]), torch.tensor([0.5, 1.0, 0.5]))
    names = ["input", "input_lengths", "scales", *(["sid"] if several else [])]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer's remarks; tests compare the graph with torch instead
        torch.onnx.export(
            OneGraph(gen, reader).eval(),
            (*example, torch.zeros(1, dtype=torch.long)) if several else example,
            str(path),
            input_names=names,
            output_names=["output"],
            dynamic_axes={
                "input": {0: "batch", 1: "tokens"},
                "input_lengths": {0: "batch"},
                "output": {0: "batch", 2: "samples"},
                **({"sid": {0: "batch"}} if several else {}),
            },
            opset_version=OPSET,
            dynamo=False,
        )
    if facts:
        model = load_model(path)
        onnx.helper.set_model_props(model, dict(facts))
        onnx.save(model, str(path))
    return {
        "rate": config.sampling_rate,
        "hop": config.hop_length,
        "noise_scale": config.noise_scale,
        "noise_w": config.noise_scale_duration,
        "length_scale": 1 / config.speaking_rate,
    }

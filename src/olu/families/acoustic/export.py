"""An acoustic model as ONNX graphs, beside the decoder that its vocoder writes.

text.onnx: ids, tones, stress [1, T] (and speaker [1]) -> hidden [1, C, T], log_frames, pause [1, T], knots [1, T, 3]
mean.onnx: hidden, frames [1, T], contour [1, F] (and speaker [1]) -> mel [1, M, F], states [1, K, F], voicing [1, F]
step.onnx: x, mel [1, M, F], states, time [1] -> velocity [1, M, F], ended: the mel, if the flow goes straight on

Pitch is log2 of hertz and mels are plain logarithms; x is noise that becomes a scaled mel.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from olu.families.acoustic.corpus import CorpusFigures, inner_gaps
from olu.families.acoustic.learn import AcousticLearner
from olu.families.acoustic.model import BESIDE, MEL_BINS, AcousticNet, scaled, unscaled
from olu.features.mel import MelSpec
from olu.train.checkpoint import Checkpoint
from olu.train.grow_symbols import Growth, enlarged_checkpoint

OPSET = 17
MOST_TEMPO = 1.25  # by which lengths are put right: a model that is further off has not learnt them
SPEAKERS = "net.text.speakers.weight"


class TextGraph(nn.Module):
    def __init__(self, learner: AcousticLearner) -> None:
        super().__init__()
        self.text, self.median = learner.net.text, learner.median
        self.longer = math.log(tempo_of(learner) * learner.config.length_scale)
        self.language = learner.language

    def forward(self, ids: Tensor, tones: Tensor, stress: Tensor, speaker: Tensor | None = None) -> tuple[Tensor, ...]:
        mask = torch.ones_like(ids).float().unsqueeze(1)
        language = torch.full_like(ids, self.language) if self.language else None
        hidden, log_frames, pause, knots = self.text(ids, tones, stress, mask, speaker, language)
        median = self.median[:1] if speaker is None else self.median[speaker]
        return hidden, log_frames + self.longer, pause, knots / 12 + median[:, None, None]


class MeanGraph(nn.Module):
    def __init__(self, learner: AcousticLearner) -> None:
        super().__init__()
        self.net, self.median = learner.net, learner.median

    def forward(self, hidden: Tensor, frames: Tensor, contour: Tensor, speaker: Tensor | None = None) -> Any:
        median = self.median[:1] if speaker is None else self.median[speaker]
        semitones = 12 * (contour - median[:, None])
        mean, voicing, states = self.net.frames(hidden, frames, semitones, torch.ones_like(contour).unsqueeze(1))
        return unscaled(mean), states, torch.sigmoid(voicing)


class StepGraph(nn.Module):
    def __init__(self, net: AcousticNet) -> None:
        super().__init__()
        self.refiner = net.refiner

    def forward(self, x: Tensor, mel: Tensor, states: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
        velocity = self.refiner(x, scaled(mel), states, time, torch.ones_like(x[:, :1]))
        return velocity, unscaled(x + (1 - time[:, None, None]) * velocity)


def export(learner: nn.Module, *, folder: Path, vocoder: Any) -> dict[str, Any]:
    """Write the graphs; returns what voice.json keeps of this family."""
    assert isinstance(learner, AcousticLearner)
    own = deepcopy(learner).cpu().eval().requires_grad_(False)
    size, frames, width = 5, 9, own.config.width
    several = hasattr(own.net.text, "speakers")
    who = (torch.zeros(1, dtype=torch.long),) if several else ()
    named = ["speaker"] if several else []
    row = torch.zeros(1, size, dtype=torch.long)
    _write(
        TextGraph(own),
        (row, row, row, *who),
        folder / "text.onnx",
        inputs=["ids", "tones", "stress", *named],
        outputs=["hidden", "log_frames", "pause", "knots"],
        axes={"hidden": "2T", **dict.fromkeys(("ids", "tones", "stress", "log_frames", "pause", "knots"), "1T")},
    )
    _write(
        MeanGraph(own),
        (torch.randn(1, width, size), torch.tensor([[0, 2, 3, 1, 3]]), torch.full((1, frames), 7.0), *who),
        folder / "mean.onnx",
        inputs=["hidden", "frames", "contour", *named],
        outputs=["mel", "states", "voicing"],
        axes={"hidden": "2T", "frames": "1T", "contour": "1F", "mel": "2F", "states": "2F", "voicing": "1F"},
    )
    if own.config.refiner_layers:
        mel = torch.randn(1, MEL_BINS, frames)
        _write(
            StepGraph(own.net),
            (mel, mel, torch.randn(1, width + BESIDE, frames), torch.tensor([0.5])),
            folder / "step.onnx",
            inputs=["x", "mel", "states", "time"],
            outputs=["velocity", "ended"],
            axes={"x": "2F", "mel": "2F", "states": "2F", "velocity": "2F", "ended": "2F"},
        )
    decoder = vocoder.write_decoder(folder)
    spoken = [*own.net.text.parameters(), *own.net.mean.parameters()]
    spoken += list(own.net.refiner.parameters()) if own.config.refiner_layers else []
    return {
        **decoder,
        "made_for": MelSpec().hash,  # of the mels it makes: what `mel` says its vocoder reads
        **facts_of(own.figures, threshold=threshold_of(own)),
        "parameters": sum(p.numel() for p in spoken) + decoder.get("parameters", 0),
    }


def facts_of(figures: CorpusFigures, *, threshold: float) -> dict[str, Any]:
    """What a voice says of its corpus: by symbol, and by speaker in hertz: lowest, median, highest."""
    hertz = {
        name: [round(2**value, 2) for value in (low, median, high)]
        for name, median, (low, high) in zip(figures.speakers, figures.medians, figures.ranges, strict=True)
    }
    return {
        "voiced": dict(figures.voiced),
        "longest": dict(figures.longest),
        "pauses": {"threshold": round(threshold, 4)},
        "pitch": {"speakers": hertz},
    }


def _validation(learner: AcousticLearner) -> Iterator[tuple[Mapping[str, Any], Tensor, Tensor, Tensor]]:
    """Of every text of the validation side with known lengths: its row, log frames and pauses [T], which are gaps."""
    for one in learner.figures.sentences:
        tags = one.get("language") or [0] * len(one["ids"])
        if one["pauses"] is None or (learner.language and learner.language != tags[0]):
            continue
        ids, tones, stress, gaps = (torch.tensor([one[name]]) for name in ("ids", "tones", "stress", "gaps"))
        mask, speaker = torch.ones_like(ids).float()[:, None], torch.tensor([one["speaker"]])
        with torch.no_grad():
            _, log_frames, pause, _ = learner.net.text(ids, tones, stress, mask, speaker, torch.tensor([tags]))
        yield one, log_frames[0], pause[0], gaps[0] > 0


def tempo_of(learner: AcousticLearner) -> float:
    """How many times longer sounds must be made so that the texts of the validation side last as long as recorded.

    The mean of logarithms, which is learnt, is shorter than the mean.
    """
    made = recorded = 0.0
    for one, log_frames, _, gaps in _validation(learner):
        if one.get("frames"):
            made += float(log_frames[~gaps].exp().sum())
            recorded += one["frames"]
    return min(MOST_TEMPO, max(1 / MOST_TEMPO, recorded / made)) if made else 1.0


def threshold_of(learner: AcousticLearner) -> float:
    """The probability of a pause from which on the texts of the validation side get as many as their recordings."""
    sure, wanted = list[float](), 0
    for one, _, pause, gaps in _validation(learner):
        sure += torch.sigmoid(pause)[torch.from_numpy(inner_gaps(gaps.numpy()))].tolist()
        wanted += one["pauses"]
    if not 0 < wanted < len(sure):
        return 0.5
    ranked = sorted(sure, reverse=True)
    return min(0.95, max(0.05, (ranked[wanted - 1] + ranked[wanted]) / 2))


def with_speakers(checkpoint: Checkpoint, learner: nn.Module, *, old: int) -> Checkpoint:
    """A checkpoint of `old` speakers as one of the learner's: new ones begin near the mean, or with the only voice."""
    if f"learner/{SPEAKERS}" in checkpoint.weights:
        added = learner.get_parameter(SPEAKERS).shape[0] - old
        return enlarged_checkpoint(checkpoint, (SPEAKERS,), Growth(old, (None,) * added))
    silent = torch.zeros_like(learner.get_parameter(SPEAKERS).detach())
    return replace(checkpoint, weights={**checkpoint.weights, f"learner/{SPEAKERS}": silent})


def _write(
    graph: nn.Module,
    example: tuple[Tensor, ...],
    path: Path,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    axes: dict[str, str],
) -> None:
    """`axes`: of each name the dimension that varies, and its letter."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the tracer's remarks; a test compares the graphs with torch instead
        torch.onnx.export(
            graph.eval(),
            example,
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={name: {int(axis[0]): axis[1]} for name, axis in axes.items()},
            opset_version=OPSET,
            dynamo=False,
        )

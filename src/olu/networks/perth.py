"""Perth, the watermark of Resemble AI (MIT): its network from the package resemble-perth, which is not imported.

It marks the lowest 128 bins of a spectrogram and finds the mark again; it says yes or no and names nobody. Anybody can
take it out: it tells honest listeners, and proves nothing against dishonest ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.audio.io import resample
from olu.core.errors import NetworkError
from olu.core.types import Audio

if TYPE_CHECKING:
    from torch import Tensor, nn

RATE, WINDOW, STEP, BINS = 32_000, 2048, 320, 128
LEAST, HEADROOM, QUIET = 1e-9, 15.0, 0.05
FOUND = 0.5  # from which the mark is taken as found
SHORTEST = 0.5  # seconds in which it can be found
FILE = "perth_net/pretrained/implicit/perth_net_250000.pth.tar"
BRANCHES = {"slow": 1.25, "normal": 1.0, "fast": 0.75}  # frames that each hears for one
PACKAGE = "resemble-perth"


def weights_file() -> Path | None:
    """Where the installed package keeps its network. Importing it would fail with newer setuptools."""
    spec = find_spec("perth")
    places = list(spec.submodule_search_locations or []) if spec else []
    return next((Path(one) / FILE for one in places if (Path(one) / FILE).is_file()), None)


def load() -> dict[str, Any]:
    """Its tensors by their names; no code of the file can run."""
    import torch

    file = weights_file()
    if file is None:
        raise NetworkError(f"the watermark's network is not here: install it with 'pip install {PACKAGE}'")
    held: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)["model"]
    return held


def marker(held: Mapping[str, Any]) -> nn.Module:
    """[B, 128, T] of scaled magnitudes -> what is to be added to them."""
    return _layers(held, "encoder.layers")


def write_graph(path: Path) -> None:
    """The marker as a graph that `speak/engines/watermark.py` runs."""
    import warnings

    import torch

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            marker(load()),
            (torch.zeros(1, BINS, 20),),
            str(path),
            input_names=["magnitude"],
            output_names=["added"],
            dynamic_axes={"magnitude": {2: "T"}, "added": {2: "T"}},
            opset_version=17,
            dynamo=False,
        )


def score(audio: Audio) -> float:
    """From 0, no mark, to 1."""
    import torch
    from torch.nn import functional as F

    if len(audio.samples) < SHORTEST * audio.rate:
        raise NetworkError(f"{audio.seconds:.2f} s are too short to find a watermark in: give {SHORTEST} s or more")
    held = load()
    logs = torch.from_numpy(scaled_spectrum(resample(audio, RATE).samples))[None]
    loud = logs.sum(1)
    mask = (loud > QUIET * loud.max()).float()[:, None]
    looks: list[Tensor] = []
    marks: list[Tensor] = []
    with torch.no_grad():
        for name, times in BRANCHES.items():
            heard, count = logs[:, :BINS], int(logs.shape[2] * times)
            if times != 1.0:
                heard = F.interpolate(heard, size=count, mode="linear", align_corners=True)
            made = _layers(held, f"decoder.{name}_layers")(heard)
            seen = F.interpolate(mask, size=made.shape[2], mode="nearest")
            look, mark = ((made * seen).sum(2) / seen.sum(2))[0]
            looks.append(look)
            marks.append(mark)
    shares = torch.stack(looks).softmax(0)
    return float((shares * torch.stack(marks)).sum().clamp(0.0, 1.0))


def scaled_spectrum(wave: NDArray[np.float32]) -> NDArray[np.float32]:
    """[bins, T]: logarithms of magnitudes at 32 kHz, scaled so that -180 dB are 0 and 15 dB are 1."""
    padded = np.pad(wave.astype(np.float64), WINDOW // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::STEP]
    magnitudes = np.abs(np.fft.rfft(frames * np.hanning(WINDOW + 1)[:-1], axis=1)).T
    span = -20 * np.log10(LEAST) + HEADROOM
    logs = (20 * np.log10(np.maximum(magnitudes, LEAST)) + span - HEADROOM) / span
    return np.asarray(logs, np.float32)


def _layers(held: Mapping[str, Any], name: str) -> nn.Module:
    from torch import nn

    count = 1 + max(int(key.split(".")[-3]) for key in held if key.startswith(f"{name}."))
    layers = list[nn.Module]()
    for at in range(count):
        weight, bias = (held[f"{name}.{at}.conv.{part}"] for part in ("weight", "bias"))
        outer, inner, kernel = weight.shape
        conv = nn.Conv1d(inner, outer, kernel, padding=kernel // 2)
        conv.load_state_dict({"weight": weight, "bias": bias})
        layers += [conv, *([nn.LeakyReLU()] if at + 1 < count else [])]
    return nn.Sequential(*layers).eval()

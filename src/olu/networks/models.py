"""What the networks of `olu audit --deep` say of a clip. They come in packages whose own code is not run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio import io
from olu.core.errors import MissingExtra
from olu.core.types import Audio
from olu.networks import silero, speaker
from olu.networks.session import open_session, quiet, read_network

# ---- how good a recording would sound to people, by the DNSMOS network (MIT)


WINDOW = 144160  # samples at 16 kHz: 9.01 s
MOST_WINDOWS = 4  # of a long clip, spread evenly
CURVES = {  # the published fits from the network's outputs to opinions, in the order it gives them
    "signal": (-0.08397278, 1.22083953, 0.0052439),
    "background": (-0.13166888, 1.60915514, -0.39604546),
    "overall": (-0.06766283, 1.11546468, 0.04602535),
}


def load(path: Path) -> Any:
    return open_session(read_network(path), quiet(1))


def overall(session: Any, samples: NDArray[np.float32]) -> float:
    """The overall score, 1 to 5."""
    return scores(session, samples)["overall"]


def scores(session: Any, samples: NDArray[np.float32]) -> dict[str, float]:
    """The three scores, 1 to 5, as means of windows; a short clip is repeated, as the authors do."""
    if len(samples) < WINDOW:
        samples = np.tile(samples, -(-WINDOW // max(1, len(samples))))
        starts = np.zeros(1, dtype=np.intp)
    else:
        count = min(MOST_WINDOWS, -(-len(samples) // WINDOW))
        starts = np.linspace(0, len(samples) - WINDOW, count).astype(np.intp)
    raw = [session.run(None, {"input_1": samples[None, at : at + WINDOW]})[0][0] for at in starts]
    outputs = np.asarray(raw, dtype=np.float64).T
    return {name: float(np.mean(np.polyval(CURVES[name], row))) for name, row in zip(CURVES, outputs, strict=True)}


RATE = 16000  # of all three networks
INSTALL = "olu doctor --install-eval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deep:
    voiced: float  # share of the clip that is a human voice
    snr: float | None  # decibels between the voice and what lies outside it; None where too little does
    quality: float  # DNSMOS overall, 1 to 5
    voice: tuple[float, ...]  # 256 numbers that tell speakers apart; empty where too little is spoken


class Models:
    """The three networks, loaded once. Safe to call from several threads."""

    def __init__(self) -> None:
        self.silero = silero.load(weights("silero_vad", "data/silero_vad_16k_sequence.onnx"))
        self.dnsmos = load(weights("speechmos", "dnsmos_models/sig_bak_ovr.onnx"))
        if find_spec("torch") is None:
            raise MissingExtra("olu audit --deep", extra="eval", package="torch")
        self.speaker = speaker.load(weights("resemblyzer", "pretrained.pt"))

    def listen(self, audio: Audio) -> Deep:
        sound = io.resample(audio, RATE).samples
        spoken = silero.spoken(self.silero, sound)
        return Deep(
            voiced=float(spoken.mean()),
            snr=silero.snr(sound, spoken),
            quality=overall(self.dnsmos, sound),
            voice=speaker.embed(self.speaker, silero.only(sound, spoken)),
        )


def weights(package: str, inside: str, *, verb: str = "olu audit --deep") -> Path:
    """A file of an installed package, which is not imported: they would bring librosa and more along."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / inside).is_file():
            return path
    raise MissingExtra(verb, package=package, install=INSTALL)

"""What the networks of `olu audit --deep` say of a clip. They come in packages whose own code is not run."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from olu.audio import io
from olu.core.errors import MissingExtra
from olu.core.types import Audio
from olu.networks import dnsmos, silero, speaker

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
        self.dnsmos = dnsmos.load(weights("speechmos", "dnsmos_models/sig_bak_ovr.onnx"))
        if find_spec("torch") is None:
            raise MissingExtra("olu audit --deep", extra="eval", package="torch")
        self.speaker = speaker.load(weights("resemblyzer", "pretrained.pt"))

    def listen(self, audio: Audio) -> Deep:
        sound = io.resample(audio, RATE).samples
        spoken = silero.spoken(self.silero, sound)
        return Deep(
            voiced=float(spoken.mean()),
            snr=silero.snr(sound, spoken),
            quality=dnsmos.overall(self.dnsmos, sound),
            voice=speaker.embed(self.speaker, silero.only(sound, spoken)),
        )


def weights(package: str, inside: str, *, verb: str = "olu audit --deep") -> Path:
    """A file of an installed package, which is not imported: they would bring librosa and more along."""
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(folder) / inside).is_file():
            return path
    raise MissingExtra(verb, package=package, install=INSTALL)

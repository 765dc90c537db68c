"""Whether it is still the same person: likeness to the middle of the speaker's own recordings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.audio import io
from olu.core.errors import MissingExtra
from olu.core.machine import version_of
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate, differences, figure, mean
from olu.evaluate.metrics.duration import numbers_only
from olu.networks import silero
from olu.networks import speaker as network
from olu.networks.models import weights

MOST = 20  # recordings that make the middle
VERB = "olu evaluate"
REASON = "the network was trained on other languages, and hears the room and the microphone too"

Voice = NDArray[np.float64]


def embed(audio: Audio) -> Voice | None:
    """The voice as 256 numbers of length 1; None where less than a second is spoken."""
    ears, who = _networks()
    sound = io.resample(numbers_only(audio), network.RATE).samples
    found = network.embed(who, silero.only(sound, silero.spoken(ears, sound)))
    return np.asarray(found, dtype=np.float64) if found else None


def centroid(recordings: Iterable[Audio]) -> Voice | None:
    """The middle of up to 20 recordings of the speaker, of the train split: none that is judged."""
    found = [voice for voice in map(embed, islice(recordings, MOST)) if voice is not None]
    if not found:
        return None
    middle = np.mean(found, axis=0)
    return np.asarray(middle / max(float(np.linalg.norm(middle)), 1e-9))


def likeness(audio: Audio, middle: Voice) -> float | None:
    """The cosine to the speaker's middle; 1 is the same."""
    voice = embed(audio)
    return None if voice is None else float(voice @ middle)


def summarise(spoken: Sequence[float | None], *, natural: Sequence[float | None] | None = None) -> tuple[Estimate, ...]:
    """speaker and speaker_difference (to the natural recordings of the same sentences)."""
    said: dict[str, Any] = {"unit": "", "instrument": instrument(), "trust": "medium", "reason": REASON}
    likeness_of_all = figure("speaker", spoken, natural=None if natural is None else mean(natural), **said)
    if natural is None:
        return (likeness_of_all,)
    return likeness_of_all, figure("speaker_difference", differences(natural, spoken), **said)


def instrument() -> str:
    return f"Resemblyzer {version_of('Resemblyzer')} on what Silero VAD {version_of('silero-vad')} hears"


@cache
def _networks() -> tuple[Any, Any]:
    if find_spec("torch") is None:
        raise MissingExtra(VERB, extra="eval", package="torch")
    ears = silero.load(weights("silero_vad", "data/silero_vad_16k_sequence.onnx", verb=VERB))
    return ears, network.load(weights("resemblyzer", "pretrained.pt", verb=VERB))

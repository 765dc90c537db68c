"""A run of Chatterbox as a voice: its knobs, its speakers heard from chosen recordings, the graphs it is written as."""

from __future__ import annotations

from olu.core.types import Knob
from olu.families.chatterbox.config import ChatterboxConfig


def knobs(config: ChatterboxConfig) -> tuple[Knob, ...]:
    """A control that does nothing for a base is none of its voice's: Turbo and Nano were taught no guidance."""
    own = [
        Knob("temperature", config.temperature, 0.0, 2.0, "how freely codes are drawn; 0: always the likeliest"),
        Knob("top_k", config.top_k, 0, config.codes, "codes that are drawn from; 0: all"),
        Knob("top_p", config.top_p, 0.01, 1.0, "how much of what is likely they make up together"),
        Knob("min_p", config.min_p, 0.0, 1.0, "how likely a code must be, beside the likeliest"),
        Knob("repetition_penalty", config.repetition_penalty, 1.0, 50.0, "against codes that came before"),
        Knob("penalty_window", 0, 0, 10_000, "how many codes back that looks; 0: all"),
    ]
    if config.unconditional > 0 or config.guidance > 0:
        own.append(Knob("guidance", config.guidance, 0.0, 10.0, "how much the text is kept to; 0: as it comes"))
    if config.emotion:
        own.append(Knob("exaggeration", config.exaggeration, 0.0, 2.0, "how lively; the recordings are taken as 0.5"))
    return (*own, Knob("guards", 1, 0, 1, "0: nothing is done against loops, silence and strange ends"))

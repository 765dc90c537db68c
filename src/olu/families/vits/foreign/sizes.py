"""Whether a base is as large as it says: before memory is asked for by what a stranger wrote."""

from __future__ import annotations

import torch

from olu.core.errors import TrainError
from olu.families.vits.foreign.read import Foreign
from olu.families.vits.model import Generator

EMBEDDING, SPEAKERS = "text_encoder.embed_tokens.weight", "embed_speaker.weight"
MOST_MISSING = 500_000_000  # weights that a base may lack; a whole voice of the published size has 83 million


def check_sizes(base: Foreign, *, where: str) -> None:
    symbols, rows = len(base.symbols), base.weights.get(EMBEDDING)
    if rows is not None and len(rows) != symbols:
        raise TrainError(f"{where} names {symbols} symbols, its weights have {len(rows)}: they do not belong together")
    voices = base.weights.get(SPEAKERS)
    if voices is not None and base.num_speakers > 1 and len(voices) != base.num_speakers:
        raise TrainError(
            f"{where} names {base.num_speakers} speakers, its weights have {len(voices)}: they do not belong together"
        )
    if voices is None and base.num_speakers > 1:
        raise TrainError(f"{where} names {base.num_speakers} speakers, its weights know only one: take its own config")
    with torch.device("meta"):  # shapes without memory
        made = Generator(base.config, vocab_size=symbols, num_speakers=base.num_speakers).state_dict()
    lacking = sum(value.numel() for name, value in made.items() if _plain(name) not in base.weights)
    if lacking > MOST_MISSING:
        raise TrainError(f"{where} says that it has {lacking} weights more than it holds: it is not whole")


def _plain(name: str) -> str:
    """Of a weight that is normed here and folded in the base."""
    return name.replace(".parametrizations.weight.original0", ".weight").replace(
        ".parametrizations.weight.original1", ".weight"
    )

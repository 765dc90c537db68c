"""What a folder of XTTS v2 is, in sentences: for `olu doctor --base`, before anything is trained."""

from __future__ import annotations

import math
from pathlib import Path

from olu.core.words import first_names, many, size
from olu.families.xtts.config import MELS
from olu.families.xtts.foreign.read import DVAE, MEL_STATS, Release, read_release
from olu.families.xtts.plan import memory, saved
from olu.text.piece_files import read_pieces
from olu.train.weight_check import check_numbers

SECONDS, TOKENS = 11.6, 200  # of the longest clip that the published weights learnt from
SHOWN = 24  # tags


def sentences(place: Path) -> list[str]:
    """All that is known of it; what cannot be used is an error."""
    release = read_release(place)
    folder = place if place.is_dir() else place.parent
    pieces = read_pieces(folder / "vocab.json")
    check_numbers(release.weights)
    check_numbers({f"dvae.{name}": value for name, value in release.dvae.items()})
    c = release.config
    return [
        f"XTTS {release.version}: {many(len(release.weights), 'tensor')}, {_numbers(release)} parameters"
        f"{' with the DVAE' if release.dvae else ''}",
        f"{c.layers} blocks of {c.width}, {c.heads} heads; up to {c.most_text} tokens and {c.most_codes} codes at once",
        f"vocabulary: {pieces.size} tokens, {len(set(pieces.merges))} merges",
        f"languages by their tags: {first_names(release.tags, SHOWN, count=True)}",
        _dvae(release, folder),
        f"mel statistics: {_statistics(release, folder)}",
        f"speakers of its own: {len(release.speakers) or 'none'}",
        *_needs(release),
        *release.notes,
    ]


def _numbers(release: Release) -> str:
    """Parameters as training counts them: no running statistics, windows or tables of means."""
    still = ("running_", "num_batches", "torch_spec", "mel_stats")
    own = sum(math.prod(one.shape) for name, one in release.weights.items() if not any(part in name for part in still))
    codes = sum(math.prod(one.shape) for name, one in release.dvae.items() if not name.startswith("codebook"))
    return f"{own + codes:,}"


def _dvae(release: Release, folder: Path) -> str:
    if not release.dvae:
        return f"no DVAE: put {DVAE} into the folder before you train"
    where = DVAE if (folder / DVAE).is_file() else "inside the checkpoint"
    return f"DVAE: {where}, {release.config.codes} codes"


def _statistics(release: Release, folder: Path) -> str:
    low, high = float(release.mel_stats.min()), float(release.mel_stats.max())
    where = MEL_STATS if (folder / MEL_STATS).is_file() else "the model's own"
    same = low == high == 1.0
    return f"{where}, {MELS} numbers from {low:.3g} to {high:.3g}" + (": all one, which no release has" if same else "")


def _needs(release: Release) -> list[str]:
    c = release.config
    least, light = (
        memory(c.model_copy(update={"gradient_checkpointing": kept}), clips=1, seconds=SECONDS, tokens=TOKENS)
        for kept in (False, True)
    )
    return [
        f"to train on it: about {size(least)} of memory with one clip of {SECONDS:g} s in 32 bits, {size(light)} with"
        f" gradient checkpointing; {size(saved(c))} of disk for a checkpoint",
    ]

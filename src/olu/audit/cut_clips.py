"""Long clips that a cut made shorter ones of: they stay on record, and their pieces count instead."""

from __future__ import annotations

from collections.abc import Iterable

from olu.core.types import Clip
from olu.corpus.decisions import Decision, load
from olu.corpus.manifest import Corpus


def set_aside(decisions: Iterable[Decision]) -> frozenset[str]:
    """Ids of the clips that were cut, but for those that a person takes whole."""
    on_record = tuple(decisions)
    whole = {one.id for one in on_record if (one.by, one.decision) == ("person", "keep")}
    return frozenset(one.id for one in on_record if one.by == "cut" and one.id not in whole)


def without_aside(corpus: Corpus) -> tuple[Corpus, tuple[Clip, ...]]:
    """The clips that count, and the long ones that lie aside."""
    ids = set_aside(load(corpus.ws))
    return corpus.where(lambda clip: clip.id not in ids), tuple(clip for clip in corpus if clip.id in ids)

"""What the audit finds to sound the same does not stand on two sides."""

from __future__ import annotations

from collections.abc import Callable

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.manifest import Corpus
from olu.corpus.split import choose_sides
from olu.stages.audit import audit
from olu.stages.split import split_corpus

from .conftest import speech


def test_copies_stay_together_after_an_audit(make: Callable[..., Workspace]) -> None:
    sounds = {f"a{n}": (speech(2, seed=n), f"Okwu nke {n} bụ otu") for n in range(20)}
    copies = {f"b{n}": (speech(2, seed=n) * (1.0 if n % 2 else 0.6), f"Ihe ọzọ {n} ka ọ bụ") for n in range(20)}
    ws = make({**sounds, **copies})
    finish(audit(ws))
    corpus = Corpus.open(ws)
    found = {clip.id: {mark.check for mark in corpus.marks(clip)} for clip in corpus}
    assert "duplicate_audio" in found["b1"] and "near_duplicate" in found["b2"]
    marked = [n for n in range(20) if found[f"b{n}"] & {"duplicate_audio", "near_duplicate"}]
    assert len(marked) >= 18
    for seed in range(5):
        split_corpus(ws, valid=0.25, test=0.25, seed=seed)
        sides = choose_sides(ws, corpus.clips)
        assert set(sides.values()) == {"train", "valid", "test"}
        assert all(sides[f"a{n}"] == sides[f"b{n}"] for n in marked)

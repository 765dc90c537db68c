"""What a family that listens is to write for each clip, and the symbols for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.types import Reading
from olu.corpus.manifest import Corpus
from olu.stages.alphabet import held_by
from olu.stages.read import named
from olu.text.vocabulary import BLANK, SymbolVocabulary
from olu.train.family import Family, Written
from olu.train.recipe import Recipe
from olu.train.run import Run

Ids = dict[str, tuple[int, ...]]


def written(
    writes: Written, readings: Mapping[str, Reading], *, holder: Run | None = None
) -> tuple[SymbolVocabulary, Ids]:
    """The symbols and the ids of every clip. A run that is gone on with, or started from, keeps its symbols."""
    symbols = {id: writes.symbols(reading) for id, reading in readings.items()}
    if holder:
        vocabulary = held_by(holder)
    else:
        seen = {symbol for stream in symbols.values() for symbol in stream}
        vocabulary = SymbolVocabulary((BLANK, *sorted(seen - {BLANK})), interleave=False)
    known = {symbol: id for id, symbol in enumerate(vocabulary.symbols)}
    for clip, stream in symbols.items():
        if strange := next((symbol for symbol in stream if symbol not in known), None):
            assert holder is not None
            raise TrainError(f"clip {clip}: {holder.name} does not know {named(strange)!r}: start a new run")
    return vocabulary, {id: tuple(known[symbol] for symbol in stream) for id, stream in symbols.items()}


def check_ears(ws: Workspace, recipe: Recipe, corpus: Corpus) -> None:
    """A judge must not begin with what another has learnt from the clips it will be judged by."""
    if recipe.base is None or recipe.data.everything:
        return
    base = Run(Path(recipe.base))
    here = base.folder.resolve().parent == ws.runs.resolve()
    if base.recipe.data.everything and (here or base.document("facts.json").get("corpus") == corpus.fingerprint):
        raise TrainError(
            f"recipe: base: {base.name} has learnt from all clips of this corpus, also those that tell how well one"
            " hears: start from a recogniser of another corpus, or set data.everything=true for one that aligns"
        )


def only_listening(recipe: Recipe, family: Family) -> Recipe:
    """The recipe of a family that does not speak: nothing in it asks for samples."""
    if family.kind != "listener":
        return recipe
    if recipe.plan.sentences:
        raise TrainError(f"recipe: plan.sentences has no effect: the family {family.name!r} does not speak")
    if recipe.plan.choose != "loss":
        raise TrainError(f"recipe: plan.choose = 'heard' has no effect: the family {family.name!r} does not speak")
    return recipe.model_copy(update={"plan": recipe.plan.model_copy(update={"demo_clips": 0})})

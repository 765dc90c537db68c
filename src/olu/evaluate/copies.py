"""What a run's decoder loses: recordings through its own networks, judged as the voice is."""

from __future__ import annotations

from collections.abc import Sequence

from olu.core.config import check
from olu.core.errors import MissingExtra
from olu.core.files import Workspace
from olu.core.job import Job
from olu.core.types import Audio
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import Missing
from olu.evaluate.judge import INSTALL
from olu.evaluate.metrics import f0
from olu.evaluate.metrics.copy import Ears, judged
from olu.evaluate.samples import References, Sample
from olu.families import family as family_named
from olu.families.runs import voice_named
from olu.text.vocabulary import SymbolVocabulary
from olu.train.averaged import load_averaged

COPY = "copy"
MOST = 20  # recordings


def copies(
    ws: Workspace, run: str, step: int, takes: Sequence[Sample], known: References, *, groups: Sequence[str]
) -> Job[tuple[tuple[Estimate, ...], Missing | None]]:
    """Figures named copy_..., or why there are none."""
    chosen = voice_named(ws, run)
    family = family_named(chosen.recipe.family)
    recorded = [take for take in takes if take.natural][:MOST]
    resynthesis = family.speaks.resynthesis if family.speaks else None
    if resynthesis is None:
        return (), Missing(metric=COPY, why=f"the family {family.name} has no way back from sound to sound")
    if not recorded:
        return (), Missing(metric=COPY, why="there are no natural recordings of these sentences")
    config = check(family.config, chosen.recipe.model, where=f"{run}/recipe.toml [model]")
    vocabulary = SymbolVocabulary.from_state(chosen.document("vocabulary.json"))
    speakers = chosen.document("speakers.json")
    learner = family.learner(config, vocab_size=vocabulary.size, num_speakers=len(speakers))
    load_averaged(learner, chosen.checkpoints().load(step))
    who = {name: number for number, name in enumerate(speakers)}
    sounds = [take.natural() for take in recorded if take.natural]
    turn = iter(recorded)

    def again(audio: Audio) -> Audio:
        return resynthesis(learner, audio, speaker=who.get(next(turn).speaker, 0))

    low, high = known.any_bounds(recorded[0].speaker) or (f0.LOWEST, f0.HIGHEST)
    middle = known.voices.get(recorded[0].speaker)
    try:
        made = yield from judged(sounds, again, ears=Ears(low, high, middle, "dnsmos" in groups))
    except MissingExtra as absent:
        return (), Missing(metric=COPY, why=str(absent).partition(": ")[0], command=INSTALL)
    return made, None

"""What a plan is made from, read off a corpus and off the base it begins with."""

from __future__ import annotations

from collections import Counter

from olu.align.state import alignment_path
from olu.core.places import is_hub_id, located
from olu.core.stage import need_training
from olu.corpus.manifest import Corpus
from olu.train.base_facts import language_of, licence_of
from olu.train.family import Family
from olu.train.plan.facts import Foundation, Material, PlanClip
from olu.train.recipe import DataSettings, Recipe


def material_of(corpus: Corpus, asked: DataSettings, family: Family, *, verdict: str) -> Material:
    """What `asked` leaves to train on; the limits of length are the plan's own to set."""
    pieces, rates, speakers, valid = list[PlanClip](), Counter[int](), set[str](), 0
    texts = "text" in family.data.needs
    left_out, lost = 0, 0.0
    for clip in corpus:
        strange = asked.speakers and clip.speaker not in asked.speakers
        if strange or corpus.why_not(clip, errors=asked.leave_out_errors, texts=texts) is not None:
            left_out, lost = left_out + 1, lost + clip.seconds
            continue
        side = corpus.split(clip, texts=texts)
        valid += side == "valid"
        tokens = family.data.tokens(clip.text.strip())
        if (
            side != "train"
            or len(pieces) == (asked.train_clips or len(corpus))
            or tokens > (asked.max_tokens or tokens)
        ):
            continue
        pieces.append(PlanClip(seconds=round(corpus.taken(clip).seconds / asked.resample, 3), tokens=tokens))
        rates[clip.rate] += 1
        speakers.add(clip.speaker)
    return Material(
        pieces=tuple(pieces),
        language=corpus.ws.language,
        speakers=len(speakers),
        rates=dict(rates),
        valid=valid,
        verdict=verdict,
        left_out=left_out,
        left_out_seconds=round(lost, 3),
        aligned=alignment_path(corpus.ws).exists(),
        most_seconds=most_of_one(corpus),
    )


def most_of_one(corpus: Corpus) -> float:
    """Seconds that may train of the speaker who has most, after the audit and the decisions."""
    by_speaker: dict[str, float] = {}
    for clip in corpus:
        if corpus.why_not(clip) is None:
            by_speaker[clip.speaker] = by_speaker.get(clip.speaker, 0.0) + corpus.taken(clip).seconds
    return max(by_speaker.values(), default=0.0)


def foundation_of(family: Family, recipe: Recipe, *, language: str) -> Foundation:
    """The base of a recipe: its settings, its licence and the language its files name. `language`: the corpus'."""
    need_training("a plan with a base")
    from olu.train.setup.start import check_read, config_for, read_base

    base = read_base(family, recipe)
    assert base is not None and recipe.base is not None
    check_read(family, config_for(family, recipe, base), base, [language])
    origin = recipe.base if is_hub_id(recipe.base) else ""
    spoken, by = language_of(located(recipe.base), frontend=base.frontend, origin=origin)
    spoken = None if by == "name" else spoken  # a guess must not set a rate
    return Foundation(
        folder=recipe.base,
        settings=base.settings,
        speakers=base.num_speakers,
        licence=licence_of(located(recipe.base), origin=recipe.base),
        has_discriminator=base.has_discriminator,
        language=spoken.code if spoken else "",
        language_name=spoken.name if spoken else "",
        languages=base.languages,
    )

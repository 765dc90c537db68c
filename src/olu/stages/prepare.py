"""Make the features training reads, ahead of it."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from olu.core.config import check
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace, hash_value
from olu.core.job import Job
from olu.core.stage import Stage
from olu.corpus.corrections import hash_first_texts
from olu.corpus.decisions import hash_stretches
from olu.corpus.manifest import Corpus, imported, recordings
from olu.families import family as family_named
from olu.families.runs import voices
from olu.features.store import WaveFeature, build, fault_in, is_read
from olu.train.recipe import EVEN, Recipe, read_recipe

PREPARE_VERSION = 1


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    """Which clips have a text, not what it says."""
    known = [PREPARE_VERSION, imported(ws), recordings(ws), hash_stretches(ws), options]
    first = hash_first_texts(ws)
    return hash_value([*known, first] if first else known)


STAGE = Stage(name="prepare", command="olu prepare {ws}", folder="features", inputs=_inputs)
LISTENING = Stage(name="prepare-listening", command="olu prepare {ws}", folder="features", inputs=_inputs)


@dataclass(frozen=True)
class PrepareSummary:
    clips: int
    rate: int
    folder: str
    problems: list[str]
    resample: float = 1.0
    note: str = ""  # what was wrong with those that were there


def prepare(
    ws: Workspace,
    *,
    rate: int,
    factor: float = 1.0,
    edges: float = 0.0,
    loudness: float = 0.0,
    jobs: int | None = None,
    listening: bool = False,
) -> Job[PrepareSummary]:
    """Resample every clip to `rate` into one memory map. `jobs` threads; none: one per core.

    `factor`, `edges` and `loudness`: the recipe's data.resample, data.edges and data.loudness.
    `listening`: for a recogniser, whose rate may be another than the voice's; each keeps its own.
    """
    if jobs is not None and jobs < 1:
        raise ConfigError(f"--jobs {jobs}: give 1 or more")
    feature = WaveFeature(rate, factor, edges, loudness)
    changed = {"resample": factor - 1.0 and factor, "edges": edges, "loudness": loudness}
    options = {"rate": rate, **{name: value for name, value in changed.items() if value}}
    folder = ws.features / feature.key
    stage, other = (LISTENING, STAGE) if listening else (STAGE, LISTENING)
    workers = jobs or os.cpu_count() or 1
    note = ""
    for one in (stage, other):
        if earlier := one.done(ws, options):
            fault = fault_in(folder, jobs=workers)
            if fault and not folder.exists():
                break
            if fault:
                note = f"the features in {folder} were damaged ({fault}): they were made again from the recordings"
                break
            if one is other:
                stage.stamp(ws, options, earlier)
            return PrepareSummary(**earlier)
    begun = stage.inputs(ws, options)
    corpus = Corpus.open(ws)
    corpus.check_sources()
    taken = [corpus.taken(clip) for clip in corpus if clip.transcribed]
    if not taken:
        raise CorpusError(f"no clip of {ws.root} has a text, so there is nothing to train on: import one that has")
    problems = yield from build(folder, taken, feature=feature, audio=corpus.audio, jobs=workers)
    if len(problems) == len(taken):
        raise CorpusError(f"no clip can be decoded; the first: {problems[0]}")
    kept = {folder.name, str((ws.stamped(other.name) or {}).get("summary", {}).get("folder"))}
    for old in ws.features.glob("wave-*"):
        if old.name not in kept and not is_read(old):
            shutil.rmtree(old)  # one rate at a time: the cache can always be made again
    summary = PrepareSummary(
        clips=len(taken) - len(problems), rate=rate, folder=feature.key, problems=problems, resample=factor
    )
    told = asdict(summary)
    del told["note"]
    stage.stamp(ws, options, told, inputs=begun)
    return replace(summary, note=note)


def wanted_by(ws: Workspace, recipe: Path | None) -> dict[str, Any]:
    """The rate a recipe's family needs and how its [data] changes sound.

    Without a recipe: of the newest voice, and without one as the plan of the first will have it.
    """
    runs = voices(ws)
    settings = runs[-1].recipe if recipe is None and runs else read_recipe(recipe, [])
    chosen = family_named(settings.family)
    rate = chosen.data.rate(check(chosen.config, settings.model, where=f"{recipe or 'recipe'} [model]"))
    sound = sound_of(settings)
    return {"rate": rate, **sound, **({"loudness": EVEN} if recipe is None and not runs else {})}


class SoundSettings(TypedDict):
    """What a recipe does to the sound of every clip."""

    factor: float
    edges: float
    loudness: float


def sound_of(recipe: Recipe) -> SoundSettings:
    data = recipe.data
    return {"factor": data.resample, "edges": data.edges, "loudness": data.loudness}

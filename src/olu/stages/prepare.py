"""Make the features training reads, ahead of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

from olu.core.config import check
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace, hash_value
from olu.core.job import Job, Note
from olu.core.stage import Stage
from olu.core.told import Remedy
from olu.corpus.corrections import hash_first_texts
from olu.corpus.decisions import hash_stretches, load, set_aside
from olu.corpus.doubts import in_doubt
from olu.corpus.manifest import Corpus, imported, recordings
from olu.families import family as family_named
from olu.families.runs import voices
from olu.features.store import (
    FeatureClip,
    PreparedFeature,
    Store,
    WaveFeature,
    build,
    build_feature,
    claim,
    fault_in,
    feature_folders,
    is_read,
    release_claims,
)
from olu.stages.import_ import doubts_of
from olu.stages.verbs.training import PrepareOptions
from olu.train.family import Base, Family, Kind
from olu.train.recipe import EVEN, Recipe, read_recipe

PREPARE_VERSION = 1
FEW = 5  # problems that are told


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    """A hash of the clips, their recordings, their stretches and whether each has a text."""
    known = [PREPARE_VERSION, imported(ws), recordings(ws), hash_stretches(ws), options]
    first = hash_first_texts(ws)
    return hash_value([*known, first] if first else known)


STAGE = Stage(name="prepare", command="olu prepare {ws}", folder="features", inputs=_inputs)
LISTENING = Stage(name="prepare-listening", command="olu prepare {ws}", folder="features", inputs=_inputs)
VOCODING = Stage(name="prepare-vocoding", command="olu prepare {ws}", folder="features", inputs=_inputs)
STAGES: dict[Kind, Stage] = {"voice": STAGE, "listener": LISTENING, "vocoder": VOCODING}


@dataclass(frozen=True)
class PrepareSummary:
    clips: int
    rate: int
    folder: str
    problems: list[str]
    resample: float = 1.0
    note: str = ""  # what was wrong with those that were there
    features: dict[str, str] = field(default_factory=dict)  # of the family's own: name -> folder
    fresh: bool = False  # made before, and nothing has changed since

    def stamped(self) -> dict[str, Any]:
        """What the stamp keeps: what was made, not how this command went."""
        held = {name: value for name, value in asdict(self).items() if name not in ("note", "fresh", "features")}
        return held | ({"features": self.features} if self.features else {})

    def row(self, options: PrepareOptions) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "fresh"}

    def sentences(self, options: PrepareOptions) -> Iterator[str]:
        yield from in_doubt(doubts_of(Workspace.open(options.ws)))
        again = ", there already: nothing was done again" if self.fresh else ""
        yield f"{self.clips} clips at {self.rate} Hz{again}. Next: {Remedy('train', (options.ws,))}"


def run(options: PrepareOptions) -> Job[PrepareSummary]:
    """`olu prepare`"""
    ws = Workspace.open(options.ws)
    summary = yield from prepare(ws, **wanted_by(ws, options.recipe), jobs=options.jobs)
    yield from map(Note, [summary.note] if summary.note else [])
    yield from map(Note, summary.problems[:FEW])
    if len(summary.problems) > FEW:
        yield Note(f"... and {len(summary.problems) - FEW} more; --json lists all")
    return summary


def prepare(
    ws: Workspace,
    *,
    rate: int,
    factor: float = 1.0,
    edges: float = 0.0,
    loudness: float = 0.0,
    jobs: int | None = None,
    kind: Kind = "voice",
    texts: bool = True,
    features: Sequence[PreparedFeature] = (),
    aligned: bool = False,
) -> Job[PrepareSummary]:
    """Resample every clip to `rate` into one memory map, and make the features that a family declares.

    `jobs` threads; none: one per core. `factor`, `edges` and `loudness`: the recipe's data.resample, data.edges and
    data.loudness. `kind`: each kind of family keeps its own rate. Without `texts` clips without one are taken too;
    `aligned`: the features are made with the alignment.
    """
    if jobs is not None and jobs < 1:
        raise ConfigError(f"--jobs {jobs}: give 1 or more")
    release_claims()
    feature = WaveFeature(rate, factor, edges, loudness, texts)
    options = _stamp_options(feature)
    workers = jobs or os.cpu_count() or 1
    summary = yield from _waves(ws, feature, options, kind=kind, jobs=workers, begins=aligned and edges > 0)
    claim([ws.features / feature.key])
    if not features:
        return summary
    alignment = ws.alignment / "alignment.jsonl"
    if aligned and not alignment.is_file():
        raise CorpusError(
            f"{ws.root} is not aligned, and this family learns from an alignment: run 'olu align {ws.root}'"
        )
    folders = feature_folders(ws, feature, features, aligned=aligned)
    note, fresh = summary.note, summary.fresh
    corpus, store = Corpus.open(ws), Store(ws.features / feature.key)
    for one in features:
        folder = ws.features / folders[one.name]
        if (damage := _damage(folder, jobs=workers)) is None:
            continue
        note, fresh = note or damage, False
        clips = _feature_clips(corpus, store, feature, aligned=aligned)
        yield from build_feature(folder, clips, feature=one, device=_device(), total=len(store.index), jobs=workers)
    claim(ws.features / name for name in (feature.key, *folders.values()))
    summary = replace(summary, note=note, features=folders, fresh=fresh)
    STAGES[kind].stamp(ws, options, summary.stamped())
    _clear(ws)
    return summary


def _stamp_options(feature: WaveFeature) -> dict[str, Any]:
    """The rate, and what else was changed of the recordings."""
    changed = {"resample": feature.factor - 1.0 and feature.factor, "edges": feature.edges}
    changed |= {"loudness": feature.loudness, "untexted": not feature.texts}
    return {"rate": feature.rate, **{name: value for name, value in changed.items() if value}}


def _damage(folder: Path, *, jobs: int) -> str | None:
    """Nothing where a feature is whole; "" where it is missing; else what is wrong with it, and it is removed."""
    if not folder.exists():
        return ""
    fault = fault_in(folder, jobs=jobs)
    if not fault:
        return None
    shutil.rmtree(folder)
    return f"the features in {folder} were damaged ({fault}): they were made again"


def _made_before(ws: Workspace, stage: Stage, options: dict[str, Any]) -> tuple[Stage, dict[str, Any]] | None:
    """Which stage made the sound already, this one or that of another kind of family, and its summary."""
    others = (other for other in STAGES.values() if other is not stage)
    return next(((one, earlier) for one in (stage, *others) if (earlier := one.done(ws, options))), None)


def _waves(
    ws: Workspace, feature: WaveFeature, options: dict[str, Any], *, kind: Kind, jobs: int, begins: bool
) -> Job[PrepareSummary]:
    """The sound of every clip, unless it is there already, made for this kind of family or another.

    `begins`: it must tell where the kept part of each clip begins, which older stores do not.
    """
    folder, stage, note = ws.features / feature.key, STAGES[kind], ""
    done = _made_before(ws, stage, options)
    if done and not (fault := fault_in(folder, jobs=jobs, begins=begins)):
        made_by, earlier = done
        if made_by is not stage:
            earlier = {name: value for name, value in earlier.items() if name != "features"}
            stage.stamp(ws, options, earlier)
        return PrepareSummary(**earlier, fresh=True)
    if done and folder.exists():
        note = f"the features in {folder} were damaged ({fault}): they were made again from the recordings"
    begun = stage.inputs(ws, options)
    corpus = Corpus.open(ws)
    corpus.check_sources()
    aside = set_aside(load(ws))
    wanted = (clip for clip in corpus if clip.id not in aside)
    taken = [corpus.taken(clip) for clip in wanted if clip.transcribed or not feature.texts]
    if not taken:
        raise CorpusError(f"no clip of {ws.root} has a text, so there is nothing to train on: import one that has")
    problems = yield from build(folder, taken, feature=feature, audio=corpus.audio, jobs=jobs)
    if len(problems) == len(taken):
        raise CorpusError(f"no clip can be decoded; the first: {problems[0]}")
    summary = PrepareSummary(
        clips=len(taken) - len(problems),
        rate=feature.rate,
        folder=feature.key,
        problems=problems,
        resample=feature.factor,
        note=note,
    )
    stage.stamp(ws, options, summary.stamped(), inputs=begun)
    _clear(ws)
    return summary


def _feature_clips(corpus: Corpus, store: Store, feature: WaveFeature, *, aligned: bool) -> Iterator[FeatureClip]:
    for clip in corpus:
        if clip.id in store:
            yield FeatureClip(
                clip=clip,
                samples=store[clip.id],
                rate=feature.rate,
                begins=store.begins.get(clip.id, 0.0),
                factor=feature.factor,
                alignment=corpus.alignment(clip) if aligned else None,
            )


def _device() -> str:
    """The device that frozen networks run on: a GPU where there is one."""
    import torch  # large, and only families with features of their own need it

    return "cuda" if torch.cuda.is_available() else "cpu"


def _clear(ws: Workspace) -> None:
    """Remove features that no stamp names: there is one rate for each kind of family."""
    told = [(ws.stamped(stage.name) or {}).get("summary", {}) for stage in STAGES.values()]
    kept = {name for one in told for name in (one.get("folder"), *one.get("features", {}).values())}
    for old in ws.features.glob("*"):
        if old.name not in kept and not old.name.startswith(".") and old.is_dir() and not is_read(old):
            shutil.rmtree(old)


def needed_by(family: Family, config: Any, base: Base | None = None) -> dict[str, Any]:
    """What `prepare` is to make for a family, beside the rate and what a recipe does to sound."""
    data = family.data
    features = tuple(data.features(config, base)) if data.features else ()
    return {
        "kind": family.kind,
        "texts": "text" in data.needs,
        "features": features,
        "aligned": "alignment" in data.needs,
    }


def wanted_by(ws: Workspace, recipe: Path | None) -> dict[str, Any]:
    """The rate a recipe's family needs, its features, and how its [data] changes sound.

    Without a recipe: of the newest voice, and without one as the plan of the first will have it.
    """
    runs = voices(ws)
    settings = runs[-1].recipe if recipe is None and runs else read_recipe(recipe, [])
    chosen = family_named(settings.family)
    config = check(chosen.config, settings.model, where=f"{recipe or 'recipe'} [model]")
    sound = {**sound_of(settings), **({"loudness": EVEN} if recipe is None and not runs else {})}
    return {"rate": chosen.data.rate(config), **sound, **needed_by(chosen, config)}


class SoundSettings(TypedDict):
    """What a recipe does to the sound of every clip."""

    factor: float
    edges: float
    loudness: float


def sound_of(recipe: Recipe) -> SoundSettings:
    data = recipe.data
    return {"factor": data.resample, "edges": data.edges, "loudness": data.loudness}

"""Everything in one go: from recordings to a voice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olu.core.config import check, with_overrides
from olu.core.errors import ConfigError, CorpusError, TrainError, WorkspaceError
from olu.core.files import Workspace
from olu.core.job import Job, Note, phase
from olu.core.machine import best_device
from olu.core.threads import ask_for
from olu.core.told import Remedy
from olu.core.words import length, many
from olu.corpus.manifest import Corpus
from olu.families import family as family_named
from olu.families.runs import is_matched, runs_of
from olu.stages.align import align
from olu.stages.export import ExportSummary, export
from olu.stages.import_ import import_source
from olu.stages.new import new_workspace
from olu.stages.plan import preferred, recipe_path
from olu.stages.train import TrainSummary, UnfinishedRun, train
from olu.stages.train_setup import first_command
from olu.stages.verbs.training import MakeOptions
from olu.text.languages import resolve
from olu.train.family import Family
from olu.train.plan.facts import OWN_VOCODER
from olu.train.recipe import Recipe, read_recipe


@dataclass(frozen=True)
class MakeSummary:
    workspace: str
    clips: int
    run: str
    voice: ExportSummary

    def sentences(self, options: MakeOptions) -> Iterator[str]:
        said = f"a voice from {self.clips} clips ({self.run})"
        yield f"{self.voice.voice}: {said}. Report: {options.ws}/audit/report.html"
        yield f"Next: {Remedy('speak', ('...',), {'voice': options.ws, 'output': 'out.wav'})}"


def run(options: MakeOptions) -> Job[MakeSummary]:
    """`olu make`"""
    if options.from_scratch and options.base:
        raise ConfigError("--from-scratch and --base exclude each other: leave one out")
    ask_for(options.threads)
    return make(
        options.ws,
        options.source,
        language=options.language,
        recipe=options.recipe,
        overrides=list(options.changes),
        base=options.base,
        device=options.device or best_device(),
        scratch=options.from_scratch,
    )


def make(
    root: Path,
    source: Path,
    *,
    language: str,
    recipe: Path | None = None,
    overrides: list[str] | None = None,
    base: Path | None = None,
    device: str = "cpu",
    scratch: bool = True,
) -> Job[MakeSummary]:
    """Each stage runs only if it is missing or stale, and an unfinished run is gone on with: run it again any time."""
    ws = _workspace(root, language)
    imported = yield from phase("import", import_source(ws, source))
    yield Note(f"imported {many(imported.added, 'clip')} ({imported.layout}), {len(imported.skipped)} skipped")
    if imported.mending:
        raise CorpusError(
            f"{imported.doubts[0]}; do that, or {imported.fitting} if the texts fit, and run the same olu make again"
        )
    for doubt in imported.doubts:
        yield Note(doubt)
    family = yield from _family(ws, recipe, overrides or [], base, device)
    asked: dict[str, Any] = {"recipe": recipe, "base": base, "scratch": scratch, "compares": True}
    changes, vocoder = [*(overrides or [])], ""
    if family.speaks and family.speaks.stands_in:
        path = recipe or (recipe_path(ws) if recipe_path(ws).exists() else None)
        changes += [] if path or "family" in with_overrides({}, changes) else [f"family={family.name}"]
        vocoder = yield from _vocoder(ws, family, read_recipe(path, changes), device=device)
    trained = yield from _trained(ws, changes, device=device, **asked)
    if vocoder:
        yield from _trained(ws, ["family=vocoder"], device=device, match=trained.run, from_run=vocoder)
    voice = yield from phase("export", export(ws.root, keep=True))
    if voice.fresh:
        yield Note(f"{voice.voice} holds it already: nothing new")
    return MakeSummary(workspace=str(ws.root), clips=imported.clips, run=trained.run, voice=voice)


def _family(ws: Workspace, recipe: Path | None, changes: list[str], base: Path | None, device: str) -> Job[Family]:
    """Of the recipe, of what is asked for, or what a plan would take once the corpus is aligned."""
    own = recipe_path(ws)
    path, given = recipe or (own if own.exists() else None), with_overrides({}, changes)
    settings = read_recipe(path, changes)
    if path is None and base is None and not {"family", "model", "base"} & given.keys():
        chosen, _, _ = yield from preferred(ws, settings, device=device, aligned=True)
        return chosen
    return family_named(settings.family)


def _vocoder(ws: Workspace, family: Family, recipe: Recipe, *, device: str) -> Job[str]:
    """What an acoustic model needs first: an alignment, and a vocoder; returns the run that is then to be matched.

    One that a recipe names is taken as it is.
    """
    config = check(family.config, recipe.model, where="recipe [model]")
    if first_command(ws, family, config):
        yield from phase("align", align(ws, device=device))
    if recipe.voice.vocoder:
        return ""
    held = [run.name for run in runs_of(ws, "vocoder") if run.finished and not is_matched(run)]
    if held:
        return held[-1]
    corpus = Corpus.open(ws)
    sound = sum(corpus.taken(clip).seconds for clip in corpus if corpus.why_not(clip, texts=False) is None)
    if sound < OWN_VOCODER:
        raise TrainError(
            f"{length(sound)} of sound are too few for a vocoder of its own ({length(OWN_VOCODER)}): name the run of"
            " another with --set voice.vocoder=RUN, or make a voice with --set family=vits"
        )
    return (yield from _trained(ws, ["family=vocoder"], device=device)).run


def _trained(ws: Workspace, changes: list[str], *, device: str, **asked: Any) -> Job[TrainSummary]:
    """A run with these settings: the one that is there, an unfinished one to its end, or a new one."""
    try:
        trained = yield from train(ws, overrides=changes, device=device, **asked)
    except UnfinishedRun as unfinished:
        if not unfinished.same_recipe:
            raise
        trained = yield from train(ws, resume=True, device=device)
    if trained.stopped:
        raise TrainError(f"{trained.run} stopped at step {trained.steps}: {trained.stopped}")
    if trained.fresh:
        yield Note(f"{trained.run} was trained with these settings on this corpus already")
    return trained


def _workspace(root: Path, language: str) -> Workspace:
    if not (root / "olu.toml").exists():
        return new_workspace(root, language=language)
    ws = Workspace.open(root)
    if ws.language != resolve(language):
        raise WorkspaceError(f"{root} is a workspace for {ws.language}, not {resolve(language)}: choose another folder")
    return ws

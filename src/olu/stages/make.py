"""Everything in one go: from recordings to a voice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.core.errors import ConfigError, CorpusError, TrainError, WorkspaceError
from olu.core.files import Workspace
from olu.core.job import Job, Note, phase
from olu.core.machine import best_device
from olu.core.threads import ask_for
from olu.core.told import Remedy
from olu.core.words import many
from olu.stages.export import ExportSummary, export
from olu.stages.import_ import import_source
from olu.stages.new import new_workspace
from olu.stages.train import UnfinishedRun, train
from olu.stages.verbs.training import MakeOptions
from olu.text.languages import resolve


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
    try:
        trained = yield from train(
            ws, recipe=recipe, overrides=overrides, base=base, device=device, scratch=scratch, compares=True
        )
    except UnfinishedRun as unfinished:
        if not unfinished.same_recipe:
            raise
        trained = yield from train(ws, resume=True, device=device)
    if trained.stopped:
        raise TrainError(f"{trained.run} stopped at step {trained.steps}: {trained.stopped}")
    if trained.fresh:
        yield Note(f"{trained.run} was trained with these settings on this corpus already")
    voice = yield from phase("export", export(ws.root, keep=True))
    if voice.fresh:
        yield Note(f"{voice.voice} holds it already: nothing new")
    return MakeSummary(workspace=str(ws.root), clips=imported.clips, run=trained.run, voice=voice)


def _workspace(root: Path, language: str) -> Workspace:
    if not (root / "olu.toml").exists():
        return new_workspace(root, language=language)
    ws = Workspace.open(root)
    if ws.language != resolve(language):
        raise WorkspaceError(f"{root} is a workspace for {ws.language}, not {resolve(language)}: choose another folder")
    return ws

"""Which runs of a workspace make a voice, which only listen, and which are damaged."""

from __future__ import annotations

from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace
from olu.families import family
from olu.train.run import Run


def does_speak(run: Run) -> bool:
    """A run of a family that is gone is taken for a voice: what uses it says that it is gone."""
    return _speaks(run.recipe.family)


def _speaks(name: str) -> bool:
    try:
        return family(name).speaks
    except ConfigError:
        return True


def whole_runs(ws: Workspace) -> list[Run]:
    """The runs whose files are whole, oldest first: a damaged one is used only where it is named, and says so then."""
    return [run for run in Run.all(ws.runs) if not run.fault]


def voices(ws: Workspace) -> list[Run]:
    """The runs that make a voice, oldest first."""
    return [run for run in whole_runs(ws) if does_speak(run)]


def listeners(ws: Workspace) -> list[Run]:
    """The runs that only listen, oldest first."""
    return [run for run in whole_runs(ws) if not does_speak(run)]


def passed_over(ws: Workspace, chosen: Run | None = None, *, speaks: bool | None = None) -> list[str]:
    """A sentence for every damaged run that might have been taken instead of an older one that was chosen.

    Its name begins with its family, so that a recogniser is not missed among the voices.
    """
    runs = Run.all(ws.runs)
    names = [run.name for run in runs]
    later = runs[names.index(chosen.name) + 1 :] if chosen and chosen.name in names else runs
    alike = [run for run in later if speaks is None or _speaks(run.name.rpartition("-")[0]) is speaks]
    return [f"{run.name} was passed over: {fault}" for run in alike if (fault := run.fault)]


def voice_named(ws: Workspace, name: str) -> Run:
    """A run that makes a voice."""
    run = Run.named(ws.runs, name)
    if not does_speak(run):
        raise TrainError(f"{name} is a recogniser and does not speak: name a run of a voice; 'olu runs' lists them")
    return run

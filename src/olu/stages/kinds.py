"""Which runs of a workspace make a voice, and which only listen."""

from __future__ import annotations

from olu.errors import ConfigError, TrainError
from olu.families import family
from olu.files import Workspace
from olu.train.run import Run


def does_speak(run: Run) -> bool:
    """A run of a family that is gone is taken for a voice: what uses it says that it is gone."""
    try:
        return family(run.recipe.family).speaks
    except ConfigError:
        return True


def voices(ws: Workspace) -> list[Run]:
    """The runs that make a voice, oldest first."""
    return [run for run in Run.all(ws.runs) if does_speak(run)]


def listeners(ws: Workspace) -> list[Run]:
    """The runs that only listen, oldest first."""
    return [run for run in Run.all(ws.runs) if not does_speak(run)]


def voice_named(ws: Workspace, name: str) -> Run:
    """A run that makes a voice."""
    run = Run.named(ws.runs, name)
    if not does_speak(run):
        raise TrainError(f"{name} is a recogniser and does not speak: name a run of a voice; 'olu runs' lists them")
    return run

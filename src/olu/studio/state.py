"""What a running studio holds. Pages reach it as `studio: CurrentStudio`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from olu.studio.jobs import Jobs
from olu.studio.records import RunShelf
from olu.studio.roots import Roots, StudioWorkspace
from olu.studio.settings import StudioSettings


class Studio:
    def __init__(self, settings: StudioSettings) -> None:
        self.settings = settings
        self.roots = Roots(settings.roots)
        self.jobs = Jobs(self.roots)
        self.runs = RunShelf()

    def workspace(self, name: str) -> StudioWorkspace:
        """The workspace of an address; `NotHere` where there is none of this name below a root."""
        return self.roots.workspace(name)


def current_studio(request: Request) -> Studio:
    held: Studio = request.app.state.studio
    return held


CurrentStudio = Annotated[Studio, Depends(current_studio)]

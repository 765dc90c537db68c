"""What a running studio holds. Pages reach it as `studio: CurrentStudio`."""

from __future__ import annotations

import getpass
from typing import Annotated

from fastapi import Depends, Request

from olu.studio.jobs import Jobs
from olu.studio.readers import Readers
from olu.studio.roots import Roots, StudioWorkspace
from olu.studio.settings import StudioSettings
from olu.studio.sound import SoundCache
from olu.studio.status import Statuses
from olu.studio.tables import Tables
from olu.studio.uploads import Uploads


class Studio:
    def __init__(self, settings: StudioSettings) -> None:
        self.settings = settings
        self.roots = Roots(settings.roots)
        self.jobs = Jobs(self.roots)
        self.statuses = Statuses()
        self.uploads = Uploads(settings)
        self.owner = _login()
        self.tables = Tables()
        self.sounds = SoundCache()
        self.readers = Readers(self.roots)

    def workspace(self, name: str) -> StudioWorkspace:
        """The workspace of an address; `NotHere` where there is none of this name below a root."""
        return self.roots.workspace(name)


def _login() -> str:
    """Who runs the studio: jobs carry the name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def current_studio(request: Request) -> Studio:
    held: Studio = request.app.state.studio
    return held


CurrentStudio = Annotated[Studio, Depends(current_studio)]

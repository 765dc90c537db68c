"""What a running studio holds. Pages reach it as `studio: CurrentStudio`."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from olu.studio.follow import Pulse
from olu.studio.jobs import Jobs
from olu.studio.people import Links, current_person
from olu.studio.review import Leases
from olu.studio.roots import Roots, StudioWorkspace
from olu.studio.settings import StudioSettings
from olu.studio.status import Statuses
from olu.studio.uploads import Uploads

if TYPE_CHECKING:
    from olu.studio.speaking import SpeechDesk


class Studio:
    def __init__(self, settings: StudioSettings) -> None:
        self.settings = settings
        self.roots = Roots(settings.roots)
        self.jobs = Jobs(self.roots)
        self.links = Links(self.roots)
        self.statuses = Statuses()
        self.uploads = Uploads(settings)
        self.owner = _login()
        self.leases = Leases()
        self.pulse = Pulse()
        self._speech: SpeechDesk | None = None

    def furnish(self) -> None:
        """What only the pages behind the first one need: the stages and numpy come with it."""
        from olu.studio.alignments import AlignmentShelf
        from olu.studio.readers import Readers
        from olu.studio.records import RunShelf
        from olu.studio.sound import SoundCache
        from olu.studio.tables import Tables
        from olu.studio.takes import Takes

        self.takes = Takes(self.settings)
        self.tables = Tables()
        self.alignments = AlignmentShelf(self.tables)
        self.sounds = SoundCache()
        self.readers = Readers(self.roots, self.tables)
        self.runs = RunShelf()

    @property
    def speech(self) -> SpeechDesk:
        """Who speaks with the voices here; its processes are started by the first request."""
        if self._speech is None:
            from olu.studio.speaking import SpeechDesk  # onnxruntime comes with it

            self._speech = SpeechDesk(self.roots)
        return self._speech

    async def close(self) -> None:
        """End what was started for this studio alone; jobs go on."""
        if self._speech is not None:
            await self._speech.stop()

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


def signing_name(request: Request) -> str:
    """The name that a change or a job carries: of the link that somebody came by, else of who runs the studio."""
    return current_person(request).signed() or current_studio(request).owner


Who = Annotated[str, Depends(signing_name)]

"""Where a voice lies that a person named: by its path, or as the one inside this package."""

from __future__ import annotations

from pathlib import Path

from olu.errors import VoiceError
from olu.files import embedded_voice
from olu.train.hub import is_embedded


def voice_place(place: Path) -> Path:
    """`embedded` names the voice inside this package, where nothing here has that name; else the place itself."""
    if not is_embedded(place.as_posix()):
        return place
    if (own := embedded_voice()) is None:
        raise VoiceError("which voice? This Olu was built without one of its own: name a voice or a workspace")
    return own

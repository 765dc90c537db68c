"""Where a voice lies that a person named: a package, a workspace that has one, or the one inside Olu."""

from __future__ import annotations

from pathlib import Path

from olu.core.errors import VoiceError
from olu.core.files import Workspace, embedded_voice, is_embedded


def voice_place(place: Path) -> Path:
    """`embedded` names the voice inside Olu, where nothing here has that name; else the place itself."""
    if not is_embedded(place.as_posix()):
        return place
    if (own := embedded_voice()) is None:
        raise VoiceError("which voice? This Olu was built without one of its own: name a voice or a workspace")
    return own


def package_place(place: Path) -> Path:
    """As `voice_place`; of a workspace the newest voice that was exported into it."""
    place = voice_place(place)
    if not (place / "olu.toml").is_file():
        return place
    found = list(Workspace.open(place).voices.glob("*.voice/voice.json"))
    if not found:
        raise VoiceError(f"{place} has no voice yet: make one with 'olu export {place} --to voice'")
    return max(found, key=lambda path: path.stat().st_mtime).parent

"""Find the voice that was meant, and let it speak into a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from olu.audio.io import check_format, write
from olu.errors import VoiceError
from olu.files import Workspace
from olu.speak.voice import Voice


def find_voice(place: Path | None) -> Voice:
    """A voice package, or the newest voice of a workspace; without a place, of the workspace stood in."""
    if place is None:
        if not Path("olu.toml").is_file():
            raise VoiceError("which voice? Name a voice or a workspace with --voice")
        place = Path()
    if not (place / "olu.toml").is_file():
        return Voice.open(place)
    ws = Workspace.open(place)
    found = list(ws.voices.glob("*.voice/voice.json"))
    if not found:
        raise VoiceError(f"{place} has no voice yet: make one with 'olu export {place} --to voice'")
    return Voice.open(max(found, key=lambda path: path.stat().st_mtime).parent)


@dataclass(frozen=True)
class Said:
    seconds: float
    rate: int
    dropped: dict[str, int]


def speak_to(path: Path, voice: Voice, text: str, *, speed: float, seed: int, speaker: str | None) -> Said:
    """Speak into a file; also says which characters the voice has no letter for."""
    check_format(path)
    audio = voice.speak(text, speed=speed, seed=seed, speaker=speaker)
    write(path, audio)
    return Said(seconds=audio.seconds, rate=audio.rate, dropped=voice.frontend.read(text).dropped)

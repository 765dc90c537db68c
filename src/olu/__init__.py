"""Olu: from recordings in any language to a voice that speaks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olu.api import VerbWorkspace as Workspace
    from olu.api import run
    from olu.core.errors import OluError
    from olu.core.job import Note, Report, Tick
    from olu.core.types import Audio, Clip, Mark, Reading, Word
    from olu.corpus.manifest import Corpus
    from olu.speak import speak_with as speak
    from olu.speak.melody import Melody
    from olu.speak.stream import Manner, SpokenChunk, SpokenSentence
    from olu.speak.voice import Voice
    from olu.stages.g2p import read_text

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read by onnxruntime when it is imported: else it phones home

__version__ = "0.1.0"
__all__ = [
    "Audio",
    "Clip",
    "Corpus",
    "Manner",
    "Mark",
    "Melody",
    "Note",
    "OluError",
    "Reading",
    "Report",
    "SpokenChunk",
    "SpokenSentence",
    "Tick",
    "Voice",
    "Word",
    "Workspace",
    "read_text",
    "run",
    "speak",
]

_HOMES = {
    "Audio": "olu.core.types",
    "Clip": "olu.core.types",
    "Corpus": "olu.corpus.manifest",
    "Manner": "olu.speak.stream",
    "Mark": "olu.core.types",
    "Melody": "olu.speak.melody",
    "OluError": "olu.core.errors",
    "Reading": "olu.core.types",
    "SpokenSentence": "olu.speak.stream",
    "SpokenChunk": "olu.speak.stream",
    "Voice": "olu.speak.voice",
    "Word": "olu.core.types",
    "Note": "olu.core.job",
    "Report": "olu.core.job",
    "Tick": "olu.core.job",
    "read_text": "olu.stages.g2p",
    "run": "olu.api",
}


def __getattr__(name: str) -> Any:
    """Public names are imported on use: `import olu` loads neither numpy nor torch."""
    from importlib import import_module

    if name == "Workspace":
        return import_module("olu.api").VerbWorkspace
    if name == "speak":  # a package that can be called, so that importing its modules changes nothing
        return import_module("olu.speak")
    if name not in _HOMES:
        raise AttributeError(f"module 'olu' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

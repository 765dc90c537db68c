"""Olu: from recordings in any language to a voice that speaks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olu.core.errors import OluError
    from olu.core.files import Workspace
    from olu.core.types import Audio, Clip, Mark, Reading, Word
    from olu.corpus.manifest import Corpus
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
    "OluError",
    "Reading",
    "SpokenChunk",
    "SpokenSentence",
    "Voice",
    "Word",
    "Workspace",
    "read_text",
]

_HOMES = {
    "Audio": "olu.core.types",
    "Clip": "olu.core.types",
    "Corpus": "olu.corpus.manifest",
    "Manner": "olu.speak.stream",
    "Mark": "olu.core.types",
    "OluError": "olu.core.errors",
    "Reading": "olu.core.types",
    "SpokenSentence": "olu.speak.stream",
    "SpokenChunk": "olu.speak.stream",
    "Voice": "olu.speak.voice",
    "Word": "olu.core.types",
    "Workspace": "olu.core.files",
    "read_text": "olu.stages.g2p",
}


def __getattr__(name: str) -> Any:
    """Public names are imported on use: `import olu` loads neither numpy nor torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'olu' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

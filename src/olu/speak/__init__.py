"""A text becomes sound: packages, voices, engines and streams.

The package is also a function: `olu.speak("...", voice="swahili")` is the whole text as one `Audio`. So the name
`olu.speak` means the same before and after its modules were imported.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from olu.core.types import Audio
    from olu.speak.voice import Voice


def speak_with(text: str, *, voice: str | Path | Voice = "embedded", **wishes: Any) -> Audio:
    """A text as one sound. `voice`: a package, a workspace, "embedded", or a `Voice` that is open already.

    The wishes are those of `Voice.speak`.
    """
    from olu.speak.voice import Voice

    opened = voice if isinstance(voice, Voice) else Voice.open(voice)
    return opened.speak(text, **wishes)


class SpeakPackage(ModuleType):
    """This package, which can be called."""

    def __call__(self, text: str, *, voice: str | Path | Voice = "embedded", **wishes: Any) -> Audio:
        return speak_with(text, voice=voice, **wishes)


sys.modules[__name__].__class__ = SpeakPackage

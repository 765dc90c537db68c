"""Change how a finished voice reads some words: its package is written anew around the same networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olu.core.errors import VoiceError
from olu.core.files import is_embedded
from olu.core.words import many
from olu.export.package import change_lexicon
from olu.speak.package import package_place
from olu.stages.verbs.voices import VoiceOptions
from olu.text.language_data import load_lexicon


@dataclass(frozen=True)
class ChangedVoice:
    voice: str
    words: list[str]  # that the lexicon gave it now

    def sentences(self, options: VoiceOptions) -> Iterator[str]:
        yield f"{self.voice}: {many(len(self.words), 'word')} read as {options.lexicon.name} says"


def run(options: VoiceOptions) -> ChangedVoice:
    """`olu voice`"""
    if is_embedded(options.voice.as_posix()):
        raise VoiceError("the voice inside Olu stays as it is: use 'olu speak --lexicon FILE' for it")
    words = load_lexicon(options.lexicon)
    path = package_place(options.voice)
    change_lexicon(path, words)
    return ChangedVoice(str(path), list(words))

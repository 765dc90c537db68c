"""What a voice may be asked for by: its own name first, then others that can mean only one voice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from olu.core.errors import LanguageError
from olu.serve.protocol import VoiceInfo
from olu.text.languages import load, resolve

TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")  # am, amh, am-ET
# What programs written for OpenAI send when they cannot be told another voice.
OPENAI = frozenset(
    ("alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse")
)


def find(name: str, voices: Sequence[VoiceInfo], *, default: str = "") -> VoiceInfo | None:
    """Among voices that can be used. `default` is who answers to OpenAI's names; without it, the only voice."""
    for voice in voices:
        if voice.name == name:
            return voice
    for voice in voices:
        if name in voice.aliases:
            return voice
    if TAG.fullmatch(name):
        spoken = _only([voice for voice in voices if language(name) == language(voice.language) != ""])
        if spoken is not None:
            return spoken
    if name.lower() in OPENAI:
        return next((voice for voice in voices if voice.name == default), None) if default else _only(voices)
    return None


def others(voice: VoiceInfo, voices: Sequence[VoiceInfo]) -> tuple[str, ...]:
    """The other names it answers to, but for OpenAI's."""
    code = language(voice.language)
    named = (*voice.aliases, code)
    return tuple(dict.fromkeys(one for one in named if one and one != voice.name and find(one, voices) == voice))


def _only(voices: Sequence[VoiceInfo]) -> VoiceInfo | None:
    return voices[0] if len(voices) == 1 else None


@lru_cache(maxsize=1000)
def language(code: str) -> str:
    """The ISO 639-3 code; nothing for what is no language."""
    try:
        return resolve(code)
    except LanguageError:
        return ""


@lru_cache(maxsize=1000)
def language_name(code: str) -> str:
    if "/" in code or "\\" in code:
        return code
    try:
        return load(code).name
    except LanguageError:
        return code

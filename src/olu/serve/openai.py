"""What OpenAI's clients ask and are answered, and what only Olu takes beside it; the names that mean a voice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from olu.core.config import Strict
from olu.core.errors import LanguageError, VoiceError
from olu.serve import errors
from olu.serve.encode import rate_of
from olu.serve.errors import Refusal
from olu.serve.protocol import VoiceInfo
from olu.serve.settings import ServeSettings
from olu.speak.sentences import LONGEST_PAUSE
from olu.speak.stream import FASTEST, LOUDEST, MOST_NOISE, MOST_SEED, PAUSE_SECONDS, QUIETEST, SLOWEST, Manner
from olu.text.languages import load, resolve

MODEL = "olu"
ALIASES = re.compile(r"tts-1(-hd)?|gpt-4o-mini-tts(-\d{4}-\d{2}-\d{2})?")  # what programs written for OpenAI send
Format = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
Name = Annotated[str, Field(min_length=1, max_length=200)]
TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")  # am, amh, am-ET
# What programs written for OpenAI send when they cannot be told another voice.
OPENAI = frozenset(
    ("alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse")
)


class Exact(Strict):
    model_config = ConfigDict(strict=True)


class VoiceId(Exact):
    id: Name


class SpeechRequest(Exact):
    """The first seven fields are OpenAI's; the others are Olu's own."""

    input: str = Field(min_length=1, description="The text.")
    voice: Name | VoiceId = Field(description="A voice's name, as /v1/audio/voices lists them.")
    model: Name = Field(MODEL, description="'olu', or a name of OpenAI's speech models.")
    response_format: Format = Field("mp3", description="pcm: 16-bit mono samples at 24000 Hz.")
    speed: float = Field(1.0, ge=SLOWEST, le=FASTEST, description="2 is twice as fast.")
    stream_format: Literal["audio", "sse"] = Field("audio", description="sse: events with the sound in base64.")
    instructions: str = Field("", description="Taken, for programs that send it; voices do not follow instructions.")
    seed: int = Field(0, ge=0, le=MOST_SEED, description="The same text and seed give the same sound.")
    speaker: Name | None = Field(None, description="Which of the voice's speakers.")
    pause: float = Field(PAUSE_SECONDS, ge=0, le=LONGEST_PAUSE, description="Seconds between sentences.")
    knobs: dict[Name, float] = Field({}, max_length=32, description="What this voice lets you choose, by its knobs.")
    noise: float | None = Field(None, ge=0, le=MOST_NOISE, description="A knob: how much the sound varies.")
    duration_noise: float | None = Field(None, ge=0, le=MOST_NOISE, description="A knob: how much the rhythm varies.")
    loudness: float | None = Field(None, ge=QUIETEST, le=LOUDEST, description="LUFS.")
    plain: bool = Field(False, description="The text has no markup: < and [[ are read as they stand.")
    timings: bool = Field(False, description="With sse: events that say when each word is heard.")

    @property
    def voice_name(self) -> str:
        return self.voice if isinstance(self.voice, str) else self.voice.id


class ErrorDetail(BaseModel):
    message: str
    type: str
    param: str | None
    code: str


class ErrorAnswer(BaseModel):
    error: ErrorDetail


class ModelAnswer(BaseModel):
    id: str = MODEL
    object: str = "model"
    created: int = 0
    owned_by: str = MODEL


class ModelsAnswer(BaseModel):
    object: str = "list"
    data: list[ModelAnswer]


class KnobAnswer(BaseModel):
    """What may be chosen when a voice speaks."""

    name: str
    default: float
    low: float
    high: float
    what: str


class VoiceAnswer(BaseModel):
    """One voice of the list; `fault` says why one cannot be used."""

    id: str
    object: str = "voice"
    name: str
    language: str
    language_name: str
    rate: int
    speakers: list[str]
    size: int
    loaded: bool
    fault: str
    aliases: list[str]
    sample: str
    knobs: list[KnobAnswer]

    @staticmethod
    def of(shown: VoiceInfo, usable: Sequence[VoiceInfo]) -> VoiceAnswer:
        row = asdict(shown) | {"aliases": other_names(shown, usable)}
        return VoiceAnswer(id=shown.name, language_name=language_name(shown.language), **row)


class RequestLimits(BaseModel):
    characters: int
    tokens: int
    seconds: float


class VoicesAnswer(BaseModel):
    object: str = "list"
    data: list[VoiceAnswer]
    limits: RequestLimits


class ShelfAnswer(BaseModel):
    id: str
    loaded: bool
    fault: str


class HealthAnswer(BaseModel):
    status: str
    ready: bool
    version: str
    workers: int
    voices: int
    damaged: int
    pool: dict[str, float]
    shelf: list[ShelfAnswer] | None = None  # for whoever may use the voices


def check(wish: SpeechRequest, settings: ServeSettings) -> None:
    """What the fields alone cannot say."""
    if len(wish.input) > settings.most_characters:
        message = f"input: {len(wish.input)} characters; this server takes {settings.most_characters} at once"
        raise Refusal(400, message, "string_above_max_length", param="input")
    if wish.timings and wish.stream_format != "sse":
        message = "timings: they come as events: ask for stream_format sse too"
        raise Refusal(400, message, "invalid_request", param="timings")
    known_model(wish.model)


def known_model(name: str) -> None:
    if name != MODEL and not ALIASES.fullmatch(name):
        raise errors.no_model(name, [MODEL, "tts-1", "tts-1-hd", "gpt-4o-mini-tts"])


def no_speaker(shown: VoiceInfo) -> str:
    return f"speaker: the voice {shown.name} has {', '.join(shown.speakers[:20])}"


def manner(wish: SpeechRequest, shown: VoiceInfo) -> Manner:
    if wish.speaker is not None and wish.speaker not in shown.speakers:
        raise Refusal(400, no_speaker(shown), "speaker_not_found", param="speaker")
    rate = rate_of(wish.response_format, shown.rate)
    try:
        asked = Manner(
            speed=wish.speed,
            seed=wish.seed,
            speaker=wish.speaker,
            pause=wish.pause,
            knobs=wish.knobs,
            noise=wish.noise,
            duration_noise=wish.duration_noise,
            loudness=wish.loudness,
            rate=None if rate == shown.rate else rate,
            plain=wish.plain,
        )
        asked.settled({knob.name: knob for knob in shown.knobs}, voice=shown.name)
    except VoiceError as bad:
        raise Refusal(400, f"knobs: {bad}", "invalid_request", param="knobs") from None
    return asked


def find_voice(name: str, voices: Sequence[VoiceInfo], *, default: str = "") -> VoiceInfo | None:
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


def other_names(voice: VoiceInfo, voices: Sequence[VoiceInfo]) -> tuple[str, ...]:
    """The other names it answers to, but for OpenAI's."""
    code = language(voice.language)
    named = (*voice.aliases, code)
    return tuple(dict.fromkeys(one for one in named if one and one != voice.name and find_voice(one, voices) == voice))


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

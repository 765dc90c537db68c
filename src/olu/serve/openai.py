"""What OpenAI's speech endpoint takes, and what only Olu takes beside it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from olu.core.config import Strict
from olu.serve import errors
from olu.serve.encode import rate_of
from olu.serve.errors import Refusal
from olu.serve.protocol import VoiceInfo
from olu.serve.settings import ServeSettings
from olu.speak.sentences import LONGEST_PAUSE
from olu.speak.stream import FASTEST, LOUDEST, MOST_NOISE, MOST_SEED, PAUSE_SECONDS, QUIETEST, SLOWEST, Manner

MODEL = "olu"
ALIASES = re.compile(r"tts-1(-hd)?|gpt-4o-mini-tts(-\d{4}-\d{2}-\d{2})?")  # what programs written for OpenAI send
Format = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
Name = Annotated[str, Field(min_length=1, max_length=200)]


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
    noise: float | None = Field(None, ge=0, le=MOST_NOISE, description="How much the sound varies.")
    duration_noise: float | None = Field(None, ge=0, le=MOST_NOISE, description="How much the rhythm varies.")
    loudness: float | None = Field(None, ge=QUIETEST, le=LOUDEST, description="LUFS.")
    plain: bool = Field(False, description="The text has no markup: < and [[ are read as they stand.")
    timings: bool = Field(False, description="With sse: events that say when each word is heard.")

    @property
    def voice_name(self) -> str:
        return self.voice if isinstance(self.voice, str) else self.voice.id


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


def manner(wish: SpeechRequest, shown: VoiceInfo) -> Manner:
    if wish.speaker is not None and wish.speaker not in shown.speakers:
        message = f"speaker: the voice {shown.name} has {', '.join(shown.speakers[:20])}"
        raise Refusal(400, message, "speaker_not_found", param="speaker")
    rate = rate_of(wish.response_format, shown.rate)
    return Manner(
        speed=wish.speed,
        seed=wish.seed,
        speaker=wish.speaker,
        pause=wish.pause,
        noise=wish.noise,
        duration_noise=wish.duration_noise,
        loudness=wish.loudness,
        rate=None if rate == shown.rate else rate,
        plain=wish.plain,
    )


def model_row() -> dict[str, Any]:
    return {"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL}

"""Speak: any voice that is here, with its speakers and knobs, word times, and its melody where that stands open."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import ValidationError

from olu.core.errors import ConfigError
from olu.core.parse import BadData, from_json
from olu.core.told import ELLIPSIS, Remedy
from olu.studio.parity import same_as
from olu.studio.render import page
from olu.studio.state import CurrentStudio
from olu.studio.words import t

router = APIRouter()
MOST_BODY = 8 * 2**20  # bytes: a melody of ten minutes has about two million


@router.get("/w/{ws}/speak")
def speak(request: Request, studio: CurrentStudio, ws: str, voice: str = "") -> HTMLResponse:
    place = studio.workspace(ws)
    command = Remedy("speak", (ELLIPSIS,), {"voice": place.root, "output": "out.wav"})
    return page(request, "speak.html", ws=place, chosen=voice, command=command)


@router.get("/api/voices")
async def voices(studio: CurrentStudio) -> dict[str, Any]:
    most = studio.speech.settings
    return {"voices": await studio.speech.voices(), "limits": {"characters": most.most_characters}}


@router.post("/api/speak")
@same_as("speak")
async def say(request: Request, studio: CurrentStudio) -> Response:
    """A text as sound that comes as it is made, with word times: the events of `olu serve`."""
    client = request.client.host if request.client else ""
    return await studio.speech.speak(await _wish(request), client=client)


@router.post("/api/speak/plan")
@same_as("speak")
async def plan(request: Request, studio: CurrentStudio) -> Response:
    """How long each sound would be and how high, in numbers that may be changed and sent back."""
    return await studio.speech.plan(await _wish(request))


async def _wish(request: Request) -> Any:
    from olu.studio.speaking import SpeakRequest  # onnxruntime comes with it

    held = bytearray()
    async for piece in request.stream():
        held += piece
        if len(held) > MOST_BODY:
            raise ConfigError(t("the request is too large: send the text in parts"))
    try:
        return SpeakRequest.model_validate(from_json(bytes(held)))
    except BadData as bad:
        raise ConfigError(t("this is no JSON: {bad}", bad=bad)) from None
    except ValidationError as bad:
        first = bad.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:60]
        raise ConfigError(f"{where}: {first['msg']}") from None

"""The recorder of one speaker, for phones: consent, prompts one by one, takes that arrive once, and the verdict."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect

from olu.core.errors import ConfigError
from olu.studio import consent
from olu.studio.parity import same_as
from olu.studio.people import CurrentPerson
from olu.studio.render import browser_tag, environment
from olu.studio.state import CurrentStudio, Studio
from olu.studio.takes import MOST_BYTES, NoConsent, SpokenTake, TakeDiffers
from olu.studio.words import t

router = APIRouter()
LONGEST_SECONDS = 30  # of a take: the page stops there, as the audit calls more too long
MICROPHONE = {"Permissions-Policy": "camera=(), geolocation=(), microphone=(self)"}
Text = Annotated[str, Query(max_length=200)]


class ConsentAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=120)
    agreed: bool
    sha256: str = Field(max_length=64)


@router.get("/r/{link}")
def recorder(studio: CurrentStudio, person: CurrentPerson, link: str) -> HTMLResponse:
    """The page holds no secret and no sentence of its own: a device may keep it, to open it without a network."""
    ws = studio.workspace(person.ws)
    shown = environment().get_template("recorder.html").render(ws=ws, name=person.name, port=studio.settings.port)
    return HTMLResponse(shown, headers=MICROPHONE)


@router.get("/api/r/{link}")
def state(studio: CurrentStudio, person: CurrentPerson, link: str) -> dict[str, Any]:
    """All that the page needs to go on, with or without a network afterwards."""
    ws = studio.workspace(person.ws)
    takes = studio.takes.last(ws, person.link)
    words, agreed = consent.current_words(ws), consent.agreement(studio.takes.folder(ws, person.link))
    known = agreed is not None and agreed.agreed and agreed.sha256 == words.sha256
    return {
        "name": person.name,
        "workspace": ws.name,
        "language": browser_tag(ws.language),  # as a browser knows it
        "link": person.link,
        "seconds": LONGEST_SECONDS,
        "consent": {"text": words.text, "version": words.version, "sha256": words.sha256, "agreed": known},
        "prompts": [{"id": one.id, "text": one.text} for one in studio.takes.prompts(ws, person.link)],
        "takes": {prompt: _shown(one) for prompt, one in takes.items()},
    }


@router.post("/api/r/{link}/consent")
@same_as("import")
def agree(studio: CurrentStudio, person: CurrentPerson, link: str, ask: ConsentAsk) -> dict[str, Any]:
    ws = studio.workspace(person.ws)
    folder = studio.takes.folder(ws, person.link)
    made = consent.answer(ws, folder, name=ask.name, agreed=ask.agreed, sha256=ask.sha256)
    return {"agreed": made.agreed, "version": made.version, "at": made.at, "name": made.name}


@router.put("/api/r/{link}/takes/{take}")
@same_as("import")
async def put(
    request: Request,
    studio: CurrentStudio,
    person: CurrentPerson,
    link: str,
    take: str,
    prompt: Text,
    sha256: Text,
    number: Annotated[int, Query(ge=0, le=2**53)] = 0,
    processing: Text = "",
) -> Response:
    """A take, as often as it is sent. The answer is what the server has, so that the device may let it go."""
    from starlette.concurrency import run_in_threadpool

    ws = studio.workspace(person.ws)
    try:
        data = await _body(request)
    except ClientDisconnect:  # it will be sent again
        return JSONResponse({"error": "the take broke off"}, status_code=400)
    try:
        made = await run_in_threadpool(
            studio.takes.put, ws, person, take, data, prompt=prompt, sha256=sha256, number=number, told=processing
        )
    except TakeDiffers as other:
        return JSONResponse({"error": str(other)}, status_code=409)
    except NoConsent as other:
        return JSONResponse({"error": str(other)}, status_code=403)
    return JSONResponse(_shown(made))


@router.get("/api/r/{link}/takes/{take}/sound")
def sound(studio: CurrentStudio, person: CurrentPerson, link: str, take: str) -> Response:
    path = studio.takes.sound(studio.workspace(person.ws), person.link, take)
    return Response(path.read_bytes(), media_type="audio/wav", headers={"Cache-Control": "private, max-age=3600"})


@router.post("/api/r/{link}/done")
@same_as("import")
def done(studio: CurrentStudio, person: CurrentPerson, link: str) -> dict[str, Any]:
    """The speaker is done for now: what was recorded is imported."""
    return start_import(studio, person.ws, person.link, speaker=person.name, who=person.name)


def start_import(studio: Studio, slug: str, link: str, *, speaker: str, who: str) -> dict[str, Any]:
    ws = studio.workspace(slug)
    options, clips = studio.takes.prepare_import(ws, speaker, link)
    job = studio.jobs.start(slug, "import", options, who)
    return {"clips": clips, "job": job.number, "state": job.state}


async def _body(request: Request) -> bytes:
    parts, held = list[bytes](), 0
    async for data in request.stream():
        held += len(data)
        if held > MOST_BYTES:
            raise ConfigError(t("a take has {n} MiB at most: record shorter ones", n=MOST_BYTES // 2**20))
        parts.append(data)
    return b"".join(parts)


def _shown(one: SpokenTake) -> dict[str, Any]:
    return {
        "take": one.take,
        "prompt": one.prompt,
        "sha256": one.sha256,
        "seconds": one.seconds,
        "at": one.at,
        "verdict": {name: one.verdict[name] for name in ("kind", "severity", "said", "level", "snr")},
    }

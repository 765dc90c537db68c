"""The addresses of the server and what each answers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.datastructures import Headers

from olu import __version__
from olu.core.errors import TextError
from olu.serve import errors, openai
from olu.serve.encode import KINDS
from olu.serve.guard import SPEECH, TRACE, RequestGuard
from olu.serve.logs import MEDIA_TYPE, Log, Metrics, Trace
from olu.serve.openai import (
    ErrorAnswer,
    HealthAnswer,
    ModelAnswer,
    ModelsAnswer,
    SpeechRequest,
    VoiceAnswer,
    VoicesAnswer,
)
from olu.serve.protocol import Speaking, SpeechJob, VoiceInfo
from olu.serve.response import ENCODING_THREADS, ResponseFormat, SpeechResponse
from olu.serve.settings import ServeSettings
from olu.text.refused import NO_WORDS, RefusedWords

Responses = dict[int | str, dict[str, Any]]
REFUSED = {
    400: "The request is wrong; the message says where",
    401: "The key is missing or wrong",
    403: "This name of the server is not one of this machine",
    404: "There is nothing of this name",
    408: "The body came too slowly",
    413: "The body is too large",
    429: "Too many requests; Retry-After says when to come again",
    503: "Not ready, or the process that spoke has ended; come again",
    504: "The answer took longer than one may",
}
GIVEN: Responses = {200: {"description": "As asked for"}}
NUMBERS: Responses = {200: {"description": "Prometheus's text format"}}
UNSAID = "What the voice has no letter for, and how often, as JSON; absent where all is said"
EVENT = {"type": "string", "contentMediaType": "application/json"}
SPOKEN: Responses = {
    200: {
        "description": "The sound as it is made, or events with it",
        "headers": {
            "X-Olu-Unsaid": {"description": UNSAID, "schema": {"type": "string"}},
            "X-Olu-Unsaid-Count": {"description": "All of it together", "schema": {"type": "integer"}},
        },
        "content": {
            **{kind.media: {"schema": {"type": "string", "format": "binary"}} for kind in KINDS.values()},
            "text/event-stream": {"schema": {"type": "object", "properties": {"data": EVENT}, "required": ["data"]}},
        },
    }
}


class AsciiJSON(JSONResponse):
    """A lone surrogate that came in must not break what goes out."""

    def render(self, content: Any) -> bytes:
        return errors.dumps(content)


@dataclass
class Desk:
    """What the routes work with."""

    pool: Speaking
    settings: ServeSettings
    log: Log
    metrics: Metrics
    refused: RefusedWords = NO_WORDS  # what must not be said
    guard: RequestGuard | None = None  # who knows the keys
    threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(ENCODING_THREADS, thread_name_prefix="encode")
    )

    async def find(self, name: str) -> VoiceInfo:
        """The voice of this name: only names on the shelf are ever compared."""
        for again in (False, True):
            if again:
                await self.pool.look()
            if (found := openai.find_voice(name, self.usable(), default=self.settings.default_voice)) is not None:
                return found
        if any(shown.name == name for shown in self.pool.shown()):
            raise errors.bad_voice(name)
        raise errors.no_voice(name, [shown.name for shown in self.usable()], foreign=name.lower() in openai.OPENAI)

    def check_words(self, text: str, *, voice: str) -> None:
        try:
            self.refused.check(text)
        except TextError as bad:
            raise errors.of(bad, voice=voice) from None

    def welcomes(self, headers: Headers) -> bool:
        """Whether they may be told which voices there are."""
        return self.guard is None or self.guard.welcomes(headers)

    def usable(self) -> list[VoiceInfo]:
        return [shown for shown in self.pool.shown() if not shown.fault]


def refusals(*more: int) -> dict[int | str, dict[str, Any]]:
    """What an address may answer beside what was asked for."""
    statuses = (400, 401, 403, 408, 413, 429, *more)
    return {status: {"description": REFUSED[status], "model": ErrorAnswer} for status in statuses}


def routes(desk: Desk) -> APIRouter:
    router = APIRouter(default_response_class=AsciiJSON)
    _speech(router, desk)
    _lists(router, desk)
    _watching(router, desk)
    return router


def _speech(router: APIRouter, desk: Desk) -> None:
    @router.post(SPEECH, response_class=Response, responses=SPOKEN | refusals(404, 503, 504), tags=["speech"])
    async def speech(request: Request, wish: SpeechRequest) -> Response:
        """Say a text; the sound comes as it is made."""
        openai.check(wish, desk.settings)
        shown = await desk.find(wish.voice_name)
        trace: Trace = request.scope[TRACE]
        trace.voice, trace.format = shown.name, wish.response_format
        trace.characters, trace.text = len(wish.input), wish.input
        manner = openai.manner(wish, shown)
        desk.check_words(wish.input, voice=shown.name)
        most = desk.settings
        ask = SpeechJob(shown.name, wish.input, manner, seconds=most.most_seconds, tokens=most.most_tokens)
        way = ResponseFormat(wish.response_format, wish.stream_format == "sse", wish.timings)
        return SpeechResponse(ask, way=way, pool=desk.pool, trace=trace, log=desk.log, threads=desk.threads)


def _lists(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/models", responses=GIVEN | refusals(), tags=["lists"])
    async def models() -> ModelsAnswer:
        """There is one model; what differs is the voice."""
        return ModelsAnswer(data=[ModelAnswer()])

    @router.get("/v1/models/{model}", responses=GIVEN | refusals(404), tags=["lists"])
    async def model(model: str) -> ModelAnswer:
        """One model."""
        openai.known_model(model)
        return ModelAnswer(id=model)

    @router.get("/v1/audio/voices", responses=GIVEN | refusals(), tags=["lists"])
    async def voices() -> VoicesAnswer:
        """The voices there are now, and the limits of a request."""
        await desk.pool.look()
        most, usable = desk.settings, desk.usable()
        limits = openai.RequestLimits(
            characters=most.most_characters, tokens=most.most_tokens, seconds=most.most_seconds
        )
        return VoicesAnswer(data=[VoiceAnswer.of(one, usable) for one in desk.pool.shown()], limits=limits)


def _watching(router: APIRouter, desk: Desk) -> None:
    unready: dict[int | str, dict[str, Any]] = {503: {"description": REFUSED[503], "model": HealthAnswer}}

    @router.get("/health", responses=GIVEN | refusals() | unready, response_model_exclude_none=True, tags=["watching"])
    async def health(request: Request, response: Response) -> HealthAnswer:
        """Whether it can speak: a worker is asked. The voices are named to whoever may use them."""
        answers = await desk.pool.alive()
        shown, state = desk.pool.shown(), desk.pool.state()
        ready = answers and not state.get("ending", 0)
        response.status_code = 200 if ready else 503
        shelf = [openai.ShelfAnswer(id=one.name, loaded=one.loaded, fault=one.fault) for one in shown]
        return HealthAnswer(
            status="ok" if ready else "not ready",
            ready=ready,
            version=__version__,
            workers=int(state.get("workers", 0)),
            voices=sum(not one.fault for one in shown),
            damaged=sum(bool(one.fault) for one in shown),
            pool=state,
            shelf=shelf if desk.welcomes(request.headers) else None,
        )

    @router.get("/metrics", response_class=PlainTextResponse, responses=NUMBERS | refusals(), tags=["watching"])
    async def numbers() -> Response:
        """Numbers for Prometheus."""
        return Response(desk.metrics.page(), media_type=MEDIA_TYPE)

"""The addresses of the server and what each answers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.datastructures import Headers

from olu import __version__
from olu.serve import errors, metrics, names, openai, shapes
from olu.serve.guard import SPEECH, TRACE, RequestGuard
from olu.serve.logs import Log, Trace
from olu.serve.openai import SpeechRequest
from olu.serve.protocol import Speaking, SpeechJob, VoiceInfo
from olu.serve.response import ENCODING_THREADS, ResponseFormat, SpeechResponse
from olu.serve.settings import ServeSettings


@dataclass
class Desk:
    """What the routes work with."""

    pool: Speaking
    settings: ServeSettings
    log: Log
    metrics: metrics.Metrics
    guard: RequestGuard | None = None  # who knows the keys
    threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(ENCODING_THREADS, thread_name_prefix="encode")
    )

    async def find(self, name: str) -> VoiceInfo:
        """The voice of this name: only names on the shelf are ever compared."""
        for again in (False, True):
            if again:
                await self.pool.look()
            if (found := names.find(name, self.usable(), default=self.settings.default_voice)) is not None:
                return found
        if any(shown.name == name for shown in self.pool.shown()):
            raise errors.bad_voice(name)
        raise errors.no_voice(name, [shown.name for shown in self.usable()], foreign=name.lower() in names.OPENAI)

    def welcomes(self, headers: Headers) -> bool:
        """Whether they may be told which voices there are."""
        return self.guard is None or self.guard.welcomes(headers)

    def usable(self) -> list[VoiceInfo]:
        return [shown for shown in self.pool.shown() if not shown.fault]


def routes(desk: Desk) -> APIRouter:
    router = APIRouter()
    _speech(router, desk)
    _lists(router, desk)
    _watching(router, desk)
    return router


def _speech(router: APIRouter, desk: Desk) -> None:
    @router.post(SPEECH, response_class=Response, responses=shapes.SPEECH, tags=["speech"])
    async def speech(request: Request, wish: SpeechRequest) -> Response:
        """Say a text; the sound comes as it is made."""
        openai.check(wish, desk.settings)
        shown = await desk.find(wish.voice_name)
        trace: Trace = request.scope[TRACE]
        trace.voice, trace.format = shown.name, wish.response_format
        trace.characters, trace.text = len(wish.input), wish.input
        manner = openai.manner(wish, shown)
        most = desk.settings
        ask = SpeechJob(shown.name, wish.input, manner, seconds=most.most_seconds, tokens=most.most_tokens)
        way = ResponseFormat(wish.response_format, wish.stream_format == "sse", wish.timings)
        return SpeechResponse(ask, way=way, pool=desk.pool, trace=trace, log=desk.log, threads=desk.threads)


def _lists(router: APIRouter, desk: Desk) -> None:
    @router.get("/v1/models", responses=shapes.answers("Models"), tags=["lists"])
    async def models() -> Response:
        """There is one model; what differs is the voice."""
        return errors.json_response({"object": "list", "data": [openai.model_row()]})

    @router.get("/v1/models/{model}", responses=shapes.answers("Model", 404), tags=["lists"])
    async def model(model: str) -> Response:
        """One model."""
        openai.known_model(model)
        return errors.json_response(openai.model_row() | {"id": model})

    @router.get("/v1/audio/voices", responses=shapes.answers("Voices"), tags=["lists"])
    async def voices() -> Response:
        """The voices there are now, and the limits of a request."""
        await desk.pool.look()
        most, usable = desk.settings, desk.usable()
        limits = {"characters": most.most_characters, "tokens": most.most_tokens, "seconds": most.most_seconds}
        rows = [voice_row(one, usable) for one in desk.pool.shown()]
        return errors.json_response({"object": "list", "data": rows, "limits": limits})


def _watching(router: APIRouter, desk: Desk) -> None:
    @router.get("/health", responses=shapes.answers("Health", 503), tags=["watching"])
    async def health(request: Request) -> Response:
        """Whether it can speak: a worker is asked. The voices are named to whoever may use them."""
        answers = await desk.pool.alive()
        shown, state = desk.pool.shown(), desk.pool.state()
        ready = answers and not state.get("ending", 0)
        row: dict[str, Any] = {
            "status": "ok" if ready else "not ready",
            "ready": ready,
            "version": __version__,
            "workers": int(state.get("workers", 0)),
            "voices": sum(not one.fault for one in shown),
            "damaged": sum(bool(one.fault) for one in shown),
            "pool": state,
        }
        if desk.welcomes(request.headers):
            row["shelf"] = [{"id": one.name, "loaded": one.loaded, "fault": one.fault} for one in shown]
        return errors.json_response(row, status=200 if ready else 503)

    @router.get("/metrics", responses=shapes.METRICS, tags=["watching"])
    async def numbers() -> Response:
        """Numbers for Prometheus."""
        return Response(desk.metrics.page(), media_type=metrics.MEDIA_TYPE)


def voice_row(shown: VoiceInfo, usable: Sequence[VoiceInfo]) -> dict[str, Any]:
    row = asdict(shown) | {"language_name": names.language_name(shown.language)}
    row["aliases"] = names.others(shown, usable)
    return {"id": shown.name, "object": "voice", **row}

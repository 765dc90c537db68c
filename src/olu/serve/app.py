"""The server's app: routes, page and reference, behind the guard and under the eyes of the watch."""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from olu import __version__
from olu.pages.render import render, style_sheet
from olu.serve import errors
from olu.serve.guard import TRACE, AccessLog, RequestGuard
from olu.serve.logs import Log, Metrics
from olu.serve.openai import SpeechRequest
from olu.serve.protocol import Speaking
from olu.serve.response import UNSAID, UNSAID_COUNT
from olu.serve.routes import Desk, routes
from olu.serve.settings import ServeSettings
from olu.text.refused import NO_WORDS, RefusedWords

GREETING = "Habari ya asubuhi."  # in the examples, where a voice has no sentence of its own
PAGE_FILES = (".html", ".css", ".js", ".svg", ".png", ".ico", ".webmanifest")
NOTHING = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}
WAYS = {
    400: ("the body must be one JSON object, sent as application/json", "invalid_request"),
    404: ("there is nothing at this address: see /docs", "not_found"),
    405: ("this address takes another method: see /docs", "method_not_allowed"),
}


@dataclass(frozen=True)
class Site:
    app: ASGIApp
    desk: Desk
    schema: Callable[[], dict[str, Any]]  # the OpenAPI document


def build(
    pool: Speaking,
    *,
    settings: ServeSettings,
    keys: Sequence[bytes] = (),
    refused: RefusedWords = NO_WORDS,
) -> Site:
    log, metrics = Log(texts=settings.log_texts), Metrics(pool.state)
    desk = Desk(pool, settings, log, metrics, refused)
    inner = FastAPI(
        title="Olu",
        version=__version__,
        summary="Speech over HTTP, as OpenAI's clients ask for it.",
        docs_url=None,  # FastAPI's own pages fetch scripts from elsewhere
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry=NOTHING,  # type: ignore[arg-type]
    )
    inner.include_router(routes(desk))
    _add_reference(inner, desk)
    _add_page(inner)
    _add_errors(inner)
    desk.guard = guard = RequestGuard(inner, settings=settings, keys=keys)
    app: ASGIApp = guard
    if settings.cors:
        app = CORSMiddleware(
            app,
            allow_origins=settings.cors,
            allow_methods=("GET", "POST"),
            allow_headers=("*",),
            expose_headers=("X-Request-Id", "Retry-After", UNSAID, UNSAID_COUNT),
        )
    return Site(AccessLog(app, metrics=metrics, log=log), desk, inner.openapi)


def _add_reference(app: FastAPI, desk: Desk) -> None:
    made = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _fitted(made(), desk.settings)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return errors.json_response(document())

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        voice = next(iter(desk.usable()), None) if desk.welcomes(request.headers) else None
        facts = (
            {"voice": voice.name, "text": voice.sample or GREETING} if voice else {"voice": "NAME", "text": GREETING}
        )
        return Response(render("reference.html", document=document(), base=base, **facts), media_type="text/html")

    app.add_api_route("/docs.css", _file("docs.css", style_sheet().encode()), include_in_schema=False)


def _fitted(document: dict[str, Any], settings: ServeSettings) -> dict[str, Any]:
    """With this server's limits and the key; without FastAPI's own shape of errors, which nothing answers here."""
    parts = document["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    parts["schemas"]["SpeechRequest"]["properties"]["input"]["maxLength"] = settings.most_characters
    parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for address, ways in document["paths"].items():
        for way in ways.values():
            way["responses"].pop("422", None)
            way["security"] = [] if address == "/health" else [{"key": []}, {}]
    return document


def _add_page(app: FastAPI) -> None:
    """The page's files are read once, here: a request chooses among names and never opens anything."""
    for item in files("olu.serve").joinpath("page").iterdir():
        if item.is_file() and item.name.endswith(PAGE_FILES):
            address = "/" if item.name == "index.html" else f"/page/{item.name}"
            app.add_api_route(address, _file(item.name, item.read_bytes()), include_in_schema=False)


def _file(name: str, data: bytes) -> Callable[[Request], Awaitable[Response]]:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {"ETag": f'"{sha256(data).hexdigest()[:20]}"', "Cache-Control": "no-cache"}

    async def file(request: Request) -> Response:
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=kind, headers=headers)

    return file


def _add_errors(app: FastAPI) -> None:
    def answer(request: Request, refusal: errors.Refusal) -> Response:
        request.scope[TRACE].code = refusal.code
        return refusal.response()

    async def refused(request: Request, refusal: Any) -> Response:
        return answer(request, refusal)

    async def misread(request: Request, wrong: Any) -> Response:
        return answer(request, errors.of_fields(wrong.errors(), SpeechRequest.model_fields))

    async def other(request: Request, wrong: Any) -> Response:
        message, code = WAYS.get(wrong.status_code, (str(wrong.detail), "invalid_request"))
        return answer(request, errors.Refusal(wrong.status_code, message, code, headers=wrong.headers or {}))

    app.add_exception_handler(errors.Refusal, refused)
    app.add_exception_handler(RequestValidationError, misread)
    app.add_exception_handler(HTTPException, other)

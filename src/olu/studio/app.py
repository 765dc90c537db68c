"""The studio's app: its pages, its API, behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from olu import __version__
from olu.core.errors import OluError
from olu.studio.assets import assets
from olu.studio.guard import StudioGuard
from olu.studio.late import LatePages
from olu.studio.passphrase import door
from olu.studio.people import NotAllowed, allowed
from olu.studio.render import page
from olu.studio.roots import NotHere
from olu.studio.settings import StudioSettings
from olu.studio.state import Studio
from olu.studio.words import LanguageOfRequest, t

# One line each: a module of olu.studio.pages with a `router`. The first one is there before the others.
PAGES = (
    "home",
    "imports",
    "jobs",
    "train",
    "runs",
    "evaluate",
    "export",
    "speak",
    "options",
    "settings",
    "people",
    "recorder",
    "record",
    "clips",
    "audit",
    "reading",
    "align",
    "listening",
)
NOTHING = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False}
PAUSE = 0.5  # seconds between two looks at the queue


def create_app(settings: StudioSettings, *, late: bool = False) -> FastAPI:
    """`late`: the first page is there at once, and the others follow when it was sent, or when one is asked for."""
    app = FastAPI(
        title="Olu Studio",
        version=__version__,
        docs_url=None,  # FastAPI's own pages fetch scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        telemetry=NOTHING,  # type: ignore[arg-type]
    )
    studio = app.state.studio = Studio(settings)
    own = len(app.routes)
    app.include_router(assets())
    app.include_router(door())
    _include(app, PAGES[0])

    def furnish() -> None:
        for name in PAGES[1:]:
            _include(app, name)
        studio.furnish()

    if late:
        app.add_middleware(LatePages, first=app.routes[own:], furnish=furnish)
    else:
        furnish()
    app.add_exception_handler(OluError, _refused)
    app.add_exception_handler(RequestValidationError, _misread)
    app.add_exception_handler(HTTPException, _other)
    app.add_middleware(StudioGuard, settings=settings, links=studio.links)
    app.add_middleware(LanguageOfRequest)
    return app


def _include(app: FastAPI, name: str) -> None:
    app.include_router(import_module(f"olu.studio.pages.{name}").router, dependencies=[Depends(allowed)])


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """While the studio runs, waiting jobs are begun as their lanes become free."""
    studio: Studio = app.state.studio

    async def advance() -> None:
        while True:
            with suppress(OSError, OluError):
                await asyncio.to_thread(studio.jobs.advance)
            await asyncio.sleep(PAUSE)

    task = asyncio.create_task(advance())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await studio.close()


def _answer(request: Request, status: int, sentence: str) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": sentence}, status_code=status)
    return page(request, "error.html", status=status, sentence=sentence)


async def _refused(request: Request, wrong: Any) -> Response:
    status = {NotHere: 404, NotAllowed: 403}.get(type(wrong), 422)
    return _answer(request, status, str(wrong))


async def _misread(request: Request, wrong: Any) -> Response:
    first = wrong.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])[:60]
    return _answer(request, 422, f"{where}: {first['msg']}" if where else str(first["msg"]))


async def _other(request: Request, wrong: Any) -> Response:
    known = {404: t("there is nothing at this address"), 405: t("this address takes another method")}
    return _answer(request, wrong.status_code, known.get(wrong.status_code, str(wrong.detail)))

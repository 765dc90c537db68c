"""Most pages are imported when the first one was sent: `olu studio` is there in half the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

QUIET = 0.3  # seconds after a first page, in which its scripts and styles are fetched


class LatePages:
    """Lets the routes of the first page through; whatever else is asked for waits until all pages are there."""

    def __init__(self, app: ASGIApp, *, first: Sequence[BaseRoute], furnish: Callable[[], None]) -> None:
        self._app, self._first, self._furnish = app, first, furnish
        self._work: asyncio.Task[None] | None = None
        self._whole = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._whole or scope["type"] != "http":
            await self._app(scope, receive, send)
        elif any(route.matches(scope)[0] is Match.FULL for route in self._first):
            await self._app(scope, receive, send)
            asyncio.get_running_loop().call_later(QUIET, self._begin)
        else:
            await asyncio.shield(self._begin())
            self._whole = True
            await self._app(scope, receive, send)

    def _begin(self) -> asyncio.Task[None]:
        if self._work is None:
            self._work = asyncio.create_task(asyncio.to_thread(self._furnish))
        return self._work

"""What stands before the app: a log line and headers for every answer, the key, the rate, the size of bodies."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from olu.serve import errors
from olu.serve.errors import Refusal
from olu.serve.limits import TOO_LARGE, Body, Left
from olu.serve.logs import Log, Metrics, Trace
from olu.serve.settings import ServeSettings
from olu.web.headers import SECURITY, is_local, named
from olu.web.limits import ClientSlots, RateLimit

SPEECH = "/v1/audio/speech"
# Without a key: the page that asks for it, what a load balancer looks at, and the reference.
OPEN = ("/", "/health", "/docs", "/docs.css", "/openapi.json")
OPEN_FOLDER = "/page/"
TRACE = "olu.trace"
CONNECTION = "olu.connection"  # in the scope's state: whoever looks after the connection
LONGEST_ADDRESS = 64
WRONG_KEYS = 20  # a minute and client; after these, keys from there are looked at only a while later, right ones too
WRONG_SECONDS = 1.0
REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class AccessLog:
    """The outermost: counts, logs, and lets nothing out without its headers, nor any traceback."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, log: Log) -> None:
        self._app, self._metrics, self._log = app, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._other(scope, receive, send)
            return
        client = (scope.get("client") or ("", 0))[0]
        trace = Trace(client[:LONGEST_ADDRESS], scope["method"], scope["path"])
        scope = {**scope, TRACE: trace}
        if trace.method == "HEAD":  # as GET; the server leaves the body out
            scope["method"] = "GET"
        connection = scope.get("state", {}).get(CONNECTION)
        given = Headers(scope=scope).get("x-request-id", "")
        if REQUEST_ID.fullmatch(given):
            trace.request = given

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                if connection is not None:
                    connection.answer_begins()
                trace.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = trace.request
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            trace.bytes += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, told)
        except asyncio.CancelledError:  # the server ends and waits no longer
            trace.broken = trace.status != 0
            raise
        except Exception as wrong:
            self._log.failed(wrong, request=trace.request)
            trace.broken = trace.status != 0
            if not trace.broken:
                refusal = errors.of(wrong, voice=trace.voice)
                trace.code = refusal.code
                await refusal.response()(scope, receive, told)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.done(trace, path=route)
            self._log.done(trace)
            if connection is not None:
                connection.answer_ended()

    async def _other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await self._app(scope, receive, send)


class RequestGuard:
    """Refuses before anything of a request is looked at, let alone spoken."""

    def __init__(self, app: ASGIApp, *, settings: ServeSettings, keys: Sequence[bytes]) -> None:
        self._app, self._settings = app, settings
        self._keys = tuple(hashlib.sha256(key).digest() for key in keys)
        self._rate, self._strangers = RateLimit(settings.rate_limit), RateLimit(settings.rate_limit)
        self._wrong = RateLimit(WRONG_KEYS)
        self._places = ClientSlots(settings.places, loopback=settings.queue_per_client > 0)
        self._private = not keys and not settings.trust_proxy and is_local(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, trace = Headers(scope=scope), scope[TRACE]
        body = Body(receive, most=self._settings.body_bytes, seconds=self._settings.patience)
        length = headers.get("content-length", "0")
        sends = length != "0" or "transfer-encoding" in headers
        if self._closed(scope["path"]) and "authorization" in headers and self._wrong.take(trace.client, cost=0):
            await _slow_down()
        no = self._refusal(scope["path"], headers, trace.client)
        try:
            if sends:  # also of a request that is refused: a client that still sends would not see the answer
                await body.read(announced=int(length) if "content-length" in headers else None)
        except Left:
            trace.left = True
            return
        except Refusal as worse:
            no = worse
        if no is None:
            with self._places.held(trace.client) if scope["path"] == SPEECH else nullcontext(True) as free:
                if free:
                    await self._app(scope, body.receive if sends else receive, send)
                    return
            no = errors.too_many(self._settings.places)
        trace.code = no.code
        await _refuse(no, send, body)

    def _closed(self, path: str) -> bool:
        return bool(self._keys) and path not in OPEN and not path.startswith(OPEN_FOLDER)

    def welcomes(self, headers: Headers) -> bool:
        return not self._keys or self.knows(headers) is True

    def knows(self, headers: Headers) -> bool | None:
        """Whether the key fits; None: there is none in the request. Takes as long whatever is wrong with it."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return None
        digest, found = hashlib.sha256(token.strip().encode("latin-1")).digest(), False
        for key in self._keys:
            found |= hmac.compare_digest(digest, key)
        return found

    @contextmanager
    def place(self, client: str) -> Iterator[None]:
        """Hold a client's place for a request to speak that did not come by HTTP; raises where it may not ask now."""
        if wait := self._rate.take(client):
            raise errors.too_often(wait)
        with self._places.held(client) as free:
            if not free:
                raise errors.too_many(self._settings.places)
            yield

    def _refusal(self, path: str, headers: Headers, client: str) -> Refusal | None:
        if self._private and not is_local(host := named(headers.get("host", "")), or_bare=True):
            return errors.no_host(host)
        if "content-length" in headers and "transfer-encoding" in headers:
            return errors.two_lengths()
        known = self.knows(headers) if self._closed(path) else True
        if known is False:
            self._wrong.take(client)
        rate = self._rate if known else self._strangers  # guesses of others use up nobody's allowance
        if (path == SPEECH or not known) and (wait := rate.take(client)):
            return errors.too_often(wait)
        return None if known else errors.no_key(given=known is False)


async def _slow_down() -> None:
    """Wait before a key is looked at, so that guessing keys is slow."""
    await asyncio.sleep(WRONG_SECONDS)


async def _refuse(no: Refusal, send: Send, body: Body) -> None:
    """The whole answer first, then what is left of too large a body, then the end: so the client gets to read it."""
    answer = no.response()
    await send({"type": "http.response.start", "status": no.status, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": bytes(answer.body), "more_body": True})
    if no.status == TOO_LARGE:
        await body.linger()
    await send({"type": "http.response.body", "body": b"", "more_body": False})

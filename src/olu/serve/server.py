"""uvicorn with our patience: who sends its head slowly, reads nothing, or comes in crowds is shown out."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from olu.core.errors import ConfigError
from olu.serve.app import Site
from olu.serve.errors import Refusal
from olu.serve.guard import SECURITY
from olu.serve.limits import ClientSlots
from olu.serve.settings import ServeSettings

BACKLOG = 1024
HEAD_BYTES = 16 * 1024  # request line and headers
KEEP_ALIVE_SECONDS = 15
LINGER_SECONDS = 1.0
LAST_SECONDS = 2.0  # for the pool, once all answers are out
PROBES = (0.05, 1.0)  # seconds to the second look after a client that ended its side, and between later ones
CONTINUE = h11.InformationalResponse(status_code=100, headers=[])


def listen(settings: ServeSettings) -> socket.socket:
    """A socket of our own, so that a port that is taken is said before any voice is loaded."""
    where = f"{settings.host}:{settings.port}"
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        held = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise ConfigError(f"{settings.host!r} is no address of this machine: check --host") from None
    try:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(address)
        held.listen(BACKLOG)  # only this makes it ours: two that have not yet begun to listen can both hold a port
    except OSError as bad:
        held.close()
        raise ConfigError(f"{where} cannot be had ({bad.strerror}): choose another --port or --host") from None
    return held


def address(held: socket.socket) -> str:
    host, port = held.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server(site: Site, settings: ServeSettings) -> Server:
    config = uvicorn.Config(
        site.app,
        loop="asyncio",
        http=_protocol(settings),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trust_proxy),
        forwarded_allow_ips=list(settings.trust_proxy) or None,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=cast(int, settings.grace),  # any number of seconds will do
        h11_max_incomplete_event_size=HEAD_BYTES,
    )
    return Server(config, site)


class Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    async def run_with_pool(self, held: socket.socket) -> None:
        """Until a signal comes; then what was begun is finished, within the grace."""
        pool, log = self._site.desk.pool, self._site.desk.log
        try:
            await pool.start()
            await self.serve(sockets=[held])
        finally:
            await pool.stop(grace=0 if self.force_exit else LAST_SECONDS)
            self._site.desk.threads.shutdown(wait=False)
            held.close()
            log.event("ended", requests=self._site.desk.metrics.requests)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        voices = sorted(one.name for one in self._site.desk.pool.shown() if not one.fault)
        for held in sockets or []:
            self._site.desk.log.event("listening", address=address(held), voices=voices)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but a server that was asked to end and did so has not been killed.

        A terminal that closes asks for the end too, unless that was to be ignored (nohup).
        """
        with super().capture_signals(), self._hangup():
            yield
            self._captured_signals.clear()

    @contextmanager
    def _hangup(self) -> Iterator[None]:
        here = threading.current_thread() is threading.main_thread()
        if not here or not hasattr(signal, "SIGHUP") or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
            yield
            return
        before = signal.signal(signal.SIGHUP, self.handle_exit)
        try:
            yield
        finally:
            signal.signal(signal.SIGHUP, before)


def _protocol(settings: ServeSettings) -> type[asyncio.Protocol]:
    places = ClientSlots(settings.connections, loopback=settings.connections_per_client > 0)
    proxies = [ipaddress.ip_network(address) for address in settings.trust_proxy]

    class Patient(H11Protocol):
        """Adds what uvicorn leaves to a proxy."""

        _head: asyncio.TimerHandle | None = None
        _stalled: asyncio.TimerHandle | None = None
        _probing: asyncio.TimerHandle | None = None
        _half = False  # the client sends no more, and may still read
        _over = False  # the last answer is out; what still comes is not looked at

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._place = ExitStack()
            if len(self.connections) > settings.most_connections:
                transport.close()
            elif not self._has_place():
                many = f"your address has {settings.connections} connections already: use them again, or close some"
                self._last(Refusal(429, many, "too_many_connections", "rate_limit_error"))
                transport.close()
            else:
                self._await_head()

        def _has_place(self) -> bool:
            client = self.client[0] if self.client else ""
            try:
                if any(ipaddress.ip_address(client) in proxy for proxy in proxies):
                    return True
            except ValueError:  # not from a network
                return True
            return self._place.enter_context(places.held(client))

        def data_received(self, data: bytes) -> None:
            """In parts: h11 looks at the size of a head only while it is not whole."""
            for start in range(0, len(data), HEAD_BYTES):
                if self._over or self.transport.is_closing():
                    return
                super().data_received(data[start : start + HEAD_BYTES])
            if not self._over:
                self._await_head()

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self._head, self._stalled, self._probing):
                if timer is not None:
                    timer.cancel()
            self._place.close()
            super().connection_lost(exc)

        def eof_received(self) -> bool:  # type: ignore[override]
            """Keep the connection for an answer that is on its way: a client may have ended only its own side."""
            answering = self.cycle is not None and not self.cycle.response_complete
            if self._over or not answering or self.conn.their_state is h11.SEND_BODY:
                return False
            self._half = True
            self._probe(0)
            return True

        def _probe(self, number: int) -> None:
            """Who is gone wholly answers what is sent with a reset, which the next write meets; others read over it."""
            if self.transport.is_closing() or self.conn.our_state is not h11.SEND_RESPONSE:
                return  # from here on the answer's own writes will tell
            if self.conn.their_http_version == b"1.1":
                self.transport.write(self.conn.send(CONTINUE) or b"")
                self._probing = self.loop.call_later(PROBES[min(number, 1)], self._probe, number + 1)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self._half and (self.cycle is None or self.cycle.response_complete):
                self.transport.close()

        def _await_head(self) -> None:
            """A clock runs from the first byte of a request, or from the start, until its head is whole."""
            waits = self.cycle is None or (self.cycle.response_complete and bool(self.conn.trailing_data[0]))
            if not waits and self._head is not None:
                self._head.cancel()
                self._head = None
            elif waits and self._head is None:
                self._head = self.loop.call_later(settings.patience, self._too_slow)

        def _too_slow(self) -> None:
            if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
                self._last(Refusal(408, f"the head did not come within {settings.patience:g} s", "head_too_slow"))
            else:
                self.transport.close()

        def _unsupported_upgrade_warning(self) -> None:
            """Nothing: it is answered as if nobody had asked for an upgrade."""

        def pause_writing(self) -> None:
            super().pause_writing()
            self._stalled = self.loop.call_later(settings.stall, self.transport.abort)

        def resume_writing(self) -> None:
            if self._stalled is not None:
                self._stalled.cancel()
                self._stalled = None
            super().resume_writing()

        def send_400_response(self, msg: str) -> None:
            status = getattr(sys.exception(), "error_status_hint", 400)
            if self.cycle is not None and not self.cycle.response_complete:
                self.cycle.disconnected = True  # its own answer would come after the connection's end
                self.cycle.message_event.set()
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self._last(Refusal(status, "this is no HTTP request that can be read", "malformed"))
            else:
                self.transport.close()

        def _last(self, refusal: Refusal) -> None:
            """An answer, and the end a moment later: closing at once would take the answer from who still sends."""
            self._over = True
            body = bytes(refusal.response().body)
            given = {
                **SECURITY,
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Connection": "close",
            }
            headers = [(name.encode(), value.encode()) for name, value in given.items()]
            events: list[Any] = [
                h11.Response(status_code=refusal.status, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ]
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
            self.transport.write_eof()
            if self._head is not None:
                self._head.cancel()
            self._head = self.loop.call_later(LINGER_SECONDS, self.transport.close)

    return Patient

"""uvicorn with our patience: who sends its head slowly, reads nothing, or comes in crowds is shown out."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from http import HTTPStatus
from typing import Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from olu.serve.app import Site
from olu.serve.errors import Refusal
from olu.serve.guard import CONNECTION
from olu.serve.settings import ServeSettings
from olu.serve.wyoming import WyomingListener
from olu.web.headers import SECURITY
from olu.web.limits import ClientSlots
from olu.web.signals import ended_by_signals
from olu.web.sockets import BACKLOG, address

HEAD_BYTES = 16 * 1024  # request line and headers
KEEP_ALIVE_SECONDS = 15
LINGER_SECONDS = 1.0
LAST_SECONDS = 2.0  # for the pool, once all answers are out
PROBES = (0.05, 1.0)  # seconds to the second look after a client that ended its side, and between later ones


def server(site: Site, settings: ServeSettings) -> Server:
    slots = ClientSlots(settings.connections, loopback=settings.connections_per_client > 0)
    config = uvicorn.Config(
        site.app,
        loop="asyncio",
        http=cast(type[asyncio.Protocol], partial(ConnectionGuard, settings, slots, set[asyncio.Protocol]())),
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
        self._wyoming: WyomingListener | None = None

    async def run_with_pool(self, held: socket.socket, *, wyoming: socket.socket | None = None) -> None:
        """Until a signal comes; then what was begun is finished, within the grace.

        `wyoming`: where Home Assistant's protocol is spoken, if it is.
        """
        pool, log = self._site.desk.pool, self._site.desk.log
        try:
            await pool.start()
            if wyoming is not None:
                self._wyoming = WyomingListener(self._site.desk, wyoming)
            await self.serve(sockets=[held])
        finally:
            await pool.stop(grace=0 if self.force_exit else LAST_SECONDS)
            self._site.desk.threads.shutdown(wait=False)
            held.close()
            if wyoming is not None:
                wyoming.close()
            log.event("ended", requests=self._site.desk.metrics.requests)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        voices = sorted(one.name for one in self._site.desk.pool.shown() if not one.fault)
        for held in sockets or []:
            self._site.desk.log.event("listening", address=address(held), voices=voices)
        if self._wyoming is not None:
            await self._wyoming.start()
            self._site.desk.log.event("listening for Wyoming", address=self._wyoming.address)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        grace = 0.0 if self.force_exit else self._site.desk.settings.grace
        over = self._wyoming.end(grace=grace) if self._wyoming else asyncio.sleep(0)
        await asyncio.gather(super().shutdown(sockets), over)

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return ended_by_signals(self.handle_exit)


class ConnectionGuard(asyncio.Protocol):
    """Stands between a connection and uvicorn's reader of HTTP, and adds what uvicorn leaves to a proxy.

    It reads along with a reader of its own, and hands on only what is whole: a head of a decent size that came in time,
    then its body, and the next request once the answer to this one is out. The app finds it in its scope, and says when
    an answer begins and ends.
    """

    def __init__(self, settings: ServeSettings, slots: ClientSlots, open_: set[asyncio.Protocol], **given: Any) -> None:
        """`given`: what uvicorn makes its own protocols with."""
        given["app_state"] = {**given["app_state"], CONNECTION: self}
        self._inner, self._settings, self._slots, self._open = H11Protocol(**given), settings, slots, open_
        self._loop = asyncio.get_running_loop()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._place = ExitStack()
        self._reader, self._held = _reader(), b""  # what it has read, and is not handed on yet
        self._busy = self._began = False  # with a request; with its answer
        self._half = False  # the client sends no more, and may still read
        self._over = False  # the last answer is out; what still comes is not looked at
        self._let_in = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        client = str((transport.get_extra_info("peername") or ("",))[0])
        if len(self._open) >= self._settings.most_connections:
            self._over = True
            self._transport.close()
        elif not self._has_place(client):
            most = self._settings.connections
            many = f"your address has {most} connections already: use them again, or close some"
            self._last(Refusal(429, many, "too_many_connections", "rate_limit_error"))
            self._transport.close()
        else:
            self._let_in = True
            self._open.add(self)
            self._inner.connection_made(self._transport)
            self._await_head()

    def _has_place(self, client: str) -> bool:
        try:
            address = ipaddress.ip_address(client)
        except ValueError:  # not from a network
            return True
        proxies = map(ipaddress.ip_network, self._settings.trust_proxy)
        return any(address in proxy for proxy in proxies) or self._place.enter_context(self._slots.held(client))

    def data_received(self, data: bytes) -> None:
        """Hand data on in parts: h11 checks the size of a head only while it is not whole."""
        for start in range(0, len(data), HEAD_BYTES):
            if self._over or self._transport.is_closing():
                return
            part = data[start : start + HEAD_BYTES]
            self._held += part
            self._reader.receive_data(part)
            self._read_on()

    def _read_on(self) -> None:
        try:
            while (event := self._reader.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Request):
                    self._busy = True
        except h11.RemoteProtocolError as bad:
            if self._began:  # half an answer cannot be followed by another
                self._transport.close()
            else:
                self._last(Refusal(bad.error_status_hint, "this is no HTTP request that can be read", "malformed"))
            return
        left = self._reader.trailing_data[0]
        whole, self._held = self._held[: len(self._held) - len(left)], left
        if self._busy:
            self._stop_timer("head")
        elif left:
            self._await_head()
        if len(left) > HEAD_BYTES:
            self._transport.pause_reading()
        if whole:
            self._inner.data_received(whole)

    def answer_begins(self) -> None:
        self._began = True

    def answer_ended(self) -> None:
        """The app is done with a request: the next one may have come already."""
        self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._busy = self._began = False
        if self._half:
            self._transport.close()
        if self._over or self._transport.is_closing():
            return
        self._reader, data, self._held = _reader(), self._held, b""
        self._transport.resume_reading()
        self.data_received(data)

    def eof_received(self) -> bool:
        """Keep the connection for an answer that is on its way: a client may have ended only its own side."""
        if self._over or not self._busy or self._reader.their_state is h11.SEND_BODY:
            return False
        self._half = True
        self._look(0)
        return True

    def _look(self, number: int) -> None:
        """Write an interim answer to see whether the client is gone: then the next write fails."""
        if self._transport.is_closing() or self._began or not self._busy:
            return  # from here on the answer's own writes will tell
        if self._reader.their_http_version == b"1.1":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._start_timer("look", PROBES[min(number, 1)], partial(self._look, number + 1))

    def pause_writing(self) -> None:
        if self._let_in:
            self._inner.pause_writing()
        self._start_timer("stall", self._settings.stall, self._transport.abort)

    def resume_writing(self) -> None:
        self._stop_timer("stall")
        if self._let_in:
            self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._timers):
            self._stop_timer(name)
        self._place.close()
        self._part(exc)

    def _part(self, exc: Exception | None) -> None:
        """Tell uvicorn that the connection is gone."""
        self._open.discard(self)
        if self._let_in:
            self._let_in = False
            self._inner.connection_lost(exc)

    def _await_head(self) -> None:
        """A clock runs from the first byte of a request, or from the start, until its head is whole."""
        if "head" not in self._timers:
            self._start_timer("head", self._settings.patience, self._too_slow)

    def _too_slow(self) -> None:
        if self._held:
            patience = self._settings.patience
            self._last(Refusal(408, f"the head did not come within {patience:g} s", "head_too_slow"))
        else:
            self._transport.close()

    def _last(self, refusal: Refusal) -> None:
        """Send a refusal and close a moment later: at once, a client still sending would not read it."""
        self._over = True
        body = bytes(refusal.response().body)
        length, status = str(len(body)), HTTPStatus(refusal.status)
        given = {**SECURITY, "Content-Type": "application/json", "Content-Length": length, "Connection": "close"}
        head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        self._transport.write(f"HTTP/1.1 {status.value} {status.phrase}\r\n{head}\r\n".encode() + body)
        self._transport.write_eof()
        self._part(ConnectionAbortedError())
        self._start_timer("end", LINGER_SECONDS, self._transport.close)

    def _start_timer(self, name: str, seconds: float, then: Callable[[], None]) -> None:
        self._stop_timer(name)
        self._timers[name] = self._loop.call_later(seconds, then)

    def _stop_timer(self, name: str) -> None:
        if name in self._timers:
            self._timers.pop(name).cancel()


def _reader() -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)

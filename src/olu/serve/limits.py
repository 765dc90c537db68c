"""How much a client may send, and how slowly."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive

from olu.serve.errors import CLOSE, Refusal

LINGER_SECONDS = 2.0  # a body that is too large is still read for so long, so that the answer can be read
LINGER_BYTES = 64 * 1024 * 1024
TOO_LARGE = 413


class Body:
    """A request's body, read whole before anything else happens, within a size and a time."""

    def __init__(self, receive: Receive, *, most: int, seconds: float) -> None:
        self._receive, self._most, self._seconds = receive, most, seconds
        self._held, self._given = b"", False

    async def read(self, *, announced: int | None) -> None:
        if announced is not None and announced > self._most:
            raise self._too_large()
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(self._seconds):
                while True:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise Left
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._most:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            slow = f"the body did not come within {self._seconds:g} s"
            raise Refusal(408, slow, "body_too_slow", headers=CLOSE) from None
        self._held = b"".join(parts)

    async def receive(self) -> Message:
        """The body as one message, then whatever comes: only that the client left."""
        if not self._given:
            self._given = True
            return {"type": "http.request", "body": self._held, "more_body": False}
        return await self._receive()

    async def linger(self) -> None:
        """Read on and forget, for a while: a client that still sends would not see the answer."""
        size = 0
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while size < LINGER_BYTES:
                    message = await self._receive()
                    size += len(message.get("body", b""))
                    if message["type"] == "http.disconnect" or not message.get("more_body", False):
                        return
        except TimeoutError:
            return

    def _too_large(self) -> Refusal:
        message = f"the body is larger than {self._most} bytes: send the text in parts"
        return Refusal(TOO_LARGE, message, "body_too_large", headers=CLOSE)


class Left(Exception):
    """The client went away before it had asked."""

"""Wyoming's events on the wire: a line of JSON, then as many bytes of data and of payload as the line says.

What comes from outside is held to a length and a time before any of it is kept.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from olu.core.parse import BadData, from_json
from olu.serve import errors
from olu.serve.errors import Refusal

LINE_BYTES = 16 * 1024  # of the line of JSON, when the data stand behind it
PAYLOAD_BYTES = 64 * 1024  # of sound or the like, which nothing that is asked of a voice has; it is passed over
VERSION = "1.10.0"  # of the protocol that is spoken here


@dataclass(frozen=True)
class WyomingEvent:
    type: str
    data: dict[str, Any] = field(default_factory=dict)
    payload: bytes = b""

    def packed(self) -> bytes:
        data = errors.dumps(self.data) if self.data else b""
        head: dict[str, Any] = {"type": self.type, "version": VERSION}
        head |= {"data_length": len(data)} if data else {}
        head |= {"payload_length": len(self.payload)} if self.payload else {}
        return errors.dumps(head) + b"\n" + data + self.payload

    def word(self, name: str) -> str | None:
        """A field that is a text or is not there."""
        return _word(self.data, name, f"{self.type}: {name}")

    def voice(self) -> dict[str, str | None]:
        """Name, language and speaker of the voice that is asked for."""
        given = self.data.get("voice")
        if given is None:
            given = {}
        if not isinstance(given, dict):
            raise malformed(f"{self.type}: voice is an object with a name, a language or a speaker")
        return {name: _word(given, name, f"voice: {name}") for name in ("name", "language", "speaker")}


def _word(held: dict[str, Any], name: str, where: str) -> str | None:
    value = held.get(name)
    if value is not None and not isinstance(value, str):
        raise malformed(f"{where} is a text, not {type(value).__name__}")
    return value


async def read_event(reader: asyncio.StreamReader, *, most: int, idle: float, patience: float) -> WyomingEvent | None:
    """The next event; None where the client has ended, or has asked nothing for `idle` seconds.

    `most`: bytes of its data; `patience`: seconds from its first byte to its last.
    """
    try:
        async with asyncio.timeout(idle):
            first = await reader.read(1)
    except TimeoutError:
        return None
    if not first:
        return None
    try:
        async with asyncio.timeout(patience):
            return await _rest(first, reader, most=most)
    except TimeoutError:
        raise Refusal(408, f"the event did not come within {patience:g} s", "event_too_slow") from None
    except asyncio.IncompleteReadError:
        return None


async def _rest(first: bytes, reader: asyncio.StreamReader, *, most: int) -> WyomingEvent:
    try:
        line = first if first == b"\n" else first + await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        raise malformed(f"the line of an event is longer than {reader_limit(most)} bytes") from None
    head = _object(line)
    kind, data = head.get("type"), head.get("data")
    if not isinstance(kind, str) or not (data is None or isinstance(data, dict)):
        raise malformed("an event is a line of JSON with a type")
    length, payload = _length(head, "data_length", most), _length(head, "payload_length", PAYLOAD_BYTES)
    more = _object(await reader.readexactly(length)) if length else {}
    return WyomingEvent(kind, {**(data or {}), **more}, await reader.readexactly(payload))


def reader_limit(most: int) -> int:
    """Bytes of a line: some programs write the data into it."""
    return LINE_BYTES + most


def _length(head: dict[str, Any], name: str, most: int) -> int:
    value = head.get(name) or 0
    if type(value) is not int or value < 0:
        raise malformed(f"{name} is a number of bytes")
    if value > most:
        raise Refusal(413, f"{name} is {value}; this server takes {most} bytes", "event_too_large")
    return value


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = from_json(data)
    except BadData:
        found = None
    if not isinstance(found, dict):
        raise malformed("this is no event of the Wyoming protocol: a line of JSON begins it")
    return found


def malformed(why: str) -> Refusal:
    return Refusal(400, why, "malformed")

"""Messages between the front and its workers: a JSON object and, where there is sound, its bytes."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any, BinaryIO

Message = dict[str, Any]
HEAD = struct.Struct(">II")  # bytes of the object, bytes of sound


def pack(message: Message, sound: bytes = b"") -> bytes:
    words = json.dumps(message).encode("ascii")
    return HEAD.pack(len(words), len(sound)) + words + sound


def read(pipe: BinaryIO) -> Message | None:
    """The next message that comes without sound; none when the other side has ended."""
    try:
        head = pipe.read(HEAD.size)
        if len(head) < HEAD.size:
            return None
        size, _ = HEAD.unpack(head)
        words = pipe.read(size)
    except OSError:
        return None
    return _message(words) if len(words) == size else None


async def receive(stream: asyncio.StreamReader) -> tuple[Message, bytes] | None:
    """The next message and its sound; none when the other side has ended, in the middle of one or not."""
    try:
        size, sound = HEAD.unpack(await stream.readexactly(HEAD.size))
        return _message(await stream.readexactly(size)), await stream.readexactly(sound)
    except (asyncio.IncompleteReadError, OSError):
        return None


def _message(words: bytes) -> Message:
    message: Message = json.loads(words)
    return message

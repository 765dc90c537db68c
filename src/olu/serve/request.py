"""One request, from the side of whoever asked."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Protocol

from olu.serve.link import Link
from olu.serve.protocol import Late, SoundPiece, SpeechJob

Answer = SoundPiece | Exception | None  # sound, a failure, or the end


class SpeechQueue(Protocol):
    async def hand_over(self, saying: Saying) -> None: ...

    def leave(self, saying: Saying) -> None: ...


class Saying:
    """An async iterator of pieces."""

    def __init__(self, desk: SpeechQueue, ask: SpeechJob, number: int, *, deadline: float) -> None:
        """`deadline`: seconds until all of it is to be there."""
        self.ask, self.number, self._deadline = ask, number, deadline
        self.answers: asyncio.Queue[Answer] = asyncio.Queue()
        self.link: Link | None = None
        self.came = time.monotonic()
        self.heard = False  # its first sound is there
        self.made = False  # all of it
        self.over = False
        self._desk = desk
        self._asked = False
        self._taken = 0.0

    def __aiter__(self) -> Saying:
        return self

    async def __anext__(self) -> SoundPiece:
        if self.over:
            raise StopAsyncIteration
        try:
            async with asyncio.timeout(self.came + self._deadline - time.monotonic()):
                await self._ask_for_more()
                answer = await self.answers.get()
        except TimeoutError:
            self._desk.leave(self)
            raise Late(self._deadline) from None
        except BaseException:  # also when the task that waits is cancelled
            self._desk.leave(self)
            raise
        if isinstance(answer, SoundPiece):
            self._taken = len(answer.samples) / 2 / answer.rate
            return answer
        self._desk.leave(self)
        raise StopAsyncIteration if answer is None else answer

    async def _ask_for_more(self) -> None:
        if not self._asked:
            self._asked = True
            await self._desk.hand_over(self)
        elif self._taken and self.link is not None and not self.made:
            self.link.send({"do": "took", "number": self.number, "seconds": self._taken})

    async def aclose(self) -> None:
        self._desk.leave(self)

    def __del__(self) -> None:
        if not self.over:  # somebody forgot it
            with suppress(RuntimeError):  # the loop may be gone
                self._desk.leave(self)

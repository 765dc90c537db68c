"""One answer of sound: begun when the first piece is there, given on as it comes, left off when nobody listens."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from olu.audio.sink import wav_header
from olu.core.errors import TextError
from olu.serve import errors
from olu.serve.encode import KINDS, Encoder, Packed, encoder
from olu.serve.logs import Log, Trace
from olu.serve.protocol import Busy, Gone, Late, NoRoom, SoundPiece, SoundStream, Speaking, SpeechJob, Stuck, TooLong

EXPECTED = (errors.Refusal, Busy, Gone, Late, NoRoom, Stuck, TooLong, TextError)
EVENTS = "text/event-stream"
NO_BUFFER = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy must not wait for the end
ENCODING_THREADS = 2
WHOLE_TOKENS = 400  # a wav of a text up to here is made whole first, so that its header can tell its length
UNSAID = "X-Olu-Unsaid"
UNSAID_COUNT = "X-Olu-Unsaid-Count"
MOST_UNSAID = 64  # kinds of letters named in a header: proxies take heads of a few kilobytes


@dataclass(frozen=True)
class ResponseFormat:
    """How the sound is to be given."""

    kind: str
    events: bool
    timings: bool

    @property
    def media(self) -> str:
        return EVENTS if self.events else KINDS[self.kind].media


class SpeechResponse(Response):
    def __init__(
        self,
        ask: SpeechJob,
        *,
        way: ResponseFormat,
        pool: Speaking,
        trace: Trace,
        log: Log,
        threads: ThreadPoolExecutor,
    ) -> None:
        super().__init__(media_type=way.media, headers=NO_BUFFER)
        del self.headers["content-length"]
        self._ask, self._way, self._pool = ask, way, pool
        self._trace, self._log, self._threads = trace, log, threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        work = asyncio.create_task(self._speak(scope, receive, send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            self._trace.left = not work.done()
        finally:
            for task in (work, leaving):
                task.cancel()
            await asyncio.gather(work, leaving, return_exceptions=True)
        if not work.cancelled() and (wrong := work.exception()) is not None:
            raise wrong

    async def _speak(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces: SoundStream | None = None
        try:
            try:
                pieces = self._pool.speak(self._ask)
                first = await anext(pieces)
            except Exception as wrong:
                await self._refusal(wrong).response()(scope, receive, send)
                return
            self._told(first)
            if self._is_short(first):
                await self._give_whole(first, pieces, scope, receive, send)
            else:
                await self._give(first, pieces, send)
        finally:
            if pieces is not None:
                await pieces.aclose()

    def _told(self, first: SoundPiece) -> None:
        """Put what is left unsaid into the headers, before any of the sound."""
        unsaid = first.read.unsaid if first.read else {}
        self._trace.unsaid = sum(unsaid.values())
        if unsaid:
            self.headers[UNSAID] = in_header(unsaid)
            self.headers[UNSAID_COUNT] = str(self._trace.unsaid)

    def _is_short(self, first: SoundPiece) -> bool:
        plain = self._way.kind == "wav" and not self._way.events
        return plain and first.read is not None and first.read.tokens <= WHOLE_TOKENS

    async def _give_whole(
        self, first: SoundPiece, pieces: SoundStream, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """A file with a true length; what goes wrong on the way is an answer of its own."""
        try:
            samples = b"".join([piece.samples async for piece in _with(first, pieces)])
        except Exception as wrong:
            await self._refusal(wrong).response()(scope, receive, send)
            return
        body = wav_header(first.rate, len(samples)) + samples
        self.headers["Content-Length"] = str(len(body))
        self._trace.first = self._trace.seconds
        self._trace.spoken = len(samples) / 2 / first.rate
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _give(self, first: SoundPiece, pieces: SoundStream, send: Send) -> None:
        async def body(data: bytes) -> None:
            if data:
                if self._trace.first is None:
                    self._trace.first = self._trace.seconds
                await send({"type": "http.response.body", "body": data, "more_body": True})

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        coder = encoder(self._way.kind, first.rate)
        try:
            sentence = -1
            await body(self._unsaid(first))
            async for piece in _with(first, pieces):
                if self._way.timings and piece.sentence != sentence:
                    await body(_words(piece))
                sentence = piece.sentence
                self._trace.spoken += len(piece.samples) / 2 / piece.rate
                await body(self._framed(await self._coded(coder, piece.samples)))
            await body(self._framed(await self._coded(coder, None)))
        except Exception as wrong:
            refusal = self._refusal(wrong)
            self._trace.broken = True
            if not self._way.events:
                return  # without its end: the client sees that the sound broke off
            await body(_event(refusal.body()))
        else:
            await body(self._done())
        finally:
            coder.close()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _refusal(self, wrong: Exception) -> errors.Refusal:
        if isinstance(wrong, StopAsyncIteration):
            wrong = TextError("nothing in the text can be said: check text and language")
        if not isinstance(wrong, EXPECTED):
            self._log.failed(wrong, request=self._trace.request)
        refusal = errors.of(wrong, voice=self._ask.voice)
        self._trace.code = refusal.code
        return refusal

    async def _coded(self, coder: Encoder, samples: bytes | None) -> bytes:
        """Encode samples in a thread: the loop has others to serve."""
        step: Callable[[], bytes] = coder.close if samples is None else (lambda: coder.push(samples))
        if not isinstance(coder, Packed):
            return step()
        return await asyncio.get_running_loop().run_in_executor(self._threads, step)

    def _framed(self, data: bytes) -> bytes:
        if not (self._way.events and data):
            return data
        return _event({"type": "speech.audio.delta", "audio": base64.b64encode(data).decode()})

    def _unsaid(self, first: SoundPiece) -> bytes:
        if not self._way.events or first.read is None or not first.read.unsaid:
            return b""
        return _event({"type": "speech.audio.unsaid", "unsaid": dict(first.read.unsaid), "count": self._trace.unsaid})

    def _done(self) -> bytes:
        if not self._way.events:
            return b""
        count = self._trace.characters  # voices know no tokens: characters are counted
        usage = {"input_tokens": count, "output_tokens": 0, "total_tokens": count}
        row = {"type": "speech.audio.done", "usage": usage, "seconds": round(self._trace.spoken, 3)}
        return _event({**row, "unsaid": self._trace.unsaid} if self._trace.unsaid else row)


def in_header(unsaid: Mapping[str, int]) -> str:
    """As JSON in visible ASCII, the letters met most often first."""
    kept = dict(sorted(unsaid.items(), key=lambda item: -item[1])[:MOST_UNSAID])
    return errors.dumps(kept).decode().replace("\x7f", "\\u007f")


async def _with(first: SoundPiece, others: SoundStream) -> AsyncIterator[SoundPiece]:
    yield first
    async for piece in others:
        yield piece


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _words(piece: SoundPiece) -> bytes:
    words = [[word, round(begins, 4), round(ends, 4)] for word, begins, ends in piece.words]
    times = {"start": round(piece.begins, 4), "end": round(piece.ends, 4)}
    row = {"type": "speech.audio.words", "sentence": piece.sentence, "text": piece.text, **times, "words": words}
    return _event({**row, "unsaid": dict(piece.unsaid)})


def _event(row: dict[str, Any]) -> bytes:
    return b"data: " + errors.dumps(row) + b"\n\n"

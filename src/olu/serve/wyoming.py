"""Home Assistant's protocol, Wyoming, beside HTTP: the same voices, workers, queue, rates and log.

A connection is served one event after the other. Text that comes in chunks is spoken sentence by sentence, within one
start and stop of the sound; a refusal ends the connection, as clients wait for sound and read nothing else.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from functools import lru_cache
from typing import Any

from olu import __version__
from olu.core.errors import OluError, TextError
from olu.serve import errors, openai
from olu.serve.errors import Refusal
from olu.serve.logs import Trace
from olu.serve.protocol import SpeechJob, VoiceInfo
from olu.serve.response import EXPECTED
from olu.serve.routes import Desk
from olu.serve.wyoming_events import WyomingEvent, malformed, read_event, reader_limit
from olu.speak.stream import PAUSE_SECONDS, Manner
from olu.text import markup
from olu.text.languages import load, two_letters
from olu.text.words import split_sentences
from olu.web.limits import ClientSlots
from olu.web.sockets import address

IDLE_SECONDS = 300.0  # that a connection may ask nothing
CHUNK_BYTES = 16 * 1024  # of sound in one event
LINGER_SECONDS = 1.0
DEFAULT_ENDS = (".", "?", "!", "…")
FORMATS = (None, "text", "ssml")


class WyomingListener:
    """Takes connections, as many as HTTP may have, and ends them."""

    def __init__(self, desk: Desk, held: socket.socket, *, idle: float = IDLE_SECONDS) -> None:
        self._desk, self._held, self._idle = desk, held, idle
        settings = desk.settings
        self._slots = ClientSlots(settings.connections, loopback=settings.connections_per_client > 0)
        self._open: dict[asyncio.Task[None], WyomingConnection] = {}
        self._server: asyncio.Server | None = None
        self.address = address(held).replace("http:", "tcp:")

    async def start(self) -> None:
        limit = reader_limit(self._desk.settings.body_bytes)
        self._server = await asyncio.start_server(self._serve, sock=self._held, limit=limit)

    async def end(self, *, grace: float) -> None:
        """Take nobody more; let who is being spoken to hear it out, within `grace` seconds."""
        if self._server is not None:
            self._server.close()
        speaking = {task for task, connection in self._open.items() if connection.speaking}
        for task in self._open.keys() - speaking:
            task.cancel()
        if speaking:
            for connection in self._open.values():
                connection.last = True
            await asyncio.wait(speaking, timeout=grace)
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        client = str((writer.get_extra_info("peername") or ("",))[0])
        connection = WyomingConnection(self._desk, reader, writer, client=client, idle=self._idle)
        try:
            with self._slots.held(client) as free:
                if not free or len(self._open) >= self._desk.settings.most_connections:
                    many = "too many connections are open: use one again, or close some"
                    await connection.refuse(Refusal(429, many, "too_many_connections"))
                elif task is not None:
                    self._open[task] = connection
                    await connection.serve()
        except (ConnectionError, asyncio.CancelledError):
            pass  # it left, or the server ends
        finally:
            if task is not None:
                self._open.pop(task, None)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class WyomingConnection:
    def __init__(
        self, desk: Desk, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, client: str, idle: float
    ) -> None:
        self._desk, self._reader, self._writer = desk, reader, writer
        self._client, self._idle = client, idle
        self._streamed: StreamedSpeech | None = None
        self.speaking = False
        self.last = False  # the server ends: nothing more is taken

    async def serve(self) -> None:
        settings = self._desk.settings
        while not self.last:
            try:
                event = await read_event(
                    self._reader, most=settings.body_bytes, idle=self._idle, patience=settings.patience
                )
                if event is None:
                    return
                await self._answer(event)
            except Refusal as no:
                await self.refuse(no)
                return

    async def refuse(self, no: Refusal) -> None:
        """The last word on a connection. What still comes is read for a moment: else the client would not see it."""
        await self.write(WyomingEvent("error", {"text": no.message, "code": no.code}))
        with suppress(OSError, TimeoutError):
            self._writer.write_eof()
            async with asyncio.timeout(LINGER_SECONDS):
                while await self._reader.read(CHUNK_BYTES):
                    pass

    async def write(self, event: WyomingEvent) -> None:
        self._writer.write(event.packed())
        try:
            async with asyncio.timeout(self._desk.settings.stall):
                await self._writer.drain()
        except TimeoutError:
            self._writer.transport.abort()
            raise ConnectionAbortedError("the client takes nothing") from None

    async def _answer(self, event: WyomingEvent) -> None:
        """Events that nobody knows are passed over, as the protocol wants it."""
        match event.type:
            case "describe":
                await self._desk.pool.look()
                await self.write(WyomingEvent("info", info(self._desk)))
            case "ping":
                await self.write(WyomingEvent("pong", {"text": event.word("text")}))
            case "synthesize" if self._streamed is None:  # else the same text again, for servers that know no chunks
                spoken = StreamedSpeech(self._desk, self, event, client=self._client)
                await self._speak(spoken, _text(event), ends=True)
            case "synthesize-start":
                self._streamed = StreamedSpeech(self._desk, self, event, client=self._client)
            case "synthesize-chunk" if self._streamed is not None:
                await self._speak(self._streamed, _text(event), ends=False)
            case "synthesize-stop" if self._streamed is not None:
                spoken, self._streamed = self._streamed, None
                await self._speak(spoken, "", ends=True)
                await self.write(WyomingEvent("synthesize-stopped"))

    async def _speak(self, spoken: StreamedSpeech, text: str, *, ends: bool) -> None:
        self.speaking = True
        try:
            await spoken.add(text, ends=ends)
        finally:
            self.speaking = False


class StreamedSpeech:
    """One text, whole or in chunks, and its sound."""

    def __init__(self, desk: Desk, to: WyomingConnection, event: WyomingEvent, *, client: str) -> None:
        self._desk, self._to = desk, to
        self._wished, self._format = event.voice(), event.word("text_format")
        if self._format not in FORMATS:
            raise malformed(f"text_format {self._format[:20]!r} is not read here: text or ssml")
        self._client = client
        self._whole = self._rest = ""  # all of the text, and what is not said yet
        self._voice: VoiceInfo | None = None
        self._started = False
        self._spoken = 0  # samples
        self._rate = 0
        self._in_chunks = event.type == "synthesize-start"

    async def add(self, text: str, *, ends: bool) -> None:
        """Say what is now whole; at the end, everything that is left."""
        trace = Trace(self._client, "WYOMING", "synthesize", format="pcm", characters=len(text), text=text)
        try:
            await self._add(text, trace, ends=ends)
            trace.status = 200
        except ConnectionError:
            trace.left = True
            raise
        except asyncio.CancelledError:
            trace.broken = self._started
            raise
        except Exception as wrong:
            if not isinstance(wrong, EXPECTED):
                self._desk.log.failed(wrong, request=trace.request)
            refusal = errors.of(wrong, voice=trace.voice)
            trace.status, trace.code, trace.broken = refusal.status, refusal.code, self._started
            raise refusal from None
        finally:
            if trace.spoken or ends or trace.status != 200:  # chunks that only wait are no requests
                self._desk.metrics.done(trace, path="wyoming")
                self._desk.log.done(trace)

    async def _add(self, text: str, trace: Trace, *, ends: bool) -> None:
        self._whole += text
        self._rest += text
        most = self._desk.settings.most_characters
        if len(self._whole) > most:
            long = f"the text has more than {most} characters, which is what this server takes at once"
            raise Refusal(400, long, "string_above_max_length")
        voice = self._voice = self._voice or await self._find()
        trace.voice = voice.name
        self._desk.check_words(self._whole, voice=voice.name)
        parts = self._take(voice, ends=ends)
        if ends and not self._started and not parts:
            raise TextError("there is no text to say")
        for part in parts:
            await self._say(part, voice, trace)
        if ends:
            await self._to.write(WyomingEvent("audio-stop", {"timestamp": self._milliseconds()}))

    def _take(self, voice: VoiceInfo, *, ends: bool) -> list[str]:
        """The sentences that are whole; a text with markup is said when all of it is there, as tags may enclose it."""
        if not self._in_chunks or (ends and not self._started):
            text, self._rest = self._rest, ""
            return [text] if text.strip() else []
        if not ends and self._is_marked(self._whole):
            return []
        found = split_sentences(
            self._rest, voice.sentence_ends or DEFAULT_ENDS, abbreviations=_abbreviations(voice.language), plain=True
        )
        if ends:
            self._rest = ""
            return found
        if len(found) < 2:
            return []
        self._rest = self._rest[self._rest.rindex(found[-1]) :]
        return found[:-1]

    def _is_marked(self, text: str) -> bool:
        return self._format != "text" and ("<" in text or markup.has_markup(text))

    async def _say(self, text: str, voice: VoiceInfo, trace: Trace) -> None:
        plain = self._format == "text" or (self._format is None and not _is_read(text))
        manner = Manner(speaker=self._speaker(voice), plain=plain)
        most = self._desk.settings
        job = SpeechJob(voice.name, text, manner, seconds=most.most_seconds, tokens=most.most_tokens)
        guard = self._desk.guard
        assert guard is not None
        with guard.place(self._client):
            pieces = self._desk.pool.speak(job)
            paused = not self._started
            try:
                async for piece in pieces:
                    if not paused:
                        await self._give(bytes(2 * round(PAUSE_SECONDS * piece.rate)), piece.rate, trace)
                        paused = True
                    await self._give(piece.samples, piece.rate, trace)
            finally:
                await pieces.aclose()

    async def _give(self, samples: bytes, rate: int, trace: Trace) -> None:
        shape = {"rate": rate, "width": 2, "channels": 1}
        if not self._started:
            self._started, self._rate = True, rate
            trace.first = trace.seconds
            await self._to.write(WyomingEvent("audio-start", {**shape, "timestamp": 0}))
        for at in range(0, len(samples), CHUNK_BYTES):
            part = samples[at : at + CHUNK_BYTES]
            await self._to.write(WyomingEvent("audio-chunk", {**shape, "timestamp": self._milliseconds()}, part))
            self._spoken += len(part) // 2
            trace.bytes += len(part)
            trace.spoken += len(part) / 2 / rate

    def _milliseconds(self) -> int:
        return 1000 * self._spoken // self._rate if self._rate else 0

    async def _find(self) -> VoiceInfo:
        """By name, which is any that is listed; else by language; else the default voice, or the first."""
        if name := self._wished["name"]:
            return await self._desk.find(name)
        usable = self._desk.usable()
        if code := self._wished["language"]:
            wanted = openai.language(code) if openai.TAG.fullmatch(code.replace("_", "-")) else ""
            usable = [voice for voice in usable if wanted and openai.language(voice.language) == wanted]
            if not usable:
                raise Refusal(404, f"there is no voice of the language {code[: errors.SHOWN]!r}", "voice_not_found")
        if not usable:
            raise errors.no_voice("", ())
        default = self._desk.settings.default_voice
        return next((voice for voice in usable if voice.name == default), usable[0])

    def _speaker(self, voice: VoiceInfo) -> str | None:
        speaker = self._wished["speaker"]
        if speaker is not None and speaker not in voice.speakers:
            raise Refusal(400, openai.no_speaker(voice), "speaker_not_found")
        return speaker


def info(desk: Desk) -> dict[str, Any]:
    """What this server is and which voices it has, as clients choose among them."""
    program = {
        "name": "olu",
        "description": "Voices of Olu",
        "attribution": {"name": "Olu", "url": ""},
        "installed": True,
        "version": __version__,
        "voices": [_voice_row(voice) for voice in desk.usable()],
        "supports_synthesize_streaming": True,
    }
    return {"tts": [program], **{kind: [] for kind in ("asr", "handle", "intent", "wake", "mic", "snd")}}


def _voice_row(voice: VoiceInfo) -> dict[str, Any]:
    code = openai.language(voice.language) or voice.language
    credits = "; ".join(part for part in (voice.credits, voice.licence) if part)
    return {
        "name": voice.name,
        "description": f"{voice.name} ({openai.language_name(voice.language)})",
        "attribution": {"name": credits or "not stated", "url": ""},
        "installed": True,
        "version": __version__,
        "languages": [one for one in (two_letters(code), code) if one],
        "speakers": [{"name": speaker} for speaker in voice.speakers] if len(voice.speakers) > 1 else None,
    }


def _text(event: WyomingEvent) -> str:
    text = event.word("text")
    if text is None:
        raise malformed(f"{event.type}: there is no text")
    return text


def _is_read(text: str) -> bool:
    """Whether its markup, if it has any, can be read: a program's answer may hold a < that is none."""
    try:
        markup.parse(text)
    except TextError:
        return False
    return True


@lru_cache(maxsize=100)
def _abbreviations(language: str) -> frozenset[str]:
    """Words with a point that ends no sentence, as far as the language is known here."""
    try:
        data = load(openai.language(language)).files().get("abbreviations.tsv", b"")
    except OluError:
        return frozenset()
    words = (line.partition("\t")[0].strip() for line in data.decode().splitlines())
    return frozenset(word for word in words if word.endswith("."))

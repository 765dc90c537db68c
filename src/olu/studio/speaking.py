"""Speaking with any voice that is here: worker processes of `olu serve`, so that a crash costs one sentence."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import Field
from starlette.responses import Response

from olu.core.errors import OluError, VoiceError
from olu.core.files import EMBEDDED, embedded_voice
from olu.core.rows import as_row, from_row
from olu.serve import errors, openai
from olu.serve.catalog import VoiceCatalog
from olu.serve.logs import Log, Trace
from olu.serve.openai import SpeechRequest
from olu.serve.pool import Pool
from olu.serve.process import memory_share
from olu.serve.protocol import SpeechJob, VoiceInfo
from olu.serve.response import ENCODING_THREADS, ResponseFormat, SpeechResponse
from olu.serve.settings import ServeSettings
from olu.speak.melody import Melody
from olu.speak.stream import Manner
from olu.studio.roots import Roots
from olu.studio.words import t

WORKERS, QUEUE, LOADED = 1, 16, 3
PITCH = "pitch"  # a voice with this knob has a melody that stands open
GRACE = 2.0  # seconds for a sentence in hand when the studio ends


class SpeakRequest(SpeechRequest):
    """As of `olu serve`, and what only a person at a page changes."""

    tones: str = Field("learnt", max_length=20)
    melody: dict[str, Any] | None = None


class SpeechDesk:
    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._catalog: VoiceCatalog | None = None
        self._pool: Pool | None = None
        self._starting = asyncio.Lock()
        self._threads = ThreadPoolExecutor(ENCODING_THREADS, thread_name_prefix="encode")
        self._log = Log(texts=False)
        self.settings = ServeSettings(workers=WORKERS, queue=QUEUE, loaded=LOADED)

    def _places(self) -> list[Path]:
        own = embedded_voice()
        return [*self._roots.places().values(), *([own] if own else [])]

    def _called(self, path: Path) -> str:
        """A voice is named by its workspace and its file: two workspaces may have voices of one name."""
        own = embedded_voice()
        if own is not None and path == own.absolute():
            return EMBEDDED
        slug = self._roots.slug_of(path.parent.parent)
        return f"{slug}/{path.name}"

    async def _ready(self) -> Pool:
        """The pool, looked over for voices that came or went; its process is started where there is none."""
        places = await asyncio.to_thread(self._places)
        async with self._starting:
            if self._catalog is None:
                if not places:
                    raise VoiceError(t("there is no voice to speak with yet: export one"))
                self._catalog = await asyncio.to_thread(VoiceCatalog, places, called=self._called)
            await asyncio.to_thread(self._catalog.put, places)
            if self._pool is None:
                pool = Pool(
                    self._catalog,
                    workers=WORKERS,
                    queue=QUEUE,
                    batch=1,
                    loaded=LOADED,
                    memory=memory_share(WORKERS + 1),
                )
                await pool.start()
                self._pool = pool
        await self._pool.look()
        return self._pool

    async def stop(self) -> None:
        if self._pool is not None:
            await self._pool.stop(grace=GRACE)
        self._threads.shutdown(wait=False)

    async def voices(self) -> list[dict[str, Any]]:
        """Every voice here, with what may be chosen of it."""
        try:
            pool = await self._ready()
        except VoiceError:
            return []
        return [_row(one) for one in pool.shown()]

    async def _asked(self, wish: SpeakRequest) -> tuple[Pool, SpeechJob]:
        pool = await self._ready()
        openai.check(wish, self.settings)
        name = wish.voice_name
        found = next((one for one in pool.shown() if one.name == name), None)
        if found is None:
            raise errors.no_voice(name, [one.name for one in pool.shown() if not one.fault])
        if found.fault:
            raise errors.Refusal(404, found.fault, "voice_unusable", param="voice")
        try:
            melody = None if wish.melody is None else from_row(wish.melody, Melody)
            if melody is not None and melody.text != wish.input:
                raise VoiceError(t("the melody is of another text: plan this one first"))
            manner = Manner.of(openai.manner(wish, found), tones=wish.tones, melody=melody)
        except ValueError as bad:
            raise errors.Refusal(400, f"this is no melody: {bad}", "invalid_request", param="melody") from None
        except OluError as bad:
            raise errors.Refusal(400, str(bad), "invalid_request") from None
        most = self.settings
        return pool, SpeechJob(name, wish.input, manner, seconds=most.most_seconds, tokens=most.most_tokens)

    async def speak(self, wish: SpeakRequest, *, client: str) -> Response:
        try:
            pool, job = await self._asked(wish)
        except errors.Refusal as bad:
            return bad.response()
        except OluError as bad:
            return errors.of(bad, voice=wish.voice_name).response()
        trace = Trace(client, "POST", "/api/speak", voice=job.voice, characters=len(wish.input))
        way = ResponseFormat(wish.response_format, wish.stream_format == "sse", wish.timings)
        return SpeechResponse(job, way=way, pool=pool, trace=trace, log=self._log, threads=self._threads)

    async def plan(self, wish: SpeakRequest) -> Response:
        """The melody a text would be said with, and which written tones it does not make."""
        try:
            pool, job = await self._asked(wish)
            melody = await pool.plan(job)
        except errors.Refusal as bad:
            return bad.response()
        except VoiceError as bad:
            return errors.Refusal(400, str(bad), "invalid_request").response()
        except Exception as bad:  # as of a sound: each kind has its sentence
            return errors.of(bad, voice=wish.voice_name).response()
        return errors.json_response({"melody": as_row(melody), "faults": melody.tone_faults})


def _row(one: VoiceInfo) -> dict[str, Any]:
    ws, slash, file = one.name.rpartition("/")
    row = asdict(one)
    with suppress(KeyError):
        del row["aliases"]
    return {
        **row,
        "id": one.name,
        "ws": ws if slash else "",
        "title": file.removesuffix(".voice"),
        "language_name": openai.language_name(one.language) if one.language else "",
        "melody": any(knob.name == PITCH for knob in one.knobs),
    }

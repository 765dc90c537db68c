"""Serve voices over HTTP until somebody ends it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from olu.core.config import check
from olu.core.errors import ConfigError, LanguageError
from olu.core.files import EMBEDDED, is_embedded
from olu.core.job import Job, Note, Tick
from olu.core.stage import need_serving
from olu.core.words import many
from olu.speak.package import read_frontend, voice_place
from olu.stages.verbs.voices import ServeOptions
from olu.text.frontend import from_state, with_words
from olu.text.language_data import load_lexicon
from olu.text.refused import NO_WORDS, RefusedWords

if TYPE_CHECKING:
    from olu.serve.catalog import VoiceCatalog
    from olu.serve.logs import Log


@dataclass(frozen=True)
class Served:
    address: str
    voices: list[str]
    damaged: dict[str, str]  # and why
    requests: int
    seconds: float  # of sound
    next: str = ""  # what to do where there is no voice yet

    def sentences(self, options: ServeOptions) -> Iterator[str]:
        if not options.check:
            yield f"{self.requests} requests, {self.seconds:.1f} s of sound"
            return
        yield f"{many(len(self.voices), 'voice')}: {', '.join(self.voices) or 'none yet'}"
        if self.next:
            yield f"Next: {self.next}"


def run(options: ServeOptions) -> Job[Served]:
    """`olu serve`"""
    own = {"voices", "api_key_file", "check", "as_json", "lexicon", "refuse_words"}
    settings = {one.name: getattr(options, one.name) for one in fields(options) if one.name not in own}
    served = yield from serve(
        options.voices,
        key_file=options.api_key_file,
        only_check=options.check,
        logs=sys.stderr,
        lexicon=options.lexicon,
        refuse_words=options.refuse_words,
        **settings,
    )
    yield from (Note(f"{name} cannot be used: {why}") for name, why in served.damaged.items())
    return served


def serve(
    places: Sequence[Path],
    *,
    key_file: Path | None = None,
    only_check: bool = False,
    logs: TextIO | None = None,
    lexicon: Path | None = None,
    refuse_words: Path | None = None,
    **settings: Any,
) -> Job[Served]:
    """Ticks once when the port is ours and the voices are found. `only_check` ends there."""
    need_serving("olu serve")
    from olu.serve.app import build
    from olu.serve.catalog import VoiceCatalog
    from olu.serve.logs import to_stream
    from olu.serve.pool import Pool, cores
    from olu.serve.server import server
    from olu.serve.settings import ServeSettings, read_keys
    from olu.web.sockets import address, listen

    chosen = check(ServeSettings, settings, where="olu serve")
    keys = read_keys(key_file)
    words = None if lexicon is None else load_lexicon(lexicon)  # a person hears of a wrong line at once
    refused = NO_WORDS if refuse_words is None else RefusedWords.load(refuse_words)
    with ExitStack() as ports:
        held = ports.enter_context(listen(chosen.host, chosen.port))
        place = chosen.wyoming_place
        wyoming = ports.enter_context(listen(*place, options=("--wyoming",))) if place else None
        where = address(held)
        workers = chosen.workers or cores()
        memory = chosen.memory_bytes(workers)
        own = {voice_place(place): EMBEDDED for place in places if is_embedded(place.as_posix())}
        shelf = VoiceCatalog(list(map(voice_place, places)), most_bytes=memory, aliases=own)
        _check_default(chosen.default_voice, shelf)
        if words is not None:
            _check_words(words, shelf)
        pool = Pool(
            shelf,
            workers=workers,
            queue=chosen.queue,
            batch=chosen.batch,
            loaded=chosen.loaded,
            memory=memory,
            silence=chosen.watchdog,
            deadline=chosen.deadline,
            lexicon=None if lexicon is None else str(lexicon.absolute()),
        )
        site = build(pool, settings=chosen, keys=keys, refused=refused)
        yield Tick(0, 1, where)
        if not only_check:
            to_stream(logs)
            if not keys and not _stays_here(held.getsockname()[0]):
                site.desk.log.event("open to the network without a key", level=logging.WARNING, address=where)
            if wyoming is not None and not _stays_here(wyoming.getsockname()[0]):
                heard = address(wyoming).replace("http:", "tcp:")
                site.desk.log.event("Wyoming has no keys: its port is open", level=logging.WARNING, address=heard)
            _warn_of_readers(key_file, site.desk.log)
            asyncio.run(server(site, chosen).run_with_pool(held, wyoming=wyoming))
    numbers = site.desk.metrics
    yield Tick(1, 1, where)
    voices = [one.name for one in pool.shown() if not one.fault]
    damaged = {one.name: one.fault for one in pool.shown() if one.fault}
    then = "" if pool.shown() else _next(places)
    return Served(where, voices, damaged, numbers.requests, round(numbers.seconds, 3), then)


def _warn_of_readers(key_file: Path | None, log: Log) -> None:
    from olu.serve.settings import others_may_read

    if key_file is not None and (mode := others_may_read(key_file)):
        advice = f"chmod 600 {shlex.quote(str(key_file))}"
        log.event("others can read the keys", level=logging.WARNING, mode=mode, advice=advice)


def _check_default(name: str, shelf: VoiceCatalog) -> None:
    voices = [entry.name for entry in shelf.entries if not entry.fault]
    if name and voices and name not in voices:
        raise ConfigError(f"--default-voice {name!r} is no voice here; there are: {', '.join(voices[:10])}")


def _check_words(words: Mapping[str, str], shelf: VoiceCatalog) -> None:
    """That every voice can say them: one that cannot would be there and answer nobody."""
    for entry in (one for one in shelf.entries if not one.fault):
        try:
            with_words(from_state(read_frontend(entry.path)), words)
        except LanguageError as bad:
            raise ConfigError(f"--lexicon and the voice {entry.name!r}: {bad}") from None


def _next(places: Sequence[Path]) -> str:
    """What brings the first voice to places that hold none."""
    ws = next((place for place in places if (place / "olu.toml").is_file()), None)
    if ws is not None:
        return f"olu export {shlex.quote(str(ws))} --to voice"
    return f"put voices (x.voice or x.zip) into {places[0]}"


def _stays_here(host: str) -> bool:
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback

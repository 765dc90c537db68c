"""What a server may be told: every field is an option of `olu serve` and acts."""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path

from pydantic import Field, field_validator, model_validator

from olu.core.config import Strict
from olu.core.errors import ConfigError
from olu.serve.process import KEY_VARIABLE, memory_share
from olu.serve.protocol import DEADLINE_SECONDS, MOST_TOKENS, SILENCE_SECONDS

SHORTEST_KEY = 8
BYTES_PER_CHARACTER = 12  # a letter outside the basic plane as two \uXXXX of JSON
ROOM_FOR_THE_REST = 16_384  # bytes of a body that are not the text
ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")


class ServeSettings(Strict):
    host: str = Field("127.0.0.1", min_length=1, max_length=255)
    port: int = Field(8080, ge=0, le=65_535)
    wyoming: str = Field("", max_length=300)  # PORT or HOST:PORT of Home Assistant's protocol; nothing: not spoken
    workers: int = Field(0, ge=0, le=256)  # 0: one per core
    queue: int = Field(64, ge=1, le=10_000)  # requests that wait or are being spoken
    queue_per_client: int = Field(0, ge=0, le=10_000)  # of these; 0: half of them, this machine as many as there are
    batch: int = Field(1, ge=1, le=256)  # chunks of different requests in one run of the network; on a CPU 1 is fastest
    loaded: int = Field(4, ge=1, le=1000)  # voices in the memory of each worker
    most_characters: int = Field(4096, ge=1, le=10_000_000)
    most_tokens: int = Field(MOST_TOKENS, ge=1, le=100_000_000)  # of a text when it is read
    most_seconds: float = Field(600.0, gt=0, le=86_400)
    most_body: int = Field(0, ge=0, le=1_000_000_000)  # bytes; 0: as the characters need
    most_connections: int = Field(512, ge=1, le=1_000_000)
    connections_per_client: int = Field(0, ge=0, le=1_000_000)  # of these; 0: a quarter, this machine as many as come
    rate_limit: int = Field(0, ge=0, le=1_000_000)  # requests a minute and client; 0: as many as come
    cors: tuple[str, ...] = ()
    trust_proxy: tuple[str, ...] = ()
    log_texts: bool = False
    patience: float = Field(10.0, gt=0, le=3600)  # seconds for the head and for the body of a request
    stall: float = Field(60.0, gt=0, le=3600)  # seconds a reader may take nothing
    grace: float = Field(30.0, ge=0, le=3600)  # seconds to finish what was begun
    deadline: float = Field(DEADLINE_SECONDS, gt=0, le=86_400)  # seconds a request may take
    watchdog: float = Field(SILENCE_SECONDS, gt=0, le=3600)  # seconds a worker may be silent
    worker_memory: int = Field(0, ge=0, le=16_000_000)  # MB for each worker; 0: its share of the machine's
    default_voice: str = Field("", max_length=200)  # who answers to OpenAI's names; nothing: the only voice

    @field_validator("cors")
    @classmethod
    def _origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if origin != "*" and not ORIGIN.fullmatch(origin):
                raise ValueError("an origin is like https://example.org, without a path; * is any")
        return origins

    @field_validator("wyoming")
    @classmethod
    def _wyoming_place(cls, place: str) -> str:
        if place:
            _, _, port = place.rpartition(":")
            if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
                raise ValueError("write PORT or HOST:PORT, such as 10200 or 0.0.0.0:10200")
        return place

    @field_validator("trust_proxy")
    @classmethod
    def _addresses(cls, addresses: tuple[str, ...]) -> tuple[str, ...]:
        for address in addresses:
            try:
                ipaddress.ip_network(address)
            except ValueError:
                raise ValueError("a proxy is named by its address, such as 10.0.0.2 or 10.0.0.0/24") from None
        return addresses

    @model_validator(mode="after")
    def _room(self) -> ServeSettings:
        if self.queue_per_client > self.queue:
            raise ValueError(f"queue_per_client has no effect above queue = {self.queue}")
        if self.connections_per_client > self.most_connections:
            raise ValueError(f"connections_per_client has no effect above most_connections = {self.most_connections}")
        return self

    @property
    def places(self) -> int:
        """How many places of the queue one client may have."""
        return self.queue_per_client or max(1, self.queue // 2)

    @property
    def connections(self) -> int:
        """How many connections one client may have at a time."""
        return self.connections_per_client or max(1, self.most_connections // 4)

    def memory_bytes(self, workers: int) -> int:
        """Bytes for each of so many workers; 0 where nothing can hold them to it."""
        return self.worker_memory * 1_000_000 or memory_share(workers)

    @property
    def wyoming_place(self) -> tuple[str, int] | None:
        """Host and port of Home Assistant's protocol; without a host, this machine alone."""
        host, _, port = self.wyoming.rpartition(":")
        return (host.strip("[]") or "127.0.0.1", int(port)) if port else None

    @property
    def body_bytes(self) -> int:
        return self.most_body or BYTES_PER_CHARACTER * self.most_characters + ROOM_FOR_THE_REST


def read_keys(file: Path | None) -> tuple[bytes, ...]:
    """The keys that open the server: lines of a file, else the environment's; none leaves it open."""
    if file is None:
        given = os.environ.get(KEY_VARIABLE, "").encode()
        where = KEY_VARIABLE
    else:
        where = str(file)
        try:
            given = file.read_bytes()
        except OSError as bad:
            raise ConfigError(f"{file} cannot be read ({bad.strerror}): check --api-key-file") from None
    keys = tuple(line.strip() for line in given.splitlines() if line.strip())
    if file is not None and not keys:
        raise ConfigError(f"{where} holds no key: write one into it, one a line")
    for key in keys:
        if len(key) < SHORTEST_KEY or not key.isascii() or b" " in key:
            raise ConfigError(f"{where}: a key has {SHORTEST_KEY} or more letters, digits and signs, without spaces")
    return keys


def others_may_read(file: Path) -> str:
    """Its mode, such as 644, where more than its owner can read it; where that cannot be told, nothing."""
    mode = file.stat().st_mode & 0o777
    return f"{mode:03o}" if os.name == "posix" and mode & 0o077 else ""

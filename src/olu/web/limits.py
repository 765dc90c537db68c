"""How often a client may ask, and how much at a time."""

from __future__ import annotations

import ipaddress
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_CLIENTS = 10_000  # remembered at a time; who was not seen for longest is forgotten


@dataclass
class Bucket:
    left: float
    seen: float


class RateLimit:
    """So many requests a minute for every client; unused ones add up to one minute's."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = per_minute, clock
        self._clients: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, client: str, *, cost: float = 1.0) -> float:
        """Take `cost` requests of a client; returns the seconds to wait, 0 where none. Cost 0 only asks."""
        if not self._most:
            return 0.0
        now, key = self._clock(), network(client)
        bucket = self._clients.pop(key, None) or Bucket(self._most, now)
        bucket.left = min(self._most, bucket.left + (now - bucket.seen) * self._most / 60)
        bucket.seen = now
        self._clients[key] = bucket
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        if bucket.left < 1:
            return (1 - bucket.left) * 60 / self._most
        bucket.left -= cost
        return 0.0


class ClientSlots:
    """So many requests of one client at a time; who has none is not remembered."""

    def __init__(self, most: int, *, loopback: bool) -> None:
        """`loopback`: whether this machine is held to it too, from where a proxy may ask for everybody."""
        self._most, self._loopback = most, loopback
        self._held: Counter[str] = Counter()

    @contextmanager
    def held(self, client: str) -> Iterator[bool]:
        """Hold a place for one request of a client; gives whether there was one."""
        key = network(client)
        if self._held[key] >= self._most and (self._loopback or not _is_loopback(client)):
            yield False
            return
        self._held[key] += 1
        try:
            yield True
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]


def _is_loopback(client: str) -> bool:
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def network(client: str) -> str:
    """What a client's address counts as: a whole /64 of IPv6, which one customer has."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False))
    return client

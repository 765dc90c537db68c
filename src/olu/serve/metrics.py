"""Numbers for Prometheus: of requests, of the sound they became, and of the pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from olu.serve.logs import CLIENT_LEFT, Trace

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = ("GET", "POST", "HEAD", "OPTIONS")
WHOLE = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
FIRST = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Labels come from closed sets, so that no client can make them many."""

    def __init__(self, state: Callable[[], dict[str, float]]) -> None:
        self._registry = held = CollectorRegistry()
        self._requests = Counter("olu_requests", "Requests", ["method", "path", "status"], registry=held)
        self._errors = Counter("olu_errors", "Refused or failed requests by code", ["code"], registry=held)
        self._whole = Histogram("olu_request_seconds", "Whole requests", ["path"], buckets=WHOLE, registry=held)
        self._first = Histogram("olu_first_byte_seconds", "To the first byte of sound", buckets=FIRST, registry=held)
        self._spoken = Counter("olu_spoken_seconds", "Sound given out", ["format"], registry=held)
        self._characters = Counter("olu_characters", "Characters asked for", registry=held)
        self._left = Counter("olu_clients_left", "Clients that went away early", registry=held)
        self._broken = Counter("olu_broken_sounds", "Sounds that ended too early", registry=held)
        held.register(Pooled(state))
        ProcessCollector(registry=held)
        self.requests, self.seconds = 0, 0.0

    def done(self, trace: Trace, *, path: str) -> None:
        method = trace.method if trace.method in METHODS else "other"
        status = CLIENT_LEFT if trace.left else trace.status
        self._requests.labels(method, path, str(status)).inc()
        self._whole.labels(path).observe(trace.seconds)
        if trace.code:
            self._errors.labels(trace.code).inc()
        if trace.first is not None:
            self._first.observe(trace.first)
        if trace.spoken:
            self._spoken.labels(trace.format).inc(trace.spoken)
        self._characters.inc(trace.characters)
        self._left.inc(trace.left)
        self._broken.inc(trace.broken)
        self.requests += 1
        self.seconds += trace.spoken

    def page(self) -> bytes:
        return generate_latest(self._registry)


class Pooled(Collector):
    """What the pool says of itself at the moment of asking."""

    def __init__(self, state: Callable[[], dict[str, float]]) -> None:
        self._state = state

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, value in sorted(self._state().items()):
            yield GaugeMetricFamily(f"olu_pool_{name}", f"The pool's {name.replace('_', ' ')}", value=value)

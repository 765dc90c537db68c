"""How figures are written, and the names of those that several recognisers make."""

from __future__ import annotations

from olu.evaluate.estimates import Estimate
from olu.evaluate.metrics import Metric, about

SECOND, WHISPER = "second_", "whisper_"
OPINION = "1 to 5"  # a scale, not a unit
WHO = {SECOND: "a second recogniser", WHISPER: "Whisper"}


def named(figure: str) -> Metric:
    """What a figure or a group is, for a page."""
    for prefix, who in WHO.items():
        if figure.startswith(prefix):
            base = about(figure.removeprefix(prefix))
            return Metric(f"{base.title} ({who})", base.better, base.explain)
    try:
        return about(figure)
    except KeyError:
        return Metric(figure.replace("_", " "), "lower", "")


def written(value: float | None, unit: str) -> str:
    """A number as people read it."""
    if value is None:
        return "–"
    if unit.startswith("share"):
        return f"{100 * value:.1f} %"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 or size == 0 else 3
    return f"{value:.{digits}f}{' ' + unit if unit and unit != OPINION else ''}"


def spread(figure: Estimate) -> str:
    return spread_of(figure.low, figure.high, figure.unit)


def spread_of(low: float | None, high: float | None, unit: str) -> str:
    """An interval, without its unit."""
    if low is None or high is None:
        return ""
    if unit.startswith("share"):
        return f"{100 * low:.1f} to {100 * high:.1f}"
    return f"{written(low, '')} to {written(high, '')}"

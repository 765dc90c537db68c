"""Curves as SVG, coloured by the page's own style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 460, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 26
MOST_POINTS = 400
SMOOTHING = 40  # parts of a curve that one smoothed value leans on
FLAT = 0.005  # a curve that moves by less than this share is drawn as one that stands


Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Curve:
    name: str
    points: Points
    colour: int = 0
    smooth: bool = False  # a noisy curve: drawn faint, with its trend over it


@dataclass(frozen=True)
class Band:
    """Between `low` and `high` at each step."""

    points: Sequence[tuple[float, float, float]]

    def at(self, step: float) -> tuple[float, float]:
        """Low and high at a step, between the points around it."""
        before = after = self.points[0]
        for after in self.points:
            if after[0] >= step:
                break
            before = after
        share = min(max((step - before[0]) / ((after[0] - before[0]) or 1.0), 0.0), 1.0)
        return before[1] + share * (after[1] - before[1]), before[2] + share * (after[2] - before[2])

    def until(self, end: float) -> list[tuple[float, float, float]]:
        held = [point for point in self.points if point[0] < end]
        return [*held, (end, *self.at(end))] if len(held) < len(self.points) else held


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    start: float
    length: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (math.log10(max(v, 1e-12)) if self.log else v for v in (self.low, self.high, value))
        return self.start + self.length * (min(max(at, low), high) - low) / ((high - low) or 1.0)


def chart(
    lines: Sequence[Curve],
    *,
    label: str,
    band: Band | None = None,
    marks: Sequence[tuple[float, str]] = (),
    steps: float = 0,
    log: bool = False,
) -> str:
    """`marks` are (step, words) of what happened there; `steps` is how far the axis reaches at least."""
    drawn = [Curve(x.name, _finite(x.points, log=log), x.colour, x.smooth) for x in lines]
    drawn = [line for line in drawn if line.points]
    if not drawn:
        return '<p class="soft">No figures yet.</p>'
    end = max([steps, 1.0, *(line.points[-1][0] for line in drawn)])
    shade = band.until(end) if band else []
    low, high = _range(drawn, shade, log=log)
    x = Axis(0.0, end, LEFT, WIDTH - LEFT - RIGHT)
    y = Axis(low, high, HEIGHT - BOTTOM, TOP + BOTTOM - HEIGHT, log)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">']
    ticks = _ticks(low, high, log=log)
    digits = next((n for n in (3, 4, 5) if len({f"{tick:.{n}g}" for tick in ticks}) == len(ticks)), 6)
    for tick in ticks:
        at = y(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="axis" x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:.{digits}g}</text>')
    for tick in _ticks(0.0, end, log=False):
        parts.append(f'<text class="axis" x="{x(tick):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{tick:,.0f}</text>')
    if len(shade) > 1:
        edge = [(x(s), y(high)) for s, _, high in shade] + [(x(s), y(low)) for s, low, _ in reversed(shade)]
        parts.append(f'<polygon class="band" points="{_joined(edge)}"/>')
    for step, words in marks:
        parts.append(
            f'<line class="mark" x1="{x(step):.1f}" x2="{x(step):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}">'
            f"<title>{escape(words)}</title></line>"
        )
    for line in drawn:
        parts.append(_path(line.points, x, y, f"line c{line.colour}{' faint' if line.smooth else ''}"))
        if line.smooth:
            parts.append(_path(smoothed(line.points), x, y, f"line c{line.colour}"))
    parts.append("</svg>")
    named = "".join(f'<span class="c{x.colour}">{escape(x.name)} <b>{_last(x):.4g}</b></span>' for x in drawn)
    return f'{"".join(parts)}<div class="legend">{named}</div>'


def smoothed(points: Points) -> list[tuple[float, float]]:
    """The trend of a noisy curve: a running mean that leans on the past only and begins at the first value."""
    keep = 1 - 1 / min(max(len(points) / SMOOTHING, 1.0), 50.0)
    total = weight = 0.0
    trend = []
    for step, value in points:
        total, weight = total * keep + value, weight * keep + 1
        trend.append((step, total / weight))
    return trend


def _last(line: Curve) -> float:
    return (smoothed(line.points) if line.smooth else line.points)[-1][1]


def _finite(points: Points, *, log: bool) -> list[tuple[float, float]]:
    return [(step, value) for step, value in points if math.isfinite(value) and (value > 0 or not log)]


def _range(
    lines: Sequence[Curve], shade: Points | Sequence[tuple[float, float, float]], *, log: bool
) -> tuple[float, float]:
    """What the axis shows: everything but single outliers, which would press all else flat."""
    held: list[float] = []
    for line in lines:
        values = sorted(value for _, value in line.points)
        held += [values[int(0.01 * len(values))], values[min(int(0.99 * len(values)), len(values) - 1)]]
    held += [value for point in shade for value in point[1:] if value > 0 or not log]
    low, high = min(held), max(held)
    if log:
        return low / 1.3, high * 1.3
    flat = high - low < FLAT * abs(high)  # else its ticks would all read the same
    room = abs(high) * 0.1 or 1.0 if flat else 0.06 * (high - low) or 1.0
    return (0.0 if 0 <= low <= room else low - room), high + room


def _ticks(low: float, high: float, *, log: bool) -> list[float]:
    if log and high / max(low, 1e-12) > 20:
        powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        return [10.0**power for power in powers][:: max(1, len(powers) // 5)]
    raw = (high - low) / 4 or 1.0
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(step * n, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _path(points: Points, x: Axis, y: Axis, style: str) -> str:
    thin = points[:: max(1, len(points) // MOST_POINTS)]
    shown = [*thin, points[-1]] if thin[-1] != points[-1] else list(thin)
    if len(shown) == 1:
        ((step, value),) = shown
        return f'<circle class="{style}" cx="{x(step):.1f}" cy="{y(value):.1f}" r="2.5"/>'
    return f'<polyline class="{style}" points="{_joined([(x(step), y(value)) for step, value in shown])}"/>'


def _joined(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in places)

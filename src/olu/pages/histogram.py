"""A histogram as SVG, coloured by the page's own style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from olu.core.words import many

WIDTH, HEIGHT = 460, 210
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 14, 40
MOST_BARS = 32


def histogram(values: Sequence[float], *, unit: str, limits: Sequence[tuple[float, str]] = ()) -> str:
    """Bars of equal width; `limits` are (value, style class) lines. What lies far out is counted in the last bar."""
    if not values:
        return '<p class="none">No clip to count.</p>'
    end = max(float(np.percentile(values, 99.5)) * 1.1, 1e-6)
    step = nice(end / MOST_BARS)
    bars = max(1, math.ceil(end / step))
    end = bars * step
    counts, _ = np.histogram(np.clip(values, 0.0, end * (1 - 1e-9)), bins=bars, range=(0.0, end))
    beyond = sum(value >= end for value in values)
    plot_width, plot_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    top = int(counts.max())

    def x(value: float) -> float:
        return LEFT + plot_width * value / end

    def y(count: float) -> float:
        return TOP + plot_height * (1 - count / top)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Clips by {escape(unit)}">']
    tall = max(1, round(nice(top / 4)))
    for count in range(0, top + 1, tall):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(count):.1f}" y2="{y(count):.1f}"/>')
        parts.append(f'<text class="axis" x="{LEFT - 6}" y="{y(count) + 4:.1f}" text-anchor="end">{count}</text>')
    gap = min(1.5, plot_width / bars / 6)
    for place, count in enumerate(counts):
        if count:
            left, right = x(place * step) + gap / 2, x((place + 1) * step) - gap / 2
            label = f"{place * step:g} to {(place + 1) * step:g} {unit}: {many(int(count), 'clip')}"
            if place == bars - 1 and beyond:
                label += f", {beyond} of them beyond"
            parts.append(
                f'<rect class="bar" x="{left:.1f}" y="{y(count):.1f}" width="{right - left:.1f}" '
                f'height="{TOP + plot_height - y(count):.1f}" rx="1"><title>{escape(label)}</title></rect>'
            )
    for value, style in limits:
        if 0 < value < end:
            parts.append(
                f'<line class="limit {style}" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{TOP}" '
                f'y2="{TOP + plot_height}"/>'
            )
    wide = nice(end / 8)
    for tick in range(int(end / wide + 1e-9) + 1):
        parts.append(
            f'<text class="axis" x="{x(tick * wide):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
            f"{tick * wide:g}</text>"
        )
    middle = LEFT + plot_width / 2
    parts.append(f'<text class="axis" x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(unit)}</text>')
    return "".join(parts) + "</svg>"


def nice(value: float) -> float:
    """The next 1, 2, 5 or ten of its kind at or above `value`."""
    scale = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(scale * step for step in (1, 2, 5, 10) if scale * step >= value * (1 - 1e-9))

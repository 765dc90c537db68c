"""Charts as SVG in one look: curves, a histogram, the melody of a sentence. The style sheet has their colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from olu.core.words import many
from olu.pages.render import fragment, render

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 460, 220
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 26
CAPTION = 16  # more room below, where the axis has a name
MOST_POINTS = 400
MOST_BARS = 32
SMOOTHING = 40  # parts of a curve that one smoothed value leans on
FLAT = 0.005  # a curve that moves by less than this share is drawn as one that stands
SVG = "http://www.w3.org/2000/svg"  # what a file of its own says that it is
MELODY_WIDTH, MELODY_HEIGHT, MELODY_ROOM = 900, 110, 6
ROW_HEIGHT, ROW_ROOM, PIXELS_A_SECOND = 260, 74, 420  # of a planned melody; below it stand tones, words and sounds

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
    start: float = LEFT
    length: float = WIDTH - LEFT - RIGHT
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
) -> Markup:
    """Curves over steps. `marks` are (step, words) of what happened there; `steps` is how far the axis reaches."""
    drawn = _drawable(lines, log=log)
    if not drawn:
        return fragment("no_figures.html")
    end = max([steps, 1.0, *(line.points[-1][0] for line in drawn)])
    shade = band.until(end) if band else []
    low, high = _range(drawn, shade, log=log)
    x, y = Axis(0.0, end), Axis(low, high, HEIGHT - BOTTOM, TOP + BOTTOM - HEIGHT, log)
    edge = [(x(s), y(top)) for s, _, top in shade] + [(x(s), y(base)) for s, base, _ in reversed(shade)]
    return _drawn(
        label,
        x_ticks=[(x(tick), f"{tick:,.0f}") for tick in _ticks(0.0, end, log=False)],
        y_ticks=_y_ticks(low, high, y, log=log),
        band=" ".join(f"{a:.1f},{b:.1f}" for a, b in edge) if len(shade) > 1 else "",
        marks=[(x(step), words, "") for step, words in marks],
        lines=_paths(drawn, x, y),
        legend=[(f"c{one.colour}", one.name, _trend(one)[-1][1]) for one in drawn],
    )


def rate_chart(
    losses: Points, trend: Points, *, label: str, ends: tuple[float, float], marks: Sequence[tuple[float, str]]
) -> Markup:
    """Losses over rates between `ends`, on a logarithmic scale, and their trend; `marks` are (rate, name)."""
    drawn = _drawable([Curve("loss", losses), Curve("trend", trend)], log=False)
    if not drawn:
        return fragment("no_figures.html", what="No figures.")
    lowest, highest = _range(drawn, (), log=False, most=0.97)
    x, y = Axis(*ends, log=True), Axis(lowest, highest, HEIGHT - BOTTOM, TOP + BOTTOM - HEIGHT)
    powers = range(round(math.log10(ends[0])), round(math.log10(ends[1])) + 1)
    held = [(x(rate), words) for rate, words in marks if ends[0] <= rate <= ends[1]]
    (_, every), *trends = _paths(drawn, x, y)
    return _drawn(
        label,
        x_ticks=[(x(10.0**power), f"1e{power}") for power in powers],
        y_ticks=_y_ticks(lowest, highest, y, log=False),
        marks=[(at, words, "") for at, words in held],
        notes=held,
        lines=[("c0 faint", every), *trends],
    )


def histogram(values: Sequence[float], *, unit: str, limits: Sequence[tuple[float, str]] = ()) -> Markup:
    """Bars of equal width; `limits` are (value, style class) lines. What lies far out is counted in the last bar."""
    if not values:
        return fragment("no_figures.html", what="No clip to count.")
    end = max(float(np.percentile(values, 99.5)) * 1.1, 1e-6)
    step = nice(end / MOST_BARS)
    bars = max(1, math.ceil(end / step))
    end = bars * step
    counts, _ = np.histogram(np.clip(values, 0.0, end * (1 - 1e-9)), bins=bars, range=(0.0, end))
    beyond = sum(value >= end for value in values)
    most, bottom = int(counts.max()), HEIGHT - BOTTOM - CAPTION
    x, y = Axis(0.0, end), Axis(0.0, most, bottom, TOP - bottom)
    gap = min(1.5, x.length / bars / 6)
    wide, tall = nice(end / 8), max(1, round(nice(most / 4)))

    def bar(place: int, count: int) -> dict[str, Any]:
        left, right = x(place * step) + gap / 2, x((place + 1) * step) - gap / 2
        words = f"{place * step:g} to {(place + 1) * step:g} {unit}: {many(count, 'clip')}"
        words += f", {beyond} of them beyond" if place == bars - 1 and beyond else ""
        return {"x": left, "y": y(count), "width": right - left, "height": bottom - y(count), "words": words}

    return _drawn(
        f"Clips by {unit}",
        x_ticks=[(x(tick * wide), f"{tick * wide:g}") for tick in range(int(end / wide + 1e-9) + 1)],
        y_ticks=[(y(count), str(count)) for count in range(0, most + 1, tall)],
        caption=unit,
        bars=[bar(place, int(count)) for place, count in enumerate(counts) if count],
        marks=[(x(value), "", style) for value, style in limits if 0 < value < end],
        bottom=bottom,
    )


@dataclass(frozen=True)
class PitchCurve:
    """Hertz over seconds; 0 where nothing is voiced."""

    times: NDArray[np.float64]
    hertz: NDArray[np.float64]


def melodies(natural: PitchCurve | None, spoken: PitchCurve, *, end: float) -> Markup:
    """Both melodies over one another, on a scale of semitones and on that of the pictures: up to `end` seconds."""
    both = [(style, name, one) for style, name, one in (("c1", "natural", natural), ("c0", "voice", spoken)) if one]
    voiced = np.concatenate([one.hertz[one.hertz > 0] for _, _, one in both])
    if len(voiced) == 0:
        return fragment("no_figures.html", what="No pitch was found.")
    low, high = (float(12 * np.log2(value)) for value in np.percentile(voiced, (1, 99)))
    low, high = low - 1, high + 1
    x = Axis(0.0, max(end, 1e-6), 0.0, MELODY_WIDTH)
    y = Axis(low, high, MELODY_HEIGHT - MELODY_ROOM, 2 * MELODY_ROOM - MELODY_HEIGHT)
    scale = f"{2 ** (low / 12):.0f} to {2 ** (high / 12):.0f} Hz"
    return _drawn(
        "Melody",
        kind="melody",
        width=MELODY_WIDTH,
        height=MELODY_HEIGHT,
        lines=[(style, run) for style, _, one in both for run in _voiced_runs(one, end, x, y)],
        legend=[*((style, name, None) for style, name, _ in both), ("soft", scale, None)],
    )


@dataclass(frozen=True)
class DrawnSound:
    """A sound of a planned melody: when it is heard, what is written on it, and its knots as (second, hertz)."""

    symbol: str
    tone: str
    start: float
    end: float
    knots: Points


def _hertz_axis(
    low: float, high: float, bottom: float, top: float
) -> tuple[list[tuple[float, str]], Callable[[float], float]]:
    """Ticks of the scale between two heights in semitones, and the place of a pitch in Hertz on it."""
    scale = Axis(low, high, bottom, top - bottom)
    ticks = [
        tick
        for tick in (50, 75, 100, 125, 150, 175, 200, 250, 300, 350, 400, 500, 600)
        if low <= 12 * math.log2(tick) <= high
    ]

    def y(hertz: float) -> float:
        return scale(12 * math.log2(hertz))

    return [(y(tick), f"{tick} Hz") for tick in ticks], y


def _melody_row(
    words: Sequence[tuple[str, float, float]], sounds: Sequence[DrawnSound], x: Axis, y: Callable[[float], float]
) -> dict[str, Any]:
    """What is drawn of one sentence, at its places on the page."""
    named = [((x(one.start) + x(one.end)) / 2, one) for one in sounds]
    tones = [(at, one.tone, "tone") for at, one in named if one.tone]
    return {
        "edges": [x(at) for _, first, last in words for at in (first, last)],
        "words": [((x(first) + x(last)) / 2, text) for text, first, last in words],
        "sounds": [(at, one.symbol, "") for at, one in named] + tones,
        "lines": [[(x(at), y(hertz)) for at, hertz in one.knots] for one in sounds],
        "dots": [
            (x(at), y(hertz), f"{one.symbol} {one.tone} {hertz:.0f} Hz".replace("  ", " "))
            for one in sounds
            for at, hertz in one.knots
        ],
    }


def melody_picture(label: str, rows: Sequence[tuple[Sequence[tuple[str, float, float]], Sequence[DrawnSound]]]) -> str:
    """An SVG file of sentences under each other, a dot for each knot; a row is (word, start, end) and sounds."""
    every = [12 * math.log2(hertz) for _, sounds in rows for sound in sounds for _, hertz in sound.knots] or [84.0]
    low, high = min(every) - 1, max(every) + 1
    longest = max([sounds[-1].end - sounds[0].start for _, sounds in rows if sounds] or [1.0])
    width = round(LEFT + RIGHT + PIXELS_A_SECOND * longest)
    drawn = []
    for number, (words, sounds) in enumerate(rows):
        top = number * ROW_HEIGHT + TOP
        bottom = top + ROW_HEIGHT - ROW_ROOM
        start = sounds[0].start if sounds else 0.0
        x = Axis(start, start + longest, LEFT, width - LEFT - RIGHT)
        ticks, y = _hertz_axis(low, high, bottom, top)
        drawn.append({"top": top, "bottom": bottom, "ticks": ticks, **_melody_row(words, sounds, x, y)})
    size = {"width": width, "height": max(1, len(rows)) * ROW_HEIGHT, "left": LEFT}
    return render("melody.svg", label=label, namespace=SVG, rows=drawn, **size)


def smoothed(points: Points) -> list[tuple[float, float]]:
    """The trend of a noisy curve: a running mean that leans on the past only and begins at the first value."""
    keep = 1 - 1 / min(max(len(points) / SMOOTHING, 1.0), 50.0)
    total = weight = 0.0
    trend = []
    for step, value in points:
        total, weight = total * keep + value, weight * keep + 1
        trend.append((step, total / weight))
    return trend


def nice(value: float, factors: Sequence[float] = (1, 2, 5, 10)) -> float:
    """The next 1, 2, 5 or ten of its kind at or above `value`."""
    scale = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(scale * step for step in factors if scale * step >= value * (1 - 1e-9))


def _drawn(
    label: str, *, width: int = WIDTH, height: int = HEIGHT, bottom: int = HEIGHT - BOTTOM, **parts: Any
) -> Markup:
    empty: dict[str, Any] = dict.fromkeys(("x_ticks", "y_ticks", "bars", "marks", "notes", "lines", "legend"), ())
    empty |= {"kind": "", "caption": "", "band": ""}
    edges = {"left": LEFT, "right": width - RIGHT, "top": TOP, "bottom": bottom}
    return fragment("chart.html", label=label, width=width, height=height, **edges, **empty | parts)


def _drawable(lines: Sequence[Curve], *, log: bool) -> list[Curve]:
    """Without values that are no numbers, and without curves of which nothing is left."""
    held = [(x, [(s, v) for s, v in x.points if math.isfinite(v) and (v > 0 or not log)]) for x in lines]
    return [Curve(x.name, points, x.colour, x.smooth) for x, points in held if points]


def _range(
    lines: Sequence[Curve], shade: Sequence[tuple[float, float, float]], *, log: bool, most: float = 0.99
) -> tuple[float, float]:
    """What the axis shows: everything but single outliers, which would press all else flat."""
    held: list[float] = []
    for line in lines:
        values = sorted(value for _, value in line.points)
        held += [values[int(0.01 * len(values))], values[min(int(most * len(values)), len(values) - 1)]]
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
    step = nice(((high - low) / 4 or 1.0) * 0.999, (1, 2, 2.5, 5, 10))
    first = math.ceil(low / step - 1e-9)
    return [round(step * n, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _y_ticks(low: float, high: float, y: Callable[[float], float], *, log: bool) -> list[tuple[float, str]]:
    """With as many digits as tell them apart."""
    ticks = _ticks(low, high, log=log)
    digits = next((n for n in (3, 4, 5) if len({f"{tick:.{n}g}" for tick in ticks}) == len(ticks)), 6)
    return [(y(tick), f"{tick:.{digits}g}") for tick in ticks]


def _trend(line: Curve) -> Points:
    return smoothed(line.points) if line.smooth else line.points


def _paths(lines: Sequence[Curve], x: Axis, y: Axis) -> list[tuple[str, list[tuple[float, float]]]]:
    """(style class, places on the page) of each line; a noisy one twice."""
    found = []
    for line in lines:
        for style, points in ((" faint", line.points), ("", _trend(line))) if line.smooth else (("", line.points),):
            thin = points[:: max(1, len(points) // MOST_POINTS)]
            shown = [*thin, points[-1]] if thin[-1] != points[-1] else thin
            found.append((f"c{line.colour}{style}", [(x(step), y(value)) for step, value in shown]))
    return found


def _voiced_runs(melody: PitchCurve, end: float, x: Axis, y: Axis) -> list[list[tuple[float, float]]]:
    """The places of each voiced stretch."""
    runs: list[list[tuple[float, float]]] = [[]]
    for time, hertz in zip(melody.times, melody.hertz, strict=True):
        if hertz <= 0 or time > end:
            runs.append([])
        else:
            runs[-1].append((x(time), y(12 * math.log2(hertz))))
    return [run for run in runs if len(run) > 1]

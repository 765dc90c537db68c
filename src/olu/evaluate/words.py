"""Figures in words: how they are written and called, each gate in a sentence, and one verdict."""

from __future__ import annotations

from collections.abc import Sequence

from olu.evaluate.estimates import FEW, Estimate
from olu.evaluate.evaluation import Domain, Gate, Level, worst
from olu.evaluate.metrics import GATES, Metric, about, verdict
from olu.evaluate.metrics.cer import NATURAL_MOST

SECOND, WHISPER = "second_", "whisper_"
OPINION = "1 to 5"  # a scale, not a unit
WHO = {SECOND: "a second recogniser", WHISPER: "Whisper"}
SPLIT: dict[Domain, str] = {"in": "sentences of the corpus", "out": "other sentences"}
FAULTY = (0.01, 0.05)  # more faulty files than natural speech has: passes up to, warns up to
LEADS: dict[Level, str] = {
    "pass": "This voice passes every gate that could be measured.",
    "warn": "This voice can be used, but listen to its worst sentences first.",
    "fail": "This voice is not good enough yet.",
    "unknown": "Too little could be measured, or trusted, to judge this voice.",
}
UNHEARD = "Whether it can be understood was not measured."
UNDERSTOOD = ("cer_difference", "hard_failures")


def named(figure: str) -> Metric:
    """What a figure or a group of figures is called and means."""
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


def gates(figures: Sequence[Estimate]) -> tuple[Gate, ...]:
    """The gates of all figures that have one; a recogniser that cannot be trusted decides nothing."""
    found = []
    for one in figures:
        level = _level(one)
        if level is None:
            continue
        said = f"{named(one.name).title.capitalize()}: {written(one.mean, one.unit)}, {_limit(one.name)}"
        if one.trust == "low" and one.name in UNDERSTOOD and not _is_plain(one, figures):
            level, said = "unknown", f"{said}, but not trustworthy: {one.reason}"
        found.append(Gate(name=one.name, level=level, said=f"{said}."))
    return tuple(found)


def verdict_of(held: Sequence[Gate]) -> tuple[Level, tuple[str, ...]]:
    """The level of a voice and why: the worst gate's; unknown where CER is, unless it fails anyway."""
    levels = [gate.level for gate in held]
    level = worst(levels) if levels else "unknown"
    heard = [gate.level for gate in held if gate.name == "cer_difference"]
    if level != "fail" and set(heard) <= {"unknown"}:
        level = "unknown"
    tells = {"pass": (), "unknown": ("unknown", "warn")}.get(level, (level,))
    why = [gate.said for gate in held if gate.level in tells]
    return level, (LEADS[level], *([UNHEARD] if level == "unknown" and not heard else []), *why)


def _is_plain(one: Estimate, figures: Sequence[Estimate]) -> bool:
    """Whether the whole interval of a CER figure fails, by a recogniser that hears people well enough."""
    natural = next((other.natural for other in figures if other.name == "cer"), None)
    sane = natural is not None and natural <= NATURAL_MOST and one.n >= FEW
    return sane and one.low is not None and one.low > GATES[one.name][1]


def _level(one: Estimate) -> Level | None:
    if one.name == "faults" and one.mean is not None:
        more = one.mean - (one.natural or 0.0)
        return "pass" if more <= FAULTY[0] else "warn" if more <= FAULTY[1] else "fail"
    return verdict(one)


def _limit(name: str) -> str:
    if name == "faults":
        return f"good up to {100 * FAULTY[0]:.0f} % more than natural speech"
    if name in GATES:
        good = GATES[name][0]
        shown = f"{100 * good:.0f} %" if name in (*UNDERSTOOD, "tone_pairs") else f"{good:g}"
        return f"good {'up to' if named(name).better == 'lower' else 'from'} {shown}"
    return "good as natural speech"

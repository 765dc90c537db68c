"""Two evaluations side by side: differences on the sentences both have, and a blind page to listen to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

from olu.core.types import Audio
from olu.evaluate.estimates import FEW, Interval, interval, nearer, paired
from olu.evaluate.evaluation import DOMAINS, Domain, Evaluation, SentenceResult
from olu.evaluate.metrics import METRICS
from olu.evaluate.report import LONGEST_SECONDS
from olu.evaluate.words import SPLIT, WHO, named, spread_of, written
from olu.pages import media
from olu.pages.render import render as render_page

Better = Literal["first", "second", "even", "unclear"]
Pair = tuple[SentenceResult, SentenceResult]
MOST_PLAYED = 24
WORDS = {
    "first": "first is better",
    "second": "second is better",
    "even": "neither is better",
    "unclear": "too few sentences to say",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One figure of both, and second - first on the sentences they share."""

    name: str
    domain: Domain
    unit: str
    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    n: int  # sentences they share and both could be measured on; 0: the plain means are compared
    better: Better


@dataclass(frozen=True, kw_only=True)
class Comparison:
    first: Evaluation
    second: Evaluation
    differences: tuple[Difference, ...]
    shared: int
    notes: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        return {
            "first": asdict(self.first.subject),
            "second": asdict(self.second.subject),
            "shared": self.shared,
            "differences": [asdict(one) for one in self.differences],
            "notes": list(self.notes),
        }


def compare(first: Evaluation, second: Evaluation) -> Comparison:
    differences = []
    for domain in DOMAINS:
        both = pairs(first, second, domain)
        names = [one.name for one in first.figures.get(domain, ()) if second.figure(one.name, domain)]
        differences += [_difference(first, second, name, domain, both) for name in names]
    shared = sum(len(pairs(first, second, domain)) for domain in DOMAINS)
    notes = []
    if not shared:
        notes.append("They have no sentence in common: only the means stand beside each other.")
    for one in (d for d in differences if d.name in ("cer", "mcd")):
        held = [e.figure(one.name, one.domain) for e in (first, second)]
        tools = list(dict.fromkeys(figure.instrument for figure in held if figure))
        if len(tools) > 1:
            title = named(one.name).title.capitalize()
            notes.append(f"{title} was measured by two instruments ({' and '.join(tools)}): do not compare")
    return Comparison(
        first=first, second=second, differences=tuple(differences), shared=shared, notes=tuple(dict.fromkeys(notes))
    )


def pairs(first: Evaluation, second: Evaluation, domain: Domain) -> list[Pair]:
    """The sentences both have spoken: the same text, of the same clip where both have it."""
    known = {(item.id, item.text): item for item in second.of(domain)}
    by_text = {item.text: item for item in second.of(domain)}
    found = [(item, known.get((item.id, item.text)) or by_text.get(item.text)) for item in first.of(domain)]
    return [(one, other) for one, other in found if other is not None]


def _difference(first: Evaluation, second: Evaluation, name: str, domain: Domain, both: list[Pair]) -> Difference:
    one, two = first.figure(name, domain), second.figure(name, domain)
    assert one and two
    values = [(first.value(a, name), second.value(b, name)) for a, b in both]
    before, after = [a for a, _ in values], [b for _, b in values]
    weights = _weights(name, both)
    found = paired(before, after, weights=weights, middle=one.middle) if values else interval([])
    target = {"one": 1.0, "zero": 0.0, "natural": one.natural}.get(named(name).better)
    away = found if target is None else nearer(before, after, target=target, weights=weights, middle=one.middle)
    difference = found.middle
    if difference is None and one.mean is not None and two.mean is not None:
        difference = two.mean - one.mean
    return Difference(
        name=name,
        domain=domain,
        unit=one.unit,
        first=one.mean,
        second=two.mean,
        difference=difference,
        low=found.low,
        high=found.high,
        n=found.n,
        better=_better(name, away, natural=one.natural),
    )


def _weights(name: str, both: list[Pair]) -> list[float] | None:
    """Rates are over all letters or words, as the figures themselves are."""
    for prefix in WHO:
        name = name.removeprefix(prefix)
    if name.startswith("cer"):
        return [float(len(a.expected or a.text)) for a, _ in both]
    return [float(len((a.expected or a.text).split())) for a, _ in both] if name.startswith("wer") else None


def _better(name: str, found: Interval, *, natural: float | None) -> Better:
    """Who is better, where the interval leaves no doubt: of the difference, or of how far each is from its target."""
    low, high = found.low, found.high
    better = named(name).better
    if low is None or high is None or found.n < FEW or (better == "natural" and natural is None):
        return "unclear"
    if low <= 0 <= high:
        return "even"
    return "second" if (high < 0) == (better != "higher") else "first"


# ------------------------------------------------------------ the page


def render(
    comparison: Comparison,
    *,
    hear: Callable[[SentenceResult, SentenceResult], tuple[Audio, Audio] | None],
    listen: str | None,
    natural: Callable[[SentenceResult], Audio | None] = lambda item: None,
) -> str:
    """The comparison as HTML. `hear`: both sides of a sentence; `natural`: its recording; `listen`: blind page."""
    return render_page(
        "comparison.html",
        comparison=comparison,
        lead=said(comparison),
        listen=listen,
        words=WORDS,
        split=SPLIT,
        named=named,
        written=written,
        spread_of=spread_of,
        sentences=list(islice(_sentences(comparison, hear, natural), MOST_PLAYED)),
    )


def table_of_two(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """The main figures as rows for a terminal."""
    rows = []
    for one in comparison.differences:
        if one.name in METRICS and not METRICS[one.name].main:
            continue
        between = spread_of(one.low, one.high, one.unit)
        difference = (
            f"{written(one.difference, one.unit)} ({between})" if between else written(one.difference, one.unit)
        )
        cells = [written(one.first, one.unit), written(one.second, one.unit), difference]
        where = f" ({SPLIT[one.domain]})" if one.domain == "out" else ""
        rows.append([f"{named(one.name).title}{where}", *cells, str(one.n), WORDS[one.better]])
    return ["figure", "first", "second", "second - first", "n", ""], rows


def said(comparison: Comparison) -> str:
    """One sentence of who wins where."""
    parts = []
    for side, subject in (("first", comparison.first.subject), ("second", comparison.second.subject)):
        won = [
            named(d.name).title
            for d in comparison.differences
            if d.better == side and d.domain == "in" and named(d.name).main
        ]
        if won:
            parts.append(f"{subject.name} is better in {', '.join(won)}")
    if not parts:
        return "No main figure tells them apart on the sentences they share."
    return f"{'; '.join(parts)}. All else is within what chance does to so few sentences."


def _sentences(
    comparison: Comparison,
    hear: Callable[[SentenceResult, SentenceResult], tuple[Audio, Audio] | None],
    natural: Callable[[SentenceResult], Audio | None],
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The text of each sentence that can be heard, and (whose it is, its sound)."""
    names = comparison.first.subject.name, comparison.second.subject.name
    for domain in DOMAINS:
        for one, two in pairs(comparison.first, comparison.second, domain):
            if (sounds := hear(one, two)) is None:
                continue
            sides = list(zip(names, sounds, strict=True))
            if (recorded := natural(one)) is not None:
                sides.insert(0, ("Recording", recorded))
            yield one.text, [(name, media.mp3_uri(media.first_seconds(a, LONGEST_SECONDS))) for name, a in sides]

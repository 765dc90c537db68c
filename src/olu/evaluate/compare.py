"""Two evaluations side by side: differences on the sentences both have, and a blind page to listen to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Literal

from olu.core.types import Audio
from olu.evaluate.estimates import FEW, Interval, interval, nearer, paired
from olu.evaluate.evaluation import DOMAINS, Domain, Evaluation, SentenceResult
from olu.evaluate.format import WHO, named, spread_of, written
from olu.evaluate.page import page
from olu.evaluate.players import player
from olu.evaluate.report import SPLIT

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
    """`hear` gives both sides of a sentence, `natural` its recording where there is one; `listen` is the blind page."""
    one, two = comparison.first.subject, comparison.second.subject
    title = f"{one.name} and {two.name}"
    notes = "".join(f'<p class="warn">{escape(note)}</p>' for note in comparison.notes)
    blind = ""
    if listen is not None:
        blind = (
            f'<p>To hear without knowing which is which: <a href="{escape(listen)}">the blind listening page</a>.</p>'
        )
    body = (
        f"<h1><bdi>{escape(one.name)}</bdi> and <bdi>{escape(two.name)}</bdi></h1>"
        f'<p class="lead">{escape(said(comparison))}</p>{notes}'
        f"{blind}{_table(comparison)}{_players(comparison, hear, natural)}"
        f"<h2>Facts</h2>{_facts(comparison)}"
    )
    return page(title, body)


KNOWN = {"kind": "what it is", "run": "run", "step": "step", "noise": "noise it spoke with", "language": "language"}


def _facts(comparison: Comparison) -> str:
    """What tells the two apart, side by side; comparison.json beside the page has all of it."""
    sides = [asdict(one.subject) for one in (comparison.first, comparison.second)]
    rows = [(said, *(_fact(side[key]) for side in sides)) for key, said in KNOWN.items()]
    rows += [("sentences", str(len(comparison.first.items)), str(len(comparison.second.items)))]
    rows += [("sentences both have", str(comparison.shared), str(comparison.shared))]
    names = "".join(f"<th>{escape(side['name'])}</th>" for side in sides)
    cells = "".join(
        f'<tr><th scope="row">{escape(said)}</th><td>{escape(one)}</td><td>{escape(two)}</td></tr>'
        for said, one, two in rows
    )
    return f'<div class="scroll"><table><thead><tr><th></th>{names}</tr></thead><tbody>{cells}</tbody></table></div>'


def _fact(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


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


def _table(comparison: Comparison) -> str:
    rows = []
    for one in comparison.differences:
        about, between = named(one.name), spread_of(one.low, one.high, one.unit)
        colour = {"first": "c1", "second": "c0"}.get(one.better, "soft")
        basis = f"{between}, n = {one.n}" if one.n else "means only"
        rows.append(
            f'<tr><th scope="row">{escape(about.title.capitalize())}<small>{SPLIT[one.domain]}</small></th>'
            f'<td class="n" data-label="first">{written(one.first, one.unit)}</td>'
            f'<td class="n" data-label="second">{written(one.second, one.unit)}</td>'
            f'<td class="n" data-label="second - first">{written(one.difference, one.unit)}<small>{basis}</small></td>'
            f'<td><span class="{colour}">{WORDS[one.better]}</span></td></tr>'
        )
    names = "".join(f'<th class="n">{escape(one.subject.name)}</th>' for one in (comparison.first, comparison.second))
    return (
        '<h2>Figures</h2><p class="soft">Differences are of the same sentences, with their 95 % interval.</p>'
        f'<div class="scroll"><table class="figures"><thead><tr><th>Figure</th>{names}<th class="n">Difference</th>'
        f"<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _players(
    comparison: Comparison,
    hear: Callable[[SentenceResult, SentenceResult], tuple[Audio, Audio] | None],
    natural: Callable[[SentenceResult], Audio | None],
) -> str:
    shown: list[str] = []
    for domain in DOMAINS:
        for one, two in pairs(comparison.first, comparison.second, domain):
            if len(shown) == MOST_PLAYED or (sounds := hear(one, two)) is None:
                continue
            sides = "".join(
                f"<div><h4>{escape(subject.name)}</h4>{player(sound, label=escape(subject.name))}</div>"
                for subject, sound in zip((comparison.first.subject, comparison.second.subject), sounds, strict=True)
            )
            if (recorded := natural(one)) is not None:
                sides = f"<div><h4>Recording</h4>{player(recorded, label='recording')}</div>{sides}"
            shown.append(
                f'<div class="item"><p class="said" dir="auto">{escape(one.text)}</p>'
                f'<div class="sides">{sides}</div></div>'
            )
    return f"<h2>Side by side</h2>{''.join(shown)}" if shown else ""

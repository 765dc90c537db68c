"""An evaluation as rows for a terminal."""

from __future__ import annotations

from olu.evaluate.compare import WORDS, Comparison
from olu.evaluate.evaluation import DOMAINS, Evaluation
from olu.evaluate.format import named, spread, spread_of, written
from olu.evaluate.metrics import METRICS
from olu.evaluate.report import SPLIT


def table_of(evaluation: Evaluation) -> tuple[list[str], list[list[str]]]:
    """The main figures; the report and --json have all."""
    domains = [domain for domain in DOMAINS if evaluation.figures.get(domain)]
    rows = []
    for name, metric in METRICS.items():
        held = [evaluation.figure(name, domain) for domain in domains]
        first = next((one for one in held if one is not None and one.mean is not None), None)
        if first is None or not metric.main:
            continue
        cells = [
            ""
            if one is None or one.mean is None
            else f"{written(one.mean, one.unit)} ({spread(one)})".replace(" ()", "")
            for one in held
        ]
        rows.append([named(name).title, *cells, written(first.natural, first.unit), str(first.n), first.trust])
    return ["figure", *(SPLIT[domain] for domain in domains), "natural", "n", "trust"], rows


def table_of_two(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
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

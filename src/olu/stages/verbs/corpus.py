"""What the verbs take that make, fill and look after a corpus."""

from __future__ import annotations

from pathlib import Path

from olu.core.options import Verb, option, options, workspace


@options
class SplitOptions:
    ws: Path = workspace(here=True)
    valid: float | None = option("For validation; 0.04 at first.", metavar="SHARE", least=0, most=0.5)
    test: float | None = option("For tests; 0.04 at first.", metavar="SHARE", least=0, most=0.5)
    seed: int | None = option("Another number, another split.", metavar="N")


VERBS = (
    Verb(
        "split",
        "Choose which clips train and which are kept for validation and tests.",
        SplitOptions,
        "olu.stages.split:run",
    ),
)

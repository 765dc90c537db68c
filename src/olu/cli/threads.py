"""--threads, for every verb that computes with torch."""

from __future__ import annotations

from typing import Any

import typer

from olu.cli.show import warn

THREADS: Any = typer.Option(
    None, "--threads", metavar="N", min=1, help="Threads of torch; default: as many as cores are free."
)


def settle_threads(number: int | None, *, quiet: bool = False) -> None:
    """`quiet`: the stage says itself what was chosen."""
    from olu.stages.threads import ask_for, choose, said_of

    ask_for(number)
    for sentence in [] if quiet else said_of(choose()):
        warn(sentence)

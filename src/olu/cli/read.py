"""olu read, olu g2p"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from olu.cli.show import followed, print_json, quoted, say, table
from olu.errors import ConfigError

if TYPE_CHECKING:
    from olu.types import Reading

LANGUAGE = typer.Option(None, "--language", "-l", help="Read a text in this language instead of a workspace.")
JSON = typer.Option(False, "--json", help="Print JSON: one object, or one per line with --lines.")
LINES = typer.Option(None, "--lines", metavar="FILE", help="Read every line of a file.")


def register(app: typer.Typer) -> None:
    @app.command()
    def read(
        what: str | None = typer.Argument(None, metavar="[WS|TEXT]", help="A workspace, or with --language a text."),
        language: str | None = LANGUAGE,
        lines: Path | None = LINES,
        as_json: bool = JSON,
    ) -> None:
        """Turn text into the symbols that will be spoken: a workspace's transcripts, or any text."""
        if language is not None:
            _texts(language, what, lines, as_json=as_json)
        elif what is None or lines is not None:
            raise ConfigError("name a workspace, or give --language CODE and a text")
        else:
            _workspace(Path(what), as_json=as_json)

    @app.command()
    def g2p(
        text: str | None = typer.Argument(None, help="The text."),
        language: str = typer.Option(..., "--language", "-l", help="Language code: am, amh, am-ET, ig, es, swa ..."),
        lines: Path | None = LINES,
        as_json: bool = JSON,
    ) -> None:
        """Turn a text into the symbols that will be spoken (the same as read --language)."""
        _texts(language, text, lines, as_json=as_json)


def _texts(language: str, text: str | None, lines: Path | None, *, as_json: bool) -> None:
    from olu.stages.g2p import read_lines, read_text

    if (text is None) == (lines is None):
        raise ConfigError("give either a text or --lines FILE")
    readings = read_lines(lines, language=language) if lines else [read_text(text or "", language=language)]
    for reading in readings:
        if as_json:
            print_json(_row(reading))
        else:
            say(" ".join(reading.symbols()) if reading.words else "(nothing to say)")
            if reading.dropped:
                say(f"  not read: {_counts(reading.dropped)}")


def _row(reading: Reading) -> dict[str, Any]:
    return {**reading.row(), "symbols": reading.symbols()}


def _workspace(ws: Path, *, as_json: bool) -> None:
    from dataclasses import asdict

    from olu.files import Workspace
    from olu.stages.read import read_corpus

    summary, busy = followed(read_corpus(Workspace.open(ws)), label="reading")
    if as_json:
        print_json(asdict(summary))
        return
    say(f"{summary.clips} transcripts, {len(summary.symbols)} symbols")
    rows = [[symbol, str(count)] for symbol, count in list(summary.symbols.items())[:12]]
    table("most frequent", ["symbol", "times"], rows)
    if summary.rare:
        say(f"rare, hard to learn: {_counts(summary.rare)}")
    if summary.dropped:
        say(f"not read: {_counts(summary.dropped)}")
    if summary.empty:
        say(f"nothing to say in {len(summary.empty)} clips: {', '.join(summary.empty[:5])}")
    if not busy:
        say("The corpus has not changed since it was read: nothing was done again.")
    say(f"Next: olu train {quoted(ws)}")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{symbol!r} x{count}" for symbol, count in list(counts.items())[:20])

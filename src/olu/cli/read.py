"""olu read, olu g2p"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from olu.cli.doubts import show_standing
from olu.cli.show import followed, many, print_json, say, table
from olu.core.errors import ConfigError
from olu.core.rows import as_row

if TYPE_CHECKING:
    from olu.core.types import Reading
    from olu.text.frontend import ReadingSettings
    from olu.text.language_data import ReadingTrace

LANGUAGE = typer.Option(None, "--language", "-l", help="Read a text in this language instead of a workspace.")
JSON = typer.Option(False, "--json", help="Print JSON: one object, or one per line with --lines.")
LINES = typer.Option(None, "--lines", metavar="FILE", help="Read every line of a file.")
DIALECT = typer.Option(None, "--dialect", help="One of the language's dialects, such as es-ES.")
SYMBOLS = typer.Option(None, "--symbols", help="phones or characters; auto takes phones where the language has them.")
MARKS = typer.Option(None, "--marks", help="Tones and stress as symbols: vowel (on their vowel), separate or none.")
OPTION = typer.Option([], "--option", metavar="NAME=VALUE", help="An option of the language ('olu languages CODE').")
LEXICON = typer.Option(None, "--lexicon", metavar="FILE", help="Your own words: a .tsv of spelling, tab, phones.")
EXPLAIN = typer.Option(False, "--explain", help="Show what each step did and which rule fired.")


def register(app: typer.Typer) -> None:
    @app.command()
    def read(
        what: str | None = typer.Argument(None, metavar="[WS|TEXT]", help="A workspace, or with --language a text."),
        language: str | None = LANGUAGE,
        lines: Path | None = LINES,
        dialect: str | None = DIALECT,
        symbols: str | None = SYMBOLS,
        marks: str | None = MARKS,
        option: list[str] = OPTION,
        lexicon: Path | None = LEXICON,
        explain: bool = EXPLAIN,
        as_json: bool = JSON,
    ) -> None:
        """Turn text into the symbols that will be spoken: a workspace's transcripts, or any text."""
        chosen = _chosen(dialect=dialect, symbols=symbols, marks=marks, option=option, lexicon=lexicon)
        if language is not None:
            _texts(language, what, lines, chosen, explain=explain, as_json=as_json)
        elif what is None or lines is not None or explain:
            raise ConfigError("name a workspace, or give --language CODE and a text")
        else:
            _workspace(Path(what), chosen, as_json=as_json)

    @app.command()
    def g2p(
        text: str | None = typer.Argument(None, help="The text."),
        language: str = typer.Option(..., "--language", "-l", help="Language code: am, amh, am-ET, ig, es, swa ..."),
        lines: Path | None = LINES,
        dialect: str | None = DIALECT,
        symbols: str | None = SYMBOLS,
        marks: str | None = MARKS,
        option: list[str] = OPTION,
        lexicon: Path | None = LEXICON,
        explain: bool = EXPLAIN,
        as_json: bool = JSON,
    ) -> None:
        """Turn a text into the symbols that will be spoken (the same as read --language)."""
        chosen = _chosen(dialect=dialect, symbols=symbols, marks=marks, option=option, lexicon=lexicon)
        _texts(language, text, lines, chosen, explain=explain, as_json=as_json)


def _chosen(
    *, dialect: str | None, symbols: str | None, marks: str | None, option: list[str], lexicon: Path | None
) -> dict[str, Any]:
    """What was given, under the names that reading.toml has."""
    options = {}
    for item in option:
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ConfigError(f"--option {item!r} is not NAME=VALUE: write for example --option tone_convention=full")
        options[name.strip()] = value.strip()
    given = {"dialect": dialect, "symbols": symbols, "marks": marks, "lexicon": str(lexicon) if lexicon else None}
    return {name: value for name, value in given.items() if value is not None} | (
        {"options": options} if options else {}
    )


def _texts(
    language: str, text: str | None, lines: Path | None, chosen: dict[str, Any], *, explain: bool, as_json: bool
) -> None:
    from olu.stages.g2p import chosen_settings, explain_text, read_lines, read_text

    if (text is None) == (lines is None):
        raise ConfigError("give either a text or --lines FILE")
    if explain and lines is not None:
        raise ConfigError("--explain is for one text: leave --lines out")
    settings = chosen_settings(chosen)
    if explain:
        _explain(*explain_text(text or "", language=language, settings=settings), as_json=as_json)
        return
    one = None if lines else read_text(text or "", language=language, settings=settings)
    for reading in [one] if one else read_lines(lines or Path(), language=language, settings=settings):
        if as_json:
            print_json(_row(reading, settings))
        else:
            _show(reading, settings)


def _show(reading: Reading, settings: ReadingSettings) -> None:
    say(" ".join(reading.symbols(settings.marks)) if reading.words else "(nothing to say)")
    if reading.dropped:
        say(f"  not read: {_counts(reading.dropped)}")


def _explain(reading: Reading, notes: ReadingTrace, *, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        print_json({**as_row(reading), "symbols": reading.symbols(), "steps": [asdict(step) for step in notes.steps]})
        return
    say(f"text     {reading.text}")
    stages = list(dict.fromkeys(step.stage for step in notes.steps))
    for stage in stages:
        table(
            stage, ["rule", "before", "after"], [[s.rule, s.before, s.after] for s in notes.steps if s.stage == stage]
        )
    say(f"normal   {reading.normal}")
    rows = [
        [w.text, " ".join(w.phones), " ".join(w.tones), "" if w.stress is None else w.phones[w.stress]]
        for w in reading.words
    ]
    table("words", ["word", "phones", "tones", "stress"], rows)
    say(f"symbols  {' '.join(reading.symbols()) if reading.words else '(nothing to say)'}")
    if reading.dropped:
        say(f"not read {_counts(reading.dropped)}")


def _row(reading: Reading, settings: ReadingSettings) -> dict[str, Any]:
    return {**as_row(reading), "symbols": reading.symbols(settings.marks)}


def _workspace(ws: Path, chosen: dict[str, Any], *, as_json: bool) -> None:
    from dataclasses import asdict

    from olu.core.files import Workspace
    from olu.stages.next_training import training_advice, training_command
    from olu.stages.read import kept_lexicons, read_corpus
    from olu.text.frontend import change_settings

    opened = Workspace.open(ws)
    if chosen:
        change_settings(opened, chosen)
    summary, busy = followed(read_corpus(opened), label="reading")
    if as_json:
        print_json(asdict(summary))
        return
    chosen_options = "".join(f", {name} = {value}" for name, value in summary.options.items())
    read = f"{many(summary.clips, 'transcript')}, {many(len(summary.symbols), 'symbol')}"
    say(f"{read} ({summary.kind}{chosen_options})")
    rows = [[symbol, str(count)] for symbol, count in list(summary.symbols.items())[:12]]
    table("most frequent", ["symbol", "times"], rows)
    if summary.rare:
        say(f"rare, hard to learn: {_counts(summary.rare)}")
    if summary.dropped:
        say(f"not read: {_counts(summary.dropped)}")
        first, clips = next(iter(summary.dropped_in.items()))
        say(f"  {first!r} stands for example in {', '.join(clips)}")
    if summary.empty:
        say(f"nothing to say in {many(len(summary.empty), 'clip')}: {', '.join(summary.empty[:5])}")
    for wrong in summary.broken[:5]:
        say(f"malformed markup in {wrong}")
    if not busy:
        say("The corpus has not changed since it was read: nothing was done again.")
    for kept in kept_lexicons(opened):
        say(kept)
    show_standing(opened.root)
    following = training_command(opened)
    if " --base " in following and (advice := training_advice(opened)):
        say(advice.sentence())
    say(f"Next: {following}")


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{symbol!r} x{count}" for symbol, count in list(counts.items())[:20])

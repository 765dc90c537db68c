"""olu compare"""

from __future__ import annotations

from pathlib import Path

import typer

from olu.cli.show import follow, print_json, say, table, warn
from olu.cli.threads import THREADS, settle_threads
from olu.core.errors import ConfigError


def register(app: typer.Typer) -> None:
    @app.command()
    def compare(
        first: Path | None = typer.Argument(None, metavar="A", help="An evaluation, a voice or a workspace."),
        second: Path | None = typer.Argument(None, metavar="B", help="Another one."),
        choices: list[Path] = typer.Option([], "--choices", metavar="FILE", help="Count what listeners chose."),
        corpus: Path | None = typer.Option(None, "--corpus", metavar="WS", help="For voices: their recordings."),
        sentences: int = typer.Option(50, "--sentences", metavar="N", help="Where one is evaluated first."),
        only: str = typer.Option("", "--only", metavar="NAMES", help="Where one is evaluated first: cer,mcd"),
        trials: int = typer.Option(20, "--trials", metavar="N", help="Sentences on the blind page."),
        seed: int = typer.Option(0, "--seed", help="Of the order in which they are heard."),
        device: str | None = typer.Option(None, "--device", help="cpu, cuda, cuda:1 or mps, for the recogniser."),
        threads: int | None = THREADS,
        out: Path | None = typer.Option(None, "-o", "--output", metavar="FOLDER", help="Where the pages are written."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Put two voices side by side, and make a page to choose between them blindly."""
        if choices:
            if first or second:
                raise ConfigError("--choices counts what was chosen: it takes no A and B")
            _count(choices, as_json=as_json)
            return
        if first is None or second is None:
            raise typer.BadParameter("Missing argument 'A B'.")
        from olu.evaluate.compare import table_of_two
        from olu.stages.compare import compare as stage
        from olu.stages.evaluate import EvaluateOptions

        settle_threads(threads)
        names = tuple(name.strip() for name in only.split(",") if name.strip())
        wish = EvaluateOptions(corpus=corpus, sentences=sentences, only=names, device=device)
        work = stage(first, second, wish=wish, trials=trials, seed=seed, out=out)
        summary = follow(work, label="comparing")
        if as_json:
            pages = {"page": str(summary.page), "listen": str(summary.listen) if summary.trials else None}
            print_json({"folder": str(summary.folder), **pages, **summary.comparison.row()})
            return
        columns, rows = table_of_two(summary.comparison)
        one, two = summary.comparison.first.subject.name, summary.comparison.second.subject.name
        say(f"First: {one}. Second: {two}. Sentences both have: {summary.comparison.shared}.")
        table("", columns, rows)
        for note in summary.comparison.notes:
            warn(note)
        say(f"Page: {summary.page}")
        if summary.trials:
            say(f"To choose blindly between {summary.trials} pairs: {summary.listen}")
            say("Then: olu compare --choices choices.json")


def _count(files: list[Path], *, as_json: bool) -> None:
    from olu.stages.compare import choices as counted_of

    counted, sentences = counted_of(files)
    if as_json:
        print_json(counted.row())
        return
    for line in sentences:
        say(line)
    if len(counted.listeners) > 1:
        rows = [[name, str(p.first), str(p.second), str(p.equal)] for name, p in counted.listeners]
        table("", ["listener", counted.first, counted.second, "no difference"], rows)

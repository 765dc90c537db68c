"""olu plan"""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from olu.cli.doubts import show_standing
from olu.cli.here import WS
from olu.cli.show import follow, length, print_json, say, size, table, warn
from olu.core.errors import ConfigError
from olu.core.escape import lines


def register(app: typer.Typer) -> None:
    @app.command()
    def plan(
        ws: Path = WS,
        base: Path | None = typer.Option(None, "--base", help="Fine-tune this: a folder, a file or a hub id."),
        from_scratch: bool = typer.Option(
            False, "--from-scratch", help="Without a base, though there is too little speech for that."
        ),
        changes: list[str] = typer.Option([], "--set", metavar="KEY=VALUE", help="Plan around this: plan.steps=5000"),
        device: str | None = typer.Option(
            None, "--device", help="cpu, cuda, cuda:1 or mps; default: the best there is"
        ),
        measure: bool = typer.Option(False, "--measure", help="Time a step here instead of predicting it."),
        only_print: bool = typer.Option(False, "--print", help="Print the recipe and write nothing."),
        force: bool = typer.Option(False, "--force", help="Write over a recipe that was edited by hand."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Write a recipe that suits corpus and machine, with the reason for every setting."""
        from dataclasses import asdict

        from olu.core.files import Workspace
        from olu.stages.plan import plan as stage

        if from_scratch and base:
            raise ConfigError("--from-scratch and --base exclude each other: leave one out")
        work = stage(
            Workspace.open(ws),
            base=base,
            overrides=changes,
            device=device,
            measure=measure,
            write=not only_print,
            force=force,
            scratch=from_scratch,
        )
        made = follow(work, label="plan")
        if as_json:
            print_json(asdict(made))
            return
        if only_print:
            sys.stdout.write(lines(made.text))
            return
        rows = [[one["key"], str(one["value"]), one["reason"]] for one in made.settings]
        table("", ["setting", "value", "why"], rows)
        for note in made.notes:
            warn(f"note: {note}")
        expected = f"{length(made.hours_expected * 3600)} ({made.pace}), {size(made.memory_bytes)} of memory"
        say(f"Expected: {expected}. Written: {made.recipe}")
        show_standing(ws)
        if made.advice:
            say(made.advice)
        say(f"Next: {made.next}")

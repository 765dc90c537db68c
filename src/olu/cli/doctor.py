"""olu doctor"""

from __future__ import annotations

import typer

from olu.cli.show import print_json, say, warn


def register(app: typer.Typer) -> None:
    @app.command()
    def doctor(
        fetch: bool = typer.Option(
            False, "--install-eval", help="Install what 'olu audit --deep' and 'olu evaluate' listen with."
        ),
        base: str | None = typer.Option(
            None, "--base", help="Fetch this base and load it: a path, or an id on the hub."
        ),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """Say what this machine has and what it can do."""
        from olu.stages.doctor import doctor as stage
        from olu.stages.doctor import install_eval

        if fetch:
            warn(install_eval())
        findings = stage(base=base)
        if as_json:
            print_json({f.what: {"good": f.good, "needed": f.needed, "said": f.said} for f in findings})
        else:
            for finding in findings:
                mark = "ok " if finding.good else "BAD" if finding.needed else "-  "
                say(f"{mark} {finding.what}: {finding.said}")
        if not all(finding.good for finding in findings if finding.needed):
            raise typer.Exit(2)

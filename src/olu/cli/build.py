"""Commands made from the declarations of the verbs: what typer is told, how a verb runs, what is printed."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Generator
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

from olu.cli.progress import begin_record, follow, follow_server, is_recorded, record_result
from olu.cli.questions import with_consent, with_rights
from olu.cli.show import print_json, print_told, warn
from olu.core.errors import ConfigError
from olu.core.files import workspace_here
from olu.core.options import Parameter, Verb, to_json

EVENTS = typer.Option(None, "--events", metavar="FILE", help="Write what it tells into FILE as it runs, as JSON lines.")


def register(app: typer.Typer, verb: Verb) -> None:
    """Add one verb to the command line."""
    app.command(verb.name, help=verb.help)(command(verb))


def command(verb: Verb) -> Callable[..., None]:
    """A function whose signature is the verb's options, as typer reads them."""

    def perform(**given: Any) -> None:
        own = {one.name: tuple(given[one.name] or ()) if one.several else given[one.name] for one in verb.parameters}
        options = verb.options(**own)
        begin_record(given.get("events"), verb=verb.name, options=to_json(options))
        print_outcome(verb, options, as_json=bool(given["as_json"]))

    taken = [_parameter(one.name, one.type, _typer(one)) for one in verb.parameters]
    if all(one.name != "as_json" for one in taken):  # a verb that must know of it declares it itself
        taken.append(_parameter("as_json", bool, typer.Option(False, "--json", help=verb.json)))
    if verb.job:
        taken.append(_parameter("events", Path | None, EVENTS))
    perform.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    perform.__annotations__ = {one.name: one.annotation for one in taken}
    return perform


def _parameter(name: str, type_: Any, default: Any) -> inspect.Parameter:
    if get_origin(type_) is tuple:  # which typer takes for a fixed number of values
        type_ = types.GenericAlias(list, get_args(type_)[:1])
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_)


def _typer(one: Parameter) -> Any:
    said = one.said
    default = ... if one.required else list(one.default) if one.several and one.default is not None else one.default
    if not said.names:
        return typer.Argument(default, metavar=said.metavar, help=said.help, callback=_named if said.here else None)
    limits: dict[str, Any] = {"min": said.least, "max": said.most} if said.checked else {}
    return typer.Option(default, *one.names, metavar=said.metavar, help=said.help, hidden=said.hidden, **limits)


def print_outcome(verb: Verb, options: Any, *, as_json: bool) -> None:
    """Run a verb to its end and print what it comes to. Exit code 2 where its summary says that it failed."""
    if hasattr(options, "consent"):
        options = with_rights(options, quiet=as_json or getattr(options, "dry_run", False))
    if getattr(options, "remove", None) and not options.yes:
        options = with_consent(options)
    made = verb.call()(options)
    if verb.server:
        summary = follow_server(made, quiet=as_json or options.check)
    else:
        label = verb.name if verb.label is None else verb.label
        summary = follow(made, label=label) if isinstance(made, Generator) else made
    if getattr(summary, "is_silent", False):
        as_json, told = False, ()
    else:
        told = summary.sentences(options)
    if hasattr(summary, "json_rows"):  # as many as lines were read
        if as_json:
            for row in summary.json_rows(options):
                print_json(row)
    elif as_json or is_recorded():
        row = summary.row(options) if callable(getattr(summary, "row", None)) else asdict(summary)
        record_result(row)
        if as_json:
            print_json(row)
    if not as_json:
        print_told(told)
    failed = summary.failure(options) if hasattr(summary, "failure") else None
    if failed is not None:
        if failed:
            warn(f"olu: {failed}")
        raise typer.Exit(2)


def _named(value: Path | None) -> Path:
    found = workspace_here() if value is None else value
    if found is None:
        raise ConfigError("which workspace? Name its folder, or go into it: there is no olu.toml here or above")
    return found

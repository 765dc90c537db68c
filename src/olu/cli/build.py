"""Commands made from the declarations of the verbs: what typer is told, what a person is asked, what is printed."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Generator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

import typer

from olu.cli.progress import begin_record, end_record, follow, follow_server, is_recorded, record_result
from olu.cli.show import print_json, print_told, say, warn
from olu.core.errors import ConfigError
from olu.core.files import Workspace, workspace_here
from olu.core.options import Parameter, Verb, parameters, to_json
from olu.core.words import size

if TYPE_CHECKING:
    from olu.corpus.rights import Rights

EVENTS = typer.Option(None, "--events", metavar="FILE", help="Write what it tells into FILE as it runs, as JSON lines.")
UNCLEAR = "It is not clear whether the speakers agreed"
QUESTIONS = {
    "licence": "Licence of the recordings (such as CC-BY-4.0; Enter: not stated)",
    "consent": "Consent of the speakers: who agreed, when, to what (Enter: not stated)",
    "credits": "Who is to be named (Enter: nobody)",
}


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
    if not getattr(summary, "is_silent", False):
        _print(summary, options, as_json=as_json)
    failed = summary.failure(options) if hasattr(summary, "failure") else None
    if failed is not None:
        if failed:
            warn(f"olu: {failed}")
        end_record(code=2, error=failed)
        raise typer.Exit(2)


def _print(summary: Any, options: Any, *, as_json: bool) -> None:
    if hasattr(summary, "json_rows"):  # as many as lines were read
        record_result(None)
        if as_json:
            for row in summary.json_rows(options):
                print_json(row)
    elif as_json or is_recorded():
        row = summary.row(options) if callable(getattr(summary, "row", None)) else asdict(summary)
        record_result(row)
        if as_json:
            print_json(row)
    if not as_json:
        print_told(summary.sentences(options))


def _named(value: Path | None) -> Path:
    found = workspace_here() if value is None else value
    if found is None:
        raise ConfigError("which workspace? Name its folder, or go into it: there is no olu.toml here or above")
    return found


# ------------------------------------------------------------ what a person at a terminal is asked


def with_rights(options: Any, *, quiet: bool) -> Any:
    """The options of `olu new` or `olu import`, with what a person answers to what they leave open."""
    names = [one.name for one in parameters(type(options)) if one.name in ("agreed", "source", *QUESTIONS)]
    if isinstance(getattr(options, "source", None), Path):  # of an import: where it lies
        names.remove("source")
        ws = Workspace.open(options.ws)
    else:
        ws = None
    made = asked_rights({name: getattr(options, name) for name in names}, quiet=quiet, ws=ws)
    return replace(options, **{name: getattr(made, name) for name in names})


def asked_rights(given: dict[str, str], *, quiet: bool, ws: Workspace | None = None) -> Rights:
    """What the options say, and what a person answers to the rest; a script is never asked."""
    from olu.stages.new import given_rights, known_rights

    known = known_rights(ws) if ws else {}
    made = given_rights(given)
    if quiet or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return made
    open_ = [name for name in QUESTIONS if not getattr(made, name) and not known.get(name)]
    if open_:
        warn("A voice carries the rights of its recordings with it; they can be changed later in olu.toml [rights].")
    for name in open_:
        answer = str(typer.prompt(QUESTIONS[name], default="", show_default=False, err=True)).strip()
        made = replace(made, **{name: answer})
    if made.answer == "unclear":  # only a person knows what the words mean
        agreed = "yes" if typer.confirm(f"{UNCLEAR}: {made.consent!r}. Did they agree?", err=True) else "no"
        made = replace(made, agreed=agreed)
    return made


def with_consent(options: Any) -> Any:
    """The options of `olu runs --remove`, with --yes where a person says so; else nothing is removed."""
    from olu.stages.runs import removal

    name = options.remove
    if options.run is not None or not sys.stdin.isatty():  # which the stage refuses
        return options
    found = removal(Workspace.open(options.ws), name)
    warn(f"{name}: {found.stands}, {size(found.bytes)}. It cannot be brought back.")
    sys.stderr.write(f"Remove {name}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        say("Nothing was removed.")
        raise typer.Exit
    return replace(options, yes=True)

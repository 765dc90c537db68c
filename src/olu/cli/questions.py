"""What a person at a terminal is asked: whose recordings they are, and whether a run may go."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from olu.cli.show import say, size, warn
from olu.core.options import parameters

if TYPE_CHECKING:
    from olu.core.files import Workspace
    from olu.corpus.rights import Rights

UNCLEAR = "It is not clear whether the speakers agreed"
QUESTIONS = {
    "licence": "Licence of the recordings (such as CC-BY-4.0; Enter: not stated)",
    "consent": "Consent of the speakers: who agreed, when, to what (Enter: not stated)",
    "credits": "Who is to be named (Enter: nobody)",
}


def with_rights(options: Any, *, quiet: bool) -> Any:
    """The options of `olu new` or `olu import`, with what a person answers to what they leave open."""
    from olu.core.files import Workspace

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
    from olu.core.files import Workspace
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

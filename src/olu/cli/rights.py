"""Asking whose recordings they are: options, and questions where somebody sits at a terminal."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from olu.cli.show import warn
from olu.core.errors import ConfigError

if TYPE_CHECKING:
    from olu.core.files import Workspace
    from olu.corpus.rights import Rights

LICENCE = typer.Option("", "--licence", help="Of the recordings: CC-BY-4.0, CC0-1.0, ... or a text.")
CONSENT = typer.Option("", "--consent", help="Of the speakers: who agreed, when, to what.")
AGREED = typer.Option("", "--agreed", metavar="YES|NO", help="Whether the speakers agreed, in a word.")
CREDITS = typer.Option("", "--credits", help="Who is to be named.")
SOURCE = typer.Option("", "--source", help="Where the recordings come from.")
UNCLEAR = "It is not clear whether the speakers agreed"
QUESTIONS = {
    "licence": "Licence of the recordings (such as CC-BY-4.0; Enter: not stated)",
    "consent": "Consent of the speakers: who agreed, when, to what (Enter: not stated)",
    "credits": "Who is to be named (Enter: nobody)",
}


def asked_rights(given: dict[str, str], *, quiet: bool, ws: Workspace | None = None) -> Rights:
    """What the options say, and what a person answers to the rest; a script is never asked."""
    from olu.stages.rights import Rights, known_rights

    known = known_rights(ws) if ws else {}
    answers = {name: value.strip() for name, value in given.items()}
    if answers.get("agreed", "").lower() not in ("", "yes", "no"):
        raise ConfigError(f"--agreed is yes or no (got {answers['agreed']!r}): the words belong to --consent")
    answers |= {"agreed": answers["agreed"].lower()} if "agreed" in answers else {}
    if quiet or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return Rights(**answers)
    open_ = [name for name in QUESTIONS if not answers.get(name) and not known.get(name)]
    if open_:
        warn("A voice carries the rights of its recordings with it; they can be changed later in olu.toml [rights].")
    for name in open_:
        answers[name] = str(typer.prompt(QUESTIONS[name], default="", show_default=False, err=True)).strip()
    made = Rights(**answers)
    if made.answer == "unclear":  # only a person knows what the words mean
        agreed = "yes" if typer.confirm(f"{UNCLEAR}: {made.consent!r}. Did they agree?", err=True) else "no"
        made = replace(made, agreed=agreed)
    return made

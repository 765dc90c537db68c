"""All options: a form for every verb, made from its declaration; files to choose from; the verbs for programs."""

from __future__ import annotations

import shlex
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from olu.core.errors import OluError
from olu.core.options import schema
from olu.studio.files import listing
from olu.studio.forms import form, groups
from olu.studio.job_files import NO_WORKSPACE
from olu.studio.parity import same_as
from olu.studio.paths import checked
from olu.studio.render import page
from olu.studio.state import CurrentStudio, Studio
from olu.studio.verbs import argv, given, known_verb, shown_command

router = APIRouter()


class CommandAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    verb: str = Field(max_length=40)
    ws: str = Field(NO_WORKSPACE, max_length=400)
    options: dict[str, Any] = Field(default_factory=dict)


@router.get("/options")
def every(request: Request, studio: CurrentStudio) -> HTMLResponse:
    return page(request, "options.html", tab="options", groups=groups())


@router.get("/w/{ws}/options")
def of_workspace(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    return page(request, "options.html", ws=studio.workspace(ws), groups=groups())


@router.get("/options/{verb}")
def verb_form(request: Request, studio: CurrentStudio, verb: str, command: str = "", again: int = 0) -> HTMLResponse:
    return _form(request, studio, NO_WORKSPACE, verb, command, again)


@router.get("/w/{ws}/options/{verb}")
def workspace_form(
    request: Request, studio: CurrentStudio, ws: str, verb: str, command: str = "", again: int = 0
) -> HTMLResponse:
    return _form(request, studio, ws, verb, command, again)


def _form(request: Request, studio: Studio, ws: str, verb: str, command: str, again: int) -> HTMLResponse:
    """The form of a verb; `command` or an earlier job (`again`) fills it."""
    told = known_verb(verb)
    held = None if ws == NO_WORKSPACE else studio.workspace(ws)
    values: dict[str, Any] = {}
    if again:
        values = dict(studio.jobs.one(ws, again).options)
    elif command:
        try:
            values = given(told, shlex.split(command)[2:])
        except (OluError, ValueError):
            values = {}  # a person's own words stand for something: the form stays empty
    if held is not None and told.workspace:
        values.pop(told.workspace, None) if str(values.get(told.workspace)) == str(held.root) else None
    fields = form(told, values)
    plain = [one for one in fields if not (one.about and held is not None and one.value is None)]
    return page(request, "options_form.html", ws=held, tab="options", verb=told, fields=plain, lacks=_lacks(told, held))


def _lacks(verb: Any, held: Any) -> bool:
    """Whether a verb wants a workspace and the page has none: then its field must be filled."""
    return bool(verb.workspace) and held is None


@router.get("/api/verbs")
def verbs() -> dict[str, Any]:
    """Every verb that can be run here, with the JSON schema of its options."""
    found = [verb for _, held in groups() for verb in held]
    return {"verbs": [{"name": one.name, "help": one.help, "job": one.job, "schema": schema(one)} for one in found]}


@router.post("/api/command")
@same_as("")
def command_of(studio: CurrentStudio, ask: CommandAsk) -> dict[str, str]:
    """The command that a form stands for; writes nothing."""
    told = known_verb(ask.verb)
    held = None if ask.ws in ("", NO_WORKSPACE) else studio.workspace(ask.ws)
    return {"command": shown_command(argv(told, checked(told, ask.options, roots=studio.roots, ws=held)))}


@router.get("/api/files")
def files(studio: CurrentStudio, at: str = "") -> dict[str, Any]:
    """What lies in a folder below the roots."""
    return listing(studio.roots, at)

"""Pages of the studio: the reports' templates and style, and the studio's own beside them."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from olu.core.words import length as english_length
from olu.core.words import size
from olu.pages import render as reports
from olu.studio.jobs_command import how_far
from olu.studio.people import OWNER, Person
from olu.studio.words import interface, languages, t
from olu.text.languages import two_letters

if TYPE_CHECKING:
    from jinja2 import Environment

TABS = (
    ("", "Overview"),
    ("import", "Import"),
    ("record", "Record"),
    ("clips", "Clips"),
    ("audit", "Audit"),
    ("reading", "Reading"),
    ("align", "Alignment"),
    ("train", "Train"),
    ("runs", "Runs"),
    ("evaluate", "Evaluate"),
    ("listening", "Listening"),
    ("export", "Export"),
    ("speak", "Speak"),
    ("jobs", "Jobs"),
    ("options", "All options"),
)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def when(stamp: str) -> str:
    """A time of a job's files, in this machine's zone: 14:02 today, else with its date."""
    try:
        at = datetime.fromisoformat(stamp).astimezone()
    except ValueError:
        return ""
    if at.date() == datetime.now().astimezone().date():
        return f"{at:%H:%M}"
    return t("{day} {month} {time}", day=at.day, month=t(MONTHS[at.month - 1]), time=f"{at:%H:%M}")


def length(seconds: float) -> str:
    """How long something lasts, in the language of the page."""
    number, unit = english_length(seconds).split()
    said = {"hours": t("{n} hours", n=number), "minutes": t("{n} minutes", n=number)}
    return said.get(unit) or t("{n} seconds", n=number)


def browser_tag(code: str) -> str:
    """A language as browsers and screen readers know it: two letters where there are, `sw` for `swa`."""
    base, dash, place = code.partition("-")
    return f"{two_letters(base) or base}{dash}{place}"


@cache
def environment() -> Environment:
    from jinja2 import ChoiceLoader, PackageLoader

    made = reports.environment().overlay(loader=ChoiceLoader([PackageLoader("olu.studio"), PackageLoader("olu.pages")]))
    made.filters = {
        **made.filters,
        "length": made.filters["length"],
        "hours": length,
        "size": size,
        "when": when,
        "far": how_far,
        "browser_tag": browser_tag,
        "t": t,
    }
    made.globals = {**made.globals, "t": t, "interface": interface, "languages": languages}
    return made


def page(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A page of the studio. `ws` in the context shows the tabs of that workspace; `tab` says which is open."""
    person: Person = request.scope.get("olu_person", OWNER)
    facts = {
        "busy": _busy(request),
        "ws": None,
        "tab": template.removesuffix(".html"),
        "tabs": [one for one in TABS if person.may("GET", f"/w/{{ws}}/{one[0]}".rstrip("/"))],
        "person": person,
        "path": request.url.path,
        **context,
    }
    return HTMLResponse(environment().get_template(template).render(**facts), status_code=status)


def _busy(request: Request) -> int:
    """How many jobs run or wait, for the head of every page."""
    studio = getattr(request.app.state, "studio", None)
    return len(studio.jobs.live()) if studio is not None else 0

"""Home: the workspaces below the roots and what each wants next; a new workspace; one workspace at a glance."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from olu.core.errors import ConfigError, OluError
from olu.studio.parity import same_as
from olu.studio.paths import check_workspace
from olu.studio.remedies import NextStep, next_step, parts
from olu.studio.render import page
from olu.studio.roots import StudioWorkspace
from olu.studio.state import CurrentStudio, Studio
from olu.studio.words import t

router = APIRouter()
# What a newcomer sees of the stages: name, words, page.
STAGES = (
    ("import", "Import", "import"),
    ("audit", "Audit", "audit"),
    ("read", "Reading", "reading"),
    ("train", "Train", "train"),
    ("export", "Export", "export"),
)


class NewWorkspace(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=120)
    root: int = Field(0, ge=0)  # which of the folders it is made in
    language: str = Field(min_length=1, max_length=60)
    licence: str = Field("", max_length=500)
    consent: str = Field("", max_length=2000)
    agreed: str = Field("", max_length=10)
    credits: str = Field("", max_length=500)
    source: str = Field("", max_length=500)


@router.get("/")
def home(request: Request, studio: CurrentStudio) -> HTMLResponse:
    places, broken = [], []
    for slug, path in studio.roots.places(anew=True).items():
        try:
            places.append(studio.workspace(slug))
        except OluError as bad:
            broken.append((path.name, str(bad)))
    live = studio.jobs.live()
    return page(request, "home.html", places=places, broken=broken, live=live, roots=studio.roots.folders)


@router.get("/w/{ws}/card")
def card(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    """The inside of a workspace's card."""
    return page(request, "home_card.html", place=studio.workspace(ws), **_stands(studio, studio.workspace(ws)))


@router.get("/w/{ws}")
def overview(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    held = studio.workspace(ws)
    jobs = studio.jobs.of(ws)
    facts = _stands(studio, held)
    return page(request, "overview.html", ws=held, tab="", jobs=jobs[:5], outside=_outside(studio, held), **facts)


@router.get("/new")
def new(request: Request, studio: CurrentStudio) -> HTMLResponse:
    from olu.text.languages import available

    return page(request, "new.html", tab="home", languages=available(), roots=studio.roots.folders)


@router.post("/api/workspaces")
@same_as("new")
def make(studio: CurrentStudio, ask: NewWorkspace) -> dict[str, Any]:
    """Make a workspace at once; the name becomes the name of its folder."""
    from olu.core.options import from_json
    from olu.stages.new import run
    from olu.stages.verbs.corpus import NewOptions

    name = ask.name.strip()
    if any(mark in name for mark in '/\\\0<>:"|?*') or name in (".", "..") or name.startswith((".", "-")):
        raise ConfigError(t("{name} cannot be the name of a folder: leave out signs such as / and :", name=repr(name)))
    if ask.root >= len(studio.roots.folders):
        raise ConfigError(t("there is no such folder here: choose one of the list"))
    folder = studio.roots.folders[ask.root]
    if (folder / "olu.toml").is_file():
        raise ConfigError(
            t("{name} is a workspace itself: start the studio in the folder above it to make others", name=folder.name)
        )
    place = studio.roots.inside(folder / name)
    if any(mark in ask.language for mark in "/\\"):
        studio.roots.inside(ask.language)
    values = ask.model_dump(exclude={"name", "root"})
    made = run(from_json(NewOptions, {"ws": str(place), **values}))
    slug = studio.roots.slug_of(place)
    return {"ws": slug, "address": studio.workspace(slug).address, "language": getattr(made, "language", ask.language)}


def _outside(studio: Studio, ws: StudioWorkspace) -> str:
    """A sentence where the recordings lie outside the roots; nothing else can be done then."""
    try:
        check_workspace(ws, studio.roots)
    except OluError as bad:
        return str(bad)
    return ""


def _stands(studio: Studio, ws: StudioWorkspace) -> dict[str, Any]:
    held = studio.statuses.of(ws)
    live = [job for job in studio.jobs.of(ws.slug) if not job.over]
    facts: dict[str, Any] = {"stands": held.status, "fault": held.fault, "live": live, "stages": [], "next": None}
    if held.status is None:
        return facts
    states = {one.name: one for one in held.status.stages}
    facts["stages"] = [(words, where, states[name]) for name, words, where in STAGES if name in states]
    facts["next"] = _next(ws, str(held.status.remedy))
    told = [*held.status.lost, *held.status.torn, *held.status.doubts, held.status.long, held.status.advice]
    facts["told"] = [parts(ws, sentence) for sentence in told if sentence]
    return facts


def _next(ws: StudioWorkspace, command: str) -> NextStep | None:
    return next_step(ws, command)

"""Home: the workspaces below the roots, and what each wants next."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from olu.studio.render import page
from olu.studio.state import CurrentStudio

router = APIRouter()


@router.get("/")
def home(request: Request, studio: CurrentStudio) -> HTMLResponse:
    places = [studio.workspace(slug) for slug in studio.roots.places()]
    return page(request, "home.html", places=places)


@router.get("/w/{ws}")
def overview(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    return page(request, "overview.html", ws=studio.workspace(ws), tab="")

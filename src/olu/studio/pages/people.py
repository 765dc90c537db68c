"""People: links for owners, reviewers and speakers: made, listed, taken back. A listening test makes its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from olu.studio import qr
from olu.studio.parity import same_as
from olu.studio.people import DAYS, LONGEST_NAME, MOST_DAYS, AccessLink, address
from olu.studio.state import CurrentStudio, Studio
from olu.studio.words import t

router = APIRouter()


class LinkAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    role: Literal["owner", "reviewer", "speaker"]
    name: str = Field(max_length=LONGEST_NAME)
    ws: str = Field("", max_length=400)  # of all but owners
    days: int = Field(DAYS, ge=1, le=MOST_DAYS)


@router.get("/api/links")
def links(studio: CurrentStudio) -> dict[str, Any]:
    return {"links": shown_links(studio)}


@router.post("/api/links")
@same_as("")
def make(request: Request, studio: CurrentStudio, ask: LinkAsk) -> dict[str, Any]:
    """A link and its address, which is shown this once."""
    place = studio.workspace(ask.ws) if ask.role != "owner" else None
    return shown_once(request, studio, *studio.links.make(role=ask.role, name=ask.name, ws=place, days=ask.days))


@router.post("/api/links/{id}/revoke")
@same_as("")
def revoke(studio: CurrentStudio, id: str) -> dict[str, Any]:
    return shown(studio, studio.links.revoke(id))


def shown_once(request: Request, studio: Studio, link: AccessLink, secret: str) -> dict[str, Any]:
    """A new link with its address and the code that a phone reads."""
    reached = qr.reached_at(studio.settings)
    base = reached or f"{'https' if studio.settings.secure else 'http'}://{request.headers['host']}"
    whole = base + address(link, secret)
    code = qr.svg(whole, label=t("QR code of the link for {name}", name=link.name))
    return {**shown(studio, link), "address": whole, "qr": str(code), "far": bool(reached)}


def shown(studio: Studio, link: AccessLink) -> dict[str, Any]:
    slug = studio.roots.slug_of(Path(link.root), anew=False) if link.root else ""
    return {
        "id": link.id,
        "role": link.role,
        "name": link.name,
        "ws": slug,
        "test": link.test,
        "made": link.made,
        "ends": link.ends,
        "state": link.state,
    }


def shown_links(studio: Studio) -> list[dict[str, Any]]:
    """Every link, open ones first."""
    return sorted((shown(studio, one) for one in studio.links.all()), key=lambda one: one["state"] != "open")

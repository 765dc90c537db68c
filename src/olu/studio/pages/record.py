"""Record: prompts of a workspace, the consent text, speakers with their links and takes, for the owner."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from olu.core.errors import ConfigError
from olu.core.files import write_text
from olu.core.told import Remedy
from olu.corpus.prompts import FOLDER, read_prompts
from olu.studio import consent
from olu.studio.pages.people import shown
from olu.studio.pages.recorder import start_import
from olu.studio.parity import same_as
from olu.studio.people import DAYS, LONGEST_NAME, MOST_DAYS
from olu.studio.render import browser_tag, page
from olu.studio.roots import NotHere, StudioWorkspace
from olu.studio.state import CurrentStudio, Studio, Who
from olu.studio.words import t

router = APIRouter()
TEXTS = "texts.txt"
FIRST = 8  # prompts that are shown


class PromptsAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=3 * 2**20)
    count: int = Field(300, ge=1, le=20_000)


class WordsAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=consent.LONGEST)


@router.get("/w/{ws}/record")
def record(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    place = studio.workspace(ws)
    prompts = read_prompts(place)
    return page(
        request,
        "record.html",
        ws=place,
        prompts=prompts,
        language=browser_tag(place.language),
        first=prompts[:FIRST],
        words=consent.current_words(place),
        longest=consent.LONGEST,
        speakers=speakers(studio, place),
        longest_name=LONGEST_NAME,
        days=DAYS,
        most_days=MOST_DAYS,
        far=bool(studio.settings.secure),
        command=str(Remedy("prompts", (place.root,), {"from": "texts.txt", "count": 300})),
    )


@router.get("/api/w/{ws}/speakers")
def listed(studio: CurrentStudio, ws: str) -> dict[str, Any]:
    return {"speakers": speakers(studio, studio.workspace(ws))}


def speakers(studio: Studio, ws: StudioWorkspace) -> list[dict[str, Any]]:
    """Who records here: the link, how many prompts are read, how the takes are."""
    found = []
    for link in studio.links.of(ws, "speaker"):
        takes = studio.takes.last(ws, link.id)
        agreed = consent.agreement(studio.takes.folder(ws, link.id))
        kinds = Counter("good" if one.kind == "good" else "again" for one in takes.values())
        found.append(
            {
                **shown(studio, link),
                "takes": len(takes),
                "good": kinds["good"],
                "again": kinds["again"],
                "seconds": round(sum(one.seconds for one in takes.values()), 1),
                "last": max((one.at for one in takes.values()), default=""),
                "agreed": "" if agreed is None else agreed.at[:10] if agreed.agreed else "withdrawn",
                "version": agreed.version if agreed else 0,
            }
        )
    return found


@router.post("/api/w/{ws}/prompts")
@same_as("prompts")
def make(studio: CurrentStudio, who: Who, ws: str, ask: PromptsAsk) -> dict[str, Any]:
    """Keep a text and choose prompts from it, by a job."""
    place = studio.workspace(ws)
    if not ask.text.strip():
        raise ConfigError(t("paste a text to choose sentences from"))
    path = place.root / FOLDER / TEXTS
    write_text(path, ask.text.replace("\0", " "))
    return studio.jobs.start(ws, "prompts", {"texts": [str(path)], "count": ask.count}, who).row()


@router.post("/api/w/{ws}/consent")
@same_as("import")
def change(studio: CurrentStudio, who: Who, ws: str, ask: WordsAsk) -> dict[str, Any]:
    made = consent.change_words(studio.workspace(ws), ask.text, by=who)
    return {"version": made.version, "sha256": made.sha256}


@router.post("/api/w/{ws}/speakers/{id}/import")
@same_as("import")
def take_in(studio: CurrentStudio, who: Who, ws: str, id: str) -> dict[str, Any]:
    """Import what a speaker has recorded so far, without waiting for them to say done."""
    place = studio.workspace(ws)
    link = next((one for one in studio.links.of(place, "speaker") if one.id == id), None)
    if link is None:
        raise NotHere(t("there is no such speaker here"))
    return start_import(studio, ws, id, speaker=link.name, who=who)

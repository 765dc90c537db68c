"""Alignment: words and phones over the sound of a clip; boundaries are moved and heard, and stay as they were set."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.background import BackgroundTask

from olu.align.textgrid import from_alignment, render
from olu.align.textgrid_files import write_grids
from olu.core.errors import OluError
from olu.core.told import Remedy
from olu.corpus import hand_bounds
from olu.stages.bounds import set_bounds
from olu.studio.follow import Look, News, digest
from olu.studio.pages.jobs import WATCHERS
from olu.studio.parity import same_as
from olu.studio.people import CurrentPerson
from olu.studio.render import page
from olu.studio.roots import StudioWorkspace
from olu.studio.sound import LONGEST_SECONDS
from olu.studio.state import CurrentStudio, Studio, Who
from olu.studio.tables import PAGE, has_clips

router = APIRouter()
MOST_PHONES = 4000
Order = Literal["worst", "corpus", "hand"]
ORDERS: dict[Order, str] = {"worst": "fits least first", "corpus": "as imported", "hand": "set by hand"}
Label = Annotated[str, Field(max_length=80)]
Time = Annotated[float, Field(ge=0, le=1e5, allow_inf_nan=False)]


class BoundsAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = Field(max_length=400)
    phones: list[tuple[Label, Time, Time]] = Field(max_length=MOST_PHONES)
    expect: str | None = Field(None, max_length=40)  # the batch that the page showed; "" for none by hand
    by: str | None = Field(None, max_length=120)


# ---- looking


@router.get("/w/{ws}/align")
def listed(
    request: Request,
    studio: CurrentStudio,
    ws: str,
    order: Order = "worst",
    at: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> HTMLResponse:
    place = studio.workspace(ws)
    ids = _ordered(studio, place, order)
    at -= at % PAGE
    return page(
        request,
        "align.html",
        ws=place,
        clips=has_clips(place),
        aligned=bool(studio.alignments.of(place).lines().worst_first),
        rows=_rows(studio, place, ids[at : at + PAGE]),
        total=len(ids),
        at=at,
        per_page=PAGE,
        order=order,
        orders=ORDERS,
        doubt=_doubt(place),
        command=Remedy("align", (place.root,), {"textgrid": "grids"}),
    )


def _ordered(studio: Studio, place: StudioWorkspace, order: Order) -> list[str]:
    """Ids of the aligned clips that are still there."""
    if not has_clips(place):
        return []
    lines, hand = studio.alignments.of(place).lines(), hand_bounds.in_force(place)
    there = studio.tables.of(place).places()
    if order == "worst":
        alone = sorted((id for id in hand if id in there and id not in lines), key=there.__getitem__)
        return [*lines.worst_first, *alone]
    return [id for id in there if id in hand or (order == "corpus" and id in lines)]


def _rows(studio: Studio, place: StudioWorkspace, ids: list[str]) -> list[dict[str, Any]]:
    lines, hand = studio.alignments.of(place).lines(), hand_bounds.in_force(place, ids=ids)
    rows = {one.row["id"]: one.row for one in studio.tables.of(place).rows(tuple(ids))}
    return [{"clip": rows[id], "score": lines.score(id), "hand": hand.get(id)} for id in ids if id in rows]


def _doubt(place: StudioWorkspace) -> str:
    stamp = place.stamped("align")
    return str(stamp["summary"].get("doubt", "")) if stamp else ""


@router.get("/w/{ws}/align/clip")
def one(request: Request, studio: CurrentStudio, who: Who, ws: str, id: str, order: Order = "worst") -> HTMLResponse:
    place = studio.workspace(ws)
    row = studio.tables.of(place).row(id)
    shown = studio.alignments.of(place).clip(id)
    ids = _ordered(studio, place, order)
    at = ids.index(id) if id in ids else -1

    def beside(step: int) -> str:
        there = at + step
        return "?" + urlencode({"id": ids[there], "order": order}) if at >= 0 and 0 <= there < len(ids) else ""

    return page(
        request,
        "bounds.html",
        ws=place,
        tab="align",
        clip=row.row,
        language=row.clip.language,
        facts=shown.facts(),
        back=beside(-1),
        next=beside(1),
        place=at + 1,
        total=len(ids),
        order=order,
        owner=who,
        too_long=row.clip.seconds > LONGEST_SECONDS,
        longest=LONGEST_SECONDS,
        command=Remedy("bounds", (place.root, f"{id}.TextGrid")),
    )


@router.get("/api/w/{ws}/bounds")
def bounds(studio: CurrentStudio, ws: str, id: Annotated[str, Query(max_length=400)]) -> dict[str, Any]:
    place = studio.workspace(ws)
    studio.tables.of(place).row(id)
    return studio.alignments.of(place).clip(id).facts()


@router.get("/api/w/{ws}/textgrid")
def textgrid(studio: CurrentStudio, ws: str, id: Annotated[str, Query(max_length=400)]) -> Response:
    """One clip, with a tier of tones where its language has them."""
    place = studio.workspace(ws)
    studio.tables.of(place).row(id)
    shown = studio.alignments.of(place).clip(id)
    text = render(from_alignment(shown.alignment, tones=shown.tones))
    return Response(text, media_type="text/plain; charset=utf-8", headers=_named(f"{id}.TextGrid"))


@router.get("/api/w/{ws}/textgrids")
def textgrids(studio: CurrentStudio, ws: str) -> FileResponse:
    """All of them, as one zip."""
    place = studio.workspace(ws)
    if not studio.alignments.of(place).lines().worst_first:
        raise OluError("this workspace is not aligned yet: align it first")
    folder = tempfile.TemporaryDirectory()
    target = Path(folder.name) / "grids.zip"
    try:
        write_grids(place, target)
    except BaseException:
        folder.cleanup()
        raise
    headers = _named(f"{place.name}-textgrids.zip")
    return FileResponse(
        target, media_type="application/zip", headers=headers, background=BackgroundTask(folder.cleanup)
    )


def _named(name: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name.replace('/', '_'), safe='')}"}


# ---- moving


@router.post("/api/w/{ws}/bounds")
@same_as("bounds")
def move(studio: CurrentStudio, person: CurrentPerson, ws: str, ask: BoundsAsk) -> dict[str, Any]:
    place = studio.workspace(ws)
    studio.tables.of(place).row(ask.id)
    held = studio.alignments.of(place)
    base, _ = held.counting(ask.id)
    done = set_bounds(place, base, ask.phones, by=person.signed(ask.by), expect=ask.expect)
    now, hand = held.counting(ask.id)
    return {
        "batch": hand.batch if hand else "",
        "changed": len(done.ids),
        "said": f"Saved, by {done.by}." if done.ids else "The boundaries are as they were.",
        "by": hand.by if hand else "",
        "at": hand.at if hand else "",
        "words": [[span.label, span.start, span.end] for span in now.words],
        "phones": [[span.label, span.start, span.end] for span in now.phones],
    }


# ---- following


def _changed(studio: Studio, ws: str, what: str) -> Look:
    """A page is told when somebody else, here or in a terminal, has set or taken back boundaries."""
    path = hand_bounds.journal(studio.workspace(ws)).path

    def look(_: str, seen: str) -> News:
        try:
            held = path.stat()
            now = digest((held.st_ino, held.st_size, held.st_mtime_ns))
        except OSError:
            now = digest(None)
        return News([("changed", {})] if seen not in ("", now) else [], seen=now)

    return look


WATCHERS["bounds"] = _changed

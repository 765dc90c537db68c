"""Clips: found, heard, seen, dropped, kept, corrected; every change is written at once and can be taken back."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from olu.align.state import alignment_path
from olu.audit.checks import CHECKS
from olu.core.errors import ConfigError, CorpusError, OluError
from olu.core.told import Remedy
from olu.corpus import changes
from olu.corpus.changes import Change
from olu.corpus.corrections import who_is
from olu.stages.clip_view import COLUMNS
from olu.stages.correct import correct_clip
from olu.stages.decide import decide
from olu.studio.follow import Look, News, digest
from olu.studio.pages.jobs import WATCHERS
from olu.studio.parity import same_as
from olu.studio.paths import check_workspace
from olu.studio.people import CurrentPerson
from olu.studio.render import page
from olu.studio.review import stop_at, stopped_at
from olu.studio.roots import StudioWorkspace
from olu.studio.sound import LONGEST_SECONDS, MADE, key_of
from olu.studio.state import CurrentStudio, Studio, Who
from olu.studio.tables import GROUPS, NONE, PAGE, ClipQuery, has_clips
from olu.studio.words import t

router = APIRouter()
TEXT = 20_000  # characters of a text, at most
FEW = 50  # clips whose rows come back with what was decided of them
EVENING_HOURS = 12  # in which what somebody did is counted
SPEAKERS = 12  # chips; more are found by the query
TITLES = {one.name: one.title for one in CHECKS}
ORDERS = {
    "": "as imported",
    "-seconds": "longest first",
    "seconds": "shortest first",
    "-seconds_per_letter": "slowest first",
    "seconds_per_letter": "fastest first",
    "speaker": "by speaker",
    "id": "by name",
}
Many = Annotated[list[str], Query(max_length=64)]


def asked(
    where: Annotated[str, Query(max_length=5000)] = "",
    sort: Annotated[str, Query(max_length=400)] = "",
    at: Annotated[int, Query(ge=0, le=10**9)] = 0,
    check: Many = [],  # noqa: B006
    speaker: Many = [],  # noqa: B006
    side: Many = [],  # noqa: B006
    decision: Many = [],  # noqa: B006
) -> ClipQuery:
    return ClipQuery(
        where=where,
        sort=sort,
        at=at - at % PAGE,
        check=tuple(check),
        speaker=tuple(speaker),
        side=_unnamed(side),
        decision=_unnamed(decision),
    )


def _unnamed(values: list[str]) -> tuple[str, ...]:
    return tuple("" if one == NONE else one for one in values)


Asked = Annotated[ClipQuery, Depends(asked)]


# ---- looking


@router.get("/w/{ws}/clips")
def clips(request: Request, studio: CurrentStudio, who: Who, ws: str, query: Asked) -> HTMLResponse:
    place = studio.workspace(ws)
    if not has_clips(place):
        return page(request, "clips.html", ws=place, empty=True)
    facts: dict[str, Any] = {"query": query, "wrong": "", "found": None, "rows": [], "facets": {}}
    try:
        facts["found"], facts["rows"], facts["facets"] = studio.tables.of(place).page(query)
    except ConfigError as wrong:  # what was asked cannot be; the page says why, and keeps it to be mended
        facts["wrong"] = str(wrong)
    orders = ORDERS if query.sort in ORDERS else {**ORDERS, query.sort: query.sort}
    asked = {name: value for name, value in (("where", query.expression), ("sort", query.order)) if value}
    listed = Remedy("clips", (place.root,), asked) if facts["found"] else ""
    status = 422 if facts["wrong"] else 200
    return page(
        request,
        "clips.html",
        status=status,
        ws=place,
        empty=False,
        orders=orders,
        columns=COLUMNS,
        groups=_chips(query, facts["facets"]),
        command=str(listed),
        per_page=PAGE,
        longest=LONGEST_SECONDS,
        last=changes.last_change(place, who=who),
        go_on=None if facts["wrong"] else _go_on(studio, place, query),
        done=changes.done_since(place, _hours_ago(EVENING_HOURS), who=who),
        titles=TITLES,
        aligned=alignment_path(place).exists(),
        owner=who,
        **facts,
    )


@router.get("/w/{ws}/clips/row")
def row(request: Request, studio: CurrentStudio, ws: str, id: str) -> HTMLResponse:
    """One row of the page, as it is now."""
    place = studio.workspace(ws)
    shown = studio.tables.of(place).row(id)
    aligned = alignment_path(place).exists()
    return page(request, "clip_row.html", ws=place, one=shown, longest=LONGEST_SECONDS, titles=TITLES, aligned=aligned)


def _hours_ago(hours: float) -> str:
    return (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="seconds").replace("+00:00", "Z")


def _chips(query: ClipQuery, facets: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    """Groups of chips: what each is called, how many clips found have it, whether it is pressed, where it leads."""
    names = {"side": {"": "no side"}, "decision": {"": "undecided"}, "check": TITLES, "speaker": {"": t("no name")}}
    groups = []
    for group, column in GROUPS.items():
        counts = facets.get(column, {})
        pressed = getattr(query, group)
        values = [*(one for one in pressed if one not in counts), *counts]
        chips = [
            {
                "name": names[group].get(value, value),
                "count": counts.get(value, 0),
                "pressed": value in pressed,
                "address": query.toggled(group, value),
            }
            for value in values
        ]
        most = SPEAKERS if group == "speaker" else len(chips)
        shown = [one for place, one in enumerate(chips) if place < most or one["pressed"]]
        if len(chips) > 1 or pressed:
            groups.append({"title": group, "chips": shown, "more": len(chips) - len(shown)})
    return groups


@router.get("/api/w/{ws}/clips")
def listed(studio: CurrentStudio, ws: str, query: Asked) -> dict[str, Any]:
    place = studio.workspace(ws)
    found, rows, facets = studio.tables.of(place).page(query)
    facts = {"total": found.total, "found": found.found, "seconds": found.seconds, "at": query.at, "limit": PAGE}
    return {**facts, "where": query.expression or "", "facets": facets, "clips": [one.facts() for one in rows]}


@router.get("/api/w/{ws}/clips/{id:path}/sound")
def sound(request: Request, studio: CurrentStudio, ws: str, id: str) -> Response:
    return _made(request, studio, ws, id, "sound")


@router.get("/api/w/{ws}/clips/{id:path}/peaks")
def peaks(request: Request, studio: CurrentStudio, ws: str, id: str) -> Response:
    return _made(request, studio, ws, id, "peaks")


@router.get("/api/w/{ws}/clips/{id:path}/picture")
def picture(request: Request, studio: CurrentStudio, ws: str, id: str) -> Response:
    return _made(request, studio, ws, id, "picture")


@router.get("/api/w/{ws}/clips/{id:path}/fine")
def fine(request: Request, studio: CurrentStudio, ws: str, id: str) -> Response:
    """Peaks as fine as boundaries are set."""
    return _made(request, studio, ws, id, "fine")


@router.get("/api/w/{ws}/clips/{id:path}/wide")
def wide(request: Request, studio: CurrentStudio, ws: str, id: str) -> Response:
    """A spectrogram as fine as boundaries are set."""
    return _made(request, studio, ws, id, "wide")


@router.get("/api/w/{ws}/clips/{id:path}")
def one(studio: CurrentStudio, ws: str, id: str) -> dict[str, Any]:
    return studio.tables.of(studio.workspace(ws)).row(id).facts()


def _made(request: Request, studio: Studio, ws: str, id: str, kind: str) -> Response:
    """Sound, peaks or picture; a browser that has them asks whether they still hold, and may ask for a part."""
    place = studio.workspace(ws)
    corpus, clip = studio.tables.of(place).clip(id)
    check_workspace(place, studio.roots)
    studio.roots.inside(corpus.locate(clip))  # links in a source's folder too
    tag = hashlib.sha256(repr((key_of(corpus, clip), kind)).encode("utf-8", "replace")).hexdigest()[:20]
    headers = {"ETag": f'"{tag}"', "Cache-Control": "private, no-cache", "Accept-Ranges": "bytes"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    data = studio.sounds.get(corpus, clip, kind)
    part = _range(request.headers.get("range", ""), len(data))
    if part is None:
        return Response(data, media_type=MADE[kind][1], headers=headers)
    first, last = part
    headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
    return Response(data[first : last + 1], 206, media_type=MADE[kind][1], headers=headers)


def _range(asked: str, size: int) -> tuple[int, int] | None:
    """First and last byte of a request for one part; nothing where the whole is meant, or what was asked is none."""
    unit, _, span = asked.partition("=")
    first, dash, last = span.strip().partition("-")
    numbers = [one for one in (first, last) if one]
    if (
        unit.strip() != "bytes"
        or not dash
        or not numbers
        or not all(one.isdecimal() and len(one) < 16 for one in numbers)
    ):
        return None
    begin = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    return (begin, end) if begin <= end else None


# ---- changing


class ClipsAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    by: str | None = Field(None, max_length=120)  # who; else the one who is logged in


class DecideAsk(ClipsAsk):
    decision: Literal["drop", "keep"]
    ids: list[str] = Field(default_factory=list, max_length=1000)
    reason: str = Field("", max_length=500)
    query: str | None = Field(None, max_length=8000)  # in place of ids: all that a page's address finds
    expect: int | None = None  # with a query: how many a person was told


class UndoAsk(ClipsAsk):
    batch: str = Field("", max_length=40)  # else the last change of this person


class TextAsk(ClipsAsk):
    id: str = Field(max_length=400)
    text: str = Field(max_length=TEXT)


@router.post("/api/w/{ws}/decisions")
@same_as("drop", "keep")
def decisions(studio: CurrentStudio, person: CurrentPerson, ws: str, ask: DecideAsk) -> dict[str, Any]:
    place = studio.workspace(ws)
    table = studio.tables.of(place)
    ids, known = list(ask.ids), False
    if ask.query is not None:
        ids, known = table.ids(_parsed(ask.query)), True
        if ask.expect is not None and len(ids) != ask.expect:
            raise CorpusError(
                t(
                    "{n} clip fits now, not {expected}: look again, then decide",
                    "{n} clips fit now, not {expected}: look again, then decide",
                    n=len(ids),
                    expected=f"{ask.expect:,}",
                )
            )
    if not ids:
        raise ConfigError(t("no clip is named: choose one"))
    reason = " ".join(ask.reason.split())
    done = decide(place, ids, decision=ask.decision, reason=reason, by=person.signed(ask.by), known=known)
    told = _told(done.decision, len(done.ids), done.already)
    rows = table.rows(done.ids) if len(done.ids) <= FEW else []
    return {
        "batch": done.batch,
        "changed": len(done.ids),
        "already": done.already,
        "said": " ".join([told, *(f"{t('Note:')} {note}." for note in done.notes)]),
        "command": _command(place, ask, ids),
        "clips": [one.facts() for one in rows],
    }


def _told(decision: str, changed: int, already: int) -> str:
    done = f"{_done(decision, changed)}."
    if not already:
        return done
    stood = t("{n} clip stood so already.", "{n} clips stood so already.", n=already)
    return f"{done} {stood}" if changed else stood


def _done(what: str, n: int) -> str:
    """What was done to so many clips."""
    if what == "drop":
        return t("{n} clip dropped", "{n} clips dropped", n=n)
    if what == "keep":
        return t("{n} clip kept", "{n} clips kept", n=n)
    if what == "text":
        return t("{n} clip corrected", "{n} clips corrected", n=n)
    return t("the boundaries of {n} clip set", "the boundaries of {n} clips set", n=n)


def _command(place: StudioWorkspace, ask: DecideAsk, ids: list[str]) -> str:
    given = {"reason": ask.reason} if ask.reason else {}
    if ask.query is None:
        return str(Remedy(ask.decision, (place.root, *ids[:FEW]), given))
    found = Remedy("clips", (place.root,), {"where": _parsed(ask.query).expression, "ids": True})
    return f"{found} | {Remedy(ask.decision, (place.root, '-'), given)}"


def _parsed(query: str) -> ClipQuery:
    """The query of a page's address."""
    from urllib.parse import parse_qs

    try:
        held = parse_qs(query.removeprefix("?"), keep_blank_values=True, max_num_fields=200)
    except ValueError:
        raise ConfigError(t("this query cannot be read: open the page again")) from None
    many_of = {name: tuple(held.get(name, ())) for name in GROUPS}
    return ClipQuery(
        where=held.get("where", [""])[0],
        check=many_of["check"],
        speaker=many_of["speaker"],
        side=_unnamed(list(many_of["side"])),
        decision=_unnamed(list(many_of["decision"])),
    )


@router.get("/api/w/{ws}/undo")
def undoable(
    studio: CurrentStudio,
    person: CurrentPerson,
    ws: str,
    by: Annotated[str | None, Query(max_length=120)] = None,
) -> dict[str, Any]:
    """What an undo of this person, else of the owner, would take back."""
    return _change(changes.last_change(studio.workspace(ws), who=person.signed(by) or studio.owner))


def _change(found: Change | None) -> dict[str, Any]:
    if found is None:
        return {"batch": ""}
    return {
        "batch": found.batch,
        "said": _done(found.what, len(found.ids)),
        "who": found.who,
        "at": found.at,
        "ids": found.ids[:FEW],
    }


@router.post("/api/w/{ws}/undo")
@same_as("drop", "keep", "correct", "bounds")
def undo(studio: CurrentStudio, person: CurrentPerson, ws: str, ask: UndoAsk) -> dict[str, Any]:
    place = studio.workspace(ws)
    who = who_is(person.signed(ask.by))
    wanted = changes.change(place, ask.batch) if ask.batch else changes.last_change(place, who=who)
    gone = changes.take_back(place, wanted.batch, who=who) if wanted else None
    if gone is None:
        raise CorpusError(t("there is nothing to take back"))
    rows = studio.tables.of(place).rows(gone.ids[:FEW])
    return {
        "changed": len(gone.ids),
        "said": t("Taken back: {what}.", what=_done(gone.what, len(gone.ids))),
        "next": _change(changes.last_change(place, who=who)),
        "clips": [one.facts() for one in rows],
    }


@router.post("/api/w/{ws}/texts")
@same_as("correct")
def texts(studio: CurrentStudio, person: CurrentPerson, ws: str, ask: TextAsk) -> dict[str, Any]:
    place = studio.workspace(ws)
    done = correct_clip(place, ask.id, ask.text, by=person.signed(ask.by))
    shown = studio.tables.of(place).row(ask.id)
    return {
        "batch": done.batch if done.ids else "",
        "changed": len(done.ids),
        "said": " ".join(
            [t("Text saved.") if done.ids else t("The text is as it was."), *(f"{note}." for note in done.notes)]
        ),
        "command": str(Remedy("correct", (place.root,), {"clip": ask.id, "text": ask.text})),
        "clips": [shown.facts()],
    }


# ---- several people at once


class HandsAsk(ClipsAsk):
    id: str = Field(max_length=400)
    tab: str = Field(min_length=8, max_length=60)  # of one page that is open
    hold: bool = True  # else let go


class StoppedAsk(ClipsAsk):
    id: str = Field(max_length=400)
    query: str = Field("", max_length=8000)  # of the page's address


@router.post("/api/w/{ws}/hands")
@same_as("")
def hands(studio: CurrentStudio, person: CurrentPerson, ws: str, ask: HandsAsk) -> dict[str, Any]:
    """Take a clip into one's hands for some seconds, or let it go. It keeps nobody from saving: it is a sign."""
    place = studio.workspace(ws)
    if not ask.hold:
        studio.leases.release(place, ask.id, tab=ask.tab)
        return {"yours": False, "name": ""}
    studio.tables.of(place).row(ask.id)
    held = studio.leases.take(place, ask.id, name=person.signed(ask.by) or studio.owner, tab=ask.tab)
    return {"yours": held.tab == ask.tab, "name": held.name}


@router.post("/api/w/{ws}/stopped")
@same_as("")
def stopped(studio: CurrentStudio, person: CurrentPerson, ws: str, ask: StoppedAsk) -> dict[str, Any]:
    """Remember where somebody is in a list, for the next one."""
    place = studio.workspace(ws)
    studio.tables.of(place).row(ask.id)
    stop_at(place, _parsed(ask.query).address(), ask.id, by=person.signed(ask.by) or studio.owner)
    return {}


def _go_on(studio: Studio, place: StudioWorkspace, query: ClipQuery) -> dict[str, Any] | None:
    """Where the last person stopped in this list, and the address that goes on there."""
    found = stopped_at(place, query.address())
    at = studio.tables.of(place).place_of(query, found.id) if found else None
    if found is None or not at:  # the first clip needs no way to it
        return None
    page_at = at - at % PAGE
    return {
        "by": found.by,
        "at": found.at,
        "number": at + 1,
        "address": query.address(at=page_at) + f"#clip={quote(found.id)}",
    }


# ---- following


def _changed(studio: Studio, ws: str, what: str) -> Look:
    """A page of clips is told when somebody else, here or in a terminal, has changed one."""
    place = studio.workspace(ws)
    table = studio.tables.of(place).table

    def look(place_of_files: str, seen: str) -> News:
        hands = studio.leases.held(place)
        before, _, shown = seen.partition(" ")
        try:
            now = digest(table.state())
        except (OSError, OluError):
            now = before
        events: list[tuple[str, Any]] = []
        if digest(hands) != (shown or digest({})):
            events.append(("changed", {"hands": hands}))
        if before not in ("", now):
            events.append(("changed", {}))
        return News(events, seen=f"{now} {digest(hands)}")

    return look


WATCHERS["clips"] = _changed

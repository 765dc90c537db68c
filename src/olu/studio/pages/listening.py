"""Blind listening: a test is made and given out by links; listeners hear sounds without names and answer one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from olu.core.told import Remedy
from olu.evaluate.evaluation import FILE
from olu.evaluate.listening import (
    KINDS,
    SOUNDS,
    TEST,
    ListeningTest,
    all_tests,
    give_answer,
    journal,
    load_test,
    place_of,
    trials,
)
from olu.evaluate.listening_results import result_of
from olu.families.runs import kind_of, whole_runs
from olu.studio.pages.people import shown, shown_once
from olu.studio.parity import same_as
from olu.studio.people import DAYS, LONGEST_NAME, MOST_DAYS, CurrentPerson, Person
from olu.studio.render import page
from olu.studio.roots import NotHere, StudioWorkspace
from olu.studio.state import CurrentStudio

router = APIRouter()
MOST_PEOPLE = 100
OWN = "owner"  # who has the key and listens too


class PeopleAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    names: list[Annotated[str, Field(max_length=LONGEST_NAME)]] = Field(min_length=1, max_length=MOST_PEOPLE)
    days: int = Field(DAYS, ge=1, le=MOST_DAYS)


class AnswerAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    n: int = Field(ge=0, le=10**6)
    answer: int | Annotated[str, Field(max_length=4000)]


# ---- whoever makes a test


@router.get("/w/{ws}/listening")
def listed(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    place = studio.workspace(ws)
    runs = [one for one in whole_runs(place) if kind_of(one) != "listener" and one.checkpoints().steps()][::-1]
    voices = sorted(one.name for one in (place.root / "voices").glob("*") if one.name.endswith((".voice", ".zip")))
    evaluations = sorted(path.parent.name for path in place.evaluations.glob(f"*/{FILE}"))
    going = [job for job in studio.jobs.of(ws) if job.verb == "listening" and not job.over]
    return page(
        request,
        "listening.html",
        ws=place,
        tests=[_summary(folder) for folder in all_tests(place)],
        evaluations=evaluations,
        voices=voices,
        runs=[(one.name, one.checkpoints().steps()[::-1]) for one in runs],
        kinds=KINDS,
        going=going,
        command=Remedy("listening", (place.root,)),
    )


def _summary(folder: Path) -> dict[str, Any]:
    test, result = load_test(folder), result_of(folder)
    return {"test": test, "answers": result.answers, "listeners": len(result.listeners)}


@router.get("/w/{ws}/listening/{test}")
def one(request: Request, studio: CurrentStudio, ws: str, test: str) -> HTMLResponse:
    place = studio.workspace(ws)
    held = _test(place, test)
    links = [shown(studio, link) for link in studio.links.of(place, "listener") if link.test == test]
    return page(
        request,
        "listened.html",
        ws=place,
        tab="listening",
        test=held,
        kinds=KINDS,
        result=result_of(place_of(place, test)),
        trials=len(trials(held, OWN)),
        links=links,
        days=DAYS,
        most_days=MOST_DAYS,
        commands=[
            Remedy("listening", (place.root, test)),
            Remedy("compare", (), {"choices": place_of(place, test)}),
        ],
    )


@router.get("/api/w/{ws}/listening/{test}")
def row(studio: CurrentStudio, ws: str, test: str) -> dict[str, Any]:
    place = studio.workspace(ws)
    _test(place, test)
    return result_of(place_of(place, test)).row()


@router.post("/api/w/{ws}/listening/{test}/links")
@same_as("")
def links(request: Request, studio: CurrentStudio, ws: str, test: str, ask: PeopleAsk) -> dict[str, Any]:
    """A link for each person, with its address, which is shown this once."""
    place = studio.workspace(ws)
    _test(place, test)
    names = [" ".join(name.split()) for name in ask.names if name.strip()]
    made = [studio.links.make(role="listener", name=name, ws=place, test=test, days=ask.days) for name in names]
    return {"links": [shown_once(request, studio, *one) for one in made]}


# ---- whoever listens: nothing here says what is heard


@router.get("/w/{ws}/listen/{test}")
def listen(request: Request, studio: CurrentStudio, person: CurrentPerson, ws: str, test: str) -> HTMLResponse:
    place = studio.workspace(ws)
    held = _test(place, test)
    return page(request, "listen.html", ws=place, tab="listening", name=test, kind=held.kind, language=held.language)


@router.get("/api/w/{ws}/listen/{test}/trial")
def trial(
    studio: CurrentStudio,
    person: CurrentPerson,
    ws: str,
    test: str,
    n: Annotated[int | None, Query(ge=0, le=10**6)] = None,
) -> dict[str, Any]:
    """One trial; the first without an answer where none is named."""
    place = studio.workspace(ws)
    held = _test(place, test)
    listener = _listener(person)
    order = trials(held, listener)
    own = {one.n: one.answer for one in journal(place, test).rows() if one.listener == listener}
    open_ = next((at for at in range(len(order)) if at not in own), len(order))
    at = open_ if n is None else min(n, len(order))
    facts: dict[str, Any] = {"n": at, "of": len(order), "done": len(own), "kind": held.kind}
    if at >= len(order):
        return facts
    here = order[at]
    facts["sounds"] = [held.sounds[here.sentence][voice] for voice in here.voices]
    if held.kind != "words":
        facts["text"] = held.sentences[here.sentence].text
    return {**facts, "answer": own.get(at)}


@router.post("/api/w/{ws}/listen/{test}/answers")
@same_as("listening")
def answer(studio: CurrentStudio, person: CurrentPerson, ws: str, test: str, ask: AnswerAsk) -> dict[str, Any]:
    place = studio.workspace(ws)
    held = _test(place, test)
    name = person.name or studio.owner
    give_answer(place, held, listener=_listener(person), name=name, n=ask.n, answer=ask.answer)
    return {"saved": ask.n}


@router.get("/api/w/{ws}/listen/{test}/sounds/{file}")
def sound(studio: CurrentStudio, ws: str, test: str, file: str) -> Response:
    place = studio.workspace(ws)
    if file not in _test(place, test).files:
        raise NotHere("there is no such sound")
    data = (place_of(place, test) / SOUNDS / f"{file}.flac").read_bytes()
    return Response(data, media_type="audio/flac", headers={"Cache-Control": "private, max-age=3600"})


def _listener(person: Person) -> str:
    return person.link or OWN


def _test(place: StudioWorkspace, name: str) -> ListeningTest:
    folder = next((path for path in all_tests(place) if path.name == name), None)
    if folder is None or not (folder / TEST).is_file():
        raise NotHere("there is no such listening test")
    return load_test(folder)

"""Reading: a text as it will be said, every rule on the way; and a person's own words, with the clips they touch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from olu.core.errors import OluError
from olu.core.told import Remedy
from olu.corpus import query
from olu.stages.lexicon import (
    WordSummary,
    own_words,
    place,
    remove_word,
    said_as,
    set_word,
    touched,
    with_word,
)
from olu.stages.lexicon import cleaned as cleaned_word
from olu.stages.read import STAGE
from olu.studio.job_files import NO_WORKSPACE
from olu.studio.parity import same_as
from olu.studio.people import CurrentPerson
from olu.studio.readers import as_json
from olu.studio.render import page
from olu.studio.roots import StudioWorkspace
from olu.studio.state import CurrentStudio, Studio
from olu.studio.tables import has_clips
from olu.studio.words import t
from olu.text.languages import load
from olu.text.phones import PhoneFrontend

router = APIRouter()
LONGEST = 5000  # characters of a text that is read while somebody types
LISTED = 100  # clips that a word leads to
WORDS = 500  # of a lexicon that are listed


class ReadAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=LONGEST)
    ws: str = Field(NO_WORKSPACE, max_length=400)
    language: str = Field("", max_length=40)  # where there is no workspace
    word: str = Field("", max_length=200)  # tried before it is saved
    phones: str = Field("", max_length=400)


class WordAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    word: str = Field(max_length=200)
    phones: str = Field("", max_length=400)


@router.get("/w/{ws}/reading")
def reading(request: Request, studio: CurrentStudio, ws: str) -> HTMLResponse:
    found = studio.workspace(ws)
    facts: dict[str, Any] = {"wrong": "", "words": {}, "phones": {}, "file": "", "example": "", "by_phones": False}
    try:
        frontend = studio.readers.of(found)
        facts["words"] = dict(own_words(found))
        facts["file"] = str(place(found))
        facts["by_phones"] = isinstance(frontend, PhoneFrontend)
        facts["phones"] = frontend.phones if isinstance(frontend, PhoneFrontend) else {}
        facts["example"] = _example(studio, found)
    except OluError as wrong:
        facts["wrong"] = str(wrong)
    language = load(found.language)
    listed = dict(list(facts.pop("words").items())[::-1][:WORDS])
    return page(
        request,
        "reading.html",
        ws=found,
        language=language,
        listed=listed,
        state=STAGE.state(found) if has_clips(found) else "empty",
        command=str(Remedy("read", ("TEXT",), {"language": found.language, "explain": True})),
        longest=LONGEST,
        **facts,
    )


def _example(studio: Studio, ws: StudioWorkspace) -> str:
    """A text of the workspace, to begin with: one with a number, where there is one."""
    if not has_clips(ws):
        return ""
    table = studio.tables.of(ws)
    return table.example()


@router.post("/api/read")
@same_as("read")
def read(studio: CurrentStudio, person: CurrentPerson, ask: ReadAsk) -> dict[str, Any]:
    """Nothing is written."""
    person.enter(ask.ws)
    if ask.ws == NO_WORKSPACE:
        frontend = studio.readers.of_language(ask.language)
    else:
        frontend = studio.readers.of(studio.workspace(ask.ws))
    if ask.word and ask.phones:
        frontend = with_word(frontend, ask.word, ask.phones)
    return as_json(frontend, ask.text)


@router.post("/api/w/{ws}/lexicon/look")
@same_as("lexicon")
def look(studio: CurrentStudio, ws: str, ask: WordAsk) -> dict[str, Any]:
    """How a word is said now and would be, and how many clips say it. Nothing is written."""
    found = studio.workspace(ws)
    frontend = studio.readers.of(found)
    word, _ = cleaned_word(ask.word, None)
    count, ids = touched(found, frontend, word, name=LISTED)
    after = said_as(with_word(frontend, word, ask.phones), word) if ask.phones.strip() else ""
    return {
        "word": word,
        "before": said_as(frontend, word),
        "after": after,
        "clips": count,
        "where": _where(ids) if count == len(ids) else "",
        "said": t("touches {n} clip", "touches {n} clips", n=count),
    }


def _where(ids: Sequence[str]) -> str:
    """A question that finds just these clips; none where it would be too long to ask."""
    asked = f"id in [{', '.join(json.dumps(one, ensure_ascii=False) for one in ids)}]"
    return asked if ids and len(asked) <= query.LONGEST else ""


@router.post("/api/w/{ws}/lexicon")
@same_as("lexicon")
def save(studio: CurrentStudio, ws: str, ask: WordAsk) -> dict[str, Any]:
    found = studio.workspace(ws)
    studio.readers.of(found)  # what reading.toml names lies within the roots
    done = set_word(found, ask.word, ask.phones)
    command = str(Remedy("lexicon", (found.root, done.word, done.phones)))
    return _written(
        done,
        t(
            "{word} is said {phones}: it touches {n} clip.",
            "{word} is said {phones}: it touches {n} clips.",
            word=done.word,
            phones=done.phones,
            n=done.clips,
        ),
        command,
    )


@router.post("/api/w/{ws}/lexicon/remove")
@same_as("lexicon")
def remove(studio: CurrentStudio, ws: str, ask: WordAsk) -> dict[str, Any]:
    found = studio.workspace(ws)
    studio.readers.of(found)
    done = remove_word(found, ask.word)
    command = str(Remedy("lexicon", (found.root, done.word), {"remove": True}))
    return _written(
        done,
        t("{word} is out: it touches {n} clip.", "{word} is out: it touches {n} clips.", word=done.word, n=done.clips),
        command,
    )


def _written(done: WordSummary, said: str, command: str) -> dict[str, Any]:
    return {"word": done.word, "phones": done.phones, "clips": done.clips, "said": said, "command": command}

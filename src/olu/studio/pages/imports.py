"""Import: five doors, a look before anything is written, then the taking in. Uploads come in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect

from olu.core.errors import ConfigError
from olu.corpus.intake.first_clips import FIRST, NAME
from olu.studio.forms import form
from olu.studio.job_files import FIRST_CLIPS, Job
from olu.studio.parity import same_as
from olu.studio.remedies import parts
from olu.studio.render import page
from olu.studio.roots import NotHere, StudioWorkspace
from olu.studio.state import CurrentStudio, Studio
from olu.studio.uploads import WrongOffset
from olu.studio.verbs import known_verb
from olu.studio.words import t

router = APIRouter()
DOORS = (
    ("computer", "From this computer", "Drop files or a folder, or choose them. They are sent in pieces."),
    ("server", "A folder of the studio", "Recordings that lie where the studio runs already."),
    ("film", "Films with subtitles", "A film or broadcast and its .srt or .vtt; or a folder of them."),
    ("hub", "A dataset of the Hugging Face hub", "Named as OWNER/NAME."),
    ("archive", "A zip or tar file", "With recordings and their texts inside."),
)
MORE = ("layout", "speaker", "columns", "encoding", "root", "copy", "shift", "stretch", "in_sync")
RIGHTS = ("licence", "consent", "agreed", "credits")
SHOWN_PROBLEMS = 50


class UploadAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(max_length=1000)
    files: int
    bytes: int = Field(ge=0)


@router.get("/w/{ws}/import")
def doors(request: Request, studio: CurrentStudio, ws: str, door: str = "computer") -> HTMLResponse:
    held = studio.workspace(ws)
    fields = {one.name: one for one in form(known_verb("import"))}
    looks = [job for job in studio.jobs.of(ws) if job.verb == "import"][:6]
    return page(
        request,
        "import.html",
        ws=held,
        doors=DOORS,
        door=door if door in [name for name, _, _ in DOORS] else "computer",
        more=[fields[name] for name in MORE],
        rights=[fields[name] for name in RIGHTS],
        uploads=studio.uploads.all(held),
        looks=looks,
        fields=fields,
    )


@router.get("/w/{ws}/import/{number}")
def look(request: Request, studio: CurrentStudio, ws: str, number: int) -> HTMLResponse:
    """What a dry run found, to be heard and judged; or what an import took in."""
    held = studio.workspace(ws)
    job = _import_job(studio, ws, number)
    result = job.result() if job.state == "done" else None
    result = result if isinstance(result, dict) else None
    return page(
        request,
        "look.html",
        ws=held,
        tab="import",
        job=job,
        result=result,
        preview=(result or {}).get("preview") or {},
        heard={at for at in range(FIRST) if (job.folder / FIRST_CLIPS / NAME.format(at)).is_file()},
        problems=_by_kind(result or {}),
        notes=[parts(held, str(note)) for note in (result or {}).get("notes", [])],
        doubts=[parts(held, str(note)) for note in (result or {}).get("doubts", [])],
        said=parts(held, job.said),
        shown=_shown_source(held, job),
    )


def _shown_source(ws: StudioWorkspace, job: Job) -> str:
    """The source as a person knows it."""
    text = str(job.options.get("source", ""))
    path = Path(text)
    return text if text.startswith("hf:") else path.name if path.name != "files" else t("the uploaded files")


def _import_job(studio: Studio, ws: str, number: int) -> Job:
    job = studio.jobs.one(ws, number)
    if job.verb != "import":
        raise NotHere(t("job {n} is no import", n=number))
    return job


def _by_kind(result: dict[str, Any]) -> list[tuple[str, int, list[dict[str, str]]]]:
    """Problems by kind, the commonest first: in words, how many, some of them."""
    from olu.corpus.readers.rows import Why

    rows = (result.get("preview") or {}).get("problems", [])
    found = []
    for kind, number in result.get("reasons", {}).items():
        words = Why[kind.upper()].told(number) if kind.upper() in Why.__members__ else f"{number} {kind}"
        found.append((words, number, [row for row in rows if row["kind"] == kind][:SHOWN_PROBLEMS]))
    return found


@router.get("/api/w/{ws}/import/{number}/{clip}/sound")
def sound(studio: CurrentStudio, ws: str, number: int, clip: int) -> Response:
    """One of the first clips of a look, as the look wrote it."""
    path = _import_job(studio, ws, number).folder / FIRST_CLIPS / NAME.format(clip)
    if not path.is_file():
        raise NotHere(t("there is no sound of such a clip in this look"))
    return Response(path.read_bytes(), media_type="audio/flac", headers={"Cache-Control": "private, max-age=600"})


# ---------------------------------------------------------------- uploads


@router.post("/api/w/{ws}/uploads")
@same_as("import")
def begin(studio: CurrentStudio, ws: str, ask: UploadAsk) -> dict[str, Any]:
    held = studio.workspace(ws)
    made = studio.uploads.begin(held, name=ask.name, files=ask.files, bytes=ask.bytes)
    return {"id": made.id, "folder": str(made.folder), "here": studio.uploads.offsets(held, made.id)}


@router.put("/api/w/{ws}/uploads/{id}/{name:path}")
@same_as("import")
async def put(
    request: Request, studio: CurrentStudio, ws: str, id: str, name: str, offset: int = 0, total: int = -1
) -> Response:
    held = studio.workspace(ws)
    if total < 0:
        raise ConfigError(t("a piece says how large its file is: add total=BYTES"))
    try:
        told = await studio.uploads.put(held, id, name, offset=offset, total=total, body=request.stream())
    except WrongOffset as other:
        return JSONResponse({"error": str(other), "offset": other.offset}, status_code=409)
    except ClientDisconnect:  # what has come is kept; nobody is there to be told
        return JSONResponse({"error": t("the upload broke off")}, status_code=400)
    return JSONResponse(told)


@router.delete("/api/w/{ws}/uploads/{id}")
@same_as("clean")
def remove(studio: CurrentStudio, ws: str, id: str) -> dict[str, bool]:
    studio.uploads.remove(studio.workspace(ws), id)
    return {"removed": True}

"""Export: which run, as what, what is lost, the rights that go with it; and packages to take home."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from olu.core.told import Remedy
from olu.corpus.rights import Rights, change_workspace, of_workspace
from olu.studio import exports
from olu.studio.parity import same_as
from olu.studio.render import page
from olu.studio.state import CurrentStudio

router = APIRouter()


@router.get("/w/{ws}/export")
def export(request: Request, studio: CurrentStudio, ws: str, run: str = "") -> HTMLResponse:
    place = studio.workspace(ws)
    found = exports.exportable(place)
    chosen = next((one for one in found if one.run.name == run), None)
    chosen = chosen or next((one for one in found if one.kind == "voice" and one.run.finished), next(iter(found), None))
    return page(
        request,
        "export.html",
        ws=place,
        found=found,
        chosen=chosen,
        rights=exports.rights_of(place, chosen.run if chosen else None),
        exported=exports.exported(place),
        going=[job for job in studio.jobs.of(ws) if job.verb == "export" and not job.over],
        last=next((job for job in studio.jobs.of(ws) if job.verb == "export" and job.state == "done"), None),
        command=Remedy("export", (place.root,), {"run": chosen.run.name} if chosen else {}),
    )


class RightsAsk(BaseModel):
    model_config = ConfigDict(extra="forbid")
    licence: str = Field("", max_length=2000)
    consent: str = Field("", max_length=4000)
    agreed: str = Field("", pattern="^(yes|no|)$")
    credits: str = Field("", max_length=4000)
    source: str = Field("", max_length=2000)


@router.post("/api/w/{ws}/rights")
@same_as("new")
def rights(studio: CurrentStudio, ws: str, ask: RightsAsk) -> dict[str, Any]:
    """[rights] of olu.toml: what 'olu new' writes, said later."""
    place = studio.workspace(ws)
    change_workspace(place, Rights.of(ask.model_dump(), where="rights"))
    return {"answer": of_workspace(place).answer}


@router.get("/api/w/{ws}/voices/{name}/download")
def download(studio: CurrentStudio, ws: str, name: str) -> Response:
    """A package of this workspace as one zip, which every Olu opens as it is."""
    path = exports.find_exported(studio.workspace(ws), name)
    called = f"{path.name.removesuffix('.voice').removesuffix('.zip')}.zip"
    if path.is_file():
        return FileResponse(path, media_type="application/zip", filename=called)
    from urllib.parse import quote

    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(called)}"}
    return StreamingResponse(exports.zipped(path), media_type="application/zip", headers=headers)

"""The studio's scripts and style: read once, at the start, so that a request chooses among names and opens nothing."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request
from fastapi.responses import Response

from olu.pages.render import style_sheet
from olu.studio.roots import NotHere
from olu.studio.words import languages, t

WORKER = "recorder-worker.js"
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}


def _below(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for item in sorted(folder.iterdir(), key=lambda one: one.name):
        if item.is_dir():
            yield from _below(item, f"{prefix}{item.name}/")
        elif item.name.endswith(tuple(TYPES)):
            yield f"{prefix}{item.name}", item.read_bytes()


def assets() -> APIRouter:
    """`/parts/NAME` for all of parts/, `/parts/vendor/NAME` for vendor/, `/parts/speech/NAME` for what plays speech,
    `/parts/words/CODE.js` for the words of a language."""
    home = files("olu.studio")
    held = dict(_below(home.joinpath("parts")))
    held |= {f"vendor/{name}": data for name, data in _below(home.joinpath("vendor"))}
    speaks = ("memory.js", "player.js", "speech.js", "words.js")  # the same on the page of 'olu serve'
    held |= {f"speech/{name}": files("olu.serve").joinpath("page", name).read_bytes() for name in speaks}
    held |= {f"words/{one.code}.js": one.script.encode() for one in languages().values()}
    held["style.css"] = style_sheet().encode()
    router = APIRouter()

    @router.get("/parts/{name:path}", include_in_schema=False)
    async def part(request: Request, name: str) -> Response:
        data = held.get(name)
        if data is None:
            raise NotHere(t("there is nothing at this address"))
        kind = TYPES.get(f".{name.rpartition('.')[2]}") or mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {"ETag": f'"{sha256(data).hexdigest()[:20]}"', "Cache-Control": "no-cache"}
        if name == WORKER:
            headers["Service-Worker-Allowed"] = "/r/"  # it keeps the recorder's page, and no other
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=kind, headers=headers)

    return router

"""Settings: the folders, the disk, this machine (`olu doctor`), and what can be cleaned away."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from olu import __version__
from olu.core.errors import OluError
from olu.core.files import disk_bytes
from olu.studio.job_files import NO_WORKSPACE
from olu.studio.pages.people import shown_links
from olu.studio.people import DAYS, LONGEST_NAME, MOST_DAYS
from olu.studio.qr import reached_at, svg
from olu.studio.render import page
from olu.studio.state import CurrentStudio, Studio
from olu.studio.uploads import FOLDER
from olu.studio.words import t

router = APIRouter()


@router.get("/settings")
def settings(request: Request, studio: CurrentStudio) -> HTMLResponse:
    doctor = next((job for job in studio.jobs.of(NO_WORKSPACE) if job.verb == "doctor"), None)
    return page(
        request,
        "settings.html",
        roots=[(root, shutil.disk_usage(root)) for root in studio.roots.folders],
        places=_places(studio),
        doctor=doctor,
        checked=doctor.result() if doctor is not None and doctor.over else None,
        version=__version__,
        settings=studio.settings,
        links=shown_links(studio),
        longest_name=LONGEST_NAME,
        days=DAYS,
        most_days=MOST_DAYS,
        phone=_phone(studio),
        packs=sorted((studio.roots.own / "packs").glob("*.tar")),
    )


def _phone(studio: Studio) -> dict[str, Any] | None:
    """The address for a phone in the same network, and its picture; nothing where only this machine is heard."""
    reached = reached_at(studio.settings)
    if not reached:
        return None
    address = f"{reached}/" if studio.settings.passphrase else f"{reached}/?key={studio.settings.key}"
    return {"address": reached, "picture": svg(address, label=t("Opens this studio: {address}", address=reached))}


def _places(studio: Studio) -> list[dict[str, Any]]:
    found = []
    for slug in studio.roots.places():
        try:
            ws = studio.workspace(slug)
        except OluError:
            continue
        found.append(
            {
                "ws": ws,
                "features": _bytes(ws.features),
                "uploads": [(one, one.whole) for one in studio.uploads.all(ws)],
                "uploaded": _bytes(ws.root / FOLDER),
            }
        )
    return found


def _bytes(path: Path) -> int:
    return disk_bytes(path) if path.exists() else 0

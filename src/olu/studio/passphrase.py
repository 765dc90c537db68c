"""A passphrase in place of the key: kept as a scrypt hash that its owner alone can read, asked for on its own page."""

from __future__ import annotations

import getpass
import hashlib
import hmac
import json
import os
import secrets
import sys
import threading
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from olu.core.errors import ConfigError
from olu.core.parse import BadData, load_json
from olu.studio.guard import ENTER, let_in
from olu.studio.render import environment
from olu.studio.state import CurrentStudio
from olu.studio.words import t
from olu.web.limits import RateLimit

FILE = "passphrase.json"
LEAST, MOST = 8, 1000  # letters
COST = {"n": 2**14, "r": 8, "p": 1}  # 16 MiB and some 50 ms for each guess
WRONG = 5  # a minute and client


def ask() -> str:
    """What the owner types, twice at a terminal; a line of the input where there is none."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    given = getpass.getpass("Passphrase of this studio: ")
    if getpass.getpass("Once more: ") != given:
        raise ConfigError("the two passphrases are not the same: start it again")
    return given


def keep(own: Path, passphrase: str) -> None:
    if not LEAST <= len(passphrase) <= MOST:
        raise ConfigError(t("a passphrase has {n} letters at least: several words are best", n=LEAST))
    salt = secrets.token_bytes(16)
    held = {"salt": salt.hex(), "hash": _hash(passphrase, salt, COST).hex(), **COST}
    remove(own)
    with os.fdopen(os.open(own / FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        json.dump(held, file)


def remove(own: Path) -> None:
    (own / FILE).unlink(missing_ok=True)


def is_kept(own: Path) -> bool:
    return (own / FILE).is_file()


def fits(own: Path, passphrase: str) -> bool:
    try:
        held = load_json(own / FILE)
        cost = {name: int(held[name]) for name in COST}
        wanted = bytes.fromhex(held["hash"])
        return hmac.compare_digest(_hash(passphrase, bytes.fromhex(held["salt"]), cost), wanted)
    except (OSError, BadData, KeyError, TypeError, ValueError):
        raise ConfigError(t("the passphrase file cannot be read: start the studio with --passphrase again")) from None


def _hash(passphrase: str, salt: bytes, cost: dict[str, int]) -> bytes:
    return hashlib.scrypt(passphrase.encode("utf-8", "surrogatepass"), salt=salt, **cost)


class Entering(BaseModel):
    model_config = ConfigDict(extra="forbid")
    passphrase: str = Field(max_length=MOST)


def door() -> APIRouter:
    """The page that asks, and what answers it: open to everybody, as the key's own address is."""
    router, wrong, one_at_a_time = APIRouter(), RateLimit(WRONG), threading.Lock()

    @router.get(ENTER, include_in_schema=False)
    def enter(studio: CurrentStudio) -> HTMLResponse:
        asks = is_kept(studio.roots.own)
        return HTMLResponse(environment().get_template("enter.html").render(asks=asks), 200 if asks else 401)

    @router.post(ENTER, include_in_schema=False)
    def entered(request: Request, studio: CurrentStudio, given: Entering) -> Response:
        client = request.client.host if request.client else ""
        if wrong.take(client, cost=0):
            return JSONResponse({"error": t("five were wrong: wait a minute, then try again")}, 429)
        with one_at_a_time:  # guesses side by side would fill the memory
            good = is_kept(studio.roots.own) and fits(studio.roots.own, given.passphrase)
        if not good:
            wrong.take(client)
            return JSONResponse({"error": t("this is not the passphrase")}, 401)
        return let_in(studio.settings, JSONResponse({"entered": True}))

    return router

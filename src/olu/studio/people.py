"""People of a studio: who may do what, by links that can be taken back.

A role is a link. The owner makes one for a person: `/l/SECRET` for an owner, a reviewer or a listener, `/r/SECRET`
for a speaker, whose pages keep the secret in their address. The secret has 128 random bits and is shown once; the
studio keeps its hash, with role, name, workspace and end date, in `ROOT/.olu-studio/links.json`. Opening `/l/SECRET`
leaves a cookie.

How a route is opened to a role, and how a page knows who asks:

- add `("GET", "/w/{ws}/align"): REVIEW` to `RULES` below; what is not there is the owner's alone. `allowed` runs before
  every route of every page and holds `{ws}` and `{test}` of the address (or `?ws=`) to what the link is for. A route
  that takes its workspace from the body calls `person.enter(ws)` itself.
- `person: CurrentPerson` in a route gives who asks: `person.role`, `person.name` (empty for whoever has the studio's
  key). `person.signed(by)` is the name that a change carries: a link's own name, whatever the page sent.
- `person.may("GET", "/w/{ws}/jobs")` in a template shows or hides what leads there.
- `studio.links.make(role="listener", name="Amina", ws=place, test="evening-1")` makes one and gives its secret;
  `shown_once` of pages/people.py makes the address and the QR code of it.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote

from fastapi import Depends, Request

from olu.core.errors import ConfigError, OluError
from olu.core.files import Workspace, read_json, write_json
from olu.studio.roots import NotHere, Roots
from olu.studio.words import t

Role = Literal["owner", "reviewer", "speaker", "listener"]
ROLES: tuple[Role, ...] = get_args(Role)
FILE = "links.json"
SECRET_BYTES = 16
LONGEST_NAME = 80
MOST_DAYS, DAYS = 3660, 60
MOST_LINKS = 5000
HOMES = {"owner": "/", "reviewer": "/w/{ws}/clips", "listener": "/w/{ws}/listen/{test}"}
REVIEW: frozenset[Role] = frozenset({"reviewer"})
SPEAK: frozenset[Role] = frozenset({"speaker"})
LISTEN: frozenset[Role] = frozenset({"listener"})
# Which roles may use a route beside the owner. What is not here is the owner's alone.
RULES: Mapping[tuple[str, str], frozenset[Role]] = {
    ("GET", "/w/{ws}/clips"): REVIEW,
    ("GET", "/w/{ws}/clips/row"): REVIEW,
    ("GET", "/api/w/{ws}/clips"): REVIEW,
    ("GET", "/api/w/{ws}/clips/{id:path}/sound"): REVIEW,
    ("GET", "/api/w/{ws}/clips/{id:path}/peaks"): REVIEW,
    ("GET", "/api/w/{ws}/clips/{id:path}/picture"): REVIEW,
    ("GET", "/api/w/{ws}/clips/{id:path}/fine"): REVIEW,
    ("GET", "/api/w/{ws}/clips/{id:path}/wide"): REVIEW,
    ("GET", "/api/w/{ws}/clips/{id:path}"): REVIEW,
    ("POST", "/api/w/{ws}/decisions"): REVIEW,
    ("GET", "/api/w/{ws}/undo"): REVIEW,
    ("POST", "/api/w/{ws}/undo"): REVIEW,
    ("POST", "/api/w/{ws}/texts"): REVIEW,
    ("POST", "/api/w/{ws}/hands"): REVIEW,
    ("POST", "/api/w/{ws}/stopped"): REVIEW,
    ("POST", "/api/read"): REVIEW,
    ("GET", "/api/events"): REVIEW,
    ("GET", "/r/{link}"): SPEAK,
    ("GET", "/api/r/{link}"): SPEAK,
    ("POST", "/api/r/{link}/consent"): SPEAK,
    ("PUT", "/api/r/{link}/takes/{take}"): SPEAK,
    ("GET", "/api/r/{link}/takes/{take}/sound"): SPEAK,
    ("POST", "/api/r/{link}/done"): SPEAK,
    ("GET", "/w/{ws}/align"): REVIEW,
    ("GET", "/w/{ws}/align/clip"): REVIEW,
    ("GET", "/api/w/{ws}/bounds"): REVIEW,
    ("POST", "/api/w/{ws}/bounds"): REVIEW,
    ("GET", "/api/w/{ws}/textgrid"): REVIEW,
    ("GET", "/api/w/{ws}/textgrids"): REVIEW,
    ("GET", "/w/{ws}/listen/{test}"): LISTEN,
    ("GET", "/api/w/{ws}/listen/{test}/trial"): LISTEN,
    ("POST", "/api/w/{ws}/listen/{test}/answers"): LISTEN,
    ("GET", "/api/w/{ws}/listen/{test}/sounds/{file}"): LISTEN,
}
NO_OWNER = frozenset({"/r/", "/api/r/"})  # the link in the address says who it is, also to whoever has the key
WATCHES: Mapping[str, frozenset[str]] = {"reviewer": frozenset({"clips", "bounds"})}  # kinds of events, in place of all


class NotAllowed(OluError):
    """Somebody is known here, and may not do this."""


@dataclass(frozen=True)
class Person:
    """Who asks. Whoever has the studio's key is the owner, without a name and a link."""

    role: Role
    name: str = ""
    ws: str = ""  # the workspace's name in addresses; empty for owners
    test: str = ""  # of a listener: the listening test
    link: str = ""  # the id of the link

    @property
    def home(self) -> str:
        return HOMES.get(self.role, "").format(ws=quote(self.ws), test=quote(self.test))

    def may(self, method: str, route: str) -> bool:
        """Whether the role may use a route, named as the route is declared."""
        if any(route.startswith(start) for start in NO_OWNER):
            return self.role in RULES.get((method, route), ())
        return self.role == "owner" or self.role in RULES.get((method, route), ())

    def enter(self, ws: str) -> None:
        """Refuse a workspace that the link is not for."""
        if self.role != "owner" and ws != self.ws:
            raise NotAllowed(t("this link is for another workspace: ask for one of this"))

    def signed(self, by: str | None = None) -> str | None:
        """The name that a change carries. Only the owner, who works in the name of others, may give another."""
        if self.role != "owner":
            return self.name
        return by if by and by.strip() else self.name or None


OWNER = Person("owner")


@dataclass(frozen=True)
class AccessLink:
    """One link, as it is kept. The secret itself is not."""

    id: str
    role: Role
    name: str
    hash: str
    made: str
    ends: str  # the last day on which it opens
    root: str = ""  # the folder of the workspace
    test: str = ""
    revoked: str = ""  # when

    @property
    def state(self) -> str:
        if self.revoked:
            return "taken back"
        return "open" if date.fromisoformat(self.ends) >= date.today() else "ended"


class Links:
    """All links of a studio. One server has a root, so the file is its own; it is written whole."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._lock = threading.Lock()
        self._held: tuple[Any, list[AccessLink]] = (None, [])

    @property
    def path(self) -> Path:
        return self._roots.own / FILE

    def all(self) -> list[AccessLink]:
        """Every link, the newest first."""
        return self._read()[::-1]

    def of(self, ws: Workspace, role: Role | None = None) -> list[AccessLink]:
        return [one for one in self.all() if one.root == str(ws.root) and role in (None, one.role)]

    def make(
        self, *, role: Role, name: str, ws: Workspace | None = None, test: str = "", days: int = DAYS
    ) -> tuple[AccessLink, str]:
        """A new link and its secret, which is told here and never again."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise ConfigError(t("a link is for somebody: give a name of up to {n} letters", n=LONGEST_NAME))
        if (ws is None) != (role == "owner"):
            raise ConfigError(t("an owner has all workspaces, everybody else one: choose it"))
        if bool(test) != (role == "listener"):
            raise ConfigError(t("a listener's link names the listening test, and only that"))
        if not 1 <= days <= MOST_DAYS:
            raise ConfigError(t("a link opens for 1 to {n} days", n=MOST_DAYS))
        secret = secrets.token_urlsafe(SECRET_BYTES)
        ends = date.today() + timedelta(days=days)
        made = AccessLink(
            id=secrets.token_hex(4),
            role=role,
            name=name,
            hash=_hash(secret),
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            ends=ends.isoformat(),
            root=str(ws.root) if ws else "",
            test=test,
        )
        with self._lock:
            held = self._read()
            if len(held) >= MOST_LINKS:
                raise ConfigError(
                    t("there are {n} links already: remove {path} to begin anew", n=MOST_LINKS, path=self.path)
                )
            self._write([*held, made])
        return made, secret

    def revoke(self, id: str) -> AccessLink:
        """Take a link back, at once and for good."""
        with self._lock:
            held = self._read()
            found = next((one for one in held if one.id == id), None)
            if found is None:
                raise NotHere(t("there is no such link: look at the list again"))
            if not found.revoked:
                found = replace(found, revoked=datetime.now(UTC).isoformat(timespec="seconds"))
                self._write([found if one.id == id else one for one in held])
        return found

    def person(self, secret: str) -> Person | None:
        """Whose secret this is; nobody where the link is unknown, has ended or was taken back."""
        wanted = _hash(secret)
        found = next((one for one in self._read() if secrets.compare_digest(one.hash, wanted)), None)
        if found is None or found.state != "open":
            return None
        slug = self._roots.slug_of(Path(found.root), anew=False) if found.root else ""
        if found.root and not slug:
            return None
        return Person(found.role, found.name, slug, found.test, found.id)

    def _read(self) -> list[AccessLink]:
        try:
            state = (self.path.stat().st_size, self.path.stat().st_mtime_ns)
        except OSError:
            return []
        if self._held[0] != state:
            try:
                found = [AccessLink(**row) for row in read_json(self.path)]
            except TypeError:
                raise ConfigError(
                    t("{path} holds something else than links: remove it, and make new ones", path=self.path)
                ) from None
            self._held = (state, found)
        return self._held[1]

    def _write(self, links: list[AccessLink]) -> None:
        self.path.parent.mkdir(exist_ok=True)
        write_json(self.path, [asdict(one) for one in links])


def _hash(secret: str) -> str:
    return hashlib.sha256(f"olu link {secret}".encode("utf-8", "replace")).hexdigest()


def address(link: AccessLink, secret: str) -> str:
    """Where a link leads, without the studio's own address."""
    return f"/{'r' if link.role == 'speaker' else 'l'}/{secret}"


def current_person(request: Request) -> Person:
    """Who asks, as the guard found out."""
    held: Person = request.scope["olu_person"]
    return held


CurrentPerson = Annotated[Person, Depends(current_person)]


def allowed(request: Request) -> None:
    """Before every route: whether who asks may use it, and whether it is about what the link is for."""
    person = current_person(request)
    route = request.scope["route"].path
    if not person.may(request.method, route):
        raise NotAllowed(t("this link is not for this page: ask whoever gave it to you"))
    if person.role == "owner":
        return
    given = {**request.query_params, **request.path_params}
    if "ws" in given:
        person.enter(str(given["ws"]))
    if str(given.get("test", person.test)) != person.test:
        raise NotAllowed(t("this link is for another listening test"))
    kinds = {one.partition(":")[0] for one in request.query_params.get("watch", "").split(",") if one}
    if not kinds <= WATCHES.get(person.role, frozenset()):
        raise NotAllowed(t("this link is not for this page: ask whoever gave it to you"))

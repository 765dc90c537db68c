"""Roles: links that open what they are for and nothing else, end, and can be taken back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from olu.core.files import Workspace
from olu.studio.app import PAGES
from olu.studio.people import MOST_LINKS, ROLES, RULES, Role

from ..helpers.clip_workspaces import clip_workspace
from ..helpers.studio import KEY, StudioClient

ROUTES = [
    (method, route.path)
    for name in PAGES
    for route in import_module(f"olu.studio.pages.{name}").router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods)
]
# What each role is for, written down a second time: a route that is opened by mistake is seen here.
REVIEWS = """
GET /w/{ws}/clips
GET /w/{ws}/clips/row
GET /api/w/{ws}/clips
GET /api/w/{ws}/clips/{id:path}/sound
GET /api/w/{ws}/clips/{id:path}/peaks
GET /api/w/{ws}/clips/{id:path}/picture
GET /api/w/{ws}/clips/{id:path}/fine
GET /api/w/{ws}/clips/{id:path}/wide
GET /api/w/{ws}/clips/{id:path}
POST /api/w/{ws}/decisions
GET /api/w/{ws}/undo
POST /api/w/{ws}/undo
POST /api/w/{ws}/texts
POST /api/w/{ws}/hands
POST /api/w/{ws}/stopped
GET /w/{ws}/align
GET /w/{ws}/align/clip
GET /api/w/{ws}/bounds
POST /api/w/{ws}/bounds
GET /api/w/{ws}/textgrid
GET /api/w/{ws}/textgrids
POST /api/read
GET /api/events
"""
SPEAKS = """
GET /r/{link}
GET /api/r/{link}
POST /api/r/{link}/consent
PUT /api/r/{link}/takes/{take}
GET /api/r/{link}/takes/{take}/sound
POST /api/r/{link}/done
"""
LISTENS = """
GET /w/{ws}/listen/{test}
GET /api/w/{ws}/listen/{test}/trial
POST /api/w/{ws}/listen/{test}/answers
GET /api/w/{ws}/listen/{test}/sounds/{file}
"""
MAY = {
    role: {tuple(line.split(" ", 1)) for line in lines.split("\n") if line}
    for role, lines in (("reviewer", REVIEWS), ("speaker", SPEAKS), ("listener", LISTENS))
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioClient]:
    root = tmp_path_factory.mktemp("root")
    Workspace.create(root / "habari", language="swa")
    Workspace.create(root / "other", language="swa")
    made = StudioClient.of(root)
    yield made
    for child in made.studio.jobs._children.values():
        child.wait(60)
    made.studio.jobs.advance()


def link(client: StudioClient, role: Role, name: str = "Amina", ws: str = "habari") -> str:
    """The secret of a new link."""
    place = client.studio.workspace(ws) if role != "owner" else None
    test = "evening" if role == "listener" else ""
    return str(client.studio.links.make(role=role, name=name, ws=place, test=test)[1])


def came(client: StudioClient, secret: str) -> StudioClient:
    """A browser that has opened the link."""
    other = StudioClient(client.app)
    entered = other.get(f"/l/{secret}")
    assert entered.status == 200, entered.text
    other.cookie = entered.headers["set-cookie"].partition(";")[0]
    return other


def ask(client: StudioClient, method: str, path: str, secret: str, *, ws: str = "habari") -> int:
    """The status of a request for a route, its places filled."""
    places = {"ws": ws, "link": secret, "test": "evening", "number": "1", "step": "1", "verb": "status"}
    url = re.sub(r"{(\w+)(?::path)?}", lambda found: places.get(found[1], "x"), path)
    if path == "/api/events":
        url += f"?ws={ws}&watch=clips"
    if path == "/w/{ws}/clips/row":
        url += "?id=x"
    body = {"ws": ws, "text": "habari"} if path == "/api/read" else {}
    headers = {"x-olu-studio": "1", "content-type": "application/json"}
    return client.ask(method, url, json.dumps(body).encode() if method != "GET" else b"", headers).status


@pytest.mark.parametrize("role", ROLES)
def test_each_role_against_each_route(client: StudioClient, role: Role) -> None:
    assert len(ROUTES) > 70
    secret = link(client, role)
    browser = came(client, secret) if role != "speaker" else StudioClient(client.app)
    for method, path in ROUTES:
        with_link = "{link}" in path
        wanted = (method, path) in MAY.get(role, ()) or (role == "owner" and not with_link)
        status = ask(browser, method, path, secret)
        if wanted:
            assert status not in (401, 403), (role, method, path, status)
        else:
            assert status in (401, 403), (role, method, path, status)
    assert (browser.get("/openapi.json").status == 200) == (role == "owner")


@pytest.mark.parametrize("role", ["reviewer", "speaker", "listener"])
def test_a_link_is_for_one_workspace(client: StudioClient, role: Role) -> None:
    secret = link(client, role)
    browser = came(client, secret) if role != "speaker" else StudioClient(client.app)
    for method, path in MAY[role]:
        if "{ws}" in path or path in ("/api/events", "/api/read"):
            assert ask(browser, method, path, secret, ws="other") == 403, (method, path)


def test_every_rule_is_about_a_route_that_exists() -> None:
    assert set(RULES) <= set(ROUTES)
    assert set(RULES) == set().union(*MAY.values())


def test_a_reviewer_watches_clips_and_no_jobs(client: StudioClient) -> None:
    browser = came(client, link(client, "reviewer"))
    assert browser.get("/api/events?ws=habari&watch=clips").status == 200
    for watch in ("jobs", "job:1", "clips,jobs", "run:x"):
        assert browser.get(f"/api/events?ws=habari&watch={watch}").status == 403
    assert browser.get("/api/events?watch=clips").status in (403, 404, 422)


def test_a_link_ends_and_is_taken_back(client: StudioClient, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = link(client, "reviewer", "Bola")
    browser = came(client, secret)
    assert browser.get("/w/habari/clips").status == 200
    id = next(one.id for one in client.studio.links.all() if one.name == "Bola")
    done = client.post(f"/api/links/{id}/revoke").json
    assert done["state"] == "taken back"
    assert browser.get("/w/habari/clips").status == 401
    assert StudioClient(client.app).get(f"/l/{secret}").status == 401
    assert client.post("/api/links/nobody/revoke").status == 404

    late = link(client, "reviewer", "Chidi")
    browser = came(client, late)

    class Later(date):
        @classmethod
        def today(cls) -> date:
            return date.fromisoformat("2000-01-01").replace(year=9999)

    monkeypatch.setattr("olu.studio.people.date", Later)
    assert browser.get("/w/habari/clips").status == 401


def test_the_secret_is_shown_once_and_kept_as_a_hash(client: StudioClient) -> None:
    made = client.post("/api/links", {"role": "reviewer", "name": "Dede", "ws": "habari", "days": 3}).json
    secret = made["address"].rpartition("/")[2]
    assert len(secret) >= 22 and made["address"].startswith("http://127.0.0.1:8420/l/")
    assert "<svg" in made["qr"] and not made["far"]
    kept = client.studio.links.path.read_text()
    assert secret not in kept and "Dede" in kept
    assert secret not in client.get("/settings").text and "Dede" in client.get("/settings").text
    assert made["ends"] == (date.today() + timedelta(days=3)).isoformat()
    listed = client.get("/api/links").json["links"]
    assert secret not in json.dumps(listed) and any(one["name"] == "Dede" for one in listed)


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "king", "name": "E", "ws": "habari"},
        {"role": "reviewer", "name": " ", "ws": "habari"},
        {"role": "reviewer", "name": "E\0", "ws": "habari"},
        {"role": "reviewer", "name": "E" * 200, "ws": "habari"},
        {"role": "reviewer", "name": "E"},
        {"role": "reviewer", "name": "E", "ws": "nowhere"},
        {"role": "reviewer", "name": "E", "ws": "habari", "days": 0},
        {"role": "reviewer", "name": "E", "ws": "habari", "days": 10**9},
        {"role": "listener", "name": "E", "ws": "habari"},
    ],
)
def test_links_that_cannot_be_are_refused(client: StudioClient, wrong: dict[str, object]) -> None:
    before = len(client.studio.links.all())
    assert client.post("/api/links", wrong).status in (404, 422)
    assert len(client.studio.links.all()) == before < MOST_LINKS


def test_wrong_links_open_nothing_and_wait(client: StudioClient) -> None:
    stranger = StudioClient(client.app, client="203.0.113.9")
    for secret in ("x", "", "..%2f", "a" * 5000, "%00"):
        assert stranger.get(f"/l/{secret}").status == 401
        assert stranger.get(f"/r/{secret}").status == 401
    stranger.cookie = "olu-link-8420=nothing"
    found = {stranger.get("/").status for _ in range(40)}
    assert found == {401, 429}


def test_a_change_carries_the_name_of_the_link(client: StudioClient, tmp_path: Path) -> None:
    import numpy as np
    import soundfile

    root = client.studio.roots.folders[0]
    (root / "rec").mkdir()
    soundfile.write(root / "rec/a.wav", 0.1 * np.random.default_rng(1).normal(size=16000), 16000)
    (root / "rec/a.txt").write_text("Habari")
    assert client.job("habari", "import", source=str(root / "rec"))["state"] == "done"
    browser = came(client, link(client, "reviewer", "Amina"))
    (clip,) = browser.get("/api/w/habari/clips").json["clips"]
    done = browser.post("/api/w/habari/texts", {"id": clip["id"], "text": "Habari gani", "by": "somebody else"})
    assert done.status == 200, done.text
    last = browser.get("/api/w/habari/undo").json
    assert last["who"] == "Amina"
    page = browser.get("/w/habari/clips").text
    assert "You are Amina" in page and 'href="/settings"' not in page and "/w/habari/train" not in page
    owner = came(client, link(client, "owner", "Femi"))
    job = owner.post("/api/jobs", {"ws": "habari", "verb": "status"}).json
    for child in client.studio.jobs._children.values():
        child.wait(30)
    client.studio.jobs.advance()
    told = json.loads((root / f"habari/jobs/{job['number']:04d}/ask.json").read_text())
    assert told["who"] == "Femi"


def test_a_name_that_is_code_is_text(client: StudioClient) -> None:
    name = '"><script>document.title="taken"</script>'[:80]
    secret = link(client, "reviewer", name)
    assert "<script>doc" not in client.get("/settings").text
    assert "<script>doc" not in StudioClient(client.app).get(f"/l/{secret}").text
    assert "<script>doc" not in came(client, secret).get("/w/habari/clips").text


def test_a_link_comes_before_the_key_in_the_same_browser(tmp_path: Path) -> None:
    """The owner's laptop goes round the table: what is done by a link carries its name, until somebody leaves it."""
    client = StudioClient.of(tmp_path)
    ws = clip_workspace(tmp_path)
    link, secret = client.studio.links.make(role="reviewer", name="Amina", ws=ws)
    key = client.cookie
    assert "You are Amina" not in client.get("/w/swa/clips").text
    client.cookie = f"{key}; {client.get(f'/l/{secret}').headers['set-cookie'].partition(';')[0]}"
    both = client.cookie
    assert "You are Amina" in client.get("/w/swa/clips").text and client.get("/settings").status == 403
    left = client.get("/leave")
    assert (left.status, left.headers["location"]) == (303, "/") and 'olu-link-8420=""' in left.headers["set-cookie"]
    client.cookie = key
    assert client.get("/settings").status == 200
    client.cookie = both
    entered = client.get(f"/?key={KEY}")  # the key's address too
    assert 'olu-link-8420=""' in entered.headers["set-cookie"]
    client.studio.links.revoke(link.id)
    assert client.get("/settings").status == 200  # a link that is taken back leaves the key

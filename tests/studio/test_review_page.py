"""Several people at the same clips over HTTP: hands, where the last one stopped, corrections by two, taken back."""

from __future__ import annotations

from typing import Any

import pytest

from olu.core.files import Workspace
from olu.corpus import corrections
from olu.corpus.manifest import Corpus
from olu.studio import review

from ..helpers.clip_workspaces import large_workspace
from ..helpers.studio import StudioClient

API = "/api/w/large"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, StudioClient]:
    root = tmp_path_factory.mktemp("root")
    return large_workspace(root, 120), StudioClient.of(root)


@pytest.fixture
def ws(made: tuple[Workspace, StudioClient]) -> Workspace:
    return made[0]


@pytest.fixture
def people(made: tuple[Workspace, StudioClient]) -> list[StudioClient]:
    """Two reviewers, each with a link."""
    ws, owner = made
    found = []
    for name in ("Amina", "Juma"):
        _, secret = owner.studio.links.make(role="reviewer", name=name, ws=ws)
        cookie = owner.get(f"/l/{secret}").headers["set-cookie"].partition(";")[0]
        found.append(StudioClient(owner.app, cookie=cookie))
    return found


def hands(person: StudioClient, id: str, tab: str, **more: Any) -> Any:
    return person.post(f"{API}/hands", {"id": id, "tab": tab, **more}).json


def test_thirty_corrections_by_two_and_taken_back(ws: Workspace, people: list[StudioClient]) -> None:
    before, texts = corrections.load(ws), [clip.text for clip in Corpus.open(ws)]
    ids = [clip.id for clip in Corpus.open(ws)][:30]
    for number, id in enumerate(ids):
        person = people[number % 2]
        assert person.post(f"{API}/texts", {"id": id, "text": f"neno la {number}", "by": "somebody else"}).status == 200
    assert [one.by for one in corrections.load(ws)] == ["Amina", "Juma"] * 15
    assert 'class="soft done">15 done by you' in people[0].get("/w/large/clips").text
    for person in people:
        for _ in range(15):
            assert person.post(f"{API}/undo", {}).status == 200
        assert person.post(f"{API}/undo", {}).status == 422  # nothing of the other's
    assert corrections.load(ws) == before and [clip.text for clip in Corpus.open(ws)] == texts
    assert corrections.hash_texts(ws) == ""


def test_a_clip_is_in_one_pair_of_hands_and_let_go_by_itself(
    ws: Workspace, people: list[StudioClient], made: tuple[Workspace, StudioClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    amina, juma = people
    id = Corpus.open(ws).clips[0].id
    assert hands(amina, id, "tab-of-amina") == {"yours": True, "name": "Amina"}
    assert hands(juma, id, "tab-of-juma") == {"yours": False, "name": "Amina"}
    assert made[1].studio.leases.held(ws) == {id: {"name": "Amina", "tab": "tab-of-amina"}}
    hands(juma, id, "tab-of-juma", hold=False)  # is not his to let go
    assert hands(juma, id, "tab-of-juma")["name"] == "Amina"
    hands(amina, id, "tab-of-amina", hold=False)
    assert hands(juma, id, "tab-of-juma")["yours"]
    moment = review.time.monotonic()
    monkeypatch.setattr(review.time, "monotonic", lambda: moment + review.LEASE_SECONDS + 1)
    assert made[1].studio.leases.held(ws) == {} and hands(amina, id, "tab-of-amina")["yours"]
    assert amina.post(f"{API}/hands", {"id": "nobody", "tab": "tab-of-amina"}).status == 404
    assert amina.post(f"{API}/hands", {"id": id, "tab": "x"}).status == 422


def test_the_next_person_goes_on_where_the_last_stopped(ws: Workspace, people: list[StudioClient]) -> None:
    amina, juma = people
    ids = [clip.id for clip in Corpus.open(ws)]
    assert "go-on" not in juma.get("/w/large/clips").text
    amina.post(f"{API}/stopped", {"id": ids[70], "query": "?at=50"})
    page = juma.get("/w/large/clips").text
    assert "Go on at clip 71" in page and "where Amina stopped" in page and f"?at=50#clip={ids[70]}" in page
    assert "go-on" not in juma.get("/w/large/clips?speaker=speaker3").text  # another list has another place
    amina.post(f"{API}/stopped", {"id": ids[43], "query": "?speaker=speaker3"})
    assert "Go on at clip 3" in juma.get("/w/large/clips?speaker=speaker3").text
    (ws.root / review.STOPPED).write_text("{broken")
    assert juma.get("/w/large/clips").status == 200
    assert amina.post(f"{API}/stopped", {"id": "nobody"}).status == 404

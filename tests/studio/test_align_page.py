"""The alignment page over HTTP: listed, shown, moved by name, refused, taken out as TextGrids."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from olu.align.state import alignment_path
from olu.align.textgrid import parse
from olu.align.textgrid_files import write_all
from olu.core.files import Workspace, write_jsonl
from olu.core.job import finish
from olu.corpus import hand_bounds
from olu.corpus.hand_bounds import read_alignments
from olu.stages.align import align
from olu.stages.correct import correct_clip

from ..helpers.aligned_workspaces import TEXTS, workspace
from ..helpers.studio import StudioClient


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, StudioClient]:
    root = tmp_path_factory.mktemp("root")
    ws, truth = workspace(root, TEXTS[:3])
    write_all(root / "grids", truth.values())
    finish(align(ws, source=root / "grids"))
    correct_clip(ws, list(truth)[2], "<script>x()</script> habari", by="amina")
    return ws, StudioClient.of(root)


@pytest.fixture
def ws(made: tuple[Workspace, StudioClient]) -> Workspace:
    hand_bounds.journal(made[0]).path.unlink(missing_ok=True)
    return made[0]


@pytest.fixture
def client(made: tuple[Workspace, StudioClient]) -> StudioClient:
    return made[1]


def shown(client: StudioClient, ws: Workspace) -> dict[str, Any]:
    id = next(iter(read_alignments(ws)))
    return dict(client.get(f"/api/w/ws/bounds?id={id}").json)


def moved(phones: list[list[Any]], place: int, by: float) -> list[list[Any]]:
    found = [list(one) for one in phones]
    found[place][2] = found[place + 1][1] = round(found[place][2] + by, 4)
    return found


def test_clips_are_listed_and_shown_with_their_phones(ws: Workspace, client: StudioClient) -> None:
    page = client.get("/w/ws/align")
    assert page.status == 200 and "&lt;script&gt;" in page.text and "<script>x" not in page.text
    facts = shown(client, ws)
    assert facts["batch"] == "" and facts["method"] == "textgrid" and not facts["stale"]
    assert all(a[2] == b[1] for a, b in zip(facts["phones"], facts["phones"][1:], strict=False))
    clip = client.get(f"/w/ws/align/clip?id={facts['id']}")
    assert clip.status == 200 and 'id="strip"' in clip.text and 'rel="next"' in clip.text
    assert "No boundary was set by hand yet" in client.get("/w/ws/align?order=hand").text
    assert client.get("/w/ws/align/clip?id=nobody").status == 404
    assert client.get("/api/w/ws/bounds?id=nobody").status == 404
    assert client.get(f"/api/w/ws/clips/{facts['id']}/fine").status == 200
    assert client.get(f"/api/w/ws/clips/{facts['id']}/wide").body.startswith(b"\x89PNG")


def test_worst_alignments_come_first_and_follow_their_file(tmp_path: Path) -> None:
    ws, truth = workspace(tmp_path, TEXTS[:4])
    client, path, ids = StudioClient.of(tmp_path), alignment_path(ws), list(truth)

    def listed() -> list[str]:
        return re.findall(r"/align/clip\?id=([\w-]+)", client.get("/w/ws/align").text)

    assert listed() == []
    rows = [asdict(one) for one in truth.values()]
    for row, score in zip(rows, (-0.5, None, -2.0, -1.0), strict=True):
        row["score"] = score
    write_jsonl(path, [*rows[1:], {**rows[0], "id": "gone"}])
    assert list(dict.fromkeys(listed())) == [ids[2], ids[3], ids[1]]
    write_jsonl(path, rows)
    assert list(dict.fromkeys(listed())) == [ids[2], ids[3], ids[0], ids[1]]
    path.write_text("not a row\n")
    assert "is damaged" in client.get("/w/ws/align").text


def test_a_boundary_is_moved_by_name_and_taken_back(ws: Workspace, client: StudioClient) -> None:
    facts = shown(client, ws)
    ask = {"id": facts["id"], "phones": moved(facts["phones"], 1, 0.02), "expect": "", "by": "Amina"}
    saved = client.post("/api/w/ws/bounds", ask).json
    assert (saved["by"], saved["changed"], saved["phones"]) == ("Amina", 1, ask["phones"])
    stale = client.post("/api/w/ws/bounds", {**ask, "phones": facts["phones"], "by": "Juma"})
    assert stale.status == 422 and "Amina has set other boundaries" in stale.json["error"]
    assert "Amina" in client.get("/w/ws/align?order=hand").text
    same = client.post("/api/w/ws/bounds", {**ask, "expect": saved["batch"]})
    assert same.json["changed"] == 0 and same.json["batch"] == saved["batch"]
    back = client.post("/api/w/ws/undo", {"batch": saved["batch"], "by": "Amina"})
    assert back.status == 200 and "the boundaries of 1 clip set" in back.json["said"]
    assert shown(client, ws) == facts


def test_what_is_no_boundary_is_refused_and_nothing_kept(ws: Workspace, client: StudioClient) -> None:
    facts = shown(client, ws)
    phones = facts["phones"]
    for bad in ([], phones[1:], [["<b>", 0, 1]], moved(phones, 1, 30.0), [*phones[:-1], [*phones[-1][:2], 1e4]]):
        answer = client.post("/api/w/ws/bounds", {"id": facts["id"], "phones": bad})
        assert answer.status == 422 and answer.json["error"], bad
    for wrong in ({"id": "nobody", "phones": phones}, {"id": facts["id"]}, {"id": facts["id"], "phones": "x"}):
        assert client.post("/api/w/ws/bounds", wrong).status in (404, 422)
    assert hand_bounds.load(ws) == []


def test_textgrids_go_out_with_what_was_set(ws: Workspace, client: StudioClient) -> None:
    facts = shown(client, ws)
    ask = {"id": facts["id"], "phones": moved(facts["phones"], 1, 0.02)}
    client.post("/api/w/ws/bounds", ask)
    one = client.get(f"/api/w/ws/textgrid?id={facts['id']}")
    grid = parse(one.text, where="answer")
    tiers = {tier.name: tier for tier in grid.tiers}
    assert [span.end for span in tiers["phones"].intervals] == pytest.approx(
        [end for *_, end in ask["phones"]], abs=1e-3
    )
    client.stay = 5  # a client that leaves gets no file
    every = zipfile.ZipFile(io.BytesIO(client.get("/api/w/ws/textgrids").body))
    assert len(every.namelist()) == len(read_alignments(ws))
    assert every.read(f"{facts['id']}.TextGrid").decode() == one.text


def test_tones_are_a_tier_of_their_own(tmp_path: Path) -> None:
    made, truth = workspace(tmp_path, ["Ọ́ nà-àgá n'ụ́lọ̀", "Ányị̀ bì n'ụ́lọ̀"], language="ibo")
    write_all(tmp_path / "grids", truth.values())
    finish(align(made, source=tmp_path / "grids"))
    client = StudioClient.of(tmp_path)
    facts = shown(client, made)
    assert {"H", "L"} <= set(facts["tones"]) and len(facts["tones"]) == sum(bool(one[0]) for one in facts["phones"])
    grid = parse(client.get(f"/api/w/ws/textgrid?id={facts['id']}").text, where="answer")
    assert [tier.name for tier in grid.tiers] == ["words", "phones", "tones"]


def test_a_reviewer_may_set_boundaries_in_her_own_name(ws: Workspace, client: StudioClient) -> None:
    _, secret = client.studio.links.make(role="reviewer", name="Rahel", ws=ws)
    entered = client.get(f"/l/{secret}")
    reviewer = StudioClient(client.app, cookie=entered.headers["set-cookie"].partition(";")[0])
    facts = shown(reviewer, ws)
    saved = reviewer.post("/api/w/ws/bounds", {"id": facts["id"], "phones": moved(facts["phones"], 1, 0.02), "by": "X"})
    assert saved.json["by"] == "Rahel"
    assert reviewer.get("/w/ws/align").status == 200 and reviewer.get("/w/ws/train").status == 403

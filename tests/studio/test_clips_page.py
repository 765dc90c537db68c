"""Clips over HTTP: found, heard, seen, decided of, corrected; two tabs and a terminal lose nothing."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import soundfile

from olu.core.files import Workspace, read_jsonl
from olu.corpus import drafts
from olu.corpus.decisions import in_force, load
from olu.corpus.drafts import TextDraft
from olu.corpus.manifest import Corpus
from olu.stages.correct import correct_clip
from olu.stages.decide import decide
from olu.studio.tables import ClipQuery

from ..helpers.clip_workspaces import HOSTILE, SPEAKERS, TEXTS, clip_workspace, wave
from ..helpers.studio import StudioClient

CLIPS = "/api/w/swa/clips"


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return clip_workspace(tmp_path)


@pytest.fixture
def client(tmp_path: Path, ws: Workspace) -> StudioClient:
    return StudioClient.of(tmp_path)


def found(client: StudioClient, query: str = "") -> list[str]:
    answer = client.get(CLIPS + query)
    assert answer.status == 200, answer.text
    assert answer.json["found"] == len(answer.json["clips"])
    return [one["id"] for one in answer.json["clips"]]


def test_the_query_language_and_chips_choose_and_count(client: StudioClient) -> None:
    assert found(client) == [f"c{n}" for n in range(6)]
    assert found(client, "?check=clipping") == ["c2", "c4"]
    assert found(client, "?check=clipping&check=silence") == ["c0", "c2", "c4"]
    assert found(client, f"?speaker={quote(SPEAKERS[2])}") == ["c2", "c5"]
    assert found(client, "?side=valid&side=-") == ["c2", "c5"]  # a clip without a text has no side
    assert found(client, "?decision=-&where=letters%20%3E%2010%20or%20letters%20%3D%3D%200&check=clipping") == ["c2"]
    assert found(client, "?where=letters%20%3C%2010&sort=-letters") == ["c3", "c4", "c5"]
    told = client.get(f"{CLIPS}?check=clipping").json
    assert told["where"] == '"clipping" in marks' and told["total"] == 6
    assert told["facets"]["speaker"] == {SPEAKERS[2]: 1, "obi": 1} and told["facets"]["marks"] == {"clipping": 2}
    page = client.get("/w/swa/clips?check=clipping&where=letters+%3E+1").text
    assert "olu clips" in page and "&#34;clipping&#34; in marks and (letters &gt; 1)" in page


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("where=secnds%20%3E%203", "no column 'secnds' (did you mean"),
        ("where=1%20%2B", "cannot be read"),
        ("where=__import__('os')", "is not possible here"),
        ("where=" + "(" * 900, "cannot be read"),
        ("where=%00", "cannot be read"),
        ("sort=nothing", "--sort 'nothing': no column"),
        ("where=" + "a" * 6000, "where"),
        ("at=-1", "at"),
        ("at=x", "at"),
        ("check=" + "&check=".join(["x"] * 80), "check"),
    ],
)
def test_a_wrong_question_is_answered_by_a_sentence(client: StudioClient, query: str, sentence: str) -> None:
    answer = client.get(f"{CLIPS}?{query}")
    assert answer.status == 422 and sentence in answer.json["error"]
    page = client.get(f"/w/swa/clips?{query}")
    assert page.status == 422 and "<h1>" in page.text


def test_texts_names_and_speakers_are_shown_as_text(client: StudioClient, ws: Workspace) -> None:
    correct_clip(ws, "c3", HOSTILE, by=HOSTILE)
    decide(ws, ["c3"], decision="drop", reason=HOSTILE, by=HOSTILE)
    for url in ("/w/swa/clips", f"/w/swa/clips?where={quote(HOSTILE)}", f"/w/swa/clips?speaker={quote(HOSTILE)}"):
        page = client.get(url)
        assert "<script>failures" not in page.text and "<img src=x" not in page.text
        assert "&lt;script&gt;failures" in page.text
        assert page.headers["content-security-policy"].startswith("default-src 'self'")
        assert " style=" not in page.text and " onclick" not in page.text


def test_a_clip_is_heard_as_it_is_and_its_file_never_leaves(client: StudioClient, ws: Workspace) -> None:
    answer = client.get(f"{CLIPS}/c1/sound")
    samples, rate = soundfile.read(io.BytesIO(answer.body), dtype="float32")
    assert rate == 16000 and answer.headers["content-type"] == "audio/flac"
    assert np.abs(samples - wave(1).samples).max() < 1e-4
    part = client.get(f"{CLIPS}/c1/sound", range="bytes=4-9")
    assert part.status == 206 and part.body == answer.body[4:10]
    assert part.headers["content-range"] == f"bytes 4-9/{len(answer.body)}"
    assert client.get(f"{CLIPS}/c1/sound", range="bytes=-5").body == answer.body[-5:]
    for wrong in ("bytes=9-4", "bytes=x-", "lines=1-2", "bytes=99999999-", f"bytes={'9' * 40}-", "bytes=²-", "bytes="):
        assert client.ask("GET", f"{CLIPS}/c1/sound", headers={"range": wrong}).body == answer.body
    assert client.get(f"{CLIPS}/c1/sound", **{"if-none-match": answer.headers["etag"]}).status == 304
    peaks = np.frombuffer(client.get(f"{CLIPS}/c1/peaks").body, np.int8).reshape(-1, 2)
    assert peaks.shape == (400, 2) and peaks[200, 1] > 90 > 20 > peaks[2, 1] and (peaks[:, 0] <= peaks[:, 1]).all()
    picture = client.get(f"{CLIPS}/c1/picture")
    assert picture.body.startswith(b"\x89PNG") and picture.headers["content-type"] == "image/png"


def test_a_manifest_that_names_a_secret_sends_nothing_of_it(
    client: StudioClient, ws: Workspace, tmp_path: Path
) -> None:
    secret = tmp_path / "swa-sound" / "c1.wav"
    secret.write_bytes(b"root:x:0:0: a secret of this machine\n" * 50)
    for kind in ("sound", "peaks", "picture"):
        answer = client.get(f"{CLIPS}/c1/{kind}")
        assert answer.status == 422 and "not a readable sound file" in answer.json["error"]
        assert b"secret of" not in answer.body
    sources = ws.corpus / "sources.json"
    rows = json.loads(sources.read_text())
    sources.write_text(json.dumps([{**rows[0], "root": "/etc"}]))
    secret.unlink()
    answer = client.get(f"{CLIPS}/c1/sound")
    assert answer.status == 422 and "lies outside the folders of this studio" in answer.json["error"]
    sources.write_text(json.dumps(rows))
    outside = tmp_path.parent / f"{tmp_path.name}-outside.wav"
    outside.write_bytes((tmp_path / "swa-sound" / "c2.wav").read_bytes())
    secret.symlink_to(outside)
    assert client.get(f"{CLIPS}/c1/sound").status == 422
    sources.write_text(json.dumps([{**rows[0], "root": "../../etc"}]))
    assert client.get(f"{CLIPS}/c1/sound").status == 422 and client.get("/w/swa/clips").status == 422


def test_what_changed_on_the_disk_is_heard_anew(client: StudioClient, tmp_path: Path) -> None:
    before = client.get(f"{CLIPS}/c1/sound")
    (tmp_path / "swa-sound" / "c1.wav").write_bytes((tmp_path / "swa-sound" / "c4.wav").read_bytes())
    after = client.get(f"{CLIPS}/c1/sound", **{"if-none-match": before.headers["etag"]})
    assert after.status == 200 and after.body == client.get(f"{CLIPS}/c4/sound").body != before.body


def test_drop_keep_and_undo_are_written_at_once_with_who_and_why(client: StudioClient, ws: Workspace) -> None:
    client.get(CLIPS)
    done = client.post(
        "/api/w/swa/decisions", {"ids": ["c1"], "decision": "drop", "reason": " a  door ", "by": "amina"}
    )
    assert done.json["said"] == "1 clip dropped." and done.json["clips"][0]["decision"] == "drop"
    assert done.json["command"].startswith("olu drop ") and done.json["command"].endswith("c1 --reason ' a  door '")
    (held,) = load(ws)
    assert (held.id, held.decision, held.by, held.who, held.reason) == ("c1", "drop", "person", "amina", "a door")
    assert held.at and found(client, "?decision=drop") == ["c1"]
    again = client.post("/api/w/swa/decisions", {"ids": ["c1"], "decision": "keep", "by": "obi"}).json
    assert client.get("/api/w/swa/undo?by=amina").json["batch"] == done.json["batch"]
    undone = client.post("/api/w/swa/undo", {"batch": again["batch"], "by": "obi"}).json
    assert undone["said"] == "Taken back: 1 clip kept." and in_force(load(ws))["c1"] == held  # amina's holds again
    assert client.post("/api/w/swa/undo", {"by": "obi"}).json == {"error": "there is nothing to take back"}
    assert client.post("/api/w/swa/undo", {"by": "amina"}).status == 200 and load(ws) == ()
    assert client.post("/api/w/swa/undo", {"batch": done.json["batch"], "by": "amina"}).status == 422


def test_all_of_a_filter_with_a_count_first_and_one_undo(client: StudioClient, ws: Workspace) -> None:
    ask: dict[str, Any] = {"query": "?check=clipping&check=silence", "decision": "drop", "by": "amina", "expect": 3}
    wrong = client.post("/api/w/swa/decisions", {**ask, "expect": 2})
    assert wrong.status == 422 and "3 clips fit now, not 2" in wrong.json["error"] and load(ws) == ()
    decide(ws, ["c2"], decision="keep", by="obi")
    done = client.post("/api/w/swa/decisions", ask).json
    assert (
        done["changed"] == 3
        and "| olu drop" in done["command"]
        and found(client, "?decision=drop") == ["c0", "c2", "c4"]
    )
    assert client.post("/api/w/swa/decisions", ask).json["already"] == 3
    assert client.post("/api/w/swa/undo", {"batch": done["batch"], "by": "amina"}).json["changed"] == 3
    assert {one.id: one.decision for one in load(ws)} == {"c2": "keep"}


def test_a_text_is_corrected_and_taken_back(client: StudioClient, ws: Workspace) -> None:
    done = client.post("/api/w/swa/texts", {"id": "c1", "text": "Watu kumi na wawili", "by": "amina"}).json
    assert done["said"] == "Text saved." and done["clips"][0]["corrected"] == "amina"
    assert [clip.text for clip in Corpus.open(ws)][1] == "Watu kumi na wawili"
    same = client.post("/api/w/swa/texts", {"id": "c1", "text": "Watu kumi na wawili", "by": "amina"}).json
    assert same["said"] == "The text is as it was." and same["batch"] == ""
    for text in ("", " ", "a\0b"):
        assert client.post("/api/w/swa/texts", {"id": "c1", "text": text}).status == 422
    assert client.post("/api/w/swa/undo", {"by": "amina"}).json["said"] == "Taken back: 1 clip corrected."
    assert [clip.text for clip in Corpus.open(ws)][1] == TEXTS[1]


def test_two_tabs_and_a_terminal_lose_nothing(client: StudioClient, ws: Workspace, tmp_path: Path) -> None:
    other = StudioClient.of(tmp_path)  # a second studio would see the same
    for one in (client, other):
        assert found(one, "?decision=drop") == []
    client.post("/api/w/swa/decisions", {"ids": ["c0"], "decision": "drop", "by": "amina"})
    decide(ws, ["c1"], decision="drop", reason="terminal")
    other.post("/api/w/swa/decisions", {"ids": ["c2"], "decision": "drop", "by": "obi"})
    correct_clip(ws, "c3", "Mti mdogo", by="terminal")
    for one in (client, other):
        assert found(one, "?decision=drop") == ["c0", "c1", "c2"]
        assert one.get(f"{CLIPS}/c3").json["text"] == "Mti mdogo"
    assert len(list(read_jsonl(ws.corpus / "decisions.jsonl"))) == 3


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("/api/w/swa/decisions", {"ids": ["nobody"], "decision": "drop"}),
        ("/api/w/swa/decisions", {"ids": [], "decision": "drop"}),
        ("/api/w/swa/decisions", {"ids": ["c1"], "decision": "trim"}),
        ("/api/w/swa/decisions", {"ids": ["c1"], "decision": "drop", "by": "\n\x1b"}),
        ("/api/w/swa/decisions", {"ids": ["\ud800"], "decision": "drop"}),
        ("/api/w/swa/decisions", {"query": "where=(", "decision": "drop"}),
        ("/api/w/swa/decisions", {"query": "&".join(["check=a"] * 300), "decision": "drop"}),
        ("/api/w/swa/decisions", []),
        ("/api/w/swa/texts", {"id": "nobody", "text": "x"}),
        ("/api/w/swa/texts", {"id": "c1", "text": "x" * 30_000}),
        ("/api/w/swa/texts", {"id": "c1", "text": "\ud800"}),
        ("/api/w/swa/undo", {"batch": "x" * 100}),
        ("/api/w/swa/undo", {"batch": '"'}),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    client: StudioClient, ws: Workspace, url: str, body: Any
) -> None:
    answer = client.post(url, body)
    assert answer.status == 422 and answer.json["error"]
    assert not (ws.corpus / "decisions.jsonl").exists() and not (ws.corpus / "texts.jsonl").exists()


def test_what_is_not_here_is_said_so(client: StudioClient, tmp_path: Path) -> None:
    for url in (f"{CLIPS}/nobody", f"{CLIPS}/nobody/sound", f"{CLIPS}/..%2F..%2Fx/sound", "/api/w/none/clips"):
        assert client.get(url).status == 404 and client.get(url).json["error"]
    assert client.get("/w/swa/clips/row?id=nobody").status == 404
    Workspace.create(tmp_path / "fresh", language="swa")
    page = client.get("/w/fresh/clips")
    assert page.status == 200 and "no clips yet" in page.text
    assert client.get("/api/w/fresh/clips").status == 422


def test_rows_come_fifty_at_a_time(tmp_path: Path) -> None:
    clip_workspace(tmp_path, texts=[f"neno {n}" for n in range(120)], sound=False)
    client = StudioClient.of(tmp_path)
    ids = [one["id"] for at in (0, 50, 100) for one in client.get(f"{CLIPS}?at={at}").json["clips"]]
    assert ids == [f"c{n}" for n in range(120)]
    last = client.get("/w/swa/clips?at=100").text
    assert 'rel="prev" href="?at=50"' in last and 'rel="next"' not in last and "101 to 120" in last
    assert client.get("/w/swa/clips?at=5000").status == 200


def test_a_draft_is_shown_and_stands_in_the_field_until_somebody_takes_it(tmp_path: Path, ws: Workspace) -> None:
    bare = next(clip.id for clip in Corpus.open(ws) if not clip.text.strip())
    drafts.save(ws, [TextDraft(id=bare, text="habari <ya> leo", sure=(0.9, 0.8, 0.7), confidence=0.796, by="ears")])
    client = StudioClient.of(tmp_path)
    page = client.get("/w/swa/clips").text
    assert "draft, 80 % sure" in page and page.count("habari &lt;ya&gt; leo") == 2  # on the line and in the field
    assert client.get(f"{CLIPS}?where=confidence%20%3E%200.7").json["found"] == 1
    correct_clip(ws, bare, "habari ya leo")
    assert "draft, 80 % sure" not in client.get("/w/swa/clips").text


def test_a_table_is_asked_for_its_rows_first_of_all(client: StudioClient, ws: Workspace) -> None:
    """The page of an audit asks so: nothing was read before, and after an import all is read anew."""
    table = client.studio.tables.of(ws)
    assert len(table.lengths()[0]) == len(list(Corpus.open(ws)))
    more = [*(clip for clip in Corpus.open(ws)), replace(next(iter(Corpus.open(ws))), id="zz")]
    Corpus.save(ws, more, list(Corpus.open(ws).sources.values()), {one.id: "train" for one in more})
    assert len(table.lengths()[0]) == len(more)
    assert table.place_of(ClipQuery(), "zz") == len(more) - 1 and table.place_of(ClipQuery(), "none") is None

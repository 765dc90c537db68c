"""Audit and reading as pages: counts that lead into clips, every rule of a text, words and the clips they touch."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.decisions import load
from olu.stages.audit import audit
from olu.stages.lexicon import touched
from olu.stages.read import read_corpus
from olu.text.frontend import read_settings

from ..helpers.clip_workspaces import HOSTILE, clip_workspace
from ..helpers.studio import StudioClient

TEXTS = (
    "Habari ya asubuhi",
    "Watu 12 wamefika",
    "Mti mkubwa",
    "habari za leo",
    "Mti wa maji na watu",
    "Watu wengi sana",
)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    made = clip_workspace(tmp_path, texts=TEXTS)
    (made.audit_folder / "audit.jsonl").unlink()
    return made


@pytest.fixture
def client(tmp_path: Path, ws: Workspace) -> StudioClient:
    return StudioClient.of(tmp_path)


def test_the_audit_is_a_page_whose_counts_are_those_of_the_clips(client: StudioClient, ws: Workspace) -> None:
    assert "Nobody has listened" in client.get("/w/swa/audit").text
    assert client.get("/api/w/swa/audit").json == {"state": "missing", "summary": None}
    summary = finish(audit(ws))
    page = client.get("/w/swa/audit")
    assert page.status == 200 and summary.verdict in unescape(page.text) and " style=" not in page.text
    links = re.findall(r'data-label="clips"><a href="/w/swa/clips([^"]+)">([\d,]+)</a>', page.text)
    assert links
    for query, count in links:
        assert client.get("/api/w/swa/clips" + unescape(query)).json["found"] == int(count) > 0
    cards = re.findall(r'<a class="card" href="/w/swa/clips([^"]+)"><b>([\d,]+)<', page.text)
    assert cards
    for query, count in cards:
        assert client.get("/api/w/swa/clips" + unescape(query)).json["found"] == int(count)
    assert client.get("/api/w/swa/audit").json["state"] == "fresh"
    (ws.audit_folder / "summary.json").write_text("[1]")
    assert client.get("/w/swa/audit").status == 200 and "damaged" in client.get("/w/swa/audit").text


def test_fix_dry_run_and_undo_are_jobs(client: StudioClient, ws: Workspace) -> None:
    shown = client.job("swa", "audit", fix=True, dry_run=True)
    assert shown["state"] == "done", shown
    assert shown["result"]["fix"]["effect"]["kinds"] and not shown["result"]["fix"]["written"] and load(ws) == ()
    done = client.job("swa", "audit", fix=True)
    assert done["result"]["fix"]["written"] and {one.by for one in load(ws)} == {"fix"}
    page = client.get("/w/swa/audit").text
    assert f"Undo the fix ({len(load(ws))} decision" in page
    assert client.job("swa", "audit", undo=True)["result"]["undone"] > 0 and load(ws) == ()


def test_a_text_is_read_with_every_rule(client: StudioClient, ws: Workspace) -> None:
    told = client.post("/api/read", {"ws": "swa", "text": "Watu 12"}).json
    assert [word["text"] for word in told["words"]] == ["watu", "kumi", "na", "mbili"]
    assert {"stage": "normalise", "rule": "number", "before": "12", "after": "kumi na mbili"} in told["steps"]
    assert told["words"][0]["phones"] == ["w", "a", "t", "u"] and told["words"][0]["stress"] == 1
    again = client.post("/api/read", {"ws": "swa", "text": "nne"}).json["steps"]
    assert (
        again == client.post("/api/read", {"ws": "swa", "text": "nne"}).json["steps"]
    )  # a known word tells its rules too
    assert any(step["stage"] == "pronounce" for step in again)
    tones = client.post("/api/read", {"language": "yor", "text": "ìyànjù"}).json["words"]
    assert tones[0]["tones"] == ["L", "L", "L"]
    for wrong in ("xxx", "", "/etc", "../swa", "a\\b"):
        assert client.post("/api/read", {"language": wrong, "text": "a"}).status == 422
    assert client.post("/api/read", {"ws": "swa", "text": "a" * 6000}).status == 422
    for text in ("", "\0", HOSTILE, "[[", "{}", "<break", "\u202e", "🙂"):
        assert client.post("/api/read", {"ws": "swa", "text": text}).status in (200, 422)
    assert client.get("/w/swa/reading").status == 200


@pytest.mark.parametrize("read", [True, False])
def test_a_word_says_what_it_touches_before_it_is_saved(client: StudioClient, ws: Workspace, read: bool) -> None:
    if read:
        finish(read_corpus(ws))
    look = client.post("/api/w/swa/lexicon/look", {"word": "Watu", "phones": "w a t a"}).json
    assert (look["clips"], look["before"], look["after"]) == (3, "w ˈa t u", "w a t a") and look[
        "said"
    ] == "touches 3 clips"
    assert client.get(f"/api/w/swa/clips?where={quote(look['where'])}").json["found"] == 3
    assert read_settings(ws).lexicon is None and not (ws.root / "lexicon.tsv").exists()
    tried = client.post("/api/read", {"ws": "swa", "text": "watu", "word": "watu", "phones": "w a t a"}).json
    assert tried["words"][0]["phones"] == ["w", "a", "t", "a"]
    assert client.post("/api/read", {"ws": "swa", "text": "watu"}).json["words"][0]["phones"][-1] == "u"
    done = client.post("/api/w/swa/lexicon", {"word": "watu", "phones": "w a t a"}).json
    assert done["clips"] == 3 and done["command"].startswith("olu lexicon ")
    assert client.post("/api/read", {"ws": "swa", "text": "Watu"}).json["words"][0]["phones"] == ["w", "a", "t", "a"]
    assert (ws.root / "lexicon.tsv").read_text().splitlines()[-1] == "watu\tw a t a"
    finish(read_corpus(ws))
    client.post("/api/w/swa/lexicon", {"word": "mti", "phones": "m t a"})
    client.post("/api/w/swa/lexicon/remove", {"word": "watu"})
    assert [line for line in (ws.root / "lexicon.tsv").read_text().splitlines() if "\t" in line] == ["mti\tm t a"]
    assert client.post("/api/read", {"ws": "swa", "text": "Watu"}).json["words"][0]["phones"][-1] == "u"
    assert "mti" in client.get("/w/swa/reading").text


@pytest.mark.parametrize(
    ("word", "phones"),
    [
        ("watu", "w q"),
        ("", "a"),
        ("wa tu", "a"),
        ("#x", "a"),
        ("a\tb", "a"),
        ("watu", ""),
        ("watu", "\n"),
        (HOSTILE, "a"),
    ],
)
def test_a_word_that_cannot_be_is_refused(client: StudioClient, ws: Workspace, word: str, phones: str) -> None:
    answer = client.post("/api/w/swa/lexicon", {"word": word, "phones": phones})
    assert answer.status == 422 and answer.json["error"] and not (ws.root / "lexicon.tsv").exists()
    assert client.post("/api/w/swa/lexicon/remove", {"word": word}).status == 422


def test_a_lexicon_elsewhere_is_neither_read_nor_written(client: StudioClient, ws: Workspace, tmp_path: Path) -> None:
    secret = tmp_path.parent / f"{tmp_path.name}-secret.txt"
    secret.write_text("a secret line\n")
    (ws.root / "reading.toml").write_text(f'lexicon = "{secret}"\n')
    for answer in (
        client.post("/api/read", {"ws": "swa", "text": "a"}),
        client.post("/api/w/swa/lexicon", {"word": "a", "phones": "a"}),
        client.post("/api/w/swa/lexicon/look", {"word": "a"}),
        client.get("/w/swa/reading"),
    ):
        assert b"secret line" not in answer.body and "outside the folders of this studio" in answer.text
    assert secret.read_text() == "a secret line\n"


@pytest.mark.parametrize("language", ["swa", "lug", "amh"])
def test_a_text_is_read_before_anything_was_imported(tmp_path: Path, language: str) -> None:
    Workspace.create(tmp_path / "new", language=language)
    client = StudioClient.of(tmp_path)
    assert "There are no clips yet" in client.get("/w/new/reading").text
    assert client.post("/api/read", {"ws": "new", "text": "abantu ሰላም 3"}).json["words"]


def test_a_number_is_touched_by_the_words_it_is_said_with(client: StudioClient, ws: Workspace) -> None:
    finish(read_corpus(ws))
    assert touched(ws, client.studio.readers.of(ws), "mbili") == (1, ("c1",))
    assert touched(ws, client.studio.readers.of(ws), "nothing") == (0, ())

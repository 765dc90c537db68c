"""Home, a new workspace, the look before an import, settings: over HTTP, without a browser."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest
import soundfile

from olu.core.files import Workspace
from olu.studio import job_files

from ..helpers.studio import StudioClient


@pytest.fixture
def client(tmp_path: Path) -> StudioClient:
    return StudioClient.of(tmp_path)


def recordings(folder: Path) -> Path:
    (folder / "wavs").mkdir(parents=True)
    rng = np.random.default_rng(1)
    for number in range(3):
        soundfile.write(folder / f"wavs/a{number}.wav", 0.1 * rng.normal(size=16000), 16000)
    text = "a0|Habari ya asubuhi.\na1|Asante sana.\na2|Karibu.\nmissing|Si hapa.\n"
    (folder / "metadata.csv").write_text(text, encoding="utf-8")
    return folder


def test_a_workspace_is_made_by_its_form(client: StudioClient, tmp_path: Path) -> None:
    assert "Make the first workspace" in client.get("/").text
    made = client.post(
        "/api/workspaces", {"name": "Sauti", "language": "Swahili", "licence": "CC0-1.0", "agreed": "yes"}
    )
    assert made.json == {"ws": "Sauti", "address": "/w/Sauti", "language": "swa"}
    assert 'licence = "CC0-1.0"' in (tmp_path / "Sauti/olu.toml").read_text()
    assert "Sauti" in client.get("/").text
    page = client.get("/w/Sauti").text
    assert 'href="/w/Sauti/import"' in page and "Import recordings" in page
    assert "Import recordings" in client.get("/w/Sauti/card").text


@pytest.mark.parametrize(
    "ask",
    [
        {"name": "a/b", "language": "swa"},
        {"name": "..", "language": "swa"},
        {"name": ".hidden", "language": "swa"},
        {"name": "-x", "language": "swa"},
        {"name": "x", "language": "nosuchlanguage"},
        {"name": "x", "language": "../../etc"},
        {"name": "x", "language": "swa", "root": 7},
        {"name": "x", "language": "swa", "agreed": "perhaps"},
        {"name": "", "language": "swa"},
        {"name": "x"},
        {"name": "x" * 300, "language": "swa"},
    ],
)
def test_what_cannot_be_a_workspace_is_said(client: StudioClient, tmp_path: Path, ask: dict[str, object]) -> None:
    answer = client.post("/api/workspaces", ask)
    assert answer.status == 422 and answer.json["error"]
    assert not list(tmp_path.rglob("olu.toml"))


def test_a_name_that_is_taken_and_names_that_look_alike(client: StudioClient, tmp_path: Path) -> None:
    for name in ("a b", "a-b"):
        assert client.post("/api/workspaces", {"name": name, "language": "swa"}).status == 200
    assert client.post("/api/workspaces", {"name": "a b", "language": "swa"}).status == 422
    slugs = list(client.studio.roots.places(anew=True))
    assert len(set(slugs)) == 2 and all(client.get(f"/w/{slug}").status == 200 for slug in slugs)
    Workspace.create(tmp_path / "ድምፅ", language="amh")
    assert client.get("/w/%E1%8B%B5%E1%88%9D%E1%8D%85").status == 200


def test_a_look_shows_what_would_come_in_and_writes_nothing(client: StudioClient, tmp_path: Path) -> None:
    ws = Workspace.create(tmp_path / "habari", language="swa")
    source = recordings(tmp_path / "rec")
    told = client.job("habari", "import", source=str(source), dry_run=True)
    assert told["state"] == "done" and not ws.corpus.exists()
    page = html.unescape(client.get(f"/w/habari/import/{told['number']}").text)
    for words in (
        "Would add 3 clips",
        "1 left out",
        "Habari ya asubuhi.",
        "names no recording that is there",
        "Take in 3 clips",
    ):
        assert words in page, words
    sound = client.get(f"/api/w/habari/import/{told['number']}/0/sound")
    assert sound.status == 200 and sound.headers["content-type"] == "audio/flac" and len(sound.body) > 1000
    assert page.count("<audio") == 3 and "cannot be read" not in page
    assert client.get(f"/api/w/habari/import/{told['number']}/3/sound").status == 404
    done = client.job("habari", "import", source=str(source))
    assert "Added 3 clips" in client.get(f"/w/habari/import/{done['number']}").text
    assert "Audit the recordings" in client.get("/w/habari").text


def test_a_zip_is_heard_before_it_is_taken_in(client: StudioClient, tmp_path: Path) -> None:
    import shutil

    Workspace.create(tmp_path / "habari", language="swa")
    recordings(tmp_path / "outer/rec")
    for kind in ("zip", "gztar"):
        archive = shutil.make_archive(str(tmp_path / "rec"), kind, tmp_path / "outer")
        told = client.job("habari", "import", source=archive, dry_run=True)
        assert client.get(f"/api/w/habari/import/{told['number']}/1/sound").status == 200, kind


def test_settings_and_error_pages(client: StudioClient, tmp_path: Path) -> None:
    Workspace.create(tmp_path / "habari", language="swa")
    page = client.get("/settings").text
    assert str(tmp_path) in page and "habari" in page
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/olu.toml").write_text("schema = [")
    assert "cannot be read" in client.get("/").text
    assert client.get("/w/bad").status == 422
    missing = client.get("/w/none/jobs/3")
    assert missing.status == 404 and "There is no workspace" in missing.text
    assert client.get("/api/w/none/jobs/3").json["error"].startswith("there is no workspace")


def test_a_finished_job_leads_on(client: StudioClient, tmp_path: Path) -> None:
    """Sample recordings to their look, a stage to its page; nothing leads on from what failed."""
    Workspace.create(tmp_path / "sauti", language="amh")
    first = client.get("/w/sauti/import").text
    assert first.count('id="sample"') == 1 and "No recordings at hand?" in first
    assert "You see what would come in" in client.get("/w/sauti").text, "the next step says what it does"
    assert "No recordings yet." in client.get("/w/sauti/card").text
    folder = str(tmp_path / "samples")
    for verb, code, options in (("sample", 0, {"folder": folder}), ("audit", 0, {}), ("audit", 2, {})):
        job = job_files.new_folder(tmp_path / "sauti/jobs")
        ask = {"verb": verb, "argv": [verb], "options": options, "asked": job_files.now()}
        (job / "ask.json").write_text(json.dumps(ask))
        (job / "started.json").write_text(json.dumps({"pid": 1, "started": job_files.now()}))
        (job / "exit.json").write_text(json.dumps({"code": code}))
    sampled, audited, failed = (client.get(f"/w/sauti/jobs/{number}").text for number in (1, 2, 3))
    (look,) = re.findall(r'data-job="import" data-go="look" data-options="([^"]*)"', sampled)
    assert json.loads(html.unescape(look)) == {"source": folder, "dry_run": True}
    assert 'class="button main" href="/w/sauti/audit"' in audited
    assert 'class="button main"' not in failed and "data-go" not in failed

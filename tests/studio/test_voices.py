"""Runs, plans, exports and speech of the studio over HTTP, with a real tiny run."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import zipfile
from pathlib import Path
from urllib.parse import quote

import httpx2
import numpy as np
import pytest
import soundfile

from olu.core.files import Workspace
from olu.core.job import finish
from olu.corpus.rights import of_workspace
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import Evaluation, SentenceResult, Subject
from olu.speak.voice import Voice
from olu.stages.plan import plan
from olu.studio.recipes import of_workspace as recipe_of
from olu.train.run import Run

from ..helpers.melodic import melodic
from ..helpers.studio import KEY, StudioClient, running
from ..helpers.workspaces import trained, workspace

HOSTILE = ("..", "%2e%2e", "../ws", "vits-001/..", "x" * 300, "<script>", "vits-001\x00")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two runs of two steps, with <script> for a text that the first has said."""
    root = tmp_path_factory.mktemp("studio")
    texts = ("abba", "bab", "abab", "baab")
    rows = [(f"c{n}", text, "ada", "valid" if n == 3 else "train") for n, text in enumerate(texts)]
    ws = workspace(root, rows)
    trained(ws)
    said = ws.runs_folder / "vits-001/sample_texts.json"
    said.write_text(said.read_text().replace("baab", "<script>baab"))
    trained(ws, "seed=2")
    melodic(ws.voices / "ade.voice")
    return ws


@pytest.fixture(scope="module")
def client(place: Workspace) -> StudioClient:
    return StudioClient.of(place.root.parent)


def test_a_run_is_told_as_it_stands(client: StudioClient, place: Workspace) -> None:
    rows = client.get("/api/w/ws/runs").json["runs"]
    assert [(row["run"], row["state"], row["step"]) for row in rows] == [
        ("vits-001", "finished", 2),
        ("vits-002", "finished", 2),
    ]
    assert rows[0]["differs"] == {"seed": 1}
    told = client.get("/api/w/ws/runs/vits-001/metrics").json
    assert told["curves"]["gen/mel"]["steps"] == [1, 2] and told["groups"] and told["most"] == 1200
    since = client.get(f"/api/w/ws/runs/vits-001/metrics?from={told['place']}").json
    assert since == {"place": told["place"], "rows": []}
    inode = told["place"].partition("-")[0]
    rows = client.get(f"/api/w/ws/runs/vits-001/metrics?from={inode}-0").json["rows"]
    assert [row["step"] for row in rows] == [1, 2] and "valid/mel" in rows[1]["figures"]
    page = client.get("/w/ws/runs/vits-001").text
    for word in (
        "All 2 steps are done",
        "best mel",
        "&lt;script&gt;baab",
        "vendor/uplot.js",
        "--resume --run vits-001",
    ):
        assert word in page, word
    assert "<script>baab" not in page
    assert "uplot" not in client.get("/w/ws/train").text, "only pages of runs load it"


def test_samples_are_sounds_and_nothing_else(client: StudioClient, place: Workspace) -> None:
    steps = client.get("/api/w/ws/runs/vits-001/samples").json["steps"]
    name = steps["2"][0]["name"]
    heard = client.get(f"/api/w/ws/runs/vits-001/samples/2/{quote(name)}.wav")
    assert heard.status == 200 and heard.headers["content-type"] == "audio/wav"
    assert soundfile.info(io.BytesIO(heard.body)).frames > 0
    folder = place.runs_folder / "vits-001/samples/step-2"
    (folder / "leak.wav").symlink_to(place.root / "olu.toml")
    (folder / "page.png").write_text("<script>")
    for wrong in ("leak.wav", "page.png", "..%2f..%2frecipe.toml", "%2e%2e", "none.wav"):
        assert client.get(f"/api/w/ws/runs/vits-001/samples/2/{wrong}").status == 404, wrong
    (folder / "leak.wav").unlink()
    (folder / "page.png").unlink()


@pytest.mark.parametrize("name", HOSTILE)
def test_names_lead_nowhere_else(client: StudioClient, name: str) -> None:
    for address in ("/api/w/ws/runs/{}", "/w/ws/runs/{}", "/w/ws/evaluate/{}", "/api/w/ws/voices/{}/download"):
        answer = client.get(address.format(quote(name, safe="")))
        assert answer.status == 404 and "Traceback" not in answer.text
        assert "<script>" not in answer.text or answer.headers["content-type"] == "application/json"


def test_runs_side_by_side(client: StudioClient, place: Workspace) -> None:
    (place.runs_folder / "vits-001/sample_texts.json").write_bytes(
        (place.runs_folder / "vits-002/sample_texts.json").read_bytes()
    )
    page = client.get("/w/ws/runs?show=vits-001,vits-002,nobody").text
    assert 'data-runs="vits-001,vits-002"' in page and "<code>seed</code>" in page
    assert page.count('aria-label="vits-002"') == page.count('aria-label="vits-001"') > 0, "the same sentence of each"


def test_what_is_not_trained_cannot_be_stopped(client: StudioClient, place: Workspace) -> None:
    answer = client.post("/api/w/ws/runs/vits-001/stop")
    assert answer.status == 422 and "is not being trained" in answer.json["error"]
    assert not (place.runs_folder / "vits-001/stop").exists()
    assert client.post("/api/w/ws/runs/vits-001/remove", {"run": "vits-002"}).status == 422
    assert (place.runs_folder / "vits-001").is_dir()


def test_a_run_of_a_terminal_is_stopped_by_its_file(client: StudioClient, place: Workspace) -> None:
    run = Run(place.runs_folder / "vits-001")
    with run.locked():
        assert client.get("/api/w/ws/runs/vits-001").json["state"] == "running"
        assert client.post("/api/w/ws/runs/vits-001/stop").status == 200
    assert (run.folder / "stop").is_file()
    (run.folder / "stop").unlink()


def test_a_recipe_is_lines_with_reasons(client: StudioClient, place: Workspace) -> None:
    finish(plan(place, overrides=["plan.steps=7", "guards.spike_factor=9.0"], device="cpu", scratch=True))
    shown = recipe_of(place)
    assert shown is not None and not shown.edited
    lines = {line.key: line for line in shown.lines}
    assert lines["plan.steps"].value == "7" and lines["plan.steps"].why == "You set it."
    assert lines["guards.spike_factor"].why == "You set it.", "no plan decides on it, and it is kept"
    assert lines["family"].why.startswith("VITS") and all(line.why for line in shown.lines)
    page = client.get("/w/ws/train").text
    assert 'name="plan.steps" value="7"' in page and "embedded" in page and "Licence: MIT" in page
    assert 'data-run="vits-002"' in page, "a run can be begun with"
    (place.root / "recipe.toml").unlink()


def test_a_training_is_asked_for_as_shown(client: StudioClient) -> None:
    assert client.post("/api/w/ws/train", {"plan": 99}).status == 404
    both = client.post("/api/w/ws/train", {"plan": 1, "from_run": "vits-001"})
    assert both.status == 422 and "leave the plan out" in both.json["error"]
    assert client.post("/api/w/ws/train", {"nonsense": 1}).status == 422


def test_rights_are_completed_before_a_package_goes_out(client: StudioClient, place: Workspace) -> None:
    before = client.get("/w/ws/export").text
    assert "Not complete" in before and "Lost: rules for numbers" in before and "sherpa" in before
    (place.root / "olu.toml").write_text((place.root / "olu.toml").read_text() + '\n[view]\nwandb = ""\n')
    said = {"licence": "CC-BY-4.0", "consent": 'Ada "agreed" in 2026\n[rights]', "credits": "Ada"}
    assert client.post("/api/w/ws/rights", said).json == {"answer": "yes"}
    assert client.post("/api/w/ws/rights", {**said, "credits": "Ada O."}).status == 200
    held = of_workspace(place)
    assert (held.licence, held.credits, held.consent) == ("CC-BY-4.0", "Ada O.", said["consent"])
    assert "[view]" in (place.root / "olu.toml").read_text(), "the rest stays"
    assert "Complete" in client.get("/w/ws/export").text
    assert client.post("/api/w/ws/rights", {"agreed": "maybe"}).status == 422


def test_a_package_goes_out_as_one_zip(place: Workspace, tmp_path: Path) -> None:
    (place.voices / "ade.voice" / "leak").symlink_to(place.root / "olu.toml")
    with running(place.root.parent) as address, httpx2.Client(timeout=60, follow_redirects=True) as web:
        web.get(address)
        sent = web.get(f"{address.partition('/?')[0]}/api/w/ws/voices/ade.voice/download")
    (place.voices / "ade.voice" / "leak").unlink()
    assert sent.status_code == 200 and "ade.zip" in sent.headers["content-disposition"]
    path = tmp_path / "ade.zip"
    path.write_bytes(sent.content)
    with zipfile.ZipFile(path) as archive:
        assert "leak" not in archive.namelist() and archive.testzip() is None
    one, other = (Voice.open(where).speak("Ẹ káàárọ̀.") for where in (path, place.voices / "ade.voice"))
    assert np.array_equal(one.samples, other.samples), "every Olu opens it as it is"


def workers() -> list[int]:
    """The processes of this one that speak."""
    found = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", "olu.serve.process"], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in found.stdout.split()]


def test_speech_and_melodies(place: Workspace) -> None:
    text = "Ẹ káàárọ̀."
    voice = Voice.open(place.voices / "ade.voice", threads=1)
    with running(place.root.parent) as address, httpx2.Client(timeout=60, follow_redirects=True) as web:
        web.get(address)
        base = address.partition("/?")[0]
        rows = {row["id"]: row for row in web.get(f"{base}/api/voices").json()["voices"]}
        assert rows["ws/ade.voice"]["melody"] and rows["ws/ade.voice"]["speakers"] == ["ade", "bisi"]
        wish = {"voice": "ws/ade.voice", "input": text, "response_format": "wav", "seed": 3}
        said = web.post(f"{base}/api/speak", json=wish)
        assert said.status_code == 200
        samples, rate = soundfile.read(io.BytesIO(said.content), dtype="float32")
        assert rate == voice.rate and np.allclose(samples, voice.speak(text, seed=3).samples, atol=1e-4)
        told = web.post(f"{base}/api/speak/plan", json=wish).json()["melody"]
        assert json.dumps(told["sentences"][0]["tokens"][1]["knots"])
        for token in told["sentences"][0]["tokens"]:
            token["knots"] = [1.5 * one for one in token["knots"]]
        higher = web.post(f"{base}/api/speak", json={**wish, "melody": told})
        moved = soundfile.read(io.BytesIO(higher.content), dtype="float32")[0]
        assert len(moved) == len(samples) and not np.allclose(moved, samples, atol=1e-3), "it is said with the melody"
        events = web.post(
            f"{base}/api/speak", json={**wish, "stream_format": "sse", "timings": True, "response_format": "pcm"}
        )
        assert "speech.audio.words" in events.text and "speech.audio.done" in events.text
        for wrong, part in (
            ({"voice": "ws/nobody"}, "there is no voice"),
            ({"voice": "../ade.voice"}, "there is no voice"),
            ({"knobs": {"none": 1.0}}, "no knob"),
            ({"melody": {"melody": 1}}, "this is no melody"),
            ({"melody": told, "input": "Ó dàbọ̀."}, "another text"),
        ):
            answer = web.post(f"{base}/api/speak", json={**wish, **wrong})
            assert answer.status_code in (400, 404) and part in answer.text, answer.text
        for pid in workers():
            os.kill(pid, signal.SIGKILL)
        again = web.post(f"{base}/api/speak", json=wish)
        for _ in range(3):  # the one who held the line may still be told of its end
            again = again if again.status_code == 200 else web.post(f"{base}/api/speak", json=wish)
        assert again.content == said.content, "another process says the same"
        no_plan = web.post(f"{base}/api/speak/plan", json={"voice": "embedded", "input": "ሰላም"})
        assert no_plan.status_code == 400 and "no melody" in no_plan.text
    assert KEY not in said.text


def test_an_evaluation_is_shown_with_its_intervals(client: StudioClient, place: Workspace) -> None:
    assert "Nothing was evaluated yet" in client.get("/w/ws/evaluate").text
    folder = place.evaluations / "vits-001-step-2"
    (folder / "wavs").mkdir(parents=True)
    soundfile.write(folder / "wavs/one.wav", np.zeros(800, np.float32), 16000)
    items = (SentenceResult(id="c3", text="<b>baab</b>", domain="in", wav="wavs/one.wav", seconds=0.05),)
    items += (SentenceResult(id="c4", text="out", domain="in", wav="../../olu.toml", seconds=0.05),)
    subject = Subject(name="ws", kind="voice", path="x", fingerprint="f", language="eng", run="vits-001", step=2)
    about = {"unit": "share", "instrument": "a recogniser", "trust": "low", "reason": "only 2 clips"}
    cer = Estimate(name="cer", n=2, mean=0.2, low=0.1, high=0.3, natural=0.1, values=(0.1, 0.3), **about)
    figures = {"in": (cer,)}
    told = Evaluation(subject=subject, level="warn", verdict=("Not bad.",), figures=figures, gates=(), items=items)
    (folder / "evaluation.json").write_text(json.dumps(told.row()))
    page = client.get("/w/ws/evaluate/vits-001-step-2").text
    assert "Not bad." in page and "only 2 clips" in page and "n = 2" in page and "&lt;b&gt;baab" in page
    assert client.get("/api/w/ws/evaluations/vits-001-step-2/sounds/0").headers["content-type"] == "audio/wav"
    for wrong in ("1", "2", "-1"):
        assert client.get(f"/api/w/ws/evaluations/vits-001-step-2/sounds/{wrong}").status == 404
    assert client.get("/api/w/ws/evaluations").json["evaluations"][0]["level"] == "warn"
    (folder / "evaluation.json").write_text("{}")
    assert "damaged" in client.get("/w/ws/evaluate").text

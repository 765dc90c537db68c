# ruff: noqa: E501
"""A voice in a page: numpy's random numbers, what is refused, and in soak a real browser with the network cut."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.browser import BROWSER, Screen, chromium
from tests.helpers.melodic import melodic
from tests.helpers.packages import random_acoustic

from olu.core.errors import ExportError
from olu.speak.voice import Voice
from olu.stages.export import export

NODE = shutil.which("node")
WEB = Path(__file__).parents[2] / "src" / "olu" / "export" / "web"
SOAK = pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="the browser is started by make soak: OLU_SOAK=1")
TEXT = "ሰላም ለዓለም። በ 12/05/2020 ዓ.ም. 1,250 ብር ከፈልኩ። ደህና ነህ?"
YORUBA = "Ẹ káàárọ̀, báwo ni? Ọmọ náà ń kọrin, ó sì ń jó nínú ọjà ńlá. <prosody pitch='+2st'>Ó dàbọ̀</prosody>."
SWAHILI = "Habari ya asubuhi? Mvua ilinyesha usiku kucha, na watoto 25 walicheza nje saa 10:30."
WAYS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "embedded": (
        TEXT,
        [{"seed": 0}, {"seed": 3, "speed": 1.25, "knobs": {"noise": 0.3, "duration_noise": 0.5}, "quick": False}],
    ),
    "acoustic": (
        SWAHILI,
        [{"seed": 1, "knobs": {"steps": 2}}, {"speed": 0.8, "knobs": {"pitch": 2.5}, "quick": False}],
    ),
    "melodic": (YORUBA, [{"seed": 0}, {"seed": 2, "tones": "strict", "knobs": {"steps": 3}}]),
}
DRAWS = """
import { Random } from %s;
const made = [[0, 0], [7, 3], [9007199254740991, 12], [5, 1, 1]].map((seed) => Array.from(new Uint32Array(new Random(...seed).normals(50000).buffer)));
process.stdout.write(JSON.stringify(made));
"""
SPOKEN = """window.made = null; (async () => {
  const bytes = (samples) => { const raw = new Uint8Array(samples.buffer); let text = ""; for (let i = 0; i < raw.length; i += 8192) text += String.fromCharCode(...raw.subarray(i, i + 8192)); return btoa(text); };
  const pieces = [], begun = performance.now();
  let first = 0;
  for await (const piece of voice.stream(%s, %s)) { first = first || performance.now() - begun; pieces.push({ ...piece, samples: bytes(piece.samples) }); }
  window.made = { pieces, first, all: performance.now() - begun };
})().catch((error) => { window.made = { failed: error.message }; }); 0"""


def finished(job: Any) -> Any:
    try:
        while True:
            next(job)
    except StopIteration as done:
        return done.value


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_random_numbers_are_numpys(tmp_path: Path) -> None:
    script = tmp_path / "draws.mjs"
    script.write_text(DRAWS % json.dumps((WEB / "random.js").as_uri()))
    done = subprocess.run([str(NODE), str(script)], capture_output=True, text=True, check=True)
    for seed, got in zip(([0, 0], [7, 3], [9007199254740991, 12], [5, 1, 1]), json.loads(done.stdout), strict=True):
        ours = np.random.Generator(np.random.PCG64(seed)).standard_normal(50000, np.float32)
        assert np.array_equal(ours.view(np.uint32), np.array(got, np.uint32))


def fake_runtime(folder: Path) -> Path:
    """A folder shaped as npm's, with nothing in its files."""
    from olu.export.web import RUNTIME

    for name in RUNTIME:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    (folder / "package.json").write_text('{"version": "1.30.0", "license": "MIT"}')
    return folder


def test_a_folder_is_whole_and_its_licences_are_told(tmp_path: Path) -> None:
    made = finished(
        export(Path("embedded"), to="web", runtime=fake_runtime(tmp_path / "ort"), output=tmp_path / "page")
    )
    folder = Path(made.voice)
    linked = {
        "index.html",
        "olu.js",
        "worker.js",
        "voice.js",
        "engine.js",
        "frames.js",
        "random.js",
        "reading.js",
        "reading.json",
        "voice.json",
    }
    linked |= {"ort.js", "ort-wasm.js", "ort.wasm", "encoder.onnx", "decoder.onnx", "README.md"}
    assert {path.name for path in folder.iterdir()} == linked
    card = (folder / "README.md").read_text()
    assert "onnxruntime-web 1.30.0" in card and "Microsoft" in card and "Israel Abebe" in card
    page = (folder / "index.html").read_text()
    assert page.count("\n") <= 36 and "http" not in page  # nothing from elsewhere
    facts, voice = json.loads((folder / "voice.json").read_text()), Voice.open("embedded")
    assert (facts["rate"], facts["speakers"]) == (voice.rate, voice.speakers)
    assert facts["knobs"]["noise"]["default"] == voice.knobs["noise"].default


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        ({"runtime": Path("nowhere")}, "is not the package onnxruntime-web"),
        ({"run": "vits-001"}, "--run is for the voice that a page is made of"),
        ({"noise": 0.5}, "--noise is for the voice"),
    ],
)
def test_what_cannot_be_is_refused(wishes: dict[str, Any], told: str, tmp_path: Path) -> None:
    given = {"runtime": fake_runtime(tmp_path / "ort"), "output": tmp_path / "page", **wishes}
    with pytest.raises(ExportError, match=told):
        finished(export(Path("embedded"), to="web", **given))
    assert not (tmp_path / "page").exists()


def test_without_a_runtime_it_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExportError, match="npm install onnxruntime-web"):
        finished(export(Path("embedded"), to="web"))
    with pytest.raises(ExportError, match="--runtime is for '--to web'"):
        finished(export(Path("embedded"), to="piper", runtime=tmp_path))


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """npm's package: where OLU_ORT_WEB says, else fetched."""
    if given := os.environ.get("OLU_ORT_WEB"):
        return Path(given)
    folder, npm = tmp_path_factory.mktemp("npm"), shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, and OLU_ORT_WEB names no onnxruntime-web")
    made = subprocess.run([npm, "install", "--prefix", str(folder), "onnxruntime-web@1.30.0"], capture_output=True)
    if made.returncode:
        pytest.skip("npm cannot fetch onnxruntime-web here")
    return folder / "node_modules" / "onnxruntime-web"


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, ThreadingHTTPServer]]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", server
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.soak
@SOAK
@pytest.mark.skipif(BROWSER is None, reason="no chromium here")
@pytest.mark.parametrize("kind", ["embedded", "acoustic", "melodic"])
def test_a_page_speaks_as_python_does_with_the_network_cut(kind: str, runtime: Path, tmp_path: Path) -> None:
    """`acoustic`: networks of their real sizes, with random weights; `melodic`: tones and pauses, with made ones."""
    package = Path(kind if kind == "embedded" else tmp_path / f"{kind}.voice")
    if kind != "embedded":
        {"acoustic": random_acoustic, "melodic": melodic}[kind](package)
    page = Path(finished(export(package, to="web", runtime=runtime, output=tmp_path / "page")).voice)
    voice = Voice.open(package, threads=1)
    text, ways = WAYS[kind]
    with served(page) as (address, server), chromium(tmp_path / "profile") as tab:
        tab.show(address, Screen(1280, 800))
        tab.until("!!window.voice", seconds=180)
        server.shutdown()
        tab.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
        assert all(one.startswith((address, "data:")) for one in tab.asked) and not tab.missed
        for wishes in ways:
            tab.eval(
                SPOKEN
                % (
                    json.dumps(text),
                    json.dumps(
                        {key: one for key, one in {**wishes, **wishes.get("knobs", {})}.items() if key != "knobs"}
                    ),
                )
            )
            made = tab.until("window.made", seconds=300)
            assert "failed" not in made, made
            theirs = [np.frombuffer(base64.b64decode(one["samples"]), np.float32) for one in made["pieces"]]
            ours = list(voice.stream(text, **{"quick": True, **wishes}))  # type: ignore[arg-type]
            assert [len(one) for one in theirs] == [len(one.audio.samples) for one in ours]
            apart = np.concatenate(theirs) - np.concatenate([one.audio.samples for one in ours])
            assert np.abs(apart).max() < 2e-3
            for one, got in zip(ours, made["pieces"], strict=True):
                assert (one.last, one.final, one.sentence.text) == (got["last"], got["final"], got["sentence"]["text"])
                times = [(word.label, word.start, word.end) for word in one.sentence.words]
                assert times == [
                    (word["text"], *map(pytest.approx, (word["start"], word["end"])))
                    for word in got["sentence"]["words"]
                ]
        refused = tab.eval(
            "(async () => { try { await voice.stream('12', { speed: 9 }).next(); } catch (error) { return error.message; } })()"
        )
        assert "speed 9 is out of reach" in refused
        assert tab.eval("failures") == []

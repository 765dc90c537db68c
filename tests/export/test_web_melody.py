"""An acoustic voice in a page: its script does the sums of the engine, on answers of networks that were kept."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.export.test_web import fake_runtime, finished
from tests.helpers.engine_graphs import mel_graphs, pack, token_graphs
from tests.helpers.melodic import melodic

from olu.core.errors import ExportError
from olu.speak.graphs import OnnxGraph
from olu.speak.voice import Voice
from olu.stages.export import export

NODE = shutil.which("node")
SPEAKS = Path(__file__).parents[1] / "helpers" / "web_voice.mjs"
TEXT = "Ẹ káàárọ̀, báwo ni? Ọmọ náà ń kọrin, ó sì ń jó nínú ọjà ńlá ní ọ̀sán òní. Ó dàbọ̀."
MARKED = (
    f'<prosody pitch="+2st" rate="0.8">{TEXT}</prosody> Ilé <prosody contour="(0%,-1st) (100%,+3st)">ńlá</prosody> ni.'
)
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """`melodic`: tones, pauses, a source; `plain`: none of these, read as letters."""
    folder = tmp_path_factory.mktemp("packages")
    melodic(folder / "melodic.voice")
    pack(folder / "plain.voice", mel_graphs)
    for name in ("melodic", "plain"):
        runtime = fake_runtime(folder / f"ort-{name}")
        finished(export(folder / f"{name}.voice", to="web", runtime=runtime, output=folder / name))
    return {name: folder / name for name in ("melodic", "plain")}


def in_node(page: Path, runs: dict[str, Any], text: str, wishes: dict[str, Any]) -> dict[str, Any]:
    asked = json.dumps({"runs": runs, "text": text, "wishes": wishes})
    done = subprocess.run([str(NODE), str(SPEAKS), str(page)], input=asked, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return dict(json.loads(done.stdout))


def recorded(voice: Voice, text: str, monkeypatch: pytest.MonkeyPatch, **wishes: Any) -> tuple[list[Any], Any]:
    """What Python says, and what its networks were asked and answered, by name."""
    names = {id(graph): name for name, graph in voice.engine.__dict__.items() if isinstance(graph, OnnxGraph)}
    names[id(voice.engine.decoder.graph)] = "_decoder"  # type: ignore[attr-defined]
    runs: dict[str, list[Any]] = {name[1:]: [] for name in names.values()}
    plain = OnnxGraph.run

    def kept(graph: OnnxGraph, feeds: dict[str, Any]) -> Any:
        made = plain(graph, feeds)
        asked = {name: np.asarray(feeds[name]) for name in graph._inputs}
        told = dict(zip(graph.outputs, made, strict=True))
        rows = [{key: [list(a.shape), a.ravel().tolist()] for key, a in part.items()} for part in (asked, told)]
        runs[names[id(graph)][1:]].append(rows)
        return made

    with monkeypatch.context() as held:
        held.setattr(OnnxGraph, "run", kept)
        return list(voice.stream(text, **wishes)), runs


@pytest.mark.parametrize(
    ("name", "text", "wishes"),
    [
        ("melodic", TEXT, {"seed": 3, "quick": True}),
        ("melodic", TEXT, {"speed": 0.3, "knobs": {"steps": 3, "temperature": 0.7, "pitch": 5.5}, "speaker": "bisi"}),
        ("melodic", TEXT, {"knobs": {"steps": 0, "pitch": 12.0}, "tones": "strict"}),
        ("melodic", MARKED, {"tones": "strict"}),
        ("plain", "ọ dị mma, ka ọ dị mma. ọ dị", {"knobs": {"pitch": -3.0}, "seed": 8}),
    ],
    ids=["streamed", "slow", "strict", "prosody", "letters"],
)
def test_the_sums_are_pythons(
    name: str, text: str, wishes: dict[str, Any], packages: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    voice = Voice.open(packages[name].with_suffix(".voice"), threads=1)
    ours, runs = recorded(voice, text, monkeypatch, **{"quick": False, **wishes})
    knobs = wishes.get("knobs", {})
    asked = {key: one for key, one in {"quick": False, **wishes, **knobs}.items() if key != "knobs"}
    theirs = in_node(packages[name], runs, text, asked)
    assert theirs["failed"] is None
    for graph, rows in runs.items():
        assert len(theirs["fed"][graph]) == len(rows)
        for (asked, _), fed in zip(rows, theirs["fed"][graph], strict=True):
            for key, (shape, values) in asked.items():
                assert fed[key][0] == shape, (graph, key)
                np.testing.assert_allclose(fed[key][1], values, atol=2e-5, err_msg=f"{graph} {key}")
    for one, got in zip(ours, theirs["pieces"], strict=True):
        np.testing.assert_allclose(got["samples"], one.audio.samples, atol=1e-6)
        told = got["sentence"]
        assert (one.last, one.final, one.sentence.text) == (got["last"], got["final"], told["text"])
        assert [(w.label, pytest.approx(w.start), pytest.approx(w.end)) for w in one.sentence.words] == [
            (w["text"], w["start"], w["end"]) for w in told["words"]
        ]
        assert len(one.sentence.notes) == len(told["notes"])


def test_wishes_of_an_acoustic_voice(packages: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    voice = Voice.open(packages["melodic"].with_suffix(".voice"), threads=1)
    _, runs = recorded(voice, "Ilé.", monkeypatch)
    for wishes, told in (
        ({"noise": 1}, "cannot be asked for noise: choose speed, pause, seed, speaker, plain, quick, pitch"),
        ({"steps": 9}, "steps 9 is out of reach: choose 0 to 8"),
        ({"pitch": "2"}, "pitch 2 is no number: choose -12 to 12"),
        ({"tones": "loud"}, "tones loud are not known: choose learnt or strict"),
    ):
        assert told in in_node(packages["melodic"], runs, "Ilé.", wishes)["failed"]
    _, runs = recorded(plain := Voice.open(packages["plain"].with_suffix(".voice"), threads=1), "ọ", monkeypatch)
    assert plain.engine.plans
    assert "cannot be asked for tones" in in_node(packages["plain"], runs, "ọ", {"tones": "strict"})["failed"]


def test_a_voice_that_draws_codes_is_refused(tmp_path: Path) -> None:
    pack(tmp_path / "codes.voice", token_graphs)
    with pytest.raises(ExportError, match="engine 'tokens' draws codes one by one, which is too slow in a page"):
        finished(export(tmp_path / "codes.voice", to="web", runtime=fake_runtime(tmp_path / "ort")))
    assert not list(tmp_path.glob("*-web"))

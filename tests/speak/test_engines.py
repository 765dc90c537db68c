"""Engines beside VITS's, on graphs made here: chunks are the whole, seeds and knobs act, and stop rules hold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

from olu.core.errors import TextError, VoiceError
from olu.speak import package as package_module
from olu.speak.engines import ChunkPlan
from olu.speak.engines.sampling import Sampler, StopRules, loop_of
from olu.speak.engines.tokens import TokensEngine
from olu.speak.stream import Chunk, Manner
from olu.speak.voice import Voice

from ..helpers.engine_graphs import mel_graphs, pack, token_graphs
from ..helpers.packages import TEXT, edit, seal, zipped

LONG = "ọ dị mma, ka ọ dị mma " * 4


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("engines")
    made = {name: place / f"{name}.voice" for name in ("mel", "tokens", "hidden", "shared")}
    pack(made["mel"], mel_graphs)
    pack(made["tokens"], token_graphs)
    pack(made["hidden"], token_graphs, hidden=True, hold=10)
    pack(made["shared"], token_graphs, attention="shared", hold=10)
    return made


@pytest.fixture(scope="session", params=["mel", "tokens", "hidden", "shared"])
def voice(request: pytest.FixtureRequest, folders: dict[str, Path]) -> Voice:
    return Voice.open(folders[request.param], threads=1)


def streamed(voice: Voice, text: str, **wish: Any) -> NDArray[np.float32]:
    return np.concatenate([piece.audio.samples for piece in voice.stream(text, **wish)])


def test_chunks_are_the_whole(voice: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = voice.speak(LONG, seed=3)
    assert len(list(voice.stream(LONG, seed=3))) > 1
    np.testing.assert_allclose(streamed(voice, LONG, seed=3), whole.samples, atol=1e-6)
    assert whole.samples.std() > 1e-3
    plan = ChunkPlan(0, 8, 16, 2)  # what is around a chunk left out: the test can fail
    monkeypatch.setattr(ChunkPlan, "of", lambda *_, **__: plan)
    assert not np.allclose(streamed(voice, LONG, seed=3), whole.samples, atol=1e-6)


def test_seed_speed_and_speaker_act(voice: Voice) -> None:
    one, again, other = (voice.speak(TEXT, seed=seed).samples for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert one.shape != other.shape or not np.allclose(one, other)
    if "pitch" in voice.knobs:
        assert len(voice.speak(TEXT, speed=2.0).samples) < 0.7 * len(one)
        assert [word.label for p in voice.stream(TEXT) if p.last for word in p.sentence.words]
    else:
        obi = voice.speak(TEXT, seed=1, speaker="obi").samples
        assert obi.shape != one.shape or not np.allclose(obi, one)
        ends = [piece.sentence.end for piece in voice.stream(TEXT) if piece.last]
        assert ends[-1] == pytest.approx(len(streamed(voice, TEXT)) / voice.rate)


def test_chunks_of_several_texts_go_together(voice: Voice) -> None:
    """As a worker runs them: by key, without a look inside."""
    making = [voice.begin(TEXT, manner=Manner(seed=seed), quick=False) for seed in range(3)]
    sounds: list[list[NDArray[np.float32]]] = [[], [], []]
    sent: list[Any] = [None, None, None]
    waiting: dict[int, Chunk] = {}
    while making:
        for number, one in enumerate(making):
            while one is not None and number not in waiting:
                try:
                    made = one.send(sent[number])
                except StopIteration:
                    making[number] = None  # type: ignore[call-overload]
                    break
                sent[number] = None
                if isinstance(made, Chunk):
                    waiting[number] = made
                else:
                    sounds[number].append(made.audio.samples)
        if not waiting:
            break
        key = next(iter(waiting.values())).key
        some = [number for number in waiting if waiting[number].key == key]
        for number, result in zip(some, voice.run([waiting.pop(n) for n in some]), strict=True):
            sent[number] = result
    for seed, parts in enumerate(sounds):
        np.testing.assert_allclose(np.concatenate(parts), voice.speak(TEXT, seed=seed).samples, atol=1e-5)


def test_a_knob_acts_and_one_that_is_not_there_is_refused(voice: Voice) -> None:
    for name, value in {"pitch": 5.0, "steps": 0, "temperature": 0.0, "top_k": 1, "repetition_penalty": 9.0}.items():
        if name in voice.knobs:
            usual, turned = (voice.speak(TEXT, knobs=knobs).samples for knobs in ({}, {name: value}))
            assert usual.shape != turned.shape or not np.array_equal(usual, turned), name
    with pytest.raises(VoiceError, match=r"the voice test has no knob 'noise'; it has: .*temperature"):
        voice.speak(TEXT, noise=0.5)
    with pytest.raises(VoiceError, match="temperature 9 is out of reach: choose 0 to 2"):
        voice.speak(TEXT, knobs={"temperature": 9})
    with pytest.raises(VoiceError, match="'hot' is no number"):
        voice.speak(TEXT, knobs={"temperature": "hot"})  # type: ignore[dict-item]


def test_a_shared_cache_says_what_a_growing_one_does(folders: dict[str, Path]) -> None:
    """Contrib GroupQueryAttention and its plain twin."""
    plain, shared = (Voice.open(folders[name], threads=1) for name in ("tokens", "shared"))
    np.testing.assert_allclose(shared.speak(TEXT).samples, plain.speak(TEXT).samples, atol=1e-5)


def test_folder_and_zip(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in ("mel", "tokens"):
        other = Voice.open(zipped(folders[name], tmp_path / f"{name}.zip"), threads=1)
        np.testing.assert_array_equal(
            other.speak(TEXT).samples, Voice.open(folders[name], threads=1).speak(TEXT).samples
        )
    assert isinstance(Voice.open(folders["tokens"]).engine.writer._text, np.memmap)  # type: ignore[attr-defined]


# ---------------------------------------------------------------- codes


def engine(voice: Voice, monkeypatch: pytest.MonkeyPatch, **rules: Any) -> TokensEngine:
    found = voice.engine
    assert isinstance(found, TokensEngine)
    monkeypatch.setattr(found.writer, "rules", StopRules(**{"least": 1.0, "most": 4.0, **rules}))
    return found


@pytest.fixture
def speaker(folders: dict[str, Path]) -> Iterator[Voice]:
    yield Voice.open(folders["tokens"], threads=1)


def drawing(monkeypatch: pytest.MonkeyPatch, codes: list[list[int]]) -> list[int]:
    """Each try draws these codes, the last of them again and again; the stop is 23. Gives how often each began."""
    tries: list[int] = []

    def draw(self: Sampler, logits: Any, before: list[int], *, never: list[int]) -> int:
        if not before:
            tries.append(len(tries))
        held = codes[min(len(tries), len(codes)) - 1]
        code = held[min(len(before), len(held) - 1)]
        return code if code not in never else 1

    monkeypatch.setattr(Sampler, "draw", draw)
    return tries


def seconds(codes: int) -> int:
    return codes * 64


def test_a_stop_is_not_taken_too_early_nor_awaited_for_ever(speaker: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = len(speaker.vocabulary.encode(speaker.frontend.read("kedu")))
    engine(speaker, monkeypatch, least=2.0)
    drawing(monkeypatch, [[23]])
    assert len(speaker.speak("kedu").samples) == seconds(2 * tokens)
    engine(speaker, monkeypatch, most=3.0, extra=5)
    drawing(monkeypatch, [[1, 2, 3] * 30])
    assert len(speaker.speak("kedu").samples) == seconds(3 * tokens + 5)


def test_a_loop_is_tried_again_and_else_kept_once(speaker: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(speaker, monkeypatch, repeat=4, tries=3)
    tries = drawing(monkeypatch, [[5, 6, 7, 7, 7, 7, 7], [1, 2, 3, 4, 5, 23]])
    assert len(speaker.speak("kedu").samples) == seconds(5) and tries == [0, 1]
    tries = drawing(monkeypatch, [[5, 6, 7, 7, 7, 7, 7]])
    assert len(speaker.speak("kedu").samples) == seconds(3) and tries == [0, 1, 2]


def test_what_was_heard_is_not_tried_again(speaker: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    engine(speaker, monkeypatch, repeat=4, tries=3, hold=3)
    tries = drawing(monkeypatch, [[5, 6, 8, 9, 7, 7, 7, 7]])
    whole = speaker.speak("kedu").samples
    np.testing.assert_allclose(streamed(speaker, "kedu"), whole, atol=1e-6)
    assert tries == [0, 1] and len(whole) == seconds(8)


def test_loops() -> None:
    assert loop_of([1, 2, 1, 2, 1, 2], 3) == 2 and loop_of([4, 4, 4], 3) == 1
    assert loop_of([1, 2, 1, 2, 1, 3], 3) == 0 and loop_of([4, 4], 3) == 0 and loop_of([4] * 9, 0) == 0


def test_the_sampler() -> None:
    logits = np.array([0.0, 1.0, 2.0, 3.0, -1.0], np.float32)

    def drawn(**knobs: float) -> list[int]:
        sample = Sampler.of(knobs, np.random.default_rng(0))
        return [sample.draw(logits, [3], never=[4]) for _ in range(400)]

    assert set(drawn(temperature=0.0)) == {3} == set(drawn(top_k=1))
    assert set(drawn(temperature=0.0, repetition_penalty=5.0)) == {2}
    assert set(drawn()) == {0, 1, 2, 3} and set(drawn(top_k=2)) == {2, 3}
    assert set(drawn(top_p=0.7)) == {2, 3}
    share = np.mean(np.array(drawn()) == 3)
    assert abs(share - np.exp(3) / np.exp([0, 1, 2, 3]).sum()) < 0.08


# ---------------------------------------------------------------- packages


def test_a_package_says_what_it_holds(folders: dict[str, Path]) -> None:
    facts = json.loads((folders["tokens"] / "voice.json").read_text(encoding="utf-8"))
    assert (facts["schema"], facts["engine"]) == (3, "tokens")
    assert facts["graphs"]["decoder"] == {"file": "decoder.onnx", "inputs": ["codes", "speaker"]}
    assert facts["arrays"]["prompt"] == {"file": "prompt.npy", "dtype": "float32", "shape": [2, 3, 8]}
    assert facts["knobs"]["temperature"] == {"default": 0.8, "low": 0.0, "high": 2.0, "what": "how freely it draws"}


@pytest.mark.parametrize(("name", "key"), [("mel", "frames"), ("mel", "knots"), ("tokens", "logits")])
def test_what_is_certain_is_proved(folders: dict[str, Path], tmp_path: Path, name: str, key: str) -> None:
    copy = Path(shutil.copytree(folders[name], tmp_path / "x.voice"))
    edit(
        copy / "check.json", lambda v: {**v, "sentences": [{**r, key: [n + 5 for n in r[key]]} for r in v["sentences"]]}
    )
    with pytest.raises(VoiceError, match="than at its export"):
        Voice.open(copy)


def _pickled(folder: Path) -> None:
    np.save(folder / "prompt.npy", np.array([{"a": 1}], object), allow_pickle=True)


def _taking_files(folder: Path) -> None:
    model = onnx.load(str(folder / "step.onnx"))
    tensor = TensorProto(name="stolen", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="secret.txt")
    model.graph.initializer.append(tensor)
    (folder / "step.onnx").write_bytes(model.SerializeToString())


def _facts(**change: Any) -> Any:
    return lambda folder: edit(folder / "voice.json", lambda facts: {**facts, **change})


HOSTILE = {
    "takes files": (_taking_files, "it takes numbers from another file"),
    "pickled": (_pickled, "prompt.npy is damaged"),
    "another shape": (lambda f: np.save(f / "prompt.npy", np.zeros((9, 3, 8), np.float32)), "prompt.npy is damaged"),
    "cut": (lambda f: (f / "prompt.npy").write_bytes((f / "prompt.npy").read_bytes()[:150]), "prompt.npy is damaged"),
    "no array": (lambda f: (f / "code_rows.npy").write_bytes(b"\x93NUMPY nothing"), "code_rows.npy is damaged"),
    "gone": (lambda f: (f / "code_rows.npy").unlink(), "no code_rows.npy"),
    "unknown engine": (_facts(engine="telepathy"), "it needs the engine 'telepathy'"),
    "another engine": (_facts(engine="mel"), "not a whole voice package"),
    "file outside": (_facts(graphs={"step": {"file": "../step.onnx"}}), "its graphs"),
    "graphs a list": (_facts(graphs=["step.onnx"]), "its graphs"),
    "no graphs": (_facts(graphs={}), "not a whole voice package"),
    "knob without effect": (_facts(knobs={"mood": {"default": 1, "low": 0, "high": 1}}), "no knob 'mood'"),
    "knobs a number": (_facts(knobs=3), "its knobs"),
    "stop far away": (_facts(stop_code=10**9), "is no number"),
    "rules gone": (_facts(stop_rules={}), "no 'least'"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_wrong_with_a_package_is_one_sentence(kind: str, folders: dict[str, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folders["tokens"], tmp_path / "x.voice"))
    change, says = HOSTILE[kind]
    change(copy)
    seal(copy)
    with pytest.raises(VoiceError) as raised:
        Voice.open(copy)
    assert says in str(raised.value) and "\n" not in str(raised.value)
    zipped(copy, tmp_path / "x.zip")
    with pytest.raises(VoiceError):
        Voice.open(tmp_path / "x.zip")


def test_digests_of_large_files_are_proved_once(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(folders["tokens"], tmp_path / "x.voice"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(package_module, "REMEMBERED_FROM", 1)
    gone_through: list[str] = []
    kept = package_module._Files._streamed
    monkeypatch.setattr(
        package_module._Files, "_streamed", lambda self, name: gone_through.append(name) or kept(self, name)
    )
    Voice.open(copy)
    assert "step.onnx" in gone_through and "prompt.npy" in gone_through
    gone_through.clear()
    Voice.open(copy)
    assert not gone_through
    rows = np.load(copy / "prompt.npy")
    np.save(copy / "prompt.npy", rows + 1)
    with pytest.raises(VoiceError, match=r"prompt\.npy is damaged"):
        Voice.open(copy)
    assert gone_through == ["prompt.npy"]
    (tmp_path / "cache" / "olu" / "digests.json").write_text("{nonsense")
    with pytest.raises(VoiceError, match=r"prompt\.npy is damaged"):
        Voice.open(copy)


def test_what_is_no_text_and_no_number_is_one_sentence(folders: dict[str, Path]) -> None:
    voice = Voice.open(folders["mel"])
    with pytest.raises(TextError, match="a text is wanted, not NoneType"):
        voice.speak(None)  # type: ignore[arg-type]
    for wish in ({"seed": "a"}, {"seed": 1.5}, {"seed": True}, {"speed": "fast"}, {"rate": "8k"}, {"pause": []}):
        with pytest.raises(VoiceError, match="number"):
            voice.speak(TEXT, **wish)  # type: ignore[arg-type]
    with pytest.raises(VoiceError, match=r"cannot be asked for mood"):
        voice.speak(TEXT, mood="glad")  # type: ignore[call-arg]


def test_a_manner_holds_knobs_by_their_short_names_too() -> None:
    assert Manner(noise=0.3) == Manner(knobs={"noise": 0.3}) and Manner(noise=0.3).noise == 0.3
    quiet = Manner(noise=0.3, knobs={"pitch": 2.0})
    assert Manner.of(quiet, seed=4).knobs == {"noise": 0.3, "pitch": 2.0}
    assert Manner.of(quiet, noise=None).knobs == {"pitch": 2.0}, "as the voice has it"
    assert Manner.of(quiet, duration_noise=0.0).knobs == {"noise": 0.3, "pitch": 2.0, "duration_noise": 0.0}

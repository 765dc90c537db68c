"""The ONNX graphs against torch, on weights of which none is zero."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from numpy.typing import NDArray

from olu.families.vits.config import VitsConfig
from olu.families.vits.export import export, plain
from olu.families.vits.learn import VitsLearner
from olu.families.vits.model import Generator

VOCAB = 20
KINDS: dict[str, tuple[dict[str, Any], int]] = {
    "tiny-stochastic": ({"size": "tiny"}, 1),
    "tiny-plain-speakers": ({"size": "tiny", "use_stochastic_duration_prediction": False}, 3),
    "tiny-stochastic-speakers": ({"size": "tiny", "speaker_embedding_size": 12}, 2),
    "small-stochastic-speakers": ({"size": "small", "use_stochastic_duration_prediction": True}, 2),
    **({"small-plain": ({"size": "small"}, 1)} if os.environ.get("OLU_SOAK") == "1" else {}),
}
Feeds = dict[str, NDArray[Any]]


@dataclass
class Exported:
    learner: VitsLearner
    facts: dict[str, Any]
    encoder: onnxruntime.InferenceSession
    decoder: onnxruntime.InferenceSession  # with what goes into its tanh as a second output


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Torch's threads wait for each other; on a busy machine that is many times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make(settings: dict[str, Any], speakers: int) -> VitsLearner:
    torch.manual_seed(7)
    learner = VitsLearner(VitsConfig(**settings), vocab_size=VOCAB, num_speakers=speakers)
    with torch.no_grad():
        for name, value in learner.gen.named_parameters():
            value.add_(torch.randn_like(value) * 0.05)
            if name.startswith("decoder.") and name.endswith("original0"):
                value.copy_(2 + torch.randn_like(value) * 0.2)  # the fresh decoder hums whatever it is given
        if not learner.config.use_stochastic_duration_prediction:
            learner.gen.duration_predictor.proj.bias.add_(1.0)  # a few frames a token
        latents, speaker = torch.randn(1, learner.config.flow_size, 30), torch.tensor([0])
        inner = before_tanh(learner, lambda gen: gen.decoder(latents, gen.speaker(speaker)))
        learner.gen.decoder.conv_post.weight.div_(2 * inner.std())
    return learner


def before_tanh(learner: VitsLearner, act: Callable[[Generator], Any]) -> torch.Tensor:
    found: list[torch.Tensor] = []
    gen = learner.gen
    hook = gen.decoder.conv_post.register_forward_hook(lambda module, inputs, output: found.append(output))
    act(gen)
    hook.remove()
    return found[0]


def session(path: Path, *, inner: bool = False) -> onnxruntime.InferenceSession:
    graph = onnx.load(str(path))
    onnx.checker.check_model(graph)
    if inner:
        (tanh,) = [node for node in graph.graph.node if node.op_type == "Tanh"]
        graph.graph.output.append(onnx.helper.make_tensor_value_info(tanh.input[0], onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module", params=KINDS)
def voice(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("graphs")
    learner = make(*KINDS[request.param])
    facts = export(learner, folder=folder)
    decoder = session(folder / "decoder.onnx", inner=True)
    return Exported(learner, facts, session(folder / "encoder.onnx"), decoder)


def feeds(voice: Exported, tokens: int, *, noise_frames: int | None = None, speaker: int = 0, **scales: float) -> Feeds:
    rng = np.random.default_rng(tokens)
    frames = 16 * tokens if noise_frames is None else noise_frames
    return {
        "ids": rng.integers(0, VOCAB, (1, tokens)),
        "noise": rng.standard_normal((1, voice.learner.config.flow_size, frames), np.float32),
        "duration_noise": rng.standard_normal((1, 2, tokens), np.float32),
        "noise_scale": np.array(scales.get("noise_scale", 0.667), np.float32),
        "duration_noise_scale": np.array(scales.get("duration_noise_scale", 0.8), np.float32),
        "length_scale": np.array(scales.get("length_scale", 1.0), np.float32),
        "speaker": np.array([speaker], np.int64),
    }


def run(graph: onnxruntime.InferenceSession, given: Feeds) -> list[NDArray[np.float32]]:
    found: list[NDArray[np.float32]] = graph.run(None, {i.name: given[i.name] for i in graph.get_inputs()})
    return found


def by_torch(voice: Exported, given: Feeds) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Latents, durations and the wave before its tanh, from the training module itself, weight norm and all."""
    gen = voice.learner.gen.eval()
    t = {name: torch.from_numpy(value) for name, value in given.items()}
    with torch.no_grad():
        g = gen.speaker(t["speaker"])
        z, durations = gen.latents(
            t["ids"],
            torch.tensor([t["ids"].shape[1]]),
            g=g,
            noise_BCF=t["noise"],
            duration_noise_B2T=t["duration_noise"],
            noise_scale=t["noise_scale"],
            noise_scale_duration=t["duration_noise_scale"],
            length_scale=t["length_scale"],
        )
        inner = before_tanh(voice.learner, lambda gen: gen.decoder(z, g))
    return z.numpy(), durations.numpy(), inner.numpy().ravel()


def decibels(signal: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Signal to difference; a constant in the signal counts for nothing."""
    signal, other = signal.astype(np.float64), other.astype(np.float64)
    return float(10 * np.log10(np.square(signal - signal.mean()).sum() / max(np.square(signal - other).sum(), 1e-30)))


@pytest.mark.parametrize("tokens", [1, 2, 9, 41])
def test_onnx_sounds_as_torch(voice: Exported, tokens: int) -> None:
    for speaker in range(len(voice.learner.gen.embed_speaker.weight) if "speaker" in _inputs(voice) else 1):
        given = feeds(voice, tokens, speaker=speaker, length_scale=1.3)
        latents, durations, inner = by_torch(voice, given)
        found_latents, found_durations = run(voice.encoder, given)
        wave, found_inner = run(voice.decoder, {**given, "latents": found_latents})
        np.testing.assert_array_equal(found_durations, durations)
        assert found_latents.shape == latents.shape == (1, voice.facts["channels"], max(1, int(durations.sum())))
        assert wave.shape == (1, voice.facts["hop"] * latents.shape[2])
        assert decibels(latents, found_latents) > 60
        assert decibels(inner, found_inner.ravel()) > 60
        np.testing.assert_allclose(wave.ravel(), np.tanh(inner), atol=1e-3)


def _inputs(voice: Exported) -> set[str]:
    return {spec.name for spec in voice.decoder.get_inputs()}


def test_every_input_acts(voice: Exported) -> None:
    usual = feeds(voice, 15, noise_frames=40)
    latents, durations = run(voice.encoder, usual)
    other = feeds(voice, 16, noise_frames=40)
    changes: Feeds = {
        "ids": (usual["ids"] + 1) % VOCAB,
        "noise": other["noise"],
        "duration_noise": other["duration_noise"][:, :, :15],
        "noise_scale": np.array(0.1, np.float32),
        "duration_noise_scale": np.array(0.1, np.float32),
        "length_scale": np.array(2.5, np.float32),
        "speaker": np.array([1], np.int64),
    }
    wanted = {spec.name for spec in voice.encoder.get_inputs()}
    stochastic = voice.learner.config.use_stochastic_duration_prediction
    expected = set(changes) - (set() if stochastic else {"duration_noise", "duration_noise_scale"})
    assert wanted == expected - (set() if "speaker" in _inputs(voice) else {"speaker"})
    for name in wanted:
        changed, moved = run(voice.encoder, {**usual, name: changes[name]})
        assert changed.shape != latents.shape or not np.allclose(changed, latents, atol=1e-4), name
        if name in ("length_scale", "duration_noise"):
            assert not np.array_equal(moved, durations), name
    if "speaker" in _inputs(voice):
        one, two = (run(voice.decoder, {"latents": latents, "speaker": np.array([n])})[1] for n in (0, 1))
        assert decibels(one, two) < 30


def test_noise_shorter_than_the_frames_repeats(voice: Exported) -> None:
    given = feeds(voice, 21, noise_frames=5, length_scale=2.0)
    latents, durations = run(voice.encoder, given)
    frames = latents.shape[2]
    assert frames > 10
    tiled = np.tile(given["noise"], (1, 1, frames // 5 + 1))[:, :, :frames]
    again, same = run(voice.encoder, {**given, "noise": tiled})
    np.testing.assert_array_equal(same, durations)
    np.testing.assert_allclose(again, latents, atol=1e-6)
    shifted, _ = run(voice.encoder, {**given, "noise": np.roll(tiled, 1, axis=2)})
    assert not np.allclose(shifted, latents, atol=1e-3)


def test_the_decoder_works_in_overlapping_chunks(voice: Exported) -> None:
    hop, seam, overlap = voice.facts["hop"], 40, 12
    rng = np.random.default_rng(3)
    latents = rng.standard_normal((1, voice.facts["channels"], 90), np.float32)

    def inner(part: NDArray[np.float32]) -> NDArray[np.float32]:
        return run(voice.decoder, {"latents": part, "speaker": np.array([0])})[1].ravel()

    whole = inner(latents)
    first = inner(latents[:, :, : seam + overlap])[: seam * hop]
    second = inner(latents[:, :, seam - overlap :])[overlap * hop :]
    joined = np.concatenate([first, second])
    assert joined.shape == whole.shape
    assert decibels(whole, joined) > 80
    around = slice((seam - 2) * hop, (seam + 2) * hop)
    bare = np.concatenate([inner(latents[:, :, :seam]), inner(latents[:, :, seam:])])
    assert decibels(whole[around], bare[around]) < 40, "without an overlap the seam is heard"


def test_facts_and_the_learner_are_right(voice: Exported) -> None:
    config, gen = voice.learner.config, voice.learner.gen
    assert (voice.facts["rate"], voice.facts["hop"]) == (config.sampling_rate, config.hop_length)
    assert voice.facts["sampling"] == {
        "noise_scale": config.noise_scale,
        "duration_noise_scale": config.noise_scale_duration,
        "length_scale": 1.0,
    }
    speaking = plain(gen)
    own = sum(p.numel() for name, p in speaking.named_parameters() if not name.startswith("posterior_encoder."))
    assert voice.facts["parameters"] == own


def test_exporting_leaves_the_learner_as_it_was(tmp_path: Path) -> None:
    learner = make({"size": "tiny"}, 1)
    before = {name: value.clone() for name, value in learner.state_dict().items()}
    random = torch.random.get_rng_state()
    plain(learner.gen)
    assert torch.equal(random, torch.random.get_rng_state())
    for turn in ("one", "two"):
        (tmp_path / turn).mkdir()
        export(learner, folder=tmp_path / turn)
    assert learner.training
    assert all(value.requires_grad for value in learner.parameters())
    after = learner.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)
    copy.deepcopy(learner.gen).text_encoder(torch.zeros(1, 3, dtype=torch.long), torch.ones(1, 1, 3))
    assert (tmp_path / "one" / "decoder.onnx").read_bytes() == (tmp_path / "two" / "decoder.onnx").read_bytes()


def test_a_plain_copy_shares_nothing() -> None:
    learner = make({"size": "tiny"}, 2)
    folded = plain(learner.gen)
    assert not folded.training
    assert not any("parametrizations" in name for name in folded.state_dict())
    kept = {name: value.clone() for name, value in folded.state_dict().items()}
    with torch.no_grad():
        for value in learner.gen.parameters():
            value.add_(1.0)
    assert all(torch.equal(value, kept[name]) for name, value in folded.state_dict().items())

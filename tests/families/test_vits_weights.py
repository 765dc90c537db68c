"""Foreign weights: nothing missing, nothing left over, and the same sound as transformers makes of them."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from olu.core.errors import OluError, TrainError
from olu.core.job import finish
from olu.families.vits.base import grown, read_base
from olu.families.vits.config import VitsConfig
from olu.families.vits.export import plain
from olu.families.vits.foreign.transformers import read_transformers
from olu.families.vits.learn import VitsLearner
from olu.families.vits.model import Generator
from olu.families.vits.weights import fold, load_plain
from olu.speak.voice import Voice
from olu.stages.export import export

# transformers scripts a function when its VITS module is first imported
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")

SHARED = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared"))
REAL = SHARED / "base" / "amh-mms-20min"
SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "ffn_dim": 64,
    "flow_size": 32,
    "prior_encoder_num_flows": 2,
    "posterior_encoder_num_wavenet_layers": 3,
    "upsample_initial_channel": 64,
    "duration_predictor_filter_channels": 48,
    "depth_separable_num_layers": 2,
}
KINDS: dict[str, dict[str, Any]] = {
    "mms-stochastic": {},
    "small-speakers": {**SMALL, "num_speakers": 3, "speaker_embedding_size": 24},
    "small-speakers-plain": {
        **SMALL,
        "num_speakers": 2,
        "speaker_embedding_size": 8,
        "use_stochastic_duration_prediction": False,
    },
}
if os.environ.get("OLU_SOAK") == "1":
    KINDS["mms-plain"] = {"use_stochastic_duration_prediction": False, "noise_scale_duration": 0.3}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Torch's threads wait for each other; on a busy machine that is many times slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def foreign(vocab_size: int = 40, **settings: Any) -> transformers.VitsModel:
    """A seeded model in which no weight is zero, loud enough to compare."""
    torch.manual_seed(11)
    model = transformers.VitsModel(transformers.VitsConfig(vocab_size=vocab_size, **settings)).eval()
    with torch.no_grad():
        for value in model.parameters():
            value.add_(torch.randn_like(value) * 0.02)
        wave = theirs(model, torch.arange(1, 11)[None] % vocab_size)
        model.decoder.conv_post.weight.mul_(0.5 / wave.std())
    return model


def theirs(model: transformers.VitsModel, ids: Tensor, speaker: int | None = None) -> Tensor:
    model.noise_scale = model.noise_scale_duration = 0.0
    with torch.no_grad():
        return model(input_ids=ids, speaker_id=speaker).waveform[0]


def ours(gen: Generator, ids: Tensor, speaker: int | None = None) -> tuple[Tensor, Tensor]:
    """Of a network as it is exported, whose norms are folded: it takes long to fold them."""
    g = gen.speaker(torch.tensor([speaker or 0]))
    size = ids.shape[1]
    with torch.no_grad():
        z, durations = gen.latents(
            ids,
            torch.tensor([size]),
            g=g,
            noise_BCF=torch.zeros(1, gen.config.flow_size, 1),
            duration_noise_B2T=torch.zeros(1, 2, size),
            noise_scale=0.0,
            noise_scale_duration=0.0,
            length_scale=1.0,
        )
        return gen.decoder(z, g)[0], durations


def old_spelling(state: dict[str, Tensor]) -> dict[str, Tensor]:
    stem = ".parametrizations.weight.original"
    return {key.replace(f"{stem}0", ".weight_g").replace(f"{stem}1", ".weight_v"): t for key, t in state.items()}


def saved(model: transformers.VitsModel, folder: Path, *, vocab: dict[str, int] | None = None) -> Path:
    model.save_pretrained(folder)
    size = model.config.vocab_size
    table = vocab or {"_": 0, **{chr(ord("a") + n): n + 1 for n in range(min(26, size - 1))}}
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest) -> transformers.VitsModel:
    return foreign(**KINDS[request.param])


def test_loads_whole_and_sounds_the_same(model: transformers.VitsModel, tmp_path: Path) -> None:
    read = read_transformers(saved(model, tmp_path / "base"))
    speakers = model.config.num_speakers
    gen = Generator(read.config, vocab_size=model.config.vocab_size, num_speakers=speakers)
    report = load_plain(gen, read.weights)
    assert (report.missing, report.leftover) == ((), ())
    shapes = {name: tuple(value.shape) for name, value in fold(gen.state_dict()).items()}
    assert shapes == {name: tuple(value.shape) for name, value in fold(model.state_dict()).items()}
    heard = []
    gen = plain(gen)
    for speaker in range(speakers):
        for ids in (torch.arange(1, 14)[None], torch.tensor([[0, 5, 0, 7, 0]]), torch.tensor([[3]])):
            expected = theirs(model, ids, speaker if speakers > 1 else None)
            found, durations = ours(gen, ids, speaker)
            assert expected.abs().max() > 0.05
            assert len(found) == 256 * max(1, int(durations.sum()))
            torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
        heard.append(float(found.double().square().sum()))
    assert len(set(heard)) == speakers


@pytest.fixture(scope="module")
def little() -> transformers.VitsModel:
    return foreign(vocab_size=12, **SMALL)


def test_both_spellings_fold_alike(little: transformers.VitsModel) -> None:
    new = little.state_dict()
    old = old_spelling(new)
    assert any(key.endswith("weight_g") for key in old)
    one, other = fold(new), fold(old)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not any("original" in name or name.endswith((".weight_g", ".weight_v")) for name in one)
    layer = little.flow.flows[0].wavenet.in_layers[0]
    torch.testing.assert_close(one["flow.flows.0.wavenet.in_layers.0.weight"], layer.weight.detach())


def test_unfolding_and_folding_is_the_identity(little: transformers.VitsModel) -> None:
    weights = fold(little.state_dict())
    gen = Generator(VitsConfig(size="mms", **_ours(SMALL)), vocab_size=12, num_speakers=1)
    load_plain(gen, weights)
    for name, value in fold(gen.state_dict()).items():
        torch.testing.assert_close(value, weights[name], atol=1e-6, rtol=1e-5)


def _ours(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != "duration_predictor_filter_channels"}


def test_a_network_without_memory_has_the_same_names_and_shapes() -> None:
    with torch.device("meta"):
        bare = Generator(VitsConfig(size="tiny"), vocab_size=12, num_speakers=2).state_dict()
    full = Generator(VitsConfig(size="tiny"), vocab_size=12, num_speakers=2).state_dict()
    assert [(name, one.shape) for name, one in bare.items()] == [(name, one.shape) for name, one in full.items()]


def test_half_precision_folds_in_full(little: transformers.VitsModel) -> None:
    half = {name: value.half() for name, value in little.state_dict().items()}
    full = fold({name: value.float() for name, value in half.items()})
    name = "flow.flows.0.wavenet.in_layers.0.weight"
    assert torch.equal(fold(half)[name], full[name])


def test_gaps_and_leftovers_are_named(little: transformers.VitsModel) -> None:
    weights = fold(little.state_dict())
    del weights["decoder.conv_pre.bias"], weights["flow.flows.0.wavenet.in_layers.0.weight"]
    weights["stray.weight"] = torch.zeros(1)
    gen = Generator(VitsConfig(size="mms", **_ours(SMALL)), vocab_size=12, num_speakers=1)
    report = load_plain(gen, weights)
    stem = "flow.flows.0.wavenet.in_layers.0.parametrizations.weight.original"
    assert set(report.missing) == {"decoder.conv_pre.bias", f"{stem}0", f"{stem}1"}
    assert report.leftover == ("stray.weight",)


def test_another_shape_is_named(little: transformers.VitsModel) -> None:
    gen = Generator(VitsConfig(size="mms", **_ours(SMALL)), vocab_size=13, num_speakers=1)
    with pytest.raises(TrainError, match=r"embed_tokens.weight has shape \(12, 32\).*\(13, 32\)"):
        load_plain(gen, fold(little.state_dict()))


def test_a_pickled_table_of_tensors_loads(little: transformers.VitsModel, tmp_path: Path) -> None:
    folder = saved(little, tmp_path)
    (folder / "model.safetensors").unlink()
    torch.save(old_spelling(little.state_dict()), folder / "pytorch_model.bin")
    weights = read_transformers(folder).weights
    expected = fold(little.state_dict())
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in weights)


def test_the_tokenizer_is_heeded(little: transformers.VitsModel, tmp_path: Path) -> None:
    folder = saved(little, tmp_path, vocab={"_": 0, "a": 1, "tʃ": 5, "<unk>": 11})
    found = read_transformers(folder)
    assert found.symbols[:6] == ("_", "a", "<unused-2>", "<unused-3>", "<unused-4>", "tʃ")
    assert (len(found.symbols), found.symbols[11], found.interleave, found.lower) == (12, "<unk>", True, True)
    (folder / "tokenizer_config.json").write_text('{"add_blank": false, "normalize": false}', encoding="utf-8")
    found = read_transformers(folder)
    assert (found.interleave, found.lower) == (False, False)


def test_settings_of_finetune_hf_vits_are_read(little: transformers.VitsModel, tmp_path: Path) -> None:
    folder = saved(little, tmp_path)
    config = json.loads((folder / "config.json").read_text())
    periods = {"discriminator_period_channels": [1, 32, 128, 512, 1024], "discriminator_periods": [2, 3, 5, 7, 11]}
    config |= {
        **periods,
        "discriminator_scale_channels": [1, 16, 64, 256, 1024],
        "segment_size": 8192,
        "hop_length": 256,
    }
    (folder / "config.json").write_text(json.dumps(config))
    read, usual = read_transformers(folder).config, VitsConfig(size="mms")
    for name in ("period_channels", "scale_channels", "periods", "kernel_size", "stride"):
        assert getattr(read, f"discriminator_{name}") == getattr(usual, f"discriminator_{name}")
    (folder / "config.json").write_text(json.dumps({**config, "discriminator_scale_channels": None}))
    assert read_transformers(folder).config.discriminator_scale_channels == ()


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def _missing_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def _missing_vocab(folder: Path) -> None:
    (folder / "vocab.json").unlink()


def _missing_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _cut(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000])


def _garbage(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\xff" * 64)


def _empty(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def _bad_json(folder: Path) -> None:
    (folder / "config.json").write_bytes(b'{"model_type": \xff')


def _list_json(folder: Path) -> None:
    (folder / "vocab.json").write_text("[1, 2]")


def _other_kind(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "bert"}))


def _too_many_ids(folder: Path) -> None:
    (folder / "vocab.json").write_text('{"_": 0, "a": 12}')


def _no_ids(folder: Path) -> None:
    (folder / "vocab.json").write_text('{"_": "zero"}')


def _twice(folder: Path) -> None:
    (folder / "vocab.json").write_text('{"_": 0, "a": 1, "b": 1}')


def _bad_setting(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "flow_size": 33}))


def _nested(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"model": {"a": torch.zeros(1)}}, folder / "pytorch_model.bin")


def _half_a_pair(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"decoder.weight_g": torch.ones(1, 1, 1)}, folder / "pytorch_model.bin")


DAMAGE = {
    _missing_config: "config.json is not there",
    _missing_vocab: "vocab.json is not there",
    _missing_weights: "has no model.safetensors",
    _cut: "model.safetensors is damaged",
    _garbage: "model.safetensors is damaged",
    _empty: "model.safetensors is damaged",
    _bad_json: "config.json is damaged",
    _list_json: "vocab.json is not a table",
    _other_kind: "model_type is 'bert'",
    _too_many_ids: "below vocab_size = 12",
    _no_ids: "whole number",
    _twice: "distinct",
    _bad_setting: "flow_size must be even",
    _nested: "not a table of tensors",
    _half_a_pair: "decoder.weight_g without decoder.weight_v",
}


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda f: f.__name__[1:])
def test_damage_is_one_clear_sentence(damage: Any, little: transformers.VitsModel, tmp_path: Path) -> None:
    folder = saved(little, tmp_path / "base")
    damage(folder)
    with pytest.raises(OluError, match=DAMAGE[damage]) as raised:
        read_transformers(folder)
    said = str(raised.value)
    assert "\n" not in said
    assert "Traceback" not in said
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


@pytest.mark.parametrize("writer", ["torch", "pickle"])
def test_a_pickle_never_runs(writer: str, little: transformers.VitsModel, tmp_path: Path) -> None:
    folder, ran = saved(little, tmp_path / "base"), tmp_path / "ran"
    (folder / "model.safetensors").unlink()
    bomb = {"text_encoder.embed_tokens.weight": torch.zeros(1), "extra": Evil(ran)}
    if writer == "torch":
        torch.save(bomb, folder / "pytorch_model.bin")
    else:
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(bomb))
    with pytest.raises(TrainError, match="more than plain tensors"):
        read_transformers(folder)
    assert not ran.exists()
    pickle.loads(pickle.dumps(Evil(ran)))
    assert ran.exists(), "the bomb is a real one"


def test_a_base_that_lacks_weights_is_refused(little: transformers.VitsModel, tmp_path: Path) -> None:
    """Exporting it would give a voice with random parts. Only what speaking does not need may start fresh."""
    from safetensors.torch import load_file, save_file

    folder = saved(little, tmp_path / "base")
    path = folder / "model.safetensors"
    weights = {name: value for name, value in load_file(path).items() if not name.startswith("posterior_encoder.")}
    save_file(weights, path)
    base = read_base(folder)
    learner = VitsLearner(VitsConfig(**base.settings), vocab_size=12, num_speakers=1)
    assert "posterior_encoder" in " ".join(base.load(learner))
    del weights["decoder.conv_pre.weight"]
    save_file(weights, path)
    with pytest.raises(OluError, match=r"lacks decoder\.conv_pre\.weight"):
        finish(export(folder, output=tmp_path / "x.voice"))
    assert not (tmp_path / "x.voice").exists()


def test_new_symbols_get_rows_like_the_old(little: transformers.VitsModel, tmp_path: Path) -> None:
    base = read_base(saved(little, tmp_path))
    learner = VitsLearner(VitsConfig(**base.settings), vocab_size=60, num_speakers=1)
    said = base.load(learner)
    rows = learner.gen.text_encoder.embed_tokens.weight.detach()
    old = little.text_encoder.embed_tokens.weight.detach()
    assert torch.equal(rows[:12], old)
    assert 0.7 < float(rows[12:].std() / old.std()) < 1.4
    assert any("48 new symbols" in sentence for sentence in said)
    assert torch.equal(grown(old, 12), old)


# ---------------------------------------------------------------- a real voice


@pytest.fixture(scope="module")
def real() -> Path:
    if not (REAL / "model.safetensors").is_file():
        pytest.skip("the half-trained Amharic voice is not here: set OLU_SHARED to the folder that holds base/")
    return REAL


@pytest.fixture(scope="module")
def examples(real: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((real / "examples.json").read_text(encoding="utf-8"))
    assert len(found) == 5
    return found


def test_a_real_voice_sounds_as_in_transformers(real: Path, examples: list[dict[str, Any]]) -> None:
    model = transformers.VitsModel.from_pretrained(real, dtype=torch.float32).eval()
    read = read_transformers(real)
    gen = Generator(read.config, vocab_size=len(read.symbols), num_speakers=1)
    report = load_plain(gen, read.weights)
    assert report.leftover == ()
    assert {name.split(".")[0] for name in report.missing} == {"posterior_encoder"}
    gen = plain(gen)
    for row in sorted(examples, key=lambda row: len(row["ids"]))[:2]:
        ids = torch.tensor([row["ids"]])
        expected, (found, _) = theirs(model, ids), ours(gen, ids)
        assert expected.abs().max() > 0.05
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


@pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="a large voice: make soak")
def test_a_real_voice_becomes_a_package_that_speaks(real: Path, examples: list[dict[str, Any]], tmp_path: Path) -> None:
    summary = finish(export(real, output=tmp_path / "x.voice"))
    assert summary.language == "amh"
    voice = Voice.open(tmp_path / "x.voice", threads=1)
    for row in examples:
        words = [word.split() for word in row["ph"].split("␣")]
        marked = " ".join(
            f"[[{' '.join(p for p in word if p.isalnum() or len(p) > 1)}]]{word[-1] if word[-1] in '.,!?' else ''}"
            for word in words
        )
        reading = voice.frontend.read(marked)
        assert reading.dropped == {}
        assert voice.vocabulary.encode(reading) == row["ids"]
    shortest = min((row["text"] for row in examples), key=len)
    audio = voice.speak(shortest)
    assert audio.rate == 16000
    assert np.isfinite(audio.samples).all()
    assert 0.5 < audio.seconds < 10
    assert np.sqrt(np.mean(audio.samples**2)) > 0.01

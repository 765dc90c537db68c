"""Checkpoints of other programs, in and out: nothing unexplained, and the same sound as transformers makes."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from olu.core.errors import OluError
from olu.core.job import finish
from olu.families.vits.base import read_base
from olu.families.vits.config import VitsConfig
from olu.families.vits.export import plain
from olu.families.vits.foreign import original as original_format
from olu.families.vits.foreign.detect import read_foreign
from olu.families.vits.foreign.names import DISCRIMINATOR, original_of, ours_of
from olu.families.vits.foreign.read import Foreign
from olu.families.vits.learn import VitsLearner
from olu.families.vits.model import Generator
from olu.families.vits.weights import fold, load_plain
from olu.stages.export import export
from olu.train.family import Clock

from ..helpers import foreign_checkpoints as made

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
IDS = (torch.arange(1, 12)[None], torch.tensor([[0, 5, 0, 7, 0]]))
MAKERS = {"original": made.original, "piper": made.piper, "coqui": made.coqui}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def small_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The discriminators of the other programs have fixed sizes, too large for a test."""
    for key, value in made.DISCRIMINATOR_SETTINGS.items():
        monkeypatch.setitem(original_format.DISCRIMINATOR_SETTINGS, key, value)


@pytest.fixture(scope="module", params=made.KINDS)
def model(request: pytest.FixtureRequest) -> transformers.VitsModel:
    return made.made(**made.KINDS[request.param])


@pytest.fixture(scope="module")
def little() -> transformers.VitsModel:
    return made.made(**made.SMALL)


def loaded(foreign: Foreign) -> Generator:
    """With nothing missing and nothing left over, as it is exported."""
    gen = Generator(foreign.config, vocab_size=len(foreign.symbols), num_speakers=foreign.num_speakers)
    report = load_plain(gen, {name: t for name, t in foreign.weights.items() if not name.startswith(DISCRIMINATOR)})
    assert (report.missing, report.leftover) == ((), ())
    return plain(gen)


def ours(gen: Generator, ids: Tensor, speaker: int = 0) -> Tensor:
    g, size = gen.speaker(torch.tensor([speaker])), ids.shape[1]
    with torch.no_grad():
        z, _ = gen.latents(
            ids,
            torch.tensor([size]),
            g=g,
            noise_BCF=torch.zeros(1, gen.config.flow_size, 1),
            duration_noise_B2T=torch.zeros(1, 2, size),
            noise_scale=0.0,
            noise_scale_duration=0.0,
            length_scale=1.0,
        )
        return gen.decoder(z, g)[0]


def same_sound(foreign: Foreign, model: transformers.VitsModel, *, moved: bool = False) -> None:
    """`moved`: the blank, their last symbol, came to the front."""
    speakers = model.config.num_speakers
    gen = loaded(foreign)
    for speaker in range(speakers):
        for ids in IDS:
            expected = made.theirs(model, ids, speaker if speakers > 1 else None)
            own = torch.where(ids == len(made.VOCAB) - 1, 0, ids + 1) if moved else ids
            assert expected.abs().max() > 0.05
            torch.testing.assert_close(ours(gen, own, speaker), expected, atol=1e-4, rtol=0)


# ---------------------------------------------------------------- in


@pytest.mark.parametrize("maker", MAKERS)
def test_a_foreign_checkpoint_is_whole_and_sounds_as_in_transformers(
    maker: str, model: transformers.VitsModel, tmp_path: Path
) -> None:
    folder = MAKERS[maker](model, tmp_path / "base", **({"judge": True} if maker == "original" else {}))
    found = read_foreign(folder)
    same_sound(found, model, moved=maker == "coqui")
    judge = {name.removeprefix(DISCRIMINATOR) for name in found.weights if name.startswith(DISCRIMINATOR)}
    assert judge == {name.replace("conv_post", "final_conv") for name in fold(made.judge_state())}
    assert not any(note.startswith("not used") for note in found.notes)
    base = read_base(folder)
    assert base.has_discriminator and base.lacks == ()
    learner = VitsLearner(
        VitsConfig(**base.settings), vocab_size=len(base.symbols), num_speakers=model.config.num_speakers
    )
    assert not [said for said in base.load(learner) if "fresh" in said or said.startswith("not used")]
    assert base.num_speakers == model.config.num_speakers


def test_names_go_there_and_back(model: transformers.VitsModel) -> None:
    stochastic = model.config.use_stochastic_duration_prediction
    names = list(fold(model.state_dict()))
    there = [original_of(name, stochastic=stochastic) for name in names]
    assert len(set(there)) == len(names)
    assert [ours_of(name, stochastic=stochastic) for name in there] == names
    assert set(there) == set(fold(made.old_names(model.state_dict())))
    with pytest.raises(KeyError):
        original_of("nobody.knows.weight", stochastic=stochastic)
    assert ours_of("flow.flows.1.pre.weight", stochastic=True) is None, "a flip has no weights"


def test_symbols_and_reading_of_the_original(little: transformers.VitsModel, tmp_path: Path) -> None:
    found = read_foreign(made.original(little, tmp_path / "a"))
    assert found.symbols == tuple(made.VOCAB), "the third line is a single space"
    assert (found.interleave, found.lower, found.via, found.num_speakers) == (True, True, None, 1)
    found = read_foreign(made.original(little, tmp_path / "b", training_files="x/train.ltr.uroman"))
    assert found.via == "uroman"
    found = read_foreign(made.original(little, tmp_path / "c", text_cleaners=["english_cleaners2"], add_blank=False))
    assert (found.via, found.interleave) == ("espeak", False)
    found = read_foreign(made.original(little, tmp_path / "d", text_cleaners=["klingon_cleaners"]))
    assert any("klingon_cleaners" in note for note in found.notes)
    assert len(original_format.ENGLISH) == 178 and len(set(original_format.ENGLISH)) == 177


def test_of_a_symbol_that_stands_twice_the_later_counts(little: transformers.VitsModel, tmp_path: Path) -> None:
    folder = made.original(little, tmp_path / "a")
    (folder / "vocab.txt").write_text("_\na\nb\na\n", encoding="utf-8")
    assert read_foreign(folder).symbols[:5] == ("_", "<unused-1>", "b", "a", "<unused-4>")


def test_the_newest_generator_and_its_own_discriminator(little: transformers.VitsModel, tmp_path: Path) -> None:
    folder = made.original(little, tmp_path / "a", judge=True)
    (folder / "G_100.pth").rename(folder / "G_2000.pth")
    torch.save({"model": {}}, folder / "G_900.pth")
    found = read_foreign(folder)
    assert any("G_2000.pth goes with D_100.pth" in note for note in found.notes)
    torch.save({"model": made.judge_state(seed=9)}, folder / "D_2000.pth")
    again = read_foreign(folder / "G_2000.pth")
    assert not again.notes
    name = f"{DISCRIMINATOR}discriminators.0.convs.0.weight"
    assert not torch.equal(found.weights[name], again.weights[name])


def test_a_tensor_nobody_takes_is_named(little: transformers.VitsModel, tmp_path: Path) -> None:
    folder = made.original(little, tmp_path / "a")
    held = torch.load(folder / "G_100.pth", weights_only=True)
    held["model"]["stray.weight"] = torch.zeros(1)
    torch.save(held, folder / "G_100.pth")
    assert "not used from the base: stray.weight" in read_foreign(folder).notes
    base = read_base(folder)
    learner = VitsLearner(VitsConfig(**base.settings), vocab_size=12, num_speakers=1)
    assert any("stray.weight" in said for said in base.load(learner))


def test_piper_and_coqui_keep_names_and_explain(tmp_path: Path) -> None:
    several = made.made(**made.KINDS["stochastic-speakers"])
    found = read_foreign(made.piper(several, tmp_path / "p"))
    assert found.speakers == ("person 0", "person 1", "person 2")
    assert found.symbols[:5] == ("_", "<start>", "<end>", "a", "b") and found.via == "espeak"
    folder = made.coqui(several, tmp_path / "c")
    (folder / "speakers.json").write_text('{"x": 2, "y": 0, "z": 1}')
    found = read_foreign(folder)
    assert found.speakers == ("y", "z", "x")
    assert found.symbols[:4] == ("<BLNK>", "_", "!", "?")
    assert any("blank had id 11" in note for note in found.notes)
    assert not any("phonemizer" in note for note in found.notes)
    _edit(folder / "config.json", {"use_phonemes": True, "phonemizer": "gruut"})
    assert any("phonemizer 'gruut' does not run here" in note for note in read_foreign(folder).notes)


def test_pipers_noise_is_kept(tmp_path: Path, little: transformers.VitsModel) -> None:
    folder = made.piper(little, tmp_path / "p")
    assert read_foreign(folder).config.noise_scale == 0.667
    _edit(folder / "config.json", {"inference": {"noise_scale": 0.333, "noise_w": 0.5, "length_scale": 1.25}})
    found = read_foreign(folder).config
    assert (found.noise_scale, found.noise_scale_duration, found.speaking_rate) == (0.333, 0.5, 0.8)
    finish(export(folder, to="hf", output=tmp_path / "hf"))
    assert json.loads((tmp_path / "hf" / "config.json").read_text())["noise_scale"] == 0.333
    finish(export(folder, to="hf-train", output=tmp_path / "train", noise=0.2))
    assert json.loads((tmp_path / "train" / "config.json").read_text())["noise_scale"] == 0.2
    told = finish(export(folder, to="mms", output=tmp_path / "mms")).notes
    assert "the noise it speaks with: give infer noise_scale=0.333 each time" in told
    for held in ("loud", [0.3], {"noise_scale": -1}):
        _edit(folder / "config.json", {"inference": held if isinstance(held, dict) else {"noise_scale": held}})
        with pytest.raises(OluError, match="noise_scale"):
            read_foreign(folder)
    for scale in ("slow", 0, [1.0]):
        _edit(folder / "config.json", {"inference": {"length_scale": scale}})
        with pytest.raises(OluError, match=r"inference\.length_scale is .*, and should be a number above 0"):
            read_foreign(folder)


def test_lighter_blocks_of_piper_load(tmp_path: Path, little: transformers.VitsModel) -> None:
    """Its low and medium voices have half the convolutions, which transformers cannot hold."""
    folder = made.piper(little, tmp_path / "p", resblock="2", resblock_dilation_sizes=((1, 2), (2, 6)))
    held = torch.load(folder / "epoch=1.ckpt", weights_only=False)
    light = {n.replace("convs1", "convs"): t for n, t in held["state_dict"].items() if "convs2" not in n}
    held["state_dict"] = {n: t for n, t in light.items() if not n.startswith("model_g.dec.res") or ".convs.2." not in n}
    torch.save(held, folder / "epoch=1.ckpt")
    found = read_foreign(folder)
    assert found.config.resblock == "2"
    assert torch.isfinite(ours(loaded(found), IDS[0])).all()
    with pytest.raises(OluError, match="transformers has no blocks"):
        finish(export(folder, to="hf", output=tmp_path / "hf"))


def test_a_training_state_of_finetune_hf_vits(little: transformers.VitsModel, tmp_path: Path) -> None:
    """checkpoint-N has the discriminator in a second file, weight norm everywhere, and its settings one folder up."""
    home = made.saved(little, tmp_path / "out")
    config = json.loads((home / "config.json").read_text())
    channels = {"discriminator_period_channels": [1, 4, 8], "discriminator_scale_channels": [1, 16, 64]}
    (home / "config.json").write_text(json.dumps({**config, **channels}))
    state = home / "checkpoint-50"
    state.mkdir()
    weights: dict[str, Tensor] = {}
    for name, value in fold(little.state_dict()).items():
        on = name.startswith(("decoder.ups", "decoder.res", "flow.")) and name.endswith(".weight")
        weights |= made.normed(name, value) if on else {name: value}
    judge = {name.replace("conv_post", "final_conv"): t for name, t in made.judge_state().items()}
    save_file({name: t.contiguous() for name, t in weights.items()}, state / "model.safetensors")
    save_file({name: t.contiguous() for name, t in judge.items()}, state / "model_1.safetensors")
    found = read_foreign(state)
    same_sound(found, little)
    assert {n.removeprefix(DISCRIMINATOR) for n in found.weights if n.startswith(DISCRIMINATOR)} == set(fold(judge))
    assert read_base(state).has_discriminator
    same_sound(read_foreign(home / "model.safetensors"), little)


def test_a_feature_extractor_must_agree_with_its_model(little: transformers.VitsModel, tmp_path: Path) -> None:
    folder = made.saved(little, tmp_path / "a")
    path = folder / "preprocessor_config.json"
    path.write_text(json.dumps({"sampling_rate": 16000, "feature_size": 64, "hop_length": 256, "n_fft": 1024}))
    assert read_foreign(folder).config.mel_bins == 64
    path.write_text(json.dumps({"sampling_rate": 22050}))
    with pytest.raises(OluError, match=r"sampling_rate is 22050, config\.json makes it 16000: they must agree"):
        read_foreign(folder)


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_checkpoint_that_needs_code_is_refused(maker: str, little: transformers.VitsModel, tmp_path: Path) -> None:
    folder, ran = MAKERS[maker](little, tmp_path / "base"), tmp_path / "ran"
    (file,) = [path for path in folder.iterdir() if path.suffix in (".pth", ".ckpt")]
    torch.save({"model": {}, "state_dict": {}, "extra": Bomb(ran)}, file)
    with pytest.raises(OluError, match="more than plain tensors") as raised:
        read_foreign(folder)
    assert "\n" not in str(raised.value) and not ran.exists()
    pickle.loads(pickle.dumps(Bomb(ran)))
    assert ran.exists(), "the bomb is a real one"


def _edit(path: Path, change: dict[str, Any], inside: str = "") -> None:
    table = json.loads(path.read_text())
    (table[inside] if inside else table).update(change)
    path.write_text(json.dumps(table))


REFUSED = {
    "no-vocab": ("original", lambda f: (f / "vocab.txt").unlink(), "has no vocab.txt"),
    "long-vocab": ("original", lambda f: (f / "vocab.txt").write_text("a\n" * 40), "40 symbols, the weights only 12"),
    "no-generator": ("original", lambda f: (f / "G_100.pth").unlink(), r"has no G_\*\.pth"),
    "spectral": ("original", lambda f: _edit(f / "config.json", {"use_spectral_norm": True}, "model"), "use_spectral"),
    "hop": ("original", lambda f: _edit(f / "config.json", {"hop_length": 200}, "data"), "hop_length is 200"),
    "cut": ("original", lambda f: (f / "G_100.pth").write_bytes(b"PK\x03\x04"), "plain tensors, or is damaged"),
    "not-vits": ("coqui", lambda f: _edit(f / "config.json", {"model": "xtts"}), "'xtts' is no VITS"),
    "d-vectors": ("coqui", lambda f: _edit(f / "config.json", {"use_d_vector_file": True}, "model_args"), "d_vector"),
    "languages": ("coqui", lambda f: _edit(f / "config.json", {"use_language_embedding": True}), "use_language"),
    "no-characters": ("coqui", lambda f: _edit(f / "config.json", {"characters": None}), "has no characters"),
    "other-kernel": ("coqui", lambda f: _edit(f / "config.json", {"kernel_size_flow": 3}), "kernel_size_flow is 3"),
    "no-ids": ("piper", lambda f: _edit(f / "config.json", {"phoneme_id_map": [1]}), "no phoneme_id_map"),
    "no-blank": ("piper", lambda f: _edit(f / "config.json", {"phoneme_id_map": {"a": [0]}}), "the blank, the id 0"),
    "two": ("piper", lambda f: (f / "b.ckpt").write_bytes(b""), "has 2 .ckpt files"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_loaded_is_one_clear_sentence(case: str, little: transformers.VitsModel, tmp_path: Path) -> None:
    maker, damage, said = REFUSED[case]
    folder = MAKERS[maker](little, tmp_path / "base")
    damage(folder)
    with pytest.raises(OluError, match=said) as raised:
        read_foreign(folder)
    assert "\n" not in str(raised.value)


def test_a_path_that_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(OluError, match="is not there: give a folder, a file of weights, or an id on the hub"):
        read_foreign(tmp_path / "nowhere")
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(OluError, match="is no file of weights"):
        read_foreign(tmp_path / "x.txt")


# ---------------------------------------------------------------- a fresh discriminator


def test_a_missing_discriminator_is_warmed_up_and_said(little: transformers.VitsModel, tmp_path: Path) -> None:
    base = read_base(made.original(little, tmp_path / "a"))
    assert not base.has_discriminator and base.lacks == ("discriminator",)
    assert base.settings["discriminator_warmup"] == 500
    settings = {**base.settings, "discriminator_warmup": 4}
    learner = VitsLearner(VitsConfig(**settings), vocab_size=12, num_speakers=1)
    said = " ".join(base.load(learner))
    assert "a fresh one starts" in said and "over the first 4 steps" in said
    assert [_heed(learner, step) for step in (0, 1, 3, 9)] == [0.25, 0.5, 1.0, 1.0]


def _heed(learner: VitsLearner, step: int) -> float:
    """The share of its weight that the generator's adversarial loss has at a step."""
    from .test_conformance import tones

    torch.manual_seed(0)
    *_, last = learner.step(learner.collate(tones(2)), Clock(step=step, steps=10))
    assert last.losses["features"].weight == last.losses["adversarial"].weight
    return last.losses["adversarial"].weight


# ---------------------------------------------------------------- out


def test_round_trip_through_transformers(model: transformers.VitsModel, tmp_path: Path) -> None:
    """Original in, transformers out: its own class loads it and makes the same sound."""
    source = made.original(model, tmp_path / "gri", judge=True)
    summary = finish(export(source, to="hf", output=tmp_path / "hf"))
    assert any("discriminator stays behind" in note for note in summary.notes)
    again, info = transformers.VitsModel.from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    for name, value in fold(model.state_dict()).items():
        torch.testing.assert_close(fold(again.state_dict())[name], value, atol=1e-6, rtol=1e-5)
    expected = made.theirs(model, IDS[0], 1 if model.config.num_speakers > 1 else None)
    found = made.theirs(again.eval(), IDS[0], 1 if model.config.num_speakers > 1 else None)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    back = read_foreign(tmp_path / "hf")
    assert back.symbols == tuple(made.VOCAB) and not any(name.startswith(DISCRIMINATOR) for name in back.weights)
    assert back.config == read_foreign(source).config


def test_the_tokenizer_of_transformers_reads_alike(little: transformers.VitsModel, tmp_path: Path) -> None:
    finish(export(made.original(little, tmp_path / "gri"), to="hf", output=tmp_path / "hf"))
    tokenizer = transformers.VitsTokenizer.from_pretrained(tmp_path / "hf")
    assert tokenizer("BA kâ'")["input_ids"] == [0, 3, 0, 1, 0, 2, 0, 0, 0, 4, 0]
    assert tokenizer.pad_token == "k"
    facts = json.loads((tmp_path / "hf" / "tokenizer_config.json").read_text())
    assert (facts["add_blank"], facts["is_uroman"], facts["phonemize"]) == (True, False, False)


def test_round_trip_through_the_original(model: transformers.VitsModel, tmp_path: Path) -> None:
    source = made.original(model, tmp_path / "gri", judge=True, training_files="a.uroman")
    finish(export(source, to="hf-training", output=tmp_path / "train"))
    finish(export(tmp_path / "train", to="vits", output=tmp_path / "vits"))
    there = {p.name for p in (tmp_path / "vits").iterdir()}
    assert there == {"G_0.pth", "D_0.pth", "config.json", "vocab.txt", "README.md"}
    first, last = read_foreign(source), read_foreign(tmp_path / "vits")
    assert (last.symbols, last.via, last.interleave) == (first.symbols, "uroman", True)
    assert last.config == first.config and last.num_speakers == first.num_speakers
    assert last.weights.keys() == first.weights.keys()
    for name, value in first.weights.items():
        torch.testing.assert_close(last.weights[name], value, atol=1e-6, rtol=1e-5)
    same_sound(last, model)
    for file, made_names in (("G", made.old_names(model.state_dict())), ("D", made.judge_state())):
        held = torch.load(tmp_path / "vits" / f"{file}_0.pth", weights_only=True)
        assert held["model"].keys() == made_names.keys()
        parameters = [torch.nn.Parameter(t.clone()) for t in held["model"].values()]
        torch.optim.AdamW(parameters).load_state_dict(held["optimizer"])  # as its training code does, first of all


def test_what_finetune_hf_vits_goes_on_from(little: transformers.VitsModel, tmp_path: Path) -> None:
    finish(export(made.original(little, tmp_path / "gri", judge=True), to="hf-training", output=tmp_path / "t"))
    config = json.loads((tmp_path / "t" / "config.json").read_text())
    assert config["discriminator_scale_channels"] == [1, 16, 64] and config["hop_length"] == 256
    assert config["discriminator_periods"] == [2, 3, 5, 7, 11] and config["segment_size"] == 8192
    names = load_file(tmp_path / "t" / "model.safetensors").keys()
    assert "discriminator.discriminators.5.final_conv.bias" in names
    assert "decoder.upsampler.0.weight" in names and "flow.flows.0.wavenet.in_layers.0.weight_g" in names
    extractor = json.loads((tmp_path / "t" / "preprocessor_config.json").read_text())
    assert (extractor["sampling_rate"], extractor["n_fft"], extractor["feature_size"]) == (16000, 1024, 80)
    assert read_base(tmp_path / "t").has_discriminator
    transformers.VitsModel.from_pretrained(tmp_path / "t")  # the discriminator is passed over


def test_parts_that_hold_nothing_are_not_written(little: transformers.VitsModel, tmp_path: Path) -> None:
    source = made.saved(little, tmp_path / "base")
    weights = {n: t for n, t in load_file(source / "model.safetensors").items() if not n.startswith("posterior")}
    save_file(weights, source / "model.safetensors")
    summary = finish(export(source, to="hf-training", output=tmp_path / "t"))
    assert any("no discriminator" in note for note in summary.notes)
    names = load_file(tmp_path / "t" / "model.safetensors").keys()
    assert not [name for name in names if name.startswith(("posterior_encoder", DISCRIMINATOR))]
    summary = finish(export(source, to="vits", output=tmp_path / "v"))
    assert not (tmp_path / "v" / "D_0.pth").exists() and any("no D_" in note for note in summary.notes)


def test_speakers_keep_their_names(tmp_path: Path) -> None:
    source = made.piper(made.made(**made.KINDS["plain-speakers"]), tmp_path / "p")
    for to in ("hf", "vits"):
        assert finish(export(source, to=to, output=tmp_path / to)).speakers == ["person 0", "person 1"]
        assert read_foreign(tmp_path / to).speakers == ("person 0", "person 1")


def test_nothing_is_written_over_and_wrong_sizes_are_refused(little: transformers.VitsModel, tmp_path: Path) -> None:
    source = made.original(little, tmp_path / "gri")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(OluError, match="is there already"):
        finish(export(source, to="hf", output=tmp_path / "full"))
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["mine.txt"]
    with pytest.raises(OluError, match="there is: voice, hf, hf-train, mms, onnx, piper, sherpa"):
        finish(export(source, to="onnxx", output=tmp_path / "x"))
    fewer = made.saved(made.made(**{**made.SMALL, "prior_encoder_num_flows": 2}), tmp_path / "few")
    with pytest.raises(OluError, match=r"prior_encoder_num_flows = 2 \(4 there\)"):
        finish(export(fewer, to="vits", output=tmp_path / "y"))
    assert not (tmp_path / "y").exists()


@pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="a large voice: make soak")
def test_a_real_voice_of_mms_size_goes_through_the_original(tmp_path: Path) -> None:
    real = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared")) / "base" / "amh-mms-20min"
    if not (real / "model.safetensors").is_file():
        pytest.skip("the half-trained Amharic voice is not here: set OLU_SHARED to the folder that holds base/")
    finish(export(real, to="vits", output=tmp_path / "amh"))
    found = read_foreign(tmp_path / "amh")
    model = transformers.VitsModel.from_pretrained(real, dtype=torch.float32).eval()
    rows = json.loads((real / "examples.json").read_text(encoding="utf-8"))
    ids = torch.tensor([min((row["ids"] for row in rows), key=len)])
    fresh = Generator(found.config, vocab_size=len(found.symbols), num_speakers=1).state_dict()  # no posterior encoder
    whole = {name: t for name, t in fold(fresh).items() if name.startswith("posterior_encoder.")} | found.weights
    expected = made.theirs(model, ids)
    assert expected.abs().max() > 0.05
    torch.testing.assert_close(ours(loaded(replace(found, weights=whole)), ids), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("wanted", "row"), [("person 1", 1), ("somebody", None)])
def test_one_speaker_goes_on_from_a_base_of_many(wanted: str, row: int | None, tmp_path: Path) -> None:
    several = made.made(**made.KINDS["stochastic-speakers"])
    folder = made.piper(several, tmp_path / "p")
    base = read_base(folder)
    config = VitsConfig(**{**base.settings, **base.alone})
    learner = VitsLearner(config, vocab_size=len(base.symbols), num_speakers=1)
    said = base.load(learner, None, [wanted])
    assert any("the base has 3 speakers and the corpus one" in sentence for sentence in said)
    assert not any("cond" in sentence or "embed_speaker" in sentence for sentence in said)
    if row is not None:
        alone = plain(learner.gen)
        with torch.no_grad():
            z, _ = alone.latents(
                IDS[0],
                torch.tensor([IDS[0].shape[1]]),
                g=None,
                noise_BCF=torch.zeros(1, config.flow_size, 1),
                duration_noise_B2T=torch.zeros(1, 2, IDS[0].shape[1]),
                noise_scale=0.0,
                noise_scale_duration=0.0,
                length_scale=1.0,
            )
            found = alone.decoder(z, None)[0]
        torch.testing.assert_close(found, ours(loaded(read_foreign(folder)), IDS[0], row), atol=1e-4, rtol=0)


def test_a_plain_predictor_folds_its_speaker_too(tmp_path: Path) -> None:
    base = read_base(made.piper(made.made(**made.KINDS["plain-speakers"]), tmp_path / "p"))
    learner = VitsLearner(VitsConfig(**{**base.settings, **base.alone}), vocab_size=len(base.symbols), num_speakers=1)
    said = base.load(learner, None, ["person 1"])
    assert any("'person 1' goes on with that voice" in sentence for sentence in said)

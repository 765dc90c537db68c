"""Reading XTTS v2 as it was released and as the public trainer leaves it."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.helpers.coqui_parity import written_folder
from tests.helpers.xtts_release import (
    SMALLEST,
    networks,
    old_spelling,
    public_classes,
    write_finetuned,
    write_json,
    write_release,
)

from olu.core.errors import ExportError, TrainError
from olu.families.xtts.codes import Dvae
from olu.families.xtts.config import XttsConfig
from olu.families.xtts.foreign.read import Release, is_release, read_release
from olu.families.xtts.foreign.to_coqui import write_folder
from olu.families.xtts.learn import XttsLearner
from olu.families.xtts.model import Xtts
from olu.text.pieces import PieceVocabulary


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("xtts") / "release")


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    """The release again, its weights by links: to be spoilt."""
    folder = tmp_path / "copy"
    folder.mkdir()
    for file in release.iterdir():
        os.link(file, folder / file.name)
    return folder


def change(path: Path, **values: Any) -> None:
    held = json.loads(path.read_text())
    path.unlink()  # a link
    held["model_args"] |= values
    write_json(path, {**held, "model_args": {key: value for key, value in held["model_args"].items() if value != "no"}})


def sounds_alike(one: Release, other: Release) -> bool:
    models = []
    for held in (one, other):
        model, dvae = Xtts(held.config, vocab_size=held.vocab_size).eval(), Dvae(held.config).eval()
        held.load(model, dvae)
        models.append((model, dvae))
    frames, vector = torch.randn(1, 64, 6), torch.randn(1, 64)
    mel = torch.randn(1, 80, 40)
    with torch.no_grad():
        waves = [model.hifigan_decoder.waveform_decoder(frames, vector) for model, _ in models]
        prompts = [model.gpt.condition(mel) for model, _ in models]
        codes = [dvae.codes_of_mel(mel) for _, dvae in models]
    return all(torch.equal(*pair) for pair in (waves, prompts, codes))


def test_a_released_folder_is_read_whole(release: Path) -> None:
    held = read_release(release)
    assert is_release(release) and is_release(release / "model.pth")
    assert held.config == SMALLEST.model_copy(update={"dropout": 0.1})
    assert set(held.tags) == {"en", "es", "sw"} and held.vocab_size == 300
    assert held.languages == ("en", "es", "sw")
    assert [tuple(one.shape) for one in held.speakers["Ana Example"]] == [(8, 64), (64,)]
    assert held.notes == ()
    model, dvae = networks(SMALLEST)
    again, dvae_again = Xtts(held.config, vocab_size=300), Dvae(held.config)
    held.load(again, dvae_again)
    for name, value in again.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name
    assert torch.equal(dvae_again.codebook.embed, dvae.codebook.embed)


@pytest.mark.parametrize("old", [True, False], ids=["old spelling", "new spelling"])
def test_a_checkpoint_of_the_public_trainer_is_read(release: Path, tmp_path: Path, old: bool) -> None:
    folder = write_finetuned(tmp_path / "run", release, old=old)
    held = read_release(folder)  # without config.json: the one inside counts
    assert sounds_alike(held, read_release(release))
    said = " ".join(held.notes)
    assert "the DVAE is the one inside the checkpoint" in said
    for left in ("gpt.gpt_inference", "gpt.gpt.wte", "masked_bias", "torch_mel_spectrogram"):
        assert left in said
    assert read_release(folder / "best_model.pth").vocab_size == 300


def test_the_config_inside_a_pickle_is_read_without_its_class(release: Path, copy: Path) -> None:
    (copy / "config.json").unlink()
    held = read_release(copy)
    assert held.settings["model_args"]["gpt_n_heads"] == 4
    assert held.config.layers == 2


def test_half_precision_and_old_archives_are_read(release: Path, copy: Path) -> None:
    state = networks(SMALLEST)[0].state_dict()
    (copy / "model.pth").unlink()
    halved = {name: value.half() if value.is_floating_point() else value for name, value in old_spelling(state).items()}
    torch.save({"model": halved}, copy / "model.pth", _use_new_zipfile_serialization=False)
    (copy / "mel_stats.pth").unlink()
    held = read_release(copy)
    model = Xtts(held.config, vocab_size=held.vocab_size)
    held.load(model)
    assert model.gpt.text_head.weight.dtype == torch.float32


class Evil:
    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.trace),))


class Hidden(Evil):
    """What looks something up by its name."""

    def __reduce__(self) -> Any:
        return (eval, (f"__import__('os').mkdir({str(self.trace)!r})",))


@pytest.mark.parametrize("file", ["model.pth", "dvae.pth", "mel_stats.pth", "speakers_xtts.pth"])
@pytest.mark.parametrize("kind", [Evil, Hidden])
def test_an_evil_pickle_is_refused_and_runs_nothing(copy: Path, file: str, kind: type[Evil]) -> None:
    trace = copy / "ran"
    evil = kind(trace)
    (copy / file).unlink()
    torch.save({"model": {"a": torch.zeros(1)}, "config": evil}, copy / file)
    with pytest.raises(TrainError, match="holds more than plain tensors"):
        read_release(copy)
    (copy / file).write_bytes(pickle.dumps(evil))
    with pytest.raises(TrainError, match="holds more than plain tensors"):
        read_release(copy)
    assert not trace.exists()


def test_a_config_class_with_a_call_in_it_is_refused(copy: Path) -> None:
    with public_classes() as public:
        held = public()
        held.__dict__["languages"] = Evil(copy / "ran")
        (copy / "model.pth").unlink()
        torch.save({"model": {}, "config": held}, copy / "model.pth")
    with pytest.raises(TrainError, match="holds more than plain tensors"):
        read_release(copy)
    assert not (copy / "ran").exists()


def test_settings_that_hold_themselves_come_to_an_end(copy: Path) -> None:
    state = networks(SMALLEST)[0].state_dict()
    (copy / "config.json").unlink()
    endless: dict[str, Any] = {"model": "xtts"}
    endless["model_args"] = endless
    laughs: Any = ["ha"]
    for _ in range(30):
        laughs = [laughs, laughs]
    for held in (endless, {"model_args": laughs}):
        (copy / "model.pth").unlink()
        torch.save({"model": state, "config": held}, copy / "model.pth")
        with pytest.raises(TrainError, match="too many or hold themselves"):
            read_release(copy)


def spoilt(copy: Path, change_state: Any) -> None:
    state = networks(SMALLEST)[0].state_dict()
    change_state(state)
    (copy / "model.pth").unlink()
    torch.save({"model": state}, copy / "model.pth")


def test_v1_is_refused_with_a_sentence(copy: Path) -> None:
    spoilt(copy, lambda state: state.update({"gpt.mel_embedding.weight": torch.zeros(8194, 64)}))
    with pytest.raises(TrainError, match="XTTS v1, which Olu does not know: take XTTS v2"):
        read_release(copy)

    def without(state: dict[str, Any]) -> None:
        for name in [name for name in state if "perceiver" in name]:
            del state[name]

    spoilt(copy, without)
    with pytest.raises(TrainError, match="XTTS v1"):
        read_release(copy)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda state: state.pop("gpt.gpt.h.1.ln_2.bias"), r"lacks gpt\.gpt\.h\.1\.ln_2\.bias"),
        (lambda state: state.update({"gpt.mystery": torch.zeros(1)}), "holds gpt.mystery, which XTTS v2 does not have"),
        (
            lambda state: state.update({"gpt.text_embedding.weight": torch.zeros(280, 64)}),
            "has rows for 280 tokens and vocab.json has ids up to 299",
        ),
        (lambda state: state.update({"gpt.mel_head.weight": torch.zeros(4, 64)}), "mel_head.weight has shape"),
        (lambda state: state.pop("gpt.mel_embedding.weight"), "has no gpt.mel_embedding.weight"),
    ],
)
def test_weights_that_are_not_whole_are_refused(copy: Path, spoil: Any, sentence: str) -> None:
    spoilt(copy, spoil)
    with pytest.raises(TrainError, match=sentence):
        read_release(copy)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"gpt_n_heads": "no"}, r"does not say model_args\.gpt_n_heads"),
        ({"gpt_num_audio_tokens": "no"}, "does not say model_args.gpt_num_audio_tokens"),
        ({"gpt_layers": 30}, "gpt_layers is 30, and the weights have 2"),
        ({"output_sample_rate": 44100}, "output_sample_rate is 44100, only 24000"),
        ({"gpt_n_heads": 7}, "width must be a multiple of heads"),
        ({"gpt_n_heads": "sixteen"}, "does not say"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(copy: Path, values: dict[str, Any], sentence: str) -> None:
    change(copy / "config.json", **values)
    with pytest.raises(ValueError, match=sentence):
        read_release(copy)


def test_another_dvae_and_other_statistics_are_refused(copy: Path) -> None:
    dvae = Dvae(SMALLEST.model_copy(update={"codes": 32})).state_dict()
    (copy / "dvae.pth").unlink()
    torch.save(dvae, copy / "dvae.pth")
    with pytest.raises(TrainError, match="makes 32 codes and the model knows 64: another DVAE"):
        read_release(copy)
    dvae = Dvae(SMALLEST).state_dict()
    torch.save({name: value for name, value in dvae.items() if name != "encoder.3.bias"}, copy / "dvae.pth")
    with pytest.raises(TrainError, match=r"differs from the DVAE of XTTS v2 in encoder\.3\.bias"):
        read_release(copy)
    (copy / "dvae.pth").unlink()
    assert "there is no dvae.pth" in read_release(copy).notes[0]
    (copy / "mel_stats.pth").unlink()
    torch.save(torch.full((80,), 7.0), copy / "mel_stats.pth")
    with pytest.raises(TrainError, match="differs from the statistics inside the model"):
        read_release(copy)


@pytest.mark.parametrize(
    "held", ["{", "[]", '{"model": {"vocab": {}}}', '{"model": {"vocab": {"a": -1}}}', '{"model": {"vocab": {"a": 0}}}']
)
def test_a_vocabulary_that_is_none_is_refused(copy: Path, held: str) -> None:
    (copy / "vocab.json").unlink()
    with pytest.raises(TrainError, match=r"vocab\.json is not there"):
        read_release(copy)
    (copy / "vocab.json").write_text(held)
    with pytest.raises(TrainError, match=r"vocab\.json"):
        read_release(copy)


def test_what_is_written_for_coqui_is_read_as_a_release(tmp_path: Path) -> None:
    learner = written_folder(tmp_path)
    held = read_release(tmp_path)
    assert held.notes == () and held.tags == ("am",) and list(held.speakers) == ["tester"]
    model, dvae = Xtts(held.config, vocab_size=held.vocab_size), Dvae(held.config)
    held.load(model, dvae)
    assert torch.equal(model.gpt.text_head.weight, learner.gpt.text_head.weight)
    for name, value in model.hifigan_decoder.state_dict().items():
        assert torch.equal(value, learner.hifigan_decoder.state_dict()[name]), name
    assert torch.equal(dvae.codebook.embed, learner.dvae.codebook.embed)
    prompt, vector = held.speakers["tester"]
    assert float(vector.norm()) == pytest.approx(1.0, abs=1e-5) and float(prompt.std()) > 0.1


def test_a_network_of_another_size_is_not_written_for_coqui(tmp_path: Path) -> None:
    learner = XttsLearner(XttsConfig(size="tiny"), vocab_size=6, num_speakers=1)
    with pytest.raises(ExportError, match=r"model\.speakers is 'table', and it needs 'encoder'"):
        write_folder(learner, tmp_path, vocabulary=PieceVocabulary.learn(["ab"]), speakers=["x"])
    assert not list(tmp_path.iterdir())


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=r"has no model\.pth"):
        read_release(tmp_path)
    assert not is_release(tmp_path)


def test_a_strange_table_of_speakers_is_refused(copy: Path) -> None:
    (copy / "speakers_xtts.pth").unlink()
    torch.save(
        {"x": {"gpt_cond_latent": torch.zeros(3), "speaker_embedding": torch.zeros(64)}}, copy / "speakers_xtts.pth"
    )
    with pytest.raises(TrainError, match="the speaker 'x' does not fit this model"):
        read_release(copy)

"""The family whole: rates, duration predictors, speakers, noise on the alignment, sentences of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from olu.core.errors import TrainError, VoiceError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.families import family
from olu.families.vits.learn import VitsLearner, guided, shaken
from olu.nn.kernels.mas import best_path
from olu.speak.voice import Voice
from olu.stages.export import export
from olu.train.family import Clock
from olu.train.run import Run

from ..helpers import workspaces
from .test_conformance import engine_for, made, tones

PEOPLE = ["obi", "ana", "uche"]


@pytest.mark.parametrize("stochastic", [True, False])
@pytest.mark.parametrize("rate", [16000, 22050, 24000])
def test_every_rate_trains_speaks_and_exports(rate: int, stochastic: bool, tmp_path: Path) -> None:
    fam = family("vits")
    config = fam.config(size="tiny", sampling_rate=rate, use_stochastic_duration_prediction=stochastic)
    learner = made(fam, config)
    engine = engine_for(fam, learner, tmp_path / "run", tones(2, rate=rate), steps=2, validate_every=2)
    reports = list(engine.train())
    assert [event for report in reports for event in report.events] == []
    for exhibit in reports[-1].exhibits:
        assert exhibit.audio.rate == rate and np.isfinite(exhibit.audio.samples).all()
    (tmp_path / "graphs").mkdir()
    facts = fam.speaks.export(learner, folder=tmp_path / "graphs")
    decoder = onnxruntime.InferenceSession(tmp_path / "graphs" / "decoder.onnx", providers=["CPUExecutionProvider"])
    latents = np.zeros((1, facts["channels"], 9), np.float32)
    assert facts["rate"] == rate and decoder.run(None, {"latents": latents})[0].shape == (1, 9 * facts["hop"])
    assert learner.mel_bank.shape[0] == config.mel_bins and config.mel_top_hz == rate / 2


# ---------------------------------------------------------------- speakers


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Three people, with two clips for training and one for validation each; a fourth is only in validation."""
    rows = [
        (f"{who}{n}", f"{word} ihe {who}", who, "valid" if n == 2 else "train")
        for who in PEOPLE
        for n, word in enumerate(("na", "bi", "oma"))
    ]
    return workspaces.workspace(tmp_path_factory.mktemp("crowd"), [*rows, ("eze0", "onye ozo bia", "eze", "valid")])


def test_the_names_of_speakers_are_kept_in_order_and_in_the_voice(crowd: Workspace, tmp_path: Path) -> None:
    workspaces.trained(crowd)
    assert Run(crowd.runs_folder / "vits-001").document("speakers.json") == sorted(PEOPLE)
    summary = finish(export(crowd.root, output=tmp_path / "x.voice"))
    voice = Voice.open(tmp_path / "x.voice", threads=1)
    assert summary.speakers == voice.speakers == sorted(PEOPLE)
    heard = {who: voice.speak("na bi", speaker=who, seed=1).samples for who in PEOPLE}
    assert len({samples.tobytes() for samples in heard.values()}) == 3
    with pytest.raises(VoiceError, match="no speaker 'eze' in the voice"):
        voice.speak("na bi", speaker="eze")


def test_validation_clips_of_strangers_are_left_out_and_named(crowd: Workspace) -> None:
    """Never taken for the first speaker."""
    setup = workspaces.made(crowd)
    assert "eze0" not in setup.valid and {f"{who}2" for who in PEOPLE} == set(setup.valid)
    assert any("has no training clip: eze x1" in note for note in setup.notes)
    assert {clip: setup.speakers[at] for clip, at in setup.speaker_of.items()} == {
        clip: clip[:-1] for clip in setup.speaker_of
    }


def test_only_the_speakers_asked_for_train_and_are_tried(crowd: Workspace) -> None:
    setup = workspaces.made(crowd, data={"speakers": ["ana"]})
    assert setup.speakers == ["ana"]
    assert set(setup.train) == {"ana0", "ana1"} and setup.valid == ["ana2"]
    assert setup.documents["left_out.json"]["obi0"] == "its speaker is obi, and data.speakers is ana"
    two = workspaces.made(crowd, data={"speakers": ["uche", "ana"]})
    assert two.speakers == ["ana", "uche"] and {clip[:-1] for clip in two.train + two.valid} == {"ana", "uche"}
    with pytest.raises(TrainError, match="no speaker 'anna' in the corpus; did you mean 'ana'"):
        workspaces.made(crowd, data={"speakers": ["anna"]})


def test_symbols_of_people_who_are_left_out_do_not_grow_a_base(tmp_path: Path) -> None:
    rows = [("a0", "na na", "ana", "train"), ("o0", "ịhe ọma", "obi", "train"), ("a1", "an na an", "ana", "valid")]
    ws = workspaces.workspace(tmp_path / "w", rows)
    letters = workspaces.base(tmp_path / "base", ["_", "a", "n", " "])
    assert workspaces.made(ws, base=str(letters), data={"speakers": ["ana"]}).vocabulary.size == 4
    assert workspaces.made(ws, base=str(letters)).vocabulary.size > 4


def test_the_order_of_speakers_does_not_hang_on_the_process(crowd: Workspace) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\nfrom olu.core.files import Workspace\nfrom tests.helpers import workspaces\n"
        "print(workspaces.made(Workspace.open(Path(sys.argv[2]))).speakers)"
    )
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONHASHSEED": "1"}  # with which a set of these names is in another order
    words = [sys.executable, "-c", code, root, str(crowd.root)]
    done = subprocess.run(words, capture_output=True, text=True, env=env, check=True)
    assert done.stdout == f"{sorted(PEOPLE)}\n"


# ---------------------------------------------------------------- noise on the alignment


def test_noise_on_the_alignment_is_off_unless_asked_for_and_decays(monkeypatch: pytest.MonkeyPatch) -> None:
    from olu.families.vits import learn

    fam = family("vits")
    scales: list[float] = []

    def noted(score: torch.Tensor, inside: torch.Tensor, *, scale: float) -> torch.Tensor:
        scales.append(scale)
        return shaken(score, inside, scale=scale)

    monkeypatch.setattr(learn, "shaken", noted)
    for settings in ({}, {"alignment_noise": 0.01}, {"alignment_noise": 0.1, "alignment_noise_decay": 1e-3}):
        learner = made(fam, fam.config(size="tiny", **settings))
        batch = learner.collate(tones(2))
        for step in (0, 50, 1000):
            next(learner.step(batch, Clock(step, 2000)))
        learner.validate(batch)  # never there
    assert scales == pytest.approx([0.01, 0.0099, 0.008, 0.1, 0.05])
    with pytest.raises(ValueError, match="alignment_noise_decay has no effect while alignment_noise is 0"):
        fam.config(size="tiny", alignment_noise_decay=1e-3)


def test_noise_on_the_alignment_is_measured_in_deviations_without_padding() -> None:
    torch.manual_seed(0)
    score = torch.randn(2, 400, 30) * torch.tensor([5.0, 50.0])[:, None, None]
    inside = torch.ones(2, 400, 30)
    inside[0, :, 20:] = 0
    padded = torch.where(inside.bool(), score, 1e6)
    apart = shaken(padded, inside, scale=0.1) - padded
    found = [float(apart[b][inside[b].bool()].std()) for b in range(2)]
    assert found == pytest.approx([0.5, 5.0], rel=0.1)


def test_noise_changes_the_alignment_that_is_learnt_from() -> None:
    fam = family("vits")
    durations = []
    for noise in (0.0, 1.0):
        learner = made(fam, fam.config(size="tiny", alignment_noise=noise))
        batch = learner.collate(tones(2))
        learner.gen.duration_predictor.loss = lambda h, m, g, found: durations.append(found) or found.sum()
        torch.manual_seed(3)
        list(learner.step(batch, Clock(0, 10)))
    assert not torch.equal(*durations)
    assert torch.equal(durations[0].sum(2), durations[1].sum(2))  # all frames are still given out


# ---------------------------------------------------------------- speaking during training


def test_samples_speak_freely_and_never_look_at_the_recording() -> None:
    """Another recording under the same text gives the same sample; another text gives another."""
    fam = family("vits")
    learner = made(fam, fam.config(size="tiny")).eval().requires_grad_(False)
    clips = tones(2)
    random = np.random.default_rng(0)
    other = [
        type(c)(id=c.id, ids=c.ids, samples=random.integers(-9000, 9000, len(c.samples)).astype(np.int16), speaker=0)
        for c in clips
    ]
    texts = [type(c)(id=c.id, ids=c.ids[::-1], samples=c.samples, speaker=0) for c in clips]
    spoken = []
    for batch in (clips, other, texts):
        torch.manual_seed(1)
        spoken.append([exhibit.audio.samples for exhibit in learner.demo(learner.collate(batch))])
    for one, same, different in zip(*spoken, strict=True):
        assert np.array_equal(one, same)
        assert len(one) != len(different) or not np.allclose(one, different)


def test_a_recipe_speaks_sentences_of_its_own_with_the_averaged_weights(crowd: Workspace, tmp_path: Path) -> None:
    texts = ["bi na", "oma", "ana bi"]
    setup = workspaces.made(crowd, plan={"sentences": texts, "demo_clips": 1, "steps": 4, "validate_every": 2})
    assert [one.speaker for one in setup.sentences] == [0, 1, 2]  # they take turns
    engine = setup.engine(Run(tmp_path))
    reports = list(engine.train())
    names = [[exhibit.name for exhibit in report.exhibits] for report in reports if report.scores]
    assert [len(shown) for shown in names] == [4, 4]
    assert all(shown[1:] == ["sentence-1", "sentence-2", "sentence-3"] for shown in names)
    last = reports[-1].exhibits[1]
    with engine.averaged() as learner:
        torch.manual_seed(5)
        averaged = learner.say(setup.sentences[0].ids, 0).samples
    torch.manual_seed(5)
    with torch.no_grad():
        current = engine.learner.say(setup.sentences[0].ids, 0).samples
    assert last.audio.rate == 16000 and np.isfinite(last.audio.samples).all()
    assert len(averaged) != len(current) or not np.array_equal(averaged, current)
    assert 0.1 < last.natural < 3  # at the pace of the recordings


def test_sentences_are_judged_like_other_samples(crowd: Workspace, tmp_path: Path) -> None:
    """A silent voice is said to be silent, also where only sentences are spoken."""
    setup = workspaces.made(crowd, plan={"sentences": ["bi na"], "demo_clips": 0, "steps": 2, "validate_every": 1})
    with torch.no_grad():
        setup.learner.gen.decoder.conv_post.weight.zero_()
    engine = setup.engine(Run(tmp_path))
    for live in engine.live.values():
        live.apply = lambda rate: None
    engine.live["gen"].average["decoder.conv_post.weight"].zero_()
    said = [event.message for report in engine.train() for event in report.events if event.guard == "samples"]
    assert said and "the samples are silent (sentence-1)" in said[0]


def test_the_guide_draws_the_alignment_to_the_diagonal_and_fades() -> None:
    torch.manual_seed(0)
    frames, tokens = torch.tensor([60, 40]), torch.tensor([12, 9])
    score = torch.randn(2, 60, 12)
    score[:, :, 0] += 5  # what a young network finds: one token over nearly all frames
    inside = torch.zeros(2, 60, 12)
    for row in range(2):
        inside[row, : frames[row], : tokens[row]] = 1

    def farthest(scale: float) -> float:
        path = best_path(guided(score, inside, frames, tokens, scale=scale), frames, tokens)
        worst = 0.0
        for row in range(2):
            for frame, token in path[row].nonzero().tolist():
                worst = max(worst, abs((frame + 0.5) / int(frames[row]) - (token + 0.5) / int(tokens[row])))
        return worst

    assert farthest(0.0) > 0.5 > 0.25 > farthest(1.0)
    learner = VitsLearner(family("vits").config(size="tiny", alignment_guide=10), vocab_size=5, num_speakers=1)
    assert [learner.knobs(step)["alignment_guide"] for step in (0, 5, 10, 20)] == [1.0, 0.5, 0.0, 0.0]

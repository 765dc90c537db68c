"""The acoustic family: what must hold of its path from tokens to frames, its losses, its batches and its graphs."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.job import Note, finish
from olu.families import family
from olu.families.acoustic.config import AcousticConfig
from olu.families.acoustic.corpus import HOP, RATE, figures_of
from olu.families.acoustic.export import TextGraph, tempo_of, threshold_of, with_speakers
from olu.families.acoustic.export import export as write_graphs
from olu.families.acoustic.learn import AcousticLearner, _without_short_gaps
from olu.families.acoustic.model import (
    contour_of,
    flow_target,
    knots_of,
    mask_of,
    scaled,
    shaken,
    spread_of,
    states_of,
    token_means,
)
from olu.families.acoustic.plain import PlainVocoder
from olu.speak.contour import line_through
from olu.speak.package import voice_json
from olu.speak.voice import Voice
from olu.stages import make as making
from olu.stages import plan as planning
from olu.stages.export import ExportSummary, export
from olu.stages.plan import plan
from olu.stages.train import TrainSummary, train
from olu.stages.train_setup import prepare_run, set_up
from olu.train.batches import BatchShape
from olu.train.checkpoint import Checkpoint
from olu.train.family import Clock, Example
from olu.train.guards import Doubts, ValidationView, Verdict
from olu.train.recipe import PlanSettings, read_recipe
from olu.train.run import Run
from olu.train.validation import validated

from ..helpers import aligned_workspaces

VOCABULARY = ["_", "a", "b", "k", "e", "s", " ", "."]


def learner(*, speakers: int = 1, **changes: Any) -> AcousticLearner:
    torch.manual_seed(1)
    return AcousticLearner(
        AcousticConfig(size="tiny", **changes), vocab_size=len(VOCABULARY), num_speakers=speakers
    ).eval()


def clips(count: int = 3, *, speakers: int = 1, voiced: bool = True) -> list[Example]:
    """Buzzes whose pitch rises from clip to clip."""
    made = []
    for number in range(count):
        frames = np.array([2, 3 + number, 1, 0, 4, 5, 3])
        samples = int(frames.sum()) * HOP + 9 * number
        time = np.arange(samples) / RATE
        wave = sum(np.cos(2 * np.pi * (120 + 20 * number) * k * time) for k in range(1, 20)) / 9
        pitch = np.stack([np.full(samples // HOP, 120.0 + 20 * number), np.full(samples // HOP, float(voiced))], 1)
        features = {
            "pitch": pitch.astype(np.float32),
            "frames": frames,
            "gaps": np.array([1, 0, 0, 1, 0, 0, 1]),
            "tones": np.array([0, 2, 0, 0, 3, 0, 0]),
            "stress": np.array([0, 1, 0, 0, 0, 0, 0]),
        }
        made.append(
            Example(
                f"clip-{number}", (0, 1, 3, 6, 4, 5, 7), (9000 * wave).astype(np.int16), number % speakers, features
            )
        )
    return made


# ---------------------------------------------------------------- from tokens to frames


Durations = st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any)


@given(durations=Durations, seed=st.integers(0, 999))
def test_the_contour_of_training_is_that_of_speaking(durations: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    knots, heard = random.normal(size=(len(durations), 3)), random.random(len(durations)) < 0.6
    frames = np.array(durations)
    valid = torch.from_numpy(heard)[None, :, None].expand(1, -1, 3)
    made = contour_of(torch.tensor(knots)[None].float(), valid, torch.tensor([durations]), int(frames.sum()))
    if (heard & (frames > 0)).any():
        np.testing.assert_allclose(made[0].numpy(), line_through(knots, frames, heard), atol=2e-5)
    else:
        assert not made.any()


@given(durations=st.lists(st.integers(3, 9), min_size=1, max_size=6), seed=st.integers(0, 999))
def test_knots_of_a_flat_third_are_its_pitch(durations: list[int], seed: int) -> None:
    """Knots -> a pitch that is flat in every third -> the same knots; what no voiced frame tells counts nothing."""
    random, size = np.random.default_rng(seed), sum(durations)
    frames, wanted = torch.tensor([durations]), torch.from_numpy(random.normal(size=(1, len(durations), 3))).float()
    pitch, at = torch.zeros(1, size), 0
    for token, length in enumerate(durations):
        third = ((torch.arange(length) + 0.5) * 3 / length).long()
        pitch[0, at : at + length] = wanted[0, token, third]
        at += length
    found, count = knots_of(pitch, torch.ones(1, size), frames)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=0)
    assert int(count.sum()) == size and int(count.min()) >= 1
    found, count = knots_of(pitch, torch.zeros(1, size), frames)
    assert not count.any() and torch.isfinite(found).all()


@given(durations=Durations, by=st.sampled_from([0.5, 3.0]), seed=st.integers(0, 999))
def test_shaken_boundaries_keep_the_sum_and_every_token(durations: list[int], by: float, seed: int) -> None:
    torch.manual_seed(seed)
    frames = torch.tensor([durations])
    moved = shaken(frames, by=by)
    assert moved.sum() == frames.sum() and torch.equal(moved > 0, frames > 0)


def test_every_frame_knows_its_token_place_and_length() -> None:
    hidden = torch.arange(4.0).view(1, 1, 4)
    states = states_of(hidden, torch.tensor([[2, 0, 1, 0]]), torch.tensor([[12.0, 0.0, -12.0, 0.0]]))
    torch.testing.assert_close(states[0, 0, :3], torch.tensor([0.0, 0.0, 2.0]))
    torch.testing.assert_close(states[0, 1, :3], torch.tensor([1.0, 0.0, -1.0]))  # octaves
    torch.testing.assert_close(states[0, 2, :3], torch.tensor([0.25, 0.75, 0.5]))
    torch.testing.assert_close(states[0, 3, :3], torch.tensor([2.0, 2.0, 1.0]).log())


def test_forced_and_free_take_one_path() -> None:
    """What was predicted, fed back as if it had been given, makes the same bits."""
    net = learner()
    ids = torch.tensor([[0, 1, 3, 6, 4, 5, 7]])
    gaps = torch.tensor([[1, 0, 0, 1, 0, 0, 1]])
    with torch.no_grad():
        hidden, log_frames, pause, knots = net.net.text(ids, ids * 0, ids * 0, torch.ones(1, 1, 7))
        frames = net.free_durations(ids, gaps, log_frames, pause)
        total = int(frames.sum())
        contour = contour_of(knots, (gaps == 0)[..., None].expand_as(knots), frames, total)
        torch.manual_seed(0)
        free = net.speak_frames(hidden, frames, contour)[0]
        given_ = replace(net.collate(clips(1)), ids_BT=ids, gaps_BT=gaps, frames_BT=frames, frames_B=frames.sum(1))
        again = contour_of(knots, (given_.gaps_BT == 0)[..., None].expand_as(knots), given_.frames_BT, total)
        mask = mask_of(given_.frames_B, total)
        mean, _, states = net.net.frames(hidden, given_.frames_BT, again, mask)
        torch.manual_seed(0)
        noise = net.config.temperature * torch.randn_like(mean)
        forced = net.net.refined(noise, mean, states, mask, steps=net.config.steps)
    assert torch.equal(free, forced)


def test_an_edit_changes_no_frame_further_away_than_the_networks_reach() -> None:
    net = learner()
    with torch.no_grad():
        hidden = torch.randn(1, 16, 4)
        frames, contour = torch.tensor([[40, 40, 40, 40]]), torch.zeros(1, 160)
        edited = contour.clone()
        edited[:, 80:82] += 3
        one, other = (net.net.frames(hidden, frames, line, torch.ones(1, 1, 160))[0] for line in (contour, edited))
    changed = (one != other).any(1)[0].nonzero()
    assert int(changed.min()) >= 80 - 6 and int(changed.max()) <= 81 + 6  # two blocks of 7


# ---------------------------------------------------------------- the flow


def test_the_target_of_the_flow_by_hand() -> None:
    mel, noise = torch.tensor([[[2.0]], [[-1.0]]]), torch.tensor([[[1.0]], [[0.5]]])
    x, velocity = flow_target(mel, noise, torch.tensor([0.25, 1.0]))
    torch.testing.assert_close(x.flatten(), torch.tensor([0.750025 + 0.5, 1e-4 * 0.5 - 1.0]))
    torch.testing.assert_close(velocity.flatten(), torch.tensor([2.0 - 0.9999, -1.0 - 0.49995]))


def test_eulers_path_by_hand() -> None:
    """With a velocity of mean - x, four steps leave 0.75^4 of what lay between."""
    net = learner().net

    class Pull(nn.Module):
        def forward(self, x: Tensor, mean: Tensor, states: Tensor, time: Tensor, mask: Tensor) -> Tensor:
            return mean - x

    net.refiner = Pull()
    x, mean, mask = torch.full((1, 80, 3), 5.0), torch.ones(1, 80, 3), torch.tensor([[[1.0, 1.0, 0.0]]])
    made = net.refined(x, mean, mean, mask, steps=4)
    torch.testing.assert_close(made[0, 0], torch.tensor([1 + 4 * 0.75**4, 1 + 4 * 0.75**4, 0.0]))
    assert torch.equal(net.refined(x, mean, mean, mask, steps=0), mean)


# ---------------------------------------------------------------- batches and losses


GOLDEN = {"mean": 47.35563, "voicing": 31.83445, "pitch": 39.34599, "duration": 5.37518, "pause": 6.37015}


def test_golden_numbers() -> None:
    """Of a seeded network and made clips: another number is another model."""
    net = learner()
    found = {name: float(loss.sum.detach()) for name, loss in net.validate(net.collate(clips(2))).items()}
    assert {name: found[name] for name in GOLDEN} == pytest.approx(GOLDEN, rel=5e-4)


def test_the_step_is_chosen_by_all_that_a_voice_is_of() -> None:
    """Mel, pitch, durations and pauses as they are weighted in training, each over what it is of: what guesses
    pauses worse while its mel gets better is no better step.
    """
    net = learner()
    weights = {"mean": 1.0, "pitch": 0.5, "duration": 0.5, "pause": 0.2}
    plan = PlanSettings.model_validate({"demo_clips": 0})
    with torch.no_grad():
        whole, apart = (
            validated(net, batches, plan=plan, sentences=(), device=torch.device("cpu"), ear=None)[0]
            for batches in ([net.collate(clips(3))], [net.collate([one]) for one in clips(3)])
        )
    assert whole["weighed"] == pytest.approx(sum(weights[name] * whole[name] for name in weights), rel=1e-5)
    assert apart["weighed"] == pytest.approx(whole["weighed"], rel=1e-4), "however the clips are parted"
    figures = family("acoustic").figures
    assert figures.score == "weighed" and figures.learning == "mean"


def test_a_recorded_batch_is_the_collated_one() -> None:
    net, examples = learner(), clips(3)
    held = [net.resident(one) for one in examples]
    firsts = {
        name: [int(n) for n in np.cumsum([0, *(len(one[name]) for one in held)])[:-1]] for name in ("sound", "melody")
    }
    resident = {name: torch.from_numpy(np.concatenate([one[name] for one in held])) for name in firsts}
    shape = BatchShape(3, 9, max(len(one.samples) for one in examples) + 700)
    packed = net.unpack(torch.from_numpy(net.pack(examples, firsts, shape)), resident, shape)
    plain = net.collate(examples)
    packed = replace(packed, counts=net.counts(examples))
    one, other = (net.validate(batch) for batch in (packed, plain))
    sums = [{k: float(v.sum.detach()) for k, v in found.items() if k != "flow"} for found in (one, other)]
    assert sums[0] == pytest.approx(sums[1], rel=1e-4)
    assert torch.equal(packed.ids_BT[:, :7], plain.ids_BT) and torch.equal(packed.frames_B, plain.frames_B)


@pytest.mark.parametrize("voiced", [True, False])
def test_all_voiced_and_all_unvoiced_clips_learn(voiced: bool) -> None:
    net = learner().train()
    (update,) = net.step(net.collate(clips(2, voiced=voiced)), Clock(0, 10))
    assert all(torch.isfinite(loss.sum) for loss in update.losses.values())
    assert voiced or float(update.losses["pitch"].sum.detach()) == 0


def test_a_pitch_that_is_no_number_never_reaches_a_loss() -> None:
    net, (one, *_) = learner(), clips(1)
    one.features["pitch"][3] = np.nan  # type: ignore[index]
    losses = net.validate(net.collate([one]))
    assert all(torch.isfinite(loss.sum) for loss in losses.values())


def test_some_words_have_unknown_tones_and_always_all_of_one() -> None:
    net = learner(tone_dropout=0.5)
    batch = net.collate(clips(3))
    batch = replace(batch, tones_BT=(1 - batch.gaps_BT) * 3)
    torch.manual_seed(0)
    seen = {tuple(row.tolist()) for _ in range(30) for row in net._some_unknown(batch)}
    assert seen == {(0, a, a, 0, b, b, 0) for a in (1, 3) for b in (1, 3)}


def test_short_gaps_of_a_search_go_to_the_sound_before() -> None:
    found = _without_short_gaps(torch.tensor([[3, 4, 1, 5, 7, 2]]), torch.tensor([[1, 0, 1, 0, 1, 1]]))
    assert found.tolist() == [[3, 5, 0, 5, 9, 0]]


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 99))
def test_searched_durations_sum_to_the_frames(seed: int) -> None:
    net = learner(alignment="mixed")
    torch.manual_seed(seed)
    examples = [replace(one, features={**one.features, "frames": one.features["frames"] * 0}) for one in clips(2)]
    batch = net.collate([*examples, *clips(3)[2:]])
    mel = net.mel(batch)
    hidden = torch.randn(3, 16, 7)
    masks = mask_of(batch.tokens_B, 7), mask_of(batch.frames_B, mel.shape[2])
    found = net._durations(batch, mel, hidden, *masks, 0.0)
    assert found.sum(1).tolist() == batch.frames_B.tolist()
    assert torch.equal(found[2], batch.frames_BT[2])  # given where it is given


# ---------------------------------------------------------------- the corpus


def test_figures_tell_what_is_voiced_how_long_and_whose_pitch() -> None:
    examples = clips(3, speakers=2)
    for one in examples:
        one.features["pitch"][-3:, 1] = 0  # type: ignore[index]
    found = figures_of(examples, examples[:1], symbols=VOCABULARY, speakers=["x", "y"])
    assert found["voiced"]["."] == 0.0 and found["voiced"]["a"] == 1.0 and "b" not in found["voiced"]
    assert found["longest"]["k"] == 3 and found["longest"]["a"] == 15
    assert found["medians"] == pytest.approx([np.log2(140), np.log2(140)], abs=0.3)
    assert found["sentences"][0]["pauses"] == 0 and found["notes"] == []  # silence at the ends is none
    before = {**found, "medians": [6.0, 7.0]}
    alone = figures_of([examples[0]], [], symbols=VOCABULARY, speakers=["x", "y", "z"], before=before)
    assert alone["medians"] == [pytest.approx(np.log2(120), abs=0.01), 7.0, 7.2]  # as heard, as before, not known


def test_an_alignment_in_a_hurry_is_doubted_and_a_corpus_without_pitch_refused() -> None:
    hurried = [
        replace(one, features={**one.features, "frames": np.array([2, 1, 1, 0, 1, len(one.samples) // HOP - 8, 3])})
        for one in clips(2)
    ]
    found = figures_of(hurried, [], symbols=VOCABULARY, speakers=["x"])
    assert found["notes"] == [
        "75 % of the sounds last one frame (16 ms): such an alignment teaches sentences by heart; align again, with a"
        " recogniser that heard more of this corpus"
    ]
    with pytest.raises(TrainError, match="no clip has a pitch"):
        figures_of(clips(2, voiced=False), [], symbols=VOCABULARY, speakers=["x"])


# ---------------------------------------------------------------- graphs


class Decoder:
    def write_decoder(self, folder: Path) -> dict[str, Any]:
        return {"rate": RATE, "hop": HOP, "context": 1, "parameters": 1}


@pytest.mark.parametrize("speakers", [1, 2])
def test_graphs_do_what_the_network_does(tmp_path: Path, speakers: int) -> None:
    net = learner(speakers=speakers)
    examples = clips(3, speakers=speakers)
    names = ["x", "y"][:speakers]
    net.observe(figures_of(examples, examples, symbols=VOCABULARY, speakers=names))
    facts = write_graphs(net, folder=tmp_path, vocoder=Decoder())
    assert facts["pitch"]["speakers"].keys() == set(names) and facts["longest"]["a"] == 15
    graphs = {name: onnxruntime.InferenceSession(tmp_path / f"{name}.onnx") for name in ("text", "mean", "step")}
    ids, zeros = np.array([[0, 1, 3, 6, 4, 5, 7]]), np.zeros((1, 7), np.int64)
    who = {"speaker": np.array([1])} if speakers > 1 else {}
    hidden, _, _, knots = graphs["text"].run(None, {"ids": ids, "tones": zeros, "stress": zeros, **who})
    frames = np.array([[0, 3, 1, 0, 4, 5, 2]])
    contour = np.full((1, 15), 7.0, np.float32)
    mel, states, voicing = graphs["mean"].run(None, {"hidden": hidden, "frames": frames, "contour": contour, **who})
    x, time = np.random.default_rng(0).normal(size=mel.shape).astype(np.float32), np.array([0.75], np.float32)
    velocity, ended = graphs["step"].run(None, {"x": x, "mel": mel, "states": states, "time": time})
    speaker = torch.tensor([speakers - 1])
    with torch.no_grad():
        own = net.net.text(
            torch.from_numpy(ids), torch.zeros(1, 7).long(), torch.zeros(1, 7).long(), torch.ones(1, 1, 7), speaker
        )
        line = 12 * (torch.from_numpy(contour) - net.median[speaker][:, None])
        mean, logit, _ = net.net.frames(own[0], torch.from_numpy(frames), line, torch.ones(1, 1, 15))
    np.testing.assert_allclose(hidden, own[0], atol=1e-5)
    np.testing.assert_allclose(knots, own[3] / 12 + net.median[speaker], atol=1e-5)
    np.testing.assert_allclose(scaled(torch.from_numpy(mel)), mean, atol=1e-5)
    np.testing.assert_allclose(voicing, torch.sigmoid(logit), atol=1e-5)
    np.testing.assert_allclose(ended, (x + velocity / 4) * 2.5 - 5, atol=1e-4)  # the last of four steps


def paused(one: Example, frames: int) -> Example:
    """The same clip with a break of so many frames between its words."""
    lengths = one.features["frames"].copy()
    lengths[3] = frames
    longer = np.concatenate([one.samples, np.zeros(frames * HOP, np.int16)])
    pitch = np.concatenate([one.features["pitch"], np.zeros((frames, 2), np.float32)])
    return replace(one, samples=longer, features={**one.features, "frames": lengths, "pitch": pitch})


def test_pauses_get_as_many_as_the_recordings_have() -> None:
    breaks = [14, 5, 20, 0, 30, 12]  # frames, of which 12 are 0.19 s: a break, not yet a pause
    net, examples = learner(), [paused(one, frames) for one, frames in zip(clips(6), breaks, strict=True)]
    net.observe(figures_of(examples, examples, symbols=VOCABULARY, speakers=["x"]))
    assert [one["pauses"] for one in net.figures.sentences] == [1, 0, 1, 0, 1, 0]
    with torch.no_grad():  # pauses that differ, so that a bound can part them; those at the ends are likelier than all
        for at, one in enumerate(net.figures.sentences):
            net.net.text.symbols.weight[at % 6] += 0.3
            assert isinstance(one["ids"], list)
            one["ids"][2:5] = [at % 6, at, (at + 1) % 6]  # type: ignore[index]
    bound, sure = threshold_of(net), []
    for one in net.figures.sentences:
        rows = [torch.tensor([one[name]]) for name in ("ids", "tones", "stress")]
        pause = net.net.text(*rows, torch.ones(1, 1, 7))[2]
        sure.append(torch.sigmoid(pause)[0, 3].item())  # the gap between two sounds
    assert len(set(sure)) == 6 and 0.05 <= bound <= 0.95 and sum(one > bound for one in sure) == 3
    made = recorded = 0.0
    for one in net.figures.sentences:
        rows = [torch.tensor([one[name]]) for name in ("ids", "tones", "stress")]
        log_frames = net.net.text(*rows, torch.ones(1, 1, 7))[1]
        made += float(log_frames[torch.tensor([one["gaps"]]) == 0].exp().sum().detach())
        recorded += one["frames"]
    longer = min(1.25, max(0.8, recorded / made))
    assert longer != 1.0 and tempo_of(net) == pytest.approx(longer)
    assert torch.allclose(TextGraph(net)(*rows)[1], log_frames + math.log(longer), atol=1e-5)


def test_a_run_of_one_speaker_goes_on_with_several() -> None:
    alone, several = learner(), learner(speakers=2)
    weights = {f"learner/{name}": value for name, value in alone.state_dict().items()}
    grown = with_speakers(Checkpoint(weights=weights, optimiser={}, state={}), several, old=1)
    several.load_state_dict({name.removeprefix("learner/"): value for name, value in grown.weights.items()})
    ids, ones = torch.tensor([[0, 1, 7]]), torch.ones(1, 1, 3)
    with torch.no_grad():
        one = alone.net.text(ids, ids * 0, ids * 0, ones)[0]
        for speaker in (0, 1):  # all begin with its voice
            assert torch.equal(several.net.text(ids, ids * 0, ids * 0, ones, torch.tensor([speaker]))[0], one)


@pytest.mark.parametrize("hertz", [90.0, 180.0, 330.0])
def test_the_plain_vocoder_has_the_pitch_it_is_asked_for(hertz: float) -> None:
    frames = 60
    mel, line = torch.full((1, 80, frames), -3.0), torch.full((1, frames), float(np.log2(hertz)))
    wave = PlainVocoder().sounded(mel, line, torch.ones(1, frames))[0].numpy()
    assert len(wave) == frames * HOP and np.isfinite(wave).all()
    part = wave[4096:12288]
    likeness = np.correlate(part, part, "full")[len(part) - 1 :]
    period = 30 + int(likeness[30 : int(1.4 * RATE / hertz)].argmax())
    assert 12 * abs(np.log2(RATE / period / hertz)) < 0.5


# ---------------------------------------------------------------- from recordings to a voice


@pytest.fixture(scope="module")
def aligned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ws, truth = aligned_workspaces.workspace(tmp_path_factory.mktemp("acoustic"))
    ws.alignment.mkdir(exist_ok=True)
    lines = [json.dumps(one.row(), ensure_ascii=False) for one in truth.values()]
    (ws.alignment / "alignment.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ws.root


@pytest.fixture
def ws(aligned: Path, tmp_path: Path) -> Workspace:
    return Workspace.open(shutil.copytree(aligned, tmp_path / "ws"))


SHORT = ["model.size=tiny", "plan.steps=4", "plan.batch_clips=4", "plan.validate_every=4", "plan.save_every=2"]


def run_of(ws: Workspace, family: str, *changes: str, **more: Any) -> Run:
    made = finish(train(ws, overrides=[f"family={family}", *SHORT, "plan.demo_clips=1", *changes], new=True, **more))
    return Run.named(ws.runs_folder, made.run)


def test_a_voice_of_two_runs_is_heard_before_there_is_a_vocoder_and_speaks_with_the_newest(ws: Workspace) -> None:
    first = run_of(ws, "acoustic", "model.refiner_layers=2", "data.edges=0.05", "plan.sentences=['Habari, leo']")
    assert "needs" not in first.document("facts.json") and list((first.folder / "samples").rglob("*.wav"))
    with pytest.raises(TrainError, match="a voice of the family 'acoustic' needs a vocoder"):
        finish(export(ws.root))
    one, two = run_of(ws, "vocoder"), run_of(ws, "vocoder", "seed=2")
    made = finish(export(ws.root))
    told = voice_json(Path(made.voice))
    assert (
        told["schema"] == 3 and told["engine"] == "mel" and set(told["graphs"]) == {"text", "mean", "step", "decoder"}
    )
    assert any(two.name in line for line in (Path(made.voice) / "README.md").read_text().splitlines())
    voice = Voice.open(Path(made.voice))
    spoken = voice.speak("Habari ya leo, watu.", seed=3)
    assert np.array_equal(spoken.samples, voice.speak("Habari ya leo, watu.", seed=3).samples)
    assert np.isfinite(spoken.samples).all() and 0.3 < spoken.seconds < 10
    other = finish(export(ws.root, vocoder=one.name))
    assert voice_json(Path(other.voice))["vocoder"]["sha256"] != told["vocoder"]["sha256"]
    with pytest.raises(TrainError, match=f"{first.name} is a voice and not a vocoder"):
        finish(export(ws.root, vocoder=first.name))


def test_frames_of_tokens_follow_what_is_cut_away(ws: Workspace) -> None:
    """Edges cut the sound, and the frames of every clip still sum to it, with the silence in the gaps."""
    kept = {}
    for edges in (0.0, 0.05):
        recipe = read_recipe(None, ["family=acoustic", *SHORT, f"data.edges={edges}"])
        finish(prepare_run(ws, recipe))
        job = set_up(ws, recipe, device="cpu")
        for clip in (*job.train, *job.valid):
            one = job.example(clip)
            frames, gaps = one.features["frames"], one.features["gaps"]
            assert frames.sum() == len(one.samples) // HOP == len(one.features["pitch"])
            assert (frames[gaps == 0] >= 5).all()  # every sound of these lasts 0.1 s
            kept[edges, clip] = int(frames[0])
    assert all(kept[0.05, clip] < kept[0.0, clip] for edges, clip in kept if edges)


def test_bad_alignments_are_one_sentence(ws: Workspace) -> None:
    recipe = read_recipe(None, ["family=acoustic", *SHORT])
    path = ws.alignment / "alignment.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["phones"] = [[span[0] and "x", *span[1:]] for span in row["phones"]]  # grids of another reading
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    finish(prepare_run(ws, recipe))
    with pytest.raises(
        TrainError, match=r"the first left out is clip00-\w+: the text has 'h' where the alignment has 'x'"
    ):
        set_up(ws, recipe, device="cpu")
    path.unlink()
    with pytest.raises(TrainError, match="is not aligned, and acoustic learns durations from an alignment: run 'olu"):
        finish(prepare_run(ws, recipe))
    searched = read_recipe(None, ["family=acoustic", *SHORT, "model.alignment=search"])
    finish(prepare_run(ws, searched))
    assert set_up(ws, searched, device="cpu").train  # without one it searches


def test_new_symbols_and_speakers_go_on_from_a_run(ws: Workspace) -> None:
    first = run_of(ws, "acoustic")
    again = run_of(ws, "acoustic", from_run=first.name)
    assert again.document("facts.json")["from"].startswith(first.name)
    assert again.recipe.model["learning_rate"] == 3e-4  # what its family changes for one that goes on
    assert again.document("observed.json")["medians"] == first.document("observed.json")["medians"]


def test_a_plan_says_align_first_and_offers_the_family(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    made = finish(plan(ws, write=False))
    assert any("'olu plan" in note and "family=acoustic' plans that" in note for note in made.notes) and not made.first
    monkeypatch.setattr("olu.families.acoustic.plan.OWN_VOCODER", 0.0)
    kept = planning.preferred
    monkeypatch.setattr(planning, "preferred", lambda *asked, **named: kept(*asked, **{**named, "device": "cuda"}))
    made = finish(plan(ws, write=False))
    (family,) = (one for one in made.settings if one["key"] == "family")
    assert (
        family["value"] == "acoustic" and "aligned: an acoustic model is told durations and pitch" in family["reason"]
    )
    assert any(note.startswith(f"'olu make {ws.root}' trains its vocoder too") for note in made.notes)
    (ws.alignment / "alignment.jsonl").unlink()
    made = finish(plan(ws, overrides=["family=acoustic"], write=False))
    assert made.first == made.next == f"olu align {ws.root}" and made.text.startswith(f"# First: olu align {ws.root}")
    made = finish(plan(ws, write=False))  # nobody named a family
    assert any(note.startswith(f"'olu align {ws.root}' first, and the plan would take acoustic") for note in made.notes)


# ---------------------------------------------------------------- doubts


def test_what_is_doubted_of_a_validation_is_said_once_and_names_the_cause() -> None:
    doubts = family("acoustic").figures.doubts
    assert doubts is not None and doubts({"free": 0.3, "forced": 0.25, "spread": 0.9, "outside": 0.01}) == {}
    guard = Doubts(doubts)
    seen = {"mean": 0.4, "free": 0.6, "forced": 0.3, "spread": 0.013, "outside": 0.2}
    assert guard.watch(ValidationView(10, 100, "mean", seen, {})) is None  # too early to tell
    event = guard.watch(ValidationView(30, 100, "mean", seen, {}))
    assert event is not None and event.verdict is Verdict.NOTE
    assert "2.0 times as far" in event.message and "0.01 times as much" in event.message and "20 %" in event.message
    assert guard.watch(ValidationView(40, 100, "mean", seen, {})) is None
    again = Doubts(doubts)
    again.load(guard.state())
    assert again.watch(ValidationView(50, 100, "mean", seen, {})) is None


def test_means_of_tokens_and_spread_by_hand() -> None:
    mel = torch.tensor([[[1.0, 3.0, 5.0, 9.0]]])
    assert token_means(mel, torch.tensor([[2, 0, 2]])).tolist() == [[[2.0, 0.0, 7.0]]]
    spread = spread_of(mel, torch.tensor([[[1.0, 1.0, 0.0, 0.0]]]))
    assert float(spread) == pytest.approx(1.0, abs=1e-4)


def test_make_aligns_and_trains_both_in_order(ws: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each stage is asked for; a corpus of too little sound is told what to do."""
    asked: list[Any] = []

    def noted(what: str, result: Any = None) -> Any:
        def stage(*given_: Any, **more: Any) -> Any:
            yield Note("")
            wanted = {name: more[name] for name in ("overrides", "match", "from_run") if more.get(name)}
            asked.append((what, wanted))
            return result or TrainSummary(f"run-{len(asked)}", 1)

        return stage

    sounds = Path(json.loads((ws.corpus / "sources.json").read_text())[0]["root"])
    (ws.alignment / "alignment.jsonl").unlink()
    monkeypatch.setattr(making, "align", noted("align"))
    monkeypatch.setattr(making, "train", noted("train"))
    monkeypatch.setattr(making, "export", noted("export", ExportSummary("x.voice", "r", 1, 1, 1, "swa", [], [])))
    with pytest.raises(TrainError, match=r"of sound are too few for a vocoder of its own \(10\.0 minutes\)"):
        finish(making.make(ws.root, sounds, language="swa", overrides=["family=acoustic"]))
    monkeypatch.setattr(making, "OWN_VOCODER", 5.0)
    asked.clear()
    made = finish(making.make(ws.root, sounds, language="swa", overrides=["family=acoustic", "plan.steps=9"]))
    assert asked == [
        ("align", {}),
        ("train", {"overrides": ["family=vocoder"]}),
        ("train", {"overrides": ["family=acoustic", "plan.steps=9"]}),
        ("train", {"overrides": ["family=vocoder"], "match": "run-3", "from_run": "run-2"}),
        ("export", {}),
    ]
    assert made.run == "run-3"
    asked.clear()
    finish(making.make(ws.root, sounds, language="swa", overrides=["family=vits"]))
    assert asked == [("train", {"overrides": ["family=vits"]}), ("export", {})]


@pytest.mark.parametrize(("heard", "steps"), [({4.0: 0.2, 0.0: 0.1}, 0), ({4.0: 0.1, 0.0: 0.1}, 4)])
def test_refining_that_costs_letters_is_left_off_and_said(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch, heard: dict[float, float], steps: int
) -> None:
    run_of(ws, "vocoder")
    run_of(ws, "acoustic", "model.refiner_layers=2")
    seen: list[int] = []

    def ear(*given_: Any, **more: Any) -> Any:
        return lambda exhibits: {"cer": heard[float(seen[-1])]}

    speak = AcousticLearner.speak_frames

    def noted(self: AcousticLearner, *given_: Any) -> Any:
        seen.append(self.config.steps)
        return speak(self, *given_)

    monkeypatch.setattr(AcousticLearner, "speak_frames", noted)
    monkeypatch.setattr("olu.stages.refining.ear_of", ear)
    monkeypatch.setattr("olu.stages.refining.ready", lambda *a, **k: Run(ws.runs_folder / "any"))
    made = finish(export(ws.root))
    assert voice_json(Path(made.voice))["knobs"]["steps"]["default"] == steps
    assert any("it is exported with steps = 0" in note for note in made.notes) == (steps == 0)
    assert set(seen) == {4, 0}

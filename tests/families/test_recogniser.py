"""The recogniser's own: what it writes, its frames, what is done to its sound, and that padding changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from olu.core.errors import ConfigError, TrainError
from olu.core.machine import Machine
from olu.core.types import Audio, Reading
from olu.families import family
from olu.families.recogniser.config import RecogniserConfig
from olu.families.recogniser.learn import RecogniserLearner, disturbed, hidden, paced
from olu.families.recogniser.plan import PASSING, PER_PARAMETER, memory, parameters
from olu.families.recogniser.recognise import LONGEST, Trained
from olu.families.recogniser.text import Writing, collapsed, letters
from olu.text.frontend import for_language
from olu.text.languages import load
from olu.text.words import edits
from olu.train.family import Clock, Example
from olu.train.plan.facts import Case, Material, PlanClip
from olu.train.plan.planner import make_plan

VOCABULARY = 9
STILL: dict[str, Any] = {"time_masks": 0, "frequency_masks": 0, "speed": 0.0, "noise": 0.0}


def learner(**changes: Any) -> RecogniserLearner:
    torch.manual_seed(5)
    return RecogniserLearner(RecogniserConfig(**{"size": "tiny", **changes}), vocab_size=VOCABULARY)


def noises(count: int, *, seconds: float = 0.5) -> list[Example]:
    random = np.random.default_rng(3)
    clips = []
    for number in range(count):
        samples = (3000 * random.normal(size=int(16000 * seconds) + 1111 * number)).astype(np.int16)
        ids = tuple(int(one) for one in random.integers(1, VOCABULARY, 5 + number))
        clips.append(Example(id=f"clip-{number}", ids=ids, samples=samples, speaker=0))
    return clips


def trained(**changes: Any) -> Trained:
    symbols = ("_", *"abcdefg", " ")
    return Trained(learner(**changes), symbols, Writing("letters", "swa"), version="test", natural_cer=0.5)


# ---------------------------------------------------------------- what it writes


def read(language: str, text: str) -> Reading:
    return for_language(load(language)).read(text)


def test_letters_are_those_of_the_text_without_tones_and_marks():
    def written(language: str, text: str) -> str:
        return "".join(Writing("letters", language).spell(Writing("letters", language).symbols(read(language, text))))

    assert written("yor", "Ọ̀rọ̀ ìyànjú, àṣẹ!") == "ọrọ iyanju aṣẹ"
    assert written("ibo", "Ọ dị mma") == "ọ dị mma"
    assert written("swa", "Watu 14, ng'ombe wa-tatu.") == "watu kumi na nne ng'ombe wa tatu"
    assert written("amh", "ሠላም፣ ዓለም ኃይል ።") == "ሰላም አለም ሀይል"
    assert written("spa", "¿Qué está aquí?") == "qué está aquí"  # no language of tones: its accents are letters


def test_tone_marks_can_be_kept():
    kept = Writing("letters", "yor", "keep")
    assert "".join(kept.symbols(read("yor", "ọ̀rọ̀"))) == "ọ̀rọ̀"


def test_symbols_are_the_phones_without_breaks_and_marks():
    reading = read("swa", "Habari, gani?")
    assert Writing("symbols", "swa").symbols(reading) == ["h", "a", "b", "a", "ɾ", "i", "ɡ", "a", "n", "i"]


def test_amharic_letters_are_learnt_in_parts_and_counted_whole():
    writing = Writing("letters", "amh")
    symbols = writing.symbols(read("amh", "ሰላም"))
    assert symbols == ["ስ", "አ", "ል", "ኣ", "ም"]
    assert writing.spell(symbols) == ["ሰ", "ላ", "ም"]


def test_punctuation_and_stray_spaces_are_nothing():
    assert letters("  A—b… «c»  d-e_f ") == "a b c d e f"
    assert Writing("letters", "swa").spell([" ", "a", " ", " ", "b", " "]) == ["a", " ", "b"]


def test_repeats_are_one_and_blanks_nothing():
    assert collapsed([0, 1, 1, 0, 1, 2, 2, 0, 0, 3]) == [1, 1, 2, 3]
    assert collapsed([]) == []


def plain_edits(a: str, b: str) -> int:
    table = [[max(i, j) if not i or not j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, one in enumerate(a, 1):
        for j, other in enumerate(b, 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (one != other))
    return table[-1][-1]


@settings(max_examples=200)
@given(st.text("abc ", max_size=12), st.text("abc ", max_size=12))
def test_edits_are_the_fewest(a: str, b: str) -> None:
    assert edits(a, b) == plain_edits(a, b)


# ---------------------------------------------------------------- frames


@pytest.mark.parametrize("subsample", [2, 4])
def test_the_settings_know_how_many_frames_there_will_be(subsample: int) -> None:
    model = learner(subsample=subsample).eval()
    for samples in (1300, 1599, 1600, 1601, 4803, 16000, 16159):
        batch = model.collate([Example(id="a", ids=(1,), samples=np.ones(samples, np.int16), speaker=0)])
        last, _, sizes = model.hear(batch, disturb=False)
        assert sizes == [model.config.frames(samples)] and last.shape[1] >= sizes[0]
        assert torch.isfinite(last).all()


@pytest.mark.parametrize("subsample", [2, 4])
def test_sound_that_comes_one_frame_later_is_heard_one_frame_later(subsample: int) -> None:
    model = trained(subsample=subsample)
    step = subsample * 160
    random = np.random.default_rng(0)
    speech = random.normal(size=100 * step).astype(np.float32) * 0.1
    quiet = np.zeros(20 * step, dtype=np.float32)
    one = model.log_probs(Audio(np.concatenate([quiet, speech, quiet]), 16000))
    other = model.log_probs(Audio(np.concatenate([quiet, quiet[:step], speech, quiet[step:]]), 16000))
    assert len(one) == len(other) == 140
    np.testing.assert_allclose(one[40:100], other[41:101], atol=1e-4)
    assert not np.allclose(one[40:100], other[40:100], atol=1e-2)


def test_a_mel_frame_is_centred_on_its_sound() -> None:
    model, at = learner().eval(), 100 * 160 + 80
    click = np.zeros(200 * 160, np.int16)
    click[at] = 20000
    mel, frames = model.mel(model.collate([Example(id="a", ids=(1,), samples=click, speaker=0)]), disturb=False)
    energy = mel[0].sum(1).clamp_min(0)
    centre = float((energy * torch.arange(frames[0])).sum() / energy.sum())
    assert centre == pytest.approx(100, abs=0.1)  # mel frame n lies around (n + 1/2) * hop


@pytest.mark.parametrize("subsample", [2, 4])
def test_a_frame_lies_in_the_middle_of_its_mel_frames(subsample: int) -> None:
    front = learner(subsample=subsample).net.front.eval()
    with torch.no_grad():
        for layer in (front.first, front.second):
            layer.weight.fill_(1.0)
            layer.bias.zero_()
        mel = torch.zeros(1, 80, 80)
        mel[0, 10 * subsample : 11 * subsample] = 1.0  # just what frame 10 stands for
        seen = front.second(torch.nn.functional.gelu(front.first(mel.unsqueeze(1)))).sum((0, 1, 3))
    assert int(seen.argmax()) == 10
    torch.testing.assert_close(seen[7:10], seen[11:14].flip(0))


def test_a_long_recording_is_heard_in_windows_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained()
    random = np.random.default_rng(1)
    loud = 0.1 + 0.05 * np.sin(np.arange(95 * 16000) / 3000)
    audio = Audio((random.normal(size=len(loud)) * loud).astype(np.float32), 16000)
    cut = model.log_probs(audio)
    monkeypatch.setattr("olu.families.recogniser.recognise.LONGEST", 1000.0)
    whole = model.log_probs(audio)
    assert audio.seconds > LONGEST and cut.shape == whole.shape == (model.config.frames(len(audio.samples)), VOCABULARY)
    assert np.abs(np.exp(cut) - np.exp(whole)).mean() < 0.02  # each window has its own mean and deviation


def test_almost_nothing_is_heard_as_nothing() -> None:
    model = trained()
    for samples in (0, 1, 200):
        silence = Audio(np.zeros(samples, dtype=np.float32), 16000)
        assert model.log_probs(silence).shape == (0, VOCABULARY) and model.transcribe(silence) == ""
    assert np.isfinite(model.log_probs(Audio(np.zeros(16000, dtype=np.float32), 16000))).all()


def test_another_sampling_rate_is_resampled() -> None:
    model = trained()
    wave = (0.3 * np.sin(np.arange(44100) / 30)).astype(np.float32)
    assert model.log_probs(Audio(wave, 44100)).shape == (50, VOCABULARY)


# ---------------------------------------------------------------- learning


def gradients(model: RecogniserLearner, groups: list[list[Example]]) -> dict[str, torch.Tensor]:
    model.zero_grad()
    total = sum(len(clip.ids) for group in groups for clip in group)
    for group in groups:
        (update,) = model.step(model.collate(group), Clock(0, 10))
        sum(loss.sum * loss.weight / total for loss in update.losses.values()).backward()  # type: ignore[union-attr]
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("more", [{}, {"recurrent": 1}, {"heads": 2}])
def test_eight_at_once_are_four_times_two(more: dict[str, Any]) -> None:
    clips, model = noises(8), learner(**STILL, **more).train()
    at_once, apart = gradients(model, [clips]), gradients(model, [clips[at : at + 2] for at in range(0, 8, 2)])
    largest = max(float(grad.abs().max()) for grad in at_once.values())
    assert at_once.keys() == apart.keys() == {name for name, _ in model.named_parameters()}
    for name, grad in at_once.items():
        torch.testing.assert_close(apart[name], grad, rtol=0, atol=1e-5 * largest, msg=lambda m, name=name: name + m)


def test_padding_changes_nothing() -> None:
    clips, model = noises(3), learner(recurrent=1, heads=2).eval()
    with torch.no_grad():
        alone = [model.hear(model.collate([clip]), disturb=False) for clip in clips]
        both, _, sizes = model.hear(model.collate(clips), disturb=False)
    for row, (one, _, size) in enumerate(alone):
        assert size == [sizes[row]]
        torch.testing.assert_close(both[row, : sizes[row]], one[0, : size[0]], atol=1e-4, rtol=0)


def test_a_text_too_long_for_its_sound_gives_nothing_and_spoils_nothing() -> None:
    clips, model = noises(2), learner(**STILL).train()
    endless = Example(id="endless", ids=(1,) * 400, samples=clips[0].samples, speaker=0)
    both = {name: grad * (400 + len(clips[1].ids)) for name, grad in gradients(model, [[endless, clips[1]]]).items()}
    alone = {name: grad * len(clips[1].ids) for name, grad in gradients(model, [[clips[1]]]).items()}
    largest = max(float(grad.abs().max()) for grad in alone.values())
    for name, grad in alone.items():
        torch.testing.assert_close(both[name], grad, rtol=0, atol=1e-4 * largest)


def test_errors_are_counted_in_letters() -> None:
    model = learner().eval()
    writing = Writing("letters", "amh")
    model.knows(("_", "ስ", "ል", "ም", "ኣ", "አ", " ", "ብ", "ር"), writing.spell)
    clip = Example(id="a", ids=(1, 5, 2, 4, 3, 6, 7, 8), samples=noises(1)[0].samples, speaker=0)
    batch = model.collate([clip])
    assert batch.counts == {"tokens": 8.0, "letters": 6.0, "close": 5.0}
    said = torch.zeros(1, 30, VOCABULARY)
    for frame, id in enumerate((1, 1, 0, 5, 2, 0, 3, 3, 6, 7, 8)):  # ሰልም ብር: a vowel is missing
        said[0, frame, id] = 9.0
    said[0, 11:, 0] = 9.0
    assert "".join(model.greedy(said, [30])[0]) == "ሰልም ብር"
    model.hear = lambda batch, disturb: (said.log_softmax(-1), None, [30])  # type: ignore[method-assign]
    scores = model.validate(batch)
    assert float(scores["cer"].sum) == 1 and scores["cer"].over == "letters"
    assert float(scores["cer_without_spaces"].sum) == 1 and scores["cer_without_spaces"].over == "close"


# ---------------------------------------------------------------- what is done to the sound


def test_masks_hide_what_they_should() -> None:
    torch.manual_seed(0)
    config = RecogniserConfig(size="tiny", time_masks=4, time_mask_share=0.1, frequency_masks=2, frequency_mask_bins=10)
    mel, frames = torch.ones(64, 200, config.mel_bins), [200] * 32 + [100] * 32
    seen = hidden(mel, frames, config)
    assert set(seen.unique().tolist()) == {0.0, 1.0}
    times, bins = (seen.sum(2) == 0), (seen.sum(1) == 0)
    assert 0 < times.sum(1).max() <= 4 * 0.1 * 200 + 4 and not times[32:, 100:].any()
    assert 0 < bins.sum(1).max() <= 20 + 2
    assert hidden(mel, frames, config, grown=0.1).mean() > 0.95 > seen.mean()
    assert times.float().mean(1).std() > 0 and (seen[0] != seen[1]).any()  # each clip its own


def test_the_pace_changes_with_the_frames() -> None:
    torch.manual_seed(0)
    mel = torch.arange(100.0)[None, :, None].expand(2, 100, 8).contiguous()
    sizes = set()
    for _ in range(50):
        slow, frames = paced(mel, [100, 50], share=0.1)
        assert slow.shape[1] == frames[0] and abs(frames[1] - frames[0] / 2) <= 1
        assert float(slow[0, -1, 0]) == pytest.approx(99, abs=1)
        sizes.add(frames[0])
    assert min(sizes) >= 90 and max(sizes) <= 110 and len(sizes) > 8


def test_noise_is_as_loud_as_it_should_be() -> None:
    torch.manual_seed(0)
    wave = torch.sin(torch.arange(16000) / 5.0).expand(200, 16000)
    added = disturbed(wave, share=0.5) - wave
    loud = added.square().mean(1).sqrt() / wave.square().mean(1).sqrt()
    assert 60 < int((loud > 0).sum()) < 140
    decibel = -20 * loud[loud > 0].log10()
    assert 11.5 < float(decibel.min()) < 16 and 36 < float(decibel.max()) < 40.5


# ---------------------------------------------------------------- limits


def test_what_cannot_be_heard_is_refused() -> None:
    fam, config = family("recogniser"), RecogniserConfig(size="tiny", subsample=4)
    assert fam.data.refuses(config, samples=16000, tokens=20) is None
    said = fam.data.refuses(config, samples=16000, tokens=21)
    assert said == (
        "25 frames of sound for 21 symbols: the text is too long for this recording"
        " (model.subsample=2 gives twice as many)"
    )
    assert "nothing that can be heard" in str(fam.data.refuses(config, samples=16000, tokens=0))


def test_it_does_not_speak() -> None:
    fam = family("recogniser")
    assert fam.kind == "listener" and fam.speaks is None
    model = learner()
    assert list(model.demo(model.collate(noises(1)))) == []
    with pytest.raises(TrainError, match="hears and does not speak"):
        model.say((1, 2), 0)
    with pytest.raises(ConfigError, match="no run of a recogniser"):
        fam.bases.read(Path("nowhere"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kernel": 4}, "kernel must be odd"),
        ({"width": 30, "heads": 4}, "width must be an even multiple of heads"),
        ({"blocks": 1}, "inter_weight needs two blocks"),
        ({"time_masks": 0, "time_mask_share": 0.2}, "time_mask_share has no effect while time_masks is 0"),
        ({"frequency_masks": 0, "frequency_mask_bins": 3}, "frequency_mask_bins has no effect"),
        ({"frequency_mask_bins": 81}, "must not exceed mel_bins"),
        ({"mel_bins": 42}, "multiple of 4"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        RecogniserConfig(**{"size": "tiny", **changes})


@pytest.mark.parametrize(
    "changes", [{"size": "tiny"}, {"size": "cpu"}, {"size": "gpu"}, {"size": "cpu", "recurrent": 2}]
)
def test_the_size_is_known_without_building_it(changes: dict[str, Any]) -> None:
    config = RecogniserConfig(**changes)
    built = sum(p.numel() for p in RecogniserLearner(config, vocab_size=30).parameters())
    assert parameters(config) == pytest.approx(built, rel=0.15)


@pytest.mark.parametrize("changes", [{}, {"heads": 0}, {"subsample": 2}, {"recurrent": 1, "blocks": 2}])
def test_the_memory_of_a_step_is_foretold(changes: dict[str, Any]) -> None:
    config = RecogniserConfig(**{"size": "cpu", **changes})
    model = RecogniserLearner(config, vocab_size=VOCABULARY).train()
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    held: dict[int, tuple[int, torch.Tensor]] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        held[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        list(model.step(model.collate(noises(1, seconds=9.0)), Clock(0, 1)))
    kept = sum(size for place, (size, _) in held.items() if place not in own)
    foretold = memory(config, clips=1, seconds=9.0, tokens=5) - PER_PARAMETER * parameters(config)
    assert foretold == pytest.approx(PASSING * kept, rel=0.2)


# ---------------------------------------------------------------- the plan


def planned(language: str, *, device: str = "cuda", letters: float = 9.0, **given: Any) -> Any:
    pieces = tuple(PlanClip(seconds=8.0, tokens=round(8 * letters)) for _ in range(800))
    machine = Machine(device=device, name="it", memory=64e9, cores=2, bf16=device == "cuda")
    return make_plan(
        Case(material=Material(pieces=pieces, language=language), machine=machine, given=given), family("recogniser")
    )


def test_what_is_held_back_validates() -> None:
    held, bare = planned("swa"), planned("swa", data={"hold_back": 0.0})
    assert not any("validation" in note for note in held.notes)
    assert "no clip is on the validation side: 'olu split WS' makes one" in bare.notes


def test_the_plan_suits_the_machine_and_the_speech() -> None:
    gpu, cpu = planned("swa"), planned("swa", device="cpu")
    assert (gpu["model.size"], gpu["model.subsample"], gpu["plan.precision"]) == ("gpu", 4, "bf16")
    assert (cpu["model.size"], cpu["plan.precision"], cpu["plan.schedule"]) == ("cpu", "fp32", "cosine")
    assert gpu["data.hold_back"] == 0.1 and gpu["plan.batch_clips"] > cpu["plan.batch_clips"] >= 4
    assert "model.kernel" not in gpu
    assert planned("amh")["model.subsample"] == 2  # a letter makes more than one symbol
    assert (planned("amh")["model.kernel"], planned("amh")["model.dropout"]) == (31, 0.15)
    assert planned("amh", model={"subsample": 4}).values()["model"].get("kernel") is None
    assert planned("swa", model={"subsample": 2})["model.kernel"] == 31
    assert planned("spa", letters=14.0)["model.subsample"] == 2
    assert planned("swa", model={"units": "symbols"})["model.subsample"] == 2
    assert "plan.demo_clips" not in gpu and gpu.hours < 0.2

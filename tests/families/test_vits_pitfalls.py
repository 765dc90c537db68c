"""The lessons of fine-tuning VITS with finetune-hf-vits, one named test each: what went wrong there cannot here.

Numbers are those of the list in the design: 2 training mode, 6 speakers, 8 conditioning, 9 validation, 10 short clips,
11 new letters. 1, the judge's gradients, and the other lessons of the loop are in tests/train/test_pitfalls.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from olu.families import family
from olu.families.vits.base import read_base
from olu.train.family import Clock, Example
from olu.train.run import Run

from ..helpers import workspaces
from .test_conformance import engine_for, made, tones

FAM = family("vits")


def test_b1_2_dropout_acts_in_training_and_no_layer_is_skipped(tmp_path: Path) -> None:
    """There the model stayed in eval mode, without dropout; in training mode LayerDrop would have skipped layers."""
    learner = made(FAM, FAM.config(size="tiny", num_hidden_layers=3)).eval()  # as from_pretrained gives it back
    engine = engine_for(FAM, learner, tmp_path, tones(2), steps=4, validate_every=2)
    seen: dict[str, list[bool]] = {"step": [], "validate": [], "demo": []}
    dropped = {name: m for name, m in learner.gen.named_modules() if isinstance(m, nn.Dropout) and m.p > 0}
    assert {name.split(".")[0] for name in dropped} == {"text_encoder", "duration_predictor"}
    for method in seen:
        real = getattr(learner, method)

        def watched(*args: object, method: str = method, real: object = real) -> object:
            seen[method] += [m.training for m in dropped.values()]
            return real(*args)  # type: ignore[operator]

        setattr(learner, method, watched)
    ran = [0, 0, 0]
    for at, layer in enumerate(learner.gen.text_encoder.encoder.layers):
        layer.register_forward_hook(lambda *_, at=at: ran.__setitem__(at, ran[at] + 1))
    list(engine.train())
    assert seen["step"] and all(seen["step"])  # also in the step after a validation
    assert seen["validate"] and not any(seen["validate"] + seen["demo"])
    assert ran[0] > 4 and len(set(ran)) == 1


def test_b1_6_speakers_have_one_order_names_that_stay_and_a_filter_on_both_sides(tmp_path: Path) -> None:
    """There a set gave the order, nobody wrote it down, unknown people became speaker 0, and the filter missed eval."""
    rows = [(f"{who}{n}", f"{w} {who}", who, s) for who in ("zo", "al") for n, (w, s) in enumerate(SIDES)]
    ws = workspaces.workspace(tmp_path / "w", [*rows, ("x0", "onye ozo", "xi", "valid")])
    setup = workspaces.made(ws)
    assert setup.speakers == setup.documents["speakers.json"] == ["al", "zo"]
    assert {setup.speakers[at] == clip[:-1] for clip, at in setup.speaker_of.items()} == {True}
    assert "x0" not in setup.valid
    one = workspaces.made(ws, data={"speakers": ["zo"]})
    assert {clip[:-1] for clip in one.train + one.valid} == {"zo"} and one.valid


SIDES = (("na", "train"), ("bi", "train"), ("oma ihe", "valid"))


def _spoken(learner: nn.Module, speaker: int) -> np.ndarray:
    learner.eval().requires_grad_(False)
    torch.manual_seed(7)
    spoken: np.ndarray = learner.speak(torch.tensor([[0, 1, 0, 2, 0, 3, 0]]), torch.tensor([speaker]))
    return spoken


@pytest.mark.parametrize("stochastic", [True, False])
def test_b1_8_added_speakers_begin_with_the_voice_of_the_base_and_come_apart(stochastic: bool, tmp_path: Path) -> None:
    """There new conditioning was written into a weight that weight norm makes anew, so it had no effect."""
    kind = {"use_stochastic_duration_prediction": stochastic}
    folder = workspaces.base(tmp_path / "one", ["_", "a", "b", "c"], **kind)
    alone, crowd = (FAM.learner(FAM.config(**read_base(folder).settings), vocab_size=4, num_speakers=n) for n in (1, 3))
    read_base(folder).load(alone)
    said = read_base(folder).load(crowd)
    assert any("more are added" in sentence for sentence in said)
    heard = [_spoken(crowd, speaker) for speaker in range(3)]
    for one in heard:
        np.testing.assert_allclose(one, _spoken(alone, 0), atol=1e-6)
    engine = engine_for(FAM, crowd, tmp_path / "run", _letters(tones(3, speakers=3)), steps=3, batch_clips=3)
    assert [event for report in engine.train() for event in report.events] == []
    after = [_spoken(crowd, speaker) for speaker in range(3)]
    assert len({one.tobytes() for one in after}) == 3
    moved = [n for n, p in crowd.gen.named_parameters() if "cond" in n and n.endswith(("original0", "weight"))]
    assert moved and all(bool(crowd.gen.get_parameter(name).any()) for name in moved)


def test_b1_8_a_base_with_speakers_keeps_its_conditioning(tmp_path: Path) -> None:
    """There it was started anew even where the base had it."""
    folder = workspaces.base(tmp_path / "two", ["_", "a", "b", "c"], speakers=2, speaker_embedding_size=8)
    weights = load_file(folder / "model.safetensors")
    for speakers in (2, 5):
        learner = FAM.learner(FAM.config(**read_base(folder).settings), vocab_size=4, num_speakers=speakers)
        said = read_base(folder).load(learner)
        for name in ("decoder.cond.weight", "duration_predictor.cond.bias"):
            assert torch.equal(learner.gen.get_parameter(name), weights[name])
        layer = learner.gen.flow.flows[0].wavenet.cond_layer.weight
        torch.testing.assert_close(layer, weights["flow.flows.0.wavenet.cond_layer.weight"], rtol=1e-5, atol=1e-6)
        table = learner.gen.embed_speaker.weight.detach()
        if speakers == 2:
            assert torch.equal(table, weights["embed_speaker.weight"]) and "speakers" not in " ".join(said)
        else:
            assert 0.2 < float(table.std() / weights["embed_speaker.weight"].std()) < 3
            assert any("begin near the mean" in sentence for sentence in said)


def test_b1_8_speakers_a_base_knows_by_name_are_found_by_name(tmp_path: Path) -> None:
    from olu.families.vits.base import base_of
    from olu.families.vits.foreign.detect import read_foreign

    folder = workspaces.base(tmp_path / "two", ["_", "a"], speakers=2, speaker_embedding_size=8)
    base = base_of(replace(read_foreign(folder), speakers=("zo", "al")), where="a made base")
    learner = FAM.learner(FAM.config(**base.settings), vocab_size=2, num_speakers=3)
    said = base.load(learner, None, ["al", "new", "zo"])
    table, held = learner.gen.embed_speaker.weight.detach(), load_file(folder / "model.safetensors")
    assert torch.equal(table[0], held["embed_speaker.weight"][1]) and torch.equal(
        table[2], held["embed_speaker.weight"][0]
    )
    assert any("not new:" in sentence for sentence in said)


def _letters(clips: list[Example]) -> list[Example]:
    return [replace(clip, ids=tuple(i % 4 for i in clip.ids)) for clip in clips]


def test_b1_9_validation_figures_are_means_whatever_the_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There they were sums over batches, so that they grew with their number."""
    monkeypatch.setattr(torch, "randn_like", lambda x, **_: torch.zeros_like(x))
    monkeypatch.setattr(torch, "randn", lambda *size, device=None, **_: torch.zeros(*size, device=device))
    clips, scores = tones(4), []
    for size in (1, 2, 4):
        learner = made(FAM, FAM.config(size="tiny"))
        engine = engine_for(FAM, learner, tmp_path / str(size), clips)
        groups = [clips[at : at + size] for at in range(0, 4, size)]
        engine.validation = lambda groups=groups, learner=learner: [learner.collate(group) for group in groups]
        found, _ = engine._validate()
        scores.append(found)
    assert scores[1] == pytest.approx(scores[0], rel=1e-4) and scores[2] == pytest.approx(scores[0], rel=1e-4)
    assert engine.best == {"step": 0, "score": pytest.approx(scores[2]["mel"])}  # and a best step is chosen by them


def test_b1_9_a_sample_is_as_long_as_its_text_asks_for() -> None:
    """There samples were random slices of half a second."""
    learner = made(FAM, FAM.config(size="tiny", use_stochastic_duration_prediction=False)).eval()
    with torch.no_grad():
        learner.gen.duration_predictor.proj.weight.zero_()
        learner.gen.duration_predictor.proj.bias.fill_(float(np.log(5.5)))
        batch = learner.collate(tones(2))
        exhibits = list(learner.demo(batch))
    for exhibit, tokens in zip(exhibits, batch.tokens_B, strict=True):
        assert len(exhibit.audio.samples) == 6 * int(tokens) * learner.config.hop_length


def test_b1_10_clips_shorter_than_a_segment_are_left_out_by_name(tmp_path: Path) -> None:
    """There they gave a slice that began before the clip, and the device stopped."""
    ws = workspaces.workspace(tmp_path / "w", [("a0", "na bi", "ana", "train"), ("a1", "bi na", "ana", "valid")])
    model = {**workspaces.TINY, "segment_size": 20480}
    with pytest.raises(Exception, match=r"first left out is a0: shorter than one training segment \(1.28 s\)"):
        workspaces.made(ws, model=model)
    learner = made(FAM, FAM.config(size="tiny"))
    size = learner.config.segment_size
    just = Example(id="just", ids=(1, 2), samples=np.ones(size, np.int16), speaker=0)
    for _ in range(20):  # the one start there is: the first frame
        heard = list(learner.step(learner.collate([just, *tones(1)]), Clock(0, 1)))
        assert all(bool(torch.isfinite(loss.sum)) for update in heard for loss in update.losses.values())


def test_b1_10_a_segment_lies_inside_its_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    from olu.families.vits import learn

    starts: list[tuple[Tensor, int, int]] = []
    real = learn._slice

    def noted(x: Tensor, start: Tensor, size: int) -> Tensor:
        starts.append((start, size, x.shape[2]))
        return real(x, start, size)

    monkeypatch.setattr(learn, "_slice", noted)
    learner = made(FAM, FAM.config(size="tiny"))
    batch = learner.collate(tones(4, frames=16))  # the first is as long as one segment
    for draw in (0.0, 0.5, 1 - 2**-24):
        monkeypatch.setattr(torch, "rand", lambda *size, draw=draw, device=None: torch.full(size, draw))
        next(learner.step(batch, Clock(0, 1)))
    latents = [(start, size) for start, size, _ in starts if size == learner.config.segment_frames]
    assert latents
    for start, size in latents:
        assert bool((start >= 0).all()) and bool((start + size <= batch.frames_B).all())
    assert bool((latents[-1][0] + size == batch.frames_B).all())  # the last frame can be reached


def test_b1_11_new_letters_get_one_row_each_near_a_relative_and_are_told(tmp_path: Path) -> None:
    """There rows were added in pairs at a scale of .02, and characters outside the vocabulary vanished in silence."""
    text = "ịhe na ọma ị"
    rows = [("a0", text, "ana", "train"), ("a1", "ihe oma na", "ana", "train"), ("a2", "oma ihe", "ana", "valid")]
    ws = workspaces.workspace(tmp_path / "w", rows)
    letters = ["_", *"aehimno", " "]
    folder = workspaces.base(tmp_path / "base", letters)
    setup = workspaces.made(ws, base=str(folder))
    new = len(setup.vocabulary.symbols) - len(letters)
    table = setup.learner.gen.text_encoder.embed_tokens.weight.detach()
    assert new == 2 and len(table) == len(letters) + 2  # no row more than symbols
    assert len(setup.ids["a0"]) == 2 * len(text) + 1  # nothing of the text was dropped
    old, fresh = table[: len(letters)], table[len(letters) :]
    assert 0.5 < float(fresh.norm(dim=1).mean() / old.norm(dim=1).mean()) < 2
    assert any("2 new symbols" in note and "ị from i" in note for note in setup.notes), setup.notes
    assert {(row["symbol"], row["times"], row["from"]) for row in setup.documents["new_symbols.json"]} >= {
        ("ị", 2, "i")
    }
    assert list(setup.engine(Run(tmp_path / "run")).train())[-1].step == 2


def test_b1_11_characters_that_cannot_be_read_are_counted_with_an_example(tmp_path: Path) -> None:
    rows = [("a0", "na \u200bbi \ue000", "ana", "train"), ("a1", "bi na", "ana", "valid")]
    setup = workspaces.made(workspaces.workspace(tmp_path / "w", rows))
    note = next(note for note in setup.notes if "not read" in note)
    assert "U+200B ZERO WIDTH SPACE x1 (in a0)" in note and "U+E000 x1 (in a0)" in note

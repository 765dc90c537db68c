"""T3 as it learns: what a clip is beside any neighbours, what is heard of it, and what is a target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.helpers.toy_speech import LLAMA, Toy

from olu.families.chatterbox.batch import prompt_of, rules_of
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.nn.sequence import packed
from olu.train.family import Clock

TOY = Toy()
VOICES = TOY.voices
word, clip = TOY.word, TOY.clip


def new(**changes: object) -> ChatterboxLearner:
    torch.manual_seed(0)
    return ChatterboxLearner(LLAMA.model_copy(update=changes), vocab_size=24, num_speakers=VOICES)


# ---------------------------------------------------------------- properties


@torch.no_grad()
@pytest.mark.parametrize("backbone", ["llama", "gpt2"])
def test_a_clip_is_the_same_alone_and_beside_any_neighbours(backbone: str) -> None:
    bare = {"backbone": "gpt2", "prompt_rows": 0, "emotion": False, "text_bounds": False, "start_twice": False}
    learner = new(**(bare if backbone == "gpt2" else {})).eval()
    random = np.random.default_rng(3)
    clips = [clip(word(random), n % VOICES, n, random) for n in range(4)]
    clips[2] = replace(clips[2], beside=None)
    whole = learner.validate(learner.collate(clips))
    alone = [learner.validate(learner.collate([one])) for one in clips]
    for name, loss in whole.items():
        apart = sum(float(one[name].sum) for one in alone)
        assert float(loss.sum) == pytest.approx(apart, rel=1e-5), name


def test_the_stop_is_a_target_once_and_the_start_is_heard_twice() -> None:
    learner, random = new(), np.random.default_rng(3)
    batch = learner.collate([clip(word(random), 0, n, random) for n in range(3)])
    made = packed([one.sequence for one in batch.fixed], rules_of(learner.config))
    assert int((made.code_targets == 82).sum()) == 3 and int((made.id_BL * (made.kind_BL == 2) == 81).sum()) == 6
    assert batch.counts["fixed_speech"] == len(made.code_targets)
    starts = (made.id_BL == 81) & (made.kind_BL == 2)
    assert set(made.place_BL[starts].tolist()) == {0}


def test_teacher_forcing_and_stepping_write_the_same() -> None:
    learner, random = new(guidance=0.0).eval(), np.random.default_rng(3)
    one = learner.collate([clip(word(random), 0, 0, random)])
    heard = learner.condition(one.fixed, torch.stack(list(one.fixed_voices)))
    ids = one.fixed[0].sequence.ids
    codes, _ = learner.written(ids, heard, most=12, seed=1)
    text = torch.tensor([[3, *ids, 0]])
    forced = learner.t3(heard, text, torch.tensor([codes]))[1][0, : len(codes), :81].argmax(-1)
    assert forced.tolist() == codes


def test_a_prompt_is_never_what_is_learnt() -> None:
    own, beside = np.arange(300) % 81, np.arange(100) % 81
    config = ChatterboxConfig(size="english", codes=81, speech_ids=84)
    assert prompt_of(own, beside, config, 0.5, 1.0).hidden == (0, 0)
    made = prompt_of(own, None, config, 0.5, 0.5)
    assert 75 <= len(made.codes) <= 83 and made.hidden[1] - made.hidden[0] == len(made.codes) + 50
    assert len(prompt_of(own[:60], None, config, 0.5, 0.5).codes) == 0


def test_a_dropped_text_is_no_target_and_held_tables_stay() -> None:
    learner = new(unconditional=0.99, held=("speech_emb", "cond_enc"), text_rate=7.0)
    random = np.random.default_rng(3)
    batch = learner.collate([clip(word(random), 0, n, random) for n in range(3)])
    assert batch.counts["text"] == pytest.approx(1e-6) and batch.counts["fixed_text"] > 3
    (update,) = learner.step(batch, Clock(0, 1))
    assert update.losses["text"].sum.item() == 0.0
    scale = learner.parts()["t3"].lr_scale
    assert scale["speech_emb"] == 0.0 and scale["text_emb"] == scale["text_head"] == 7.0

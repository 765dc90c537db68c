"""T3 as it learns: what a clip is beside any neighbours, what is a target, and toy speech that is really learnt."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from olu.families.chatterbox.batch import prompt_of, rules_of
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.nn.sequence import packed
from olu.train.family import Clock, Example

LETTERS, VOICES, STEPS = 9, 3, 1500
soak = pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="some minutes of learning: make soak")
CONFIG = ChatterboxConfig(size="tiny", perceiver_dropout=0.0, temperature=0.0, unconditional=0.1)


def spelled(letters: Sequence[int], speaker: int) -> np.ndarray:
    """Toy speech: a letter is one to three codes, shifted by the speaker, who is heard in prompt and vector alone."""
    return np.array([(7 * one + part + 26 * speaker) % 81 for one in letters for part in range(1 + one % 3)], np.int64)


def word(random: np.random.Generator, letters: int = LETTERS) -> list[int]:
    return random.integers(0, letters, int(random.integers(3, 8))).tolist()


def clip(letters: list[int], speaker: int, number: int, random: np.random.Generator) -> Example:
    vector = np.full(16, 0.01, np.float32)
    vector[speaker] = 1.0

    def one(of: list[int], name: str) -> Example:
        features = {"codes": spelled(of, speaker).astype(np.int16), "voice": vector}
        return Example(name, tuple(4 + letter for letter in of), np.zeros(640, np.int16), speaker, features)

    beside = one([*word(random), *word(random)], f"beside-{number}")
    draw = int(random.integers(0, 2**63))
    return replace(one(letters, f"clip-{number}"), beside=beside, draw=draw)


def taught(learner: ChatterboxLearner, *, steps: int, letters: int = LETTERS, seed: int = 0) -> None:
    random = np.random.default_rng(seed)
    moving = torch.optim.AdamW(learner.t3.parameters(), lr=2e-3, weight_decay=0.0)
    learner.train()
    for step in range(steps):
        for group in moving.param_groups:
            group["lr"] = 2e-3 * min(1.0, 4 * (1 - step / steps))
        batch = learner.collate([clip(word(random, letters), n % VOICES, n, random) for n in range(32)])
        (update,) = learner.step(batch, Clock(step, steps))
        loss = sum(one.sum * one.weight / batch.counts[one.over] for one in update.losses.values())
        moving.zero_grad()
        loss.backward()  # type: ignore[union-attr]
        torch.nn.utils.clip_grad_norm_(learner.t3.parameters(), 1.0)
        moving.step()
    learner.eval()


def said_right(learner: ChatterboxLearner, *, letters: int = LETTERS, count: int = 60) -> tuple[float, float]:
    """The share of new words that are said without an error, and of those that stop by themselves."""
    random, right, stopped = np.random.default_rng(99), 0, 0
    for number in range(count):
        spoken = word(random, letters)
        one = learner.collate([clip(spoken, number % VOICES, number, random)])
        heard = learner.condition(one.fixed, torch.stack(list(one.fixed_voices)))
        codes, ended = learner.written(one.fixed[0].sequence.ids, heard, most=60, seed=1)
        right, stopped = right + (codes == spelled(spoken, number % VOICES).tolist()), stopped + ended
    return right / count, stopped / count


def new(**changes: object) -> ChatterboxLearner:
    torch.manual_seed(0)
    return ChatterboxLearner(CONFIG.model_copy(update=changes), vocab_size=24, num_speakers=VOICES)


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
    assert float(update.losses["text"].sum) == 0.0
    scale = learner.parts()["t3"].lr_scale
    assert scale["speech_emb"] == 0.0 and scale["text_emb"] == scale["text_head"] == 7.0


# ---------------------------------------------------------------- toy speech


@soak
def test_toy_speech_is_learnt_and_three_letters_more() -> None:
    learner = new()
    taught(learner, steps=STEPS)
    right, stopped = said_right(learner)
    assert right >= 0.95 and stopped == 1.0
    taught(learner, steps=STEPS // 2, letters=LETTERS + 3, seed=5)
    for letters in (LETTERS, LETTERS + 3):
        right, stopped = said_right(learner, letters=letters)
        assert right >= 0.95 and stopped == 1.0


@soak
@pytest.mark.parametrize("fault", ["no stop", "prompt of the clip itself", "padding that is heard"])
def test_public_faults_do_not_learn_to_speak(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from olu.families.chatterbox import learn

    def spoilt(clips: Sequence, rules: object) -> object:
        made = packed(clips, rules)  # type: ignore[arg-type]
        if fault == "no stop":
            kept = made.code_targets != rules.code_stop  # type: ignore[attr-defined]
            made = replace(made, code_rows=made.code_rows[kept], code_targets=made.code_targets[kept])
        return made

    learner = new()
    if fault == "no stop":
        monkeypatch.setattr(learn, "packed", spoilt)
    elif fault == "prompt of the clip itself":
        collate = learner.collate
        learner.collate = lambda clips: collate(  # type: ignore[method-assign]
            [replace(one, beside=replace(one, beside=None)) if learner.training else one for one in clips]
        )
    else:
        collate = learner.collate
        learner.collate = lambda clips: collate(  # type: ignore[method-assign]
            [replace(one, ids=(*one.ids, *[0] * (9 - len(one.ids)))) if learner.training else one for one in clips]
        )
    taught(learner, steps=STEPS)
    right, stopped = said_right(learner)
    assert right < 0.95 or stopped < 1.0

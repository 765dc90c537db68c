"""Toy speech: a small T3 learns to say new words and to stop, keeps them when letters come, and faults prevent it."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.toy_speech import FAULTS, FIRST, GPT2, UNKNOWN, Toy, grown, new, said, taught

from olu.families.chatterbox.learn import ChatterboxLearner

soak = pytest.mark.skipif(os.environ.get("OLU_SOAK") != "1", reason="a minute of learning: make soak")
TOY, STEPS = Toy(), 900
SMALL, FEW = Toy(letters=4, voices=2, longest=4), 150  # learnt in seconds


def test_a_small_t3_learns_to_say_new_words_and_to_stop() -> None:
    learner = new(SMALL)
    assert said(learner, SMALL, count=10).right == 0.0
    taught(learner, SMALL, steps=FEW, clips=16)
    heard = said(learner, SMALL, count=40)
    assert heard.right >= 0.9 and heard.stopped == 1.0


def test_rows_for_more_letters_change_nothing_that_was_said() -> None:
    learner = new(SMALL).eval()
    larger, more = grown(learner, SMALL, by=3)
    random = np.random.default_rng(5)
    batch = learner.collate(SMALL.clips(4, random))
    old, now = (one.eval().validate(batch)["speech"].sum.item() for one in (learner, larger))
    assert more.letters == 7 and old == now
    assert len(larger.t3.text_emb.weight) == len(larger.t3.text_head.weight) == FIRST + 7


@pytest.fixture(scope="module")
def learnt() -> ChatterboxLearner:
    learner = new(TOY)
    taught(learner, TOY, steps=STEPS)
    return learner


@soak
def test_toy_speech_is_learnt_and_three_letters_more(learnt: ChatterboxLearner) -> None:
    heard = said(learnt, TOY, count=200)
    assert heard.right >= 0.95 and heard.stopped == 1.0
    larger, more = grown(learnt, TOY, by=3)
    taught(larger, more, steps=STEPS // 2, seed=5)
    for toy in (TOY, more):
        heard = said(larger, toy, count=100)
        assert heard.right >= 0.95 and heard.stopped == 1.0, toy.letters


@soak
def test_letters_that_only_the_tokenizer_has_are_never_told_apart(learnt: ChatterboxLearner) -> None:
    """The wrong table grown: ids the table does not have are read as the unknown one."""
    learner, more = new(TOY), replace(TOY, letters=TOY.letters + 3)
    learner.load_state_dict(learnt.state_dict())
    own = learner.collate
    known = range(FIRST + TOY.letters)
    learner.collate = lambda clips: own(  # type: ignore[method-assign]
        [replace(one, ids=tuple(id if id in known else UNKNOWN for id in one.ids)) for one in clips]
    )
    taught(learner, more, steps=STEPS // 2, seed=5)
    assert said(learner, more).right < 0.8


@soak
def test_a_gpt2_as_turbo_and_nano_have_it_learns_too() -> None:
    learner = new(TOY, GPT2)
    taught(learner, TOY, steps=STEPS)
    heard = said(learner, TOY)
    assert heard.right >= 0.95 and heard.stopped == 1.0


@soak
@pytest.mark.parametrize("fault", FAULTS)
def test_public_faults_do_not_learn_to_speak(fault: str) -> None:
    learner = new(TOY)
    with FAULTS[fault]():
        taught(learner, TOY, steps=STEPS)
    heard = said(learner, TOY)
    assert heard.right < 0.9 or heard.stopped < 0.9

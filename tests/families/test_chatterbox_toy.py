"""Toy speech: a small T3 learns to say new words and to stop, keeps them when letters come, and faults prevent it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.toy_speech import (
    FAULTS,
    FIRST,
    GPT2,
    LLAMA,
    SPACE,
    UNKNOWN,
    Toy,
    ToySentences,
    grown,
    known_clips,
    new,
    said,
    taught,
)

from olu.core.job import finish
from olu.export.package import Contents, write_package
from olu.families.chatterbox.codec.s3gen import S3Gen
from olu.families.chatterbox.config import ChatterboxConfig
from olu.families.chatterbox.export import VoiceReference, write_voice
from olu.families.chatterbox.heads import follow_rules
from olu.families.chatterbox.learn import ChatterboxLearner
from olu.families.chatterbox.voice import knobs
from olu.speak.engines import knob_row
from olu.speak.voice import Voice
from olu.text.characters import CharacterFrontend
from olu.text.languages import load
from olu.text.pieces import PieceVocabulary

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


# ---------------------------------------------------------------- heads that walk through the text


SPELT = ToySentences(parts=1)  # a code each: the text is looked at for every one
DRAWN_OUT = ToySentences(letters=8, voices=1)  # up to three codes: it is glanced at where a letter begins


def exported(learner: ChatterboxLearner, toy: ToySentences, path: Path, follow: Any) -> Voice:
    clip = next(known_clips(learner, toy, count=1, seed=1))[0]
    letters = "abcdefghijkl"[: toy.letters]
    s3gen: S3Gen = learner.s3gen
    with torch.no_grad():
        speaker = s3gen.flow.speaker(torch.randn(1, 24))[0]
        s3gen.mel2wav.f0_predictor.classifier.bias.fill_(120.0)
    reference = VoiceReference(clip.condition_KD, torch.arange(10), torch.randn(20, 80), speaker)
    held = Contents(
        name="toy",
        family="chatterbox",
        language=load("swa"),
        frontend=CharacterFrontend("swa", inventory=f"{letters} "),
        vocabulary=PieceVocabulary.learn([letters], tag="sw"),
        speakers=["one"],
        sentences=["abc."],
        scores={},
        facts={"run": "none"},
    )

    def graphs(folder: Path) -> dict[str, Any]:
        rules = {"least": 0.5, "most": 4.0, "usual": 1.0 if toy.parts == 1 else 2.0}
        given: dict[str, Any] = {"references": [reference], "rules": rules, "bits": 32, "follow": follow}
        facts = write_voice(learner.t3, s3gen.flow, s3gen.mel2wav, folder, **given)
        return {**facts, "engine": "flow", "knobs": {one.name: knob_row(one) for one in knobs(learner.config)}}

    finish(write_package(path, held, graphs=graphs))
    return Voice.open(path, threads=1)


def apart(voice: Voice, toy: ToySentences, texts: Sequence[str]) -> list[float]:
    """By how many codes each word begins otherwise than it does."""
    found = []
    for text in texts:
        sentence = list(voice.stream(text, quick=False, knobs={"temperature": 0.0}))[-1].sentence
        assert not sentence.faults and [one.label for one in sentence.words] == text.split(), (text, sentence.notes)
        letters = [SPACE if sign == " " else ord(sign) - ord("a") for sign in text]
        begins = toy.begins(letters)
        firsts = [begins[at] for at in range(len(text)) if at == 0 or text[at - 1] == " "]
        found += [(one.start - sentence.start) / 0.04 - code for one, code in zip(sentence.words, firsts, strict=True)]
    return found


@soak
@pytest.mark.parametrize(
    ("toy", "config", "steps", "clips"),
    [(SPELT, LLAMA, (400,), 32), (DRAWN_OUT, LLAMA, (750, 750), 16), (DRAWN_OUT, GPT2, (750, 750), 16)],
    ids=["a code a letter", "several codes", "several codes, GPT-2"],
)
def test_heads_found_on_speech_that_was_learnt_tell_when_each_word_is_said(
    tmp_path: Path, toy: ToySentences, config: ChatterboxConfig, steps: tuple[int, ...], clips: int
) -> None:
    learner = new(toy, config)
    assert follow_rules(learner.eval().t3, [clip for clip, _ in known_clips(learner, toy, count=8, seed=3)]) is None
    for seed, some in enumerate(steps):  # heads go on sharpening after the words are right
        taught(learner, toy, steps=some, clips=clips, seed=7 * seed)
    assert said(learner, toy).right >= 0.95
    follow = follow_rules(learner.t3, [clip for clip, _ in known_clips(learner, toy, count=12, seed=3)])
    assert follow is not None and follow["scores"][0] > 0.6
    voice = exported(learner, toy, tmp_path / "x.voice", follow)
    texts = ("abc deh f", "hg cbe da", "fa bcd egh", "eh gab", "cf had") if toy is DRAWN_OUT else SPELT_TEXTS
    wrong = apart(voice, toy, texts)
    assert np.abs(wrong).max() <= 3.0 and abs(np.mean(wrong)) <= 1.0


SPELT_TEXTS = ("abc dek fl", "lg khe bi cd", "fa bcd eghi", "ij klab", "cfi lhe")

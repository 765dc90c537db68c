"""Recordings through a voice's own decoder, and the words of tone languages that only tones tell apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from olu.core.job import finish
from olu.core.types import Alignment, Audio, Reading, Span
from olu.evaluate.evaluation import References, Subject
from olu.evaluate.metrics.f0 import Pitch
from olu.evaluate.sentences import pairs_said
from olu.evaluate.subject import Speaker
from olu.families import family

from ..helpers.judged import reading, voice


def test_a_copy_has_the_length_of_its_recording_and_is_the_same_every_time() -> None:
    vits = family("vits")
    config = vits.config.model_validate({"size": "tiny"})
    torch.manual_seed(3)
    learner = vits.learner(config, vocab_size=5, num_speakers=2).eval().requires_grad_(False)
    assert vits.speaks and vits.speaks.resynthesis
    recording = voice(1.2)
    one, two = (vits.speaks.resynthesis(learner, recording, speaker=0) for _ in range(2))
    assert np.array_equal(one.samples, two.samples) and one.rate == config.sampling_rate
    assert abs(one.seconds - recording.seconds) <= config.hop_length / config.sampling_rate
    other = vits.speaks.resynthesis(learner, recording, speaker=1)
    assert not np.array_equal(one.samples, other.samples)
    quiet = vits.speaks.resynthesis(learner, Audio(np.zeros(19200, np.float32), 16000), speaker=0)
    assert not np.array_equal(one.samples, quiet.samples)  # it hears what it is given


def test_a_copy_is_drawn_from_the_encoder_of_sound_as_in_training() -> None:
    """The decoder never met the means alone; what is drawn belongs to the recording, whoever drew before."""
    vits = family("vits")
    torch.manual_seed(3)
    learner = vits.learner(vits.config.model_validate({"size": "tiny"}), vocab_size=5, num_speakers=1).eval()
    assert vits.speaks and vits.speaks.resynthesis
    last = learner.gen.posterior_encoder.conv_proj  # type: ignore[union-attr]
    for value in last.parameters():  # type: ignore[union-attr]
        value.requires_grad_(False).zero_()
    deviations = last.bias[len(last.bias) // 2 :]  # type: ignore[index, arg-type]
    deviations.fill_(6.0)  # type: ignore[operator]  # large, around means of 0, whatever is heard
    one, other = voice(1.2), Audio(voice(1.2).samples * 0.5, 16000)
    first = vits.speaks.resynthesis(learner, one, speaker=0).samples
    torch.randn(7)
    assert np.array_equal(first, vits.speaks.resynthesis(learner, one, speaker=0).samples)
    assert not np.array_equal(first, vits.speaks.resynthesis(learner, other, speaker=0).samples)
    deviations.fill_(-30.0)  # type: ignore[operator]  # none: the means alone
    still = vits.speaks.resynthesis(learner, one, speaker=0).samples
    assert np.allclose(still, vits.speaks.resynthesis(learner, other, speaker=0).samples, atol=1e-7)
    assert not np.allclose(first, still, atol=1e-3)


def speaker() -> Speaker:
    subject = Subject(name="v", kind="voice", path="v", fingerprint="v", language="yor")
    return Speaker(subject, lambda text, who: voice(2.0), ("default",), reading)


def test_pairs_are_asked_only_where_they_are_known_and_can_be_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    level = Pitch(np.full(400, 120.0), 0.005)
    monkeypatch.setattr("olu.evaluate.metrics.tones.track", lambda audio: level)
    asked: list[str] = []

    def aligns(id: str, audio: Audio, read: Reading) -> Alignment:
        asked.append(id)
        phones = [phone for word in read.words for phone in word.phones]
        step = audio.seconds / len(phones)
        spans = tuple(Span(phone, n * step, (n + 1) * step) for n, phone in enumerate(phones))
        return Alignment(id=id, seconds=audio.seconds, words=(), phones=spans)

    assert finish(pairs_said(speaker(), References(language="yor"), read=reading)) == ()
    assert finish(pairs_said(speaker(), References(language="swa", aligns=aligns), read=reading)) == ()
    assert asked == []
    finish(pairs_said(speaker(), References(language="yor", aligns=aligns), read=reading))
    assert len(asked) > 20 and len(set(asked)) == len(asked)

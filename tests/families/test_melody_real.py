"""An acoustic model and a vocoder as they are trained, small, of random weights: an edit acts where it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from olu.core.job import finish
from olu.evaluate.metrics.obeyed import pitch_errors
from olu.export.package import Contents, declared, write_package
from olu.families import family
from olu.speak.engines import FrameCutter
from olu.speak.voice import Voice
from olu.text.languages import load

from ..helpers.melodic import FRONTEND, HOP, VOCABULARY

TEXT = "Mo rí ilé ọmọ náà ní ọjà lánàá, mo sì rí ọmọ rẹ̀ nílé."
WORD = 11


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Voice:
    torch.manual_seed(0)
    model, vocoder = family("acoustic"), family("vocoder")
    learner = model.learner(model.config(size="tiny"), vocab_size=VOCABULARY.size, num_speakers=1)
    decoder = vocoder.learner(vocoder.config(channels=64, layers=2), vocab_size=0, num_speakers=1)
    with torch.no_grad():  # as if it were trained: sounds are voiced, and refining does something
        learner.net.mean.out.bias[-1] = 5.0
        learner.net.refiner.out.weight.normal_(0.0, 0.1)
    contents = Contents(
        name="real",
        family="acoustic",
        language=load("yor"),
        frontend=FRONTEND,
        vocabulary=VOCABULARY,
        speakers=["default"],
        sentences=["Ilé ọmọ."],
        scores={},
        facts={},
    )

    def graphs(folder: Path) -> dict[str, Any]:
        return {
            **declared(model.speaks, learner.config),
            **model.speaks.export(learner, folder=folder, vocoder=decoder),
        }

    return finish(write_package(tmp_path_factory.mktemp("real") / "real.voice", contents, graphs=graphs))


def feeds_of(voice: Voice, monkeypatch: pytest.MonkeyPatch, melody: Any) -> tuple[dict[str, Any], np.ndarray]:
    """What the decoder is fed with, and the sound."""
    seen: list[Any] = []
    cut = FrameCutter.chunk
    monkeypatch.setattr(
        FrameCutter, "chunk", lambda self, feeds, *a, **k: seen.append(feeds) or cut(self, feeds, *a, **k)
    )
    sound = voice.speak(TEXT, melody=melody).samples
    monkeypatch.undo()
    return {name: array[0] for name, array in seen[-1].items()}, sound


def test_an_edit_reaches_as_far_as_the_networks_look(voice: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    config = family("acoustic").config(size="tiny")
    melody = voice.plan(TEXT)
    (plain, sound), (moved, other) = (feeds_of(voice, monkeypatch, one) for one in (melody, melody.moved(WORD, 4.0)))
    asked = np.flatnonzero(plain["contour"] != moved["contour"])
    word = melody.sentences[0].words[WORD]
    start, end = (int(melody.sentences[0].frames[:at].sum()) for at in (word.first, word.last))
    beside = melody.sentences[0].frames[[word.first - 2, word.last + 1]].sum()  # the sounds beyond the gaps around it
    assert start - beside <= asked.min() <= start and end - 1 <= asked.max() <= end + beside
    reach = (config.kernel // 2) * (config.mean_layers + config.steps * config.refiner_layers)
    heard = np.flatnonzero(np.abs(plain["mel"] - moved["mel"]).max(0) > 1e-6)
    assert asked.min() - reach <= heard.min() and heard.max() <= asked.max() + reach and len(heard) > len(asked)
    untouched = (asked.min() - reach - voice.facts["context"]) * HOP
    assert untouched > HOP
    np.testing.assert_allclose(sound[:untouched], other[:untouched], atol=1e-6)
    assert not np.allclose(sound[start * HOP : end * HOP], other[start * HOP : end * HOP], atol=1e-3)


def test_its_pitch_is_the_one_asked_for(voice: Voice) -> None:
    found = list(pitch_errors(voice, [TEXT], seed=0))
    assert len(found) == 4 and all(one is not None and one < 0.5 for one, _ in found), found


def test_chunks_are_the_whole_and_the_seed_decides(voice: Voice) -> None:
    whole = voice.speak(TEXT, seed=1).samples
    np.testing.assert_allclose(np.concatenate([p.audio.samples for p in voice.stream(TEXT, seed=1)]), whole, atol=1e-5)
    np.testing.assert_array_equal(voice.speak(TEXT, seed=1).samples, whole)
    assert not np.array_equal(voice.speak(TEXT, seed=2).samples, whole)

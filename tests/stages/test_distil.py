"""A voice teaches another: what it says is filtered, kept as synthetic, and gone on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.core.errors import ConfigError, VoiceError, WorkspaceError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio, Reading
from olu.corpus.manifest import Corpus
from olu.corpus.rights import of_sources
from olu.speak.voice import Voice
from olu.stages import distil
from olu.stages.distil import SaidSentence, run
from olu.stages.export import export
from olu.stages.train import train
from olu.stages.verbs.voices import DistilOptions

TEXTS = ("ሰላም ነው።", "ልጆቹ ኳስ ይጫወታሉ።", "ሻይ በወተት እወዳለሁ።", "ጥቁሩ ድመት ዛፍ ላይ ወጣ።")


@pytest.fixture
def asked(tmp_path: Path) -> DistilOptions:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join([*TEXTS, TEXTS[0], "日本"]) + "\n", encoding="utf-8")
    return DistilOptions(voice=Path("embedded"), texts=texts, to=tmp_path / "ws", threads=1)


class Ears:
    """Understands all but tea, and a take of it whose seed is not the first."""

    version = "made ears"

    def __init__(self) -> None:
        self.heard_ = 0

    def target(self, reading: Reading) -> list[str]:
        self._tea = "ሻይ" in reading.text
        return list(reading.text)

    def heard(self, audio: Audio) -> list[str]:
        self.heard_ += 1
        return [] if self._tea else list("ሰላም ነው።")


def test_what_is_said_is_kept_as_synthetic_and_gone_on_with(asked: DistilOptions, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(distil, "TOGETHER", 1)
    first: Any = finish(run(replace(asked, hours=0.0004)))
    assert 1 <= first.kept < len(TEXTS) and not first.judged_by
    done: Any = finish(run(asked))
    assert (done.spoken, done.kept, done.added) == (len(TEXTS) + 1, len(TEXTS), len(TEXTS) - first.kept)
    assert done.left_out == {"it could not be said": 1} or done.left_out == {"the voice cannot say all of it": 1}
    ws = Workspace.open(asked.to)
    corpus = Corpus.open(ws)
    assert {clip.text for clip in corpus} == set(TEXTS) and corpus.speakers == ["man"]
    rights = of_sources(ws, sorted(corpus.sources))["s1"]
    assert rights.licence == "MIT" and rights.source.startswith("synthetic: spoken by the voice amh")
    assert any("--from-scratch" in line for line in map(str, done.sentences(asked)))
    again: Any = finish(run(asked))
    assert again.kept == done.kept and again.added == 0


def test_a_small_voice_learns_from_it_and_says_whose_speech_it_was(asked: DistilOptions) -> None:
    """At the size of tests: that the path leads to a voice, with the teacher's licence, not how it sounds."""
    finish(run(asked))
    ws = Workspace.open(asked.to)
    steps = ("plan.steps=2", "plan.batch_clips=2", "plan.validate_every=2", "plan.save_every=2")
    tiny = ("family=vits", "model.size=tiny", *steps, "view.tensorboard=false")
    done = finish(train(ws, overrides=tiny, new=True))
    made = finish(export(ws.root))
    voice = Voice.open(made.voice, threads=1)
    said = voice.speak(TEXTS[0])
    assert done.steps == 2 and np.isfinite(said.samples).all() and said.samples.std() > 0
    assert made.licence == "MIT" and "synthetic: spoken by the voice amh" in str(voice.facts["rights"])


def test_what_is_not_understood_is_tried_again_and_left_out(asked: DistilOptions, monkeypatch: pytest.MonkeyPatch):
    ears = Ears()
    monkeypatch.setattr(distil, "_listener", lambda options, teacher: ears)
    done: Any = finish(run(replace(asked, most_wrong=0.999, tries=3)))
    assert done.left_out["it is not understood"] == 1 and done.judged_by == "made ears"
    assert ears.heard_ == len(TEXTS) - 1 + 3
    assert not any("ሻይ" in clip.text for clip in Corpus.open(Workspace.open(asked.to)))
    nothing = replace(asked, most_wrong=0.0, to=asked.to.with_name("other"), texts=asked.texts)
    asked.texts.write_text(TEXTS[2], encoding="utf-8")
    with pytest.raises(VoiceError, match="1: it is not understood"):
        finish(run(nothing))


def test_bad_input_is_one_sentence_and_makes_nothing(asked: DistilOptions, tmp_path: Path):
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"texts": tmp_path / "none.txt"}, ConfigError, "is not there"),
        ({"knob": ("warmth=1",)}, VoiceError, "no knob 'warmth'"),
        ({"speaker": "nobody"}, VoiceError, "nobody"),
    ]
    for given, kind, words in cases:
        with pytest.raises(kind, match=words):
            finish(run(replace(asked, **given)))
        assert not asked.to.exists()
    other = Workspace.create(tmp_path / "swa", language="swa")
    with pytest.raises(WorkspaceError, match="speaks amh"):
        finish(run(replace(asked, to=other.root)))
    with pytest.raises(WorkspaceError, match="hears swa"):
        finish(run(replace(asked, recogniser=other.root)))
    asked.texts.write_text("a|b", encoding="utf-8")
    with pytest.raises(ConfigError, match="has a bar"):
        finish(run(asked))


def test_a_sentence_has_its_pace():
    assert SaidSentence(id="a", text="ሰላም ነው።", seconds=1.0).pace == pytest.approx(0.2)

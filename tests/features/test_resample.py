"""data.resample: sound of another pitch to learn from, and what follows from it for judging and speaking."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from olu.audio.io import resample
from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.evaluate.metrics import f0
from olu.evaluate.subject import of_voice
from olu.export.formats import format_named
from olu.export.subject import from_run
from olu.features.store import Store, WaveFeature
from olu.speak.voice import Voice
from olu.stages.evaluate import evaluate
from olu.stages.export import _at_tempo, export
from olu.stages.listener import _undone
from olu.stages.prepare import prepare
from olu.stages.train_setup import prepare_run, set_up
from olu.stages.verbs.voices import EvaluateOptions
from olu.train.recipe import EVEN, Recipe, read_recipe
from olu.train.run import Run

from ..helpers.sounds import speech
from ..helpers.workspaces import trained, workspace

FACTOR = 1.1
RATE = 16000
ROWS = [
    ("c0", "habari za asubuhi", "p", "train"),
    ("c1", "maji ya mto", "p", "train"),
    ("c2", "jua kali", "p", "valid"),
]


def pitch_of(samples: NDArray[np.generic]) -> float:
    """Hertz of the strongest tone below 180: of the first clip's harmonics that is its pitch, 150."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples)), 2**18))
    return float(np.argmax(spectrum[: 2**18 * 180 // RATE])) * RATE / 2**18


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with a tiny voice that was trained on sound resampled by 1.1."""
    ws = workspace(tmp_path_factory.mktemp("moved"), ROWS, language="swa")
    trained(ws, f"data.resample={FACTOR}")
    return ws


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1, 1.25])
def test_pitch_and_tempo_rise_by_the_factor(factor: float) -> None:
    audio = speech(hertz=140)
    heard = resample(audio, RATE, factor=factor)
    assert len(heard.samples) == pytest.approx(len(audio.samples) / factor, abs=2)
    middle = [float(np.median(pitch.hertz[pitch.hertz > 0])) for pitch in map(f0.track, (audio, heard))]
    assert middle[1] / middle[0] == pytest.approx(factor, rel=0.02)
    stored = WaveFeature(RATE, factor).compute(audio)
    assert len(stored) == len(heard.samples)


def test_what_was_prepared_has_the_pitch_of_its_recipe(tmp_path: Path) -> None:
    ws = workspace(tmp_path, ROWS, language="swa")
    before = Store(ws.features / WaveFeature(RATE).key)
    lengths, pitch = dict(before.index), pitch_of(before["c0"])
    del before  # what is open is in use, and stays
    made = finish(prepare(ws, rate=RATE, factor=FACTOR, jobs=1))
    assert (made.resample, made.folder) == (FACTOR, WaveFeature(RATE, FACTOR).key) and made.folder != WaveFeature(
        RATE
    ).key
    assert [path.name for path in ws.features.glob("wave-*")] == [made.folder], "one at a time"
    store = Store(ws.features / made.folder)
    for id, (_, count) in lengths.items():
        assert store.length(id) == pytest.approx(count / FACTOR, abs=1)
    assert pitch_of(store["c0"]) / pitch == pytest.approx(FACTOR, rel=0.002)
    assert list(prepare(ws, rate=RATE, factor=FACTOR, jobs=1)) == [], "it is there already"
    assert list(prepare(ws, rate=RATE, factor=1.15, jobs=1)), "another factor is another sound"
    assert list(prepare(ws, rate=RATE, jobs=1)), "and so is none"


@pytest.mark.parametrize("value", ["0.79", "1.26", "nan"])
def test_a_factor_that_spoils_speech_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"data\.resample"):
        read_recipe(None, [f"data.resample={value}"])


def test_a_recogniser_hears_recordings_as_they_are(tmp_path: Path) -> None:
    ws = workspace(tmp_path, ROWS, language="swa")
    recipe = Recipe.model_validate({"family": "recogniser", "data": {"resample": FACTOR, "loudness": EVEN}})
    with pytest.raises(TrainError, match=r"data\.resample = 1\.1 is for voices"):
        finish(prepare_run(ws, recipe))
    with pytest.raises(TrainError, match=r"data\.resample = 1\.1 is for voices"):
        set_up(ws, recipe, device="cpu")


def test_a_run_keeps_it(moved: Workspace) -> None:
    run = Run(moved.runs_folder / "vits-001")
    assert run.recipe.data.resample == run.document("facts.json")["resample"] == FACTOR
    settings = Recipe.model_validate({"model": {"size": "tiny", "hidden_size": 32}, "data": {"resample": FACTOR}})
    setup = set_up(moved, settings, device="cpu")
    assert setup.seconds["c0"] == pytest.approx(1.2 / FACTOR, abs=1e-3)


def test_the_voice_speaks_in_the_tempo_of_the_recordings(moved: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "moved.voice"
    finish(export(moved.root, output=path, with_training=True))
    voice = Voice.open(path)
    assert voice.resample == voice.facts["resample"] == FACTOR
    assert voice.facts["sampling"]["length_scale"] == pytest.approx(FACTOR)
    assert voice.facts["facts"]["resample"] == FACTOR
    assert "resampled by 1.1 before training" in (path / "README.md").read_text(encoding="utf-8")
    own = json.loads((path / "training" / "settings.json").read_text(encoding="utf-8"))
    assert own["model"]["speaking_rate"] == 1.0, "what is fine-tuned on other recordings takes their tempo"
    for source in (moved.root, path):  # from the run, and from the package
        to = tmp_path / source.name / "hf"
        finish(export(source, to="hf", output=to))
        held = json.loads((to / "config.json").read_text(encoding="utf-8"))
        assert held["speaking_rate"] == pytest.approx(1 / FACTOR)
    finish(export(moved.root, to="piper", output=tmp_path / "piper"))
    (settings,) = (tmp_path / "piper").glob("*.json")
    assert json.loads(settings.read_text(encoding="utf-8"))["inference"]["length_scale"] == pytest.approx(FACTOR)


def test_what_others_train_on_keeps_the_tempo_it_learnt(moved: Workspace) -> None:
    run = Run(moved.runs_folder / "vits-001")
    subject = from_run(moved, run, 2, name="x", licence="", override="")
    (said,) = _at_tempo(subject, format_named("hf-train"))
    assert "1.1 times slower" in said and subject.learner.config.speaking_rate == 1.0
    assert _at_tempo(subject, format_named("hf")) == []
    assert subject.learner.config.speaking_rate == pytest.approx(1 / FACTOR)


def test_a_voice_is_judged_beside_recordings_resampled_alike(moved: Workspace) -> None:
    made = finish(evaluate(EvaluateOptions(place=moved.root, only="sanity", sentences=2)))
    (item,) = [one for one in made.evaluation.items if one.natural_seconds]
    assert item.natural_seconds == pytest.approx(1.2 / FACTOR, abs=2e-3)
    voice = Voice.open(moved.voices / "ws.voice")
    assert item.seconds == pytest.approx(voice.speak(item.text, speed=FACTOR).seconds, abs=1e-3)
    assert item.seconds != pytest.approx(voice.speak(item.text).seconds, abs=1e-3)
    assert any("resampled by 1.1" in note for note in made.evaluation.facts["notes"])


def test_a_package_is_held_against_the_recordings_it_learnt_from_and_no_others(
    moved: Workspace, tmp_path: Path
) -> None:
    finish(export(moved.root, output=tmp_path / "moved.voice"))
    fingerprint = Corpus.open(moved).fingerprint
    assert of_voice(tmp_path / "moved.voice", seed=0, corpus=fingerprint).resample == FACTOR
    for corpus in ("another", None):
        speaker = of_voice(tmp_path / "moved.voice", seed=0, corpus=corpus)
        assert speaker.resample == 1.0
        plain = Voice.open(tmp_path / "moved.voice").speak("maji").seconds
        assert speaker.say("maji", "").seconds == plain


def test_a_named_speaker_is_held_against_its_own_recordings_wherever_they_lie(moved: Workspace, tmp_path: Path) -> None:
    finish(export(moved.root, output=tmp_path / "moved.voice"))
    (name,) = Voice.open(tmp_path / "moved.voice").speakers
    one = of_voice(tmp_path / "moved.voice", seed=0, corpus="another", speaker=name)
    assert (one.resample, one.subject.speaker) == (FACTOR, name)
    plain = of_voice(tmp_path / "moved.voice", seed=0, corpus="another")
    assert one.subject.fingerprint != plain.subject.fingerprint and (plain.resample, plain.raised) == (1.0, FACTOR)
    with pytest.raises(ConfigError, match=f"--speaker nobody: .* has {name}"):
        of_voice(tmp_path / "moved.voice", seed=0, speaker="nobody")


def test_the_recogniser_hears_what_it_learnt_from(moved: Workspace) -> None:
    class Ears:
        version = "ears"
        heard: Audio

        def target(self, reading: object) -> list[str]:
            return []

        def transcribe(self, audio: Audio) -> str:
            self.heard = audio
            return ""

    ears, corpus = Ears(), Corpus.open(moved)
    hears = _undone(ears, FACTOR)
    assert hears is not None and hears.version == "ears" and _undone(ears, 1.0) is ears
    clip = corpus.clips[0]
    hears.transcribe(corpus.resampled(FACTOR).audio(clip))
    original = corpus.audio(clip)
    assert ears.heard.seconds == pytest.approx(original.seconds, abs=1e-3)
    assert pitch_of(ears.heard.samples) == pytest.approx(pitch_of(original.samples), rel=0.002)

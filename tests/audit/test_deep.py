"""The networks of --deep on made sound; skipped where they are not installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import pytest

import olu.audit.measure
import olu.networks.models
from olu.core.errors import ConfigError, MissingExtra
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio
from olu.corpus.manifest import Corpus
from olu.networks import silero
from olu.networks.models import Deep, Models
from olu.stages import doctor
from olu.stages.audit import STAGE, audit

from .conftest import RATE, silence, speech

Make = Callable[..., Workspace]
NEEDED = ("silero_vad", "speechmos", "resemblyzer", "swift_f0", "torch")
there = pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED), reason="the networks are not here: olu doctor --install-eval"
)


class Ears:
    """Stands for the networks: what is silent has no voice."""

    def listen(self, audio: Audio) -> Deep:
        loud = bool(np.abs(audio.samples).max() > 0.95)
        return Deep(voiced=0.0 if loud else 0.9, snr=30.0, quality=1.1 if loud else 3.2, voice=())


@pytest.fixture
def ears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(olu.networks.models, "Models", Ears)
    monkeypatch.setattr(olu.audit.measure, "middle", lambda sound: 120.0)


def test_a_deep_audit_adds_its_checks_and_stands_for_a_plain_one(make: Make, ears: None):
    ws = make({"good": (speech(3), "Nke a bụ okwu ọma"), "loud": (speech(3, seed=1) * 3, "Okwu ọzọ dị ebe a")})
    plain = finish(audit(ws))
    assert not plain.deep and "voice" not in plain.counts
    assert "Not looked at without --deep" in plain.report.read_text(encoding="utf-8")
    deep = finish(audit(ws, deep=True))
    assert deep.deep and deep.counts["voice"]["error"] == 1 and deep.counts["quality"]["warn"] == 1
    corpus = Corpus.open(ws)
    assert {mark.check for mark in corpus.marks(corpus.clips[1])} >= {"voice", "quality"}
    assert any("would be rated" in note for note in deep.notes)
    assert finish(audit(ws)) == deep and STAGE.state(ws) == "fresh"
    assert not finish(audit(ws, force=True)).deep


def test_what_is_missing_is_named_with_the_command_that_brings_it(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(olu.networks.models, "find_spec", lambda name: None)
    ws = make({"good": (speech(3), "Nke a bụ okwu ọma")})
    with pytest.raises(
        MissingExtra, match="olu audit --deep needs the package 'silero_vad': olu doctor --install-eval"
    ):
        finish(audit(ws, deep=True))
    assert not ws.audit_folder.exists()


def test_installing_says_what_failed_and_what_to_type(monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []

    def run(words: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(words)
        return subprocess.CompletedProcess(words, len(asked) - 1, "", "ERROR: no network")

    monkeypatch.setattr(doctor.subprocess, "run", run)
    assert "speechmos" in doctor.install_eval()
    assert asked[0][:4] == [sys.executable, "-m", "pip", "install"] and "--no-deps" in asked[0]
    with pytest.raises(ConfigError, match=r"no network\): try 'pip install --no-deps silero-vad"):
        doctor.install_eval()


@there
def test_the_networks_tell_no_voice_and_poor_sound():
    models = Models()
    noise = np.random.default_rng(0).normal(0, 0.1, 4 * RATE).astype(np.float32)
    heard = models.listen(Audio(noise, RATE))
    assert heard.voiced < 0.2 and heard.voice == ()
    assert 1.0 <= heard.quality < 2.0
    assert models.listen(Audio(silence(0.2), RATE)).snr is None
    assert models.listen(Audio(np.tile(noise, 20), RATE)).quality == pytest.approx(heard.quality, abs=0.3)


@there
def test_a_voice_is_the_same_whatever_its_loudness():
    from olu.networks import speaker

    network = Models().speaker
    one, other = speech(4, seed=1), np.sin(np.arange(4 * RATE) * 0.05).astype(np.float32) * np.float32(0.3)
    voice, louder, unlike = (np.array(speaker.embed(network, x)) for x in (one, one * np.float32(0.02), other))
    assert voice @ louder > 0.95
    assert voice @ unlike < voice @ louder
    assert np.linalg.norm(voice) == pytest.approx(1.0, abs=1e-3)


def test_an_offset_is_no_noise_beside_the_voice():
    sound = speech(3, lead=0.8, tail=0.8)
    spoken = np.zeros(len(sound) // silero.FRAME, dtype=bool)
    spoken[30:60] = True
    assert silero.snr(sound + np.float32(0.05), spoken) == pytest.approx(silero.snr(sound, spoken), abs=0.1)

"""What networks say: the speaker, the quality, and what Whisper hears. Skipped where they are not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from olu.audio import io
from olu.core import stage as extras
from olu.core.errors import MissingExtra
from olu.core.job import finish
from olu.core.types import Audio
from olu.evaluate import judge as copy
from olu.evaluate.metrics import dnsmos, f0, speaker, whisper
from olu.features import pitch

from ..helpers.english import say
from ..helpers.sounds import RATE, SHARED, noisy, real, speech

there = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("silero_vad", "speechmos", "resemblyzer", "torch", "swift_f0", "numba")),
    reason="the networks are not here: olu doctor --install-eval",
)
corpora = pytest.mark.skipif(not (SHARED / "yor").is_dir(), reason="the shared corpora are not here")


@there
def test_noise_lowers_the_opinion_and_the_same_sound_keeps_it():
    voice = speech(room=0.0)
    good, again, bad = (dnsmos.opinion(one) for one in (voice, voice, noisy(voice)))
    assert good is not None and bad is not None and good == again
    assert bad.overall < good.overall - 0.2 and bad.background < good.background - 0.5
    assert all(1.0 <= value <= 5.0 for value in (good.overall, good.signal, good.background))
    figures = {one.name: one for one in dnsmos.summarise([bad] * 3, natural=[good] * 3)}
    assert figures["dnsmos"].natural == pytest.approx(good.overall) and figures["dnsmos"].trust == "low"
    assert figures["dnsmos_difference"].mean == pytest.approx(bad.overall - good.overall)


@there
@corpora
def test_a_speaker_is_like_himself_and_less_like_another():
    yor, amh = (
        [audio for _, audio in real(language, 20) if audio.seconds > 4][:7] for language in ("yor", "amh")
    )  # shorter ones say less of who speaks
    middle = speaker.centroid(yor[:5])
    assert middle is not None and np.linalg.norm(middle) == pytest.approx(1.0)
    same = [speaker.likeness(audio, middle) for audio in yor[5:]]
    other = [speaker.likeness(audio, middle) for audio in amh[5:]]
    assert all(one is not None for one in (*same, *other))
    assert min(one for one in same if one) > 0.75 > max(one for one in other if one)
    figures = {one.name: one for one in speaker.summarise(other, natural=same)}
    assert figures["speaker_difference"].mean is not None and figures["speaker_difference"].mean < -0.1


@there
def test_too_little_speech_has_no_speaker():
    assert speaker.embed(Audio(np.zeros(RATE, np.float32), RATE)) is None
    assert speaker.centroid([Audio(np.zeros(RATE, np.float32), RATE)]) is None
    with_nothing = speaker.summarise([None, None])
    assert [one.name for one in with_nothing] == ["speaker"] and with_nothing[0].n == 0


@there
def test_a_perfect_copy_loses_nothing_and_a_poor_one_does():
    voices = [speech(10, seed=seed, room=0.0) for seed in range(2)]
    perfect = {one.name: one for one in finish(copy.judged(voices, lambda audio: audio, ears=copy.Ears()))}
    poor = {one.name: one for one in finish(copy.judged(voices, noisy, ears=copy.Ears()))}
    assert perfect["copy_mcd"].mean == 0.0 and perfect["copy_dnsmos_difference"].mean == 0.0
    assert perfect["copy_f0_correlation"].mean == pytest.approx(1.0) and "copy_speaker" not in perfect
    assert poor["copy_mcd"].mean is not None and poor["copy_mcd"].mean > 3 and "decoder" in poor["copy_mcd"].reason
    assert copy.share(poor["copy_mcd"], poor["copy_mcd"], better="lower") == 1.0
    assert copy.share(poor["copy_dnsmos"], perfect["copy_dnsmos"], better="higher") < 1.0  # type: ignore[operator]
    assert copy.share(poor["copy_mcd"], perfect["copy_mcd"], better="lower") == 0.0
    better = copy.share(perfect["copy_dnsmos"], poor["copy_dnsmos"], better="higher")
    assert better is not None and better > 1.0, "a voice can be better than its copies"
    assert "no voice" not in poor["copy_mcd"].reason


def test_what_is_missing_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pitch, "find_spec", lambda name: None)
    pitch._session.cache_clear()
    with pytest.raises(MissingExtra, match=r"swift-f0': .*install-eval"):
        f0.track(speech(3))


@pytest.mark.parametrize(("package", "says"), [("numba", r"\[eval\]"), ("swift_f0", "olu doctor --install-eval")])
def test_a_verb_says_what_it_needs_before_it_begins(package: str, says: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == package else object())
    with pytest.raises(MissingExtra, match=f"olu evaluate needs the package '{package}': .*{says}"):
        extras.need_evaluation("olu evaluate")


def test_texts_are_compared_without_marks():
    assert whisper.plain("Don’t STOP, at the café!") == "dont stop at the cafe"


def test_the_letters_of_tokens_stand_for_bytes():
    assert whisper._spelled(["ĠHello", "Ġworld", "Ã©"]) == "Hello worldé"
    assert sorted(whisper._bytes().values()) == list(range(256))


def test_long_recordings_are_cut_where_it_is_quiet():
    sound = np.random.default_rng(0).normal(0, 0.1, 70 * RATE).astype(np.float32)
    sound[25 * RATE : 25 * RATE + 3200] = 0.0
    pieces = [one.samples for one in whisper._pieces(Audio(sound, 16000))]
    assert len(pieces[0]) == pytest.approx(25 * RATE, abs=3300) and all(len(one) <= 30 * RATE for one in pieces)
    assert np.array_equal(np.concatenate(pieces), sound)


@pytest.mark.skipif(not whisper.there(), reason="Whisper is not here: olu doctor --install-eval")
@pytest.mark.skipif(find_spec("espeakng_loader") is None, reason="olu[espeak] is not installed")
def test_whisper_hears_english(tmp_path: Path):
    texts = {"fox": "The quick brown fox jumps over the lazy dog.", "bread": "She sells fresh bread every morning."}
    for name, text in texts.items():
        heard = whisper.plain(whisper.transcribe(io.read(say(text, tmp_path / f"{name}.wav"))))
        wanted = set(whisper.plain(text).split())
        assert len(wanted & set(heard.split())) >= 0.6 * len(wanted), heard
    assert "tiny.en" in whisper.instrument()

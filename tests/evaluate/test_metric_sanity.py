"""Files that are broken in one way each, and found for that."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from olu.core.types import Audio
from olu.evaluate.metrics import f0, sanity
from olu.train.guards.progress import REPEATS
from olu.train.validation import repeats

from ..conftest import SOAK
from ..helpers.sounds import RATE, SHARED, noisy, real, speech

LETTERS = 28


@pytest.fixture(scope="module")
def voice() -> Audio:
    return speech()


@pytest.fixture(scope="module")
def usual() -> sanity.Usual:
    found = sanity.usual((speech(seed=seed), LETTERS) for seed in range(4))
    assert found is not None
    return found


def faults(audio: Audio, usual: sanity.Usual, natural: float | None = None) -> tuple[str, ...]:
    pitch = f0.track(audio) if find_spec("swift_f0") is not None else None
    return sanity.check(audio, natural=natural, letters=LETTERS, usual=usual, pitch=pitch).faults


def changed(voice: Audio, **values: object) -> Audio:
    samples = voice.samples.copy()
    for place, value in values.items():
        samples[int(place[1:])] = value
    return Audio(samples, voice.rate)


def test_speech_has_no_fault_and_a_little_noise_is_none(voice: Audio, usual: sanity.Usual):
    assert faults(voice, usual, voice.seconds) == ()
    assert faults(noisy(voice), usual, voice.seconds) == ()
    assert faults(Audio(voice.samples * 2, RATE), usual) == ()


def test_silence_is_found(voice: Audio, usual: sanity.Usual):
    found = faults(Audio(np.zeros_like(voice.samples), RATE), usual, voice.seconds)
    assert {"silent", "collapsed", "pause"} <= set(found) and "loop" not in found and "length" not in found
    assert "silent" in faults(Audio(voice.samples / 200, RATE), usual)


@pytest.mark.parametrize("seconds", [0.6, 0.737, 1.0, 1.391])
def test_a_loop_of_any_length_is_found(seconds: float, voice: Audio, usual: sanity.Usual):
    piece = voice.samples[8000 : 8000 + round(seconds * RATE)]
    assert "loop" in faults(Audio(np.resize(piece, len(voice.samples)), RATE), usual)


def test_no_number_is_found_and_hides_nothing_else(voice: Audio, usual: sanity.Usual):
    assert faults(changed(voice, s20000=np.nan, s30000=np.inf), usual, voice.seconds) == ("nan",)


def test_clipping_is_found(voice: Audio, usual: sanity.Usual):
    assert faults(Audio(np.clip(voice.samples * 8, -1, 1), RATE), usual, voice.seconds) == ("clipped",)


def test_a_still_spectrum_is_a_collapse(voice: Audio, usual: sanity.Usual):
    time = np.arange(len(voice.samples)) / RATE
    buzz = (0.1 * np.sign(np.sin(2 * np.pi * 110 * time)) * np.minimum(1, time * 20)).astype(np.float32)
    assert "collapsed" in faults(Audio(buzz, RATE), usual)


def test_a_long_silence_inside_is_found(voice: Audio, usual: sanity.Usual):
    middle = len(voice.samples) // 2
    gap = np.random.default_rng(0).normal(0, 2e-4, 2 * RATE).astype(np.float32)
    samples = np.concatenate([voice.samples[:middle], gap, voice.samples[middle:]])
    assert faults(Audio(samples, RATE), usual, voice.seconds) == ("pause",)


@pytest.mark.skipif(find_spec("swift_f0") is None, reason="olu[eval] is not installed")
def test_whispering_noise_has_no_pitch(voice: Audio, usual: sanity.Usual):
    shape = np.repeat(np.random.default_rng(2).uniform(0.05, 1, 60), len(voice.samples) // 60 + 1)[: len(voice.samples)]
    hiss = np.random.default_rng(0).normal(0, 0.05, len(voice.samples)) * shape * np.hanning(len(shape))
    assert "unvoiced" in faults(Audio(hiss.astype(np.float32), RATE), usual)


def test_too_short_too_long_and_endless(voice: Audio, usual: sanity.Usual):
    assert "length" in faults(Audio(voice.samples[: len(voice.samples) // 3], RATE), usual)
    longer = faults(speech(slow=2.3), usual, voice.seconds)
    assert "length" in longer and "endless" not in longer
    assert "endless" in faults(speech(slow=3.4), usual, voice.seconds)


def test_an_offset_and_a_cut_inside_a_sound_are_found(voice: Audio, usual: sanity.Usual):
    assert "offset" in faults(Audio(voice.samples + np.float32(0.02), RATE), usual)
    loud = int(np.argmax(np.abs(voice.samples)))
    assert "click" in faults(Audio(voice.samples[:loud], RATE), usual)
    assert "click" in faults(Audio(voice.samples[loud:], RATE), usual)


def test_an_empty_file_does_not_stop_the_report(usual: sanity.Usual):
    found = sanity.check(Audio(np.zeros(0, np.float32), RATE), letters=5, usual=usual).faults
    assert "silent" in found and "length" in found


def test_without_a_corpus_only_the_sound_is_looked_at(voice: Audio):
    found = sanity.check(voice)
    assert found.faults == () and "voiced" not in found.measured and "against_letters" not in found.measured
    assert sanity.usual([]) is None


def test_the_summary_counts_files_and_names_what_was_found(voice: Audio, usual: sanity.Usual):
    good, bad = sanity.check(voice), sanity.check(Audio(np.zeros(RATE, np.float32), RATE))
    figures = {one.name: one for one in sanity.summarise([good, bad, good, None], natural=[good] * 4)}
    assert figures["faults"].mean == pytest.approx(1 / 3) and figures["faults"].natural == 0.0
    assert figures["fault_silent"].values == (0.0, 1.0, 0.0, None) and "fault_loop" not in figures


@pytest.mark.skipif(not (SHARED / "amh").is_dir(), reason="the shared corpora are not here")
def test_most_natural_recordings_have_no_fault():
    clips = [(text, audio) for text, audio in real("amh", 24) if audio.seconds < 15]
    usual = sanity.usual((audio, len(text.replace(" ", ""))) for text, audio in clips)
    found = [sanity.check(a, natural=a.seconds, letters=len(t.replace(" ", "")), usual=usual) for t, a in clips]
    assert sum(bool(one.faults) for one in found) <= len(clips) // 5
    assert not any({"loop", "collapsed", "silent", "nan", "endless"} & set(one.faults) for one in found)


def likeness(parts: list[np.ndarray]) -> float:
    return repeats(np.concatenate(parts).astype(np.float64), RATE)


@pytest.mark.parametrize("gap", [0.7, 1.5])
def test_pauses_between_sentences_are_no_loop(gap: float):
    hush = np.zeros(round(gap * RATE), np.float32)
    sentences = [part for seed in range(4) for part in (speech(seed=seed).samples, hush)]
    assert likeness(sentences) < REPEATS
    room = [part + np.random.default_rng(n).normal(0, 2e-4, len(part)) for n, part in enumerate(sentences)]
    assert likeness(room) < REPEATS


def test_a_loop_with_pauses_in_it_is_still_one(voice: Audio):
    piece, hush = voice.samples[8000:16000], np.zeros(4000, np.float32)
    assert likeness([piece, hush] * 5) > REPEATS
    assert likeness([speech(seed=1).samples, np.zeros(RATE), *([piece] * 4)]) > REPEATS


@pytest.mark.parametrize("code", ["amh", "swa", "yor"])
def test_recordings_joined_with_silence_are_no_loop_and_a_half_second_again_and_again_is(code: str):
    if not (SHARED / code).is_dir():
        pytest.skip("the shared corpora are not here")
    clips = [audio.samples for _, audio in real(code, 60 if SOAK else 4)]
    assert max(repeats(clip.astype(np.float64), RATE) for clip in clips) < REPEATS
    hush = np.zeros(round(0.7 * RATE), np.float32)
    groups = [clips[at : at + 4] for at in range(0, len(clips), 4)]
    assert max(likeness([part for clip in group for part in (clip[: 6 * RATE], hush)]) for group in groups) < REPEATS
    loudest = [int(np.argmax(np.convolve(clip[:-8000] ** 2, np.ones(4000), mode="valid"))) for clip in clips]
    assert min(likeness([clip[at : at + 8000]] * 6) for clip, at in zip(clips, loudest, strict=True)) > REPEATS

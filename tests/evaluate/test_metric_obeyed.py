"""pitch_obeyed and tone_pairs_strict, of a voice whose pitch stands open."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from olu.core.job import finish
from olu.core.types import Alignment, Audio, Reading, Span
from olu.evaluate.evaluation import References
from olu.evaluate.metrics import obeyed
from olu.evaluate.sentences import moved_words, pairs_said
from olu.evaluate.subject import of_voice
from olu.speak.voice import Voice

from ..helpers.melodic import melodic

TEXTS = ["Mo rí ilé ọmọ náà.", "Ọkọ́ wà nílé."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("obeyed") / "ade.voice"
    melodic(place)
    return place


def test_a_voice_of_pulses_obeys(folder: Path) -> None:
    asked, kept = finish(moved_words(of_voice(folder, seed=0), TEXTS, seed=0))
    assert (asked.name, kept.name, asked.unit) == ("pitch_obeyed", "pitch_kept", "semitones")
    assert asked.n == kept.n == 2 * len(obeyed.EDITS)
    assert asked.mean is not None and asked.mean < 0.5
    assert kept.mean is not None and kept.mean < 0.5


def test_one_that_does_not_is_found_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Voice.speak
    monkeypatch.setattr(Voice, "speak", lambda self, text, **wish: plain(self, text, seed=wish["seed"]))
    asked, kept = finish(moved_words(of_voice(folder, seed=0), TEXTS, seed=0))
    assert asked.mean is not None and asked.mean > 2
    assert kept.mean is not None and kept.mean < 0.1


def test_other_voices_have_no_such_figure() -> None:
    from olu.core.files import embedded_voice

    own = embedded_voice()
    assert own is not None
    assert finish(moved_words(of_voice(own, seed=0), ["ሰላም"], seed=0)) == ()


def test_minimal_pairs_are_said_both_ways(folder: Path) -> None:
    speaker = of_voice(folder, seed=0)
    assert speaker.voice is not None and speaker.read is not None

    def aligns(id: str, audio: Audio, reading: Reading) -> Alignment:
        """The voice's own lengths; the sound tells which melody it is of."""
        planned = voice.plan(reading.text, tones="strict" if _is_strict(voice, reading.text, audio) else "learnt")
        words, sounds = planned.sentences[0].spans(planned.frame_seconds)
        inside = [at for word in planned.sentences[0].words for at in range(word.first, word.last)]
        phones = tuple(Span(sounds[at].label, sounds[at].start, sounds[at].end) for at in inside)
        return Alignment(id=id, seconds=audio.seconds, words=tuple(words), phones=phones)

    voice = speaker.voice
    found = {
        one.name: one.mean
        for one in finish(pairs_said(speaker, References(language="yor", aligns=aligns), read=speaker.read))
    }
    assert set(found) == {"tone_pairs", "tone_pairs_strict"}
    assert found["tone_pairs_strict"] is not None and found["tone_pairs"] is not None
    assert found["tone_pairs_strict"] >= found["tone_pairs"]
    assert found["tone_pairs_strict"] > 0.9


def _is_strict(voice: Voice, text: str, audio: Audio) -> bool:
    strict = voice.speak(text, tones="strict").samples
    return len(strict) == len(audio.samples) and bool(np.array_equal(strict, audio.samples))

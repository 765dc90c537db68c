"""Long readings reach the encoder in stretches, and a run of a network can be ended."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.core.errors import TextError
from olu.core.files import embedded_voice
from olu.core.types import Reading, Word
from olu.speak.engines.latents import LatentsEngine
from olu.speak.graphs import Ended, RunTerminator
from olu.speak.sentences import MOST_TOKENS, stretches
from olu.speak.stream import Manner
from olu.speak.voice import TooManyTokens, Voice
from olu.text.vocabulary import SymbolVocabulary

LONG = "ọ dị mma, ka ọ dị mma " * 20  # fewer characters than a sentence is cut at
LETTERS = SymbolVocabulary.of("abcdefghij ,.\u0301")


def encoded(voice: Voice, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tokens each run of the encoder is given from now on."""
    found: list[int] = []
    kept = LatentsEngine.encode

    def counted(self: LatentsEngine, ids: Any, *rest: Any, **named: Any) -> Any:
        found.append(len(ids))
        return kept(self, ids, *rest, **named)

    monkeypatch.setattr(LatentsEngine, "encode", counted)
    return found


def test_numbers_that_grow_when_read_reach_the_encoder_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    own = embedded_voice()
    assert own is not None
    voice = Voice.open(own, threads=1)
    given_ = encoded(voice, monkeypatch)
    text = "123456789 " * 50
    next(voice.stream(text))
    assert len(given_) == 1 and given_[0] <= MOST_TOKENS
    read = voice.read(text, most_tokens=10_000)
    assert read.tokens > 7_000 and len(read.lines) < 30
    assert max(len(line.ids) for line in read.lines) <= MOST_TOKENS
    with pytest.raises(TooManyTokens, match="more than 7000 tokens"):
        voice.read(text, most_tokens=7_000)


def test_the_sound_and_the_times_go_on_over_the_cuts(voice: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    given_ = encoded(voice, monkeypatch)
    pieces = list(voice.stream(LONG))
    assert 3 <= len(given_) <= 5 and max(given_) <= MOST_TOKENS
    sentences = [piece.sentence for piece in pieces if piece.last]
    assert " ".join(sentence.text for sentence in sentences) == LONG.strip(), "as it was written"
    assert all(sentence.text.endswith(",") for sentence in sentences[:-1]), "cut after a comma"
    words = [word for sentence in sentences for word in sentence.words]
    assert [word.label for word in words] == LONG.replace(",", "").split()
    assert all(one.end <= other.start for one, other in itertools.pairwise(words))
    samples = sum(len(piece.audio.samples) for piece in pieces)
    assert sentences[-1].end == pytest.approx(samples / voice.rate), "there is no pause inside a sentence"
    for one, other in itertools.pairwise(sentences):
        assert one.end == pytest.approx(other.start)


def test_what_fits_is_said_as_before(voice: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "ọ dị mma, ka ọ dị mma " * 9
    whole = voice.speak(text).samples
    monkeypatch.setattr("olu.speak.sentences.MOST_TOKENS", 10**9)
    np.testing.assert_array_equal(voice.speak(text).samples, whole)
    assert len(voice.speak(LONG).samples) > 0


def test_a_text_read_before_sounds_as_one_read_on_the_way(voice: Voice) -> None:
    text = f"{LONG}. Kedu? 漢字 ọ dị ŋ."
    read = voice.read(text, most_tokens=10**6)
    assert read.unsaid == {"漢": 1, "字": 1, "ŋ": 1}
    made = voice._decoded(voice.begin(read, manner=Manner()))
    np.testing.assert_array_equal(
        np.concatenate([piece.audio.samples for piece in made]),
        np.concatenate([piece.audio.samples for piece in voice.stream(text)]),
    )
    with pytest.raises(TextError, match="'漢'"):
        voice.begin(voice.read("漢字", most_tokens=10), manner=Manner())


@given(
    st.lists(st.tuples(st.integers(1, 900), st.sampled_from([" ", ", ", ""])), min_size=1, max_size=60),
    st.booleans(),
)
def test_no_symbol_is_lost_and_no_stretch_is_too_long(shape: list[tuple[int, str]], interleave: bool) -> None:
    vocabulary = SymbolVocabulary(LETTERS.symbols, interleave=interleave)
    words = tuple(Word("w", tuple("abcdefghij"[n % 10] for n in range(size))) for size, _ in shape)
    breaks = ("", *(gap for _, gap in shape))
    reading = Reading(text="", normal="", words=words, breaks=breaks, dropped={"ŋ": 2})
    found = stretches("t", reading, vocabulary)
    assert all(0 < len(one.ids) <= MOST_TOKENS for one in found)
    said = "".join("".join(one.reading.symbols()) for one in found)
    assert said.replace(" ", "") == "".join(reading.symbols()).replace(" ", "")
    assert [one.reading.dropped for one in found] == [{"ŋ": 2}] + [{}] * (len(found) - 1)


def test_a_long_word_is_cut_with_its_tones_and_not_before_a_mark() -> None:
    phones = tuple("a\u0301" * 500)
    word = Word("w", phones)
    found = stretches("w", Reading(text="w", normal="w", words=(word,), breaks=("", "")), LETTERS)
    assert len(found) > 4 and not any(one.reading.words[0].phones[0] == "\u0301" for one in found)
    toned = Word("w", tuple("ab" * 300), ("H",) * 300, tuple(range(0, 600, 2)), 500)
    vocabulary = SymbolVocabulary.of(["a˥", "ˈa˥", "b", " "])
    reading = Reading(text="w", normal="w", words=(toned,), breaks=("", ""))
    said = [symbol for one in stretches("w", reading, vocabulary) for symbol in one.reading.symbols()]
    assert said == reading.symbols()


def test_a_run_can_be_ended_from_another_thread(folder: Path) -> None:
    halt = RunTerminator()
    voice = Voice.open(folder, threads=1, halt=halt)
    ids = [1, 0] * 3000  # a minute's work
    timer = threading.Timer(0.3, halt.end)
    timer.start()
    who = np.array([0], np.int64)
    with pytest.raises(Ended):
        voice.engine.encode(ids, np.random.PCG64([0, 0]), manner=Manner(), speaker=who)
    with pytest.raises(Ended):
        voice.speak("Kedu?")
    halt.lift()
    assert len(voice.speak("Kedu?").samples) > 0

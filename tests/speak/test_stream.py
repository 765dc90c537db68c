"""Speaking piece by piece: no seams, soft edges, real pauses, times of words, several threads, and leaving off."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from olu.audio.loudness import CEILING, Leveller, Limiter, loudness
from olu.core.errors import TextError, VoiceError
from olu.core.types import Span
from olu.families.vits.config import VitsConfig
from olu.families.vits.export import context_frames
from olu.speak.engines import ChunkPlan, FrameCutter, word_spans
from olu.speak.sentences import WINDOW, SpeechLine, lines
from olu.speak.stream import FADE_SECONDS, Chunk, Finish, Manner, SpokenChunk, SpokenSentence, fade
from olu.speak.voice import Voice
from olu.stages.speak import as_srt
from olu.text.characters import CharacterFrontend
from olu.text.vocabulary import SymbolVocabulary
from olu.text.words import split_sentences

from ..helpers.packages import TEXT

LONG = "ọ dị mma, ka ọ dị mma " * 8


def decibels(signal: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(10 * np.log10(np.square(signal).sum() / max(np.square(signal - other).sum(), 1e-30)))


def joined(pieces: list[SpokenChunk]) -> NDArray[np.float32]:
    return np.concatenate([piece.audio.samples for piece in pieces])


# ---------------------------------------------------------------- chunks


def test_chunks_join_without_a_seam(voice: Voice) -> None:
    pieces = list(voice.stream(LONG, speed=0.5))
    sizes = [len(piece.audio.samples) for piece in pieces]
    assert len(pieces) > 3
    assert sizes[0] == round(0.25 * 16000 / 256) * 256, "the first is short"
    assert sizes[1] > 2 * sizes[0]
    frames = sum(pieces[0].sentence.durations)
    assert sum(sizes) == 256 * frames
    uncut = planned(voice, LONG, ChunkPlan(None, 1, 1, 1))
    assert decibels(uncut, joined(pieces)) > 60
    assert decibels(uncut, voice.speak(LONG, speed=0.5).samples) > 60


def planned(voice: Voice, text: str, plan: ChunkPlan) -> NDArray[np.float32]:
    """What the voice says when its sentences are cut so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChunkPlan, "of", lambda *_, **__: plan)
        return voice.speak(text, speed=0.5).samples


def test_without_the_context_the_seam_is_there(voice: Voice) -> None:
    """The test above can fail: chunks without what is around them differ."""
    uncut = planned(voice, LONG, ChunkPlan(None, 1, 1, 1))
    bare = planned(voice, LONG, ChunkPlan(0, 16, 64, 4))
    assert decibels(uncut, bare) < 50


@given(st.integers(1, 3000), st.booleans(), st.sampled_from([0.0053, 0.0116, 0.016]))
def test_chunks_cover_every_frame_once(frames: int, quick: bool, seconds: float) -> None:
    plan = ChunkPlan.of(seconds, context=9, quick=quick)
    spans = list(plan.spans(frames))
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == frames
    assert all(0 < end - start < plan.most + plan.least for start, end in spans)
    assert min(end - start for start, end in spans) >= min(plan.least, frames)
    assert list(ChunkPlan.of(seconds, context=None, quick=quick).spans(frames)) == [(0, frames)]


def test_the_context_is_what_the_decoder_sees() -> None:
    """Away from a frame by more than the context nothing changes; by a good part of it something does."""
    import torch

    from olu.families.vits.model import Generator

    for settings in ({"size": "tiny"}, {"size": "tiny", "resblock": "2"}, {"size": "small"}):
        config = VitsConfig(**settings)
        torch.manual_seed(1)
        decoder = Generator(config, vocab_size=5, num_speakers=1).decoder.double().eval()
        context, hop = context_frames(config), config.hop_length
        latents = torch.randn(1, config.flow_size, 4 * context + 1, dtype=torch.float64)
        moved = latents.clone()
        moved[:, :, 2 * context] += 1
        with torch.no_grad():
            changed = (decoder(moved, None) - decoder(latents, None)).abs()[0].view(-1, hop).amax(1) > 0
        reached = torch.nonzero(changed).flatten()
        seen = max(2 * context - int(reached.min()), int(reached.max()) - 2 * context)
        assert context - 3 <= seen <= context, settings


def test_a_later_sentence_begins_with_a_longer_chunk(voice: Voice) -> None:
    """Sound enough is there to be heard in the meantime; a first sentence that is short brings less of it."""
    two = list(voice.stream(f"{LONG.strip()}. {LONG}", speed=0.5))
    firsts = {spoken.sentence.number: len(spoken.audio.samples) for spoken in reversed(two)}
    assert firsts[0] == round(0.25 * 16000 / 256) * 256
    assert firsts[1] == round(4.0 * 16000 / 256) * 256
    short = list(voice.stream(f"Ee. {LONG}", speed=0.5))
    firsts = {spoken.sentence.number: len(spoken.audio.samples) for spoken in reversed(short)}
    assert round(0.25 * 16000) < firsts[1] < round(4.0 * 16000)
    paused = next(voice.stream(f'<break time="5s"/> {LONG}', speed=0.5))
    assert len(paused.audio.samples) < round(5.5 * 16000), "a pause alone is nothing to be heard"


def test_parts_hold_only_what_is_needed() -> None:
    latents = np.arange(100, dtype=np.float32).reshape(1, 1, 100)
    sentence, plan = SpokenSentence(0, "", 0.0, 1.0), ChunkPlan(5, 10, 30, 4)
    making = FrameCutter(hop=4, rate=16).spoken({"latents": latents}, sentence, plan=plan, frames=100, speaker=2)
    waves, ends, sent = [], [], None
    while (made := next(making, None) if sent is None else making.send(sent)) is not None:
        if isinstance(made, Chunk):
            given = made.payload
            size = given.feeds["latents"].shape[2]
            if not ends:
                assert (size, given.keep, given.speaker) == (15, slice(0, 40), 2)
            assert made.key == ("decode", size) and made.cost == size * 4 / 16
            sent = np.repeat(given.feeds["latents"][0, 0], 4)[given.keep]
        else:
            waves.append(made.wave)
            ends.append(made.ends)
            sent = None
    assert ends == [False] * (len(ends) - 1) + [True]
    np.testing.assert_array_equal(np.concatenate(waves), np.repeat(latents[0, 0], 4))


def test_parts_of_several_texts_go_through_the_decoder_together(voice: Voice) -> None:
    """The sound of each is then the same, for every speaker, as alone."""
    assert voice.engine.decoder.batches
    made = [voice.begin(LONG, manner=Manner(seed=seed, speaker=who)) for seed, who in enumerate(("ada", "obi", "ada"))]
    some = [next(one) for one in made]
    assert all(isinstance(part, Chunk) for part in some)
    together = voice.run([part for part in some if isinstance(part, Chunk)])
    alone = [voice.run([part])[0] for part in some if isinstance(part, Chunk)]
    for one, other in zip(together, alone, strict=True):
        assert decibels(other, one) > 90
    assert decibels(alone[0], alone[2]) < 20, "other seeds sound otherwise"
    pieces = [one.send(wave) for one, wave in zip(made, alone, strict=True)]
    expected = next(voice.stream(LONG, seed=1, speaker="obi"))
    assert isinstance(pieces[1], SpokenChunk)
    np.testing.assert_array_equal(pieces[1].audio.samples, expected.audio.samples)


def test_a_voice_of_before_takes_one_part_at_a_time(voice: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    part = next(voice.begin(LONG, manner=Manner()))
    assert isinstance(part, Chunk)
    (alone,) = voice.run([part])
    runs: list[int] = []
    decoder = voice.engine.decoder
    kept = decoder.graph.run

    def run(feeds: dict[str, Any]) -> Any:
        runs.append(len(feeds["latents"]))
        return kept(feeds)

    monkeypatch.setattr(decoder.graph, "run", run)
    monkeypatch.setattr(decoder, "batches", False)
    for wave in voice.run([part, part]):
        np.testing.assert_array_equal(wave, alone)
    assert runs == [1, 1]


# ---------------------------------------------------------------- the stream


def test_the_first_sound_comes_before_the_rest_is_read_or_made(voice: Voice, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    kept = CharacterFrontend.read

    def reading(self: CharacterFrontend, text: str, *, plain: bool = False) -> Any:
        read.append(text)
        return kept(self, text, plain=plain)

    monkeypatch.setattr(CharacterFrontend, "read", reading)
    stream = voice.stream("Ka ọ dị. " * 1000)
    next(stream)
    assert len(read) == 1
    stream.close()  # whoever leaves off pays for no more
    assert len(read) == 1


def test_a_megabyte_streams_in_little_memory(voice: Voice) -> None:
    text = "Ọ dị mma, ka ọ dị. " * 55_000
    assert len(text.encode()) > 1_000_000
    stream = voice.stream(text, speed=4.0)
    next(stream)
    tracemalloc.start()
    for _, piece in zip(range(400), stream, strict=False):
        assert np.isfinite(piece.audio.samples).all()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    "text", ["ka" * 500_000, "<s>ka.</s> " * 90_000, 'ka <sub alias="ọ">x</sub> ' * 45_000, "\n\n" * 500_000 + "ka"]
)
def test_other_megabytes_begin_at_once(voice: Voice, text: str) -> None:
    piece = next(voice.stream(text, speed=4.0))
    assert len(piece.audio.samples)


def test_edges_are_soft(voice: Voice) -> None:
    size = round(FADE_SECONDS * voice.rate)
    wave = np.ones(1000, np.float32)
    soft = fade(wave, voice.rate, begins=True, ends=True)
    assert wave.all() and soft[0] < 0.01 and soft[-1] < 0.01
    assert (np.diff(soft[:size]) > 0).all() and (soft[size:-size] == 1).all()
    np.testing.assert_array_equal(soft, soft[::-1])
    samples = voice.speak("Kedu.").samples
    assert abs(samples[0]) < 0.01 and abs(samples[-1]) < 0.01
    assert len(fade(np.ones(3, np.float32), 16000, begins=True, ends=True)) == 3


@pytest.mark.parametrize("rate", [8000, 22050, 44100, 48000])
def test_another_rate_joins_too(voice: Voice, rate: int) -> None:
    import soxr

    pieces = list(voice.stream(TEXT, rate=rate))
    assert {piece.audio.rate for piece in pieces} == {rate}
    whole = soxr.resample(joined(list(voice.stream(TEXT))), 16000, rate, quality="HQ")
    out = joined(pieces)
    assert abs(len(out) - len(whole)) <= 1
    size = min(len(out), len(whole))
    assert decibels(np.clip(whole[:size], -1, 1), out[:size]) > 60


def test_breaks_are_pauses(voice: Voice) -> None:
    plain = voice.speak("Kedu, ka.", pause=0)
    said = [p.sentence for p in voice.stream('Kedu <break time="1.5s"/> ka.', pause=0) if p.last]
    assert [sentence.text for sentence in said] == ["Kedu.", "ka."]
    assert said[1].start - said[0].end == pytest.approx(1.5)
    assert len(plain.samples) > 0
    around = voice.speak('<break time="500ms"/>Kedu.<break time="2s"/>', pause=9).samples
    alone = voice.speak("Kedu.").samples
    assert len(around) == len(alone) + round(2.5 * voice.rate)
    assert not around[: voice.rate // 2].any() and not around[-2 * voice.rate :].any()
    np.testing.assert_array_equal(around[voice.rate // 2 : -2 * voice.rate], alone)


def test_a_document_of_ssml(voice: Voice) -> None:
    text = '<speak><p>Kedu. Ka <sub alias="ọ dị">x</sub>.</p><p><s>Ọ dị mma</s></p></speak>'
    said = [p.sentence.text for p in voice.stream(text) if p.last]
    assert said == ["Kedu.", 'Ka <sub alias="ọ dị">x</sub>.', "Ọ dị mma"]
    with pytest.raises(TextError, match="never closed"):
        voice.stream("<speak>Kedu. Ka.")
    with pytest.raises(TextError, match="too long"):
        voice.stream('Kedu <break time="3600s"/> ka.')


def test_windows_change_no_sentence() -> None:
    rng = np.random.default_rng(0)
    words = ["ka", "ọ", "dị", "mma,", "Sr.", "3.5", "mma.", "ka!", "ọ?\n\n"]
    text = " ".join(rng.choice(words, 6000))
    assert len(text) > 3 * WINDOW
    expected = split_sentences(text, [".", "?", "!"], abbreviations=["sr."])
    assert [line.text for line in lines(text, [".", "?", "!"], abbreviations=["sr."])] == expected
    assert list(lines("", ["."])) == []
    assert list(lines('a <break strength="x-strong"/> b', ["."])) == [SpeechLine("a."), SpeechLine("b", 1.0)]


# ---------------------------------------------------------------- the wishes


@pytest.mark.parametrize(
    "wish",
    [
        {"pause": -1},
        {"pause": 100},
        {"noise": 3},
        {"noise": float("nan")},
        {"duration_noise": -0.1},
        {"rate": 100},
        {"rate": 10**7},
        {"loudness": 3},
        {"loudness": float("-inf")},
        {"seed": 2**70},
    ],
)
def test_wishes_out_of_reach(voice: Voice, wish: dict[str, Any]) -> None:
    with pytest.raises(VoiceError, match="choose") as raised:
        voice.stream(TEXT, **wish)
    assert "\n" not in str(raised.value)


def test_noise_acts(voice: Voice) -> None:
    usual = voice.speak("Kedu.")
    still, again = (voice.speak("Kedu.", noise=0.0, duration_noise=0.0, seed=seed).samples for seed in (0, 1))
    np.testing.assert_array_equal(still, again)
    other = voice.speak("Kedu.", duration_noise=0.0).samples
    assert other.shape != usual.samples.shape or not np.allclose(other, usual.samples)
    calm = voice.speak("Kedu.", noise=0.1).samples
    assert calm.shape == usual.samples.shape and not np.allclose(calm, usual.samples)


SPEAK = """
import sys, hashlib
from olu.speak.voice import Voice
audio = Voice.open(sys.argv[1], threads=int(sys.argv[2])).speak(sys.argv[3], seed=5)
print(hashlib.sha256(audio.samples.tobytes()).hexdigest())
"""


def test_two_processes_with_one_and_two_threads_agree(folder: Path) -> None:
    """To the last bit: each sample is summed in one order, whoever computes it."""
    said = [
        subprocess.run([sys.executable, "-c", SPEAK, str(folder), n, LONG], capture_output=True, text=True, check=True)
        for n in ("1", "2")
    ]
    assert len(said[0].stdout.strip()) == 64
    assert said[0].stdout == said[1].stdout
    here = Voice.open(folder, threads=2).speak(LONG, seed=5).samples
    assert hashlib.sha256(here.tobytes()).hexdigest() == said[0].stdout.strip()


def test_several_threads_on_one_voice(voice: Voice) -> None:
    texts = [f"Kedu ka ị mere? {'ọ dị mma ' * n}" for n in range(1, 9)]
    alone = [joined(list(voice.stream(text, seed=n))) for n, text in enumerate(texts)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda n: joined(list(voice.stream(texts[n], seed=n))), range(len(texts))))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------- loudness


def tone(level: float, *, seconds: float = 3.0, rate: int = 48000, hz: float = 997.0) -> NDArray[np.float32]:
    return (level * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype(np.float32)


def test_loudness_is_that_of_the_recommendation() -> None:
    """A tone of 997 Hz at full scale is -3.01 LUFS; silence has none; what is silent in between does not count."""
    assert loudness(tone(1.0), 48000) == pytest.approx(-3.01, abs=0.05)
    assert loudness(tone(0.1), 48000) == pytest.approx(-23.01, abs=0.05)
    assert loudness(tone(0.1, rate=16000), 16000) == pytest.approx(-23.01, abs=0.05)
    assert loudness(np.zeros(48000, np.float32), 48000) is None
    gaps = np.concatenate([tone(0.1), np.zeros(480000, np.float32), tone(0.1)])
    assert loudness(gaps, 48000) == pytest.approx(-23.01, abs=0.3)
    low = loudness(tone(0.1, hz=50.0), 48000)
    assert low is not None and low < -24  # the ear hears it less
    assert loudness(tone(0.1, seconds=0.1), 48000) == pytest.approx(-23.01, abs=0.2)


@pytest.mark.parametrize("target", [-30.0, -23.0, -16.0])
def test_the_voice_is_as_loud_as_asked(voice: Voice, target: float) -> None:
    text = f"{TEXT} {LONG}. " * 3
    found = loudness(voice.speak(text, loudness=target).samples, voice.rate)
    assert found == pytest.approx(target, abs=0.5)
    short = loudness(voice.speak(TEXT, loudness=target).samples, voice.rate)
    assert short == pytest.approx(target, abs=1.0), "the pause reaches into many of its blocks"
    streamed = loudness(joined(list(voice.stream(text, loudness=target))), voice.rate)
    assert streamed == pytest.approx(target, abs=1.5)
    usual = loudness(voice.speak(text).samples, voice.rate)
    assert usual is not None and abs(usual - target) > 0.01


def test_nothing_clips(voice: Voice) -> None:
    samples = voice.speak(TEXT, loudness=-5.0).samples
    assert np.abs(samples).max() <= CEILING + 1e-6


def test_the_limiter_leaves_quiet_sound_alone_and_joins_chunks() -> None:
    rng = np.random.default_rng(0)
    quiet = (rng.standard_normal(5000) * 0.1).astype(np.float32)
    np.testing.assert_array_equal(Limiter(16000).push(quiet, last=True), quiet)
    loud = (rng.standard_normal(20000) * 0.6).astype(np.float32)
    whole = Limiter(16000).push(loud, last=True)
    assert len(whole) == len(loud) and np.abs(whole).max() <= CEILING + 1e-6
    for size in (33, 100, 3000):
        limiter, cuts = Limiter(16000), range(0, len(loud), size)
        parts = [limiter.push(loud[at : at + size], last=at + size >= len(loud)) for at in cuts]
        np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-6)


def test_the_leveller_learns() -> None:
    known, unknown = Leveller(-20, usual=-26.0), Leveller(-20, usual=None)
    assert known.gain() == pytest.approx(10 ** (6 / 20), rel=1e-3)
    assert not unknown.knows and unknown.gain() == 1.0
    for level in (known, unknown):
        for _ in range(50):
            level.hear(tone(0.1, rate=8000), 8000)
        assert level.gain() == pytest.approx(10 ** (3.01 / 20), rel=0.04)


def test_a_finish_at_the_same_rate_changes_nothing() -> None:
    samples = tone(0.5, seconds=0.1)
    np.testing.assert_array_equal(Finish(48000, 48000, limited=False).push(samples, last=True), samples)


# ---------------------------------------------------------------- times


def test_words_have_the_times_of_their_tokens() -> None:
    frontend = CharacterFrontend("ibo", inventory="ado kẹ.")
    reading = frontend.read("ad ok.")
    vocabulary = SymbolVocabulary.of("ado kẹ.")
    #            _ a _ d _ ␣ _ o _ k _ . _
    durations = [1, 2, 1, 3, 1, 4, 1, 5, 1, 2, 1, 6, 1]
    assert len(vocabulary.encode(reading)) == len(durations)
    one, two = word_spans(reading, vocabulary, durations, frame_seconds=0.5, start=10.0)
    assert one == Span("ad", 10.0, 10.0 + 0.5 * 8)
    assert two == Span("ok", 10.0 + 0.5 * 12, 10.0 + 0.5 * 22)
    bare = SymbolVocabulary(vocabulary.symbols, interleave=False)
    assert [s.end for s in word_spans(reading, bare, [2, 3, 4, 5, 2, 6], frame_seconds=1.0, start=0)] == [5.0, 16.0]


def test_times_of_a_text_rise_and_fit_the_sound(voice: Voice) -> None:
    said = [p.sentence for p in voice.stream(f"{TEXT} Nnọọ!", pause=0.7) if p.last]
    words = [word for sentence in said for word in sentence.words]
    assert [word.label.lower() for word in words] == ["kedu", "ka", "ị", "mere", "ọ", "dị", "mma", "nnọọ"]
    times = [time for word in words for time in (word.start, word.end)]
    assert times == sorted(times)
    for sentence in said:
        assert sentence.start <= sentence.words[0].start and sentence.words[-1].end <= sentence.end
    assert said[-1].end == pytest.approx(voice.speak(f"{TEXT} Nnọọ!", pause=0.7).seconds)


def test_srt() -> None:
    assert as_srt([Span("a\nb", 0.0, 1.2345), Span("c", 3599.9996, 7322.5)]) == (
        "1\n00:00:00,000 --> 00:00:01,234\na b\n\n2\n01:00:00,000 --> 02:02:02,500\nc\n"
    )


@pytest.mark.parametrize("text", ["漢字. Kedu. Ọ dị.", "Kedu. 漢字. Ọ dị.", "Kedu. Ọ dị. 漢字."])
def test_a_sentence_that_is_left_out_whole_is_told_of(voice: Voice, text: str) -> None:
    said = [piece.sentence for piece in voice.stream(text) if piece.last]
    assert [sentence.text for sentence in said] == ["Kedu.", "Ọ dị."]
    assert sum((Counter(sentence.dropped) for sentence in said), Counter()) == {"漢": 1, "字": 1}
    np.testing.assert_array_equal(voice.speak(text).samples, voice.speak("Kedu. Ọ dị.").samples)

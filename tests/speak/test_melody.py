"""Lengths and pitch that stand open: planned, edited, said again; tones, <prosody>, gaps and speed."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from olu.core.errors import TextError, VoiceError
from olu.features import pitch as tracker
from olu.speak.contour import line_through, push_apart, tone_steps, whole_frames
from olu.speak.engines import ChunkPlan
from olu.speak.melody import Melody, MelodySentence
from olu.speak.stream import Manner
from olu.speak.voice import Voice
from olu.text import markup

from ..helpers.melodic import HOP, RANGE, REACH, melodic
from ..helpers.packages import edit, seal

TEXT = "Ẹ káàárọ̀, ọ̀rẹ́ mi. Ọjà dára."
LONG = "Mo fẹ́ràn ọjà, mo rí ilé, o ra aṣọ, wọ́n lọ sí oko, a jẹun, " * 3


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("melody") / "ade.voice"
    melodic(place)
    return place


@pytest.fixture(scope="session")
def voice(folder: Path) -> Voice:
    return Voice.open(folder, threads=1)


def word_samples(melody: Melody, word: int) -> tuple[int, int]:
    one = melody.sentences[0]
    first, last = one.words[word].first, one.words[word].last
    return int(one.frames[:first].sum()) * HOP, int(one.frames[:last].sum()) * HOP


# ---------------------------------------------------------------- plan and speak


def test_a_plan_is_what_is_said(voice: Voice, tmp_path: Path) -> None:
    melody = voice.plan(TEXT, speed=1.2, knobs={"pitch": 1.0})
    spoken = [piece.sentence for piece in voice.stream(TEXT, speed=1.2, knobs={"pitch": 1.0}) if piece.last]
    assert [tuple(one.frames) for one in melody.sentences] == [one.durations for one in spoken]
    assert [one.start for one in melody.sentences] == pytest.approx([one.start for one in spoken], abs=1e-4)
    assert [[w.text for w in one.words] for one in melody.sentences] == [[w.label for w in s.words] for s in spoken]
    melody.save(tmp_path / "m.json")
    again = Melody.load(tmp_path / "m.json")
    assert again == melody
    np.testing.assert_array_equal(
        voice.speak(TEXT, melody=again, seed=4).samples,
        voice.speak(TEXT, speed=1.2, knobs={"pitch": 1.0}, seed=4).samples,
    )
    assert not np.array_equal(voice.speak(TEXT, melody=again).samples, voice.speak(TEXT, melody=again, seed=1).samples)


def test_chunks_are_the_whole_and_long_sentences_are_refined_in_pieces(
    voice: Voice, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = voice.plan(LONG).sentences[0].frames
    assert frames.sum() * HOP / 16000 > 9
    engine: Any = voice.engine
    ids = voice.vocabulary.encode(voice.frontend.read(LONG))
    ends = engine._pieces(ids, frames)
    assert len(ends) > 1 and ends[-1] == frames.sum() and all(np.diff([0, *ends]) * HOP / 16000 <= 8)
    whole = voice.speak(LONG, seed=2).samples
    pieces = [piece.audio.samples for piece in voice.stream(LONG, seed=2)]
    assert len(pieces) > 2
    np.testing.assert_allclose(np.concatenate(pieces), whole, atol=1e-6)
    refined: list[int] = []
    step = type(engine)._refine
    monkeypatch.setattr(
        engine, "_refine", lambda *given, **more: refined.append(given[3]) or step(*given, **more), raising=False
    )
    stream = voice.stream(LONG)
    next(stream)
    assert refined == [0], "the first sound waits for the first piece alone"
    monkeypatch.setattr(ChunkPlan, "of", lambda *_, **__: ChunkPlan(0, 20, 40, 2))
    assert not np.allclose(voice.speak(LONG, seed=2).samples, whole, atol=1e-6), "this test can fail"


def test_an_edit_moves_the_pitch_where_it_is_asked_for_and_nothing_before(voice: Voice) -> None:
    text = "Mo rí ilé ọmọ náà."
    melody = voice.plan(text)
    plain = voice.speak(text, melody=melody, knobs={"temperature": 0.0}).samples
    for semitones in (-4.0, -2.0, 2.0, 4.0):
        edited = voice.speak(text, melody=melody.moved(3, semitones), knobs={"temperature": 0.0}).samples
        start, end = word_samples(melody, 3)
        assert len(edited) == len(plain)
        left = melody.sentences[0].frames[: melody.sentences[0].words[3].first]
        untouched = start - (int(np.ceil(left[-1] / 6)) + 1 + REACH) * HOP  # the line turns at the knot before
        np.testing.assert_allclose(edited[:untouched], plain[:untouched], atol=1e-6)
        heard = [tracker.hear(sound)[0][start // HOP + 2 : end // HOP - 1] for sound in (plain, edited)]
        assert np.median(12 * np.log2(heard[1] / heard[0])) == pytest.approx(semitones, abs=0.3)


def test_lengths_that_are_edited_act(voice: Voice) -> None:
    melody = voice.plan("Ọjà dára.")
    one = melody.sentences[0]
    longer = [replace(token, frames=token.frames + 3) for token in one.tokens]
    edited = replace(melody, sentences=(replace(one, tokens=tuple(longer)),))
    more = len(voice.speak("Ọjà dára.", melody=edited).samples) - len(voice.speak("Ọjà dára.").samples)
    assert more == 3 * len(longer) * HOP
    half = voice.speak("Ọjà dára.", melody=edited, speed=2.0).samples
    assert len(half) == pytest.approx(len(voice.speak("Ọjà dára.", melody=edited).samples) / 2, abs=HOP)


WRONG = {
    "other text": (lambda row: row, "is of another text", "Ọjà kò dára."),
    "other voice": (lambda row: {**row, "networks": "x"}, "is of the voice ade or of other weights", TEXT),
    "half a frame": (lambda row: _token(row, frames=2.5), "frames", TEXT),
    "no frames": (lambda row: _token(row, frames=-1), "0 to 1000 can be said", TEXT),
    "no pitch": (lambda row: _token(row, knots=[0, 1, 2]), "20 to 4000 can be said", TEXT),
    "fewer knots": (lambda row: _token(row, knots=[100]), "different numbers of knots", TEXT),
    "another format": (lambda row: {**row, "melody": 9}, "its format is 9", TEXT),
    "a list": (lambda row: [row], "no melody", TEXT),
    "a key too many": (lambda row: {**row, "mood": 1}, "mood", TEXT),
}


def _token(row: Any, **change: Any) -> Any:
    row["sentences"][0]["tokens"][0] |= change
    return row


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_no_melody_of_it_is_refused_in_one_sentence(kind: str, voice: Voice, tmp_path: Path) -> None:
    change, says, text = WRONG[kind]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(change(json.loads(voice.plan(TEXT).json()))), encoding="utf-8")
    with pytest.raises(VoiceError) as raised:
        voice.speak(text, melody=Melody.load(path))
    assert says in str(raised.value) and "\n" not in str(raised.value)


def test_voices_without_a_melody_say_so() -> None:
    amharic = Voice.open("embedded")
    with pytest.raises(VoiceError, match="has no melody to show: only voices of an acoustic model"):
        amharic.plan("ሰላም")
    with pytest.raises(TextError, match="cannot follow <prosody>: only voices"):
        amharic.speak('<prosody pitch="+2st">ሰላም</prosody>')
    with pytest.raises(VoiceError, match="has no melody to be told"):
        amharic.speak("ሰላም", tones="strict")


# ---------------------------------------------------------------- lengths


def test_gaps_pause_where_they_are_heard(tmp_path: Path, voice: Voice) -> None:
    one = voice.plan("Ọjà dára, ó wà.").sentences[0]
    silent = {token.symbol: token.frames for token in one.tokens if token.symbol in " ,."}
    assert silent[","] > 0 and silent["."] > 0 and silent[" "] == 0
    never = melodic(tmp_path / "never.voice", pauses={"threshold": 0.99}, longest={"a": 2})
    found = never.plan("Ọjà dára, ó wà.").sentences[0]
    assert all(token.frames == 0 for token in found.tokens if token.symbol in " ,.")
    assert {token.frames for token in found.tokens if token.symbol == "a"} <= {1, 2}
    never.speak("Ọjà dára, ó wà.")


@pytest.mark.parametrize("speed", [0.5, 0.9, 1.1, 1.37])
def test_speed_holds_in_sum(voice: Voice, speed: float) -> None:
    usual, other = (sum(one.frames.sum() for one in voice.plan(LONG, speed=s).sentences) for s in (1.0, speed))
    assert usual / other == pytest.approx(speed, rel=0.01)


def test_rounding_is_carried_on() -> None:
    least = np.ones(200, np.int64)
    assert whole_frames(np.full(200, 2.3), least).sum() == 460
    assert set(whole_frames(np.full(200, 2.3), least)) == {2, 3}
    assert list(whole_frames(np.array([0.2, 0.2, 3.0]), least[:3])) == [1, 1, 1], "what is too long is taken off later"
    assert list(whole_frames(np.zeros(2), np.zeros(2, np.int64))) == [1, 0], "something is always heard"


def test_the_line_passes_over_what_is_rarely_voiced() -> None:
    knots, frames = np.array([[7.0] * 3, [1.0] * 3, [8.0] * 3]), np.array([6, 6, 6])
    line = line_through(knots, frames, np.array([True, False, True]))
    assert line.min() >= 7.0 and (np.diff(line) >= 0).all()
    np.testing.assert_allclose(line[[0, 17]], [7.0, 8.0])
    np.testing.assert_allclose(line_through(knots, frames, np.zeros(3, bool))[7:11], 1.0)


# ---------------------------------------------------------------- tones


def heights(sentence: MelodySentence) -> list[float]:
    return [float(np.median(12 * np.log2(token.knots))) for token in sentence.tokens if token.tone]


def test_faults_are_told_before_any_sound_and_strict_mends_them(voice: Voice) -> None:
    text = "Ọkọ́ ọkọ̀ ọ̀kọ̀."
    told = voice.plan(text).tone_faults
    assert told[0] == "ọkọ́: the step from M to H is 0.6 semitones up, 1 is wanted"
    assert len(told) == 2
    strict = voice.plan(text, tones="strict")
    assert not strict.tone_faults
    assert strict.sentences[0].notes == ("written tone steps pushed apart: 2 of 3",)
    said = [piece.sentence.notes for piece in voice.stream(text, tones="strict") if piece.last]
    assert said == [strict.sentences[0].notes]
    before, after = heights(voice.plan(text).sentences[0]), heights(strict.sentences[0])
    assert after[0] - before[0] == pytest.approx(before[1] - after[1], abs=0.01), "both give way by half"
    assert after[4:] == before[4:], "level tones stay"


def test_unknown_tones_are_never_moved(voice: Voice) -> None:
    knots = np.array([[80.0] * 3, [80.0] * 3, [80.0] * 3])
    words, used = [(0, 3)], np.ones(3, bool)
    for tones in (["H", "?", "L"], ["H", "", "?"], ["HL", "", "L"]):
        steps = tone_steps(words, tones)
        assert not steps
        np.testing.assert_array_equal(push_apart(knots, steps, words, used)[0], knots)
    pushed, count = push_apart(knots, tone_steps(words, ["H", "L", "H"]), words, used)
    assert count == 2 and np.diff(pushed[:, 0]) == pytest.approx([-1.15, 1.15], abs=0.2)
    pushed, count = push_apart(knots, tone_steps(words, ["H", "", "D"]), words, used)
    assert count == 1 and pushed[0, 0] - pushed[2, 0] == pytest.approx(0.7, abs=0.05)
    assert pushed[1, 0] == pytest.approx(80.0), "what lies between follows"


# ---------------------------------------------------------------- <prosody>


def knots_of(voice: Voice, text: str) -> list[np.ndarray]:
    one = voice.plan(text).sentences[0]
    return [12 * np.log2(one.knots[word.first : word.last]) for word in one.words]


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ('pitch="+3st"', 3.0, 3.0),
        ('pitch="-10%"', 12 * np.log2(0.9), 12 * np.log2(0.9)),
        ('pitch="x-high"', 6.0, 6.0),
        ('contour="(0%,+2st) (100%,-1st)"', 2.0, -1.0),
        ('pitch="-1st" contour="(0%,+2st)"', 1.0, 1.0),
    ],
)
def test_prosody_moves_the_knots_of_its_words(voice: Voice, asked: str, first: float, last: float) -> None:
    plain = knots_of(voice, "Mo rí ilé ọmọ.")
    edited = knots_of(voice, f"Mo <prosody {asked}>rí ilé</prosody> ọmọ.")
    np.testing.assert_allclose(edited[0], plain[0], atol=0.01)
    np.testing.assert_allclose(edited[3], plain[3], atol=0.01)
    assert (edited[1] - plain[1])[0, 0] == pytest.approx(first, abs=0.25)
    assert (edited[2] - plain[2])[-1, -1] == pytest.approx(last, abs=0.25)


def test_prosody_rate_and_nesting_and_many_sentences(voice: Voice) -> None:
    def seconds(text: str) -> list[float]:
        return [word.end - word.start for p in voice.stream(text) if p.last for word in p.sentence.words]

    plain = seconds("Mo rí ilé. Ọjà dára.")
    slow = seconds('Mo <prosody rate="50%">rí ilé. Ọjà</prosody> dára.')
    assert [b / a for a, b in zip(plain, slow, strict=True)] == pytest.approx([1, 2, 2, 2, 1], rel=0.15)
    assert seconds('Mo <prosody rate="2">rí <prosody rate="slow">ilé</prosody></prosody>.')[2] == pytest.approx(
        plain[2] / 1.5, rel=0.2
    )
    crawls = '<prosody rate="0.25">' * 8 + "Mo rí ilé." + "</prosody>" * 8
    assert seconds(crawls)[2] == pytest.approx(4 * plain[2], rel=0.1), "no slower than speech may be"
    shown = [p.sentence.text for p in voice.stream('<prosody rate="2">Mo rí. Ilé dára.</prosody>') if p.last]
    assert shown == ["Mo rí.", "Ilé dára."]
    high = voice.plan('<prosody pitch="+2st">Mo [[o˥]] <sub alias="ilé">x</sub></prosody> dára.').sentences[0]
    assert heights(high)[1] > heights(voice.plan("Mo [[o˥]] ilé dára.").sentences[0])[1] + 1.9


def test_pitch_is_kept_near_the_speakers_range_and_that_is_said(voice: Voice) -> None:
    pieces = list(voice.stream('Mo <prosody pitch="+20st">rí</prosody>.'))
    assert pieces[-1].sentence.notes == (
        "the pitch of 2 sounds was kept within 64 to 311 Hz, 6 semitones around the speaker's range",
    )
    top = voice.plan('Mo <prosody pitch="+20st">rí</prosody>.').sentences[0].knots.max()
    assert top == pytest.approx(RANGE[2] * 2**0.5, abs=0.01)


@pytest.mark.parametrize(
    ("tag", "says"),
    [
        ('<prosody pitch="loud">a</prosody>', "pitch='loud' is not read: write for example +3st or -10%"),
        ('<prosody contour="(0%,+2st) 7">a</prosody>', "contour='(0%,+2st) 7' is none"),
        ('<prosody contour="(120%,+2st)">a</prosody>', "is none"),
        ('<prosody rate="0">a</prosody>', "rate='0' is out of reach"),
        ('<prosody rate="+2">a</prosody>', "rate='+2' is not read"),
        ('<prosody volume="1">a</prosody>', "has no attribute 'volume'"),
        ('<prosody pitch="+99st">a</prosody>', "is more than 24 semitones"),
        ('<prosody pitch="+1st">a', "<prosody> is never closed"),
        ("a</prosody>", "</prosody> closes nothing"),
        ('<prosody rate="2">' * 9 + "a" + "</prosody>" * 9, "<prosody> lies inside of 8 others"),
    ],
)
def test_prosody_that_is_wrong_is_one_sentence(voice: Voice, tag: str, says: str) -> None:
    with pytest.raises(TextError) as raised:
        voice.speak(tag)
    assert says in str(raised.value) and "\n" not in str(raised.value)


def test_prosody_of_every_sentence_is_closed() -> None:
    said, held = markup.closed_prosody('a <prosody rate="2">b', [])
    assert said == 'a <prosody rate="2">b</prosody>' and held == ['<prosody rate="2">']
    assert markup.closed_prosody("c</prosody> d", held) == ('<prosody rate="2">c</prosody> d', [])


# ---------------------------------------------------------------- packages and servers


def test_a_text_that_was_read_before_keeps_its_prosody(voice: Voice) -> None:
    """As a server's worker does it."""
    text = 'Mo <prosody pitch="+3st" rate="slow">rí ilé</prosody>. Ọjà dára.'
    making = voice.begin(voice.read(text, most_tokens=200), manner=Manner(), quick=False)
    pieces = list(voice._decoded(making))
    np.testing.assert_array_equal(np.concatenate([p.audio.samples for p in pieces]), voice.speak(text).samples)


@pytest.mark.parametrize(
    "facts",
    [
        {"voiced": [0.5]},
        {"voiced": {"a": 7}},
        {"longest": {"a": "long"}},
        {"pauses": 0.5},
        {"pauses": {"threshold": 2}},
        {"pitch": {"speakers": {"ade": [1, 2]}}},
        {"pitch": {"speakers": [90, 147, 220]}},
    ],
)
def test_a_package_that_says_nonsense_is_one_sentence(folder: Path, tmp_path: Path, facts: dict[str, Any]) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "x.voice"))
    edit(copy / "voice.json", lambda held: {**held, **facts})
    seal(copy)
    with pytest.raises(VoiceError, match="damaged") as raised:
        Voice.open(copy)
    assert "\n" not in str(raised.value)

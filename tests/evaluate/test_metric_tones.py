"""Tones in made sound whose heights are known."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from olu.core.types import Alignment, Reading, Span, Word
from olu.evaluate.metrics import tones
from olu.evaluate.metrics import tones as tone_pairs
from olu.evaluate.metrics.f0 import Pitch
from olu.text import frontend, languages
from olu.text.frontend import ReadingSettings

from ..helpers.sounds import speech, times

RATE_OF_SPEECH = 0.2  # seconds per syllable
HEIGHTS = {"H": 4.0, "M": 2.0, "L": 0.0}


def reading(words: list[str]) -> Reading:
    made = tuple(Word("w", ("k", "a") * len(word), tuple(word), tuple(range(1, 2 * len(word), 2))) for word in words)
    return Reading(text="", normal="", words=made, breaks=("",) * (len(words) + 1))


def aligned(words: list[str], *, pause_after: int | None = None) -> Alignment:
    spans, at = [Span("", 0.0, 0.3)], 0.3
    for number, word in enumerate(words):
        for _ in word:
            spans += [Span("k", at, at + 0.05), Span("a", at + 0.05, at + RATE_OF_SPEECH)]
            at += RATE_OF_SPEECH
        if number == pause_after:
            spans.append(Span("", at, at + 0.3))
            at += 0.3
    spans.append(Span("", at, at + 0.3))
    return Alignment(id="x", seconds=at + 0.3, words=(), phones=tuple(spans))


def melody(alignment: Alignment, heights: list[float], *, slope: float = 0.0, noise: float = 0.0) -> Pitch:
    """Pitch that is at each vowel's height, falling by `slope` semitones a second from each pause on."""
    step = 16 / 3 / 1000
    at = np.arange(int(alignment.seconds / step)) * step
    hertz = np.zeros(len(at))
    vowels = iter(heights)
    start, random = 0.0, np.random.default_rng(0)
    for span in alignment.phones:
        start = span.end if not span.label else start
        if span.label == "a":
            inside = (at >= span.start) & (at < span.end)
            semitones = next(vowels) - slope * (at[inside] - start) + random.normal(0, noise)
            hertz[inside] = 120 * 2 ** (semitones / 12)
    return Pitch(hertz, step)


def moved(words: list[str], spoken: list[str], **more: float) -> tuple[tones.Move, ...]:
    """Moves of `words` when the pitch says `spoken`."""
    alignment = aligned(words)
    heights = [HEIGHTS[tone] for word in spoken for tone in word]
    return tones.moves(tones.syllables(alignment, reading(words), melody(alignment, heights, **more)))


WORDS = ["HL", "LH", "HH", "LL", "HLH", "LL", "HL"]


def test_right_tones_are_right_and_turned_ones_wrong():
    assert all(move.right for move in moved(WORDS, WORDS)) and len(moved(WORDS, WORDS)) == 8
    turned = [word.translate(str.maketrans("HL", "LH")) for word in WORDS]
    wrong = moved(WORDS, turned)
    assert not any(move.right for move in wrong if move.kind in ("HL", "LH"))
    assert all(move.right for move in wrong if move.kind in ("HH", "LL"))  # level stays level


def test_the_fall_of_a_phrase_is_taken_off():
    steep = moved(WORDS, WORDS, slope=6.0)
    assert all(move.right for move in steep)
    flat = [move for move in steep if move.kind in ("HH", "LL")]
    assert all(abs(move.semitones) < 0.5 for move in flat)


def test_a_pause_begins_a_phrase_and_no_move_crosses_a_word():
    alignment = aligned(["HL", "HL"], pause_after=0)
    found = tones.syllables(alignment, reading(["HL", "HL"]), melody(alignment, [4, 0, 4, 0]))
    assert [one.phrase for one in found] == [1, 1, 2, 2]
    assert [move.kind for move in tones.moves(found)] == ["HL", "HL"]


def test_a_downstep_at_the_beginning_of_a_word_is_a_step_from_the_word_before():
    alignment = aligned(["HH", "DH"])
    found = tones.syllables(alignment, reading(["HH", "DH"]), melody(alignment, [4, 4, 2, 2]))
    assert [move.kind for move in tones.moves(found)] == ["HH", "HD", "DH"]
    assert all(move.right for move in tones.moves(found))


@pytest.mark.parametrize(
    ("kind", "step", "right"),
    [("LH", 1.1, True), ("LH", 0.5, False), ("HL", -1.1, True), ("HL", 1.0, False), ("HH", 1.4, True),
     ("HH", 1.6, False), ("HD", -1.0, True), ("HD", -0.5, False), ("HD", -5.0, False), ("DD", -1.0, True),
     ("DH", 0.0, True), ("DL", -2.0, True), ("LM", 1.2, True), ("MH", 1.2, True), ("HM", -1.2, True),
     ("ML", 0.0, False), ("MM", 0.3, True), ("LL", -1.0, True)],
)  # fmt: skip
def test_thresholds(kind: str, step: float, right: bool):
    assert tones.fits(kind, step) is right


def test_unknown_contour_and_unvoiced_syllables_make_no_move():
    alignment = aligned(["HLH"])
    word = Word("w", ("k", "a") * 3, ("H", "?", "HL"), (1, 3, 5))
    asked = Reading(text="", normal="", words=(word,), breaks=("", ""))
    assert tones.moves(tones.syllables(alignment, asked, melody(alignment, [4, 0, 4]))) == ()
    silent = Pitch(np.zeros(400), 16 / 3 / 1000)
    found = tones.syllables(alignment, reading(["HLH"]), silent)
    assert [one.semitones for one in found] == [None] * 3 and tones.moves(found) == ()


def test_an_alignment_of_other_phones_gives_nothing():
    assert tones.syllables(aligned(["HL"]), reading(["HLH"]), Pitch(np.zeros(10), 0.005)) == ()


def test_chance_is_what_shuffling_reaches():
    clips = [moved(WORDS, WORDS), moved(["HL", "HH"], ["HL", "HH"])]
    every = [move for clip in clips for move in clip]
    random = np.random.default_rng(0)
    kinds = [move.kind for move in every]
    tried = []
    for _ in range(2000):
        random.shuffle(kinds)
        tried.append(np.mean([tones.fits(kind, move.semitones) for kind, move in zip(kinds, every, strict=True)]))
    assert tones.chance(clips) == pytest.approx(np.mean(tried), abs=0.01)
    figures = {one.name: one for one in tones.summarise(clips, natural=clips)}
    assert figures["tone_moves"].mean == figures["tone_moves"].natural == 1.0
    assert figures["tone_chance"].mean == pytest.approx(tones.chance(clips))
    assert {"tone_HL", "tone_LH", "tone_HH", "tone_LL"} <= set(figures)


def syllables(seed: int, *, upside_down: bool = False) -> tuple[tones.Syllable, ...]:
    random = np.random.default_rng(seed)
    words = ["".join(random.choice(list("HML"), 2)) for _ in range(8)]
    alignment = aligned(words)
    sign = -1 if upside_down else 1
    heights = [sign * HEIGHTS[tone] for word in words for tone in word]
    return tones.syllables(alignment, reading(words), melody(alignment, heights, noise=0.4))


def test_a_classifier_learns_tones_and_sees_a_voice_that_has_them_wrong():
    natural = [syllables(seed) for seed in range(20)]
    (good,) = tones.judge([syllables(seed + 50) for seed in range(20)], natural=natural)
    (bad,) = tones.judge([syllables(seed, upside_down=True) for seed in range(20)], natural=natural)
    assert good.natural is not None and good.natural > 0.7 and good.mean is not None and good.mean > 0.7
    assert bad.mean is not None and bad.mean < good.natural - 0.3 and bad.natural == good.natural


def test_too_little_to_learn_from_is_said():
    (none,) = tones.judge([syllables(1)], natural=[syllables(1)])
    assert none.n == 0 and none.mean is None
    rows, names = tones.features(syllables(1))
    assert rows.shape == (len(names), 7) and len(names) == 16


def test_a_voice_is_judged_by_a_model_that_did_not_hear_its_text(monkeypatch: pytest.MonkeyPatch):
    """Labels of natural clips are noise: a model that had heard the clip would know them."""
    heard: list[int] = []
    plain = tones._model
    monkeypatch.setattr(tones, "_model", lambda parts: heard.append(len(parts)) or plain(parts))
    tones.judge([syllables(seed) for seed in range(10)], natural=[syllables(seed) for seed in range(10)])
    assert heard == [8] * tones.FOLDS


@pytest.mark.parametrize("language", ("ibo", "yor"))
def test_the_language_reads_the_tones_of_minimal_pairs(language: str):
    options = {"tone_convention": "full"} if language == "ibo" else {}
    speaker = frontend.for_language(languages.load(language), settings=ReadingSettings(options=options))
    probes = tone_pairs.probes(language)
    assert len(probes) >= 20
    seen: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for probe in probes:
        word = speaker.read(probe.text).words[probe.place]
        assert len(word.tones) == 2 and "?" not in word.tones, (probe, word)
        seen.setdefault(word.phones, set()).add(word.tones)
    assert all(len(kinds) > 1 for kinds in seen.values()), seen
    assert sum(map(len, seen.values())) == len(probes)
    assert tone_pairs.probes("spa") == ()


def test_a_word_said_with_its_tones_obeys():
    probe = tone_pairs.Probe("", "", 1)

    def obeyed(spoken: list[str]) -> bool | None:
        alignment = aligned(["LL", "HL"])
        heights = [HEIGHTS[tone] for word in spoken for tone in word]
        return tone_pairs.obeyed(probe, tones.syllables(alignment, reading(["LL", "HL"]), melody(alignment, heights)))

    assert obeyed(["LL", "HL"]) is True and obeyed(["LL", "LH"]) is False
    assert tone_pairs.obeyed(probe, ()) is None
    assert tone_pairs.summarise_pairs([True, False, None])[0].mean == 0.5


@pytest.mark.skipif(find_spec("swift_f0") is None, reason="olu[eval] is not installed")
def test_tones_are_heard_in_sound():
    spoken = "HLLHHHLLHLLHHL"
    audio = speech(14, tones=spoken, pause_after=8)
    spans, at = [], 0.0
    for start, end in times(14, pause_after=8):
        spans += [Span("" if start - at > 0.2 else "k", at, start), Span("a", start, end)]
        at = end
    first, *rest = spans
    phones = (Span("", 0.0, first.end - 0.04), Span("k", first.end - 0.04, first.end), *rest)
    split = [
        part
        for span in phones
        for part in ((Span("", span.start, span.end - 0.04), Span("k", span.end - 0.04, span.end))
                     if not span.label and span.start > 0 else (span,))
    ]  # fmt: skip
    alignment = Alignment(id="x", seconds=audio.seconds, words=(), phones=(*split, Span("", at, audio.seconds)))
    words = [spoken[place : place + 2] for place in range(0, 14, 2)]
    found = tones.moves(tones.syllables(alignment, reading(words), tones.track(audio)))
    assert [move.kind for move in found] == words
    assert all(move.right for move in found), found

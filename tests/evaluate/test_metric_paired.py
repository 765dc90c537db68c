"""Colour, melody, voicing and length of two recordings of one text."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from olu.core.types import Alignment, Audio, Span
from olu.evaluate.metrics import duration, f0, paired
from olu.evaluate.metrics import duration as speech
from olu.evaluate.metrics import paired as cepstra
from olu.evaluate.metrics import paired as mcd
from olu.features.pitch import BLOCK_FRAMES, HIGHEST, LOWEST, VOICED, hear_piece

from ..helpers.sounds import RATE, SHARED, noisy, real, times
from ..helpers.sounds import speech as said

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("swift_f0", "numba")), reason="olu[eval] is not installed"
)
TWO = 2 ** (2 / 12)


@pytest.fixture(scope="module")
def voice() -> Audio:
    return said()


def judged(natural: Audio, spoken: Audio) -> tuple[float, f0.PitchError, duration.Durations]:
    pair = paired.pair(natural, spoken)
    colour, melody = mcd.distortion(pair), f0.compare(pair)
    lengths = duration.compare(natural, spoken, symbols=28)
    assert colour is not None and melody is not None and lengths is not None
    return colour, melody, lengths


def test_the_same_sound_is_no_distance_away(voice: Audio):
    colour, melody, lengths = judged(voice, voice)
    assert colour == 0.0
    assert (melody.semitones, melody.shift, melody.gross, melody.voicing) == (0.0, 0.0, 0.0, 0.0)
    assert melody.correlation == pytest.approx(1.0)
    assert lengths.ratio == lengths.rate_ratio == lengths.whole_ratio == 1.0
    assert len(lengths.spoken.pauses) == 1


def test_two_semitones_move_the_melody_alone(voice: Audio):
    colour, melody, lengths = judged(voice, said(semitones=2.0))
    assert melody.shift == pytest.approx(2.0, abs=0.1) and melody.semitones == pytest.approx(2.0, abs=0.15)
    assert melody.correlation is not None and melody.correlation > 0.98
    assert melody.gross == 0.0 and melody.voicing < 0.05
    assert lengths.ratio == pytest.approx(1.0, abs=0.02) and lengths.whole_ratio == 1.0
    assert colour < 3.0


def test_ten_percent_slower_moves_the_length_alone(voice: Audio):
    colour, melody, lengths = judged(voice, said(slow=1.1))
    assert lengths.ratio == pytest.approx(1.1, abs=0.02) and lengths.whole_ratio == pytest.approx(1.1, abs=1e-3)
    assert lengths.rate_ratio == pytest.approx(1 / 1.1, abs=0.03)
    assert melody.semitones is not None and melody.semitones < 0.2 and melody.voicing < 0.05
    assert colour < 3.0


def test_noise_moves_the_colour_and_not_the_length(voice: Audio):
    colour, melody, lengths = judged(voice, noisy(voice))
    assert colour > 3.0
    assert lengths.ratio == pytest.approx(1.0, abs=0.05)
    assert melody.semitones is not None and melody.semitones < 0.3


def test_loudness_and_silence_at_the_ends_do_not_count(voice: Audio):
    quiet = Audio(np.pad(voice.samples / 4, (8192, 4096)), RATE)  # whole frames
    colour, melody, lengths = judged(voice, quiet)
    # where Silero is not installed the ends are found by level, a frame off at most: half a frame alone costs 1.3 dB
    assert colour < 1.0 and melody.semitones is not None and melody.semitones < 0.1
    assert lengths.ratio == pytest.approx(1.0, abs=0.02)
    assert lengths.whole_ratio == pytest.approx(1 + 0.768 / voice.seconds, abs=1e-3)


def test_other_words_have_another_colour(voice: Audio):
    same, other = judged(voice, said(seed=0))[0], judged(voice, said(seed=4))[0]
    assert same == 0.0 and other > 4.0


def test_silence_cannot_be_paired(voice: Audio):
    nothing = Audio(np.zeros(RATE, np.float32), RATE)
    assert paired.pair(voice, nothing) is None and mcd.distortion(None) is None and f0.compare(None) is None
    assert speech.stretches(nothing) == () and duration.compare(voice, nothing) is None
    assert mcd.summarise([None], settings="")[0].mean is None


def test_the_settings_follow_the_rate_and_are_printed(voice: Audio):
    assert paired.rate_for(22050, 48000) == 22050 and paired.rate_for(32000, 44100) == 24000
    assert paired.rate_for(8000, 16000) == 16000
    pair = paired.pair(voice, voice)
    assert pair is not None
    line = mcd.summarise([1.0] * 40, settings=pair.settings)[0]
    assert "order 23, alpha 0.42, 16000 Hz, FFT 1024, hop 256" in line.instrument and "mcep" in line.instrument


@pytest.mark.parametrize("rate", sorted(cepstra.SETTINGS))
def test_every_rate_of_the_table_works(rate: int):
    random = np.random.default_rng(0)
    sound = Audio(random.normal(0, 0.1, rate // 4).astype(np.float32), rate)
    found = cepstra.cepstra(sound)
    frames = (len(sound.samples) - cepstra.FFT_SIZE) // cepstra.HOP + 1
    assert found.shape == (frames, cepstra.SETTINGS[rate][0] + 1) and np.isfinite(found).all()
    assert np.array_equal(found, cepstra.cepstra(sound))


@pytest.mark.parametrize(("order", "alpha"), cepstra.SETTINGS.values())
def test_known_cepstra_are_found_again(order: int, alpha: float):
    random = np.random.default_rng(order)
    known = random.normal(0, 1, (5, order + 1)) * 0.8 ** np.arange(order + 1)
    omega = np.linspace(0, np.pi, 513)
    z = np.exp(-1j * omega)
    warped = (z - alpha) / (1 - alpha * z)  # the all-pass, as defined
    power = np.abs(np.exp(known @ warped ** np.arange(order + 1)[:, None])) ** 2
    assert np.allclose(cepstra.fitted(power, order=order, alpha=alpha), known, atol=1e-6)


def test_the_envelope_is_that_of_the_noise_not_of_its_accidents():
    """Over many noisy spectra the mean level is right: a mean of logarithms would lie 2.5 dB below."""
    power = np.random.default_rng(0).exponential(4.0, (200, 513))
    found = cepstra.fitted(power, order=23, alpha=0.42)
    assert 2 * found[:, 0].mean() == pytest.approx(np.log(4.0), abs=0.05)


def test_no_small_change_fits_better():
    power = np.random.default_rng(1).exponential(1.0, (1, 513)) * np.linspace(5, 0.1, 513) ** 2
    found = cepstra.fitted(power, order=23, alpha=0.42)
    waves, weights = cepstra._waves(513, order=23, alpha=0.42)

    def loss(mel: np.ndarray) -> float:
        log = 2 * mel @ waves.T
        return float((power[0] * np.exp(-log) + log) @ weights)

    best = loss(found[0])
    for place in range(24):
        for step in (-0.01, 0.01):
            assert loss(found[0] + step * np.eye(24)[place]) > best


def test_the_warping_path_is_the_cheapest():
    random = np.random.default_rng(1)
    one, two = random.normal(size=(23, 4)), random.normal(size=(31, 4))
    costs = np.linalg.norm(one[:, None] - two[None], axis=2)
    best = np.full((24, 32), np.inf)
    best[0, 0] = 0.0
    for row in range(23):
        for column in range(31):
            best[row + 1, column + 1] = costs[row, column] + min(
                best[row, column], best[row, column + 1], best[row + 1, column]
            )
    path = paired.warp(one, two)
    assert tuple(path[0]) == (0, 0) and tuple(path[-1]) == (22, 30)
    assert set(map(tuple, np.diff(path, axis=0))) <= {(1, 1), (1, 0), (0, 1)}
    assert costs[path[:, 0], path[:, 1]].sum() == pytest.approx(best[-1, -1])


@pytest.mark.parametrize("hertz", [80.0, 120.0, 220.0, 330.0])
def test_pitch_of_a_known_sound(hertz: float):
    pitch = f0.track(said(8, hertz=hertz, tones="L"))
    heard = pitch.hertz[pitch.hertz > 0]
    assert pitch.voiced > 0.4
    assert np.median(12 * np.log2(heard / hertz)) == pytest.approx(0.0, abs=0.1)


def test_finer_pitch_lies_at_the_same_times(voice: Audio):
    coarse, fine = f0.track(voice), f0.track(voice, finer=3)
    assert fine.step == pytest.approx(coarse.step / 3)
    assert np.array_equal(fine.hertz[::3][: len(coarse.hertz)], coarse.hertz)
    both = (coarse.hertz > 0) & (fine.at(coarse.times) > 0)
    assert both.sum() > 0.95 * (coarse.hertz > 0).sum()


def test_long_recordings_go_in_pieces_without_a_seam(voice: Audio):
    long = Audio(np.tile(voice.samples[: 16 * 4480], 8), RATE)
    hertz, sure = hear_piece(long.samples, low=60.0, high=600.0)
    whole = np.where(sure >= VOICED, hertz, 0.0)
    assert len(whole) > BLOCK_FRAMES
    assert np.allclose(f0.track(long).hertz, whole, rtol=1e-3)


def test_a_speakers_bounds_hold_the_voice(voice: Audio):
    low, high = f0.bounds([voice, said(seed=2)])
    assert 60 <= low < 120 / TWO and 120 * TWO < high < 300
    assert f0.bounds([]) == (LOWEST, HIGHEST)


def test_a_wrong_octave_is_a_gross_error(voice: Audio):
    melody = judged(voice, said(semitones=12.0))[1]
    assert melody.gross is not None and melody.gross > 0.9


def test_lengths_of_phones_are_compared_where_they_are_the_same():
    def aligned(*lengths: float) -> Alignment:
        ends = np.cumsum((0.0, *lengths))
        spans = tuple(Span(label, float(a), float(b)) for label, a, b in zip("ab", ends[:-1], ends[1:], strict=True))
        return Alignment(id="x", seconds=float(ends[-1]), words=(), phones=(*spans, Span("", float(ends[-1]), 9.0)))

    assert duration.phones_error(aligned(0.1, 0.2), aligned(0.12, 0.16)) == pytest.approx(30.0)
    other = Alignment(id="x", seconds=1.0, words=(), phones=(Span("c", 0.0, 1.0),))
    assert duration.phones_error(aligned(0.1, 0.2), other) is None


def test_pauses_are_counted_alike_in_both_where_they_are_aligned(voice: Audio):
    """A person breathes in a pause and a voice is silent: by ear the two would differ."""

    def aligned(*breaks: float) -> Alignment:
        spans, at = [Span("", 0.0, 0.5)], 0.5
        for gap in (*breaks, 0.0):
            spans += [Span("a", at, at + 0.3)] + ([Span("", at + 0.3, at + 0.3 + gap)] if gap else [])
            at += 0.3 + gap
        return Alignment(id="x", seconds=at + 0.4, words=(), phones=(*spans, Span("", at, at + 0.4)))

    assert duration.aligned_pauses(aligned(0.3, 0.1, 0.2)) == pytest.approx(
        (0.3, 0.2)
    )  # not 0.1, nor those at the ends
    assert duration.aligned_pauses(Alignment(id="x", seconds=1.0, words=(), phones=(Span("", 0.0, 1.0),))) == ()
    both = (aligned(0.3, 0.1, 0.2), aligned(0.25))
    clip = duration.compare(voice, voice, symbols=28, alignments=both)
    found = {one.name: one for one in duration.summarise([clip, None] * 20, aligner="frames of x")}
    assert (found["pauses"].natural, found["pauses"].mean) == (2.0, 1.0) and found["pauses"].n == 20
    assert found["pause_seconds"].natural == pytest.approx(0.5) and found["pauses"].instrument == "frames of x"


def test_summaries_name_their_figures(voice: Audio):
    lengths = [duration.compare(voice, voice, symbols=28)] * 40
    found = {one.name: one for one in duration.summarise(lengths)}
    assert found["duration_ratio"].mean == 1.0 and found["duration_ratio"].middle == "median"
    assert found["pauses"].natural == found["pauses"].mean == 1.0 and "phone_error" not in found
    melody = {one.name: one for one in f0.summarise([f0.PitchError(2.0, 2.0, 0.9, 0.0, 0.1), None])}
    assert melody["f0_error"].mean == 2.0 and melody["f0_cents"].mean == 200.0 and melody["f0_error"].n == 1


def test_vowels_lie_where_the_made_sound_says(voice: Audio):
    pitch = f0.track(voice, finer=3)
    for start, end in times(14):
        assert pitch.at(np.array([(start + end) / 2]))[0] > 0


@pytest.mark.skipif(not (SHARED / "yor").is_dir(), reason="the shared corpora are not here")
@pytest.mark.parametrize("language", ["amh", "yor"])
def test_real_clips_move_as_made_ones_do(language: str):
    pyworld = pytest.importorskip("pyworld")
    for audio in [audio for _, audio in real(language, 20) if audio.seconds > 5][:1]:
        audio = Audio(audio.samples[: 5 * audio.rate], audio.rate)
        wave = audio.samples.astype(np.float64)
        hertz, at = pyworld.dio(wave, RATE, f0_floor=70.0, f0_ceil=350.0)
        envelope, breath = pyworld.cheaptrick(wave, hertz, at, RATE), pyworld.d4c(wave, hertz, at, RATE)
        plain, higher, slower = (
            Audio(pyworld.synthesize(hertz * up, envelope, breath, RATE, 5.0 * slow).astype(np.float32), RATE)
            for up, slow in ((1.0, 1.0), (TWO, 1.0), (1.0, 1.1))
        )
        assert judged(audio, audio)[0] == 0.0
        colour, melody, lengths = judged(plain, higher)
        assert melody.shift == pytest.approx(2.0, abs=0.2) and melody.voicing < 0.12
        assert lengths.ratio == pytest.approx(1.0, abs=0.05) and colour < 5.0
        colour, melody, lengths = judged(plain, slower)
        assert lengths.ratio == pytest.approx(1.1, abs=0.05) and melody.shift == pytest.approx(0.0, abs=0.2)
        assert judged(audio, noisy(audio))[0] > 3.0

"""Every number a verdict hangs on, in one place."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from olu.core.config import Strict

# Each pair must not be crossed: a milder verdict begins before the harder one.
ORDER = (
    ("duration_error_under", "duration_warn_under"),
    ("duration_warn_under", "duration_warn_over"),
    ("duration_warn_over", "duration_error_over"),
    ("rate_warn_iqr", "rate_error_iqr"),
    ("rate_error_under", "rate_error_over"),
    ("edge_info", "edge_warn"),
    ("pause_warn", "pause_error"),
    ("speech_error", "speech_warn"),
    ("clipped_info", "clipped_warn"),
    ("clipped_warn", "clipped_error"),
    ("level_warn_under", "level_warn_over"),
    ("snr_error", "snr_warn"),
    ("script_warn", "script_error"),
    ("language_warn_iqr", "language_error_iqr"),
    ("voice_error", "voice_warn"),
    ("quality_warn", "quality_info"),
    ("enough_tune", "enough_scratch"),
    ("enough_scratch", "enough_good"),
)


class Thresholds(Strict):
    duration_error_under: float = Field(default=0.4, ge=0)  # seconds
    duration_warn_under: float = Field(default=1.0, ge=0)
    duration_warn_over: float = Field(default=20.0, ge=0)
    duration_error_over: float = Field(default=30.0, ge=0)

    rate_warn_iqr: float = Field(default=1.5, ge=0)  # interquartile ranges of the log rate beyond the quartiles
    rate_error_iqr: float = Field(default=3.0, ge=0)
    rate_least_iqr: float = Field(default=0.15, gt=0)  # made or very even speech has almost none
    rate_least_clips: int = Field(default=20, ge=4)  # fewer clips of a speaker have no quartiles worth the name
    rate_least_letters: int = Field(default=10, ge=1)  # a word or two has no speaking rate
    rate_error_under: float = Field(default=1.0, ge=0)  # letters per second that nobody speaks, in any script
    rate_error_over: float = Field(default=40.0, gt=0)

    edge_info: float = Field(default=0.5, ge=0)  # seconds; --fix trims from here on
    edge_warn: float = Field(default=2.0, ge=0)
    trim_keep: float = Field(default=0.2, ge=0)  # seconds of silence that a trimmed end keeps: soft sounds lie in it
    pause_warn: float = Field(default=1.5, ge=0)  # seconds
    pause_error: float = Field(default=4.0, ge=0)
    speech_warn: float = Field(default=0.4, ge=0, le=1)  # share of the clip
    speech_error: float = Field(default=0.15, ge=0, le=1)  # one-word prompts recorded on a phone reach down to 0.24

    clipped_info: float = Field(default=0.0, ge=0, le=1)  # share of the samples
    clipped_warn: float = Field(default=0.0001, ge=0, le=1)
    clipped_error: float = Field(default=0.001, ge=0, le=1)

    length_differs: float = Field(default=0.01, gt=0)  # share of the length that the file's header gave at import
    letters_least: int = Field(default=1, ge=0)
    text_copies: int = Field(default=1, ge=1)  # clips of one speaker that may say the same

    level_warn_under: float = Field(default=-40.0, le=0)  # dB of full scale; phone recordings reach down to -39
    level_warn_over: float = Field(default=-10.0, le=0)
    level_spread: float = Field(default=10.0, gt=0)  # dB from the speaker's middle
    offset_warn: float = Field(default=0.01, ge=0, le=1)  # share of full scale
    hum_warn: float = Field(default=-50.0, le=0)  # dB of full scale
    snr_warn: float = Field(default=15.0)  # dB; usable phone recordings in a room reach down to 10.5
    snr_error: float = Field(default=9.0)
    bandwidth_share: float = Field(default=0.6, gt=0, le=1)  # of half the rate
    bandwidth_rate: int = Field(default=16000, gt=0)  # Hz: no more is asked for
    bandwidth_least_seconds: float = Field(default=0.3, ge=0)  # of speech

    rates_few: float = Field(default=0.1, ge=0, le=1)  # share of the clips that costs little to leave out

    near_differs: float = Field(default=0.3, ge=0, le=1)  # share of the print; strangers differ in 0.4 or more
    near_length: float = Field(default=0.02, gt=0, le=1)
    shifted_least: int = Field(default=5, ge=2)  # clips
    shifted_gain: float = Field(default=10.0, gt=0)  # log likelihood

    mismatch_pass: float = Field(default=0.01, gt=0, lt=1)  # share of shuffled pairs that may pass for right ones
    mismatch_cer: float = Field(default=0.4, gt=0, le=1)  # share of a text that is heard otherwise
    mismatch_lowest: float = Field(default=0.02, ge=0, lt=1)  # share of the clips
    unheard_share: float = Field(default=0.2, ge=0, lt=1)  # of a clip's words; olu cut goes by it too
    unheard_error: float = Field(default=0.4, ge=0, le=1)
    unheard_iqr: float = Field(default=3.0, ge=0)  # interquartile ranges below the lower quartile
    cut_off_iqr: float = Field(default=3.0, ge=0)  # interquartile ranges below the lower quartile
    cut_off_edge: float = Field(default=0.01, ge=0)  # seconds

    overlap_least: int = Field(default=10, ge=1)  # letters: single words may stand on both sides
    script_main: float = Field(default=0.7, gt=0.5, le=1)  # share of a language's letters
    script_warn: float = Field(default=0.2, ge=0, le=1)  # share of a text's letters
    script_error: float = Field(default=0.5, ge=0, le=1)
    language_warn_iqr: float = Field(default=2.5, ge=0)  # interquartile ranges below the lower quartile
    language_error_iqr: float = Field(default=4.5, ge=0)
    language_least_letters: int = Field(default=20, ge=1)
    language_least_clips: int = Field(default=50, ge=4)
    digits_info: int = Field(default=0, ge=0)
    dots_least_vowels: int = Field(default=15, ge=1)
    note_words: int = Field(default=3, ge=0)
    frames_per_second: float = Field(default=62.5, gt=0)  # of a voice at 16 kHz with steps of 256 samples

    voice_error: float = Field(default=0.05, ge=0, le=1)  # share of the clip, by network
    voice_warn: float = Field(default=0.2, ge=0, le=1)
    voice_snr_warn: float = Field(default=8.0)  # dB
    quality_info: float = Field(default=2.8, ge=1, le=5)  # DNSMOS overall
    quality_warn: float = Field(default=1.3, ge=1, le=5)
    speaker_warn: float = Field(default=0.65, ge=-1, le=1)  # likeness to the speaker's middle
    pitch_clip: float = Field(default=6.0, gt=0)  # semitones of a clip from the middle of its speaker's
    pitch_sitting: float = Field(default=2.5, gt=0)  # of a sitting from the speaker's others: one voice moves by 2.4
    speaker_parts: float = Field(default=0.8, ge=-1, le=1)  # likeness of two halves under which they are two people

    coverage_few: int = Field(default=20, ge=0)  # occurrences of a letter
    enough_tune: float = Field(default=10.0, ge=0)  # minutes of one speaker
    enough_scratch: float = Field(default=60.0, ge=0)
    enough_good: float = Field(default=120.0, ge=0)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for low, high in ORDER:
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} must not be above {high}")
        return self

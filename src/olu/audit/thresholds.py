"""Every number a verdict hangs on, in one place."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from olu.config import Strict

# Each pair must not be crossed: a milder verdict begins before the harder one.
ORDER = (
    ("duration_error_under", "duration_warn_under"),
    ("duration_warn_under", "duration_warn_over"),
    ("duration_warn_over", "duration_error_over"),
    ("rate_warn_iqr", "rate_error_iqr"),
    ("rate_error_under", "rate_error_over"),
    ("pause_warn", "pause_error"),
    ("speech_error", "speech_warn"),
    ("clipped_info", "clipped_warn"),
    ("clipped_warn", "clipped_error"),
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

    edge_warn: float = Field(default=0.5, ge=0)  # seconds
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

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for low, high in ORDER:
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} must not be above {high}")
        return self

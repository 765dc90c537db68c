"""The checks of the audit. Their order is the order of every table."""

from __future__ import annotations

from olu.audit.check import Check
from olu.audit.checks import heard, recording, repeats, sound, text, timing

CHECKS: tuple[Check, ...] = (
    recording.UNREADABLE,
    timing.DURATION,
    sound.SILENCE,
    sound.EDGES,
    sound.LEVEL,
    sound.CLIPPING,
    sound.NOISE,
    sound.HUM,
    sound.OFFSET,
    sound.BANDWIDTH,
    sound.RATES,
    text.TEXT,
    text.UNTRANSCRIBED,
    text.SOUND_NOTE,
    text.SCRIPT,
    text.OTHER_LANGUAGE,
    text.NORMAL_FORM,
    text.DIGITS,
    text.DOTS,
    timing.RATE,
    timing.FRAMES,
    timing.SHIFTED,
    heard.MISMATCH,
    heard.UNHEARD,
    heard.CUT_OFF,
    repeats.DUPLICATE_AUDIO,
    repeats.NEAR_DUPLICATE,
    repeats.DUPLICATE_TEXT,
    repeats.OVERLAP,
    recording.VOICE,
    recording.QUALITY,
    recording.SPEAKERS,
)

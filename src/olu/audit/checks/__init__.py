"""One file per suspicion. Their order is the order of every table."""

from __future__ import annotations

from olu.audit.check import Check
from olu.audit.checks import (
    clipping,
    duplicate_audio,
    duplicate_text,
    duration,
    edges,
    rate,
    silence,
    text,
    unreadable,
)

CHECKS: tuple[Check, ...] = (
    unreadable.CHECK,
    duration.CHECK,
    silence.CHECK,
    edges.CHECK,
    clipping.CHECK,
    text.CHECK,
    rate.CHECK,
    duplicate_audio.CHECK,
    duplicate_text.CHECK,
)

"""The checks of the audit. Their order, that of checks.toml, is the order of every table."""

from __future__ import annotations

from olu.audit.check import DEFINED, WORDS, Check
from olu.audit.checks import heard, recording, repeats, sound, text, timing

__all__ = ("CHECKS", "heard", "recording", "repeats", "sound", "text", "timing")

CHECKS: tuple[Check, ...] = tuple(DEFINED[name] for name in WORDS)

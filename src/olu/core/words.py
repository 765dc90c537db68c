"""One clip, two clips."""

from __future__ import annotations


def many(count: int, what: str) -> str:
    """A number and its noun, whose plural ends in s."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"

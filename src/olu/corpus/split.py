"""Which clips train and which are kept for listening: decided by a hash of the text alone."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping

from olu.types import Split

VALID_SHARE = 0.04
TEST_SHARE = 0.04


def split(texts: Mapping[str, str]) -> dict[str, Split]:
    """Clip id -> side, from clip id -> text. The same words never stand on two sides; more clips move no others."""
    places = {id: place(text) for id, text in texts.items()}
    sides = {at: _side(at) for at in sorted(set(places.values()))}
    if sides and "train" not in sides.values():
        sides[max(sides)] = "train"
    if len(sides) > 1 and "valid" not in sides.values():
        sides[min(sides)] = "valid"
    return {id: sides[at] for id, at in places.items()}


def place(text: str) -> float:
    """Where a text falls in [0, 1), whatever its case, spacing and composed or decomposed letters."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    digest = hashlib.sha256(" ".join(folded.split()).encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _side(at: float) -> Split:
    if at < VALID_SHARE:
        return "valid"
    return "test" if at < VALID_SHARE + TEST_SHARE else "train"

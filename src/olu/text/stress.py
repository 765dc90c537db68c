"""Which phone of a word carries the main stress."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from olu.text.language_data import Pack


def kinds(pack: Pack, *wanted: str) -> frozenset[str]:
    """The phones of phones.tsv that are of these kinds."""
    listed = (row for row in pack.rows("phones.tsv") if len(row) > 1 and row[1].strip() in wanted)
    return frozenset(unicodedata.normalize("NFC", row[0].strip()) for row in listed)


def from_end(phones: Sequence[str], nuclei: frozenset[str], count: int) -> int | None:
    """The place of the nucleus that is the `count`th from the end, or the first where there are fewer."""
    found = [place for place, phone in enumerate(phones) if phone in nuclei]
    return found[max(len(found) - count, 0)] if found else None

"""Texts that a recogniser wrote for clips without one. They lie beside the clips; nothing learns from them.

A draft that is taken, by a person or above the confidence that a person set, becomes a correction like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from olu.core.files import Workspace, read_rows, write_jsonl
from olu.core.rows import as_row
from olu.core.types import EXACT


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDraft:
    """What may be said in a clip."""

    id: str
    text: str
    sure: tuple[float, ...]  # the chance that each word is right to the letter, as the recogniser has it
    confidence: float  # of the whole: the geometric mean of a word
    by: str  # which recogniser
    __pydantic_config__ = EXACT

    def __post_init__(self) -> None:
        if len(self.sure) != len(self.text.split()) or not 0 <= self.confidence <= 1:
            raise ValueError(f"no draft: {self.text!r} with {len(self.sure)} words and {self.confidence}")


def path(ws: Workspace) -> Path:
    return ws.corpus / "drafts.jsonl"


def load(ws: Workspace) -> dict[str, TextDraft]:
    """Clip id -> its draft; also of clips that have a text by now, whose draft counts no more."""
    return {one.id: one for one in read_rows(path(ws), TextDraft)}


def save(ws: Workspace, drafts: Iterable[TextDraft]) -> None:
    """Write them whole, in place of all others."""
    write_jsonl(path(ws), map(as_row, drafts))

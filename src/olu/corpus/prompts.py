"""Sentences to record, in their order: `prompts/prompts.jsonl` of a workspace. The same words have the same id."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from olu.core.files import Workspace, read_rows, write_jsonl
from olu.core.rows import as_row
from olu.core.types import EXACT

FOLDER = "prompts"
FILE = "prompts.jsonl"
LEFT_OUT = "left-out.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPrompt:
    """One sentence to read aloud, and what it brings that those before it and the corpus did not."""

    id: str
    text: str
    new: tuple[str, ...] = ()
    __pydantic_config__ = EXACT


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutSentence:
    """A sentence that is no prompt, and why."""

    where: str  # file and line
    text: str
    why: str
    what: str = ""
    __pydantic_config__ = EXACT


def prompt_id(text: str) -> str:
    """The same for the same words, whatever their spaces."""
    plain = unicodedata.normalize("NFC", " ".join(text.split()))
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:12]


def prompts_path(ws: Workspace) -> Path:
    return ws.root / FOLDER / FILE


def read_prompts(ws: Workspace) -> list[RecordingPrompt]:
    return list(read_rows(prompts_path(ws), RecordingPrompt))


def write_prompts(ws: Workspace, prompts: Iterable[RecordingPrompt], left_out: Iterable[LeftOutSentence]) -> None:
    write_jsonl(ws.root / FOLDER / LEFT_OUT, map(as_row, left_out))
    write_jsonl(prompts_path(ws), map(as_row, prompts))

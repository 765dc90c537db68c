"""Texts that people corrected. They lie beside the clips, and every corpus that is opened has them laid over.

The manifest keeps each text as it was imported: a side is chosen by that, and an import compares with it.
"""

from __future__ import annotations

import getpass
import secrets
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from olu.core.errors import ConfigError
from olu.core.files import Workspace, hash_value
from olu.core.types import EXACT, Clip
from olu.core.workspace_lock import appending
from olu.corpus.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What one person wrote for one clip."""

    id: str
    text: str
    imported: str  # the text that the source had for it then
    by: str  # who
    at: str  # when, in UTC
    batch: str  # the same for all that one command corrected: they are taken back together
    __pydantic_config__ = EXACT

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError(f"no correction: {asdict(self)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """That the correction of a clip in one batch holds no more."""

    id: str
    undo: str  # the batch
    by: str
    at: str
    __pydantic_config__ = EXACT


Row = Correction | Undo


def held(rows: Iterable[Row]) -> list[Row]:
    """The rows without the corrections that were taken back, in order."""
    found: dict[tuple[str, str], Row] = {}
    for one in rows:
        if isinstance(one, Undo):
            found.pop((one.id, one.undo), None)
        else:
            found[one.id, one.batch] = one
    return list(found.values())


def journal(ws: Workspace) -> Journal[Row]:
    return Journal(ws, "texts.jsonl", Correction | Undo, held)


def path(ws: Workspace) -> Path:
    return journal(ws).path


def load(ws: Workspace, *, ids: Collection[str] | None = None) -> list[Correction]:
    """All that were not taken back, earlier ones of a clip too; also of clips that are gone: they may come back.

    `ids`: of these clips alone, which is quick where they are few.
    """
    rows = journal(ws).rows() if ids is None else journal(ws).rows_of(ids)
    return [one for one in held(rows) if isinstance(one, Correction) and (ids is None or one.id in ids)]


def in_force(ws: Workspace) -> dict[str, Correction]:
    """Clip id -> the last correction."""
    return {one.id: one for one in load(ws)}


def lay_over(clips: Iterable[Clip], corrections: Mapping[str, Correction]) -> tuple[Clip, ...]:
    """The clips with the texts that hold."""
    if not corrections:
        return tuple(clips)
    return tuple(replace(clip, text=corrections[clip.id].text) if clip.id in corrections else clip for clip in clips)


def add(ws: Workspace, new: Sequence[Correction]) -> list[str]:
    """Append them; returns what a person should know of the file."""
    return journal(ws).append(list(new))


def take_back(ws: Workspace, *, who: str, id: str | None = None, by: str | None = None) -> list[Correction]:
    """The last batch (`by`: of this person), or all corrections of one clip; returns what was taken back."""
    with appending(ws):
        every = [one for one in load(ws, ids=None if id is None else [id]) if by is None or one.by == by]
        gone = [one for one in every if id is not None or one.batch == every[-1].batch]
        at = now()
        journal(ws).append([Undo(id=one.id, undo=one.batch, by=who, at=at) for one in gone])
    return gone


def take_back_batch(ws: Workspace, batch: str, *, who: str) -> list[Correction]:
    """What was corrected at once; what held before holds again."""
    with appending(ws):
        rows = [
            one
            for one in journal(ws).rows_with(batch)
            if batch in (getattr(one, "batch", ""), getattr(one, "undo", ""))
        ]
        gone = [one for one in held(rows) if isinstance(one, Correction)]
        at = now()
        journal(ws).append([Undo(id=one.id, undo=batch, by=who, at=at) for one in gone])
    return gone


def hash_texts(ws: Workspace) -> str:
    """Changes when another text holds; the same as before any correction when all were taken back."""
    texts = {id: one.text for id, one in in_force(ws).items()}
    return hash_value(texts) if texts else ""


def hash_first_texts(ws: Workspace) -> str:
    """Changes when a clip that was imported without a text gets one, or loses it."""
    ids = sorted(id for id, one in in_force(ws).items() if not one.imported.strip())
    return hash_value(ids) if ids else ""


def folded(text: str) -> str:
    """The text on one line: a newline in it is a space."""
    return " ".join(part for line in text.splitlines() if (part := line.strip()))


def is_same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but spaces, newlines and composed or decomposed letters."""
    first, second = (" ".join(unicodedata.normalize("NFC", text).split()) for text in (one, other))
    return first == second


def new_batch() -> str:
    return secrets.token_hex(6)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def who_is(by: str | None) -> str:
    """The name given, or that of the user who is logged in."""
    if by is not None:
        name = " ".join(by.split())
        if not name or not name.isprintable():
            raise ConfigError(f"--by {by!r} is no name: write who corrects the texts")
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user that the machine has no name for
        raise ConfigError("this machine does not say who you are: add --by NAME") from None

"""Texts that may not be said where their clips are: kept until an import mends it, or a person says that they fit."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from olu.core.damage import Shape
from olu.core.files import Workspace, read_jsonl, write_jsonl
from olu.corpus.manifest import Corpus

SHAPE: Shape = {"audio": str, "text": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One recording whose texts are in doubt."""

    audio: str
    text: str  # a sentence
    source: str = ""  # what to import to mend it; nothing where that cannot be named
    options: tuple[str, ...] = ()  # it was imported with, but for the times
    remedy: str = ""  # the options that mend it; nothing where they are not known

    def mending(self, ws: Workspace) -> str:
        """The import that brings the texts to where they are said, where it is known."""
        return self._import(ws, self.remedy) if self.remedy else ""

    def fitting(self, ws: Workspace) -> str:
        """The import that says that they fit."""
        return self._import(ws, "--in-sync")

    def sentence(self, ws: Workspace) -> str:
        if self.remedy or not self.source:
            return f"{self.text}: {self.mending(ws)}".removesuffix(": ")
        return f"{self.text}; if the texts fit, {self.fitting(ws)}"

    def _import(self, ws: Workspace, more: str) -> str:
        words = ["olu", "import", str(ws.root), self.source, *self.options, *more.split()]
        return shlex.join(words) if self.source else ""


def load(ws: Workspace) -> list[Standing]:
    return [_standing(row) for row in read_jsonl(ws.corpus / "doubts.jsonl", shape=SHAPE)]


def _standing(row: dict[str, Any]) -> Standing:
    if "command" not in row:
        return Standing(**{**row, "options": tuple(row["options"])})
    words = shlex.split(row["command"])[3:]  # as versions before wrote it: olu import WS SOURCE ...
    return Standing(
        audio=row["audio"], text=row["text"], source=words[0] if words else "", remedy=shlex.join(words[1:])
    )


def renew(ws: Workspace, *, seen: Iterable[str], found: Iterable[Standing]) -> None:
    """What an import knows of the recordings it has seen takes the place of what was known of them."""
    seen = set(seen)
    before = load(ws)
    after = [one for one in before if one.audio not in seen] + list(found)
    if after != before:
        write_jsonl(ws.corpus / "doubts.jsonl", (asdict(one) for one in after))


def standing(ws: Workspace, corpus: Corpus | None = None) -> list[Standing]:
    """Those of recordings that still have clips with a text, which nobody has dropped."""
    found = load(ws)
    if not found:
        return []
    corpus = corpus if corpus is not None else Corpus.open(ws)
    heard = {clip.audio for clip in corpus if clip.transcribed and not corpus.is_dropped(clip)}
    return [one for one in found if one.audio in heard]

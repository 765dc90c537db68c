"""What is known of the times of subtitles: texts that may not be said where their clips are, and what people said.

A doubt is kept until an import mends it, or a person says that the texts fit; what a person said of the times of a
recording is used again at the next import of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from olu.core.files import Workspace, read_jsonl, read_rows, write_jsonl
from olu.core.rows import Shape, as_row
from olu.core.told import some
from olu.core.types import EXACT
from olu.corpus.manifest import Corpus
from olu.corpus.readers.rows import Timing

SHOWN = 5
TIMING: Shape = {"sha256": str, "audio": str, "shift": float, "stretch": float, "in_sync": bool, "starts": list[int]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One recording whose texts are in doubt."""

    audio: str
    text: str  # a sentence
    source: str = ""  # what to import to mend it; nothing where that cannot be named
    options: tuple[str, ...] = ()  # it was imported with, but for the times
    remedy: str = ""  # the options that mend it; nothing where they are not known
    __pydantic_config__ = EXACT

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRow:
    """A doubt as versions before wrote it: with olu import WS SOURCE ..., the command that mends it."""

    audio: str
    text: str
    command: str

    def standing(self) -> Standing:
        source, *options = shlex.split(self.command)[3:] or [""]
        return Standing(audio=self.audio, text=self.text, source=source, remedy=shlex.join(options))


def load(ws: Workspace) -> list[Standing]:
    kind: Any = Standing | CommandRow
    rows = read_rows(ws.corpus / "doubts.jsonl", kind)
    return [one.standing() if isinstance(one, CommandRow) else one for one in rows]


def renewed(before: Iterable[Standing], *, seen: Collection[str], found: Iterable[Standing]) -> list[Standing]:
    """The doubts after an import: those of recordings it has not seen, and those it found."""
    return [one for one in before if one.audio not in seen] + list(found)


def save(ws: Workspace, doubts: list[Standing]) -> None:
    if doubts != load(ws):
        write_jsonl(ws.corpus / "doubts.jsonl", (as_row(one) for one in doubts))


def standing(ws: Workspace, corpus: Corpus | None = None, *, doubts: list[Standing] | None = None) -> list[Standing]:
    """The doubts on recordings that still have clips with a text, which nobody has dropped."""
    found = load(ws) if doubts is None else doubts
    if not found:
        return []
    corpus = corpus if corpus is not None else Corpus.open(ws)
    heard = {clip.audio for clip in corpus if clip.transcribed and not corpus.is_dropped(clip)}
    return [one for one in found if one.audio in heard]


def load_timings(ws: Workspace) -> dict[str, Timing]:
    """Hash of a recording -> what a person said of the times of its subtitles."""
    rows = read_jsonl(ws.corpus / "timings.jsonl", shape=TIMING)
    return {row.pop("sha256"): Timing(**{**row, "starts": tuple(row["starts"])}) for row in rows}


def save_timings(ws: Workspace, used: Mapping[str, Timing]) -> None:
    """What an import has used takes the place of what was kept; times as they are written need no keeping."""
    before = load_timings(ws)
    after = {hash: one for hash, one in {**before, **used}.items() if not one.is_plain}
    if after != before:
        rows = ({"sha256": hash, **asdict(one), "starts": list(one.starts)} for hash, one in after.items())
        write_jsonl(ws.corpus / "timings.jsonl", ({k: v for k, v in row.items() if k != "again"} for row in rows))


def in_doubt(sentences: Sequence[str]) -> Iterator[str]:
    """Lines for a person: a heading and the first of these sentences; none where there are none."""
    if sentences:
        yield "Texts in doubt:"
        yield from some(sentences, most=SHOWN, more="see corpus/doubts.jsonl in the workspace")

"""Texts that may not be said where their clips are: kept until an import mends it, or a person says that they fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from olu.corpus.manifest import Corpus
from olu.files import Workspace, read_jsonl, write_jsonl

SHAPE = {"audio": str, "text": str, "command": str}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One recording whose texts are in doubt."""

    audio: str
    text: str  # a sentence
    command: str  # the import that mends it; nothing where it is not known

    @property
    def sentence(self) -> str:
        return f"{self.text}: {self.command}" if self.command else self.text


def load(ws: Workspace) -> list[Standing]:
    return [Standing(**row) for row in read_jsonl(ws.corpus / "doubts.jsonl", shape=SHAPE)]


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

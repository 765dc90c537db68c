"""Where what is imported lies: a folder, what an archive held, or a dataset whose sound is streamed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from olu.core.errors import CorpusError
from olu.core.files import Workspace
from olu.corpus.readers import Layout, Options, hub, huggingface, shards
from olu.corpus.readers.huggingface import DatasetRow
from olu.corpus.readers.rows import Problem, look


@dataclass(frozen=True, slots=True)
class ImportPlace:
    """Where what was named lies now: itself, or what was unpacked from it."""

    named: Path  # for messages and to know it again
    files: Path  # resolved
    unpacked: bool = False
    lost: tuple[Problem, ...] = ()
    hub_id: str | None = None

    def said(self, text: str) -> str:
        return text.replace(str(self.files), str(self.named)) if self.unpacked else text


@contextmanager
def room_to_unpack(ws: Workspace) -> Iterator[Path]:
    """A folder for what an archive holds, gone afterwards. Whoever asks for it holds the claim on the corpus."""
    unpacked = ws.corpus / "audio" / ".unpacked.partial"
    shutil.rmtree(unpacked, ignore_errors=True)  # of an import that was killed
    try:
        yield unpacked.resolve()
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
        for empty in (unpacked.parent, ws.corpus):
            with suppress(OSError):
                empty.rmdir()


def stream_of(place: ImportPlace, chosen: Layout, options: Options) -> Iterator[DatasetRow | Problem] | None:
    """The examples of a dataset whose sound lies inside other files or on the hub; none for one of plain files."""
    streamed = place.hub_id or (chosen.name == "huggingface" and huggingface.is_streamed(look(place.files)))
    if streamed and options.encoding:
        raise CorpusError(f"{place.named}: the texts of a dataset are always UTF-8: leave --encoding out")
    if place.hub_id:
        return hub.examples(place.hub_id, **options.given())
    if streamed:
        return shards.examples(place.files, **options.given())
    return None


def total_of(place: ImportPlace, options: Options) -> int:
    return 0 if place.hub_id else shards.count(place.files, config=options.config, split=options.split)

"""What the columns of metadata.csv hold, and which of its lines were meant as rows of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.core.errors import CorpusError
from olu.corpus.readers.audio_index import AudioIndex
from olu.corpus.readers.columns import NAMES

TEXT_WORDS = {*NAMES["text"], "raw_transcription", "words", "prompt"}
ID_WORDS = {"id", "name", "path", "clip", "key", "file", "audio", "wav", "utt", "utterance", "recording", "filename"}
SPEAKER_WORDS = NAMES["speaker"]
NORMAL = {"norm", "normalized", "normalised"}
OF_TEXT = {"text", "transcript", "transcription", "sentence"}
LONGEST_NAME = 250

Line = str | ValueError  # the error says why a line is no text


@dataclass(frozen=True, slots=True)
class Order:
    """Which columns hold what; `other` holds the words where the text is empty."""

    ids: tuple[int, ...] = (0,)  # the first that names a recording counts
    text: int = 1
    other: int | None = 2
    speaker: int | None = None
    names: tuple[str, ...] = ("id", "text")

    def shown(self, id: str) -> str:
        """How a row is written."""
        return "|".join(id if at == self.ids[0] else name for at, name in enumerate(self.names))


PLAIN = Order()


def header(line: Line, *, shelf: AudioIndex, file: Path) -> Order | None:
    """The order a first line names, or nothing where it is a row itself."""
    names = [cell.strip() for cell in line.split("|")] if isinstance(line, str) else []
    words = [re.sub(r"[\s-]+", "_", name.lower()) for name in names]
    if len(words) < 2 or shelf.find(names[0]) is not None:
        return None
    ids = [at for at, word in enumerate(words) if word in NAMES["audio"] or set(word.split("_")) <= ID_WORDS]
    texts = [at for at, word in enumerate(words) if _is_text(word)]
    if not (0 in ids or 1 in texts or (ids and texts and all(shelf.find(names[at]) is None for at in ids))):
        return None
    speaker = next((words.index(word) for word in SPEAKER_WORDS if word in words), None)
    texts = sorted(texts, key=lambda at: _is_normal(words[at])) or [1 if speaker != 1 else 2]
    if texts[0] >= len(words):
        raise CorpusError(f"{file}: the header {'|'.join(names)} has no column for the text: call it text")
    ids = [at for at in ids if at != texts[0]]
    ids = ids or [at for at in range(len(words)) if at not in (texts[0], speaker)][:1]
    if not ids:
        raise CorpusError(f"{file}: the header {'|'.join(names)} has no column for the recordings: call it file")
    other = texts[1] if len(texts) > 1 else 2 if len(words) < 3 else None
    return Order(tuple(ids), texts[0], other, speaker, tuple(names))


def _is_text(word: str) -> bool:
    return word in TEXT_WORDS or _is_normal(word)


def _is_normal(word: str) -> bool:
    """A sentence with such a word in it is no name of a column."""
    parts = set(word.split("_"))
    return bool(parts & NORMAL) and parts <= NORMAL | OF_TEXT


def mistaken(lines: list[Line], *, shelf: AudioIndex, order: Order) -> dict[int, str]:
    """Line -> the recording it names, of lines without '|' that are no second line of the text before.

    A word that also is the name of a recording may begin such a second line: then the recording has a row elsewhere.
    """
    found: dict[int, tuple[str, str, bool]] = {}
    for at, line in enumerate(lines):
        for name, sure in _names(line) if isinstance(line, str) and "|" not in line else ():
            audio = shelf.find(name)
            if audio is not None and not audio.startswith("/") and ".." not in audio.split("/"):
                found.setdefault(at, (name, audio, sure))
    if not found:
        return {}
    rows = [line.split("|") for line in lines if isinstance(line, str) and "|" in line]
    own = {shelf.find(cells[at]) for cells in rows for at in order.ids if at < len(cells)}
    return {at: name for at, (name, audio, sure) in found.items() if sure or audio not in own}


def _names(line: str) -> Iterator[tuple[str, bool]]:
    """What a line may begin with as a name, and whether a tab says that it is one."""
    for end in (r"\t", r"$", r"\s", r"[,;]"):
        name, *more = re.split(end, line.strip(), maxsplit=1)
        if more and 0 < len(name) <= LONGEST_NAME:
            yield name, end == r"\t"

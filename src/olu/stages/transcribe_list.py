"""A folder to write texts down from: short sounds, a table that 'olu correct' takes back, and a page."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olu.audio import io
from olu.core.errors import ConfigError
from olu.core.files import hash_value, whole, write_text
from olu.core.types import Clip
from olu.corpus.correction_file import FORMULA, RIGHT
from olu.corpus.drafts import TextDraft
from olu.corpus.manifest import Corpus
from olu.corpus.readers.huggingface import safe
from olu.pages import media
from olu.pages.render import render

TABLE, PAGE, SOUNDS = "texts.csv", "page.html", "sounds"
COLUMNS = ("id", "sound", "seconds", "confidence", "draft", RIGHT, "text")
UNSURE = 0.7  # below it a word is marked on the page


def write_list(corpus: Corpus, clips: Sequence[Clip], known: Mapping[str, TextDraft], folder: Path) -> None:
    """The folder, whole; one that is there stays as it is."""
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"--list {folder} is there already, perhaps with somebody's texts in it: name another folder")
    try:
        with whole(folder, new=True) as partial:
            (partial / SOUNDS).mkdir(parents=True)
            rows = [_written(corpus, clip, known.get(clip.id), partial, number) for number, clip in enumerate(clips, 1)]
            _table(partial / TABLE, rows)
            facts = {"language": corpus.ws.language, "name": corpus.ws.name, "unsure": UNSURE}
            data = {**facts, "id": hash_value([clip.id for clip in clips])[:16], "rows": rows}
            write_text(partial / PAGE, render("transcribe.html", data=data, name=corpus.ws.name, many=len(rows)))
    except FileExistsError:
        raise ConfigError(f"--list {folder} is there already: name another folder") from None


def _written(corpus: Corpus, clip: Clip, draft: TextDraft | None, folder: Path, number: int) -> dict[str, Any]:
    """The sound of a clip as a file, and its row."""
    audio = corpus.audio(corpus.taken(clip))
    sound = f"{SOUNDS}/{number:04d}-{safe(clip.id)}.wav"
    io.write(folder / sound, audio, flush=False)
    return {
        "id": clip.id,
        "sound": sound,
        "seconds": round(audio.seconds, 2),
        "confidence": None if draft is None else draft.confidence,
        "draft": draft.text if draft else "",
        "sure": list(draft.sure) if draft else [],
        "mp3": media.mp3_uri(audio),
    }


def _table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """As spreadsheets take it; the column of texts is empty, so that nothing is taken that nobody looked at."""
    with path.open("w", encoding="utf-8-sig", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            cells = {**row, RIGHT: "", "text": "", "confidence": "" if row["confidence"] is None else row["confidence"]}
            writer.writerow([_cell(cells[name]) for name in COLUMNS])


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value

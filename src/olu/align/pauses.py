"""Pauses that are heard and not written: the alignment finds them, and a comma marks them for training.

A voice can only learn to pause at a mark. Where speakers pause without one, it learns to pause nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from olu.align.state import alignment_path
from olu.core.errors import TrainError
from olu.core.files import Workspace, read_jsonl
from olu.core.types import Alignment, Reading
from olu.core.words import many
from olu.corpus.shapes import ROW
from olu.text.vocabulary import BLANK, SymbolVocabulary

PAUSE = ","
DOCUMENT = "pauses.json"  # in the run: the words of each clip after which a pause was marked

Marks = dict[str, list[int]]


def find_pauses(ws: Workspace, readings: Mapping[str, Reading], *, least: float) -> Marks:
    """For each clip the words after which nothing is written and at least so many seconds nothing is said."""
    path = alignment_path(ws)
    if not path.exists():
        raise TrainError(
            f"recipe: data.pauses = {least:g} needs an alignment: run 'olu align {ws.root}', or leave it out"
        )
    rows = (Alignment.from_row(row) for row in read_jsonl(path, shape=ROW) if row["id"] in readings)
    return {one.id: _pauses(readings[one.id], one, least) for one in rows if _same(readings[one.id], one)}


def mark_pauses(readings: Mapping[str, Reading], marks: Mapping[str, list[int]]) -> dict[str, Reading]:
    return {id: _marked(reading, marks[id]) if marks.get(id) else reading for id, reading in readings.items()}


def knows_pauses(vocabulary: SymbolVocabulary, frontend: dict[str, Any]) -> tuple[SymbolVocabulary, dict[str, Any]]:
    """The mark is a symbol of the run, also where no text of the corpus holds it."""
    inventory = frontend.get("inventory")
    if inventory is not None and PAUSE not in inventory:
        frontend = {**frontend, "inventory": sorted({*inventory, PAUSE})}
    return vocabulary.extend([PAUSE]), frontend


def said_of(marks: Marks, clips: int, *, least: float) -> str:
    number, inside = sum(map(len, marks.values())), sum(map(bool, marks.values()))
    lacking = clips - len(marks)
    unlike = f"; {many(lacking, 'clip')} without an alignment that fits" if lacking else ""
    return (
        f"{many(number, 'pause')} of {least:g} s or more marked by commas, in {inside} of {many(clips, 'clip')}{unlike}"
    )


def _heard(reading: Reading) -> list[int]:
    return [place for place, word in enumerate(reading.words) if any(phone != BLANK for phone in word.phones)]


def _same(reading: Reading, alignment: Alignment) -> bool:
    heard = [reading.words[place].text.casefold() for place in _heard(reading)]
    return heard == [word.label.casefold() for word in alignment.words]


def _pauses(reading: Reading, alignment: Alignment, least: float) -> list[int]:
    heard = _heard(reading)
    between = zip(heard, heard[1:], alignment.words, alignment.words[1:], strict=False)
    return [
        here
        for here, following, word, after in between
        if after.start - word.end >= least and not "".join(reading.breaks[here + 1 : following + 1]).strip()
    ]


def _marked(reading: Reading, places: list[int]) -> Reading:
    breaks = list(reading.breaks)
    for place in places:
        breaks[place + 1] = PAUSE + breaks[place + 1]
    return replace(reading, breaks=tuple(breaks))

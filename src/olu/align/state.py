"""What the stages around an alignment share: the words of a clip, which clips lack one, what it comes to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from olu.align.text_match import Match
from olu.core.errors import TrainError, WorkspaceError
from olu.core.files import Workspace, read_rows
from olu.core.types import Alignment, Clip, Reading, ReadingRow
from olu.core.words import many
from olu.corpus.hand_bounds import read_alignments
from olu.corpus.manifest import Corpus
from olu.text.vocabulary import BLANK, SymbolVocabulary

Words = tuple[tuple[str, tuple[str, ...]], ...]  # each with its phones

WORST = 10
STRANGE = 5.0  # times the usual length of a phone
STRANGE_SECONDS = 0.4


def alignment_path(ws: Workspace) -> Path:
    return ws.alignment / "alignment.jsonl"


def words_of(reading: Reading) -> Words:
    """The words of a reading that are heard, each with its phones."""
    found = ((word.text, tuple(phone for phone in word.phones if phone != BLANK)) for word in reading.words)
    return tuple((text, phones) for text, phones in found if phones)


def tones_of(reading: Reading) -> list[str]:
    """Of each phone that is heard: its tone, as a reading names it, or "" where it bears none."""
    found = []
    for word in reading.words:
        borne = dict(zip(word.bearers, word.tones, strict=True))
        found += [borne.get(place, "") for place, phone in enumerate(word.phones) if phone != BLANK]
    return found


def phones_of(words: Words) -> list[str]:
    return [phone for _, phones in words for phone in phones]


def to_align(ws: Workspace, corpus: Corpus) -> dict[str, tuple[Clip, Words]]:
    """The clips that have something to say and that nobody left out, in corpus order."""
    if not (ws.readings / "readings.jsonl").exists():
        raise WorkspaceError(f"{ws.root} has not been read: run 'olu read {ws.root}' first")
    found = {}
    for clip in corpus:
        if corpus.is_wanted(clip) and (words := words_of(corpus.reading(clip))):
            found[clip.id] = (clip, words)
    return found


def fits(alignment: Alignment, words: Words) -> bool:
    """Whether an alignment is of these phones."""
    return [span.label for span in alignment.phones if span.label] == phones_of(words)


def alignments(ws: Workspace) -> dict[str, Alignment]:
    """What the workspace has, by the clip's id; where people set boundaries by hand, theirs."""
    return read_alignments(ws)


def fitting(known: Mapping[str, Alignment], wanted: Mapping[str, tuple[Clip, Words]]) -> dict[str, Alignment]:
    """Of the clips to align, those whose known alignment is of the phones they have now."""
    return {id: known[id] for id, (_, words) in wanted.items() if id in known and fits(known[id], words)}


def unaligned(ws: Workspace) -> list[str]:
    """Clips that should be aligned and are not, or are with other phones or another text than they have now."""
    corpus = Corpus.open(ws)
    readings = {one.id: one for one in read_rows(ws.readings / "readings.jsonl", ReadingRow)}
    known = alignments(ws)
    found = []
    for clip in corpus:
        if not corpus.is_wanted(clip):
            continue
        reading = readings.get(clip.id)
        words = words_of(reading) if reading and reading.text == clip.text else None
        if words is None or (words and (clip.id not in known or not fits(known[clip.id], words))):
            found.append(clip.id)
    return found


def fold_of(id: str, *, folds: int = 2) -> int:
    """Which of `folds` parts a clip is in, by a hash of its id: always the same one."""
    return int.from_bytes(hashlib.sha256(f"fold {id}".encode()).digest()[:4], "big") % folds


@dataclass(frozen=True, slots=True, kw_only=True)
class Listened:
    """Clips with their alignments, what was heard of them, and those that have none."""

    found: list[Alignment]
    matches: list[tuple[str, Match]]
    problems: list[str]
    notes: list[str]
    made_by: str
    doubt: str = ""  # why its times are worth little
    holes: list[str] = field(default_factory=list)  # what is said and not written, or written and not said


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """An alignment in numbers."""

    clips: int
    words: int
    phones: int
    seconds: float
    silence: float  # share of the time
    mean_score: float | None
    worst: list[dict[str, Any]]  # id, score; the lowest first
    outliers: list[dict[str, Any]]  # phones that last far longer than such a phone does


def spread(found: Sequence[Alignment]) -> Spread:
    """What an alignment comes to: how much is said and silent, its scores, what is strange in it."""
    scores = [(one.score, one.id) for one in found if one.score is not None]
    ranked = sorted(scores, key=lambda row: row[0])
    spans = [span for one in found for span in one.phones]
    quiet = sum(span.end - span.start for span in spans if not span.label)
    total = sum(one.seconds for one in found)
    return Spread(
        clips=len(found),
        words=sum(len(one.words) for one in found),
        phones=sum(bool(span.label) for span in spans),
        seconds=round(total, 3),
        silence=round(quiet / total, 4) if total else 0.0,
        mean_score=round(sum(score for score, _ in scores) / len(scores), 4) if scores else None,
        worst=[{"id": id, "score": score} for score, id in ranked[:WORST]],
        outliers=_outliers(found),
    )


def _outliers(found: Iterable[Alignment]) -> list[dict[str, Any]]:
    lengths: dict[str, list[float]] = {}
    for one in found:
        for span in one.phones:
            if span.label:
                lengths.setdefault(span.label, []).append(span.end - span.start)
    usual = {phone: median(seconds) for phone, seconds in lengths.items()}
    strange: list[dict[str, Any]] = [
        {"id": one.id, "phone": span.label, "start": span.start, "seconds": round(span.end - span.start, 3)}
        for one in found
        for span in one.phones
        if span.label and span.end - span.start > max(STRANGE * usual[span.label], STRANGE_SECONDS)
    ]
    return sorted(strange, key=lambda row: -row["seconds"])[:WORST]


# ---- pauses that are heard and not written: the alignment finds them, and a comma marks them for training
# A voice can only learn to pause at a mark. Where speakers pause without one, it learns to pause nowhere.


PAUSE = ","
DOCUMENT = "pauses.json"  # in the run: the words of each clip after which a pause was marked

Marks = dict[str, list[int]]


def find_pauses(ws: Workspace, readings: Mapping[str, Reading], *, least: float) -> Marks:
    """For each clip the words after which nothing is written and at least so many seconds nothing is said."""
    if not alignment_path(ws).exists():
        raise TrainError(
            f"recipe: data.pauses = {least:g} needs an alignment: run 'olu align {ws.root}', or leave it out"
        )
    rows = (one for one in alignments(ws).values() if one.id in readings)
    return {one.id: _pauses(readings[one.id], one, least) for one in rows if _same(readings[one.id], one)}


def mark_pauses(readings: Mapping[str, Reading], marks: Mapping[str, list[int]]) -> dict[str, Reading]:
    return {id: _marked(reading, marks[id]) if marks.get(id) else reading for id, reading in readings.items()}


def knows_pauses(vocabulary: SymbolVocabulary, frontend: dict[str, Any]) -> tuple[SymbolVocabulary, dict[str, Any]]:
    """Vocabulary and frontend state that hold the mark of a pause, also where no text has it."""
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

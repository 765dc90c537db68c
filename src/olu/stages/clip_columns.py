"""The columns of the table of clips, made of a corpus: of all its clips at once, or of those that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from olu.audit.check import SEVERITIES
from olu.audit.coverage import count_letters
from olu.core.types import Clip
from olu.corpus import decisions
from olu.corpus.drafts import TextDraft
from olu.corpus.manifest import Corpus
from olu.stages.clip_view import COLUMNS

NO_MARKS: list[str] = []  # most rows have none: they share this one


def columns_of(
    corpus: Corpus, clips: Sequence[Clip], *, drafts: Mapping[str, TextDraft], per_second: float
) -> dict[str, list[Any]]:
    """Column -> a value of each clip; their tokens are looked up later. `per_second`: frames."""
    written = _written(corpus, clips, drafts)
    parts = (_imported(clips), _heard(corpus, clips, per_second), _judged(corpus, clips), written)
    made = {name: column for part in parts for name, column in part.items()}
    return {name: made[name] for name in COLUMNS}


def _imported(clips: Sequence[Clip]) -> dict[str, list[Any]]:
    return {
        "id": [clip.id for clip in clips],
        "speaker": [clip.speaker for clip in clips],
        "rate": [clip.rate for clip in clips],
        "audio": [clip.audio for clip in clips],
        "start": [_rounded(clip.start) for clip in clips],
        "text": [clip.text for clip in clips],
        "tokens": [None] * len(clips),
    }


def _heard(corpus: Corpus, clips: Sequence[Clip], per_second: float) -> dict[str, list[Any]]:
    """How long they are, as training hears them, and how much is said."""
    seconds = [decisions.stretch(clip, corpus.decision(clip)).seconds for clip in clips]
    letters = [count_letters(clip.text) for clip in clips]
    ends = [_rounded(clip.start + clip.seconds) for clip in clips]
    rounded = [_rounded(one) for one in seconds]
    return {
        "seconds": rounded,
        "letters": letters,
        "seconds_per_letter": [round(one / n, 4) if n else None for one, n in zip(seconds, letters, strict=True)],
        "frames": [int(one * per_second) for one in seconds],
        "end": [one if one == end else end for one, end in zip(rounded, ends, strict=True)],  # mostly the same
    }


def _judged(corpus: Corpus, clips: Sequence[Clip]) -> dict[str, list[Any]]:
    """What the audit found of them, what was decided, and whether they train."""
    marks, decided = [corpus.marks(clip) for clip in clips], [corpus.decision(clip) for clip in clips]
    sides = [corpus.split(clip) for clip in clips]
    whys = [corpus.why_not(clip) for clip in clips]
    return {
        "split": [side or "" for side in sides],
        "worst": [min((one.severity for one in found), key=SEVERITIES.index, default="") for found in marks],
        "marks": [sorted({one.check for one in found}) if found else NO_MARKS for found in marks],
        "decision": [one.decision if one else "" for one in decided],
        "trains": [side == "train" and why is None for side, why in zip(sides, whys, strict=True)],
    }


def _written(corpus: Corpus, clips: Sequence[Clip], drafts: Mapping[str, TextDraft]) -> dict[str, list[Any]]:
    """What people and recognisers wrote of them."""
    written = [corpus.correction(clip) for clip in clips]
    drafted = [None if clip.text.strip() else drafts.get(clip.id) for clip in clips]
    return {
        "corrected": [one.by if one else "" for one in written],
        "imported": [corpus.as_imported(clip).text if one else "" for clip, one in zip(clips, written, strict=True)],
        "draft": [one.text if one else "" for one in drafted],
        "confidence": [one.confidence if one else None for one in drafted],
    }


def _rounded(value: float) -> float:
    """To milliseconds; the number itself where it is round already: with 100,000 rows, a copy of each is megabytes."""
    short = round(value, 3)
    return value if short == value else short

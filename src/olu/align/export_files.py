"""An alignment as files for other programs: TextGrids, and durations in frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from olu.align.state import tones_of
from olu.align.textgrids import write_all
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace, write_jsonl
from olu.core.types import Alignment, Clip, Span
from olu.corpus.manifest import Corpus

Frames = Literal["floor", "centre"]


def write_grids(ws: Workspace, target: Path) -> int:
    """One TextGrid per aligned clip; returns how many."""
    corpus = Corpus.open(ws)
    tones = {clip.id: _tones(corpus, clip, one) for clip, one in _aligned(corpus)}
    return write_all(target, (_exact(one, clip) for clip, one in _aligned(corpus)), tones=tones)


def _tones(corpus: Corpus, clip: Clip, alignment: Alignment) -> list[str]:
    """Of each phone of an alignment; none where the language has none, or where the text is read otherwise by now."""
    found = tones_of(corpus.reading(clip))
    return found if len(found) == sum(bool(span.label) for span in alignment.phones) else []


def write_durations(ws: Workspace, target: Path, *, hop: int, rate: int, frames: Frames) -> tuple[int, list[str]]:
    """A row per clip that trains: tokens, silence among them, and their frames, which sum to the clip's.

    Returns how many rows, and the clips that have too few frames for their sounds.
    """
    if hop < 1 or rate < 1:
        raise ConfigError(f"--hop {hop} and --rate {rate}: give whole numbers above 0")
    if target.is_dir():
        raise ConfigError(f"--durations {target} is a folder: name a file")
    problems: list[str] = []
    rows = list(_rows(ws, hop=hop, rate=rate, frames=frames, problems=problems))
    write_jsonl(target, rows)
    return len(rows), problems


def _rows(ws: Workspace, *, hop: int, rate: int, frames: Frames, problems: list[str]) -> Iterator[dict[str, Any]]:
    from olu.align.durations import SILENCES, durations

    corpus = Corpus.open(ws)
    for clip, alignment in _aligned(corpus):
        if corpus.why_not(clip) is not None:
            continue
        taken = corpus.taken(clip)
        samples = (2 * round(taken.seconds * clip.rate) * rate + clip.rate) // (2 * clip.rate)  # as soxr rounds
        try:
            part = within(_exact(alignment, clip), start=taken.start - clip.start, seconds=taken.seconds)
            labels, counts = durations(part, samples=samples, rate=rate, hop=hop, frames=frames)
        except (CorpusError, ValueError) as bad:
            problems.append(f"clip {clip.id}: {str(bad).removeprefix(f'{clip.id}: ')}")
            continue
        total = samples // hop + (frames == "centre")
        if sum(counts) != total:
            raise AssertionError(f"clip {clip.id}: {sum(counts)} frames counted, {total} there")
        row = {"id": clip.id, "rate": rate, "hop": hop, "tokens": list(labels), "frames": [int(n) for n in counts]}
        tones = _tones(corpus, clip, alignment)
        if any(tones):
            coming = iter(tones)
            row["tones"] = ["" if label in SILENCES else next(coming) for label in labels]
        yield row


def within(alignment: Alignment, *, start: float, seconds: float) -> Alignment:
    """The part of an alignment that a stretch of its clip has; half a sound or more must be in it."""
    end = start + seconds

    def moved(spans: tuple[Span, ...]) -> Iterator[Span]:
        for span in spans:
            low, high = max(span.start, start), min(span.end, end)
            if span.label and high - low < (span.end - span.start) / 2:
                raise CorpusError(f"the stretch that trains leaves out {span.label!r} at {span.start:.2f} s")
            if high > low:
                yield replace(span, start=low - start, end=high - start)

    phones = tuple(moved(alignment.phones))
    if phones:
        phones = (*phones[:-1], replace(phones[-1], end=seconds))
    return replace(alignment, seconds=seconds, words=tuple(moved(alignment.words)), phones=phones)


def _exact(alignment: Alignment, clip: Clip) -> Alignment:
    """The file rounds its times: the end is the sound's."""
    phones = alignment.phones
    return replace(
        alignment, seconds=clip.seconds, phones=(*phones[:-1], replace(phones[-1], end=clip.seconds)) if phones else ()
    )


def _aligned(corpus: Corpus) -> Iterator[tuple[Clip, Alignment]]:
    for clip in corpus:
        found = corpus.alignment(clip)
        if found is not None:
            yield clip, found

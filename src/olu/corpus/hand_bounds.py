"""Boundaries of words and phones that people set by hand. They lie beside the alignment, and whoever reads it has them
laid over: an aligner may write its own anew as often as it likes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from olu.core.errors import CorpusError
from olu.core.files import Workspace, hash_value, read_rows
from olu.core.types import EXACT, Alignment, Span
from olu.core.workspace_lock import appending
from olu.corpus.corrections import now
from olu.corpus.journal import Journal

METHOD = "hand"
STEP_SECONDS = 0.005  # by which an arrow moves a boundary, and the shortest sound that it leaves
SAME_SECONDS = 0.0015  # times that differ by less are the same: files round them

Bound = tuple[str, float, float]  # a word or phone, "" for silence, and when it begins and ends


@dataclass(frozen=True, slots=True, kw_only=True)
class HandBounds:
    """Where one person says that the words and phones of a clip are."""

    id: str
    seconds: float
    words: tuple[Bound, ...]
    phones: tuple[Bound, ...]  # end to end from 0 to `seconds`
    by: str
    at: str  # when, in UTC
    batch: str
    __pydantic_config__ = EXACT

    def labels(self) -> list[str]:
        return [label for label, _, _ in self.phones if label]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsUndo:
    """That the boundaries of a clip in one batch hold no more."""

    id: str
    undo: str  # the batch
    by: str
    at: str
    __pydantic_config__ = EXACT


Row = HandBounds | BoundsUndo


def held(rows: Iterable[Row]) -> list[Row]:
    """The rows without those that were taken back, in order."""
    found: dict[tuple[str, str], Row] = {}
    for one in rows:
        if isinstance(one, BoundsUndo):
            found.pop((one.id, one.undo), None)
        else:
            found[one.id, one.batch] = one
    return list(found.values())


def journal(ws: Workspace) -> Journal[Row]:
    return Journal(ws, "hand.jsonl", HandBounds | BoundsUndo, held, folder="alignment")


def load(ws: Workspace, *, ids: Collection[str] | None = None) -> list[HandBounds]:
    """All that were not taken back, earlier ones of a clip too. `ids`: of these clips alone."""
    rows = journal(ws).rows() if ids is None else journal(ws).rows_of(ids)
    return [one for one in held(rows) if isinstance(one, HandBounds) and (ids is None or one.id in ids)]


def in_force(ws: Workspace, *, ids: Collection[str] | None = None) -> dict[str, HandBounds]:
    """Clip id -> what was set last."""
    return {one.id: one for one in load(ws, ids=ids)}


def take_back(
    ws: Workspace, *, who: str, batch: str | None = None, id: str | None = None, by: str | None = None
) -> list[HandBounds]:
    """A batch, all that was set for one clip, or the last batch (`by`: of this person)."""
    with appending(ws):
        every = [one for one in load(ws, ids=None if id is None else [id]) if by is None or one.by == by]
        last = batch or (every[-1].batch if every else "")
        gone = [one for one in every if id is not None or one.batch == last]
        at = now()
        journal(ws).append([BoundsUndo(id=one.id, undo=one.batch, by=who, at=at) for one in gone])
    return gone


def hash_bounds(ws: Workspace) -> str:
    """Changes when other boundaries hold; nothing where none were set by hand."""
    found = {id: one.phones for id, one in in_force(ws).items()}
    return hash_value(found) if found else ""


# ---- laid over


def read_alignments(ws: Workspace) -> dict[str, Alignment]:
    """Clip id -> its alignment: as people set it by hand, else as it was found."""
    return lay_over(found_alignments(ws), in_force(ws))


def found_alignments(ws: Workspace) -> dict[str, Alignment]:
    """What the aligner wrote, whatever people set by hand."""
    return {one.id: one for one in read_rows(ws.alignment / "alignment.jsonl", Alignment)}


def lay_over(found: Mapping[str, Alignment], hand: Mapping[str, HandBounds]) -> dict[str, Alignment]:
    own = {id: by_hand(one, found.get(id)) for id, one in hand.items() if counts(one, found.get(id))}
    return {**found, **own}


def counts(hand: HandBounds, found: Alignment | None) -> bool:
    """Whether boundaries set by hand are of the phones that the clip is aligned with: another text has others."""
    if found is None:
        return True
    return hand.labels() == heard_labels(found) and len(hand.words) == len(found.words)


def heard_labels(alignment: Alignment) -> list[str]:
    return [span.label for span in alignment.phones if span.label]


def by_hand(hand: HandBounds, found: Alignment | None) -> Alignment:
    """As an alignment; a person gives no score."""
    words = tuple(Span(*one) for one in hand.words)
    if found is not None:
        words = tuple(span._replace(label=own.label) for span, own in zip(words, found.words, strict=True))
    return Alignment(
        id=hand.id,
        seconds=hand.seconds,
        words=words,
        phones=tuple(Span(*one) for one in hand.phones),
        method=METHOD,
        unwritten=found.unwritten if found else (),
        unspoken=found.unspoken if found else (),
    )


# ---- checked


def checked(base: Alignment, phones: Sequence[Bound]) -> tuple[tuple[Bound, ...], tuple[Bound, ...]]:
    """Words and phones as a row holds them; an error names what keeps these phones from being the clip's."""
    kept = _touching(base, phones)
    labels = [label for label, _, _ in kept if label]
    if labels != heard_labels(base):
        raise CorpusError(f"clip {base.id}: {_difference(heard_labels(base), labels)}")
    return _words(base, kept), kept


def _touching(base: Alignment, phones: Sequence[Bound]) -> tuple[Bound, ...]:
    """End to end from 0 to the clip's end; silences without a length are left out."""
    found: list[Bound] = []
    at = 0.0
    for label, start, end in phones:
        if abs(start - at) > SAME_SECONDS:
            raise CorpusError(
                f"clip {base.id}: {label or 'a silence'!r} begins at {start:.3f} s and what is before it ends at"
                f" {at:.3f} s: phones touch"
            )
        if end > base.seconds + SAME_SECONDS:
            raise CorpusError(f"clip {base.id}: {label or 'a silence'!r} ends at {end:.3f} s, behind the clip's end")
        if end - at < SAME_SECONDS / 3:
            if label:
                raise CorpusError(
                    f"clip {base.id}: {label!r} at {start:.3f} s has no length: leave it {STEP_SECONDS} s"
                )
            continue
        if not label and found and not found[-1][0]:
            found[-1] = ("", found[-1][1], round(end, 4))
        else:
            found.append((label, round(at, 4), round(end, 4)))
        at = round(end, 4)
    if not found or abs(at - base.seconds) > SAME_SECONDS:
        raise CorpusError(f"clip {base.id}: the last phone ends at {at:.3f} s and the clip at {base.seconds:.3f} s")
    label, start, _ = found[-1]
    return (*found[:-1], (label, start, round(base.seconds, 4)))


def _difference(wanted: Sequence[str], given: Sequence[str]) -> str:
    for place, (one, other) in enumerate(zip(wanted, given, strict=False), 1):
        if one != other:
            return f"phone {place} is {other!r} there and {one!r} in the clip's alignment: only boundaries may move"
    return f"there are {len(given)} phones there and {len(wanted)} in the clip's alignment: only boundaries may move"


def _words(base: Alignment, phones: Sequence[Bound]) -> tuple[Bound, ...]:
    """Each word of the clip from its first phone to its last, where these lie now."""
    heard = [one for one in phones if one[0]]
    found: list[Bound] = []
    at = 0
    for word, size in zip(base.words, _sizes(base), strict=True):
        here = heard[at : at + size]
        edge = heard[at - 1][2] if at else 0.0
        found.append((word.label, here[0][1] if here else edge, here[-1][2] if here else edge))
        at += size
    return tuple(found)


def _sizes(base: Alignment) -> list[int]:
    """How many phones each word has: a phone is of the first word that ends behind its middle."""
    sizes = [0] * len(base.words)
    at = 0
    for span in base.phones:
        if not span.label or not sizes:
            continue
        middle = (span.start + span.end) / 2
        while at + 1 < len(sizes) and base.words[at].end < middle:
            at += 1
        sizes[at] += 1
    return sizes

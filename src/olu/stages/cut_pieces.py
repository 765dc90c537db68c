"""The pieces of a long clip: each reads as it did in the whole, and is surely what is said there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from olu.align.cut import CutLengths, CutPiece, CutPoint, choose, places
from olu.align.runs import SpokenRun, beside_holes, clock, narrowed, spoken_runs, trimmed
from olu.align.state import words_of
from olu.align.text_match import low_score, named, runs_of, unheard
from olu.audit.thresholds import Thresholds
from olu.core.types import Alignment, Frontend, Span
from olu.text.frontend import read_clip

BESIDE = "no sure pause beside what text and sound do not share"
BESIDE_UNHEARD = "no sure pause beside words that are not heard"
SURE_PAUSE = 0.2  # seconds between words of a long recording where a clip of it may begin or end
# How far under the middle half of all words the outer words of such a clip may score, and all of its words in the mean.
EDGE_IQR, MEAN_IQR = 0.75, 1.25


@dataclass(frozen=True, slots=True)
class HeardBounds:
    """A word that scores under `low` is not where it was put; no more than `share` of a clip's words may be such.

    No clip of a long recording begins or ends with a word under `edge`, and the mean of its words is not under `mean`.
    """

    low: float | None
    share: float
    edge: float | None
    mean: float | None


def heard_bounds(alignments: Iterable[Alignment], limits: Thresholds) -> HeardBounds:
    scores = [word.score for one in alignments for word in one.words if word.score is not None]
    edge, mean = (low_score(scores, far=far) for far in (EDGE_IQR, MEAN_IQR))
    return HeardBounds(low_score(scores, far=limits.unheard_iqr), limits.unheard_share, edge, mean)


# ---- pieces that read as they did


def whole_pieces(
    text: str, spans: Sequence[Span], seconds: float, frontend: Frontend, cutting: CutLengths, bad: frozenset[int]
) -> list[CutPiece]:
    """Of all of a clip."""
    return _pieces(text, spans, places(text, labels(spans)), seconds, frontend, cutting, bad)


def _pieces(
    text: str,
    spans: Sequence[Span],
    found: Mapping[int, CutPoint],
    seconds: float,
    frontend: Frontend,
    cutting: CutLengths,
    bad: frozenset[int],
) -> list[CutPiece]:
    """Where to cut so that each part, read by itself, has the words it has in the whole: a date may not be torn."""
    said = labels(spans)
    while True:
        pieces = choose(spans, found, text=text, seconds=seconds, cutting=cutting, bad=bad)
        torn = [piece for piece in pieces if _read(frontend, piece.text) != said[piece.first : piece.last]]
        if not torn or len(pieces) == 1:
            return pieces
        edges = _torn_edges(frontend, pieces, torn)
        found = {at: place for at, place in found.items() if at not in edges}


def _torn_edges(frontend: Frontend, pieces: Sequence[CutPiece], torn: Sequence[CutPiece]) -> set[int]:
    """The words at which not to cut: where two pieces read otherwise together, or else all around the torn ones."""
    edges = {b.first for a, b in pairwise(pieces) if (a in torn or b in torn) and _tears(frontend, a, b)}
    return edges or {at for piece in torn for at in (piece.first, piece.last)}


def _tears(frontend: Frontend, left: CutPiece, right: CutPiece) -> bool:
    together = _read(frontend, f"{left.text} {right.text}")
    return [*_read(frontend, left.text), *_read(frontend, right.text)] != together


def _read(frontend: Frontend, text: str) -> list[str]:
    return [word for word, _ in words_of(read_clip(frontend, text)[0])]


def labels(spans: Sequence[Span]) -> list[str]:
    return [word.label for word in spans]


# ---- pieces of a long recording: what is not written, not said or not heard is in none


@dataclass(frozen=True)
class LongPieces:
    """Those of one recording, as they are found: `kept`, and the seconds that are `left` out, with why."""

    text: str
    alignment: Alignment
    frontend: Frontend
    cutting: CutLengths
    bounds: HeardBounds
    kept: list[CutPiece] = field(default_factory=list)
    left: list[tuple[float, str]] = field(default_factory=list)

    @staticmethod
    def of(text: str, alignment: Alignment, frontend: Frontend, cutting: CutLengths, bounds: HeardBounds) -> LongPieces:
        found = LongPieces(text, alignment, frontend, replace(cutting, outside=cutting.margin), bounds)
        found.left.extend((end - start, f"{clock(start)}: not in the text") for start, end in alignment.unwritten)
        spans = alignment.words
        points = places(text, labels(spans))
        unsure = unheard(spans, low=bounds.edge) | beside_holes(alignment)
        for run in spoken_runs(alignment):
            found._take(run, points, unsure, why=BESIDE)
        found.kept.sort(key=lambda piece: piece.first)
        return found

    def _take(self, run: SpokenRun, points: Mapping[int, CutPoint], unsure: frozenset[int], *, why: str) -> None:
        """The pieces of a run; of one whose words are not all heard what lies on both sides of these."""
        spans = self.alignment.words
        inner = narrowed(run, spans, points, unsure, SURE_PAUSE)
        self.left.extend((seconds, f"{clock(at)}: {why}") for at, seconds in trimmed(run, inner, spans))
        if inner is None:
            return
        for piece in self._short(inner, points, unsure):
            lacking = self._unheard(piece)
            if len(lacking) > self.bounds.share * (piece.last - piece.first):
                for part in self._around(piece, inner, lacking):
                    self._take(part, points, unsure, why=BESIDE_UNHEARD)
            elif self._is_doubtful(piece):
                told = "its words are heard worse than others: others may be said there"
                self.left.append((piece.seconds, f"{clock(piece.start)}: {told}"))
            else:
                self.kept.append(piece)

    def _short(self, run: SpokenRun, points: Mapping[int, CutPoint], unsure: frozenset[int]) -> Iterator[CutPiece]:
        """The pieces of a run; what is too long is cut at shorter pauses too: the words on both sides are known."""
        surely = replace(self.cutting, least_margin=SURE_PAUSE / 2)
        heard = unheard(self.alignment.words, low=self.bounds.low) | beside_holes(self.alignment)
        for piece in self._of_run(run, points, unsure, surely):
            if piece.seconds > self.cutting.longest:
                yield from self._of_run(self._within(piece, run), points, heard, self.cutting)
            else:
                yield piece

    def _of_run(
        self, run: SpokenRun, points: Mapping[int, CutPoint], unsure: frozenset[int], cutting: CutLengths
    ) -> Iterator[CutPiece]:
        """The pieces of one run, as if it were all of the recording."""
        spans = self.alignment.words
        begin = points[run.first].offset if run.first in points else 0
        end = points[run.last].offset if run.last in points else len(self.text)
        own = [
            span._replace(start=span.start - run.start, end=span.end - run.start)
            for span in spans[run.first : run.last]
        ]
        inside = {
            at - run.first: CutPoint(place.offset - begin, place.sentence)
            for at, place in points.items()
            if run.first < at < run.last
        }
        bad = frozenset(at - run.first for at in unsure if run.first <= at < run.last)
        text = self.text[begin:end]
        for piece in _pieces(text, own, inside, run.end - run.start, self.frontend, cutting, bad):
            if _read(self.frontend, piece.text) == labels(own[piece.first : piece.last]):
                yield replace(
                    piece,
                    start=piece.start + run.start,
                    end=piece.end + run.start,
                    first=piece.first + run.first,
                    last=piece.last + run.first,
                )

    def _unheard(self, piece: CutPiece) -> list[int]:
        bad = unheard(self.alignment.words[piece.first : piece.last], low=self.bounds.low)
        return sorted(at + piece.first for at in bad)

    def _around(self, piece: CutPiece, run: SpokenRun, lacking: Sequence[int]) -> Iterator[SpokenRun]:
        """What lies before and behind the most words of a piece in a row that are not heard; these are left out."""
        spans = self.alignment.words
        gone = max(runs_of(lacking), key=len)
        first, last = gone[0], gone[-1] + 1
        start, end = spans[first].start, spans[last - 1].end
        self.left.append((end - start, f"{clock(start)}: not heard where they should be: {named(spans, gone)}"))
        whole = self._within(piece, run)
        if first > piece.first:
            yield replace(whole, last=first, end=start)
        if last < piece.last:
            yield replace(whole, first=last, start=end)

    def _within(self, piece: CutPiece, run: SpokenRun) -> SpokenRun:
        """A piece with all of the pauses around it."""
        spans = self.alignment.words
        start = spans[piece.first - 1].end if piece.first > run.first else run.start
        return SpokenRun(piece.first, piece.last, start, spans[piece.last].start if piece.last < run.last else run.end)

    def _is_doubtful(self, piece: CutPiece) -> bool:
        """Whether the words of a piece are, in the mean, not surely those that are said in it."""
        otherwise = {at for first, last in self.alignment.otherwise for at in range(first, last)}
        heard = (self.alignment.words[at].score for at in range(piece.first, piece.last) if at not in otherwise)
        scores = [score for score in heard if score is not None]
        mean = self.bounds.mean
        return bool(scores) and mean is not None and sum(scores) / len(scores) < mean

"""Another aligner's phones as ours: a map learned over the whole corpus by dynamic programming, times kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from olu.align.textgrid import TOUCH_SECONDS, filled
from olu.core.errors import CorpusError
from olu.core.types import Alignment, Span
from olu.text.articulation import distance, is_weak, letters

Phones = tuple[str, ...]
Word = tuple[str, Phones]  # its text and its phones, as the reading has them
Group = tuple[int, int, int, int]  # theirs from, to; ours from, to

MOVES = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1))
ROUNDS = 5
SHARP = 5.0  # how much the phonetic distance counts, in nats
EXTRA = 2.5  # for a phone that the other side does not have
WEAK_EXTRA = 1.2
SPELLED = 0.4  # tʃ for t and ʃ, bː for b and b
PRIOR = 2.0  # occurrences that the phonetic guess counts for
ACROSS = 4.0  # for one sound of ours over a silence of theirs
MOST_STRANGE = 2.5  # mean cost per phone from which two sides do not say the same
FREE = 8  # phones that the path may lie off the diagonal, whatever the lengths


@dataclass(frozen=True, slots=True)
class PhoneMap:
    """What was learned: how often which of theirs stood for which of ours, and how long ours last."""

    counts: Counter[tuple[Phones, Phones]] = field(default_factory=Counter)
    seen: Counter[Phones] = field(default_factory=Counter)  # occurrences of theirs, single and in twos and threes
    lengths: dict[str, float] = field(default_factory=dict)  # seconds of ours, where one stood for one
    costs: dict[tuple[Phones, Phones], float] = field(default_factory=dict)  # remembered

    def cost(self, theirs: Phones, ours: Phones) -> float:
        found = self.costs.get((theirs, ours))
        if found is None:
            likely = math.exp(-_guess(theirs, ours))
            seen = self.seen[theirs] if self.counts else 0
            found = -math.log((self.counts[theirs, ours] + PRIOR * likely) / (seen + PRIOR))
            self.costs[theirs, ours] = found
        return found

    def path(self, theirs: Sequence[str], ours: Sequence[str], breaks: frozenset[int]) -> tuple[list[Group], float]:
        """The cheapest way to say that each of theirs is some of ours, and its cost; nothing where there is no way.

        `breaks` are the places in theirs before which a silence stands.
        """
        n, m = len(theirs), len(ours)
        if not n or not m or n > 3 * m or m > 3 * n:
            return [], math.inf
        wide = abs(n - m) + FREE
        best: list[dict[int, tuple[float, int, int]]] = [{0: (0.0, 0, 0)}] + [{} for _ in range(n)]
        for i in range(n):
            for j, (so_far, _, _) in best[i].items():
                for take, give in MOVES:
                    to, into = i + take, j + give
                    if to > n or into > m or abs(to * m - into * n) > wide * max(n, m):
                        continue
                    total = so_far + self.cost(tuple(theirs[i:to]), tuple(ours[j:into]))
                    total += ACROSS * sum(at in breaks for at in range(i + 1, to))
                    if into not in best[to] or total < best[to][into][0]:
                        best[to][into] = (total, take, give)
        if m not in best[n]:
            return [], math.inf
        groups, i, j = [], n, m
        while i or j:
            _, take, give = best[i][j]
            groups.append((i - take, i, j - give, j))
            i, j = i - take, j - give
        return groups[::-1], best[n][m][0]


def _guess(theirs: Phones, ours: Phones) -> float:
    """The cost of taking one for the other before anything is counted: by how the phones are written."""
    if len(theirs) == len(ours) == 1:
        return SHARP * distance(theirs[0], ours[0])
    if letters("".join(theirs)) and letters("".join(theirs)) == letters("".join(ours)):
        return SPELLED
    (one,), many = (theirs, ours) if len(theirs) == 1 else (ours, theirs)
    apart = [distance(one, other) for other in many]
    if max(apart) < 0.1:  # a long sound for two short ones
        return SPELLED * (len(many) - 1)
    return min(
        SHARP * apart[kept] + sum(WEAK_EXTRA if is_weak(many[at]) else EXTRA for at in range(len(many)) if at != kept)
        for kept in range(len(many))
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """Phones of theirs and ours that stand for each other: those of a word, or of a whole clip."""

    spans: tuple[Span, ...]
    ours: Phones
    breaks: frozenset[int]

    @staticmethod
    def of(spans: Sequence[Span], ours: Sequence[str]) -> _Piece:
        apart = (at for at in range(1, len(spans)) if spans[at].start - spans[at - 1].end > TOUCH_SECONDS)
        return _Piece(tuple(spans), tuple(ours), frozenset(apart))

    @property
    def theirs(self) -> Phones:
        return tuple(span.label for span in self.spans)


def learn(pairs: Iterable[tuple[Alignment, Sequence[Word]]], *, rounds: int = ROUNDS) -> PhoneMap:
    """A map learnt from clips with their phones and our words: align by what is known, count, and again."""
    pieces = [piece for alignment, words in pairs for piece in _pieces(alignment, words)]
    distinct = Counter((piece.theirs, piece.ours, piece.breaks) for piece in pieces)
    seen: Counter[Phones] = Counter()
    for (theirs, _, _), times in distinct.items():
        for size in (1, 2, 3):
            for at in range(len(theirs) - size + 1):
                seen[theirs[at : at + size]] += times
    learned = PhoneMap()
    for _ in range(rounds):
        counts: Counter[tuple[Phones, Phones]] = Counter()
        for (theirs, ours, breaks), times in distinct.items():
            for i, to, j, into in learned.path(theirs, ours, breaks)[0]:
                counts[theirs[i:to], ours[j:into]] += times
        if counts == learned.counts:
            break
        learned = PhoneMap(counts=counts, seen=seen)
    return PhoneMap(counts=learned.counts, seen=learned.seen, lengths=_lengths(pieces, learned))


def _lengths(pieces: Sequence[_Piece], learned: PhoneMap) -> dict[str, float]:
    total: dict[str, float] = {}
    count: Counter[str] = Counter()
    for piece in pieces:
        for i, to, j, into in learned.path(piece.theirs, piece.ours, piece.breaks)[0]:
            if to - i == into - j == 1:
                total[piece.ours[j]] = total.get(piece.ours[j], 0.0) + piece.spans[i].end - piece.spans[i].start
                count[piece.ours[j]] += 1
    return {phone: seconds / count[phone] for phone, seconds in total.items()}


def apply(learned: PhoneMap, alignment: Alignment, words: Sequence[Word]) -> Alignment:
    """The clip with our words and phones at their times; a clip that says something else is refused."""
    pieces = _pieces(alignment, words)
    found = _mapped(learned, pieces)
    if found is None and len(pieces) > 1:  # one word does not fit: perhaps the words are parted otherwise
        pieces = [_whole(alignment, words)]
        found = _mapped(learned, pieces)
    if len(pieces) == 1 and found is not None and (lost := _unheard(learned, pieces[0], words)):
        raise CorpusError(
            f"clip {alignment.id}: its TextGrid has no phone of the word {lost!r}: check that it is of this text"
        )
    if found is None:
        heard, read = sum(bool(phone.label) for phone in alignment.phones), sum(len(phones) for _, phones in words)
        raise CorpusError(
            f"clip {alignment.id}: the {heard} phones of its TextGrid are not the {read} of its reading: check that it "
            "is of this clip, or run 'olu read' as the other aligner read it"
        )
    spans = iter(found)
    said = []
    for text, phones in words:
        own = [next(spans) for _ in phones]
        said += [Span(text, own[0].start, own[-1].end)] if own else []
    return Alignment(
        id=alignment.id,
        seconds=alignment.seconds,
        words=tuple(said),
        phones=filled(found, end=alignment.seconds),
        method="textgrid",
    )


def _mapped(learned: PhoneMap, pieces: Sequence[_Piece]) -> list[Span] | None:
    found: list[Span] = []
    total = 0.0
    for piece in pieces:
        groups, cost = learned.path(piece.theirs, piece.ours, piece.breaks)
        total += cost
        for i, to, j, into in groups:
            found += _shared(learned, piece.spans[i].start, piece.spans[to - 1].end, piece.ours[j:into])
    size = sum(max(len(piece.spans), len(piece.ours)) for piece in pieces)
    return found if math.isfinite(total) and total <= MOST_STRANGE * size else None


def _unheard(learned: PhoneMap, piece: _Piece, words: Sequence[Word]) -> str:
    """A word that has no phone of theirs to itself: the time of its neighbours is not split to make room for it."""
    word_of = [number for number, (_, phones) in enumerate(words) for _ in phones]
    groups, _ = learned.path(piece.theirs, piece.ours, piece.breaks)
    heard = {word_of[j] for _, _, j, into in groups if word_of[j] == word_of[into - 1]}
    return next((text for number, (text, phones) in enumerate(words) if phones and number not in heard), "")


def _shared(learned: PhoneMap, start: float, end: float, ours: Phones) -> Iterator[Span]:
    """A stretch of time for some phones, each as much of it as such a phone mostly takes."""
    usual = [learned.lengths.get(phone, 0.0) for phone in ours]
    middle = sum(usual) / max(1, sum(length > 0 for length in usual)) or 1.0
    shares = [length or middle for length in usual]
    at, done = start, 0.0
    for number, (phone, share) in enumerate(zip(ours, shares, strict=True), 1):
        done += share
        stop = end if number == len(ours) else start + (end - start) * done / sum(shares)
        yield Span(phone, at, stop)
        at = stop


def _pieces(alignment: Alignment, words: Sequence[Word]) -> list[_Piece]:
    """Word by word where both have the same number of them and every phone lies in one, else the clip as one."""
    spoken = [word for word in words if word[1]]
    if len(alignment.words) != len(spoken):
        return [_whole(alignment, words)]
    inside: list[list[Span]] = [[] for _ in spoken]
    at = 0
    for phone in alignment.phones:
        if not phone.label:
            continue
        middle = (phone.start + phone.end) / 2
        while at < len(spoken) and alignment.words[at].end <= middle:
            at += 1
        if at == len(spoken) or alignment.words[at].start > middle:
            return [_whole(alignment, words)]
        inside[at].append(phone)
    if not all(inside):
        return [_whole(alignment, words)]
    return [_Piece.of(spans, phones) for spans, (_, phones) in zip(inside, spoken, strict=True)]


def _whole(alignment: Alignment, words: Sequence[Word]) -> _Piece:
    spans = [phone for phone in alignment.phones if phone.label]
    return _Piece.of(spans, [phone for _, phones in words for phone in phones])

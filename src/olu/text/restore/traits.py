"""What the words of a line show to one another: their letters, their usual marks, their capitals, and their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from olu.text.restore.engine import Look, Numbers, contexts

PUNCTUATION = ".,;:?!“”‘—"
STOPS = frozenset(".?!:;“”‘")  # a capital behind one of these says nothing
EDGE = 5  # rows beyond a line on each side
CLAUSE = 8  # words looked at on each side for what stands there
LONG_LINE = 18  # words and signs: paragraphs have other habits than sentences that stand alone
SIZES = 6
TOPIC_LETTERS = 3  # a word of fewer says nothing of what a line is about

# A row of traits. Of the word: itself, the marks of its usual form, the last and first two of them, its last two and
# first two letters, its last and its first one, its length, its last three and first three letters, itself where it may
# tell what the line is about. Of its place: words since and until a mark of punctuation, the clause's first word,
# frequent words on each side, its capitals, the size of the line, whether that is long, whether it asks.
(WORD, USUAL, LAST, FIRST, TAIL, HEAD, END, BEGIN, LENGTH, TAIL3, HEAD3, TOPIC) = range(12)
(SINCE, UNTIL, OPENING, LEFT, RIGHT, SHAPE, SIZE, LONG, ASKS) = range(12, 21)
TRAITS = 21
LOOKS: tuple[Look, ...] = (
    (),
    *(((-1, one),) for one in (WORD, TAIL, END, HEAD, USUAL, TAIL3)),
    *(((1, one),) for one in (WORD, HEAD, TAIL, BEGIN, USUAL, LENGTH, HEAD3)),
    *(((away, WORD),) for away in (-2, 2, -3, 3)),
    *(((-1, WORD), (-2, WORD)), ((1, WORD), (2, WORD)), ((-1, WORD), (1, WORD)), ((-1, LAST), (1, FIRST))),
    *(((-2, USUAL), (-1, USUAL)), ((1, USUAL), (2, USUAL)), ((-1, WORD), (1, BEGIN)), ((1, WORD), (-1, BEGIN))),
    *(((-1, WORD), (1, FIRST)), ((-1, USUAL), (1, WORD))),
    *(((0, SINCE),), ((0, UNTIL),), ((0, SINCE), (0, UNTIL)), ((0, OPENING), (0, SINCE)), ((-1, WORD), (0, SINCE))),
    *(((0, LEFT),), ((0, RIGHT),)),
    *(((0, SHAPE),), ((-1, SHAPE),), ((1, SHAPE),), ((0, SHAPE), (-1, WORD)), ((0, SHAPE), (1, WORD))),
    *(((0, SIZE),), ((0, ASKS),), ((0, LONG), (-1, WORD)), ((0, LONG), (1, WORD))),
    *(((-2, TAIL), (-1, TAIL)), ((1, HEAD), (2, HEAD)), ((-2, TAIL),), ((2, HEAD),), ((-1, BEGIN), (-1, LENGTH))),
    *(((-1, WORD), (1, LENGTH), (1, BEGIN)), ((-1, END), (1, BEGIN))),
)
NEAR: tuple[Look, ...] = tuple(((away, TOPIC),) for away in range(-EDGE, EDGE + 1) if away)
ALL_LOOKS = (*LOOKS, *NEAR)
NAMES = (*range(len(LOOKS)), *[len(LOOKS)] * len(NEAR))  # a word nearby counts the same wherever it stands


def word_traits(plain: str, usual: str) -> tuple[int, ...]:
    """`usual`: the marks of the vowels of its usual form."""
    shown = (plain, usual, f"l{usual[-1:]}", f"f{usual[:2]}", plain[-2:], plain[:2], plain[-1:], plain[:1])
    topic = crc32(plain.encode("utf-8")) if plain.isalpha() and len(plain) >= TOPIC_LETTERS else 0
    cut = (crc32(plain[-3:].encode("utf-8")), crc32(plain[:3].encode("utf-8")))
    return (*(crc32(one.encode("utf-8")) for one in shown), len(plain), *cut, topic)


def word_shapes(words: Sequence[str]) -> list[str]:
    """Of each word how it is written: s at a sentence's beginning, A in capitals, C with one, c without, 0 no word."""
    found = []
    begins = True
    for word in words:
        if word[0].isalpha():
            found.append("s" if begins else "A" if len(word) > 1 and word.isupper() else "Cc"[not word[0].isupper()])
            begins = False
        else:
            found.append("0")
            begins = word in STOPS or (begins and word in PUNCTUATION)
    return found


def surroundings(shapes: Sequence[str], at: int) -> tuple[str, ...]:
    """What the letters of a new word are told of its place: its capitals, how long the line is, its neighbours'."""
    before = shapes[at - 1] if at else "-"
    after = shapes[at + 1] if at + 1 < len(shapes) else "-"
    return shapes[at], str(len(shapes) >= LONG_LINE), before, after


def _clauses(words: Sequence[str], frequent: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Of each word, what its clause shows: how far its ends are, its first word, frequent words on both sides."""
    stops = [at for at, word in enumerate(words) if word in PUNCTUATION]
    bits = {word: 1 << place for place, word in enumerate(frequent)}
    here = [bits.get(word, 0) for word in words]
    passed = 0
    for at in range(len(words)):
        while passed < len(stops) and stops[passed] < at:
            passed += 1
        start = max(stops[passed - 1] + 1 if passed else 0, at - CLAUSE)
        coming = stops[passed + (passed < len(stops) and stops[passed] == at) :][:1]
        end = min(coming[0] if coming else len(words), at + CLAUSE + 1)
        left = right = 0
        for one in here[start:at]:
            left |= one
        for one in here[at + 1 : end]:
            right |= one
        opening = crc32(words[start].encode("utf-8")) if start < len(words) else 0
        yield min(at - start, 6), min(end - 1 - at, 6), opening, left, right


def features(beside: Numbers, at: Sequence[int]) -> Numbers:
    """Hashed features of the words at these places of a line, from the traits of their neighbours."""
    places = np.array(at)
    found = contexts(beside, places, ALL_LOOKS, edge=EDGE, names=NAMES)
    for column, ((away, trait),) in enumerate(NEAR, len(LOOKS)):
        found[beside[places + (EDGE + away), trait] == 0, column] = 0
    return found


def line_traits(
    words: Sequence[str], traits: Sequence[tuple[int, ...]], shapes: Sequence[str], frequent: Sequence[str]
) -> Numbers:
    """The traits of a line's words, with rows of its edges around them."""
    edge = tuple(0 if one == TOPIC else one + 1 for one in range(TRAITS))
    size = len(words)
    line = (min(size // SIZES, SIZES), int(size >= LONG_LINE), int("?" in words))
    clauses = _clauses(words, frequent)
    rows = [(*own, *clause, ord(shape), *line) for own, clause, shape in zip(traits, clauses, shapes, strict=True)]
    return np.array([*[edge] * EDGE, *rows, *[edge] * EDGE], dtype=np.uint64)

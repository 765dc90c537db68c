"""A vocabulary of pieces with a new language in it: its tag, its letters, and merges that leave old texts as they were.

Ids are given at the end only. A row is new for the tag, for every sign that is missing, for every letter with a mark
that has no sign of its own (ọ́), and, where asked for, for merges learnt from the corpus.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from olu.text.fallback import relative
from olu.text.pieces import SPACE, WHITE, BytePieceVocabulary, Pair, PieceVocabulary, merged, tag_of, words_of

LEAST_TIMES = 4  # a pair that comes less often gives its row too little to learn from
Start = int | tuple[int, ...] | None  # of a new row: an old one, the mean of some, or the mean of all


def with_language(
    old: PieceVocabulary,
    texts: Iterable[str],
    *,
    language: str,
    merges: int = 0,
    keep: Iterable[str] = (),
    on_spare: bool = True,
) -> PieceVocabulary:
    """`old` extended by all that `texts` need. The same again changes nothing.

    `merges`: how many are learnt from the texts; `keep`: texts that must be cut as before, beside the old pieces.
    `on_spare`: whether a tag that alone is new may take the id of a placeholder; then no table has to grow.
    """
    words = Counter(word for text in texts for word in words_of(old.formed(text)) if word != SPACE)
    signs = {sign for word in words for sign in word} - set(WHITE)
    if isinstance(old, BytePieceVocabulary):
        return old.having_met(signs)
    new = sorted(signs - set(old.symbols))
    grown = old.grown(pieces=new, tag=tag_of(language), on_spare=on_spare and not new and merges <= old.learnt)
    if old.form == "NFKD":  # its marks are pieces of their own
        return grown if merges <= grown.learnt else _with_merges(grown, words, merges, [*old.sayable(), *keep])
    marks = _letters_with_marks(words, grown)
    grown = grown.grown(pieces=[a + b for a, b in marks], merges=marks)
    return grown if merges <= grown.learnt else _with_merges(grown, words, merges, [*old.sayable(), *keep])


def _with_merges(grown: PieceVocabulary, words: Mapping[str, int], merges: int, keep: list[str]) -> PieceVocabulary:
    found = _learnt(grown, words, merges - grown.learnt, keep)
    return grown.grown(pieces=[a + b for a, b in found], merges=found, learnt=len(found))


def _letters_with_marks(words: Mapping[str, int], vocabulary: PieceVocabulary) -> list[Pair]:
    """A merge for each letter and mark side by side, which no sign writes as one; the shorter ones first."""
    known, found = set(vocabulary.merges), dict[Pair, None]()
    pieces = set(vocabulary.symbols)
    for word in sorted(words):
        held = ""
        for sign in word:
            if not unicodedata.combining(sign):
                held = sign
                continue
            pair = (held, sign)
            if not held or (pair not in known and held + sign in pieces):
                held = ""  # another way leads to this piece already
                continue
            found |= {} if pair in known else {pair: None}
            held += sign
    return sorted(found, key=lambda pair: (len(pair[0]), pair))


def _learnt(vocabulary: PieceVocabulary, words: Mapping[str, int], wanted: int, keep: Sequence[str]) -> list[Pair]:
    """Merges of frequent neighbours, on top of how the old ones cut; none that cuts a text of `keep` otherwise.

    Only pairs that make a piece nobody had: so no old merge can follow on a new one.
    """
    pieces, found, refused = set(vocabulary.symbols), list[Pair](), set[Pair]()
    cut = Counter[tuple[str, ...]]()
    for written, times in words.items():
        cut[tuple(vocabulary.pieces_of(written))] += times
    held = {tuple(vocabulary.pieces_of(word)) for text in keep for word in words_of(text) if word != SPACE}
    neighbours = {pair for word in held for pair in pairwise(word)}
    while len(found) < wanted:
        counts = Counter[Pair]()
        for word, times in cut.items():
            for pair in pairwise(word):
                counts[pair] += times
        able = [pair for pair in counts if counts[pair] >= LEAST_TIMES and pair not in refused]
        if not able:
            break
        best = min(able, key=lambda pair: (-counts[pair], pair))
        if best in neighbours or best[0] + best[1] in pieces:
            refused.add(best)
            continue
        found.append(best)
        pieces.add(best[0] + best[1])
        cut = Counter({tuple(merged(word, best)): times for word, times in cut.items()})
    return found


def starts_of(old: Sequence[str], vocabulary: PieceVocabulary, *, language: str) -> tuple[Start, ...]:
    """Where the row of each new piece starts: a tag at the mean of all tags, a letter at a relative's, a merged piece
    at a relative's or at the mean of its two halves."""
    known, held = {piece: id for id, piece in enumerate(old)}, set(vocabulary.specials)
    sayable = {piece: id for piece, id in known.items() if piece not in held}
    tags = tuple(id for piece, id in known.items() if _is_tag(piece))
    halves = {a + b: (a, b) for a, b in vocabulary.merges}
    found: list[Start] = []
    for piece in vocabulary.symbols[len(old) :]:
        if _is_tag(piece):
            found.append(tags or None)
            continue
        near = relative(piece, sayable, language=language)
        of = tuple(sayable[half] for half in halves.get(piece, ()) if half in sayable)
        found.append(sayable[near] if near is not None else (of if len(of) == 2 else None))
    return tuple(found)


def renamed_starts(old: Sequence[str], vocabulary: PieceVocabulary) -> tuple[tuple[int, Start], ...]:
    """Old ids that have another name now, and where their rows start: placeholders that became tags."""
    tags = tuple(id for id, piece in enumerate(old) if _is_tag(piece))
    return tuple((id, tags or None) for id, piece in enumerate(old) if vocabulary.symbols[id] != piece)


def _is_tag(piece: str) -> bool:
    inside = piece[1:-1]
    return piece[:1] == "[" and piece[-1:] == "]" and inside.replace("-", "").isalpha() and inside.islower()


@dataclass(frozen=True)
class PieceProof:
    """What was found when every text of a corpus was cut."""

    texts: int
    longest: int  # tokens, with the tag
    counts: Mapping[str, int]  # of each new piece
    faults: Mapping[str, str]  # clip -> why it is not read whole

    def sentence(self) -> str:
        return f"{self.texts:,} texts are cut into known pieces and come back whole; the longest has {self.longest}"


def prove(vocabulary: PieceVocabulary, texts: Mapping[str, str], *, old: int) -> PieceProof:
    """Cut every text, by clip: unknown signs, texts that do not come back, and how often each new piece comes."""
    counts, longest, faults = Counter[int](), 0, dict[str, str]()
    for clip, text in texts.items():
        ids = vocabulary.encode_text(text)
        counts.update(ids)
        longest = max(longest, len(ids))
        if fault := vocabulary.fault_in(text):
            faults[clip] = fault
    new = {vocabulary.symbols[id]: counts[id] for id in range(old, vocabulary.size)}
    return PieceProof(len(texts), longest, new, faults)

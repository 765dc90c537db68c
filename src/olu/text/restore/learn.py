"""Learn a restorer of marks from texts or lists that have them, and say how right it is in lines it has not seen."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from olu.core.errors import LanguageError
from olu.text.restore.engine import LetterModel, WeightedChoice, contexts, fit_choices, hashes, letter_cases, slots
from olu.text.restore.marks import (
    BUCKETS,
    EDGE,
    FREQUENT,
    LOOKS,
    SIGNS,
    Chances,
    MarkedToken,
    MarkModel,
    MarkRestorer,
    dots_of,
    has_tone,
    line_traits,
    split_marks,
    token_pattern,
    word_traits,
)

SLOTS, LETTER_SLOTS = 1 << 21, 1 << 18
LEAST = 2  # times a feature is seen beside a word, below which it teaches nothing
WEAKEST = 0.08  # of the largest weight: what weighs less is not kept
FOLDS = 5
SURE = 0.97  # of the words that are called sure, in lines that were held back
BINS = 60  # of words with several forms, and of new ones, by what the model thought of them
BEARS = 0.2  # of the times a letter is seen it carries a tone: else it is none that bears one
LEAST_WORDS = 20  # of different words with marks
RAREST_LABEL = 2  # a mark that is seen less often is a slip of the pen
Forms = dict[str, Counter[str]]
WORD_FIT: dict[str, Any] = {"epochs": 6, "rate": 0.05, "batch": 64, "start": 1.0, "least": LEAST}
LETTER_FIT: dict[str, Any] = {"epochs": 8, "rate": 0.1, "batch": 64, "start": 0.1}


@dataclass(frozen=True, slots=True)
class JudgedWord:
    """One word of a line that was held back."""

    kind: str
    chance: float
    right: bool
    dots: bool  # whether its dots are right
    tones: int  # of its letters that can carry a tone
    tones_right: int
    is_word: bool = True


@dataclass(frozen=True, slots=True)
class MarkReport:
    """What was learnt, and what held-back lines showed; shares of words, but for `tones`, which is of letters."""

    words: int
    forms: int
    ambiguous: int
    judged: int
    right: float
    dots: float
    tones: float
    sure: float  # words that it is sure of
    sure_right: float
    new: int
    new_right: float
    new_tones: float


def part(line: str) -> int:
    """Which fold a line is of: by its letters alone, so that a line and its copy are never parted."""
    bare = re.sub(r"\W", "", split_marks(line)[0])
    return int(hashlib.sha256(bare.encode("utf-8")).hexdigest(), 16) % FOLDS


def learn(
    lines: Sequence[str],
    *,
    language: str,
    convention: str = "",
    words: Sequence[str] = (),
) -> tuple[MarkModel, MarkReport]:
    """A model of texts line by line. `words` teach letters alone."""
    if len({word for line in lines for word in _words(line) if any(split_marks(word)[1])}) < LEAST_WORDS:
        raise LanguageError(
            f"these texts have fewer than {LEAST_WORDS} different words with marks: give texts with their marks written"
        )
    listed = sum(len(_words(line)) for line in lines) <= 1.5 * len(lines)
    judged: list[JudgedWord] = []
    for fold in range(FOLDS):
        model = fit([one for one in lines if part(one) != fold], language, convention, words)
        held = [one for one in lines if part(one) == fold]
        judged += judge(held, MarkRestorer(model))
    whole = fit(lines, language, convention, words)
    chances = _chances(judged)
    known = replace(whole, chances=chances, sure=_threshold(judged, chances), listed=listed)
    return known, report(judged, known)


def _words(line: str) -> list[str]:
    return [word for word in token_pattern().findall(line) if word[0].isalpha()]


def fit(lines: Iterable[str], language: str, convention: str, words: Sequence[str] = ()) -> MarkModel:
    """A model of these lines, which does not know yet how right it is."""
    pattern = token_pattern()
    split = [[split_marks(token) for token in pattern.findall(line)] for line in lines]
    taught = [split_marks(word) for word in words]
    labels = _labels([*(one for line in split for one in line), *taught])
    counts = _counts((one for line in split for one in line if one[0].isalpha()), labels)
    more = {name: forms for name, forms in _counts(taught, labels).items() if name not in counts}
    forms = {name: tuple(sorted(seen, key=lambda signs: (-seen[signs], signs))) for name, seen in counts.items()}
    stems = {name: some[0] for name, some in forms.items()}
    letters = _letter_model({**counts, **more}, labels, stems)
    often = Counter(plain for line in split for plain, _ in line if plain.isalpha() and len(forms.get(plain, ())) > 1)
    model = MarkModel(
        language=language,
        convention=convention,
        labels=labels,
        forms=forms,
        seen={name: sum(seen.total() > most for most in BUCKETS) for name, seen in counts.items()},
        frequent=tuple(sorted(often, key=lambda word: (-often[word], word))[:FREQUENT]),
        words=np.zeros(SLOTS),
        scale=1.0,
        letters=letters,
    )
    cases = [case for line in split for case in _word_cases(line, model)]
    table = fit_choices(cases, SLOTS, **WORD_FIT) if cases else model.words
    table = np.where(np.abs(table) < WEAKEST * np.abs(table).max(), 0.0, table)
    return MarkModel.from_bytes(replace(model, words=table).to_bytes())


def _labels(words: Iterable[tuple[str, list[str]]]) -> tuple[str, ...]:
    seen = Counter(one for _, marks in words for one in marks)
    kept = [one for one in seen if one and seen[one] >= RAREST_LABEL]
    return ("", *sorted(kept, key=lambda one: (-seen[one], one))[: len(SIGNS) - 1])


def _counts(words: Iterable[tuple[str, list[str]]], labels: Sequence[str]) -> Forms:
    """How often each word has each form; a word with a mark that is no label is left out."""
    place = dict(zip(labels, SIGNS, strict=False))
    found: Forms = defaultdict(Counter)
    for plain, marks in words:
        if all(one in place for one in marks):
            found[plain]["".join(place[one] for one in marks)] += 1
    return found


def _letter_model(counts: Mapping[str, Counter[str]], labels: tuple[str, ...], stems: Mapping[str, str]) -> LetterModel:
    allowed: dict[str, set[int]] = defaultdict(set)
    told: dict[str, tuple[tuple[int, ...], float]] = {}
    for name, seen in sorted(counts.items()):
        best = min(seen, key=lambda signs: (-seen[signs], signs))
        numbers = tuple(SIGNS.index(sign) for sign in best)
        told[name] = (numbers, seen.total() ** 0.5)
        for char, label in zip(name, numbers, strict=True):
            allowed[char].add(label)
    chosen = {char: tuple(sorted({0, *some})) for char, some in sorted(allowed.items()) if some != {0}}
    empty = LetterModel(labels, chosen, "".join(chosen), np.zeros(LETTER_SLOTS), stems=stems)
    mean = sum(weight for _, weight in told.values()) / max(len(told), 1)
    scaled = {name: (numbers, weight / mean) for name, (numbers, weight) in told.items()}
    cases = letter_cases(scaled, empty)
    return replace(empty, table=fit_choices(cases, LETTER_SLOTS, **LETTER_FIT)) if cases else empty


def _word_cases(line: Sequence[tuple[str, list[str]]], model: MarkModel) -> Iterator[WeightedChoice]:
    """Each word of a line that has several forms, in its context."""
    right = [model.signs(marks) if len(model.forms.get(plain, ())) > 1 else None for plain, marks in line]
    several = [at for at, signs in enumerate(right) if signs is not None]
    if not several:
        return
    tokens = [MarkedToken(word_traits(plain, model), plain) for plain, _ in line]
    spread = contexts(line_traits(tokens, model), np.array(several), LOOKS, edge=EDGE)
    for row, at in zip(spread, several, strict=True):
        forms = model.forms[line[at][0]]
        hashed = np.array(hashes(line[at][0], forms), dtype=np.uint64)
        places = slots(np.repeat(row[None, :], len(forms), axis=0), hashed, model.words)
        yield WeightedChoice(places, forms.index(right[at] or ""))


# ---- how right it is


def judge(lines: Iterable[str], restorer: MarkRestorer) -> Iterator[JudgedWord]:
    """Every word of lines whose marks are taken off, restored."""
    pattern = token_pattern()
    model = restorer.model
    bearers = _bearers(model)
    for line in lines:
        true = pattern.findall(line)
        bare = [split_marks(word)[0] for word in true]
        for word, plain, choice in zip(true, bare, restorer.choose(bare), strict=True):
            if not word[0].isalpha():
                continue
            marks = split_marks(word)[1]
            given = model.marks(choice.signs) if choice.signs else [""] * len(marks)
            forms = len(model.forms.get(plain, ()))
            kind = f"many{model.seen[plain]}" if forms > 1 else "one" if forms else "new"
            bearing = [at for at, char in enumerate(plain) if char in bearers or _tone(marks[at] + given[at])]
            same = sum(_tone(marks[at]) == _tone(given[at]) for at in bearing)
            yield JudgedWord(
                kind,
                model.seen[plain] if kind == "one" else choice.confidence,
                given == marks,
                dots_of(given) == dots_of(marks),
                len(bearing),
                same,
            )


def _bearers(model: MarkModel) -> frozenset[str]:
    """Letters that often carry a tone: vowels, not the nasals that are syllables now and then."""
    seen, toned = Counter[str](), Counter[str]()
    for plain, forms in model.forms.items():
        for char, mark in zip(plain, model.marks(forms[0]), strict=True):
            seen[char] += 1
            toned[char] += bool(_tone(mark))
    return frozenset(char for char, times in toned.items() if times >= BEARS * seen[char])


def _tone(marks: str) -> str:
    return "".join(one for one in marks if has_tone([one]))


def _chances(judged: Sequence[JudgedWord]) -> dict[str, Chances]:
    found = {}
    for kind in sorted({one.kind for one in judged}):
        some = sorted((one.chance, one.right) for one in judged if one.kind == kind)
        if not some:
            continue
        chance = np.array([one for one, _ in some])
        right = np.array([float(hit) for _, hit in some])
        shares = np.linspace(0, 1, min(BINS, max(len(some) // 150, 1)) + 1)[1:-1]
        edges = np.array([1, 2, 3]) if kind == "one" else np.unique(np.quantile(chance, shares))
        bins = np.searchsorted(edges, chance, side="right")
        hits = np.bincount(bins, right, minlength=len(edges) + 1)
        sizes = np.bincount(bins, minlength=len(edges) + 1)
        level = (hits + 1) / (sizes + 2)
        found[kind] = Chances(tuple(map(float, edges)), tuple(map(float, np.maximum.accumulate(level))))
    return found


def _threshold(judged: Sequence[JudgedWord], chances: Mapping[str, Chances]) -> float:
    """From which confidence on words are right often enough, all of them together."""
    rows = sorted(((chances[one.kind].of(one.chance), one.right) for one in judged), reverse=True)
    best, right = 1.0, 0
    for number, (confidence, hit) in enumerate(rows, 1):
        right += hit
        last = number == len(rows) or rows[number][0] != confidence
        if last and right >= SURE * number:
            best = confidence
    return best


def report(judged: Sequence[JudgedWord], model: MarkModel) -> MarkReport:
    sure = [one for one in judged if model.chances[one.kind].of(one.chance) >= model.sure]
    new = [one for one in judged if one.kind == "new"]
    total = max(len(judged), 1)
    return MarkReport(
        words=len(model.forms),
        forms=sum(map(len, model.forms.values())),
        ambiguous=sum(len(forms) > 1 for forms in model.forms.values()),
        judged=len(judged),
        right=sum(one.right for one in judged) / total,
        dots=sum(one.dots for one in judged) / total,
        tones=tone_share(judged),
        sure=len(sure) / total,
        sure_right=sum(one.right for one in sure) / max(len(sure), 1),
        new=len(new),
        new_right=sum(one.right for one in new) / max(len(new), 1),
        new_tones=tone_share(new),
    )


def tone_share(judged: Sequence[JudgedWord]) -> float:
    return sum(one.tones_right for one in judged) / max(sum(one.tones for one in judged), 1)

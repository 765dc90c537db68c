"""Learn a restorer of marks from texts or lists that have them, and say how right it is in lines it has not seen."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from olu.core.errors import LanguageError
from olu.text.restore.confidence import NEW, Evidence, confidence, fit_confidence, threshold
from olu.text.restore.engine import (
    LetterModel,
    Numbers,
    TaughtWord,
    WeightedChoice,
    fit_choices,
    hashes,
    letter_cases,
    slots,
)
from olu.text.restore.marks import (
    FREQUENT,
    NOWHERE,
    SIGNS,
    MarkedToken,
    MarkModel,
    MarkRestorer,
    dots_of,
    has_tone,
    limits,
    show,
    split_marks,
    token_pattern,
    usual_marks,
)
from olu.text.restore.traits import surroundings, word_shapes, word_traits

LEAST_SLOTS, MOST_SLOTS, MOST_LETTER_SLOTS = 1 << 14, 1 << 22, 1 << 20
LEAST = 2  # times a feature is seen beside a word, below which it teaches nothing
WEAKEST = 0.06  # of the largest weight: what weighs less is not kept
FOLDS = 5
DOTTED_WEIGHT = 0.5  # of a word of which only the dots are known, and these not always written
BEARS = 0.2  # of the times a letter is seen it carries a tone: else it is none that bears one
LEAST_WORDS = 20  # of different words with marks
RAREST_LABEL = 2  # a mark that is seen less often is a slip of the pen
Forms = dict[str, Counter[str]]
Hits = dict[tuple[str, ...], tuple[int, int]]  # a word, with or without its marks: times right, times judged
WORD_FIT: dict[str, Any] = {"epochs": 6, "rate": 0.05, "batch": 64, "start": 1.0, "least": LEAST}
LETTER_FIT: dict[str, Any] = {"epochs": 8, "rate": 0.1, "batch": 64, "start": 0.1}


@dataclass(frozen=True, slots=True)
class JudgedWord:
    """One word of a line that was held back, and the marks it was given."""

    plain: str
    marks: tuple[str, ...]
    evidence: Evidence
    right: bool
    dots: bool  # whether its dots are right
    tones: int  # of its letters that can carry a tone
    tones_right: int
    trusted: float = 0.0  # its confidence, fitted to the other folds


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
    dotted: Sequence[str] = (),
) -> tuple[MarkModel, MarkReport]:
    """A model of texts line by line.

    `words` are of a list: they teach letters, and what the texts do not have takes its form from there. `dotted` are
    lines whose tones are not written, or not all: they teach dots.
    """
    if len({word for line in lines for word in _words(line) if any(split_marks(word)[1])}) < LEAST_WORDS:
        raise LanguageError(
            f"these texts have fewer than {LEAST_WORDS} different words with marks: give texts with their marks written"
        )
    folds = []
    for fold in range(FOLDS):
        model = fit([one for one in lines if part(one) != fold], language, convention, words, dotted)
        folds.append(list(judge([one for one in lines if part(one) == fold], MarkRestorer(model))))
    judged = list(trusted(folds))
    trust = fit_confidence([(one.evidence, one.right) for one in judged])
    sure = threshold([(one.trusted, one.right) for one in judged])
    known = fit(lines, language, convention, words, dotted)
    known = replace(known, trust=trust, sure=sure, hits=_form_hits(known, tally(judged)))
    return known, report(judged, known)


def tally(judged: Iterable[JudgedWord]) -> Hits:
    """How often each word, and each of the forms it was given, was right, of how many times."""
    found: Hits = defaultdict(lambda: (0, 0))
    for one in judged:
        for key in ((one.plain,), (one.plain, *one.marks)):
            right, times = found[key]
            found[key] = right + one.right, times + 1
    return found


def informed(judged: Iterable[JudgedWord], hits: Hits) -> list[JudgedWord]:
    """Words with what became of them in other lines."""
    none = (0, 0)
    return [
        replace(
            one,
            evidence=replace(
                one.evidence,
                word_hits=hits.get((one.plain,), none),
                form_hits=hits.get((one.plain, *one.marks), none),
            ),
        )
        for one in judged
    ]


def trusted(folds: Sequence[Sequence[JudgedWord]]) -> Iterator[JudgedWord]:
    """Every word with its confidence, by weights and past judgements that are of the other folds alone."""
    for place, fold in enumerate(folds):
        others = [*folds[:place], *folds[place + 1 :]]
        cases = [one for at, own in enumerate(others) for one in informed(own, tally(_all_but(others, at)))]
        weights = fit_confidence([(one.evidence, one.right) for one in cases])
        for one in informed(fold, tally(_all_but(folds, place))):
            yield replace(one, trusted=confidence(one.evidence, weights))


def _all_but(folds: Sequence[Sequence[JudgedWord]], place: int) -> Iterator[JudgedWord]:
    return (one for at, fold in enumerate(folds) if at != place for one in fold)


def _form_hits(model: MarkModel, hits: Hits) -> dict[str, tuple[tuple[int, int], ...]]:
    return {
        name: tuple(hits.get((name, *model.marks(form)), (0, 0)) for form in forms)
        for name, forms in model.forms.items()
    }


def _words(line: str) -> list[str]:
    return [word for word in token_pattern().findall(line) if word[0].isalpha()]


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line of a text: its words in small letters without marks, their marks, and how they are written."""

    words: tuple[str, ...]
    marks: tuple[list[str], ...]
    shapes: tuple[str, ...]

    @staticmethod
    def of(line: str) -> MarkedLine:
        tokens = token_pattern().findall(line)
        split = [split_marks(token) for token in tokens]
        plain, marks = tuple(one for one, _ in split), tuple(one for _, one in split)
        return MarkedLine(plain, marks, tuple(word_shapes(tokens)))

    def pairs(self) -> Iterator[tuple[str, list[str]]]:
        return zip(self.words, self.marks, strict=True)


def fit(
    lines: Sequence[str], language: str, convention: str, words: Sequence[str] = (), dotted: Sequence[str] = ()
) -> MarkModel:
    """A model of these lines, which does not know yet how right it is."""
    split = [MarkedLine.of(line) for line in lines]
    listed = sum(len(_words(line)) for line in lines) <= 1.5 * len(lines)
    taught = [split_marks(word) for line in words for word in _words(line)]
    labels = _labels([*(one for line in split for one in line.pairs()), *taught])
    counts = _counts((one for line in split for one in line.pairs() if one[0].isalpha()), labels)
    more = [one for one in taught if one[0] not in counts]
    given = {name: Counter(dict.fromkeys(seen, 0)) for name, seen in _counts(more, labels).items()}
    ranked = {name: sorted(seen.items(), key=lambda one: (-one[1], one[0])) for name, seen in (counts | given).items()}
    forms = {name: tuple(form for form, _ in seen) for name, seen in ranked.items()}
    often = Counter(word for line in split for word in line.words if word.isalpha() and len(forms.get(word, ())) > 1)
    model = MarkModel(
        language=language,
        convention=convention,
        labels=labels,
        forms=forms,
        counts={name: tuple(count for _, count in seen) for name, seen in ranked.items()},
        frequent=tuple(sorted(often, key=lambda word: (-often[word], word))[:FREQUENT]),
        words=np.zeros(_slots(128 * often.total())),
        scale=1.0,
        letters=LetterModel(labels, {}, "", np.zeros(1)),
        listed=listed,
    )
    model = replace(model, letters=_letter_model(list(_taught(split, more, model)), model))
    return _with_words(model, split, [MarkedLine.of(line) for line in dotted])


def _with_words(model: MarkModel, split: Sequence[MarkedLine], half: Sequence[MarkedLine]) -> MarkModel:
    """The model with its weights of words, learnt from marked lines and, for dots alone, from half marked ones."""
    cases = [case for line in split for case in _word_cases(line, model)]
    cases += [case for line in half for case in _word_cases(line, model, dots=True)]
    table = fit_choices(cases, len(model.words), **WORD_FIT) if cases else model.words
    return MarkModel.from_bytes(_with_dotted(replace(model, words=_pruned(table)), half).to_bytes())


def _pruned(table: Numbers) -> Numbers:
    return np.where(np.abs(table) < WEAKEST * np.abs(table).max(), 0.0, table)


def _with_dotted(model: MarkModel, lines: Sequence[MarkedLine]) -> MarkModel:
    """Words that only these lines have, with their usual dots and the tones that their letters suggest."""
    found: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for line in lines:
        for plain, marks in line.pairs():
            if plain.isalpha() and plain not in model.forms:
                found[plain][dots_of(marks)] += 1
    usual = {name: seen.most_common(1)[0][0] for name, seen in found.items()}
    guessed = {name: model.letters.guess(name, limits(name, dots, model.letters))[0] for name, dots in usual.items()}
    forms = {name: ("".join(SIGNS[one] for one in labels),) for name, labels in guessed.items()}
    counts = dict.fromkeys(forms, (0,))
    return replace(model, forms={**model.forms, **forms}, counts={**model.counts, **counts})


def _slots(wanted: int) -> int:
    """The size of a table that has room for so many features: a power of two."""
    return int(min(max(1 << max(wanted - 1, 1).bit_length(), LEAST_SLOTS), MOST_SLOTS))


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


def _taught(
    lines: Sequence[MarkedLine], more: Iterable[tuple[str, list[str]]], model: MarkModel
) -> Iterator[TaughtWord]:
    """Every form of every word in every place, weighing together the square root of the times it was seen."""
    seen = Counter[tuple[str, str, tuple[str, ...]]]()
    for line in lines:
        for at, (plain, marks) in enumerate(line.pairs()):
            signs = model.signs(marks) if plain.isalpha() else None
            if signs is not None:
                seen[plain, signs, NOWHERE if model.listed else surroundings(line.shapes, at)] += 1
    found = [
        (plain, signs, times / sum(model.counts[plain]) ** 0.5, around)
        for (plain, signs, around), times in sorted(seen.items())
    ]
    found += [(plain, signs, 1.0, NOWHERE) for plain, marks in more if (signs := model.signs(marks)) is not None]
    mean = sum(weight for _, _, weight, _ in found) / max(len(found), 1)
    for plain, signs, weight, around in found:
        yield TaughtWord(plain, tuple(SIGNS.index(sign) for sign in signs), weight / mean, around)


def _letter_model(words: Sequence[TaughtWord], model: MarkModel) -> LetterModel:
    allowed: dict[str, set[int]] = defaultdict(set)
    for word in words:
        for char, label in zip(word.plain, word.labels, strict=True):
            allowed[char].add(label)
    chosen = {char: tuple(sorted({0, *some})) for char, some in sorted(allowed.items()) if some != {0}}
    stems = {name: some[0] for name, some in model.forms.items()}
    size = min(_slots(64 * len(words)), MOST_LETTER_SLOTS)
    empty = LetterModel(model.labels, chosen, "".join(chosen), np.zeros(size), stems=stems)
    cases = letter_cases(words, empty)
    return replace(empty, table=_pruned(fit_choices(cases, size, **LETTER_FIT))) if cases else empty


def _word_cases(line: MarkedLine, model: MarkModel, *, dots: bool = False) -> Iterator[WeightedChoice]:
    """Each word of a line that has several forms, in its context. `dots`: only its dots are known."""
    right = {at: _right(plain, marks, model, dots=dots) for at, (plain, marks) in enumerate(line.pairs())}
    several = [at for at, some in right.items() if some]
    if not several:
        return
    tokens = [MarkedToken(plain, word_traits(plain, usual_marks(plain, model))) for plain in line.words]
    for row, at in zip(show(tokens, several, line.shapes, model), several, strict=True):
        forms = model.forms[line.words[at]]
        hashed = np.array(hashes(line.words[at], forms), dtype=np.uint64)
        places = slots(np.repeat(row[None, :], len(forms), axis=0), hashed, model.words)
        yield WeightedChoice(places, right[at], DOTTED_WEIGHT if dots else 1.0)


def _right(plain: str, marks: Sequence[str], model: MarkModel, *, dots: bool) -> tuple[int, ...]:
    """Which of a word's forms are right; none where there is nothing to learn."""
    forms = model.forms.get(plain, ())
    if len(forms) < 2 or not any(model.counts[plain]):
        return ()
    if not dots:
        signs = model.signs(marks)
        return () if signs is None else (forms.index(signs),)
    found = tuple(at for at, form in enumerate(forms) if dots_of(model.marks(form)) == dots_of(marks))
    return found if len(found) < len(forms) else ()


# ---- how right it is


def judge(lines: Iterable[str], restorer: MarkRestorer) -> Iterator[JudgedWord]:
    """Every word of lines whose marks are taken off, restored."""
    model = restorer.model
    bearers = _bearers(model)
    for line in map(MarkedLine.of, lines):
        for plain, marks, choice in zip(
            line.words, line.marks, restorer.choose(line.words, shapes=line.shapes), strict=True
        ):
            if choice.evidence is None:
                continue
            given = model.marks(choice.signs)
            bearing = [at for at, char in enumerate(plain) if char in bearers or _tone(marks[at] + given[at])]
            same = sum(_tone(marks[at]) == _tone(given[at]) for at in bearing)
            dots = dots_of(given) == dots_of(marks)
            yield JudgedWord(plain, tuple(given), choice.evidence, given == marks, dots, len(bearing), same)


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


def report(judged: Sequence[JudgedWord], model: MarkModel) -> MarkReport:
    sure = [one for one in judged if one.trusted >= model.sure]
    new = [one for one in judged if one.evidence.kind == NEW]
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

"""Marks put back where a text was typed without them: tones, dots, doubled consonants, by a model of the language.

The model's file has the forms of the words it has seen, two tables of weights, and how often it was right in lines it
had not seen: that is the confidence of each word. It is read with numpy and without pickle.
"""

from __future__ import annotations

import io
import json
import math
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from olu.core.errors import LanguageError
from olu.core.parse import from_json
from olu.text.language_data import Pack, ReadingTrace, RestoredWord
from olu.text.languages import MARKS as FILE
from olu.text.restore.confidence import GIVEN, MANY, NEW, ONE, Evidence, confidence
from olu.text.restore.engine import LetterModel, Numbers, eight_bits, hashes, likeliest, slots
from olu.text.restore.traits import (
    LONG_LINE,
    PUNCTUATION,
    features,
    line_traits,
    surroundings,
    word_shapes,
    word_traits,
)
from olu.text.words import combining_marks

KIND = "marks"
CELLS, OLDER_CELLS = 4, 2  # of each form in a model's file
# Steps of a weight on either side of none: finer ones make the file larger and nothing righter.
WORD_STEPS, LETTER_STEPS = 31, 15
BELOW = "\u0323\u0307\u0331\u0329\u0332\u0328"  # dots: marks that make another letter, not a tone
LONG_MARKS = "\u135d\u135e\u135f"  # what Ethiopic letters carry where their consonant is long
SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"
MARKED_TEXT = 0.4  # of all words: where so many carry a tone, those without one are meant so
DOTTED_TEXT = 0.2  # of all words: where so many carry a dot, those without one are meant so
CACHED = 200_000
FREQUENT = 6
NOWHERE = ("-", "-", "-", "-")  # the place of a word of a list


def token_pattern() -> re.Pattern[str]:
    """Words with the marks on their letters, figures, and punctuation."""
    return re.compile(rf"(?:[^\W\d_][{combining_marks()}]*)+|\d+|[{PUNCTUATION}]")


def is_mark(char: str) -> bool:
    return unicodedata.combining(char) > 0


def split_marks(word: str) -> tuple[str, list[str]]:
    """The letters of a word in small letters, and the marks on each in their order."""
    if word.isascii():  # the usual word of a text without its marks
        return word.lower(), [""] * len(word)
    letters: list[str] = []
    marks: list[str] = []
    for char in unicodedata.normalize("NFD", word.lower()):
        if is_mark(char) and letters:
            marks[-1] += char
        else:
            letters.append(char)
            marks.append("")
    return "".join(letters), marks


def with_marks(word: str, marks: Sequence[str]) -> str:
    """A word as it was typed, in its capitals, with these marks instead of its own."""
    letters = word if word.isascii() else [char for char in unicodedata.normalize("NFD", word) if not is_mark(char)]
    return unicodedata.normalize("NFC", "".join(a + b for a, b in zip(letters, marks, strict=True)))


def in_capitals(text: str, *, like: str) -> str:
    """A text whose capitals were made small, with the capitals of the one that it was made from."""
    pattern = token_pattern()
    found, typed = list(pattern.finditer(text)), pattern.findall(like)
    if len(found) != len(typed):
        return text
    pieces: list[str] = []
    at = 0
    for match, word in zip(found, typed, strict=True):
        own = match.group()
        pieces += (text[at : match.start()], own.upper() if word.isupper() and len(word) > 1 else own)
        if word[0].isupper():
            pieces[-1] = pieces[-1][0].upper() + pieces[-1][1:]
        at = match.end()
    return "".join([*pieces, text[at:]])


def dots_of(marks: Sequence[str]) -> tuple[str, ...]:
    if not any(marks):
        return ("",) * len(marks)
    return tuple("".join(one for one in here if one in BELOW) for here in marks)


def are_long(labels: Iterable[str]) -> bool:
    return all(one in LONG_MARKS for label in labels for one in label)


def label_dots(labels: Sequence[str]) -> tuple[str, ...]:
    """The dots of each label; nothing where none has any."""
    found = dots_of(labels)
    return found if any(found) else ()


def has_tone(marks: Sequence[str]) -> bool:
    return any(marks) and any(one not in BELOW for here in marks for one in here)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkModel:
    """What a file holds. `forms`: a word without marks -> its forms as signs, one for each letter."""

    language: str
    convention: str  # what a letter without a mark means in its texts
    labels: tuple[str, ...]  # marks of one letter; a sign is the place of its label in SIGNS
    forms: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, tuple[int, ...]]  # how often each form was seen
    frequent: tuple[str, ...]
    words: Numbers
    scale: float
    letters: LetterModel
    trust: Mapping[str, Sequence[float]] = field(default_factory=dict)  # weights of the confidence
    hits: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)  # of each form, see Evidence
    sure: float = 1.0  # a word with less confidence is unsure
    listed: bool = False  # learnt from a list: what stands there is right

    @property
    def is_length(self) -> bool:
        """Whether it restores long consonants: one too many is worse than one too few, so unsure words stay."""
        return are_long(self.labels)

    def marks(self, signs: str) -> list[str]:
        return [self.labels[SIGNS.index(sign)] for sign in signs]

    def signs(self, marks: Sequence[str]) -> str | None:
        """The signs of a word's marks; nothing where it has one that the model does not know."""
        if any(one not in self.labels for one in marks):
            return None
        return "".join(SIGNS[self.labels.index(one)] for one in marks)

    def to_bytes(self) -> bytes:
        words, scale = eight_bits(self.words, most=WORD_STEPS)
        letters, letter_scale = eight_bits(self.letters.table, most=LETTER_STEPS)
        about = {
            "kind": KIND,
            "language": self.language,
            "convention": self.convention,
            "labels": self.labels,
            "allowed": {char: list(some) for char, some in self.letters.allowed.items()},
            "vowels": self.letters.vowels,
            "frequent": self.frequent,
            "scales": [scale * self.scale, letter_scale],
            "trust": {name: list(some) for name, some in self.trust.items()},
            "sure": self.sure,
            "listed": self.listed,
            "cells": CELLS,
        }
        rows = (" ".join([name, *self._cells(name)]) for name in sorted(self.forms))
        return archive(about, rows, words=words, letters=letters)

    def hits_of(self, name: str) -> tuple[tuple[int, int], ...]:
        return self.hits.get(name) or ((0, 0),) * len(self.forms.get(name, ()))

    def _cells(self, name: str) -> Iterator[str]:
        """A word's forms, each with how often it was seen, right and judged."""
        for form, count, hits in zip(self.forms[name], self.counts[name], self.hits_of(name), strict=True):
            yield from (form, str(count), *map(str, hits))

    @staticmethod
    def from_bytes(data: bytes, *, where: str = FILE, language: str = "") -> MarkModel:
        about, lines, tables = opened(data, kind=KIND, where=where, language=language)
        lost_scale = about["scales"][0] == 1.0 and tables["words"].any()  # its confidence would mean nothing
        if "trust" not in about or lost_scale:
            raise LanguageError(f"{where} was learnt by an older Olu: learn it again with 'olu marks learn'")
        rows = [line.split() for line in lines if line]
        allowed = {char: tuple(some) for char, some in about["allowed"].items()}
        letters = tables["letters"].astype(np.float32) * about["scales"][1]
        cells = about.get("cells", OLDER_CELLS)
        forms = {row[0]: tuple(row[1::cells]) for row in rows}
        stems = {name: some[0] for name, some in forms.items()}
        return MarkModel(
            language=about["language"],
            convention=about["convention"],
            labels=tuple(about["labels"]),
            forms=forms,
            counts={row[0]: tuple(map(int, row[2::cells])) for row in rows},
            frequent=tuple(about["frequent"]),
            words=tables["words"].astype(np.int16),
            scale=about["scales"][0],
            letters=LetterModel(
                about["labels"], allowed, about["vowels"], letters, stems=stems, dots=label_dots(about["labels"])
            ),
            trust=about["trust"],
            hits={row[0]: tuple(zip(map(int, row[3::4]), map(int, row[4::4]), strict=True)) for row in rows}
            if cells == CELLS
            else {},
            sure=about["sure"],
            listed=about["listed"],
        )


def restores(data: bytes, *, where: str, language: str) -> str:
    """What a model puts back: tones (and dots), or geminates."""
    about = opened(data, kind=KIND, where=where, language=language)[0]
    return "geminates" if are_long(about["labels"]) else "tones"


def archive(about: Mapping[str, Any], lines: Iterable[str], **tables: Numbers) -> bytes:
    """A model's file: what it is as JSON, its lines of text, and its tables."""
    file = io.BytesIO()
    facts = np.frombuffer(json.dumps(about, ensure_ascii=False, sort_keys=True).encode("utf-8"), dtype=np.uint8)
    text = np.frombuffer("\n".join(lines).encode("utf-8"), dtype=np.uint8)
    np.savez_compressed(file, allow_pickle=False, about=facts, forms=text, **tables)
    return file.getvalue()


def opened(
    data: bytes, *, kind: str, where: str, language: str
) -> tuple[dict[str, Any], list[str], dict[str, Numbers]]:
    """The parts of a model's file; of another kind, language or of no model at all: one sentence."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            about = from_json(bytes(file["about"]))
            lines = bytes(file["forms"]).decode("utf-8").split("\n")
            tables = {name: file[name] for name in file.files if name not in ("about", "forms")}
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
        raise LanguageError(f"{where} is no model that Olu has learnt: make one with 'olu marks learn'") from None
    if about.get("kind") != kind:
        verb = "marks" if about.get("kind") == KIND else "g2p"
        raise LanguageError(f"{where} is a model of 'olu {verb} learn', which does something else: name the other one")
    if language and about["language"] != language:
        raise LanguageError(
            f"{where} was learnt from {about['language']}, and this is {language}: name one of {language}"
        )
    return about, lines, tables


# ---- a line of words


@dataclass(frozen=True, slots=True)
class MarkedToken:
    """One word of a text: what it shows to others, which forms it may take, and how it is known."""

    plain: str
    traits: tuple[int, ...]
    choices: tuple[str, ...] = ()
    hashed: tuple[int, ...] = ()  # of the choices, where there are several
    dotted: tuple[tuple[str, ...], ...] = ()  # their dots
    counts: tuple[int, ...] = ()  # of the choices, where there are any
    hits: tuple[tuple[int, int], ...] = ()  # of the choices too
    is_open: bool = False  # a word that may take marks
    limits: Mapping[int, tuple[int, ...]] | None = None  # labels that a new word's letters may have

    @property
    def word_hits(self) -> tuple[int, int]:
        return sum(right for right, _ in self.hits), sum(judged for _, judged in self.hits)

    @property
    def spread(self) -> float:
        total = sum(self.counts)
        return -sum(one / total * math.log(one / total) for one in self.counts)


@dataclass(frozen=True, slots=True)
class Choice:
    """The signs of one word, how sure the model may be of them, and whether that is enough."""

    signs: str = ""  # none: the word stays as it is
    confidence: float = 1.0
    sure: bool = True
    evidence: Evidence | None = None


def usual_marks(plain: str, model: MarkModel) -> str:
    """The marks of the vowels of a word's usual form."""
    known = model.forms.get(plain)
    if known is None:
        return "?"
    return "".join(sign for char, sign in zip(plain, known[0], strict=True) if char in model.letters.vowels)


def show(tokens: Sequence[MarkedToken], at: Sequence[int], shapes: Sequence[str], model: MarkModel) -> Numbers:
    """Hashed features of the words at `at`, each in its line."""
    words = [token.plain for token in tokens]
    beside = line_traits(words, [token.traits for token in tokens], shapes, model.frequent)
    return features(beside, at)


def limits(plain: str, dots: Sequence[str], letters: LetterModel) -> dict[int, tuple[int, ...]]:
    """Of each letter the labels that have its dots."""
    found = {}
    for at, (char, dot) in enumerate(zip(plain, dots, strict=True)):
        some = range(len(letters.labels)) if dot else letters.allowed.get(char, (0,))
        found[at] = tuple(one for one in some if dots_of([letters.labels[one]]) == (dot,)) or (0,)
    return found


class MarkRestorer:
    """Puts marks onto words that have none; words that carry a tone, and texts of which many do, stay as they are."""

    def __init__(self, model: MarkModel) -> None:
        self.model = model
        self._pattern = token_pattern()
        self._tokens: dict[tuple[str, bool, bool], MarkedToken] = {}
        self._guesses: dict[tuple[Any, ...], tuple[str, float]] = {}

    def __call__(self, text: str, notes: ReadingTrace, *, typed: str | None = None, cased: str = "") -> str:
        """`typed`: the text before its dots were restored by other means; texts may correct those, a list does not.

        `cased`: the text in its capitals, which tell names.
        """
        found = list(self._pattern.finditer(text))
        words = [match.group() for match in found]
        before = self._pattern.findall(text if typed is None else typed)
        capital = self._pattern.findall(cased or text)
        shapes = word_shapes(capital if len(capital) == len(words) else words)
        split = [split_marks(word)[1] for word in before]
        letters = [at for at, word in enumerate(words) if word[0].isalpha()]
        if (
            not letters
            or len(before) != len(words)
            or sum(has_tone(split[at]) for at in letters) >= max(MARKED_TEXT * len(letters), 1)
        ):
            return text
        model = self.model
        is_dotted = sum(any(dots_of(split[at])) for at in letters) >= DOTTED_TEXT * len(letters)
        firm = [is_dotted or any(marks) for marks in split]
        dotted = typed is not None and model.listed
        pieces: list[str] = []
        at = 0
        for match, choice in zip(found, self.choose(words, firm=firm, shapes=shapes, dotted=dotted), strict=True):
            word = match.group()
            elided = len(word) == 1 and text.startswith("'", match.end())  # n' of n'ụlọ is no word of a list
            if choice.signs and not elided and (choice.sure or not model.is_length):
                after = with_marks(word, model.marks(choice.signs))
                pieces += (text[at : match.start()], after)
                at = match.end()
                notes.add("restore", f"marks, {choice.confidence:.0%}", word, after)
                notes.restored.append(RestoredWord(after, choice.confidence, choice.sure))
        return "".join([*pieces, text[at:]])

    def choose(
        self,
        words: Sequence[str],
        *,
        firm: Sequence[bool] | None = None,
        shapes: Sequence[str] | None = None,
        dotted: bool = False,
    ) -> list[Choice]:
        """A choice for each word. `firm`: whether the dots that a word has, or has not, are meant.

        `dotted`: where no known form has its dots, a known word may still lose them; any other keeps them.
        """
        fixed = firm or [False] * len(words)
        forms = shapes or word_shapes(words)
        tokens = [self._token(word, one, dotted) for word, one in zip(words, fixed, strict=True)]
        several = [at for at, token in enumerate(tokens) if token.hashed]
        best = dict(zip(several, self._best(tokens, several, forms), strict=True)) if several else {}
        return [self._choice(tokens, at, forms, best.get(at, (0, 1.0, 0))) for at in range(len(tokens))]

    def _choice(
        self, tokens: Sequence[MarkedToken], at: int, shapes: Sequence[str], best: tuple[int, float, int]
    ) -> Choice:
        token, model = tokens[at], self.model
        if not token.is_open:
            return Choice()
        known: dict[str, Any] = {"letters": len(token.plain), "shape": shapes[at], "is_long": len(tokens) >= LONG_LINE}
        around = NOWHERE if model.listed else surroundings(shapes, at)
        if token.choices and not any(token.counts):
            signs, chance = self._given(token, around)
            evidence = Evidence(GIVEN, chance=chance, forms=len(token.choices), **known)
        elif token.choices:
            place, chance, support = best
            signs = token.choices[place]
            known |= {"chance": chance, "seen": sum(token.counts), "form_seen": token.counts[place]}
            known |= {"forms": len(token.choices), "spread": token.spread, "support": support}
            known |= {"word_hits": token.word_hits, "form_hits": token.hits[place]}
            evidence = Evidence(MANY if token.hashed else ONE, **known)
        else:
            signs, chance = self._guess(token, around)
            evidence = Evidence(NEW, chance=chance, **known)
        trusted = confidence(evidence, model.trust)
        sure = trusted >= model.sure or (model.listed and evidence.kind != NEW)
        return Choice(signs, trusted, sure, evidence)

    def _best(
        self, tokens: Sequence[MarkedToken], several: Sequence[int], shapes: Sequence[str]
    ) -> Iterator[tuple[int, float, int]]:
        """Of each word with several forms, the likeliest one, how likely it is, and how many features weigh for it."""
        model = self.model
        spread = show(tokens, several, shapes, model)
        counts = [len(tokens[at].hashed) for at in several]
        forms = np.array([form for at in several for form in tokens[at].hashed], dtype=np.uint64)
        dotted = [dots for at in several for dots in tokens[at].dotted]
        found = model.words[slots(np.repeat(spread, counts, axis=0), forms, model.words)]
        scores = found.sum(axis=1, dtype=np.int64)
        weighing = (found > 0).sum(axis=1).tolist()
        starts = np.cumsum([0, *counts[:-1]])
        shares = np.exp((scores - np.repeat(np.maximum.reduceat(scores, starts), counts)) * model.scale)
        totals = np.add.reduceat(shares, starts)
        chances = shares.tolist()
        for start, count, total in zip(starts.tolist(), counts, totals.tolist(), strict=True):
            best = likeliest(chances[start : start + count], dotted[start : start + count])
            yield best, chances[start + best] / total, weighing[start + best]

    def _guess(self, token: MarkedToken, around: tuple[str, ...]) -> tuple[str, float]:
        """A new word by its letters."""
        key = token.plain, around, tuple((token.limits or {}).values())
        known = self._guesses.get(key)
        if known is None:
            labels, chance = self.model.letters.guess(token.plain, token.limits, around)
            known = self._kept(key, ("".join(SIGNS[one] for one in labels), chance))
        return known

    def _given(self, token: MarkedToken, around: tuple[str, ...]) -> tuple[str, float]:
        """Of a word that only a list has, the form that is likeliest by its letters."""
        key = token.plain, around, token.choices
        known = self._guesses.get(key)
        if known is None:
            likely = self.model.letters.likelihood
            chances = [likely(token.plain, [SIGNS.index(one) for one in form], around) for form in token.choices]
            best = max(range(len(chances)), key=chances.__getitem__)
            known = self._kept(key, (token.choices[best], chances[best]))
        return known

    def _kept(self, key: tuple[Any, ...], guess: tuple[str, float]) -> tuple[str, float]:
        if len(self._guesses) >= CACHED:
            self._guesses.clear()
        self._guesses[key] = guess
        return guess

    def _token(self, word: str, firm: bool, dotted: bool) -> MarkedToken:
        known = self._tokens.get((word, firm, dotted))
        if known is None:
            known = self._made(word, firm, dotted)
            if len(self._tokens) >= CACHED:
                self._tokens.clear()
            self._tokens[word, firm, dotted] = known
        return known

    def _made(self, word: str, firm: bool, dotted: bool) -> MarkedToken:
        model = self.model
        plain, marks = split_marks(word)
        traits = word_traits(plain, usual_marks(plain, model))
        is_strange = not model.letters.known.issuperset("".join(marks))
        if not word[0].isalpha() or has_tone(marks) or is_strange:
            return MarkedToken(plain, traits)
        dots = dots_of(marks)
        told = any(dots) or firm or dotted
        known = list(zip(model.forms.get(plain, ()), model.counts.get(plain, ()), model.hits_of(plain), strict=True))
        fitting = [one for one in known if dots_of(model.marks(one[0])) == dots] if told else known
        chosen = fitting or ([] if firm else known)
        if not chosen:
            return MarkedToken(plain, traits, is_open=True, limits=limits(plain, dots, model.letters) if told else None)
        forms, counts, hits = zip(*chosen, strict=True)
        if len(forms) == 1 or not any(counts):
            return MarkedToken(plain, traits, forms, counts=counts, hits=hits, is_open=True)
        found = tuple(dots_of(model.marks(form)) for form in forms)
        return MarkedToken(plain, traits, forms, hashes(plain, forms), found, counts, hits, is_open=True)


def make(pack: Pack) -> MarkRestorer | None:
    """The restorer of a pack that carries a model."""
    data = pack.files.get(FILE)
    return None if data is None else MarkRestorer(MarkModel.from_bytes(data, language=pack.code))

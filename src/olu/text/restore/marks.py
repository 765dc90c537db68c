"""Marks put back where a text was typed without them: tones, dots, doubled consonants, by a model of the language.

The model's file has the forms of the words it has seen, two tables of weights, and how often it was right in lines it
had not seen: that is the confidence of each word. It is read with numpy and without pickle.
"""

from __future__ import annotations

import io
import json
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from olu.core.errors import LanguageError
from olu.core.parse import from_json
from olu.text.language_data import Pack, ReadingTrace, RestoredWord
from olu.text.languages import MARKS as FILE
from olu.text.restore.engine import LetterModel, Look, Numbers, contexts, eight_bits, hashes, slots
from olu.text.words import combining_marks

KIND = "marks"
BELOW = "\u0323\u0307\u0331\u0329\u0332\u0328"  # dots: marks that make another letter, not a tone
LONG_MARKS = "\u135d\u135e\u135f"  # what Ethiopic letters carry where their consonant is long
SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"
MARKED_TEXT = 0.4  # of all words: where so many carry a tone, those without one are meant so
DOTTED_TEXT = 0.2  # of all words: where so many carry a dot, those without one are meant so
PUNCTUATION = ".,;:?!“”‘—"
CACHED = 200_000
BUCKETS = (1, 3, 9)  # how often a word of one form was seen: once, up to three times, up to nine, more
EDGE = 3  # rows beyond a line on each side
CLAUSE = 8  # words looked at on each side for what stands there
FREQUENT = 6

# What a word shows to its neighbours, by place in a row of traits: the word, the marks of its usual form, the last and
# first two of them, its last two and first two letters, its last and its first one, its length. The last six are of the
# place in the line: words since and until a mark of punctuation, the clause's first word, frequent words on each side.
WORD, USUAL, LAST, FIRST, TAIL, HEAD, END, BEGIN, LENGTH, SINCE, UNTIL, OPENING, LEFT, RIGHT = range(14)
TRAITS = 14
LOOKS: tuple[Look, ...] = (
    (),
    *(((-1, one),) for one in (WORD, TAIL, END, HEAD, USUAL)),
    *(((1, one),) for one in (WORD, HEAD, TAIL, BEGIN, USUAL, LENGTH)),
    *(((away, WORD),) for away in (-2, 2, -3, 3)),
    *(((-1, WORD), (-2, WORD)), ((1, WORD), (2, WORD)), ((-1, WORD), (1, WORD)), ((-1, LAST), (1, FIRST))),
    *(((-2, USUAL), (-1, USUAL)), ((1, USUAL), (2, USUAL)), ((-1, WORD), (1, BEGIN)), ((1, WORD), (-1, BEGIN))),
    *(((-1, WORD), (1, FIRST)), ((-1, USUAL), (1, WORD))),
    *(((0, SINCE),), ((0, UNTIL),), ((0, SINCE), (0, UNTIL)), ((0, OPENING), (0, SINCE)), ((-1, WORD), (0, SINCE))),
    *(((0, LEFT),), ((0, RIGHT),)),
)


def token_pattern() -> re.Pattern[str]:
    """Words with the marks on their letters, figures, and punctuation."""
    return re.compile(rf"(?:[^\W\d_][{combining_marks()}]*)+|\d+|[{PUNCTUATION}]")


def is_mark(char: str) -> bool:
    return unicodedata.combining(char) > 0


def split_marks(word: str) -> tuple[str, list[str]]:
    """The letters of a word in small letters, and the marks on each in their order."""
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
    letters = [char for char in unicodedata.normalize("NFD", word) if not is_mark(char)]
    return unicodedata.normalize("NFC", "".join(a + b for a, b in zip(letters, marks, strict=True)))


def dots_of(marks: Iterable[str]) -> tuple[str, ...]:
    return tuple("".join(one for one in here if one in BELOW) for here in marks)


def has_tone(marks: Iterable[str]) -> bool:
    return any(one not in BELOW for here in marks for one in here)


@dataclass(frozen=True, slots=True)
class Chances:
    """How often words of a kind were right in lines that were held back, by what the model thought of them."""

    edges: tuple[float, ...]
    right: tuple[float, ...]  # one more than edges

    def of(self, chance: float) -> float:
        return self.right[sum(chance >= edge for edge in self.edges)]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkModel:
    """What a file holds. `forms`: a word without marks -> its forms as signs, one for each letter."""

    language: str
    convention: str  # what a letter without a mark means in its texts
    labels: tuple[str, ...]  # marks of one letter; a sign is the place of its label in SIGNS
    forms: Mapping[str, tuple[str, ...]]
    seen: Mapping[str, int]  # word -> its bucket
    frequent: tuple[str, ...]
    words: Numbers
    scale: float
    letters: LetterModel
    chances: Mapping[str, Chances] = field(default_factory=dict)
    sure: float = 1.0  # a word with less confidence is unsure
    listed: bool = False  # learnt from a list: what stands there is right

    @property
    def is_length(self) -> bool:
        """Whether it restores long consonants: one too many is worse than one too few, so unsure words stay."""
        return all(one in LONG_MARKS for label in self.labels for one in label)

    def marks(self, signs: str) -> list[str]:
        return [self.labels[SIGNS.index(sign)] for sign in signs]

    def signs(self, marks: Sequence[str]) -> str | None:
        """The signs of a word's marks; nothing where it has one that the model does not know."""
        if any(one not in self.labels for one in marks):
            return None
        return "".join(SIGNS[self.labels.index(one)] for one in marks)

    def to_bytes(self) -> bytes:
        words, scale = eight_bits(self.words)
        letters, letter_scale = eight_bits(self.letters.table)
        about = {
            "kind": KIND,
            "language": self.language,
            "convention": self.convention,
            "labels": self.labels,
            "allowed": {char: list(some) for char, some in self.letters.allowed.items()},
            "vowels": self.letters.vowels,
            "frequent": self.frequent,
            "scales": [scale, letter_scale],
            "chances": {name: [one.edges, one.right] for name, one in self.chances.items()},
            "sure": self.sure,
            "listed": self.listed,
        }
        listed = (f"{self.seen[name]} {name} {' '.join(self.forms[name])}" for name in sorted(self.forms))
        return archive(about, listed, words=words, letters=letters)

    @staticmethod
    def from_bytes(data: bytes, *, where: str = FILE, language: str = "") -> MarkModel:
        about, lines, tables = opened(data, kind=KIND, where=where, language=language)
        rows = [line.split() for line in lines if line]
        allowed = {char: tuple(some) for char, some in about["allowed"].items()}
        letters = tables["letters"].astype(np.float32) * about["scales"][1]
        stems = {row[1]: row[2] for row in rows}
        return MarkModel(
            language=about["language"],
            convention=about["convention"],
            labels=tuple(about["labels"]),
            forms={row[1]: tuple(row[2:]) for row in rows},
            seen={row[1]: int(row[0]) for row in rows},
            frequent=tuple(about["frequent"]),
            words=tables["words"].astype(np.int16),
            scale=about["scales"][0],
            letters=LetterModel(about["labels"], allowed, about["vowels"], letters, stems=stems),
            chances={name: Chances(tuple(a), tuple(b)) for name, (a, b) in about["chances"].items()},
            sure=about["sure"],
            listed=about["listed"],
        )


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

    traits: tuple[int, ...]
    plain: str = ""
    choices: tuple[str, ...] = ()  # none: the word stays as it is
    hashed: tuple[int, ...] = ()  # of the choices, where there are several
    kind: str = ""  # one; many and how often it was seen; new
    chance: float = 1.0


@dataclass(frozen=True, slots=True)
class Choice:
    """The signs of one word, how sure the model may be of them, and whether that is enough."""

    signs: str = ""  # none: the word stays as it is
    confidence: float = 1.0
    sure: bool = True


def word_traits(plain: str, model: MarkModel) -> tuple[int, ...]:
    known = model.forms.get(plain)
    usual = "?"
    if known is not None:
        usual = "".join(sign for char, sign in zip(plain, known[0], strict=True) if char in model.letters.vowels)
    shown = (plain, usual, f"l{usual[-1:]}", f"f{usual[:2]}", plain[-2:], plain[:2], plain[-1:], plain[:1])
    return (*(crc32(one.encode("utf-8")) for one in shown), len(plain))


def place_traits(words: Sequence[str], frequent: Sequence[str]) -> Iterator[tuple[int, ...]]:
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


class MarkRestorer:
    """Puts marks onto words that have none; words that carry a tone, and texts of which many do, stay as they are."""

    def __init__(self, model: MarkModel) -> None:
        self.model = model
        self._pattern = token_pattern()
        self._tokens: dict[tuple[str, bool], MarkedToken] = {}

    def __call__(self, text: str, notes: ReadingTrace, *, typed: str | None = None) -> str:
        """`typed`: the text before its dots were restored by other means; those may be corrected."""
        found = list(self._pattern.finditer(text))
        words = [match.group() for match in found]
        before = [match.group() for match in self._pattern.finditer(text if typed is None else typed)]
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
        pieces: list[str] = []
        at = 0
        for match, choice in zip(found, self.choose(words, firm=firm), strict=True):
            if choice.signs and (choice.sure or not model.is_length):
                word = match.group()
                after = with_marks(word, model.marks(choice.signs))
                pieces += (text[at : match.start()], after)
                at = match.end()
                notes.add("restore", f"marks, {choice.confidence:.0%}", word, after)
                notes.restored.append(RestoredWord(after, choice.confidence, choice.sure))
        return "".join([*pieces, text[at:]])

    def choose(self, words: Sequence[str], *, firm: Sequence[bool] | None = None) -> list[Choice]:
        """A choice for each word. `firm`: whether the dots that a word has, or has not, are meant."""
        fixed = firm or [False] * len(words)
        tokens = [self._token(word, one) for word, one in zip(words, fixed, strict=True)]
        several = [at for at, token in enumerate(tokens) if token.hashed]
        chosen = [self._single(token) for token in tokens]
        if several:
            for at, (best, chance) in zip(several, self._best(tokens, several), strict=True):
                chosen[at] = self._choice(tokens[at].choices[best], tokens[at].kind, chance)
        return chosen

    def _single(self, token: MarkedToken) -> Choice:
        return self._choice(token.choices[0], token.kind, token.chance) if token.choices else Choice()

    def _choice(self, signs: str, kind: str, chance: float) -> Choice:
        model = self.model
        known = model.chances.get(kind)
        confidence = known.of(chance) if known else 1.0 if kind == "one" else chance
        return Choice(signs, confidence, confidence >= model.sure or (model.listed and kind != "new"))

    def _best(self, tokens: Sequence[MarkedToken], several: Sequence[int]) -> Iterator[tuple[int, float]]:
        """Of each word with several forms, the likeliest one and how likely it is."""
        model = self.model
        spread = contexts(line_traits(tokens, model), np.array(several), LOOKS, edge=EDGE)
        counts = [len(tokens[at].hashed) for at in several]
        forms = np.array([form for at in several for form in tokens[at].hashed], dtype=np.uint64)
        scores = model.words[slots(np.repeat(spread, counts, axis=0), forms, model.words)].sum(axis=1, dtype=np.int64)
        starts = np.cumsum([0, *counts[:-1]])
        shares = np.exp((scores - np.repeat(np.maximum.reduceat(scores, starts), counts)) * model.scale)
        totals = np.add.reduceat(shares, starts)
        for start, count, total in zip(starts.tolist(), counts, totals.tolist(), strict=True):
            best = int(scores[start : start + count].argmax())
            yield best, float(shares[start + best]) / total

    def _token(self, word: str, firm: bool) -> MarkedToken:
        known = self._tokens.get((word, firm))
        if known is None:
            known = self._made(word, firm)
            if len(self._tokens) >= CACHED:
                self._tokens.clear()
            self._tokens[word, firm] = known
        return known

    def _made(self, word: str, firm: bool) -> MarkedToken:
        model = self.model
        plain, marks = split_marks(word)
        traits = word_traits(plain, model)
        is_strange = not model.letters.known.issuperset("".join(marks))
        if not word[0].isalpha() or has_tone(marks) or is_strange:
            return MarkedToken(traits, plain)
        forms = model.forms.get(plain, ())
        dots = dots_of(marks)
        fitting = tuple(form for form in forms if dots_of(model.marks(form)) == dots) if any(dots) or firm else forms
        forms = fitting or (() if firm else forms)
        if len(forms) > 1:
            return MarkedToken(traits, plain, forms, hashes(plain, forms), f"many{model.seen[plain]}")
        if forms:
            return MarkedToken(traits, plain, forms, (), "one", model.seen[plain])
        limits = self._limits(plain, dots) if any(dots) or firm else None
        labels, chance = model.letters.guess(plain, limits)
        return MarkedToken(traits, plain, ("".join(SIGNS[one] for one in labels),), (), "new", chance)

    def _limits(self, plain: str, dots: Sequence[str]) -> dict[int, tuple[int, ...]]:
        """Of each letter the labels that have its dots."""
        letters = self.model.letters
        found = {}
        for at, (char, dot) in enumerate(zip(plain, dots, strict=True)):
            some = range(len(letters.labels)) if dot else letters.allowed.get(char, (0,))
            found[at] = tuple(one for one in some if dots_of([letters.labels[one]]) == (dot,)) or (0,)
        return found


def line_traits(tokens: Sequence[MarkedToken], model: MarkModel) -> Numbers:
    """The traits of a line's words, with rows of its edges around them."""
    edge = tuple(range(1, TRAITS + 1))
    places = place_traits([token.plain for token in tokens], model.frequent)
    rows = [(*token.traits, *place) for token, place in zip(tokens, places, strict=True)]
    return np.array([*[edge] * EDGE, *rows, *[edge] * EDGE], dtype=np.uint64)


def make(pack: Pack) -> MarkRestorer | None:
    """The restorer of a pack that carries a model."""
    data = pack.files.get(FILE)
    return None if data is None else MarkRestorer(MarkModel.from_bytes(data, language=pack.code))

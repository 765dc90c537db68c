"""The dots of ị ọ ụ ṅ, put back where a text was typed without them.

A word that the model's list knows gets one of the forms it was seen in; where there are several, a linear model looks
at the words beside it. Other words are decided vowel by vowel from their letters. Every feature is read off the text
without its dots, so that what was restored once is not decided again in another way.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from olu.languages.ibo.code import shaped
from olu.text.english import certain
from olu.text.language_data import Pack, ReadingTrace
from olu.text.normalise.settings import style
from olu.text.restore.engine import LetterModel, Look, Numbers, contexts, eight_bits, hashes, slots

TRAITS = 7
EDGE = tuple(range(1, TRAITS + 1))  # beyond the text
BEYOND = 2  # such rows on each side
LOOKS: tuple[Look, ...] = (
    (),
    *(((-1, trait),) for trait in range(TRAITS)),
    *(((1, trait),) for trait in range(TRAITS)),
    ((-2, 0),),
    *(((2, trait),) for trait in (0, 1, 2, 4)),
    *(((-1, 0), (-2, 0)), ((1, 0), (2, 0)), ((-1, 0), (1, 0)), ((-1, 0), (1, 2)), ((1, 3), (1, 5))),
    *(((1, 0), (2, 2)), ((-1, 5), (1, 4)), ((1, 4), (2, 4))),
)
DECIDED, VOWELS = "iou", "aeiou"


@dataclass(frozen=True, slots=True)
class Model:
    """Forms of known words as dot patterns, the most frequent first, and two tables of hashed weights."""

    forms: Mapping[str, tuple[str, ...]]
    words: Numbers  # int8: a form beside its neighbours
    letters: LetterModel  # a dot on a vowel beside its letters

    @staticmethod
    def of(forms: Mapping[str, tuple[str, ...]], words: Numbers, letters: Numbers) -> Model:
        return Model(forms, words, LetterModel("01", dict.fromkeys(DECIDED, (0, 1)), VOWELS, letters, binary=True))

    @staticmethod
    def from_bytes(data: bytes, *, read: Callable[[Iterable[str]], Mapping[str, tuple[str, ...]]]) -> Model:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            listed = bytes(file["forms"]).decode("utf-8").split("\n")
            letters = file["letters"].astype(np.float32) * file["letters_scale"]
            return Model.of(read(listed), file["words"].astype(np.int16), letters)


def to_bytes(lines: Iterable[str], words: Numbers, letters: Numbers) -> bytes:
    """The file: the forms line by line, and both tables in eight bits."""
    small, scale = eight_bits(letters)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        forms=np.frombuffer("\n".join(lines).encode("utf-8"), dtype=np.uint8),
        words=eight_bits(words)[0],
        letters=small,
        letters_scale=np.float32(scale),
    )
    return file.getvalue()


def _harmony(plain: str, model: Model) -> str:
    """The vowel set of each vowel, in the word's most frequent form: A, E, or unknown."""
    known = model.forms.get(plain)
    if known is None:
        return "".join({"a": "A", "e": "E"}.get(char, "?") for char in plain if char in VOWELS)
    return "".join(
        "A" if char == "a" or sign == "1" else "E" for char, sign in zip(plain, known[0], strict=True) if char in VOWELS
    )


def traits(plain: str, model: Model) -> tuple[int, ...]:
    """What a word shows to its neighbours: itself, its harmony, its beginnings and ends."""
    sets = _harmony(plain, model)
    shown = (
        plain,
        f"h{sets[:1]}",
        f"H{sets[:3]}",
        f"p{plain[:2]}",
        f"P{plain[:4]}",
        f"s{plain[-3:]}",
        f"S{plain[-2:]}",
    )
    return tuple(crc32(one.encode("utf-8")) for one in shown)


def spread(rows: Iterable[tuple[int, ...]], at: Sequence[int]) -> Numbers:
    """Hashed features of the words at `at`, from the traits of all words of their line."""
    beside = np.array([EDGE, EDGE, *rows, EDGE, EDGE], dtype=np.uint64)
    return contexts(beside, np.array(at), LOOKS, edge=BEYOND)


def guess(plain: str, model: Model) -> str:
    """The likeliest dots of an unknown word; never one on n."""
    return "".join(map(str, model.letters.guess(plain)[0]))


ALGORITHM = "dots"
FILE = "dots.npz"
DOTTED_TEXT = 0.35  # of all i, o and u: such a text was typed with its dots
TONED_TEXT = 0.5  # of all vowels: a text with that many tones was typed with care, so what has no dot has none
TYPED = 2  # dotted words for each word that seems to lack dots: so was such a text, in which few words have any
TOKEN = re.compile(r"(?:[^\W\d_][\u0300-\u036f]*)+|[.,;:?!“”‘—]")
DOTS = "\u0323\u0307"
TONES = "\u0300\u0301\u0302\u0304\u030c"
LETTERS = re.compile("[a-z]+")
NUMERAL = re.compile("[IVX]{2,}")
SHORTEST_NAME = 4  # shorter ones are other words too
CACHED = 200_000


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a text: what stands beside others of it, and which forms it may take."""

    traits: tuple[int, ...]
    choices: tuple[str, ...] = ()  # none: the word stays as it is
    forms: tuple[int, ...] = ()  # hashes of the choices where there are several


def bare(word: str) -> tuple[str, str]:
    """The word in small letters without its dots, with its tone marks and without them."""
    toned = "".join(char for char in unicodedata.normalize("NFD", word.lower()) if char not in DOTS)
    return toned, "".join(char for char in toned if not unicodedata.combining(char))


def has_dot(word: str) -> bool:
    return not word.isascii() and any(dot in unicodedata.normalize("NFD", word) for dot in DOTS)


def pattern(word: str) -> str:
    """One sign per letter: 1 where it has a dot."""
    signs: list[str] = []
    for char in unicodedata.normalize("NFD", word):
        if not unicodedata.combining(char):
            signs.append("0")
        elif char in DOTS and signs:
            signs[-1] = "1"
    return "".join(signs)


def dotted(word: str, signs: str) -> str:
    """The word with dots where the pattern has a 1; case and tone marks stay."""
    built: list[str] = []
    at = -1
    for char in unicodedata.normalize("NFD", word):
        built.append(char)
        if not unicodedata.combining(char):
            at += 1
            if signs[at] == "1":
                built.append("\u0307" if char in "nN" else "\u0323")
    return unicodedata.normalize("NFC", "".join(built))


def dot_ratio(text: str) -> float:
    """How many of a text's i, o and u have a dot."""
    flat = unicodedata.normalize("NFD", text.lower())
    vowels = sum(map(flat.count, "iou"))
    return sum(flat.count(f"{vowel}\u0323") for vowel in "iou") / vowels if vowels else 0.0


def tone_ratio(text: str) -> float:
    """How many of a text's vowels have a tone mark."""
    if text.isascii():
        return 0.0
    flat = unicodedata.normalize("NFD", text.lower())
    vowels = sum(map(flat.count, "aeiou"))
    return sum(map(flat.count, TONES)) / vowels if vowels else 0.0


class Restorer:
    """Puts dots into texts that lack them; words and texts that have dots stay as they are."""

    def __init__(
        self, model: Model, *, own: Callable[[str], bool] = shaped, kept: frozenset[str] = frozenset()
    ) -> None:
        self.model = model
        self.kept = kept  # words whose spelling without dots is the right one
        self.own = own  # whether a word without dots may be a word of the language
        self.tokens: dict[str, Token] = {}

    def __call__(self, text: str, notes: ReadingTrace) -> str:
        if dot_ratio(text) >= DOTTED_TEXT or tone_ratio(text) >= TONED_TEXT:
            return text
        found = list(TOKEN.finditer(text))
        words = [match.group() for match in found]
        chosen = self.choose(words)
        if sum(map(has_dot, words)) >= TYPED * sum("1" in signs for signs in chosen):
            return text
        pieces: list[str] = []
        at = 0
        for match, signs in zip(found, chosen, strict=True):
            if "1" in signs:
                word = match.group()
                after = dotted(word, signs)
                pieces += (text[at : match.start()], after)
                at = match.end()
                notes.add("restore", "dots", word, after)
        return "".join([*pieces, text[at:]])

    def choose(self, words: Sequence[str]) -> list[str]:
        """A pattern per word; an empty one leaves the word alone."""
        tokens = [self.tokens.get(word) or self._token(word) for word in words]
        chosen = [token.choices[0] if token.choices else "" for token in tokens]
        several = [at for at, token in enumerate(tokens) if token.forms]
        if several:
            for at, best in zip(several, self._best(tokens, several), strict=True):
                chosen[at] = tokens[at].choices[best]
        return chosen

    def _best(self, tokens: Sequence[Token], several: Sequence[int]) -> list[int]:
        context = spread((token.traits for token in tokens), several)
        counts = [len(tokens[at].forms) for at in several]
        forms = np.array([form for at in several for form in tokens[at].forms], dtype=np.uint64)
        scores = self.model.words[slots(np.repeat(context, counts, axis=0), forms, self.model.words)].sum(
            axis=1, dtype=np.int64
        )
        best: list[int] = []
        at = 0
        for count in counts:
            best.append(int(scores[at : at + count].argmax()))
            at += count
        return best

    def _token(self, word: str) -> Token:
        toned, plain = bare(word)
        made = traits(plain, self.model)
        is_kept = has_dot(word) or plain in self.kept or NUMERAL.fullmatch(word)
        if LETTERS.fullmatch(plain) and not is_kept:
            choices, name = self._choices(toned, plain)
            forms = hashes(name, choices) if len(choices) > 1 else ()
            token = Token(made, choices, forms)
        else:
            token = Token(made)
        if len(self.tokens) >= CACHED:
            self.tokens.clear()
        self.tokens[word] = token
        return token

    def _choices(self, toned: str, plain: str) -> tuple[tuple[str, ...], str]:
        for name in (toned, plain):
            if known := self.model.forms.get(name):
                return known, name
        if not any(vowel in plain for vowel in "iou") or not self.own(plain):
            return (), plain
        return (guess(plain, self.model),), plain


class Kept:
    """The option `dots = keep`: every text as it stands."""

    def __call__(self, text: str, notes: ReadingTrace) -> str:
        return text


def load(data: bytes) -> Model:
    """The model from the bytes of its file."""
    return Model.from_bytes(data, read=lambda words: dict(map(_line, words)))


def _line(line: str) -> tuple[str, tuple[str, ...]]:
    """`ọṅụ ọnụ`: the forms of one word, the most frequent first."""
    forms = line.split()
    return bare(forms[0])[0], tuple(pattern(form) for form in forms)


def make_restorer(pack: Pack) -> Restorer | Kept:
    """What the pack's option `dots` asks for."""
    if pack.options.get("dots", "restore") == "keep" or FILE not in pack.files:
        return Kept()
    english = certain(pack)
    model = load(pack.files[FILE])
    return Restorer(model, own=lambda word: shaped(word) and word not in english, kept=_names(pack))


def _names(pack: Pack) -> frozenset[str]:
    """Months, money, units and signs as the pack spells them, where that is without dots."""
    found = style(pack)
    names = [months[0] for months in found.dates.months] if found.dates else []
    for unit in found.money.units.values() if found.money else ():
        names += (unit.one, unit.cent)
    names += found.spelling.signs.values() if found.spelling else ()
    words = " ".join([*names, found.figures.percent, *(row[1] for row in pack.rows("units.tsv", cells=2))]).lower()
    return frozenset(word for word in words.split() if LETTERS.fullmatch(word) and len(word) >= SHORTEST_NAME)

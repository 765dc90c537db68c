"""Trains the dot restorer of Igbo: `python dev/train_dots.py TEXT... -o dots.npz`.

Lines whose sha256 (of the NFC line, as an integer) is 0 modulo 10 are held back and measured at the end. `--fold N`
holds back the lines that give N as well: that is for choosing settings. The same text gives the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from olu.languages.ibo.dots import (
    EDGE,
    TOKEN,
    Model,
    Restorer,
    bare,
    chain_features,
    contexts,
    dotted,
    hashes,
    letter_features,
    load,
    pattern,
    slot,
    slots,
    traits,
)

WORD_SLOTS, LETTER_SLOTS = 1 << 18, 1 << 18
HELD = 0
Numbers = NDArray[Any]
Counts = dict[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Case:
    """A word with several forms in its context, and the form it had."""

    context: Numbers
    forms: tuple[int, ...]
    right: int


def lines(path: Path) -> list[str]:
    text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8"))
    return [line for line in text.split("\n") if line.strip()]


def part(line: str) -> int:
    return int(hashlib.sha256(line.encode("utf-8")).hexdigest(), 16) % 10


def words(line: str) -> list[str]:
    return [match.group() for match in TOKEN.finditer(line)]


def is_word(token: str) -> bool:
    return token[0].isalpha()


def names(word: str) -> tuple[str, ...]:
    """What a word is listed under: with its tone marks, and without."""
    toned, plain = bare(word)
    return (plain,) if toned == plain else (toned, plain)


def count(texts: Iterable[str]) -> Counts:
    found: Counts = defaultdict(Counter)
    for line in texts:
        for word in filter(is_word, words(line)):
            for name in names(word):
                found[name][pattern(word)] += 1
    return found


def ordered(forms: Counter[str]) -> tuple[str, ...]:
    return tuple(sorted(forms, key=lambda signs: (-forms[signs], signs)))


def cases(texts: Iterable[str], model: Model) -> list[Case]:
    found = []
    for line in texts:
        tokens = words(line)
        several = [(at, name) for at, word in enumerate(tokens) if is_word(word) for name in names(word)]
        several = [(at, name) for at, name in several if len(model.forms[name]) > 1]
        if several:
            beside = np.array([EDGE, EDGE, *(traits(bare(t)[1], model) for t in tokens), EDGE, EDGE], dtype=np.uint64)
            context = contexts(beside, np.array([at for at, _ in several]))
            for row, (at, name) in zip(context, several, strict=True):
                forms = model.forms[name]
                found.append(Case(row, hashes(name, forms), forms.index(pattern(tokens[at]))))
    return found


def descend(table: Numbers, squares: Numbers, places: Numbers, slopes: Numbers, rate: float) -> None:
    """One step of AdaGrad; `slopes` has one number per row of `places`."""
    unique, inverse = np.unique(places.ravel(), return_inverse=True)
    total = np.bincount(inverse, np.repeat(slopes, places.shape[1]))
    squares[unique] += total**2
    table[unique] -= rate * total / np.sqrt(squares[unique])


def fit_words(found: Sequence[Case], *, epochs: int = 6, rate: float = 0.5, batch: int = 128) -> Numbers:
    """Softmax over the forms of each word; the mean of the weights after the later epochs."""
    table, squares, mean = np.zeros(WORD_SLOTS), np.full(WORD_SLOTS, 1e-2), np.zeros(WORD_SLOTS)
    shuffle = np.random.default_rng(0)
    for epoch in range(epochs):
        order = shuffle.permutation(len(found))
        for at in range(0, len(order), batch):
            chosen = [found[one] for one in order[at : at + batch]]
            counts = [len(one.forms) for one in chosen]
            starts = np.cumsum([0, *counts[:-1]])
            context = np.repeat(np.array([one.context for one in chosen]), counts, axis=0)
            places = slots(context, np.array([f for one in chosen for f in one.forms], dtype=np.uint64), table)
            scores = table[places].sum(axis=1)
            share = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), counts))
            share /= np.repeat(np.add.reduceat(share, starts), counts)
            share[starts + np.array([one.right for one in chosen])] -= 1
            descend(table, squares, places, share, rate)
        if epoch >= epochs // 2:
            mean += table / (epochs - epochs // 2)
    return mean


def vowels(plain: str, signs: str) -> Iterable[tuple[list[str], bool]]:
    last = older = "-"
    for at, char in enumerate(plain):
        if char in "iou":
            yield [*letter_features(plain, at), *chain_features(plain, at, last, older)], signs[at] == "1"
            last, older = char + signs[at], last
        elif char in "ae":
            last, older = char, last


def fit_letters(counts: Counts, *, epochs: int = 8, rate: float = 0.3, batch: int = 64) -> Numbers:
    """A yes or no for each i, o, u of the listed words; a word weighs the square root of its count."""
    table, squares, mean = np.zeros(LETTER_SLOTS), np.full(LETTER_SLOTS, 1e-2), np.zeros(LETTER_SLOTS)
    rows, truth, weight = [], [], []
    for name, forms in counts.items():
        if name.isascii():
            for features, dot in vowels(name, ordered(forms)[0]):
                rows.append([slot(one, table) for one in features])
                truth.append(dot)
                weight.append(forms.total() ** 0.5)
    places, right, heavy = np.array(rows), np.array(truth, dtype=float), np.array(weight)
    heavy /= heavy.mean()
    shuffle = np.random.default_rng(0)
    for epoch in range(epochs):
        order = shuffle.permutation(len(right))
        for at in range(0, len(order), batch):
            here = order[at : at + batch]
            score = table[places[here]].sum(axis=1)
            descend(table, squares, places[here], (1 / (1 + np.exp(-score)) - right[here]) * heavy[here], rate)
        if epoch >= epochs // 2:
            mean += table / (epochs - epochs // 2)
    return mean


def to_bytes(lines: Iterable[str], words: NDArray[Any], letters: NDArray[Any]) -> bytes:
    """The file: the forms line by line, and both tables in eight bits."""
    scale = float(np.abs(letters).max()) / 127 or 1.0
    file = io.BytesIO()
    np.savez_compressed(
        file,
        forms=np.frombuffer("\n".join(lines).encode("utf-8"), dtype=np.uint8),
        words=_eight(words),
        letters=_eight(letters),
        letters_scale=np.float32(scale),
    )
    return file.getvalue()


def _eight(table: NDArray[Any]) -> NDArray[Any]:
    scale = float(np.abs(table).max()) / 127 or 1.0
    return np.round(table / scale).astype(np.int8)


def train(texts: Sequence[str]) -> bytes:
    counts = count(texts)
    forms = {name: ordered(found) for name, found in sorted(counts.items())}
    model = Model(forms, np.zeros(WORD_SLOTS, dtype=np.int8), np.zeros(LETTER_SLOTS))
    listed = [" ".join(dotted(name, signs) for signs in forms[name]) for name in forms]
    return to_bytes(listed, fit_words(cases(texts, model)), fit_letters(counts))


def measure(texts: Iterable[str], restorer: Restorer, *, tones: bool) -> tuple[int, int, int, int]:
    """Words, words right, words that are in no list, and those of them that are right."""
    total = right = new = new_right = 0
    for line in texts:
        typed = unicodedata.normalize("NFD", line)
        stripped = "".join(c for c in typed if c not in "\u0323\u0307" and (tones or not unicodedata.combining(c)))
        given = words(unicodedata.normalize("NFC", stripped))
        for true, before, signs in zip(words(line), given, restorer.choose(given), strict=True):
            if is_word(true):
                hit = (signs or "0" * len(pattern(true))) == pattern(true)
                unknown = not any(name in restorer.model.forms for name in names(before))
                total, right = total + 1, right + hit
                new, new_right = new + unknown, new_right + (unknown and hit)
    return total, right, new, new_right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--fold", type=int, default=HELD, help="also held back, and measured instead")
    chosen = parser.parse_args()
    texts = {path: lines(path) for path in chosen.texts}
    data = train([line for some in texts.values() for line in some if part(line) not in (HELD, chosen.fold)])
    chosen.output.write_bytes(data)
    restorer = Restorer(load(data))
    sys.stdout.write(f"{chosen.output}: {len(data):,} bytes, {len(restorer.model.forms):,} words\n")
    for path, some in texts.items():
        held = [line for line in some if part(line) == chosen.fold]
        for tones in (True, False):
            total, right, new, new_right = measure(held, restorer, tones=tones)
            sys.stdout.write(
                f"{path.name}, tone marks {'kept' if tones else 'stripped'}: {100 * right / max(total, 1):.2f} % of"
                f" {total:,} words; {new_right} of {new} that are in no list\n"
            )


if __name__ == "__main__":
    main()

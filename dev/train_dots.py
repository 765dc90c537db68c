"""Trains the dot restorer of Igbo: `python dev/train_dots.py TEXT... -o dots.npz`.

Lines whose sha256 (of the NFC line, as an integer) is 0 modulo 10 are held back and measured at the end. `--fold N`
holds back the lines that give N as well: that is for choosing settings. The same text gives the same file.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from olu.languages.ibo.dots import (
    TOKEN,
    Model,
    Restorer,
    bare,
    dotted,
    load,
    pattern,
    spread,
    to_bytes,
    traits,
)
from olu.text.restore.engine import Numbers, TaughtWord, WeightedChoice, fit_choices, hashes, letter_cases, slots

WORD_SLOTS, LETTER_SLOTS = 1 << 18, 1 << 18
HELD = 0
Counts = dict[str, Counter[str]]


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


def cases(texts: Iterable[str], model: Model) -> list[WeightedChoice]:
    """Every word with several forms in its context, and the form it had."""
    found = []
    for line in texts:
        tokens = words(line)
        several = [(at, name) for at, word in enumerate(tokens) if is_word(word) for name in names(word)]
        several = [(at, name) for at, name in several if len(model.forms[name]) > 1]
        if several:
            context = spread((traits(bare(token)[1], model) for token in tokens), [at for at, _ in several])
            for row, (at, name) in zip(context, several, strict=True):
                forms = model.forms[name]
                hashed = np.array(hashes(name, forms), dtype=np.uint64)
                places = slots(np.repeat(row[None, :], len(forms), axis=0), hashed, model.words)
                found.append(WeightedChoice(places, forms.index(pattern(tokens[at]))))
    return found


def fit_letters(counts: Counts, model: Model) -> Numbers:
    """A yes or no for each i, o, u of the listed words; a word weighs the square root of its count."""
    told = {name: (tuple(map(int, ordered(forms)[0])), forms.total() ** 0.5) for name, forms in counts.items()}
    plain = {name: row for name, row in told.items() if name.isascii()}
    mean = sum(weight for _, weight in plain.values()) / max(len(plain), 1)
    scaled = [TaughtWord(name, labels, weight / mean) for name, (labels, weight) in plain.items()]
    found = [replace(one, places=_against_nothing(one.places)) for one in letter_cases(scaled, model.letters)]
    return fit_choices(found, LETTER_SLOTS, epochs=8, rate=0.3, batch=64)


def _against_nothing(places: Numbers) -> Numbers:
    """No dot weighs nothing: its features lie behind the table."""
    return np.concatenate([np.full_like(places, LETTER_SLOTS), places])


def train(texts: Sequence[str]) -> bytes:
    counts = count(texts)
    forms = {name: ordered(found) for name, found in sorted(counts.items())}
    model = Model.of(forms, np.zeros(WORD_SLOTS, dtype=np.int8), np.zeros(LETTER_SLOTS))
    listed = [" ".join(dotted(name, signs) for signs in forms[name]) for name in forms]
    weights = fit_choices(cases(texts, model), WORD_SLOTS, epochs=6, rate=0.5, batch=128)
    return to_bytes(listed, weights, fit_letters(counts, model))


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

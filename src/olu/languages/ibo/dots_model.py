"""The numbers behind dots.py: the model's file, its features, and the guess for a word that is in no list."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

MIX = 0x9E3779B97F4A7C15
SPREAD = 0xC2B2AE3D27D4EB4F
TRAITS = 7
EDGE = tuple(range(1, TRAITS + 1))  # beyond the text
REACH = 6  # letters on each side
WINDOWS = (
    *((1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2), (2, 2), (3, 0), (0, 3), (3, 1), (1, 3), (3, 3)),
    *((4, 0), (0, 4), (5, 0), (0, 5), (4, 1), (1, 4), (6, 0), (0, 6), (2, 3), (3, 2), (2, 4), (4, 2)),
)
BEAM = 6

Numbers = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Model:
    """Forms of known words as dot patterns, the most frequent first, and two tables of hashed weights."""

    forms: Mapping[str, tuple[str, ...]]
    words: Numbers  # int8: a form beside its neighbours
    letters: Numbers  # a dot on a vowel beside its letters

    @staticmethod
    def from_bytes(data: bytes, *, read: Callable[[Iterable[str]], Mapping[str, tuple[str, ...]]]) -> Model:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            listed = bytes(file["forms"]).decode("utf-8").split("\n")
            letters = file["letters"].astype(np.float32) * file["letters_scale"]
            return Model(read(listed), file["words"].astype(np.int16), letters)


def to_bytes(lines: Iterable[str], words: Numbers, letters: Numbers) -> bytes:
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


def _eight(table: Numbers) -> Numbers:
    scale = float(np.abs(table).max()) / 127 or 1.0
    return np.round(table / scale).astype(np.int8)


def _harmony(plain: str, model: Model) -> str:
    """The vowel set of each vowel, in the word's most frequent form: A, E, or unknown."""
    known = model.forms.get(plain)
    if known is None:
        return "".join({"a": "A", "e": "E"}.get(char, "?") for char in plain if char in "aeiou")
    return "".join(
        "A" if char == "a" or sign == "1" else "E"
        for char, sign in zip(plain, known[0], strict=True)
        if char in "aeiou"
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


def contexts(beside: Numbers, at: Numbers) -> Numbers:
    """Hashed features of the words at `at`, from the traits of their neighbours (two of EDGE on each side)."""
    left2, left, right, right2 = (beside[at + offset] for offset in (0, 1, 3, 4))
    odd = np.uint64(31)
    pairs = (
        left[:, 0] * odd + left2[:, 0],
        right[:, 0] * odd + right2[:, 0],
        left[:, 0] * odd + right[:, 0],
        left[:, 0] * odd + right[:, 2],
        right[:, 3] * odd + right[:, 5],
        right[:, 0] * odd + right2[:, 2],
        left[:, 5] * odd + right[:, 4],
        right[:, 4] * odd + right2[:, 4],
    )
    alone = np.zeros(len(at), dtype=np.uint64)
    columns = np.column_stack([alone, left, right, left2[:, 0], right2[:, (0, 1, 2, 4)], *pairs])
    names = (np.arange(columns.shape[1], dtype=np.uint64) + np.uint64(1)) * np.uint64(SPREAD)
    mixed = (columns + names) * np.uint64(MIX)
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


def hashes(name: str, choices: Iterable[str]) -> tuple[int, ...]:
    return tuple(crc32(f"{name}{signs}".encode()) * 2654435761 for signs in choices)


def slots(context: Numbers, forms: Numbers, table: Numbers) -> Numbers:
    """Where the weights of each form in its context lie."""
    mixed = (context ^ forms[:, None]) * np.uint64(MIX)
    return np.asarray((mixed >> np.uint64(65 - len(table).bit_length())).astype(np.int64))


def slot(feature: str, table: Numbers) -> int:
    return crc32(feature.encode("utf-8")) >> (33 - len(table).bit_length())


def letter_features(plain: str, at: int) -> Iterator[str]:
    """What stands around the vowel at `at`: letters, and the other vowels of the word."""
    padded = "^" * REACH + plain + "$" * REACH
    here, centre = plain[at], at + REACH
    before = "".join(char for char in plain[:at] if char in "aeiou")
    after = "".join(char for char in plain[at + 1 :] if char in "aeiou")
    yield here
    for left, right in WINDOWS:
        yield f"{left}{right}{padded[centre - left : centre + right + 1]}"
    yield f"v{here}{before[-1:]}|{after[:1]}"
    yield f"V{here}{before[-2:]}|{after[:2]}"
    yield f"w{here}{before}|{after}"
    yield f"L{here}{before}"
    yield f"R{here}{after}"
    yield f"a{here}{'a' in before + after}{'e' in before + after}"
    yield f"f{here}{plain[0]}|{after[:1]}"
    yield f"e{here}{at == 0}{at == len(plain) - 1}"


def chain_features(plain: str, at: int, last: str, older: str) -> Iterator[str]:
    """The vowels decided before this one."""
    padded, centre = f"^^{plain}$$", at + 2
    yield f"P{last}{plain[at]}"
    yield f"Q{last}{padded[centre - 1 : centre + 1]}"
    yield f"O{last}{older}{plain[at]}"
    yield f"S{last}{padded[centre - 2 : centre + 1]}"
    yield f"T{last}{padded[centre : centre + 2]}"


def guess(plain: str, model: Model) -> str:
    """The likeliest dots of an unknown word, by a narrow beam from left to right; never one on n."""
    table = model.letters
    beams = [(0.0, "", "-", "-")]
    for at, char in enumerate(plain):
        if char not in "iou":
            vowel = char in "ae"
            beams = [
                (cost, f"{signs}0", *((char, last) if vowel else (last, older))) for cost, signs, last, older in beams
            ]
            continue
        base = sum(float(table[slot(one, table)]) for one in letter_features(plain, at))
        found = []
        for cost, signs, last, older in beams:
            score = base + sum(float(table[slot(one, table)]) for one in chain_features(plain, at, last, older))
            for sign, signed in (("1", -score), ("0", score)):
                found.append((cost + _softplus(signed), signs + sign, char + sign, last))
        beams = sorted(found)[:BEAM]
    return beams[0][1]


def _softplus(value: float) -> float:
    return max(value, 0.0) + math.log1p(math.exp(-abs(value)))

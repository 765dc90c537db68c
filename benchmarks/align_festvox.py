"""A festvox voice's folder (wav/, lab/, etc/txt.done.data) as labels.json and Ogg Opus, for benchmarks/align.py.

The label files hold phones and pauses but no words, and the aligner needs words: pauses are allowed between them only.
So the letters of the text are laid over the phones (each letter is 0, 1 or 2 of them), by a search that learns.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olu.audio.io import header, read
from olu.core.files import whole, write_text

PROMPT = re.compile(r'\(\s*(\S+)\s+"(.*)"\s*\)')
WORD = re.compile(r"[^\W\d_]+")
VOWELS = frozenset("аеёиоуыэюя")
VOWEL_PHONES = frozenset(("a", "aa", "ay", "ae", "e", "ee", "i", "ii", "oo", "u", "uu", "ur", "y", "yy"))
MOST = 2  # phones of a letter
REACH = 25  # phones that the search may stray from the diagonal
ROUNDS = 4
OPUS_LEVEL = 0.896  # of libsndfile: 32 kbit/s

Score = Callable[[str, tuple[str, ...]], float]


def prepare(voice: Path, out: Path) -> None:
    """Writes out/labels.json and one Opus file for each recording."""
    out.mkdir(parents=True, exist_ok=True)
    texts = dict(PROMPT.findall((voice / "etc/txt.done.data").read_text(encoding="utf-8")))
    labels = {path.stem: _labels(path) for path in sorted((voice / "lab").glob("*.lab"))}
    words = split_words(
        [WORD.findall(texts[id].lower().replace("+", "")) for id in labels],
        [[label for label, _, _ in rows if label != "pau"] for rows in labels.values()],
    )
    clips = []
    for (id, rows), found in zip(labels.items(), words, strict=True):
        sound = voice / "wav" / f"{id}.wav"
        _encode(sound, out / f"{id}.opus")
        clip = {"id": id, "audio": f"{id}.opus", "text": texts[id], "seconds": round(header(sound).seconds, 4)}
        clips.append({**clip, "words": found, "labels": rows})
    write_text(out / "labels.json", json.dumps({"clips": clips}, ensure_ascii=False))


def _labels(path: Path) -> list[tuple[str, float, float]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows, before = [], 0.0
    for line in lines[lines.index("#") + 1 :]:
        if line.strip():
            end, _, label = line.split()
            rows.append((label, round(before, 4), round(float(end), 4)))
            before = float(end)
    return rows


def _encode(sound: Path, path: Path) -> None:
    import soundfile

    audio = read(sound)
    with whole(path) as partial:
        soundfile.write(
            str(partial), audio.samples, audio.rate, format="OGG", subtype="OPUS", compression_level=OPUS_LEVEL
        )


def split_words(texts: Sequence[Sequence[str]], phones: Sequence[Sequence[str]]) -> list[list[Any]]:
    """[[word, its phones], ...] of each clip."""
    score: Score = _first_guess
    for _ in range(ROUNDS):
        counts: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        ways = [_search(words, sounds, score) for words, sounds in zip(texts, phones, strict=True)]
        for way in ways:
            for letter, _, part in way:
                counts[letter][part] += 1
        score = _learnt(counts)
    return [_words(words, way) for words, way in zip(texts, ways, strict=True)]


def _first_guess(letter: str, part: tuple[str, ...]) -> float:
    if letter in "ьъ":
        return (0.0, -6.0, -12.0)[len(part)]
    score = (-5.0, -0.5, -4.0)[len(part)]
    if part and any(phone in VOWEL_PHONES for phone in part) != (letter in VOWELS):
        score -= 6.0
    return score - 4.0 if len(part) == MOST and letter in VOWELS and part[0] != "j" else score


def _learnt(counts: dict[str, Counter[tuple[str, ...]]]) -> Score:
    totals = {letter: sum(parts.values()) for letter, parts in counts.items()}
    return lambda letter, part: math.log((counts[letter][part] + 0.01 * 3.0 ** -len(part)) / (totals[letter] + 5))


def _search(words: Sequence[str], phones: Sequence[str], score: Score) -> list[tuple[str, int, tuple[str, ...]]]:
    """Each letter, the number of its word and its phones."""
    letters = [(letter, number) for number, word in enumerate(words) for letter in word]
    best = np.full((len(letters) + 1, len(phones) + 1), -np.inf)
    taken = np.zeros(best.shape, dtype=int)
    best[0, 0] = 0.0
    for row, (letter, _) in enumerate(letters):
        middle = row * len(phones) // len(letters)
        for place in range(max(0, middle - REACH), min(len(phones), middle + REACH) + 1):
            if best[row, place] == -np.inf:
                continue
            for size in range(min(MOST, len(phones) - place) + 1):
                value = best[row, place] + score(letter, tuple(phones[place : place + size]))
                if value > best[row + 1, place + size]:
                    best[row + 1, place + size], taken[row + 1, place + size] = value, size
    way, place = [], len(phones)
    for row in range(len(letters), 0, -1):
        size = int(taken[row, place])
        way.append((*letters[row - 1], tuple(phones[place - size : place])))
        place -= size
    return way[::-1]


def _words(words: Sequence[str], way: Sequence[tuple[str, int, tuple[str, ...]]]) -> list[Any]:
    """A word without a phone of its own is said with the next."""
    phones: list[list[str]] = [[] for _ in words]
    for _, number, part in way:
        phones[number] += part
    found: list[Any] = []
    before = ""
    for word, part in zip(words, phones, strict=True):
        if part:
            found.append([before + word, part])
        before = "" if part else f"{before}{word} "
    return found

"""A `tokenizers` file as XTTS v2 has one: 6,681 ids, tags among them, merges of which some stand twice."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

TAGS = ["en", "es", "fr", "de", "it", "pt", "pl", "tr", "ru", "nl", "cs", "ar", "zh", "ja", "hu", "ko", "hi"]
PLACES = {"[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "[en]": 259, "[START]": 261}
LETTERS = "abcdefghijklmnopqrstuvwxyzáéíóúàèìòùäöüñçß'’!,.?:;-0123456789абвгдежзийклмнопрстуфхцчшщъыьэюя"
TEXTS = [
    "the quick brown fox jumps over the lazy dog while seven wizards quietly boxed them",
    "el perro corre por la calle y la niña canta una canción muy bonita",
    "wir haben gestern einen großen baum gesehen und dann schliefen wir",
    "les enfants mangent des pommes dans la cuisine pendant que la pluie tombe",
    "сегодня хорошая погода и мы идём гулять в парк с друзьями",
]


@cache
def made_file(size: int = 6681, seed: int = 3) -> dict[str, Any]:
    """Pieces by merges in any order; some pairs come again later, where their last place counts."""
    chance = random.Random(seed)
    names = dict(PLACES)
    free = (id for id in range(size) if id not in PLACES.values())
    for tag in TAGS[1:]:
        names[f"[{tag}]"] = size - 1 - TAGS[::-1].index(tag)  # [hi] is the last
    taken = set(names.values())
    pieces = list(dict.fromkeys(LETTERS))
    merges: list[tuple[str, str]] = []
    words = [word for line in TEXTS for word in line.split()]
    known = set(pieces)
    while len(pieces) + len(names) < size:
        word = chance.choice(words) if chance.random() < 0.5 else ""
        a, b = (chance.choice(pieces), chance.choice(pieces[:40])) if not word else _halves(word, known, chance)
        if not a or not b or len(a + b) > 12:
            continue
        merges.append((a, b))
        if a + b not in known:
            known.add(a + b)
            pieces.append(a + b)
    merges += [chance.choice(merges) for _ in range(len(merges) // 3)]
    for piece in pieces:
        id = next(free)
        while id in taken:
            id = next(free)
        names[piece] = id
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    specials = [piece for piece in names if piece.startswith("[") and len(piece) > 3]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": names[piece], **flags, "content": piece} for piece in specials],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "[UNK]",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "vocab": names,
            "merges": [f"{a} {b}" for a, b in merges],
        },
    }


def _halves(word: str, known: set[str], chance: random.Random) -> tuple[str, str]:
    cut = [(word[a:b], word[b:c]) for a in range(len(word)) for b in range(a + 1, len(word)) for c in (b + 1, b + 2)]
    able = [(a, b) for a, b in cut if a in known and b in known]
    return chance.choice(able) if able else ("", "")

from __future__ import annotations

import unicodedata
from collections import Counter

import pytest

from olu.corpus.split import place, split

MANY = {str(n): f"sentence number {n}" for n in range(5000)}
VALID = [text for text in MANY.values() if place(text) < 0.04]
TEST = [text for text in MANY.values() if 0.04 <= place(text) < 0.08]
TRAIN = [text for text in MANY.values() if place(text) >= 0.08]


def sides(*texts: str) -> list[str]:
    return list(split(dict(enumerate_ids(texts))).values())


def enumerate_ids(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(str(n), text) for n, text in enumerate(texts)]


def test_shares() -> None:
    count = Counter(split(MANY).values())
    assert 150 < count["valid"] < 250
    assert 150 < count["test"] < 250


def test_the_hash_never_changes() -> None:
    """A workspace of an older Olu keeps its splits: these numbers are a promise."""
    assert place("hello world") == pytest.approx(int("b94d27b9934d3e08", 16) / 2**64)


def test_the_same_words_stand_on_one_side() -> None:
    for text in (*VALID[:20], *TEST[:20], *TRAIN[:20], "Ọ̀RỌ̀ é"):
        forms = [text, f"  {text.upper()}\n", text.replace(" ", "\t\u00a0"), unicodedata.normalize("NFD", text)]
        assert len({place(form) for form in forms}) == 1
    found = split({**MANY, "again": f"\n{VALID[0].upper()} "})
    assert found["again"] == "valid"


def test_more_clips_move_no_others() -> None:
    some = {id: MANY[id] for id in list(MANY)[:2000]}
    before, after = split(some), split(MANY)
    assert all(after[id] == side for id, side in before.items())


def test_small_corpora() -> None:
    assert split({}) == {}
    assert sides(VALID[0]) == ["train"]
    assert sides(TRAIN[0], TRAIN[0].upper()) == ["train", "train"]
    low, high = sorted(TRAIN[:2], key=place)
    assert sides(high, low, low) == ["train", "valid", "valid"]
    low, high = sorted(VALID[:2], key=place)
    assert sides(high, low) == ["train", "valid"]
    low, high = sorted(TEST[:2], key=place)
    assert sides(high, low) == ["train", "valid"]
    assert sides(VALID[0], TEST[0], TRAIN[0]) == ["valid", "test", "train"]

"""A vocabulary from nothing but texts: what is kept, what is folded, what is listed."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.text.characters import CharacterFrontend
from olu.text.derive import SymbolLimits, clusters, derive
from olu.text.languages import load

SHARED = Path(os.environ.get("OLU_SHARED", Path(__file__).parents[3] / "shared"))


def corpus(*texts: str) -> dict[str, str]:
    return {f"clip{number}": text for number, text in enumerate(texts)}


def test_limits_shrink_with_the_corpus() -> None:
    assert SymbolLimits.of(5_000) == SymbolLimits.of(500) == SymbolLimits(20, 10, 3)
    assert SymbolLimits.of(60) == SymbolLimits(2, 1, 1)
    assert SymbolLimits.of(1) == SymbolLimits.of(0) == SymbolLimits(1, 1, 1)


def test_clusters() -> None:
    assert clusters("ọ́ka\u0301") == ["ọ́", "k", "á"]
    assert clusters("नि ") == ["नि", " "]
    assert clusters("\u0301a") == ["\u0301", "a"]


def test_space_and_punctuation_come_first() -> None:
    assert derive(corpus(*["b, a! c."] * 600)).symbols == (" ", ".", ",", "!", "a", "b", "c")


def test_a_rare_letter_with_a_mark_comes_apart_and_a_frequent_one_stays() -> None:
    found = derive(corpus(*["ɔ́ka e\u0301"] * 700, "ka é ɛ́", *["ɛ ko"] * 15))
    assert "ɔ́" in found.symbols
    assert "é" in found.symbols
    assert "ɛ́" not in found.symbols
    assert "ɛ" in found.symbols
    assert found.dropped == {"\u0301": ("clip700",)}  # a mark that stands once cannot be learnt, and is like nothing


def test_too_rare_is_folded_or_listed_with_its_clips() -> None:
    found = derive(corpus(*["faces"] * 600, "façade ﬁ", "☺ face", "☺"))
    assert "ç" not in found.symbols
    assert found.folds["ﬁ"] == "fi" if "i" in found.symbols else "ﬁ" in found.dropped
    assert found.dropped["☺"] == ("clip601", "clip602")
    assert found.dropped["d"] == ("clip600",)


def test_symbols_must_stand_in_several_texts() -> None:
    found = derive(corpus(*["aba"] * 600, "q" * 50))
    assert found.symbols == ("a", "b")
    assert found.dropped == {"q": ("clip600",)}


def test_many_kinds_of_syllables_come_apart() -> None:
    hangul = [chr(0xAC00 + 28 * n) for n in range(300)]
    found = derive(corpus(*[" ".join(hangul)] * 600))
    assert len(found.symbols) < 60
    read = CharacterFrontend("kor", inventory=found.symbols, folds=found.folds).read("가나")
    assert read.dropped == {}
    assert unicodedata.normalize("NFC", "".join(read.symbols())) == "가나"


def test_the_frontend_reads_what_was_folded() -> None:
    found = derive(corpus(*["a fire"] * 600, "ﬁre", "ａ"))
    reads = CharacterFrontend("qaa", inventory=found.symbols, folds=found.folds)
    assert found.folds == {"ﬁ": "fi", "ａ": "a"}
    assert reads.read("ﬁre ａ").normal == "fire a"
    assert reads.read("ﬁre").dropped == {}
    again = CharacterFrontend.from_state(reads.state())
    assert again.read("ﬁre ａ") == reads.read("ﬁre ａ")


def test_a_small_corpus_keeps_all_it_has() -> None:
    texts = corpus(*load("swa").sentences())
    found = derive({clip: CharacterFrontend("swa").read(text).normal for clip, text in texts.items()})
    assert found.folds == found.dropped == {}
    assert found.limits == SymbolLimits.of(len(texts))
    reads = CharacterFrontend("swa", inventory=found.symbols)
    assert all(reads.read(text).dropped == {} for text in texts.values())


@given(texts=st.lists(st.text(max_size=12), max_size=8))
def test_every_character_is_kept_folded_or_listed(texts: list[str]) -> None:
    tidy = [CharacterFrontend("qaa").read(text).normal for text in texts if not set("[]<") & set(text)]
    found = derive(corpus(*tidy))
    reads = CharacterFrontend("qaa", inventory=found.symbols, folds=found.folds)
    for text in tidy:
        if "&" not in text:
            assert set(reads.read(text).dropped) <= {c for symbol in found.dropped for c in symbol}
    reached = {symbol for text in tidy for cluster in clusters(text) for symbol in (cluster, *cluster)}
    assert set(found.symbols) <= reached | {p for s in reached for p in unicodedata.normalize("NFD", s)}


@pytest.mark.skipif(not (SHARED / "corpora/yor").is_dir(), reason="the shared corpora are not here")
def test_a_real_corpus() -> None:
    rows = (SHARED / "corpora/yor/metadata.csv").read_text(encoding="utf-8").split("\n")
    plain = CharacterFrontend("yor")
    found = derive({row.partition("|")[0]: plain.read(row.partition("|")[2]).normal for row in rows if row})
    assert {"ọ", "ẹ", "ṣ", "gb"[0], " "} <= set(found.symbols)
    assert 25 < len(found.symbols) < 80
    lost = {clip for clips in found.dropped.values() for clip in clips}
    assert len(lost) < 20

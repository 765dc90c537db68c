from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.align.phonemap import PhoneMap, Word, apply, learn
from olu.align.textgrid import filled
from olu.core.errors import CorpusError
from olu.core.types import Alignment, Span
from olu.text.articulation import distance


def grid(words: Sequence[tuple[str, Sequence[tuple[str, float]]]], *, gaps: Sequence[float] = ()) -> Alignment:
    """Words of (phone, seconds), with silence before each as `gaps` says; a silence of 0.1 s at the end."""
    at, spoken, phones = 0.0, [], []
    for number, (text, sounds) in enumerate(words):
        at += gaps[number] if number < len(gaps) else 0.0
        start = at
        for phone, seconds in sounds:
            phones.append(Span(phone, at, at + seconds))
            at += seconds
        spoken.append(Span(text, start, at))
    return Alignment(id="a", seconds=at + 0.1, words=tuple(spoken), phones=filled(phones, end=at + 0.1))


def spoken(one: Alignment) -> list[tuple[str, float, float]]:
    return [(span.label, round(span.start, 4), round(span.end, 4)) for span in one.phones if span.label]


def test_the_same_phones_come_through_unchanged():
    one = grid([("ba", [("b", 0.1), ("a", 0.2)]), ("ki", [("k", 0.1), ("i", 0.1)])], gaps=(0.3, 0.2))
    words: list[Word] = [("ba", ("b", "a")), ("ki", ("k", "i"))]
    found = apply(learn([(one, words)]), one, words)
    assert found.phones == one.phones
    assert found.words == one.words


def test_an_affricate_is_split_where_it_is_one_of_theirs_and_merged_where_it_is_two():
    theirs = grid([("chai", [("tʃ", 0.2), ("a", 0.1), ("i", 0.1)])])
    ours: list[Word] = [("chai", ("t", "ʃ", "a", "i"))]
    found = spoken(apply(learn([(theirs, ours)]), theirs, ours))
    assert [label for label, _, _ in found] == ["t", "ʃ", "a", "i"]
    assert (found[0][1], found[1][2], found[2][1:]) == (0.0, 0.2, (0.2, 0.3))
    back = grid([("chai", [("t", 0.05), ("ʃ", 0.15), ("a", 0.3), ("i", 0.1)])])
    one: list[Word] = [("chai", ("tʃ", "a", "i"))]
    assert spoken(apply(learn([(back, one)]), back, one)) == [("tʃ", 0, 0.2), ("a", 0.2, 0.5), ("i", 0.5, 0.6)]


def test_a_geminate_is_two_or_one_long_and_the_longest_vowel_is_not_touched():
    theirs = grid([("anna", [("a", 0.5), ("nː", 0.2), ("a", 0.9)])])
    ours: list[Word] = [("anna", ("a", "n", "n", "a"))]
    assert spoken(apply(learn([(theirs, ours)]), theirs, ours)) == [
        ("a", 0, 0.5), ("n", 0.5, 0.6), ("n", 0.6, 0.7), ("a", 0.7, 1.6)
    ]  # fmt: skip


def test_a_schwa_they_left_out_takes_from_its_neighbour_what_schwas_mostly_take():
    full = grid([("bəla", [("b", 0.06), ("ə", 0.02), ("l", 0.06), ("a", 0.8)])])
    short = grid([("bəla", [("b", 0.08), ("l", 0.06), ("a", 0.8)])])
    ours: list[Word] = [("bəla", ("b", "ə", "l", "a"))]
    learned = learn([(full, ours)] * 5 + [(short, ours)])
    found = spoken(apply(learned, short, ours))
    assert [label for label, _, _ in found] == ["b", "ə", "l", "a"]
    assert found[3] == ("a", 0.14, 0.94)
    length = found[1][2] - found[1][1]
    assert length in (pytest.approx(0.02), pytest.approx(0.015))  # a quarter of b or of l, as 20 to 60 ms elsewhere


def test_arpabet_is_known():
    theirs = grid([("church", [("CH", 0.1), ("ER1", 0.2), ("CH", 0.1)]), ("boy", [("B", 0.1), ("OY0", 0.3)])])
    ours: list[Word] = [("church", ("tʃ", "ɜ", "tʃ")), ("boy", ("b", "ɔ", "ɪ"))]
    found = spoken(apply(learn([(theirs, ours)]), theirs, ours))
    assert [label for label, _, _ in found] == ["tʃ", "ɜ", "tʃ", "b", "ɔ", "ɪ"]
    assert found[3] == ("b", 0.4, 0.5)


def test_names_that_say_nothing_are_learned_from_what_stands_together():
    """Their set: numbers. A diphthong of theirs is two of ours, two of theirs are one of ours."""
    rng = random.Random(1)
    signs = list("abdefghiklmnoprstuvz")
    names = {sign: f"x{number}" for number, sign in enumerate(rng.sample(signs, len(signs)))}

    def made(text: str) -> tuple[Alignment, list[Word], list[str]]:
        theirs: list[tuple[str, float]] = []
        ours: list[str] = []
        for sign in text:
            if sign == "o":
                theirs.append((names["o"], 0.2))
                ours += ["a", "u"]
            elif sign == "z":
                theirs += [(names["d"], 0.05), (names["z"], 0.05)]
                ours.append("z")
            else:
                theirs.append((names[sign], 0.1))
                ours.append(sign)
        return grid([(text, theirs)]), [(text, tuple(ours))], [name for name, _ in theirs]

    texts = ["".join(rng.choices(signs, k=rng.randint(4, 9))) for _ in range(400)]
    pairs = [made(text)[:2] for text in texts]
    learned = learn(pairs)
    right = total = 0
    for text, (theirs, words) in zip(texts[:100], pairs[:100], strict=True):
        found = spoken(apply(learned, theirs, words))
        at = 0.0
        for sign in text:
            length = 0.2 if sign == "o" else 0.1
            here = [
                (label, start, end) for label, start, end in found if start >= at - 1e-3 and end <= at + length + 1e-3
            ]
            right += "".join(label for label, _, _ in here) == ("au" if sign == "o" else sign)
            total += 1
            at += length
    assert right / total > 0.97


def test_other_word_boundaries_and_a_word_more_do_not_matter():
    theirs = grid([("na", [("n", 0.1), ("a", 0.1)]), ("wewe", [("w", 0.1), ("e", 0.1), ("w", 0.1), ("e", 0.1)])])
    ours: list[Word] = [("nawewe", ("n", "a", "w", "e", "w", "e")), ("", ())]
    found = apply(learn([(theirs, ours)]), theirs, ours)
    assert [label for label, _, _ in spoken(found)] == list("nawewe")
    assert [(word.label, word.start, round(word.end, 4)) for word in found.words] == [("nawewe", 0, 0.6)]


def test_a_silence_inside_stays_a_silence():
    theirs = grid([("ba", [("b", 0.1), ("a", 0.1)]), ("ba", [("b", 0.1), ("a", 0.1)])], gaps=(0.0, 0.5))
    ours: list[Word] = [("baba", ("b", "a", "b", "a"))]
    found = apply(learn([(theirs, ours)]), theirs, ours)
    assert [span.label for span in found.phones] == ["b", "a", "", "b", "a", ""]


def test_another_text_is_refused_by_name():
    good = grid([("bana", [("b", 0.1), ("a", 0.1), ("n", 0.1), ("a", 0.1)])])
    same: list[Word] = [("bana", ("b", "a", "n", "a"))]
    other: list[Word] = [("sikukuu", ("s", "i", "k", "u", "k", "u", "u"))]
    learned = learn([(good, same)] * 20)
    with pytest.raises(CorpusError, match=r"clip a: the 4 phones .* are not the 7"):
        apply(learned, good, other)
    with pytest.raises(CorpusError, match="not the 40"):
        apply(learned, good, [("x", ("a",) * 40)])


@given(st.lists(st.sampled_from("abdkstʃəiu"), min_size=1, max_size=12), st.integers(0, 2**32))
def test_times_are_kept_and_every_phone_of_ours_is_there_once(theirs: list[str], seed: int):
    rng = random.Random(seed)
    ours = [phone for phone in theirs if rng.random() > 0.2 for phone in [phone] * rng.choice((1, 1, 2))] or ["a"]
    one = grid([("w", [(phone, rng.uniform(0.02, 0.3)) for phone in theirs])], gaps=(rng.choice((0.0, 0.2)),))
    try:
        found = apply(PhoneMap(), one, [("w", tuple(ours))])
    except CorpusError:
        return
    assert [span.label for span in found.phones if span.label] == ours
    assert found.phones[0].start == 0
    assert found.phones[-1].end == one.seconds
    assert all(a.end == b.start for a, b in zip(found.phones, found.phones[1:], strict=False))
    total = sum(span.end - span.start for span in one.phones if span.label)
    assert sum(span.end - span.start for span in found.phones if span.label) == pytest.approx(total)
    assert all(span.end > span.start for span in found.phones)


def test_near_sounds_are_near():
    assert distance("a", "a") == 0
    assert distance("aː", "a") < distance("e", "a") < distance("t", "a")
    assert distance("t", "d") < distance("t", "m")
    assert distance("CH", "tʃ") < 0.1
    assert 0 < distance("17", "a") < 1

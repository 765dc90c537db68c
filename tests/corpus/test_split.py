from __future__ import annotations

import os
import unicodedata
from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olu.core.errors import ConfigError
from olu.core.files import Workspace
from olu.core.types import Clip
from olu.corpus.split import ADJOINING_SECONDS, SEAM_EVERY, Shares, choose_sides, fold, place, said, split

EXAMPLES = 2000 if os.environ.get("OLU_SOAK") else 100


def clip(id: str, text: str, *, audio: str = "", start: float = 0.0, seconds: float = 3.0, speaker: str = "a") -> Clip:
    where = audio or f"s1/{id}.wav"
    return Clip(
        id=id, audio=where, text=text, start=start, seconds=seconds, speaker=speaker, rate=16000, language="swa"
    )


def apart(number: int, **other: float | str) -> list[Clip]:
    """Clips that share nothing."""
    return [clip(f"c{n}", f"sentence number {n}", **other) for n in range(number)]  # type: ignore[arg-type]


MANY = apart(5000)
TEXTS = [one.text for one in MANY]
VALID = [text for text in TEXTS if place(text) < 0.04]
TEST = [text for text in TEXTS if 0.04 <= place(text) < 0.08]
TRAIN = [text for text in TEXTS if place(text) >= 0.08]


def sides(*texts: str) -> list[str | None]:
    return list(split([clip(str(n), text) for n, text in enumerate(texts)]).values())


def test_shares() -> None:
    count = Counter(split(MANY).values())
    assert 150 < count["valid"] < 250
    assert 150 < count["test"] < 250
    count = Counter(split(MANY, shares=Shares(valid=0.1, test=0.0)).values())
    assert 430 < count["valid"] < 570 and count["test"] == 0


def test_the_hash_never_changes() -> None:
    """A workspace of an older Olu keeps its splits: these numbers are a promise."""
    assert place("hello world") == pytest.approx(int("b94d27b9934d3e08", 16) / 2**64)


def test_the_same_words_stand_on_one_side() -> None:
    for text in (*VALID[:20], *TEST[:20], *TRAIN[:20], "Ọ̀RỌ̀ é"):
        forms = [text, f"  {text.upper()}\n", text.replace(" ", "\t\u00a0"), unicodedata.normalize("NFD", text)]
        assert len({place(form) for form in forms}) == 1
    assert split([*MANY, clip("again", f"\n{VALID[0].upper()} ")])["again"] == "valid"
    again = split([*MANY, clip("again", f"\u201c{VALID[0]}!\u201d")])
    assert again["again"] == again[MANY[TEXTS.index(VALID[0])].id]
    assert said("...") == fold("...") and said("Ndi, ee!") == "ndiee"


def test_more_clips_move_no_others() -> None:
    before, after = split(MANY[:2000]), split(MANY)
    assert all(after[id] == side for id, side in before.items())


def test_small_corpora() -> None:
    assert split([]) == {}
    assert sides(VALID[0]) == ["train"]
    assert sides(TRAIN[0], TRAIN[0].upper()) == ["train", "train"]
    low, high = sorted(TRAIN[:2], key=place)
    assert sides(high, low) == ["train", "valid"]
    assert sides(high, low, low) == ["valid", "train", "train"]  # the more train
    low, high = sorted(VALID[:2], key=place)
    assert sides(high, low) == ["train", "valid"]
    low, high = sorted(TEST[:2], key=place)
    assert sides(high, low) == ["train", "valid"]
    assert sides(VALID[0], TEST[0], TRAIN[0]) == ["valid", "test", "train"]
    assert sides(TEST[0], TEST[0].upper(), TRAIN[0]) == ["train", "train", "valid"]


def test_another_seed_is_another_split_of_the_same_size() -> None:
    one, two = split(MANY), split(MANY, shares=Shares(seed=1))
    held = [{id for id, side in found.items() if side == "valid"} for found in (one, two)]
    assert len(held[0] & held[1]) < 30 and 150 < len(held[1]) < 250


def test_every_speaker_and_length_with_enough_clips_is_held_back() -> None:
    clips = []
    for n in range(40):
        speaker = f"speaker {n}"
        for k in range(30 + 4 * n):
            seconds = (1.0, 3.0, 6.0, 10.0)[k % 4]
            clips.append(clip(f"{n}-{k}", f"{speaker} says {k}", seconds=seconds, speaker=speaker))
    found = split(clips)
    for side in ("valid", "test"):
        held = [one for one in clips if found[one.id] == side]
        assert {one.speaker for one in held} == {f"speaker {n}" for n in range(40)}
        assert 0.035 < len(held) / len(clips) < 0.06
        for seconds in (1.0, 3.0, 6.0, 10.0):
            assert 0.15 < sum(one.seconds == seconds for one in held) / len(held) < 0.35


def test_a_length_that_the_hash_passed_over_is_held_back_too() -> None:
    low, high = (sorted(MANY[:2000], key=lambda one: place(one.text))[at] for at in (slice(600), slice(600, None)))
    clips = [*low, *(replace(one, seconds=20.0) for one in high)]  # every place that is held back is a short clip's
    found = split(clips)
    for side in ("valid", "test"):
        long = sum(found[one.id] == side for one in clips if one.seconds == 20.0)
        short = sum(found[one.id] == side for one in clips if one.seconds == 3.0)
        assert long >= 1400 * 0.04 * 0.6 and short <= 600 * 0.04 * 1.6


def test_more_clips_of_many_speakers_and_lengths_move_few() -> None:
    clips = [clip(f"{n}", f"words {n}", seconds=(1.0, 3.0, 6.0, 10.0)[n % 4], speaker=f"s{n % 7}") for n in range(3000)]
    before, after = split(clips[:2000]), split(clips)
    assert sum(after[id] != side for id, side in before.items()) < 0.01 * 2000


def test_speakers_with_few_clips_are_left_to_the_hash() -> None:
    clips = [clip(f"{n}-{k}", f"{n} says {k}", speaker=f"s{n}") for n in range(300) for k in range(3)]
    assert 15 < Counter(split(clips).values())["valid"] < 60


def test_prompts_that_all_speakers_read_are_on_one_side_for_all_of_them() -> None:
    clips = [clip(f"{n}-{k}", f"prompt {k}", speaker=f"s{n}") for n in range(20) for k in range(100)]
    found = split(clips)
    for k in range(100):
        assert len({found[f"{n}-{k}"] for n in range(20)}) == 1
    assert {one.speaker for one in clips if found[one.id] == "valid"} == {f"s{n}" for n in range(20)}


def cues(number: int, *, gap: float = 0.2) -> list[Clip]:
    return [clip(f"cue{n}", f"line {n}", audio="s1/film.mp4", start=n * (3 + gap)) for n in range(number)]


def test_one_long_recording_is_divided_at_seams() -> None:
    film = cues(3000)
    found = split(film)
    count = Counter(found.values())
    assert 0.02 < count["valid"] / 3000 < 0.07 and 0.02 < count["test"] / 3000 < 0.07
    assert 0 < count[None] / 3000 < 2 / SEAM_EVERY * 0.2
    for before, after in pairwise(film):
        assert len({found[before.id], found[after.id]} - {None}) == 1 or None in (found[before.id], found[after.id])


def test_a_long_clip_that_was_cut_does_not_hold_its_pieces_together(tmp_path: Path) -> None:
    """An hour lies over all of its pieces; uncut again it is where it was before."""
    pieces = cues(300)
    hour = replace(pieces[0], id="hour", start=0.0, seconds=4000.0, text="all of it")
    other = clip("other", "another hour", audio="s1/other.wav", seconds=3000.0)
    ws = Workspace.create(tmp_path / "ws", language="swa")
    before = choose_sides(ws, [hour, other])
    found = choose_sides(ws, [hour, *pieces, other], cut={"hour": [one.id for one in pieces]})
    count = Counter(found[one.id] for one in pieces)
    assert count["train"] > 250 and count["valid"] and count["test"]
    assert {id: found[id] for id in before if id == "hour"} == {"hour": before["hour"]}
    assert len({side for id, side in choose_sides(ws, [hour, *pieces], cut={}).items()}) == 1, "what would be without"


def test_a_cue_too_short_to_part_its_neighbours_is_no_seam() -> None:
    film = [clip(f"cue{n}", f"line {n}", audio="s1/film.mp4", start=n * 0.5, seconds=0.4) for n in range(1000)]
    assert set(split(film).values()) == {"train"}


def test_seams_that_say_the_same_stand_on_one_side() -> None:
    seams = {id for id, side in split(cues(3000)).items() if side is None}
    film = [replace(one, text="Yes.") if one.id in seams else one for one in cues(3000)]
    found = split(film, shares=Shares(valid=0.25, test=0.25, seed=1))
    assert len(seams) > 10 and len({found[id] for id in seams} - {None}) <= 1


def test_cues_far_apart_are_no_neighbours() -> None:
    found = split(cues(1000, gap=2.0))
    assert None not in found.values() and 20 < Counter(found.values())["valid"] < 65


def test_clips_without_a_text_have_no_side() -> None:
    found = split([*apart(100), clip("mute", " \n")])
    assert found["mute"] is None and None not in [side for id, side in found.items() if id != "mute"]


def test_copies_of_a_file_and_copies_the_audit_found_stay_together() -> None:
    first = apart(600)
    again = [clip(f"d{n}", f"other words {n}", audio=f"s2/{n}.wav") for n in range(600)]
    contents = {f"s1/c{n}.wav": f"hash {n}" for n in range(600)} | {f"s2/{n}.wav": f"hash {n}" for n in range(300)}
    copies = [(f"d{n}", f"c{n}") for n in range(300, 600)] + [("d1", "not there")]
    found = split([*first, *again], contents=contents, copies=copies)
    assert all(found[f"c{n}"] == found[f"d{n}"] for n in range(600))
    loose = split([*first, *again])
    assert any(loose[f"c{n}"] != loose[f"d{n}"] for n in range(600))


@pytest.mark.parametrize("shares", [{"valid": 0.6}, {"test": -0.1}, {"valid": 0.3, "test": 0.3}])
def test_impossible_shares(shares: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"share|leave at least half"):
        Shares(**shares)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[Clip], dict[str, str], list[tuple[str, str]]]:
    """Few texts, few recordings, spans that touch and overlap, copied files, pairs that sound alike."""
    number, prefix = draw(st.integers(1, 60)), draw(st.integers(0, 10**6))
    film = draw(st.booleans())  # all in one recording, one after the other
    texts, files = draw(st.integers(1, 500)), draw(st.integers(1, 12))
    rows = st.tuples(
        st.integers(0, texts), st.integers(0, files), st.integers(0, 400), st.sampled_from([0.5, 2.0, 3.0, 20.0])
    )
    clips = []
    for n in range(number):
        text, file, start, seconds = draw(rows)
        said = f"Text {text}" if text else ""
        where = f"s1/{file}.wav"
        if film:
            where, start, seconds = "s1/0.wav", 6 * n + start % 4, 2.0
        id = f"{prefix}c{n}"
        clips.append(clip(id, said, audio=where, start=start / 2, seconds=seconds, speaker=f"s{text % 3}"))
    contents = {f"s1/{file}.wav": f"hash {draw(st.integers(0, files))}" for file in range(files)}
    ids = st.integers(0, number - 1)
    copies = [(clips[a].id, clips[b].id) for a, b in draw(st.lists(st.tuples(ids, ids), max_size=10))]
    return clips, contents, copies


def leaks(found: dict[str, str | None], a: Clip, b: Clip, contents: dict[str, str]) -> str:
    """Why two clips may not be on the two sides they are on."""
    if found[a.id] is None or found[b.id] is None or found[a.id] == found[b.id]:
        return ""
    if said(a.text) == said(b.text):
        return "text"
    gap = max(a.start, b.start) - min(a.start + a.seconds, b.start + b.seconds)
    same = contents.get(a.audio, a.audio) == contents.get(b.audio, b.audio)
    return "neighbours" if same and gap < ADJOINING_SECONDS else ""


@settings(max_examples=EXAMPLES, deadline=None)
@given(corpora(), st.sampled_from([(0.04, 0.04), (0.2, 0.2), (0.25, 0.25)]), st.integers(0, 3))
def test_nothing_leaks_and_the_order_does_not_matter(
    made: tuple[list[Clip], dict[str, str], list[tuple[str, str]]], asked: tuple[float, float], seed: int
) -> None:
    clips, contents, copies = made
    shares = Shares(valid=asked[0], test=asked[1], seed=seed)
    found = split(clips, shares=shares, contents=contents, copies=copies)
    for a, b in combinations(clips, 2):
        assert not leaks(found, a, b, contents), (a, b)  # type: ignore[arg-type]
    for first, second in copies:
        assert len({found[first], found[second]} - {None}) <= 1
    assert split(clips[::-1], shares=shares, contents=contents, copies=copies[::-1]) == found
    assert all((found[one.id] is None) >= (not one.text) for one in clips)
    if any(one.text for one in clips):
        assert "train" in found.values()


@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.04, 0.1, 0.2]), st.integers(400, 1500))
def test_shares_are_near_what_was_asked(seed: int, share: float, number: int) -> None:
    found = Counter(split(MANY[:number], shares=Shares(valid=share, test=share, seed=seed)).values())
    for side in ("valid", "test"):
        spread = (share * (1 - share) / number) ** 0.5
        assert abs(found[side] / number - share) < 5 * spread + 1 / number

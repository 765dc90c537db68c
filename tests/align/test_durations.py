"""The frame bookkeeping: what must hold of every alignment, on made ones."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from olu.align.durations import PAUSE_SECONDS, SIL, SP, TIMELESS, durations, frame_count, gap_durations, heard_part
from olu.align.textgrid import from_alignment, parse, render, to_alignment
from olu.core.errors import AlignError
from olu.core.types import Alignment, Span

CASES = 10_000 if os.environ.get("OLU_SOAK") else 500
PHONES = ("a", "k", "t͡ʃ", "ŋ", "e", "'")
SETTINGS = ((22050, 256), (16000, 256), (24000, 300), (16000, 200), (44100, 512))


def made(seed: int) -> tuple[Alignment, list[str], int, int, int]:
    """An alignment with silences and very short sounds, the tokens of its text, samples, rate and hop."""
    random = np.random.default_rng(seed)
    rate, hop = SETTINGS[seed % len(SETTINGS)]
    words = [[str(random.choice(PHONES)) for _ in range(random.integers(1, 6))] for _ in range(random.integers(1, 8))]
    spans: list[Span] = []
    tokens: list[str] = []
    at = 0.0

    def span(label: str, seconds: float) -> None:
        nonlocal at
        if seconds > 0:
            spans.append(Span(label, at, at + seconds))
            at += seconds

    def silence() -> float:
        return float(random.choice([0.0, 0.0, 0.01, 0.049, 0.05, 0.3])) * float(random.uniform(0.8, 1.2))

    span("", silence())
    tokens += [str(mark) for mark in random.choice(["", "¿", "«"], size=1) if mark]
    for number, word in enumerate(words):
        if number:
            span("", silence())
            tokens += [[" "], [",", " "], [" ", "—", " "], []][int(random.integers(0, 4))]
        for phone in word:
            span(phone, float(random.choice([0.001, 0.005, 0.03, 0.08, 0.2])) * float(random.uniform(0.5, 1.5)))
            tokens += [phone, *(["˥"] if random.random() < 0.3 else [])]
    span("", silence())
    tokens += [[], ["."], ["?", "!"]][int(random.integers(0, 3))]
    samples = max(1, round(at * rate) + int(random.integers(-1, 2)))
    return Alignment(id=f"c{seed}", seconds=at, words=(), phones=tuple(spans)), tokens, samples, rate, hop


@pytest.mark.parametrize("frames", ["floor", "centre"])
@pytest.mark.parametrize("with_tokens", [False, True])
def test_what_holds_of_every_alignment(frames: str, with_tokens: bool) -> None:
    rejected = checked = 0
    for seed in range(CASES):
        alignment, tokens, samples, rate, hop = made(seed)
        total = samples // hop + (frames == "centre")
        stream = tokens if with_tokens else None
        try:
            labels, counts = durations(alignment, samples=samples, rate=rate, hop=hop, frames=frames, tokens=stream)  # type: ignore[arg-type]
        except AlignError as bad:
            assert alignment.id in str(bad) and f"{total} frames" in str(bad)
            rejected += 1
            continue
        checked += 1
        assert sum(counts) == total
        assert len(labels) == len(counts) and labels[0] == SIL == labels[-1]
        for label, count in zip(labels, counts, strict=True):
            assert count == 0 if label in TIMELESS else count >= 1, (seed, labels, counts)
        spoken = [span.label for span in alignment.phones if span.label]
        assert [label for label in labels if label in PHONES] == spoken
        if with_tokens:
            assert [label for label in labels if label not in (SIL, SP)] == tokens
        else:
            pauses = [s for s in alignment.phones[1:-1] if not s.label and s.end - s.start >= PAUSE_SECONDS - 1e-9]
            assert labels.count(SP) == len(pauses)
    assert checked > 0.8 * CASES and (rejected > 0 or CASES < 1000)


def test_boundaries_stay_within_a_frame_where_none_was_stolen() -> None:
    looked = 0
    for seed in range(CASES):
        alignment, _, samples, rate, hop = made(seed)
        if min(span.end - span.start for span in alignment.phones) < 1.01 * hop / rate:
            continue  # something may vanish and steal
        if alignment.phones[0].label or alignment.phones[-1].label or samples // hop < 3:
            continue
        labels, counts = durations(alignment, samples=samples, rate=rate, hop=hop)
        ends = np.cumsum(counts) * hop / rate
        wanted = _kept_ends(alignment)
        assert len(wanted) == len(labels)
        if 0 in counts or counts[-1] == 1:
            continue
        assert np.abs(ends - wanted).max() <= hop / rate + 1e-9, seed
        looked += 1
    assert looked > CASES / 100


def _kept_ends(alignment: Alignment) -> list[float]:
    ends: list[float] = []
    last = len(alignment.phones) - 1
    for place, span in enumerate(alignment.phones):
        if span.label == "" and 0 < place < last and span.end - span.start < PAUSE_SECONDS - 1e-9:
            ends[-1] = span.end
        else:
            ends.append(span.end)
    return ends


def test_the_sum_is_of_the_features_whatever_the_rate_of_the_recording() -> None:
    alignment, _, _, _, _ = made(11)
    for rate, hop in ((16000, 160), (22050, 256), (48000, 480)):
        samples = round(alignment.seconds * rate)
        for frames in ("floor", "centre"):
            _, counts = durations(alignment, samples=samples, rate=rate, hop=hop, frames=frames)  # type: ignore[arg-type]
            assert sum(counts) == frame_count(samples, hop=hop, frames=frames)  # type: ignore[arg-type]


def test_out_to_a_textgrid_and_in_again_changes_no_count() -> None:
    for seed in range(CASES // 10):
        alignment, tokens, samples, rate, hop = made(seed)
        text = render(from_alignment(alignment))
        again = to_alignment(parse(text, where="x"), id=alignment.id, seconds=alignment.seconds, where="x")
        outcomes = []
        for one in (alignment, again):
            try:
                outcomes.append(durations(one, samples=samples, rate=rate, hop=hop, tokens=tokens))
            except AlignError as bad:
                outcomes.append(str(bad))  # type: ignore[arg-type]
        assert outcomes[0] == outcomes[1], seed


def spans(*pieces: tuple[str, float]) -> Alignment:
    at, found = 0.0, []
    for label, seconds in pieces:
        found.append(Span(label, at, at + seconds))
        at += seconds
    return Alignment(id="clip", seconds=at, words=(), phones=tuple(found))


def counted(alignment: Alignment, tokens: list[str] | None = None, **more: int) -> list[tuple[str, int]]:
    settings = {"samples": round(alignment.seconds * 1000), "rate": 1000, "hop": 10, **more}
    return list(zip(*durations(alignment, tokens=tokens, **settings), strict=True))


def test_pauses_are_tokens_and_short_ones_are_of_the_sound_before() -> None:
    clip = spans(("", 0.2), ("a", 0.1), ("", 0.05), ("k", 0.1), ("", 0.04), ("e", 0.1), ("", 0.3))
    assert counted(clip) == [(SIL, 20), ("a", 10), (SP, 5), ("k", 14), ("e", 10), (SIL, 30)]


def test_punctuation_takes_the_silence_beside_it() -> None:
    clip = spans(("", 0.2), ("a", 0.1), ("", 0.03), ("k", 0.1), ("", 0.2), ("e", 0.1), ("", 0.3))
    found = counted(clip, ["a", ",", " ", "k", " ", "e", "."])
    assert found[:4] == [(SIL, 20), ("a", 10), (",", 3), (" ", 1)]
    assert found[4:] == [("k", 9), (SP, 19), (" ", 1), ("e", 10), (".", 29), (SIL, 1)]


def test_tones_stay_with_their_vowel_and_have_no_time() -> None:
    clip = spans(("", 0.1), ("a", 0.1), ("", 0.1), ("k", 0.1), ("", 0.1))
    assert counted(clip, ["a", "˥", "ˈ", "k"]) == [
        (SIL, 10),
        ("a", 10),
        ("˥", 0),
        (SP, 10),
        ("ˈ", 0),
        ("k", 10),
        (SIL, 10),
    ]


def test_a_sound_without_a_frame_takes_one_from_its_longer_neighbour() -> None:
    clip = spans(("a", 0.1), ("k", 0.002), ("e", 0.2), ("", 0.1))
    assert counted(clip) == [(SIL, 1), ("a", 9), ("k", 1), ("e", 19), (SIL, 10)]


def test_a_clip_too_short_for_its_sounds_is_refused_by_name() -> None:
    clip = spans(*[("a", 0.004)] * 6)
    with pytest.raises(AlignError, match="clip: 8 sounds and pauses do not fit into 2 frames"):
        counted(clip)


def test_a_text_that_is_not_the_alignments_is_refused() -> None:
    clip = spans(("a", 0.1), ("k", 0.1))
    with pytest.raises(AlignError, match="clip: the text has 'e' where the alignment has 'k'"):
        counted(clip, ["a", "e"])
    with pytest.raises(AlignError, match="clip: the alignment has 'k' that the text lacks"):
        counted(clip, ["a"])


def test_a_clip_of_silence_alone() -> None:
    assert counted(spans(("", 0.1))) == [(SIL, 1), (SIL, 9)]


# ---------------------------------------------------------------- gaps


@given(seed=st.integers(0, 10**6), edges=st.sampled_from([0.0, 0.02, 0.1]), factor=st.sampled_from([0.8, 1.0, 1.25]))
def test_with_gaps_frames_sum_to_the_sound_for_any_alignment_edges_and_factor(
    seed: int, edges: float, factor: float
) -> None:
    alignment, made_tokens, _, rate, hop = made(seed)
    stream = [token for token in made_tokens if token not in TIMELESS]
    gaps = [int(token not in PHONES) for token in stream]
    phones = [span for span in alignment.phones if span.label]
    first = max(0.0, phones[0].start - edges) if edges else 0.0
    last = min(alignment.seconds, phones[-1].end + edges) if edges else alignment.seconds
    samples = round((last - first) / factor * rate)
    try:
        here = heard_part(alignment, start=first, samples=samples, rate=rate, factor=factor)
        counts = gap_durations(here, tokens=stream, gaps=gaps, samples=samples, rate=rate, hop=hop)
    except AlignError:
        assert samples // hop < len(phones) or samples / rate < phones[-1].end  # only what cannot fit is refused
        return
    assert len(counts) == len(stream) and sum(counts) == samples // hop
    assert all(count > 0 for count, gap in zip(counts, gaps, strict=True) if not gap) and min(counts) >= 0


def test_a_gap_takes_the_silence_and_has_no_frame_without_one() -> None:
    spans = (Span("", 0, 0.1), Span("a", 0.1, 0.2), Span("", 0.2, 0.24), Span("k", 0.24, 0.4), Span("", 0.4, 0.6))
    alignment = Alignment(id="c", seconds=0.8, words=(), phones=(*spans, Span("e", 0.6, 0.7), Span("", 0.7, 0.8)))
    tokens, gaps = ["_", "a", " ", "k", " ", ",", "e", "."], [1, 0, 1, 0, 1, 1, 0, 1]
    counts = gap_durations(alignment, tokens=tokens, gaps=gaps, samples=800, rate=1000, hop=10)
    assert counts == (10, 14, 0, 16, 0, 20, 10, 10)  # 40 ms of silence are no pause; the written mark takes 200 ms


@pytest.mark.parametrize(
    ("tokens", "samples", "said"),
    [
        (["_", "a", "e", "."], 800, "the text has 'e' where the alignment has 'k': align it again"),
        (["_", "a", "."], 800, "the alignment has 'k' that the text lacks: align it again"),
        (["_", "a", "k", "e", "."], 800, "the text has 'e' where the alignment has nothing more: align it again"),
        (["_", "a", "k", "."], 19, "2 sounds do not fit into 1 frames: leave this clip out"),
    ],
)
def test_grids_of_another_reading_and_clips_of_one_frame_are_refused(
    tokens: list[str], samples: int, said: str
) -> None:
    alignment = Alignment(id="c", seconds=0.4, words=(), phones=(Span("a", 0.0, 0.2), Span("k", 0.2, 0.4)))
    gaps = [int(token in "_.") for token in tokens]
    with pytest.raises(AlignError, match=said):
        gap_durations(alignment, tokens=tokens, gaps=gaps, samples=samples, rate=1000, hop=10)


def test_a_part_without_half_of_a_sound_is_refused() -> None:
    alignment = Alignment(id="c", seconds=0.4, words=(), phones=(Span("a", 0.0, 0.2), Span("k", 0.2, 0.4)))
    with pytest.raises(AlignError, match=r"the part that trains leaves out 'a' at 0\.00 s"):
        heard_part(alignment, start=0.15, samples=250, rate=1000, factor=1.0)
    moved = heard_part(alignment, start=0.05, samples=280, rate=1000, factor=1.25)
    assert [(span.start, span.end) for span in moved.phones] == [
        (0.0, pytest.approx(0.12)),
        (pytest.approx(0.12), 0.28),
    ]

"""What is there twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from olu.audit.check import Finding, MeasuredClip, across, define
from olu.audit.coverage import fold
from olu.audit.thresholds import Thresholds
from olu.core.types import Mark
from olu.core.words import many


def _look_duplicate_audio(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    first: dict[str, MeasuredClip] = {}
    told: set[str] = set()
    for one in sorted(heard, key=lambda one: one.dropped):  # of two copies, never the dropped one is the one to keep
        if one.facts is None:
            continue
        original = first.setdefault(one.facts.pcm, one)
        if original is not one:
            message = f"the same sound as {original.clip.id}{across(original, one)}"
            mark = Mark(check="duplicate_audio", severity="error", value=one.facts.seconds, message=message)
            yield Finding(id=one.clip.id, mark=mark, badness=one.facts.seconds)
            if original.clip.id not in told:
                told.add(original.clip.id)
                message = f"{one.clip.id} is the same sound and is left out: is it the right one of the two?"
                kept = Mark(check="duplicate_audio", severity="warn", value=one.facts.seconds, message=message)
                yield Finding(id=original.clip.id, mark=kept, badness=one.facts.seconds)


define("duplicate_audio", _look_duplicate_audio)


KEY_BYTES = 2  # 16 of the 1024 bits: two copies agree on some of the 64 keys, strangers rarely on one
NEIGHBOURS = 4  # compared for one key: the cost stays linear (but for sorting) however alike the clips are
MOST_PAIRS = 2_000_000  # of clips of the same length: up to here all are compared, which also finds poor copies

Places = NDArray[np.intp]


def _look_near_duplicate(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    heard = sorted(heard, key=lambda one: one.dropped)  # of two copies, never the dropped one is the one to keep
    best: dict[int, tuple[float, int]] = {}  # place of a copy -> how far it is from which earlier clip
    for which in (0, 1, 2):  # the whole sound finds what was converted, its core or its speech what was trimmed
        places = np.array([n for n, one in enumerate(heard) if _usable(one, which)], dtype=np.intp)
        if len(places) < 2:
            continue
        prints = np.array([np.frombuffer(_print(heard[n], which), np.uint8) for n in places])
        lengths = np.array([_length(heard[n], which) for n in places])
        for first, second in _candidates(prints, lengths, limits.near_length):
            differ = np.bitwise_count(prints[first] ^ prints[second]).sum(axis=1) / (8 * prints.shape[1])
            ratio = lengths[second] / lengths[first]
            alike = (differ <= limits.near_differs) & (np.abs(np.log(ratio)) <= limits.near_length)
            for far, a, b in zip(differ[alike], places[first[alike]], places[second[alike]], strict=True):
                if float(far) < best.get(int(b), (1.0, 0))[0]:
                    best[int(b)] = (float(far), int(a))
    told: set[int] = set()
    for copy, (far, original) in sorted(best.items()):
        if _pcm(heard[copy]) == _pcm(heard[original]):  # the same samples are another check's
            continue
        message = f"almost the same sound as {heard[original].clip.id}: {1 - far:.0%} of their prints agree"
        message += across(heard[original], heard[copy])
        mark = Mark(check="near_duplicate", severity="error", value=far, message=message)
        yield Finding(id=heard[copy].clip.id, mark=mark, badness=-far)
        message = f"{heard[copy].clip.id} is almost the same sound and is left out: is it the worse of the two?"
        kept = Mark(check="near_duplicate", severity="warn", value=far, message=message)
        if original not in told and original not in best:
            told.add(original)
            yield Finding(id=heard[original].clip.id, mark=kept, badness=-far)


def _usable(heard: MeasuredClip, which: int) -> bool:
    return heard.facts is not None and len(heard.facts.prints) > which and bool(heard.facts.prints[which])


def _print(heard: MeasuredClip, which: int) -> bytes:
    return heard.facts.prints[which] if heard.facts else b""


def _length(heard: MeasuredClip, which: int) -> float:
    assert heard.facts is not None
    return max(1e-3, (heard.facts.seconds, heard.facts.core, heard.facts.spoken)[which])


def _pcm(heard: MeasuredClip) -> str:
    return heard.facts.pcm if heard.facts else ""


def _candidates(
    prints: NDArray[np.uint8], lengths: NDArray[np.float64], near: float
) -> Iterator[tuple[Places, Places]]:
    """Pairs, the earlier first, that have the same length; where these are too many, only those that share a key."""
    order = np.argsort(lengths, kind="stable")
    logs = np.log(lengths[order])
    ends = np.searchsorted(logs, logs + near, side="right")  # the clips up to here are as long as this one
    counts = ends - np.arange(len(ends)) - 1
    if counts.sum() > MOST_PAIRS:
        yield from _by_key(prints, lengths, near)
        return
    for step in range(1, int(counts.max()) + 1):
        one = np.flatnonzero(counts >= step)
        pair = np.sort(np.stack([order[one], order[one + step]]), axis=0)
        yield pair[0], pair[1]


def _by_key(prints: NDArray[np.uint8], lengths: NDArray[np.float64], near: float) -> Iterator[tuple[Places, Places]]:
    """Pairs that share a key and a bin of lengths; the bins are laid twice, half a bin apart."""
    for shift in (0.0, 0.5):
        bins = np.floor(np.log(lengths) / (2 * near) + shift).astype(np.int64)
        for start in range(0, prints.shape[1], KEY_BYTES):
            keys = bins
            for column in prints[:, start : start + KEY_BYTES].T:
                keys = keys * 256 + column
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            for step in range(1, min(NEIGHBOURS, len(keys) - 1) + 1):
                same = keys[step:] == keys[:-step]
                if same.any():
                    yield order[:-step][same], order[step:][same]


define("near_duplicate", _look_near_duplicate)


def _look_duplicate_text(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Texts that one speaker says twice; several speakers may well read one list."""
    said: dict[tuple[str, str, str], list[str]] = {}
    for one in heard:
        text = fold(one.clip.text)
        if not text:  # the text check's
            continue
        ids = said.setdefault((one.clip.language, one.clip.speaker, text), [])
        ids.append(one.clip.id)
        if len(ids) > limits.text_copies:
            mark = Mark(
                check="duplicate_text", severity="warn", value=float(len(ids)), message=f"the same text as {ids[0]}"
            )
            yield Finding(id=one.clip.id, mark=mark, badness=float(len(ids)))


define(
    "duplicate_text",
    _look_duplicate_text,
    more=lambda t: f", from copy {t.text_copies + 1} on" if t.text_copies > 1 else "",
)


def _look_overlap(heard: Sequence[MeasuredClip], limits: Thresholds) -> Iterable[Finding]:
    """Sentences that are both trained and tested, whoever says them: the test would know them."""
    trained: dict[tuple[str, str], str] = {}
    for one in heard:
        if one.split == "train" and (words := _words(one.clip.text)):
            trained.setdefault((one.clip.language, words), one.clip.id)
    for one in heard:
        if one.split not in ("valid", "test"):
            continue
        words = _words(one.clip.text)
        other = trained.get((one.clip.language, words))
        if other is not None and len(words) >= limits.overlap_least:
            side = "validation" if one.split == "valid" else "test"
            message = f"kept for {side}, but {other} trains on the same words"
            mark = Mark(check="overlap", severity="error", value=float(len(words)), message=message)
            yield Finding(id=one.clip.id, mark=mark, badness=float(len(words)))


def _words(text: str) -> str:
    """The letters and digits alone: a comma more is no other sentence."""
    return "".join(sign for sign in fold(text) if sign.isalnum())


def _tell_overlap(heard: Sequence[MeasuredClip], found: Sequence[Finding], limits: Thresholds) -> str:
    if not found:
        return ""
    shares = "shares its" if len(found) == 1 else "share their"
    return f"{many(len(found), 'clip')} kept for validation or test {shares} words with training: split again."


define("overlap", _look_overlap, tell=_tell_overlap)

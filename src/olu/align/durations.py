"""How many frames each token lasts: counts that sum exactly to the frames of the features, with silence as tokens.

Boundaries are converted, never durations: rounding each duration would drift from the sound.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from olu.core.errors import AlignError
from olu.core.types import STRESS, TONE_LETTERS, UNKNOWN_TONE, Alignment, Span

SIL = "<sil>"  # before the first sound and after the last, always
SP = "<sp>"  # a pause inside that nothing in the text stands for
SILENCES = frozenset({SIL, SP})
PAUSE_SECONDS = 0.05  # a shorter silence belongs to the sound before it
BLANKS = frozenset({"", "_", "<blank>"})
TONES = frozenset({*TONE_LETTERS.values(), UNKNOWN_TONE})
TIMELESS = frozenset({*TONES, STRESS})

Frames = Literal["floor", "centre"]


@dataclass(slots=True)
class _Token:
    label: str
    end: float
    timeless: bool = False
    frames: int = 0


def frame_count(samples: int, *, hop: int, frames: Frames) -> int:
    """Frames of the features: VITS pads so that there are samples // hop; a centred transform has one more."""
    return samples // hop + (1 if frames == "centre" else 0)


def durations(
    alignment: Alignment,
    *,
    samples: int,
    rate: int,
    hop: int,
    frames: Frames = "floor",
    tokens: Sequence[str] | None = None,
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Labels and their frames. `tokens` is what a model reads: phones with punctuation, spaces, tones and blanks."""
    spans = _merged(alignment.phones)
    found = _fitted(spans, [span.label for span in spans if span.label] if tokens is None else tokens, alignment)
    total = frame_count(samples, hop=hop, frames=frames)
    timed = [token for token in found if not token.timeless]
    if total < len(timed):
        raise AlignError(
            f"{alignment.id}: {len(timed)} sounds and pauses do not fit into {total} frames: leave this clip out"
        )
    _count(timed, total, rate / hop)
    _steal(timed)
    return tuple(token.label for token in found), tuple(token.frames for token in found)


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Neighbouring silences are one."""
    merged: list[Span] = []
    for span in spans:
        if merged and span.label == "" == merged[-1].label:
            merged[-1] = Span("", merged[-1].start, span.end)
        else:
            merged.append(span)
    return merged


def _fitted(spans: Sequence[Span], tokens: Sequence[str], alignment: Alignment) -> list[_Token]:
    """The tokens with their ends: the phones in order, and what stands between them shares the silence there."""
    phones = [span for span in spans if span.label]
    groups = _groups([span.label for span in phones], tokens, alignment.id)
    if not phones:
        return [_Token(SIL, 0.0), *_plain(groups[0], 0.0), _Token(SIL, alignment.seconds)]
    found = _first(groups[0], phones[0].start)
    for number, phone in enumerate(phones[:-1]):
        found += _inside(phone, groups[number + 1], phones[number + 1].start)
    found.append(_Token(phones[-1].label, phones[-1].end))
    return found + _last(groups[-1], phones[-1].end, alignment.seconds)


def _groups(phones: Sequence[str], tokens: Sequence[str], id: str) -> list[list[str]]:
    """What stands before, between and after the phones: one more group than phones."""
    groups: list[list[str]] = [[]]
    for token in tokens:
        place = len(groups) - 1
        if place < len(phones) and token == phones[place]:
            groups.append([])
        elif _kind(token) == "phone":
            heard = repr(phones[place]) if place < len(phones) else "nothing more"
            raise AlignError(f"{id}: the text has {token!r} where the alignment has {heard}: align it again")
        else:
            groups[-1].append(token)
    if len(groups) <= len(phones):
        raise AlignError(f"{id}: the alignment has {phones[len(groups) - 1]!r} that the text lacks: align it again")
    return groups


def _first(marks: Sequence[str], until: float) -> list[_Token]:
    """Before the first phone: punctuation there takes the silence, and <sil> keeps one frame."""
    taker = _taker(marks)
    if taker is None:
        return [_Token(SIL, until), *_plain(marks, until)]
    return [_Token(SIL, 0.0), *_plain(marks[:taker], 0.0), *_plain(marks[taker:], until)]


def _last(marks: Sequence[str], since: float, until: float) -> list[_Token]:
    taker = len(marks) if (found := _taker(marks)) is None else found
    return [*_plain(marks[:taker], since), *_plain(marks[taker:], until), _Token(SIL, until)]


def _inside(phone: Span, marks: Sequence[str], until: float) -> list[_Token]:
    """A phone and what follows: the first punctuation takes the silence, else a pause token, else the phone itself."""
    taker = _taker(marks)
    if taker is not None:
        own = [_Token(phone.label, phone.end), *_plain(marks[:taker], phone.end)]
        return own + _plain(marks[taker:], until)
    if until - phone.end < PAUSE_SECONDS - 1e-9:
        return [_Token(phone.label, until), *_plain(marks, until)]
    tones = next((at for at, mark in enumerate(marks) if mark not in TONES), len(marks))  # they are the phone's own
    own = [_Token(phone.label, phone.end), *_plain(marks[:tones], phone.end)]
    return [*own, _Token(SP, until), *_plain(marks[tones:], until)]


def _plain(marks: Sequence[str], end: float) -> list[_Token]:
    return [_Token(mark, end, timeless=_kind(mark) == "timeless") for mark in marks]


def _taker(marks: Sequence[str]) -> int | None:
    return next((at for at, mark in enumerate(marks) if _kind(mark) == "punctuation"), None)


def _kind(token: str) -> Literal["timeless", "punctuation", "space", "phone"]:
    if token in TIMELESS or token in BLANKS:
        return "timeless"
    if all(unicodedata.category(sign)[0] in "PS" for sign in token):
        return "punctuation"
    if token.isspace():
        return "space"
    return "phone"


def _count(timed: Sequence[_Token], total: int, per_second: float) -> None:
    """Boundaries to frames; the last one is the last frame."""
    before = 0
    for token in timed[:-1]:
        at = max(before, min(total, math.floor(token.end * per_second + 0.5)))
        token.frames = at - before
        before = at
    timed[-1].frames = total - before


def _steal(timed: Sequence[_Token]) -> None:
    """A token without a frame takes one from the longer neighbour, or from the nearest that can spare one."""
    for place, token in enumerate(timed):
        if token.frames == 0:
            _donor(timed, place).frames -= 1
            token.frames = 1


def _donor(timed: Sequence[_Token], place: int) -> _Token:
    for far in range(1, len(timed)):
        near = [timed[at] for at in (place - far, place + far) if 0 <= at < len(timed)]
        longer = max(near, key=lambda token: token.frames, default=None)
        if longer is not None and longer.frames >= 2:
            return longer
    raise AssertionError("there are at least as many frames as tokens")

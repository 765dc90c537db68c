"""How many frames each token lasts: counts that sum exactly to the frames of the features, with silence as tokens.

Boundaries are converted, never durations: rounding each duration would drift from the sound.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from olu.core.errors import AlignError
from olu.core.types import STRESS, TONE_LETTERS, UNKNOWN_TONE, Alignment, Span

SIL = "<sil>"  # before the first sound and after the last, always
SP = "<sp>"  # a pause inside that nothing in the text stands for
SILENCES = frozenset({SIL, SP})
PAUSE_SECONDS = 0.05  # a shorter silence belongs to the sound before it
GAP_SECONDS = 0.1  # the same where a gap is a token: shorter breaks are part of how a sound ends, and no pause
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


def gap_durations(
    alignment: Alignment, *, tokens: Sequence[str], gaps: Sequence[int], samples: int, rate: int, hop: int
) -> tuple[int, ...]:
    """Frames of each token, which sum to samples // hop. `gaps` marks the tokens that are no sound.

    Silence beside a gap is the gap's: of several, the first that is written; one without silence has no frames.
    Inside a clip, less than `GAP_SECONDS` of it is the sound's before. Every sound has at least one. Other sounds
    than the alignment's are an error.
    """
    phones = [span for span in alignment.phones if span.label]
    groups = _groups_of(tokens, gaps, [span.label for span in phones], alignment.id)
    total = frame_count(samples, hop=hop, frames="floor")
    if not phones:
        raise AlignError(f"{alignment.id}: its alignment holds no sound: align it again")
    if total < len(phones):
        raise AlignError(f"{alignment.id}: {len(phones)} sounds do not fit into {total} frames: leave this clip out")
    edges = [span.start for span in phones] + [samples / rate]
    found = _silence(groups[0], edges[0])
    for number, (phone, after) in enumerate(zip(phones, groups[1:], strict=True)):
        least = GAP_SECONDS if number + 1 < len(phones) else 0.0
        pauses = bool(after) and edges[number + 1] - phone.end >= least - 1e-9
        found.append(_Token(phone.label, phone.end if pauses else edges[number + 1]))
        found += _silence(after, edges[number + 1])
    _count(found, total, rate / hop)
    _steal(found, spared=lambda token: int(not token.timeless))
    return tuple(token.frames for token in found)


def _groups_of(tokens: Sequence[str], gaps: Sequence[int], phones: Sequence[str], id: str) -> list[list[str]]:
    """The gaps before, between and after the sounds; those of text and alignment must be the same."""
    groups: list[list[str]] = [[]]
    for token, gap in zip(tokens, gaps, strict=True):
        place = len(groups) - 1
        if gap:
            groups[-1].append(token)
            continue
        if place >= len(phones) or token != phones[place]:
            heard = repr(phones[place]) if place < len(phones) else "nothing more"
            raise AlignError(f"{id}: the text has {token!r} where the alignment has {heard}: align it again")
        groups.append([])
    if len(groups) <= len(phones):
        raise AlignError(f"{id}: the alignment has {phones[len(groups) - 1]!r} that the text lacks: align it again")
    return groups


def _silence(marks: Sequence[str], until: float) -> list[_Token]:
    """Gaps of which the first that is written takes all; `timeless`: it may stay without a frame."""
    taker = _taker(marks) or 0
    start = [_Token(mark, 0.0, timeless=True) for mark in marks[:taker]]  # 0: where the sound before ends
    return start + [_Token(mark, until, timeless=True) for mark in marks[taker:]]


def heard_part(alignment: Alignment, *, start: float, samples: int, rate: int, factor: float) -> Alignment:
    """An alignment of a whole clip in seconds of the part that trains, which begins at `start`.

    `factor`: it is played so many times faster. A part that leaves out half of a sound or more is refused.
    """
    seconds = samples / rate

    def here(span: Span) -> Span:
        low, high = (min(seconds, max(0.0, (at - start) / factor)) for at in (span.start, span.end))
        if span.label and (high - low) * factor < (span.end - span.start) / 2:
            raise AlignError(f"{alignment.id}: the part that trains leaves out {span.label!r} at {span.start:.2f} s")
        return Span(span.label, low, high)

    return replace(alignment, seconds=seconds, phones=tuple(map(here, alignment.phones)), words=())


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


def _steal(timed: Sequence[_Token], *, spared: Callable[[_Token], int] = lambda token: 1) -> None:
    """A token without a frame takes one from the longer neighbour, or from the nearest that can spare one.

    `spared`: frames that nobody takes of a token.
    """
    for place, token in enumerate(timed):
        if token.frames < spared(token):
            _donor(timed, place, spared).frames -= 1
            token.frames = 1


def _donor(timed: Sequence[_Token], place: int, spared: Callable[[_Token], int]) -> _Token:
    for far in range(1, len(timed)):
        near = [timed[at] for at in (place - far, place + far) if 0 <= at < len(timed)]
        longer = max(near, key=lambda token: token.frames - spared(token), default=None)
        if longer is not None and longer.frames > spared(longer):
            return longer
    raise AssertionError("there are at least as many frames as tokens")

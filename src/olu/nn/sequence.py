"""Sequences for language models of codes: prompt rows, a text and codes one after the other, without a gap.

Padding stands at the end only, so that looking back needs no mask and a clip is the same alone and in any batch.
Shapes: B clips, L rows, K of them the prompt's, T ids of a text, N codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

PROMPT, TEXT, CODE, PADDING = range(4)


@dataclass(frozen=True)
class SequenceRules:
    """What stands around texts and codes."""

    prompt_rows: int
    text_start: int | None  # none: a text stands bare, without its stop too, and its first id is no target
    text_stop: int
    code_start: int
    code_stop: int
    starts: int = 1  # of the codes, all at place 0; the last of them predicts the first code
    stops: int = 1  # of the codes: once, or as often as the published weights have learnt
    hears_stop: bool = True  # whether the codes look at the stop of the text while it learns; in speaking they do


@dataclass(frozen=True)
class CodeSequence:
    """One clip. `hidden`: codes [first, end) that are heard in the prompt, and so no target; never a stop."""

    ids: Sequence[int]
    codes: NDArray[np.int64]
    hidden: tuple[int, int] = (0, 0)
    prompt_rows: int | None = None  # of its own prompt, where they differ
    text_learnt: bool = True  # whether its text is a target


@dataclass(frozen=True)
class Sequences:
    """Clips side by side. Each row has a kind, an id in the table of that kind, and a place among its kind."""

    kind_BL: Tensor
    id_BL: Tensor
    place_BL: Tensor
    text_rows: Tensor  # places in [B * L] whose next id of the text is a target
    text_targets: Tensor
    code_rows: Tensor
    code_targets: Tensor

    def to(self, device: torch.device) -> Sequences:
        return replace(self, **{one.name: getattr(self, one.name).to(device) for one in fields(self)})


def packed(clips: Sequence[CodeSequence], rules: SequenceRules) -> Sequences:
    """Every clip as prompt, START, ids, (STOP), starts, codes, stops; each row predicts the one after it of its kind.

    The last stop is a target and no row: nothing comes after it. A clip without codes is refused.
    """
    rows = [_rows(clip, rules) for clip in clips]
    longest = max(len(kind) for kind, _, _ in rows)
    padded = np.zeros((3, len(clips), longest), np.int64)
    padded[0] = PADDING
    for number, row in enumerate(rows):
        padded[:, number, : len(row[0])] = row
    texts = [_targets(clip, rules, at * longest, TEXT) for at, clip in enumerate(clips)]
    codes = [_targets(clip, rules, at * longest, CODE) for at, clip in enumerate(clips)]
    both = [np.concatenate(parts) for made in (texts, codes) for parts in zip(*made, strict=True)]
    return Sequences(*map(torch.from_numpy, (*padded, *both)))


def text_of(ids: Sequence[int], rules: SequenceRules) -> list[int]:
    """A text as it is heard."""
    if rules.text_start is None:
        return list(ids)
    return [rules.text_start, *ids, *([rules.text_stop] if rules.hears_stop else [])]


def _rows(clip: CodeSequence, rules: SequenceRules) -> NDArray[np.int64]:
    """Kinds, ids and places of a clip [3, L]."""
    if len(clip.codes) == 0:
        raise ValueError("a clip without codes has nothing to learn from")
    k = _prompt_rows(clip, rules)
    text = np.array(text_of(clip.ids, rules), np.int64)
    starts, stops = [rules.code_start] * rules.starts, [rules.code_stop] * (rules.stops - 1)
    code = np.concatenate([np.array(starts, np.int64), clip.codes, np.array(stops, np.int64)])
    made = np.zeros((3, k + len(text) + len(code)), np.int64)
    prompt, texts, codes = made[:, :k], made[:, k : k + len(text)], made[:, k + len(text) :]
    prompt[0], prompt[2] = PROMPT, np.arange(k)
    texts[0], texts[1], texts[2] = TEXT, text, np.arange(len(text))
    codes[0], codes[1] = CODE, code
    codes[2, rules.starts - 1 :] = np.arange(len(code) - rules.starts + 1)
    return made


def _prompt_rows(clip: CodeSequence, rules: SequenceRules) -> int:
    return rules.prompt_rows if clip.prompt_rows is None else clip.prompt_rows


def _targets(
    clip: CodeSequence, rules: SequenceRules, first: int, kind: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that predict, and what."""
    text_at = first + _prompt_rows(clip, rules)
    if kind == TEXT:
        bare = rules.text_start is None
        targets = np.array([*clip.ids[1:]] if bare else [*clip.ids, rules.text_stop], np.int64)
        targets = targets if clip.text_learnt else targets[:0]
        return text_at + np.arange(len(targets)), targets
    targets = np.concatenate([clip.codes, np.full(rules.stops, rules.code_stop)]).astype(np.int64)
    at = text_at + len(text_of(clip.ids, rules)) + rules.starts - 1 + np.arange(len(targets))
    low, high = clip.hidden
    kept = np.ones(len(targets), bool)
    kept[low : min(high, len(clip.codes))] = False
    return at[kept], targets[kept]

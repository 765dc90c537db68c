"""Decide anew which clips train and which are kept for listening."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from olu.corpus.claim import writing
from olu.corpus.manifest import Corpus
from olu.corpus.shapes import FILE, MARK
from olu.corpus.split import Shares, split
from olu.errors import ConfigError, WorkspaceError
from olu.files import Workspace, read_json, read_jsonl, write_json
from olu.types import Clip, Split

COPY = re.compile(r"same sound as (\S+?)(?::|$)")  # how the audit's two checks of copies name the first one
COPY_CHECKS = ("duplicate_audio", "near_duplicate")
SIDES = ("train", "valid", "test", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSummary:
    valid: float
    test: float
    seed: int
    clips: dict[str, int]  # side -> clips; "none": seams between sides, and clips without a text
    seconds: dict[str, float]
    speakers: dict[str, dict[str, int]]  # speaker -> side -> clips
    lengths: dict[str, float]  # side -> median seconds of its clips
    moved: int
    untranscribed: int


def split_corpus(
    ws: Workspace, *, valid: float | None = None, test: float | None = None, seed: int | None = None
) -> SplitSummary:
    """Split by these shares, or by those remembered, and remember them. What does not change is not written."""
    asked = {name: value for name, value in (("valid", valid), ("test", test), ("seed", seed)) if value is not None}
    with writing(ws):
        shares = replace(remembered(ws), **asked)  # type: ignore[arg-type]
        corpus = Corpus.open(ws)
        before = _before(corpus)
        sides = choose_sides(ws, corpus.clips, shares=shares)
        if shares != remembered(ws):
            write_json(_path(ws), asdict(shares))
        moved = sum(sides[id] != side for id, side in before.items())
        if moved or not before:
            Corpus.save_splits(ws, corpus.clips, sides)
        return _summary(corpus, sides, shares, moved)


def _before(corpus: Corpus) -> dict[str, Split | None]:
    """Clip id -> its side; nothing where the old sides cannot be read, for they are made anew here."""
    try:
        return {clip.id: corpus.split(clip) for clip in corpus}
    except WorkspaceError:
        return {}


def choose_sides(ws: Workspace, clips: Sequence[Clip], *, shares: Shares | None = None) -> dict[str, Split | None]:
    """A side for every clip of a workspace, from what its files and its audit know of copies."""
    contents = {row["audio"]: row["sha256"] for row in read_jsonl(ws.corpus / "files.jsonl", shape=FILE)}
    return split(clips, shares=shares or remembered(ws), contents=contents, copies=_copies(ws))


def remembered(ws: Workspace) -> Shares:
    path = _path(ws)
    if not path.exists():
        return Shares()
    try:
        return Shares(**read_json(path, shape={}))
    except (TypeError, ConfigError) as bad:
        raise WorkspaceError(f"{path} cannot be used ({bad}): delete it and run 'olu split' again") from None


def _path(ws: Workspace) -> Path:
    return ws.corpus / "split.json"


def _copies(ws: Workspace) -> list[tuple[str, str]]:
    pairs = []
    for row in read_jsonl(ws.audit / "audit.jsonl", shape=MARK):
        first = COPY.search(row["message"]) if row["check"] in COPY_CHECKS else None
        if first:
            pairs.append((row["id"], first[1]))
    return pairs


def _summary(corpus: Corpus, sides: dict[str, Split | None], shares: Shares, moved: int) -> SplitSummary:
    found: dict[str, list[Clip]] = {side: [] for side in SIDES}
    speakers: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(SIDES, 0))
    for clip in corpus:
        side = sides[clip.id] or "none"
        found[side].append(clip)
        speakers[clip.speaker][side] += 1
    return SplitSummary(
        **asdict(shares),
        clips={side: len(clips) for side, clips in found.items()},
        seconds={side: round(sum(clip.seconds for clip in clips), 3) for side, clips in found.items()},
        speakers=dict(sorted(speakers.items())),
        lengths={side: _middle(clips) for side, clips in found.items()},
        moved=moved,
        untranscribed=sum(not clip.text.strip() for clip in corpus),
    )


def _middle(clips: list[Clip]) -> float:
    lengths = sorted(clip.seconds for clip in clips)
    return round(lengths[len(lengths) // 2], 3) if lengths else 0.0

"""Decide anew which clips train and which are kept for listening."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError, WorkspaceError
from olu.core.files import Workspace, read_json, read_jsonl, write_json
from olu.core.told import Remedy, TextTable, Told
from olu.core.types import Clip, Split
from olu.core.words import many
from olu.core.workspace_lock import writing
from olu.corpus.manifest import Corpus, read_sides
from olu.corpus.shapes import FILE, MARK
from olu.corpus.split import ADJOINING_SECONDS, Shares, split
from olu.stages.verbs.corpus import SplitOptions

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

    def row(self, options: SplitOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), **asdict(self)}

    def sentences(self, options: SplitOptions) -> Iterator[Told]:
        rows = [[name, *(str(count[side] or "-") for side in SIDES)] for name, count in self.speakers.items()]
        rows.append(["all", *(str(self.clips[side]) for side in SIDES)])
        rows.append(["minutes", *(f"{self.seconds[side] / 60:.1f}" for side in SIDES)])
        rows.append(["middle length, s", *(f"{self.lengths[side]:.1f}" for side in SIDES)])
        yield TextTable(["speaker", *SIDES], rows)
        if seams := self.clips["none"] - self.untranscribed:
            adjoin = "adjoins clips of two sides and belongs" if seams == 1 else "adjoin clips of two sides and belong"
            yield f"{many(seams, 'clip')} {adjoin} to none."
        if self.untranscribed:
            have = "has no text and belongs" if self.untranscribed == 1 else "have no text and belong"
            yield f"{many(self.untranscribed, 'clip')} {have} to no side."
        yield f"{many(self.moved, 'clip')} changed sides." if self.moved else "No clip changed sides."
        yield f"Next: {Remedy('status', (options.ws,))}"


def run(options: SplitOptions) -> SplitSummary:
    """`olu split`"""
    return split_corpus(Workspace.open(options.ws), valid=options.valid, test=options.test, seed=options.seed)


def split_corpus(
    ws: Workspace, *, valid: float | None = None, test: float | None = None, seed: int | None = None
) -> SplitSummary:
    """Split by these shares, or by those remembered, and remember them. What does not change is not written."""
    asked = {name: value for name, value in (("valid", valid), ("test", test), ("seed", seed)) if value is not None}
    with writing(ws):
        shares = replace(remembered(ws), **asked)  # type: ignore[arg-type]
        corpus = Corpus.open(ws)
        before = _before(corpus)
        imported = [corpus.as_imported(clip) for clip in corpus]
        written = {clip.id for clip in corpus if clip.text.strip()}
        sides = choose_sides(ws, imported, shares=shares, written=written)
        if shares != remembered(ws):
            write_json(_path(ws), asdict(shares))
        moved = sum(sides[id] != side for id, side in before.items() if id in written)
        if sides != before:
            Corpus.save_splits(ws, corpus.clips, sides)
        return _summary(corpus, sides, shares, moved)


def _before(corpus: Corpus) -> dict[str, Split | None]:
    """Clip id -> its side; nothing where the old sides cannot be read, for they are made anew here."""
    try:
        return {clip.id: corpus.sides.get(clip.id, "train") for clip in corpus}
    except WorkspaceError:
        return {}


def choose_sides(
    ws: Workspace, clips: Sequence[Clip], *, shares: Shares | None = None, written: Collection[str] | None = None
) -> dict[str, Split | None]:
    """A side for every clip of a workspace, as imported, from what its files and its audit know of copies.

    A clip without a text has one too, by its id, and stays there: a text that somebody writes for it moves nothing.
    With `written`, the clips that have a text by now, these too are chosen anew.
    """
    contents = {row["audio"]: row["sha256"] for row in read_jsonl(ws.corpus / "files.jsonl", shape=FILE)}
    shares, copies = shares or remembered(ws), _copies(ws)
    before = read_sides(ws) if written is None else {}
    clips = [replace(one, text=one.id) if not one.text.strip() and one.id in (written or ()) else one for one in clips]
    sides = split(clips, shares=shares, contents=contents, copies=copies)
    mute = [replace(clip, text=clip.id) for clip in clips if not clip.text.strip()]
    if mute:
        chosen = split(mute, shares=shares, contents=contents, copies=copies)
        beside = _beside(clips, sides, contents)
        for clip in mute:
            side = before.get(clip.id) or chosen[clip.id]
            sides[clip.id] = side if beside.get(clip.id, {side}) == {side} else None
    return sides


def _beside(
    clips: Sequence[Clip], sides: Mapping[str, Split | None], contents: Mapping[str, str]
) -> dict[str, set[Split | None]]:
    """Clip without a text -> the sides of those with one that adjoin it in its recording."""
    recordings: dict[str, list[Clip]] = defaultdict(list)
    for clip in clips:
        recordings[contents.get(clip.audio, clip.audio)].append(clip)
    found: dict[str, set[Split | None]] = defaultdict(set)
    for together in recordings.values():
        spoken = [clip for clip in together if clip.text.strip()]
        for clip in together if spoken and len(spoken) < len(together) else ():
            end = clip.start + clip.seconds + ADJOINING_SECONDS
            near = [
                one for one in spoken if one.start < end and clip.start < one.start + one.seconds + ADJOINING_SECONDS
            ]
            if not clip.text.strip() and near:
                found[clip.id] = {sides[one.id] for one in near}
    return found


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
        side = (sides[clip.id] if clip.text.strip() else None) or "none"
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

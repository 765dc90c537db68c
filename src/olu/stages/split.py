"""Decide anew which clips train and which are kept for listening."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from olu.core.errors import WorkspaceError
from olu.core.files import Workspace, write_json
from olu.core.told import Remedy, TextTable, Told
from olu.core.types import Clip, Split
from olu.core.words import many
from olu.core.workspace_lock import writing
from olu.corpus import cuts
from olu.corpus.manifest import Corpus
from olu.corpus.split import REMEMBERED, Shares, choose_sides, remembered
from olu.stages.verbs.corpus import SplitOptions

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
            write_json(ws.corpus / REMEMBERED, asdict(shares))
        whole = cuts.load(ws)
        moved = sum(sides[id] != side for id, side in before.items() if id in written and id not in whole)
        if sides != before:
            Corpus.save_splits(ws, corpus.clips, sides)
        return _summary(corpus, sides, shares, moved)


def _before(corpus: Corpus) -> dict[str, Split | None]:
    """Clip id -> its side; nothing where the old sides cannot be read, for they are made anew here."""
    try:
        return {clip.id: corpus.sides.get(clip.id, "train") for clip in corpus}
    except WorkspaceError:
        return {}


def _summary(corpus: Corpus, sides: dict[str, Split | None], shares: Shares, moved: int) -> SplitSummary:
    found: dict[str, list[Clip]] = {side: [] for side in SIDES}
    speakers: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(SIDES, 0))
    whole = cuts.load(corpus.ws)
    for clip in corpus:
        if clip.id in whole:  # set aside: its pieces stand for it
            continue
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

"""What is known of merged clips: where their words are, also as set by hand, and which were cut into which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olu.align.state import alignment_path, spread
from olu.align.text_match import MatchRow, read_match, write_match
from olu.core.files import Workspace, hash_value, write_jsonl, write_text
from olu.core.rows import from_row
from olu.core.types import Alignment
from olu.corpus import corrections, cuts, hand_bounds
from olu.corpus.hand_bounds import HandBounds, found_alignments, read_alignments
from olu.corpus.manifest import recordings
from olu.stages.align import ALIGN_VERSION, HOLES, STAGE, AlignSummary


@dataclass(frozen=True, slots=True)
class MergedAlignments:
    """The alignments of other workspaces for clips that have none here, by their ids here."""

    found: dict[str, Alignment]
    matches: dict[str, MatchRow]
    hand: dict[str, HandBounds]
    cut: dict[str, list[str]]
    holes: list[str]
    stamps: list[dict[str, Any]]  # of all workspaces, this one first; none where one of them has more to align

    @staticmethod
    def of(ws: Workspace, ids: Sequence[tuple[Workspace, Mapping[str, str]]]) -> MergedAlignments:
        """`ids`: of each workspace, its clips and the same ones here. Nothing is written."""
        here, heard, by_hand = found_alignments(ws), read_match(ws), hand_bounds.in_force(ws)
        was_empty = not (ws.corpus / "clips.jsonl").exists()
        came = MergedAlignments({}, {}, {}, cuts.load(ws), [], [])
        for guest, same in ids:
            anew = {there: id for there, id in same.items() if id not in here and id not in came.found}
            for there, one in found_alignments(guest).items():
                if there in anew:
                    came.found[anew[there]] = replace(one, id=anew[there])
            for there, match in read_match(guest).items():
                if there in anew and anew[there] not in heard:
                    came.matches[anew[there]] = replace(match, id=anew[there])
            for there, own in hand_bounds.in_force(guest).items():
                if there in same and same[there] not in by_hand:
                    came.hand.setdefault(same[there], replace(own, id=same[there]))
            for whole, pieces in cuts.load(guest).items():
                if whole in same:
                    came.cut.setdefault(same[whole], [same[piece] for piece in pieces if piece in same])
            came.holes.extend(
                f"{anew[there]} {hole}" for there, _, hole in map(_parted, _holes(guest)) if there in anew
            )
        wanted = [guest for guest, _ in ids] if was_empty else [ws, *(guest for guest, _ in ids)]
        if came.found and all(STAGE.state(one) == "fresh" for one in wanted):
            came.stamps.extend(stamp for one in wanted if (stamp := one.stamped(STAGE.name)) is not None)
        return came

    def write(self, ws: Workspace) -> None:
        """Beside those of before; under the lock of the workspace, when its clips are written."""
        if self.cut != cuts.load(ws):
            cuts.save(ws, self.cut)
        if self.hand:
            batch = corrections.new_batch()
            hand_bounds.journal(ws).append([replace(one, batch=batch) for one in self.hand.values()])
        if not self.found:
            return
        write_jsonl(alignment_path(ws), (one.row() for one in {**found_alignments(ws), **self.found}.values()))
        write_match(ws, (read_match(ws) | self.matches).items())
        write_text(ws.alignment / HOLES, "".join(f"{hole}\n" for hole in [*_holes(ws), *self.holes]))
        if self.stamps:
            options, summary = self.stamps[0]["options"], self._summary(ws)
            inputs = hash_value([ALIGN_VERSION, recordings(ws), []])  # fresh once all are read and have one that fits
            STAGE.stamp(ws, options, summary.row(), inputs=inputs)

    def _summary(self, ws: Workspace) -> AlignSummary:
        each = [from_row(stamp["summary"], AlignSummary) for stamp in self.stamps]
        return replace(
            each[0],
            made_by="; ".join(dict.fromkeys(one.made_by for one in each)),
            spread=spread(list(read_alignments(ws).values())),
            problems=[problem for one in each for problem in one.problems],
            notes=list(dict.fromkeys(note for one in each for note in one.notes)),
            doubt="; ".join(dict.fromkeys(one.doubt for one in each if one.doubt)),
            holes=_holes(ws),
        )


def _holes(ws: Workspace) -> list[str]:
    path = ws.alignment / HOLES
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _parted(hole: str) -> tuple[str, str, str]:
    return hole.partition(" ")

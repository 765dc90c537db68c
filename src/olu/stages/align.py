"""Find every word and every sound in its clip: by a recogniser trained on the corpus, or from TextGrids."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from olu.align.state import Listened, Spread, alignment_path, fitting, spread, to_align, unaligned
from olu.align.text_match import Match, match_path, read_match, write_match
from olu.align.textgrid_files import no_grid, read_grids, take_grids, write_durations, write_grids
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace, hash_value, write_jsonl, write_text
from olu.core.job import Job, Note
from olu.core.rows import from_row
from olu.core.stage import Stage, need_training
from olu.core.threads import settle
from olu.core.told import Caution, Remedy, TextTable, Told
from olu.core.types import Alignment
from olu.core.words import many
from olu.core.workspace_lock import AFTER_WORK, writing
from olu.corpus import hand_bounds
from olu.corpus.doubts import in_doubt
from olu.corpus.hand_bounds import found_alignments
from olu.corpus.manifest import Corpus, fingerprint, recordings
from olu.stages import audit
from olu.stages.import_ import doubts_of
from olu.stages.long_path import is_cold, is_cuttable
from olu.stages.read import read_corpus
from olu.stages.status import status
from olu.stages.verbs.training import AlignOptions

ALIGN_VERSION = 1
FEW = 5  # of a kind that are told
HOLES = "holes.txt"  # in alignment/: what is said and not written, or written and not said


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    """A hash of the recordings and of what lacks an alignment: clips left out or cut make nothing stale."""
    return hash_value([ALIGN_VERSION, recordings(ws), unaligned(ws)])


STAGE = Stage(name="align", command="olu align {ws}", folder="alignment", inputs=_inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignSummary:
    """What an alignment comes to."""

    method: str  # "frames", "ctc" or "textgrid"
    made_by: str  # which recogniser, or which files
    spread: Spread
    problems: list[str]  # clips without an alignment, and why
    notes: list[str]
    doubt: str = ""  # why its times are worth little
    holes: list[str] = field(default_factory=list)  # what is said and not written, or written and not said
    fresh: bool = False  # aligned before, and nothing has changed since

    def row(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "fresh"}

    def sentences(self) -> Iterator[Told]:
        found = self.spread
        rows = [
            ["clips", f"{found.clips}"],
            ["minutes", f"{found.seconds / 60:.1f}"],
            ["words", f"{found.words}"],
            ["phones", f"{found.phones}"],
            ["silence", f"{found.silence:.0%}"],
            ["mean score", "-" if found.mean_score is None else f"{found.mean_score:.3f}"],
        ]
        yield TextTable(["aligned", self.method], rows)
        for bad in found.worst[:FEW]:
            yield f"fits its text least: {bad['id']} ({bad['score']:.2f})"
        for odd in found.outliers[:FEW]:
            yield f"very long: {odd['phone']} of {odd['id']} at {odd['start']:.2f} s lasts {odd['seconds']:.2f} s"
        yield from self.holes[:FEW]
        if len(self.holes) > FEW:
            yield f"... and {len(self.holes) - FEW} more such stretches: see alignment/{HOLES} in the workspace"
        yield from self.notes
        yield from map(Caution, self.problems[:FEW])
        if len(self.problems) > FEW:
            yield Caution(f"... and {len(self.problems) - FEW} more without an alignment")
        yield f"Made by {self.made_by}."
        if self.fresh:
            yield "Nothing has changed since the last alignment: nothing was done again (--force aligns again)."


@dataclass(frozen=True)
class AlignOutcome:
    """An alignment and what was written beside it."""

    summary: AlignSummary
    written: dict[str, Any] = field(default_factory=dict)  # textgrids, durations, without_durations: as JSON has them

    def row(self, options: AlignOptions) -> dict[str, Any]:
        return {**self.summary.row(), **self.written}

    def sentences(self, options: AlignOptions) -> Iterator[Told]:
        yield from self.summary.sentences()
        if options.textgrid is not None:
            yield f"{self.written['textgrids']} TextGrids in {options.textgrid}"
        if options.durations is not None:
            yield f"{self.written['durations']} clips with their frames in {options.durations}"
            problems = self.written["without_durations"]
            yield from (Caution(f"no durations: {problem}") for problem in problems[:FEW])
            if len(problems) > FEW:
                yield Caution(f"and {len(problems) - FEW} more; --json lists all")
        if self.summary.doubt:
            yield Caution(f"Do not trust this alignment: {self.summary.doubt}.")
        ws = Workspace.open(options.ws)
        yield from in_doubt(doubts_of(ws))
        yield f"Next: {after_align(ws)}"


def run(options: AlignOptions) -> Job[AlignOutcome]:
    """`olu align`"""
    if options.frames not in ("floor", "centre"):
        raise ConfigError(f"--frames {options.frames!r}: choose floor or centre")
    if options.durations is None and (options.hop, options.rate, options.frames) != (256, 16000, "floor"):
        raise ConfigError("--hop, --rate and --frames are about --durations FILE: give it, or leave them out")
    if options.source is not None and (options.ctc_only or options.cross):
        raise ConfigError("--from takes the boundaries of another aligner: leave --ctc-only and --cross out")
    if options.source is not None and options.base is not None:
        raise ConfigError("--from takes the boundaries of another aligner, so nothing is learnt: leave --base out")
    if options.flat and (clash := _beside_flat(options)):
        raise ConfigError(f"--flat learns from the clips alone, without a recogniser: leave {clash} out")
    yield from map(Note, settle(options.threads))
    ws = Workspace.open(options.ws)
    summary = yield from align(
        ws,
        source=options.source,
        ctc_only=options.ctc_only,
        cross=options.cross,
        flat=options.flat,
        base=options.base,
        device=options.device,
        force=options.force,
        keep=options.textgrid is not None or options.durations is not None,
    )
    written: dict[str, Any] = {}
    if options.textgrid is not None:
        written["textgrids"] = write_grids(ws, options.textgrid)
    if options.durations is not None:
        how = cast('Literal["floor", "centre"]', options.frames)
        rows, problems = write_durations(ws, options.durations, hop=options.hop, rate=options.rate, frames=how)
        written |= {"durations": rows, "without_durations": problems}
    return AlignOutcome(summary, written)


def _beside_flat(options: AlignOptions) -> str:
    """An option that asks for what --flat does without."""
    asked = {"--from": options.source, "--base": options.base, "--ctc-only": options.ctc_only, "--cross": options.cross}
    return next((name for name, value in asked.items() if value), "")


def align(
    ws: Workspace,
    *,
    source: Path | None = None,
    ctc_only: bool = False,
    cross: bool = False,
    flat: bool = False,
    base: Path | None = None,
    device: str | None = None,
    force: bool = False,
    keep: bool = False,
) -> Job[AlignSummary]:
    """Align what is wanted and not aligned yet. `source`: TextGrids to take instead. `keep`: any alignment will do.

    `cross` scores every clip once more, by a recogniser that has not learnt from it. `flat`: without any recogniser, by
    what the clips' own sounds teach; long recordings go that way anyhow. `base`: an aligned workspace of
    another language, or a run of its recogniser, to begin with.
    """
    if source is not None:
        return (yield from _from_grids(ws, source, force=force))
    options: dict[str, Any] = {"from": None, "ctc_only": ctc_only, "cross": cross}
    options |= {"base": str(base.resolve())} if base is not None else {}
    options |= {"flat": True} if flat else {}
    earlier = None if force else _earlier(ws, options, keep=keep)
    if earlier is not None:
        return earlier
    need_training("olu align")
    corpus = Corpus.open(ws)
    corpus.check_sources()
    begun = fingerprint(ws)
    if is_cold(corpus) and not (ctc_only or cross):  # these ask for a recogniser
        from olu.stages.align_flat import listen_flat

        listened = yield from listen_flat(ws, device=device, force=force, base=base)
    elif flat:
        from olu.stages.align_short import listen_short

        listened = yield from listen_short(ws, device=device, force=force)
    else:
        from olu.stages.align_listen import listen

        listened = yield from listen(ws, ctc_only=ctc_only, cross=cross, device=device, force=force, base=base)
    return _finish(ws, options, listened, begun=begun, known={clip.id for clip in corpus})


def _earlier(ws: Workspace, options: dict[str, Any], *, keep: bool) -> AlignSummary | None:
    stamp = ws.stamped(STAGE.name)
    if stamp is None or STAGE.state(ws) != "fresh" or not match_path(ws).exists():
        return None
    made: dict[str, Any] = stamp["options"]
    served = made["from"] is not None or (made["ctc_only"] == options["ctc_only"] and made["cross"] >= options["cross"])
    served = served and options.get("base") in (None, made.get("base"))
    served = served and options.get("flat", False) == made.get("flat", False)
    return replace(from_row(stamp["summary"], AlignSummary), fresh=True) if keep or served else None


def _from_grids(ws: Workspace, source: Path, *, force: bool) -> Job[AlignSummary]:
    yield from read_corpus(ws)
    grids = read_grids(source)
    contents = {name: hashlib.sha256(data).hexdigest() for name, data in grids.items()}
    options = {"from": str(source.resolve()), "grids": hash_value(contents), "ctc_only": False, "cross": False}
    if not force and match_path(ws).exists() and (earlier := STAGE.done(ws, options)) is not None:
        return replace(from_row(earlier, AlignSummary), fresh=True)
    begun = fingerprint(ws)
    corpus = Corpus.open(ws)
    found, problems, notes = yield from take_grids(ws, corpus, grids)
    matches = [(one.id, Match(first=one.words[0], last=one.words[-1])) for one in found if one.words]
    listened = Listened(found=found, matches=matches, problems=problems, notes=notes, made_by=str(source))
    known = {clip.id for clip in corpus}
    return _finish(ws, options, _with_others(ws, corpus, listened), begun=begun, known=known)


def _with_others(ws: Workspace, corpus: Corpus, taken: Listened) -> Listened:
    """Also the alignments of before that still fit, of clips without a grid: a few corrected ones lose nothing."""
    anew = {one.id for one in taken.found}
    known = {id: one for id, one in found_alignments(ws).items() if id not in anew} if anew else {}
    kept = fitting(known, to_align(ws, corpus)) if known else {}
    if not kept:
        return taken
    heard, lacking = read_match(ws), set(map(no_grid, kept))
    return replace(
        taken,
        found=[*taken.found, *kept.values()],
        matches=[*taken.matches, *((id, heard[id]) for id in kept if id in heard)],
        problems=[problem for problem in taken.problems if problem not in lacking],
        notes=[*taken.notes, f"{len(kept)} clips that no TextGrid was taken for keep the alignment they had"],
    )


def _finish(
    ws: Workspace, options: dict[str, Any], listened: Listened, *, begun: str, known: Collection[str]
) -> AlignSummary:
    """Write and stamp an alignment. `begun`: its clips; where they changed since, it is stamped as stale.

    Clips that are not `known` came while it was made, by a cut or a merge, with alignments that stay.
    """
    if not listened.found:
        first = f"; the first: {listened.problems[0]}" if listened.problems else ""
        raise CorpusError(f"no clip of {ws.root} could be aligned{first}")
    found, hand = {one.id: one for one in listened.found}, hand_bounds.in_force(ws)
    laid = hand_bounds.lay_over(found, {id: one for id, one in hand.items() if id in found})
    summary = AlignSummary(
        method="textgrid" if options["from"] else Counter(one.method for one in listened.found).most_common(1)[0][0],
        made_by=listened.made_by,
        spread=spread(list(laid.values())),
        problems=listened.problems,
        notes=[*listened.notes, *_by_hand(found, hand)],
        doubt=listened.doubt,
        holes=listened.holes,
    )
    with writing(ws, patience=AFTER_WORK):
        came = [one for id, one in found_alignments(ws).items() if id not in found and id not in known]
        heard = [(id, one) for id, one in read_match(ws).items() if id not in found and id not in known]
        write_jsonl(alignment_path(ws), (one.row() for one in (*listened.found, *came)))
        write_match(ws, (*listened.matches, *heard))
        write_text(ws.alignment / HOLES, "".join(f"{hole}\n" for hole in listened.holes))
        STAGE.stamp(ws, options, summary.row(), inputs=None if fingerprint(ws) == begun else "clips came or went")
    (ws.alignment / "part.jsonl").unlink(missing_ok=True)
    shutil.rmtree(ws.alignment / "flat", ignore_errors=True)
    return summary


def _by_hand(found: Mapping[str, Alignment], hand: Mapping[str, hand_bounds.HandBounds]) -> list[str]:
    """What became of the boundaries that people set."""
    mine = {id: hand_bounds.counts(one, found[id]) for id, one in hand.items() if id in found}
    gone = [id for id, counts in mine.items() if not counts]
    kept = sum(mine.values())
    notes = [f"{many(kept, 'clip')} {'keeps' if kept == 1 else 'keep'} the boundaries set by hand"] if kept else []
    if gone:
        some = ", ".join(gone[:FEW]) + (", ..." if len(gone) > FEW else "")
        notes.append(
            f"boundaries set by hand were dropped, since the text is read otherwise now: {some}; they come back with"
            " that text"
        )
    return notes


def after_align(ws: Workspace) -> Remedy | str:
    """The one command to run next: cut what is too long, else whatever the workspace lacks."""
    if is_cuttable(ws):
        return Remedy("cut", (ws.root,))
    if audit.STAGE.state(ws) != "fresh":
        return Remedy("audit", (ws.root,))
    return status(ws).next

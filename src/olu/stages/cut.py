"""Cut long clips into short ones at pauses that the aligner found. Nothing is edited: the long ones are set aside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from olu.align.cut import CutLengths, CutPiece
from olu.align.state import alignment_path, alignments, fitting, to_align
from olu.align.text_match import named, unheard
from olu.audit.fix import lost
from olu.core.errors import ConfigError, WorkspaceError
from olu.core.files import Workspace, hash_file, read_jsonl, write_jsonl
from olu.core.job import Job, Tick
from olu.core.told import Caution, Remedy, Told
from olu.core.types import Alignment, Clip, Frontend, Split
from olu.core.words import length, many
from olu.core.workspace_lock import writing
from olu.corpus import cuts, hand_bounds, speakers
from olu.corpus.changed_files import RECORDING
from olu.corpus.decisions import Decision, record, take_back
from olu.corpus.intake.probe import clip_id
from olu.corpus.manifest import Corpus
from olu.corpus.split import choose_sides
from olu.stages import import_
from olu.stages.audit import read_thresholds
from olu.stages.cut_pieces import HeardBounds, LongPieces, heard_bounds, whole_pieces
from olu.stages.read import corpus_frontend
from olu.stages.verbs.training import CutOptions
from olu.text.frontend import frontend_for, read_settings

FEW = 5  # of a kind that are told


@dataclass(frozen=True, slots=True, kw_only=True)
class CutSummary:
    longest: float
    clips: int  # longer than that, and not cut before
    cut: dict[str, list[str]]  # id -> the new clips
    seconds: float  # of the new clips
    still_long: list[str]  # new clips without a pause to cut at
    refused: list[str]  # which, and why
    left_out: list[str]  # stretches of long recordings without a clip, and why
    left_out_seconds: float
    lost: list[str]  # clips that are as long, but that a fix left out before
    lost_seconds: float
    written: bool

    def sentences(self, options: CutOptions) -> Iterator[Told]:
        if not self.clips:
            wanted = "that is not left out " if self.lost else ""
            yield f"No clip {wanted}is longer than {self.longest:g} s: there is nothing to cut."
            yield from self._lost_sentences(options.ws)
            return
        pieces = sum(len(clips) for clips in self.cut.values())
        would = "" if self.written or not self.cut else " would be"
        over = f"{many(self.clips, 'clip')} over {self.longest:g} s"
        yield f"{over}: {len(self.cut)}{would} cut into {pieces}, {length(self.seconds)}."
        yield from (f"still long, for want of a pause: {id}" for id in self.still_long[:FEW])
        if self.left_out:
            stretches = f"{len(self.left_out)} stretch{'es' * (len(self.left_out) > 1)}"
            yield f"Left out of long recordings: {length(self.left_out_seconds)}, {stretches}:"
            yield from self.left_out[:FEW]
            if len(self.left_out) > FEW:
                yield f"... and {len(self.left_out) - FEW} more (--json names them all)"
        yield from (Caution(f"not cut: {why}") for why in self.refused[:FEW])
        if len(self.refused) > FEW:
            yield Caution(f"... and {len(self.refused) - FEW} more that are not cut (--json names them all)")
        yield from self._lost_sentences(options.ws)
        if self.written:
            yield f"Back again: {Remedy('cut', (options.ws,), {'undo': True})}"
            yield f"Next: {Remedy('read', (options.ws,))}"
        elif self.cut:
            yield "Nothing was written (--dry-run)."

    def _lost_sentences(self, ws: Path) -> Iterator[str]:
        if self.lost:
            was = "is as long, but was" if len(self.lost) == 1 else "are as long, but were"
            lost = many(len(self.lost), "more clip" if self.clips else "clip")
            yield f"{lost} ({self.lost_seconds / 60:.1f} minutes) {was} left out by olu audit --fix."
            undo = (Remedy("audit", (ws,), {"undo": True}), Remedy("align", (ws,)), Remedy("cut", (ws,)))
            yield f"To cut these too: {' && '.join(map(str, undo))}"


@dataclass(frozen=True)
class UncutSummary:
    """What taking cuts back came to."""

    undone: int  # long clips that are whole again
    pieces: int  # that are gone

    def sentences(self, options: CutOptions) -> Iterator[str]:
        are = "is" if self.undone == 1 else "are"
        back = f"{many(self.undone, 'clip')} {are} whole again, {many(self.pieces, 'piece')} gone."
        yield back if self.undone else "There was nothing to take back."


def run(options: CutOptions) -> Job[CutSummary | UncutSummary]:
    """`olu cut`"""
    ws = Workspace.open(options.ws)
    if not options.undo:
        return (yield from cut(ws, longest=options.longest, dry=options.dry_run))
    if options.dry_run:
        raise ConfigError("--undo takes cuts back: leave --dry-run out")
    return UncutSummary(*undo_cut(ws))


@dataclass(frozen=True, slots=True)
class _Plan:
    clip: Clip
    clips: tuple[Clip, ...]  # its pieces
    alignments: tuple[Alignment, ...]
    left_out: tuple[tuple[float, str], ...] = ()  # seconds of sound without a clip, and why

    @property
    def new_ids(self) -> list[str]:
        return [clip.id for clip in self.clips]


def cut(ws: Workspace, *, longest: float = 20.0, dry: bool = False) -> Job[CutSummary]:
    """Clips over `longest` seconds become several. What cannot be cut safely stays as it is, and is named."""
    if not longest >= 2.0:
        raise ConfigError(f"--longest {longest:g}: give 2 seconds or more")
    with nullcontext() if dry else writing(ws):
        return (yield from _cut(ws, longest=longest, dry=dry))


def _cut(ws: Workspace, *, longest: float, dry: bool) -> Job[CutSummary]:
    corpus = Corpus.open(ws)
    long = [clip for clip in corpus if corpus.is_wanted(clip) and corpus.taken(clip).seconds > longest]
    marks = {clip.id: corpus.marks(clip) for clip in corpus}
    gone = lost(corpus, marks, corpus.decisions.values(), most=longest)
    if not long:
        return _summary(longest, [], [], [], gone, written=False)
    aligned = alignments(ws)
    if not aligned:
        raise WorkspaceError(f"{ws.root} has no alignment to cut by: run 'olu align {ws.root}' first")
    current = fitting(aligned, to_align(ws, corpus))
    frontend = corpus_frontend(ws, corpus, read_settings(ws))
    bounds = heard_bounds(current.values(), read_thresholds(ws))
    contents = {row["audio"]: row["sha256"] for row in read_jsonl(ws.corpus / "files.jsonl", shape=RECORDING)}
    plans: list[_Plan] = []
    refused: list[str] = []
    for done, clip in enumerate(long, 1):
        yield Tick(done, len(long), clip.id)
        if clip.id not in current:
            refused.append(f"clip {clip.id}: not aligned as it is read now: run 'olu align {ws.root}'")
            continue
        sha256 = contents.get(clip.audio) or hash_file(corpus.locate(clip))
        reads = frontend_for(frontend, clip.language)
        plan = _plan(clip, current[clip.id], reads, CutLengths(longest=longest), bounds, sha256=sha256)
        if isinstance(plan, str):
            refused.append(f"clip {clip.id}: {plan}")
        else:
            plans.append(plan)
    written = bool(plans) and not dry
    if written:
        _write(ws, corpus, plans)
    return _summary(longest, long, plans, refused, gone, written=written)


def _plan(
    clip: Clip, alignment: Alignment, frontend: Frontend, cutting: CutLengths, bounds: HeardBounds, *, sha256: str
) -> _Plan | str:
    spans = alignment.words
    if alignment.method == "flat":
        return _plan_long(clip, alignment, frontend, cutting, bounds, sha256=sha256)
    bad = unheard(spans, low=bounds.low)
    if len(bad) > bounds.share * len(spans):
        return f"{len(bad)} of its {len(spans)} words are not heard where they should be: {named(spans, bad)}"
    pieces = whole_pieces(clip.text, spans, clip.seconds, frontend, cutting, bad)
    if len(pieces) == 1 and pieces[0].seconds <= cutting.longest:
        return "only the silence at its ends makes it long: 'olu audit --fix' trims it"
    if len(pieces) == 1:
        unsure = f"; words that are hardly heard: {named(spans, bad)}" if bad else ""
        return f"no pause between words to cut at was found{unsure}"
    return _with_clips(clip, alignment, pieces, sha256=sha256)


def _plan_long(
    clip: Clip, alignment: Alignment, frontend: Frontend, cutting: CutLengths, bounds: HeardBounds, *, sha256: str
) -> _Plan | str:
    """A long recording, run by run of its words."""
    found = LongPieces.of(clip.text, alignment, frontend, cutting, bounds)
    left = [(seconds, f"{clip.id} {why}") for seconds, why in found.left]
    if not found.kept:
        return f"no stretch of it is heard as it is written; the first: {left[0][1]}" if left else "it has no words"
    return _with_clips(clip, alignment, found.kept, left, sha256=sha256)


def _with_clips(
    clip: Clip, alignment: Alignment, pieces: Sequence[CutPiece], left: Sequence[tuple[float, str]] = (), *, sha256: str
) -> _Plan:
    clips = tuple(_clip(clip, piece, sha256) for piece in pieces)
    cuts = tuple(_part(alignment, piece, one) for piece, one in zip(pieces, clips, strict=True))
    return _Plan(clip, clips, cuts, tuple(left))


def _clip(clip: Clip, piece: CutPiece, sha256: str) -> Clip:
    start, seconds = round(clip.start + piece.start, 3), round(piece.seconds, 3)
    id = clip_id(clip.audio.partition("/")[2], sha256=sha256, start=start, seconds=seconds)
    return replace(clip, id=id, start=start, seconds=seconds, text=piece.text)


def _part(alignment: Alignment, piece: CutPiece, clip: Clip) -> Alignment:
    """The part of a long clip's alignment that belongs to one of its pieces."""
    end = piece.start + clip.seconds
    phones = []
    for span in alignment.phones:
        low, high = max(span.start, piece.start), min(span.end, end)
        if high > low:
            phones.append(span._replace(start=low - piece.start, end=high - piece.start))
    phones[-1] = phones[-1]._replace(end=clip.seconds)
    words = [
        span._replace(start=span.start - piece.start, end=span.end - piece.start)
        for span in alignment.words[piece.first : piece.last]
    ]
    return replace(
        alignment,
        id=clip.id,
        seconds=clip.seconds,
        words=tuple(words),
        phones=tuple(phones),
        unwritten=(),
        unspoken=(),
        otherwise=tuple(
            (max(first, piece.first) - piece.first, min(last, piece.last) - piece.first)
            for first, last in alignment.otherwise
            if first < piece.last and last > piece.first
        ),
    )


def _write(ws: Workspace, corpus: Corpus, plans: Sequence[_Plan]) -> None:
    """Write the new clips first: a kill leaves them beside the long one, and the next cut finds the same."""
    clips, sides = _with_pieces(corpus, plans)
    made = cuts.load(ws) | {plan.clip.id: plan.new_ids for plan in plans}
    if any(one.method == "flat" for plan in plans for one in plan.alignments):
        sides = choose_sides(ws, clips, cut=made)  # nothing has learnt from an hour yet: its pieces part like any clips
    speakers.keep_names(ws, clips, {id: plan.clip.speaker for plan in plans for id in plan.new_ids})
    _save(ws, corpus, clips, sides)
    _keep_hand(ws, plans)
    aligned = hand_bounds.found_alignments(ws) | {one.id: one for plan in plans for one in plan.alignments}
    write_jsonl(alignment_path(ws), (one.row() for one in aligned.values()))
    cuts.save(ws, made)
    reasons = {plan.clip.id: f"into {len(plan.clips)} clips" for plan in plans}
    record(ws, (Decision(id=id, decision="drop", by="cut", reason=why) for id, why in reasons.items()))


def _keep_hand(ws: Workspace, plans: Sequence[_Plan]) -> None:
    """Boundaries that were set by hand in a long clip are so in its pieces."""
    pieces = [one for plan in plans for one in plan.alignments if one.method == hand_bounds.METHOD]
    known = hand_bounds.in_force(ws) if pieces else {}
    wholes = {id: known[plan.clip.id] for plan in plans if plan.clip.id in known for id in plan.new_ids}
    rows = [
        replace(
            wholes[one.id],
            id=one.id,
            seconds=round(one.seconds, 4),
            words=tuple((span.label, round(span.start, 4), round(span.end, 4)) for span in one.words),
            phones=tuple((span.label, round(span.start, 4), round(span.end, 4)) for span in one.phones),
        )
        for one in pieces
        if one.id in wholes and one.id not in known
    ]
    hand_bounds.journal(ws).append(rows)


def _with_pieces(corpus: Corpus, plans: Sequence[_Plan]) -> tuple[list[Clip], dict[str, Split | None]]:
    """All clips, each long one followed by its pieces, and the side of each: a piece is on the side of the whole."""
    new = {plan.clip.id: _as_imported(corpus, plan) for plan in plans}
    made = {clip.id for plan in plans for clip in plan.clips}
    before = [corpus.as_imported(clip) for clip in corpus if clip.id not in made]
    clips = [one for clip in before for one in (clip, *new.get(clip.id, ()))]
    sides: dict[str, Split | None] = {clip.id: corpus.sides.get(clip.id, "train") for clip in before}
    return clips, sides | {one.id: corpus.split(plan.clip) for plan in plans for one in plan.clips}


def _as_imported(corpus: Corpus, plan: _Plan) -> list[Clip]:
    """The pieces, of the speaker that the source named."""
    speaker = corpus.as_imported(plan.clip).speaker
    return [replace(one, speaker=speaker) for one in plan.clips]


def _save(ws: Workspace, corpus: Corpus, clips: list[Clip], sides: Mapping[str, Split | None]) -> None:
    """Write the manifest; an import that was fresh stays so, for it has not missed anything."""
    stamp = ws.stamped(import_.STAGE.name) if import_.STAGE.state(ws) == "fresh" else None
    Corpus.save(ws, clips, list(corpus.sources.values()), sides)
    if stamp is not None:
        import_.STAGE.stamp(ws, stamp["options"], stamp["summary"])


def undo_cut(ws: Workspace) -> tuple[int, int]:
    """Take the pieces away again and the long clips back; returns how many long ones and how many pieces."""
    with writing(ws):
        corpus = Corpus.open(ws)
        pieces = {id for ids in cuts.load(ws).values() for id in ids}
        clips = [corpus.as_imported(clip) for clip in corpus if clip.id not in pieces]
        gone = len(corpus) - len(clips)
        if gone:
            _save(ws, corpus, clips, {clip.id: corpus.sides.get(clip.id, "train") for clip in clips})
        back = take_back(ws, by="cut")
        if pieces:
            cuts.save(ws, {})
        return len(back), gone


def _summary(
    longest: float,
    long: Sequence[Clip],
    plans: Sequence[_Plan],
    refused: list[str],
    gone: Sequence[Clip],
    *,
    written: bool,
) -> CutSummary:
    new = [clip for plan in plans for clip in plan.clips]
    left = [one for plan in plans for one in plan.left_out]
    return CutSummary(
        longest=longest,
        clips=len(long),
        cut={plan.clip.id: plan.new_ids for plan in plans},
        seconds=round(sum(clip.seconds for clip in new), 3),
        still_long=[clip.id for clip in new if clip.seconds > longest],
        refused=refused,
        left_out=[why for _, why in left],
        left_out_seconds=round(sum(seconds for seconds, _ in left), 3),
        lost=[clip.id for clip in gone],
        lost_seconds=round(sum(clip.seconds for clip in gone), 3),
        written=written,
    )

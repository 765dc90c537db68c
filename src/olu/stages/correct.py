"""Write down the texts that people corrected, and take them back."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from olu.core.errors import ConfigError, CorpusError, WorkspaceError
from olu.core.files import Workspace
from olu.core.rows import load_rows
from olu.core.told import Remedy
from olu.core.types import Clip
from olu.core.words import many
from olu.core.workspace_lock import appending, writing
from olu.corpus import corrections
from olu.corpus.correction_file import GivenText, read_texts
from olu.corpus.corrections import Correction, folded, is_same
from olu.corpus.intake.probe import printable
from olu.corpus.journal import FEW, lines_with
from olu.corpus.manifest import SIDE, Corpus, read_sides
from olu.corpus.sources import clips_named, read_clips
from olu.corpus.split import choose_sides
from olu.stages.decide import check_known, hint
from olu.stages.verbs.corpus import CorrectOptions

SHOWN = 5
NO_VALID = "no clip with a text is on the valid side, so that a training could only be judged by what it learns from"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectSummary:
    by: str
    at: str
    batch: str  # what 'olu correct WS --undo' takes back together
    ids: tuple[str, ...]  # clips with another text now
    first: int  # of these, that had none before
    unchanged: int
    empty: int  # clips that had no text and were given none
    unknown: tuple[str, ...]  # where, and which id
    refused: tuple[str, ...]  # where, and why
    notes: tuple[str, ...]

    def row(self, options: CorrectOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), "undone": False, **asdict(self)}

    def sentences(self, options: CorrectOptions) -> Iterator[str]:
        other = f"; {self.unchanged} unchanged" if self.unchanged else ""
        yield f"{many(len(self.ids), 'text')} corrected by {self.by}{other}."
        if self.first:
            yield f"{many(self.first, 'clip')} had none before, and may train now."
        if self.empty:
            yield f"{many(self.empty, 'clip')} had no text and got none."
        for lines, what in ((self.refused, "not taken"), (self.unknown, "of no clip here")):
            if lines:
                yield f"{many(len(lines), 'row')} {what}:"
                yield from (f"  {line}" for line in lines[:SHOWN])
            if len(lines) > SHOWN:
                yield f"  and {len(lines) - SHOWN} more: --json lists them all"
        for note in self.notes:
            yield f"Note: {note}."
        if self.ids:
            yield f"Back again: {Remedy('correct', (options.ws,), {'undo': True})}"
        yield f"Next: {Remedy('status', (options.ws,))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoSummary:
    ids: tuple[str, ...]
    by: tuple[str, ...]  # who had written them
    at: str  # when the last of them was written

    def row(self, options: CorrectOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), "undone": True, **asdict(self)}

    def sentences(self, options: CorrectOptions) -> Iterator[str]:
        if not self.ids:
            yield "Nothing to take back: no text was corrected so."
            return
        yield f"Taken back for {many(len(self.ids), 'clip')}: what {', '.join(self.by)} wrote, last at {self.at}."
        yield f"Next: {Remedy('status', (options.ws,))}"


def run(options: CorrectOptions) -> CorrectSummary | UndoSummary:
    """`olu correct`"""
    _check(options)
    ws, file = Workspace.open(options.ws), options.file
    if options.undo:
        return undo_corrections(ws, clip=options.clip, by=options.by)
    if file is None:
        return correct_clip(ws, options.clip or "", options.text or "", by=options.by)
    piped = str(file) == "-"
    data = sys.stdin.buffer.read() if piped else read_file(file)
    return correct_file(ws, data, name="stdin" if piped else file.name, by=options.by)


def _check(options: CorrectOptions) -> None:
    file, clip, text = options.file, options.clip, options.text
    if options.undo and (file is not None or text is not None):
        raise ConfigError("--undo takes back what was corrected last: give no FILE and no --text with it")
    if file is not None and (clip is not None or text is not None):
        raise ConfigError("a FILE names its clips itself: leave --clip and --text out, or leave the file out")
    if file is None and (clip is None or text is None) and not options.undo:
        raise ConfigError("nothing to correct: name a FILE, or one clip with --clip ID --text TEXT")


@dataclass(slots=True)
class _Sorted:
    """The texts that were given, sorted into those to record and those to tell of."""

    new: dict[str, str] = field(default_factory=dict)  # clip id -> text
    unchanged: int = 0
    empty: int = 0
    unknown: list[GivenText] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def sort(self, ws: Workspace, given: GivenText, clip: Clip | None, held: str | None) -> None:
        """Sort in one given text; `held`: what the clip was corrected to before."""
        if clip is None:
            self.unknown.append(given)
            return
        now = clip.text if held is None else held
        if printable(given.text) != given.text or "\0" in given.text:
            self.refused.append(f"{given.where}: clip {clip.id}: the text holds no whole characters: write it again")
        elif is_same(given.text, now):
            self.empty += not now.strip()
            self.unchanged += bool(now.strip())
        elif not given.text.strip():
            drop = Remedy("drop", (ws.root, clip.id))
            self.refused.append(
                f"{given.where}: clip {clip.id} has no text there and keeps its own; to leave it out: {drop}"
            )
        else:
            self.new[clip.id] = folded(given.text)


def correct_file(ws: Workspace, data: bytes, *, name: str, by: str | None = None) -> CorrectSummary:
    """The texts of a file; rows that name no clip are told, and the others taken."""
    given, notes = read_texts(data, name=name)
    done = correct(ws, given, by=by)
    if done.unknown and len(done.unknown) == len(given):
        known = {clip.id for clip in read_clips(ws)}
        raise CorpusError(f"{name} names no clip of {ws.root}; the first is {given[0].id!r}{hint(given[0].id, known)}")
    return replace(done, notes=(*notes, *done.notes))


def correct_clip(ws: Workspace, id: str, text: str, *, by: str | None = None) -> CorrectSummary:
    """One clip; its id is known, or nothing is recorded. It waits for no command that is at work."""
    done = correct(ws, [GivenText(id, text, "--text")], by=by)
    if done.unknown:
        check_known(ws, [id])
    if done.refused or done.empty:
        raise CorpusError(done.refused[0] if done.refused else "--text is empty: write what is said in the clip")
    return done


def correct(ws: Workspace, given: Sequence[GivenText], *, by: str | None = None) -> CorrectSummary:
    who, at, batch = corrections.who_is(by), corrections.now(), corrections.new_batch()
    ids = {one.id for one in given}
    clips = clips_named(ws, ids)
    mute = [clip for clip in clips.values() if not clip.text.strip()]
    notes = _give_sides(ws, mute) if mute else []
    with appending(ws):
        held = {one.id: one.text for one in corrections.load(ws, ids=ids)}
        found = _Sorted()
        for one in given:
            found.sort(ws, one, clips.get(one.id), held.get(one.id))
        new = [
            Correction(id=id, text=text, imported=clips[id].text, by=who, at=at, batch=batch)
            for id, text in found.new.items()
        ]
        notes += corrections.add(ws, new)
    first = sum(not (held.get(one.id) or one.imported).strip() for one in new)
    if first and len(given) > 1:
        notes += _no_valid(ws)
    return CorrectSummary(
        by=who,
        at=at,
        batch=batch,
        ids=tuple(found.new),
        first=first,
        unchanged=found.unchanged,
        empty=found.empty,
        unknown=tuple(f"{one.where}: {one.id}" for one in found.unknown),
        refused=tuple(found.refused),
        notes=tuple(notes),
    )


def _give_sides(ws: Workspace, mute: Collection[Clip]) -> list[str]:
    """Clips that were imported without a text have a side for this day; older imports gave them none."""
    ids = {clip.id for clip in mute}
    if all(_sides_of(ws, ids).values()):
        return []
    every = read_clips(ws)
    before = read_sides(ws)
    if not any(before.get(clip.id) for clip in every if not clip.text.strip()):
        try:
            with writing(ws):
                every = read_clips(ws)
                before = choose_sides(ws, every)
                Corpus.save_splits(ws, every, before)
        except WorkspaceError as busy:
            return [f"clips with their first text have no side yet ({busy})"]
    between = sum(before.get(id) is None for id in ids)
    clips = "1 clip lies" if between == 1 else f"{between} clips lie"
    return [f"{clips} between the train side and another and will not train, whatever the text"] if between else []


def _sides_of(ws: Workspace, ids: Collection[str]) -> dict[str, str | None]:
    if len(ids) > FEW:
        sides = read_sides(ws)
        return {id: sides.get(id) for id in ids}
    path = ws.corpus / "splits.jsonl"
    lines = ((0, line) for line in lines_with(path, ids))
    found = {row["id"]: row["split"] for row in load_rows(lines, path, SIDE)}
    return {id: found.get(id) for id in ids}


def _no_valid(ws: Workspace) -> list[str]:
    """A sentence where no clip validates though some could."""
    corpus = Corpus.open(ws)
    if any(corpus.split(clip) == "valid" for clip in corpus):
        return []
    written = {clip.id for clip in corpus if clip.text.strip()}
    anew = choose_sides(ws, [corpus.as_imported(clip) for clip in corpus], written=written)
    could = any(anew[id] == "valid" for id in written)
    return [f"{NO_VALID}: 'olu split {ws.root}' chooses the sides anew"] if could else []


def undo_corrections(ws: Workspace, *, clip: str | None = None, by: str | None = None) -> UndoSummary:
    """Take the last batch back (`by`: the last of this person), or all corrections of one clip."""
    known = {one.id for one in corrections.load(ws, ids=[clip])} if clip is not None else set()
    if clip is not None and clip not in known:
        check_known(ws, [clip])
    gone = corrections.take_back(ws, who=corrections.who_is(by), id=clip, by=by)
    ids = tuple(dict.fromkeys(one.id for one in gone))
    return UndoSummary(
        ids=ids, by=tuple(sorted({one.by for one in gone})), at=max((one.at for one in gone), default="")
    )


def read_file(path: Path) -> bytes:
    """What a file holds, or one sentence why not."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise CorpusError(f"{path} is not there: check the path") from None
    except IsADirectoryError:
        raise CorpusError(f"{path} is a folder: name the file with the texts") from None

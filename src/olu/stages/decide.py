"""Record what a person decided of single clips."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from olu.core.config import did_you_mean
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace
from olu.core.told import Remedy
from olu.core.words import many
from olu.core.workspace_lock import appending
from olu.corpus.corrections import new_batch, now, who_is
from olu.corpus.decisions import Decision, of_clips, record, take_back
from olu.corpus.sources import clips_named, read_clips
from olu.stages.verbs.corpus import DecideOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideSummary:
    decision: str
    ids: tuple[str, ...]  # those it was recorded for, or taken back from
    already: int  # stood so before
    notes: tuple[str, ...] = ()
    batch: str = ""  # what was decided at once

    def row(self, options: DecideOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), "undone": options.undo, **asdict(self)}

    def sentences(self, options: DecideOptions) -> Iterator[str]:
        clips = many(len(self.ids), "clip")
        if options.undo:
            yield f"Taken back for {clips}{f'; {self.already} had none' if self.already else ''}."
        else:
            what = "left out" if self.decision == "drop" else "taken as they are"
            yield f"{clips} {what}{f'; {self.already} stood so already' if self.already else ''}."
        for note in self.notes:
            yield f"Note: {note}."
        yield f"Next: {Remedy('status', (options.ws,))}"


def run_drop(options: DecideOptions) -> DecideSummary:
    """`olu drop`"""
    return _run("drop", options)


def run_keep(options: DecideOptions) -> DecideSummary:
    """`olu keep`"""
    return _run("keep", options)


def _run(decision: Literal["drop", "keep"], options: DecideOptions) -> DecideSummary:
    if options.undo and options.reason:
        raise ConfigError("--reason has no effect with --undo: leave it out")
    if not options.ids and options.listed is None:
        raise ConfigError(f"no clip named: give ids, --from FILE, or - for stdin: see 'olu {decision} --help'")
    ws = Workspace.open(options.ws)
    wanted = [one for id in options.ids for one in (_cleaned(sys.stdin.read()) if id == "-" else [id])]
    wanted += _listed(options.listed) if options.listed else []
    if options.undo:
        return undo(ws, wanted, decision=decision)
    return decide(ws, wanted, decision=decision, reason=options.reason)


def _listed(path: Path) -> list[str]:
    try:
        return _cleaned(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"--from {path} is not there: check the path") from None
    except UnicodeDecodeError:
        raise ConfigError(f"--from {path} is not UTF-8 text: give a file with one id a line") from None


def _cleaned(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def decide(
    ws: Workspace,
    ids: Iterable[str],
    *,
    decision: Literal["drop", "keep"],
    reason: str = "",
    by: str | None = None,
    known: bool = False,
) -> DecideSummary:
    """All of them or none: one unknown id, and nothing is recorded. It waits for no command that is at work.

    `by`: who decides; else who is logged in. `known`: the ids come from the manifest, and are not looked up again.
    """
    wanted = tuple(dict.fromkeys(ids))
    if not known:
        check_known(ws, wanted)
    who, at, batch = _who(by), now(), new_batch()
    with appending(ws):
        before = {one.id: (one.decision, one.reason) for one in of_clips(ws, set(wanted)) if one.by == "person"}
        fresh = [id for id in wanted if before.get(id) != (decision, reason)]
        first = Decision(id="", decision=decision, by="person", reason=reason, who=who, at=at, batch=batch)
        notes = record(ws, [replace(first, id=id) for id in fresh])
    return DecideSummary(
        decision=decision,
        ids=tuple(fresh),
        already=len(wanted) - len(fresh),
        notes=tuple(notes),
        batch=batch if fresh else "",
    )


def _who(by: str | None) -> str:
    """The name given, or that of the user; nothing where the machine has none."""
    try:
        return who_is(by)
    except ConfigError:
        if by is not None:
            raise
        return ""


def undo(ws: Workspace, ids: Iterable[str], *, decision: Literal["drop", "keep"]) -> DecideSummary:
    """Take a person's decision of this kind back; what the audit or its fix says then holds again."""
    wanted = tuple(dict.fromkeys(ids))
    with appending(ws):
        on_record = {one.id: one for one in of_clips(ws, set(wanted)) if one.by == "person"}
        check_known(ws, [id for id in wanted if id not in on_record])
        held = [id for id in wanted if id in on_record and on_record[id].decision == decision]
        take_back(ws, by="person", ids=set(held))
    return DecideSummary(decision=decision, ids=tuple(held), already=len(wanted) - len(held))


def check_known(ws: Workspace, ids: Iterable[str]) -> None:
    """An error that names the first of them that is no clip, and what it may have meant."""
    wanted = list(ids)
    if len(clips_named(ws, wanted)) == len(set(wanted)):
        return
    known = {clip.id for clip in read_clips(ws)}
    if unknown := [id for id in wanted if id not in known]:
        more = f" (and {len(unknown) - 1} more ids)" if len(unknown) > 1 else ""
        raise CorpusError(f"no clip {unknown[0]!r}{more}, so nothing was recorded{hint(unknown[0], known)}")


def hint(id: str, known: set[str]) -> str:
    begun = sorted(one for one in known if one.startswith(id))[:1]
    found = did_you_mean(id, begun or known) or (did_you_mean(begun[0], begun) if begun else "")
    return found or "; 'olu clips WS --ids' lists them all"

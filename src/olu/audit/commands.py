"""The exact command lines that mend what an audit found, ready to paste."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from olu.audit.check import Finding
from olu.core.words import many

MOST_NAMED = 5  # clips in one command: more are chosen with --where

Command = tuple[str, str]  # what to type, and what it does


def for_all(place: str, *, broken: int, trimmed: bool, long: int = 0) -> list[Command]:
    """What a person may want next for the corpus as a whole; `long` clips are cut before a fix leaves them out."""
    ws = shlex.quote(place)
    found: list[Command] = []
    if long:
        found.append((f"olu read {ws} && olu align {ws}", "finds every word, so that long clips can be cut"))
        found.append(
            (
                f"olu cut {ws}",
                f"cuts {many(long, 'long clip')} at pauses: before a fix, which leaves out what is too long",
            )
        )
        found.append((f"olu read {ws} && olu audit {ws}", "reads and audits the new clips"))
    if broken or trimmed:
        found.append((f"olu audit {ws} --fix --dry-run", "shows what a fix would decide, and writes nothing"))
        found.append((f"olu audit {ws} --fix", "decides it: leaves out errors, trims silent ends; no sound is changed"))
        found.append((f"olu audit {ws} --undo", "takes those decisions back"))
    if broken:
        where = shlex.quote('worst == "error"')
        found.append((f"olu clips {ws} --where {where}", "lists every clip with an error"))
    found.append((f"olu read {ws}", "the next step"))
    return found


def for_check(place: str, name: str, found: Sequence[Finding]) -> list[Command]:
    """To see all clips of a check, and to decide on the worst by hand."""
    ws, where = shlex.quote(place), shlex.quote(f'"{name}" in marks')
    commands = [(f"olu clips {ws} --where {where}", "lists them all")]
    if name == "overlap":
        commands.append((f"olu split {ws}", "splits again, the same words on one side"))
    worst = " ".join(shlex.quote(one.id) for one in found[:MOST_NAMED])
    if found[0].mark.severity == "error":
        commands.append((f"olu keep {ws} {worst}", "takes these after all, if they sound right to you"))
    else:
        commands.append((f"olu drop {ws} {worst}", "leaves these out, if they sound wrong to you"))
    return commands

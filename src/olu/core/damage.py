"""Files of a workspace that are cut or hold something else than they should: what is wrong, and what mends it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from olu.core.errors import WorkspaceError

Shape = Mapping[str, type | tuple[type, ...]]  # the keys that must be there, and what they hold

# What to do about a damaged file of a workspace, where running the stage again is not enough; {ws} is its folder.
_IMPORT = "run 'olu import {ws} SOURCE' again, with its options: it keeps what can be read and the damaged file aside"
REMEDIES = {
    "corpus/clips.jsonl": _IMPORT,
    "corpus/files.jsonl": _IMPORT,
    "corpus/sources.json": _IMPORT,
    "corpus/decisions.jsonl": "mend that line, or delete it alone and decide of its clip again",
    "corpus/texts.jsonl": "mend that line, or delete it alone and correct its clip again",
    "corpus/splits.jsonl": "run 'olu split {ws}': it makes it anew",
    "corpus/split.json": "delete it and run 'olu split {ws}' with your shares",
    "corpus/hashes.jsonl": "delete it: the recordings are looked at again",
    "corpus/problems.jsonl": "delete it; the next import lists its problems anew",
    "corpus/doubts.jsonl": "delete it, and import recordings with subtitles again: what is doubtful is said anew",
    "corpus/timings.jsonl": "mend that line, or delete it and import its recording again with --shift and the like",
    "corpus/duplicates.jsonl": "delete it; it is only a list of what merges left out",
    "corpus/cuts.jsonl": "mend it, or delete it: the pieces it names then stay beside the others",
    "corpus/rights.json": "mend it, or delete it and import again with --licence and the like",
    "audit/audit.jsonl": "run 'olu audit {ws} --force'",
    "audit/facts.jsonl": "run 'olu audit {ws} --force'",
    "readings/readings.jsonl": "delete it and run 'olu read {ws}' again",
    "readings/vocabulary.json": "delete it and run 'olu read {ws}' again",
    "readings/frontend.json": "delete it and run 'olu read {ws}' again",
    "alignment/alignment.jsonl": "delete it and run 'olu align {ws} --force'",
    "alignment/match.jsonl": "delete it and run 'olu align {ws} --force'",
}


def misfit(value: Any, shape: Shape) -> str:
    """In what a value is not an object with these keys; nothing when it is."""
    if not isinstance(value, dict):
        return "it holds something else"
    for key, kinds in shape.items():
        if key not in value:
            return f"no {key!r}"
        if not isinstance(value[key], kinds):
            return f"{key!r} is {value[key]!r:.40}"
    return ""


def damaged(path: Path, why: str, *, line: int | None = None, remedy: str = "") -> WorkspaceError:
    """Which file, where, and what mends it."""
    where = f"{path} line {line}" if line else str(path)
    known = REMEDIES.get(f"{path.parent.name}/{path.name}", "delete it and run its stage again")
    return WorkspaceError(f"{where} is damaged ({why}): {remedy or known.format(ws=path.parent.parent)}")

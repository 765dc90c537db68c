"""The part of olu audit that decides: --fix, --dry-run, --undo."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.cli.show import length, print_json, quoted, say, table

if TYPE_CHECKING:
    from olu.audit.fix import Effect
    from olu.stages.fix import FixSummary

WORDS = {
    "drop": "left out",
    "trim": "silent ends cut off",
    "cap": "over-long, cut to its speech",
    "keep": "taken as is",
}


def check_dry(*, fix: bool, dry: bool) -> None:
    from olu.errors import ConfigError

    if dry and not fix:
        raise ConfigError("--dry-run shows what --fix would decide: add --fix")


def take_back(ws: Path, *, alone: bool, as_json: bool) -> None:
    from olu.errors import ConfigError
    from olu.files import Workspace
    from olu.stages.fix import undo_fix

    if not alone:
        raise ConfigError("--undo only takes decisions back: give no other option but --json with it")
    number, now = undo_fix(Workspace.open(ws))
    if as_json:
        print_json({"undone": number, "effect": effect_row(now)})
        return
    say(f"{number} decisions taken back; a person's decisions stay." if number else "There was nothing to take back.")
    say(f"Decisions now leave {now.clips_after} of {now.clips_before} clips, {length(now.seconds_after)}.")
    say(f"Next: olu status {quoted(ws)}")


def show_fix(done: FixSummary, ws: Path) -> None:
    now = done.effect
    rows = [[WORDS[kind], check, str(clips), f"{seconds / 60:.1f}"] for kind, check, clips, seconds in now.kinds]
    if rows:
        table("", ["decision", "because of", "clips", "minutes less"], rows)
    else:
        say("Nothing needs fixing.")
    say(
        f"Before: {now.clips_before} clips, {length(now.seconds_before)}. "
        f"After: {now.clips_after} clips, {length(now.seconds_after)}."
    )
    if done.overruled:
        say(f"{done.overruled} clips stay as a person decided.")
    if done.written:
        say(f"Recorded in {ws / 'corpus' / 'decisions.jsonl'}; back again: olu audit {quoted(ws)} --undo")
    elif done.changed:
        say("Nothing was written (--dry-run).")


def show_decided(ws: Path) -> None:
    """A line on decisions, where there are some or could be."""
    from olu.files import Workspace
    from olu.stages.fix import decided

    found = decided(Workspace.open(ws))
    if found.kinds:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(found.kinds.items()))
        say(f"Decisions ({kinds}) and the audit together leave {length(found.seconds_left)} to train on.")
    if found.unfixed:
        say(f"'olu audit {quoted(ws)} --fix' would decide on {found.unfixed} clips; --dry-run shows how.")


def decided_row(ws: Path) -> dict[str, Any]:
    from olu.files import Workspace
    from olu.stages.fix import decided

    return asdict(decided(Workspace.open(ws)))


def fix_row(done: FixSummary) -> dict[str, Any]:
    return {
        "decisions": [asdict(one) for one in done.decisions],
        "effect": effect_row(done.effect),
        "overruled": done.overruled,
        "written": done.written,
    }


def effect_row(found: Effect) -> dict[str, Any]:
    names = ("decision", "check", "clips", "seconds")
    return {**asdict(found), "kinds": [dict(zip(names, kind, strict=True)) for kind in found.kinds]}

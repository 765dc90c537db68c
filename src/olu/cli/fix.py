"""The part of olu audit that decides: --fix, --dry-run, --undo."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.cli.show import length, many, print_json, quoted, say, table

if TYPE_CHECKING:
    from olu.audit.fix import Effect
    from olu.audit.summary import AuditSummary
    from olu.stages.fix import FixSummary

WORDS = {
    "drop": "left out",
    "trim": "silent ends cut off",
    "cap": "over-long, cut to its speech",
    "keep": "taken as is",
}


def check_dry(*, fix: bool, dry: bool) -> None:
    from olu.core.errors import ConfigError

    if dry and not fix:
        raise ConfigError("--dry-run shows what --fix would decide: add --fix")


def take_back(ws: Path, *, alone: bool, as_json: bool) -> None:
    from olu.core.errors import ConfigError
    from olu.core.files import Workspace
    from olu.stages.fix import undo_fix

    if not alone:
        raise ConfigError("--undo only takes decisions back: give no other option but --json with it")
    number, now = undo_fix(Workspace.open(ws))
    if as_json:
        print_json({"undone": number, "effect": effect_row(now)})
        return
    back = f"{many(number, 'decision')} taken back; a person's decisions stay."
    say(back if number else "There was nothing to take back.")
    say(f"Decisions now leave {now.clips_after} of {many(now.clips_before, 'clip')}, {length(now.seconds_after)}.")
    say(f"Next: olu status {quoted(ws)}")


def show_fix(done: FixSummary, ws: Path) -> None:
    now = done.effect
    for sentence in done.other:
        say(f"No decision is made on what changed: {sentence}")
    rows = [[WORDS[kind], check, str(clips), f"{seconds / 60:.1f}"] for kind, check, clips, seconds in now.kinds]
    if rows:
        table("", ["decision", "because of", "clips", "minutes less"], rows)
    elif done.other:
        say("Nothing else needs fixing.")
    else:
        say("Nothing needs fixing.")
    say(
        f"Before: {many(now.clips_before, 'clip')}, {length(now.seconds_before)}. "
        f"After: {many(now.clips_after, 'clip')}, {length(now.seconds_after)}."
    )
    if done.overruled:
        stay = "stays" if done.overruled == 1 else "stay"
        say(f"{many(done.overruled, 'clip')} {stay} as a person decided.")
    if done.lost:
        _show_lost(done, ws)
    if done.written:
        say(f"Recorded in {ws / 'corpus' / 'decisions.jsonl'}; back again: olu audit {quoted(ws)} --undo")
    elif done.changed:
        say("Nothing was written (--dry-run).")


def _show_lost(done: FixSummary, ws: Path) -> None:
    what = "is left out only because it is" if done.lost == 1 else "are left out only because they are"
    say(f"{many(done.lost, 'clip')} ({done.lost_seconds / 60:.1f} minutes) {what} too long: olu cut could save such.")
    say(_cut_instead(ws, undo=done.written or not done.changed))


def _cut_instead(ws: Path, *, undo: bool) -> str:
    """The commands in their order, ready to paste."""
    steps = [f"olu {verb} {quoted(ws)}" for verb in ("read", "align", "cut", "read", "audit")]
    if undo:
        return f"To cut instead: {' && '.join([f'olu audit {quoted(ws)} --undo', *steps])} --fix"
    return f"Cut before you fix: {' && '.join(steps)} --fix"


def show_to_cut(summary: AuditSummary, ws: Path) -> None:
    """How to save clips that are too long, where nothing has been cut yet."""
    from olu.core.files import Workspace
    from olu.stages.fix import decided

    if summary.long and not summary.aside:
        say(_cut_instead(ws, undo=decided(Workspace.open(ws)).lost > 0))


def show_decided(ws: Path) -> None:
    """A line on decisions, where there are some or could be."""
    from olu.core.files import Workspace
    from olu.stages.fix import decided

    found = decided(Workspace.open(ws))
    if found.kinds:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(found.kinds.items()))
        say(f"Decisions ({kinds}) and the audit together leave {length(found.seconds_left)} to train on.")
    if found.unfixed:
        say(f"'olu audit {quoted(ws)} --fix' would decide on {many(found.unfixed, 'clip')}; --dry-run shows how.")


def decided_row(ws: Path) -> dict[str, Any]:
    from olu.core.files import Workspace
    from olu.stages.fix import decided

    return asdict(decided(Workspace.open(ws)))


def fix_row(done: FixSummary) -> dict[str, Any]:
    return {
        "decisions": [asdict(one) for one in done.decisions],
        "effect": effect_row(done.effect),
        "overruled": done.overruled,
        "lost": done.lost,
        "lost_seconds": done.lost_seconds,
        "other": list(done.other),
        "written": done.written,
    }


def effect_row(found: Effect) -> dict[str, Any]:
    names = ("decision", "check", "clips", "seconds")
    return {**asdict(found), "kinds": [dict(zip(names, kind, strict=True)) for kind in found.kinds]}

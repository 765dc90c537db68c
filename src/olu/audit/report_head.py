"""The top of the report: what the corpus comes to, in a few sentences, numbers and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from olu.audit import commands
from olu.audit.check import Finding, MeasuredClip
from olu.audit.checks import CHECKS
from olu.audit.summary import AuditSummary
from olu.core.words import many


def head(
    summary: AuditSummary, heard: Sequence[MeasuredClip], findings: Mapping[str, Sequence[Finding]], *, place: str
) -> str:
    broken = {f.id for found in findings.values() for f in found if f.mark.severity == "error"}
    marked = {f.id for found in findings.values() for f in found if f.mark.severity == "warn"} - broken
    cards = [
        (f"{summary.clips:,}", "clip" if summary.clips == 1 else "clips"),
        (f"{summary.speakers:,}", "speaker" if summary.speakers == 1 else "speakers"),
        (f"{(out := summary.clips - summary.clips_left):,}", "clip left out" if out == 1 else "clips left out"),
        (f"{len(marked):,}", "clip worth a look" if len(marked) == 1 else "clips worth a look"),
    ]
    shown = "".join(f'<div class="card"><b>{escape(value)}</b><span>{label}</span></div>' for value, label in cards)
    languages = ", ".join(sorted({one.clip.language for one in heard}))
    notes = "".join(f"<li>{escape(note)}</li>" for note in summary.notes)
    trimmed = summary.seconds_fixed < summary.seconds_left
    start = f"<p>{escape(summary.start)}</p>" if summary.start else ""
    long = 0 if summary.aside else summary.long  # what a cut has left long, another one would too
    return (
        f'<p class="soft">What Olu found in the recordings. Language: {escape(languages)}</p>'
        f'<p class="lead">{escape(_verdict(summary, findings, broken=len(broken), look=len(marked)))}</p>'
        f'<p class="lead">{escape(summary.verdict)}</p>{start}'
        f'<div class="cards">{shown}</div>{_hours(summary)}'
        f"<h2>Worth knowing</h2><ul>{notes}<li>{escape(summary.wanted)}</li><li>{escape(summary.memory)}</li></ul>"
        "<h2>What to do now</h2>"
        '<p class="soft">Nothing has been deleted or changed. Paste a line into a terminal.</p>'
        f"{command_lines(commands.for_all(place, broken=len(broken), trimmed=trimmed, long=long))}"
    )


def _verdict(summary: AuditSummary, findings: Mapping[str, Sequence[Finding]], *, broken: int, look: int) -> str:
    out = summary.clips - summary.clips_left
    remain = "remains" if summary.clips_left == 1 else "remain"
    if out:
        said = (
            f"{clips(out)} of {summary.clips:,} would be left out of training: {_why_out(summary, out)}. "
            f"{clips(summary.clips_left)} {remain}, {length(summary.seconds_left)} of {length(summary.seconds)}."
        )
    else:
        said = f"No clip has to be left out: all {length(summary.seconds)} can be used."
    if look:
        most = max(CHECKS, key=lambda one: sum(f.mark.severity == "warn" for f in findings.get(one.name, ())))
        said += f" {clips(look)} could be better but can stay; the commonest reason is {most.title.lower()}."
    return said


def _why_out(summary: AuditSummary, out: int) -> str:
    """Errors first; a clip without a text that has one too is counted with these."""
    rest = out - summary.clips_out_by_error
    why = [f"{summary.clips_out_by_error:,} for an error"] if summary.clips_out_by_error else []
    why += [f"{rest:,} without a text or dropped by a person"] if rest else []
    return ", ".join(why)


def _hours(summary: AuditSummary) -> str:
    """Three bars: everything, without errors, after a fix."""
    rows = [
        ("recorded", summary.seconds, summary.clips),
        ("with a text and without errors", summary.seconds_left, summary.clips_left),
        ("after a fix: errors out, ends trimmed", summary.seconds_fixed, summary.clips_fixed),
    ]
    most = max(summary.seconds, 1e-9)
    bars = "".join(
        f'<div class="hours"><span class="what">{label}</span>'
        f'<span class="track"><span style="width:{100 * seconds / most:.1f}%"></span></span>'
        f'<span class="n">{length(seconds)} · {clips(number)}</span></div>'
        for label, seconds, number in rows
    )
    return f'<div class="before-after">{bars}</div>'


def command_lines(lines: Sequence[commands.Command]) -> str:
    rows = "".join(
        f'<div class="command"><code>{escape(typed)}</code><button type="button">Copy</button>'
        f'<span class="soft">{escape(does)}</span></div>'
        for typed, does in lines
    )
    return f'<div class="commands">{rows}</div>'


def clips(count: int) -> str:
    return many(count, "clip")


def length(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.2f} hours"
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.1f} seconds"

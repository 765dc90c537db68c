"""The audit as one page a person can read, hear and pass on: no file beside it, no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

from olu.audit.check import SEVERITIES, Check, Finding, MeasuredClip
from olu.audit.checks import CHECKS
from olu.audit.checks.timing import letters_per_second
from olu.audit.commands import for_check
from olu.audit.picture import HEIGHT, WIDTH
from olu.audit.player import LONGEST_SECONDS, PlayerClip
from olu.audit.report_head import clips as count_clips
from olu.audit.report_head import command_lines, head
from olu.audit.style import SCRIPT, STYLE
from olu.audit.summary import AuditSummary
from olu.audit.thresholds import Thresholds
from olu.core.types import Clip
from olu.pages.histogram import histogram

WORST_PER_CHECK = 5
PAGE_BYTES = 8_000_000
WORDS = {"error": "left out", "warn": "worth a look", "info": "noted"}

# The page itself forbids loading anything, so a transcript that slipped through could not either.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; media-src data:; img-src data:"


def render(
    title: str,
    *,
    place: str,
    heard: Sequence[MeasuredClip],
    findings: Mapping[str, Sequence[Finding]],
    summary: AuditSummary,
    thresholds: Thresholds,
    play: Callable[[Clip], PlayerClip | None],
) -> str:
    """`place` is the workspace; `findings` are those of each check, worst first; `play` gives a clip to hear."""
    clips = {one.clip.id: one for one in heard}
    sounds = _sounds(clips, findings, play)
    found = [check for check in CHECKS if findings.get(check.name)]
    sections = [_section(check, findings[check.name], clips, sounds, place=place) for check in found]
    listen = f"<h2>Listen to the worst</h2>{''.join(sections)}" if found else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}: audit</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>"
        f"<h1><bdi>{escape(title)}</bdi></h1>{head(summary, heard, findings, place=place)}"
        "<h2>What was checked</h2>"
        '<p class="soft">An error leaves a clip out of training; a warning is worth a look.</p>'
        f"{_table(findings, thresholds)}"
        f"<h2>The corpus in two pictures</h2>{_charts(heard, thresholds)}"
        f"<h2>{summary.units.capitalize()}</h2>{_letters(summary, thresholds)}"
        f"{listen}</main><script>{SCRIPT}</script></body></html>\n"
    )


def _table(findings: Mapping[str, Sequence[Finding]], thresholds: Thresholds) -> str:
    heads = "".join(f'<th class="n">{WORDS[severity].capitalize()}</th>' for severity in SEVERITIES)
    rows, fine = list[str](), list[str]()
    unasked, unaligned = list[str](), list[str]()
    for check in CHECKS:
        if check.name not in findings:
            (unaligned if check.aligned else unasked).append(check.title.lower())
            continue
        found = findings[check.name]
        name = escape(check.title)
        if not found:
            fine.append(f"<li><b>{name}</b> {escape(check.rule(thresholds))}</li>")
            continue
        link = f'<a href="#{check.name}">{name}</a>'
        cells = ""
        for severity in SEVERITIES:
            count = sum(f.mark.severity == severity for f in found)
            style = severity if count else "zero"
            cells += f'<td class="n {style}" data-label="{WORDS[severity]}">{count:,}</td>'
        rows.append(
            f'<tr><th scope="row">{link}</th><td class="rule">{escape(check.rule(thresholds))}</td>{cells}</tr>'
        )
    more = f'<p class="soft">Not looked at without --deep: {escape(", ".join(unasked))}.</p>' if unasked else ""
    more += f'<p class="soft">Not looked at before olu align: {escape(", ".join(unaligned))}.</p>' if unaligned else ""
    table = (
        f'<div class="scroll"><table class="checks"><thead><tr><th>Check</th><th>What it looks for</th>{heads}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
    good = (
        f'<details><summary><span class="tag good">{len(fine)} checks found nothing</span></summary>'
        f"<ul>{''.join(fine)}</ul></details>"
    )
    return (table if rows else "") + (good if fine else "") + more


def _charts(heard: Sequence[MeasuredClip], t: Thresholds) -> str:
    lengths = [one.facts.seconds if one.facts else one.clip.seconds for one in heard]
    rates = [rate for one in heard if (rate := letters_per_second(one)) is not None]
    limits = (
        (t.duration_error_under, "error"),
        (t.duration_warn_under, "warn"),
        (t.duration_warn_over, "warn"),
        (t.duration_error_over, "error"),
    )
    return (
        '<div class="charts"><figure><figcaption>How long the clips are</figcaption>'
        f"{histogram(lengths, unit='seconds', limits=limits)}"
        '<p class="soft">Dashed lines: where warnings and errors begin. '
        "The last bar also counts what lies beyond it.</p></figure>"
        "<figure><figcaption>How fast they are spoken</figcaption>"
        f"{histogram(rates, unit='letters per second')}"
        '<p class="soft">One speaker makes one hill; a clip far from it rarely fits its text.</p></figure></div>'
    )


def _letters(summary: AuditSummary, t: Thresholds) -> str:
    """Every letter or phone and its count; those that occur too rarely stand out."""
    rare = set(summary.rare)
    cells = "".join(
        f'<span class="letter{" warn" if unit in rare else ""}"><b><bdi>{escape(unit)}</bdi></b> {count:,}</span>'
        for unit, count in summary.letters.items()
    )
    return (
        f'<p class="soft">How often each of the {len(summary.letters):,} {summary.units} occurs in the usable clips; '
        f"marked: fewer than {t.coverage_few} times.</p>"
        f'<div class="letters">{cells or "No usable text."}</div>'
    )


def _section(
    check: Check,
    found: Sequence[Finding],
    clips: Mapping[str, MeasuredClip],
    sounds: Mapping[tuple[str, str], PlayerClip],
    *,
    place: str,
) -> str:
    tags = "".join(
        f'<span class="tag {severity}">{count:,} {WORDS[severity]}</span>'
        for severity in SEVERITIES
        if (count := sum(f.mark.severity == severity for f in found))
    )
    shown = found[:WORST_PER_CHECK]
    rest = len(found) - len(shown)
    more = f'<p class="soft">And {count_clips(rest)} more, listed in audit.jsonl.</p>' if rest else ""
    items = "".join(_item(f, clips[f.id], sounds.get((check.name, f.id))) for f in shown)
    return (
        f'<section class="check" id="{check.name}"><h3>{escape(check.title)} {tags}</h3>'
        f"<p>{escape(check.reason)}</p><p><b>What to do:</b> {escape(check.fix)}</p>"
        f'<ol class="clips">{items}</ol>{more}{command_lines(for_check(place, check.name, found))}</section>'
    )


def _item(finding: Finding, heard: MeasuredClip, shown: PlayerClip | None) -> str:
    clip, mark = heard.clip, finding.mark
    if heard.facts is None:
        player = "This clip cannot be played."
    elif shown is None:
        player = f"Not embedded to keep this page small: {escape(clip.audio)}"
    else:
        player = (
            f'<img src="{shown.picture}" alt="Spectrogram" width="{WIDTH}" height="{HEIGHT}">'
            f'<audio controls preload="metadata" src="{shown.sound}"></audio>'
        )
        if clip.seconds > LONGEST_SECONDS:
            player += f"The first {LONGEST_SECONDS:g} of {clip.seconds:.1f} s."
    speaker = f" · {escape(clip.speaker)}" if clip.speaker != "default" else ""
    text = escape(clip.text.strip()) or '<span class="none">(no text)</span>'
    return (
        f'<li><div><span class="tag {mark.severity}">{WORDS[mark.severity]}</span> '
        f'<span class="what">{escape(mark.message)}</span>'
        f'<div class="clip">{escape(clip.id)}{speaker}</div>'
        f'<div class="said" dir="auto" lang="{escape(clip.language)}">{text}</div></div>'
        f'<div class="sound">{player}</div></li>'
    )


def _sounds(
    clips: Mapping[str, MeasuredClip],
    findings: Mapping[str, Sequence[Finding]],
    play: Callable[[Clip], PlayerClip | None],
) -> dict[tuple[str, str], PlayerClip]:
    """Players by check and clip: the worst of every check first, until the page is full."""
    sounds: dict[tuple[str, str], PlayerClip] = {}
    packed: dict[str, PlayerClip | None] = {}
    room = PAGE_BYTES * 9 // 10  # the rest is for the words around them
    for place in range(WORST_PER_CHECK):
        for name, found in findings.items():
            if place >= len(found) or clips[found[place].id].facts is None:
                continue
            id = found[place].id
            if id not in packed:
                packed[id] = play(clips[id].clip)
            sound = packed[id]
            if sound is not None and sound.size <= room:
                sounds[name, id] = sound
                room -= sound.size
    return sounds

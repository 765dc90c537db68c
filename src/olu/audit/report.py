"""The audit as one page a person can read, hear and pass on: no file beside it, no network."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import soundfile

from olu.audio import io
from olu.audit.check import Check, Finding, MeasuredClip
from olu.audit.checks import CHECKS
from olu.audit.checks.timing import letters_per_second
from olu.audit.summary import AuditSummary
from olu.audit.thresholds import Thresholds
from olu.core.errors import AudioError, CorpusError
from olu.core.types import Clip, Mark
from olu.core.words import many
from olu.corpus.manifest import Corpus
from olu.pages import media
from olu.pages.charts import histogram
from olu.pages.render import render as render_page

WORST_PER_CHECK = 5
PAGE_BYTES = 8_000_000
WORDS = {"error": "left out", "warn": "worth a look", "info": "noted"}
MOST_NAMED = 5  # clips in one command: more are chosen with --where

RATE = 16000
LONGEST_SECONDS = 15.0
MOST_BYTES = 70_000  # of a file that is embedded as it is
COMPRESSION = 0.7  # about 37 kbit/s: speech stays clear

Command = tuple[str, str]  # what to type, and what it does


@dataclass(frozen=True, slots=True)
class PlayerClip:
    """A clip to hear and to see, as data: URIs."""

    sound: str
    picture: str

    @property
    def size(self) -> int:
        return len(self.sound) + len(self.picture)


@dataclass(frozen=True)
class ShownClip:
    """One of the worst clips of a check."""

    mark: Mark
    clip: Clip
    readable: bool
    shown: PlayerClip | None


@dataclass(frozen=True)
class CheckSection:
    """What one check found."""

    check: Check
    counts: Counter[str]  # by severity
    shown: list[ShownClip]
    rest: int  # clips that are not shown
    commands: list[Command]


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
    t = thresholds
    clips = {one.clip.id: one for one in heard}
    sounds = _sounds(clips, findings, play)
    broken, marked = (
        {f.id for found in findings.values() for f in found if f.mark.severity == severity}
        for severity in ("error", "warn")
    )
    looked = [check for check in CHECKS if check.name in findings]
    absent = [check for check in CHECKS if check.name not in findings]
    limits = [(t.duration_error_under, "error"), (t.duration_warn_under, "warn")]
    limits += [(t.duration_warn_over, "warn"), (t.duration_error_over, "error")]
    lengths = [one.facts.seconds if one.facts else one.clip.seconds for one in heard]
    rates = [rate for one in heard if (rate := letters_per_second(one)) is not None]
    return render_page(
        "audit.html",
        title=title,
        words=WORDS,
        longest=LONGEST_SECONDS,
        length=length,
        thresholds=t,
        summary=summary,
        languages=", ".join(sorted({one.clip.language for one in heard})),
        lead=_lead(summary, findings, look=len(marked - broken)),
        cards=_cards(summary, look=len(marked - broken)),
        hours=[
            ("recorded", summary.seconds, summary.clips),
            ("with a text and without errors", summary.seconds_left, summary.clips_left),
            ("after a fix: errors out, ends trimmed", summary.seconds_fixed, summary.clips_fixed),
        ],
        commands=list(_commands(place, summary, broken=bool(broken))),
        found=[
            _section(check, findings[check.name], clips, sounds, place=place)
            for check in looked
            if findings[check.name]
        ],
        fine=[check for check in looked if not findings[check.name]],
        unasked=[check.title.lower() for check in absent if not check.aligned],
        unaligned=[check.title.lower() for check in absent if check.aligned],
        lengths=histogram(lengths, unit="seconds", limits=limits),
        rates=histogram(rates, unit="letters per second"),
    )


def exhibit(corpus: Corpus, clip: Clip) -> PlayerClip | None:
    """The first seconds of a clip as Ogg (Vorbis: Opus packs ten times slower), or None when it cannot be heard."""
    try:
        path = corpus.locate(clip)
        audio = io.resample(io.read(path, start=clip.start, seconds=min(clip.seconds, LONGEST_SECONDS)), RATE)
        small = _is_small(path, clip)
        sound = path.read_bytes() if small else media.packed(audio, "OGG", "VORBIS", compression_level=COMPRESSION)
    except (AudioError, CorpusError, OSError, soundfile.SoundFileError):
        return None
    return PlayerClip(media.data_uri(sound, "audio/ogg"), media.spectrogram(audio))


def _is_small(path: Path, clip: Clip) -> bool:
    """Whether the file itself can be embedded: packing again would cost time and gain nothing."""
    if path.suffix.lower() not in (".ogg", ".opus") or path.stat().st_size > MOST_BYTES:
        return False
    return clip.start == 0 and abs(io.header(path).seconds - clip.seconds) < 0.01 and clip.seconds <= LONGEST_SECONDS


def length(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.2f} hours"
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.1f} seconds"


def _cards(summary: AuditSummary, *, look: int) -> list[tuple[str, str]]:
    out = summary.clips - summary.clips_left
    return [
        (f"{summary.clips:,}", "clip" if summary.clips == 1 else "clips"),
        (f"{summary.speakers:,}", "speaker" if summary.speakers == 1 else "speakers"),
        (f"{out:,}", "clip left out" if out == 1 else "clips left out"),
        (f"{look:,}", "clip worth a look" if look == 1 else "clips worth a look"),
    ]


def _lead(summary: AuditSummary, findings: Mapping[str, Sequence[Finding]], *, look: int) -> str:
    """How many clips can be used, and why the others cannot: errors first, with those that lack a text too."""
    out, left = summary.clips - summary.clips_left, summary.clips_left
    if out:
        rest = out - summary.clips_out_by_error
        why = [f"{summary.clips_out_by_error:,} for an error"] if summary.clips_out_by_error else []
        why += [f"{rest:,} without a text or dropped by a person"] if rest else []
        said = (
            f"{many(out, 'clip')} of {summary.clips:,} would be left out of training: {', '.join(why)}. "
            f"{many(left, 'clip')} {'remains' if left == 1 else 'remain'}, "
            f"{length(summary.seconds_left)} of {length(summary.seconds)}."
        )
    else:
        said = f"No clip has to be left out: all {length(summary.seconds)} can be used."
    if look:
        most = max(CHECKS, key=lambda one: sum(f.mark.severity == "warn" for f in findings.get(one.name, ())))
        said += f" {many(look, 'clip')} could be better but can stay; the commonest reason is {most.title.lower()}."
    return said


def _commands(place: str, summary: AuditSummary, *, broken: bool) -> Iterator[Command]:
    """What a person may want next for the corpus as a whole; long clips are cut before a fix leaves them out."""
    ws = shlex.quote(place)
    if summary.long and not summary.aside:  # what a cut has left long, another one would too
        yield f"olu read {ws} && olu align {ws}", "finds every word, so that long clips can be cut"
        cut = f"cuts {many(summary.long, 'long clip')} at pauses: before a fix, which leaves out what is too long"
        yield f"olu cut {ws}", cut
        yield f"olu read {ws} && olu audit {ws}", "reads and audits the new clips"
    if broken or summary.seconds_fixed < summary.seconds_left:
        yield f"olu audit {ws} --fix --dry-run", "shows what a fix would decide, and writes nothing"
        yield f"olu audit {ws} --fix", "decides it: leaves out errors, trims silent ends; no sound is changed"
        yield f"olu audit {ws} --undo", "takes those decisions back"
    if broken:
        where = shlex.quote('worst == "error"')
        yield f"olu clips {ws} --where {where}", "lists every clip with an error"
    yield f"olu read {ws}", "the next step"


def _section(
    check: Check,
    found: Sequence[Finding],
    clips: Mapping[str, MeasuredClip],
    sounds: Mapping[tuple[str, str], PlayerClip],
    *,
    place: str,
) -> CheckSection:
    """The worst clips of a check, and the commands to see them all or to decide on the worst by hand."""
    ws, where = shlex.quote(place), shlex.quote(f'"{check.name}" in marks')
    commands = [(f"olu clips {ws} --where {where}", "lists them all")]
    if check.name == "overlap":
        commands.append((f"olu split {ws}", "splits again, the same words on one side"))
    worst = " ".join(shlex.quote(one.id) for one in found[:MOST_NAMED])
    if found[0].mark.severity == "error":
        commands.append((f"olu keep {ws} {worst}", "takes these after all, if they sound right to you"))
    else:
        commands.append((f"olu drop {ws} {worst}", "leaves these out, if they sound wrong to you"))
    shown = [
        ShownClip(f.mark, clips[f.id].clip, clips[f.id].facts is not None, sounds.get((check.name, f.id)))
        for f in found[:WORST_PER_CHECK]
    ]
    return CheckSection(check, Counter(f.mark.severity for f in found), shown, len(found) - len(shown), commands)


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

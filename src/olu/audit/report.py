"""The audit as one page a person can read, hear and pass on: no file beside it, no network."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import soundfile

from olu.audio import io
from olu.audit.check import SEVERITIES, Check, Finding, MeasuredClip
from olu.audit.checks import CHECKS
from olu.audit.checks.timing import letters_per_second
from olu.audit.summary import AuditSummary
from olu.audit.thresholds import Thresholds
from olu.core.errors import AudioError, CorpusError
from olu.core.types import Clip, Mark
from olu.corpus.manifest import Corpus
from olu.pages import media
from olu.pages.charts import histogram
from olu.pages.render import render as render_page

WORST_PER_CHECK = 5
PAGE_BYTES = 8_000_000
MOST_NAMED = 5  # clips in one command: more are chosen with --where

RATE = 16000
LONGEST_SECONDS = 15.0
MOST_BYTES = 70_000  # of a file that is embedded as it is
COMPRESSION = 0.7  # about 37 kbit/s: speech stays clear


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
    worst: str  # ids, ready for a shell


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
    """The report as HTML. `place`: the workspace; `findings`: by check, worst first; `play` gives a clip to hear."""
    t = thresholds
    clips = {one.clip.id: one for one in heard}
    sounds = _sounds(clips, findings, play)
    marked: dict[str, set[str]] = {severity: set() for severity in SEVERITIES}
    for found in findings.values():
        for one in found:
            marked[one.mark.severity].add(one.id)
    limits = [(t.duration_error_under, "error"), (t.duration_warn_under, "warn")]
    limits += [(t.duration_warn_over, "warn"), (t.duration_error_over, "error")]
    lengths = [one.facts.seconds if one.facts else one.clip.seconds for one in heard]
    rates = [rate for one in heard if (rate := letters_per_second(one)) is not None]
    return render_page(
        "audit.html",
        title=title,
        place=place,
        longest=LONGEST_SECONDS,
        length=length,
        thresholds=t,
        summary=summary,
        languages=", ".join(sorted({one.clip.language for one in heard})),
        look=len(marked["warn"] - marked["error"]),
        checks=CHECKS,
        findings=findings,
        found=[_section(one, findings[one.name], clips, sounds) for one in CHECKS if findings.get(one.name)],
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


def _section(
    check: Check,
    found: Sequence[Finding],
    clips: Mapping[str, MeasuredClip],
    sounds: Mapping[tuple[str, str], PlayerClip],
) -> CheckSection:
    """The worst clips of a check."""
    shown = [
        ShownClip(f.mark, clips[f.id].clip, clips[f.id].facts is not None, sounds.get((check.name, f.id)))
        for f in found[:WORST_PER_CHECK]
    ]
    worst = shlex.join(one.id for one in found[:MOST_NAMED])
    return CheckSection(check, Counter(f.mark.severity for f in found), shown, len(found) - len(shown), worst)


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

"""Who speaks in a workspace: listed with minutes, pitch and likeness; renamed, joined, parted, and all taken back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from olu.audit.voices import LEAST_CLIPS, HeardVoices, Voices, read_voices, second_voice, unit
from olu.core.config import did_you_mean
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace
from olu.core.told import Remedy, TextTable, Told
from olu.core.types import Clip
from olu.core.words import first_names, length, many
from olu.corpus import speakers
from olu.corpus.corrections import new_batch, now, who_is
from olu.corpus.manifest import Corpus
from olu.corpus.speakers import Rename
from olu.stages.audit import read_thresholds
from olu.stages.decide import check_known
from olu.stages.verbs.corpus import SpeakersOptions

LONGEST_NAME = 200
SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakerFacts:
    """What is known of one speaker. Pitch and likeness only of clips that `olu audit --deep` heard."""

    name: str
    clips: int
    seconds: float  # of the clips that nobody left out
    pitch: float | None  # hertz, the median of its clips
    low: float | None  # of nine clips in ten the pitch lies between these
    high: float | None
    likeness: float | None  # of its clips to their middle, in the median: 1 is the same
    nearest: str | None  # the other speaker whose middle is most alike
    nearest_likeness: float | None
    imported: tuple[str, ...]  # what its clips were called by their sources, where that differs


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakersSummary:
    speakers: tuple[SpeakerFacts, ...]
    heard: bool  # whether networks have listened
    changed: tuple[str, ...] = ()  # sentences on what this command did
    ids: tuple[str, ...] = ()  # the clips that have another speaker now
    dry: bool = False
    notes: tuple[str, ...] = ()

    def row(self, options: SpeakersOptions) -> dict[str, Any]:
        return {"workspace": str(options.ws), **asdict(self)}

    def sentences(self, options: SpeakersOptions) -> Iterator[Told]:
        yield from self.changed
        names = ("speaker", "clips", "minutes", "pitch (Hz)", "from", "to", "likeness", "most like", "")
        yield TextTable(names, [_cells(one) for one in self.speakers], plain=True, right=(1, 2, 3, 4, 5, 6))
        for one in self.speakers:
            if one.imported:
                yield f"{one.name} was called {first_names(one.imported, SHOWN, count=True)} by the source."
        for note in self.notes:
            yield f"Note: {note}."
        if not self.heard:
            yield f"Pitch and likeness: {Remedy('audit', (options.ws,), {'deep': True})}"
        if self.dry:
            yield "Nothing was written (--dry-run)."
        elif self.changed and not options.undo:
            yield f"Back again: {Remedy('speakers', (options.ws,), {'undo': True})}"


def _cells(one: SpeakerFacts) -> list[str]:
    hertz = ["-" if value is None else f"{value:.0f}" for value in (one.pitch, one.low, one.high)]
    likeness = "-" if one.likeness is None else f"{one.likeness:.2f}"
    near = "" if one.nearest_likeness is None else f"{one.nearest_likeness:.2f}"
    return [one.name, str(one.clips), f"{one.seconds / 60:.1f}", *hertz, likeness, one.nearest or "-", near]


def run(options: SpeakersOptions) -> SpeakersSummary:
    """`olu speakers`"""
    ws = Workspace.open(options.ws)
    _check(options)
    before = Corpus.open(ws)
    if options.undo:
        changed, notes = _undone(ws, by=options.by), list[str]()
        return _summary(ws, before, changed, notes)
    if options.rename:
        changed, notes = _renamed(ws, before, options.rename, by=options.by)
    elif options.join:
        changed, notes = _joined(ws, before, options.join, by=options.by)
    elif options.split is not None:
        return _parted(ws, before, options)
    elif options.to is not None:
        changed, notes = _given(ws, before, options)
    else:
        changed, notes = [], []
    return _summary(ws, before, changed, notes)


def _check(options: SpeakersOptions) -> None:
    """One thing at a time, and nothing that would be ignored."""
    asked = {
        "--rename": bool(options.rename),
        "--join": bool(options.join),
        "--split": options.split is not None,
        "--undo": options.undo,
    }
    given = [name for name, is_so in asked.items() if is_so]
    if len(given) > 1:
        raise ConfigError(f"{given[0]} and {given[1]} are two commands: give one at a time")
    if options.ids and (given or options.to is None):
        raise ConfigError("clips are given to a speaker with --to NAME, and with nothing else")
    if options.to is not None and given not in ([], ["--split"]):
        raise ConfigError(f"--to has no effect with {given[0]}: leave it out")
    if options.to is not None and not options.ids and options.split is None:
        raise ConfigError("--to NAME needs the clips that are of this speaker: ids, or - for stdin; or --split OLD")
    if options.dry_run and options.split is None:
        raise ConfigError("--dry-run is for --split: leave it out")


def _summary(
    ws: Workspace, before: Corpus, changed: Sequence[str], notes: Sequence[str], *, ids: Sequence[str] | None = None
) -> SpeakersSummary:
    corpus, heard = Corpus.open(ws), read_voices(ws)
    old = {clip.id: clip.speaker for clip in before}
    moved = [clip.id for clip in corpus if old.get(clip.id) != clip.speaker]
    return SpeakersSummary(
        speakers=tuple(speaker_facts(corpus, heard)),
        heard=heard is not None,
        changed=tuple(changed),
        ids=tuple(moved if ids is None else ids),
        dry=ids is not None,
        notes=tuple(notes),
    )


# ---- what is known of them


def speaker_facts(corpus: Corpus, heard: HeardVoices | None) -> Iterator[SpeakerFacts]:
    """Every speaker, the one with most minutes first."""
    groups: dict[str, list[Clip]] = {}
    for clip in corpus:
        groups.setdefault(clip.speaker, []).append(clip)
    voices = {name: _voices(clips, heard) for name, clips in groups.items()}
    middles = {name: unit(np.median(found, axis=0)) for name, found in voices.items() if len(found)}
    seconds = {
        name: sum(corpus.taken(clip).seconds for clip in clips if not corpus.is_dropped(clip))
        for name, clips in groups.items()
    }
    for name in sorted(groups, key=lambda one: (-seconds[one], one)):
        clips = groups[name]
        hertz = [heard.pitches[clip.id] for clip in clips if heard and clip.id in heard.pitches]
        low, high = np.percentile(hertz, (5, 95)) if hertz else (None, None)
        likeness = float(np.median(voices[name] @ middles[name])) if name in middles else None
        near, how = _nearest(name, middles)
        sources = dict.fromkeys(corpus.as_imported(clip).speaker for clip in clips)
        yield SpeakerFacts(
            name=name,
            clips=len(clips),
            seconds=round(seconds[name], 3),
            pitch=round(median(hertz), 1) if hertz else None,
            low=None if low is None else round(float(low), 1),
            high=None if high is None else round(float(high), 1),
            likeness=None if likeness is None else round(likeness, 3),
            nearest=near,
            nearest_likeness=how,
            imported=tuple(sources) if list(sources) != [name] else (),
        )


def _voices(clips: Sequence[Clip], heard: HeardVoices | None) -> Voices:
    known = heard.voices if heard else {}
    return np.array([known[clip.id] for clip in clips if clip.id in known])


def _nearest(name: str, middles: dict[str, Voices]) -> tuple[str | None, float | None]:
    others = (
        {other: float(voice @ middles[name]) for other, voice in middles.items() if other != name}
        if (name in middles)
        else {}
    )
    if not others:
        return None, None
    near = max(others, key=lambda one: others[one])
    return near, round(others[near], 3)


# ---- what is changed


def _renamed(ws: Workspace, corpus: Corpus, given: Sequence[str], *, by: str | None) -> tuple[list[str], list[str]]:
    pairs = [_pair(one) for one in given]
    known, said = set(corpus.speakers), list[str]()
    for old, new in pairs:
        _check_speaker(old, known)
        if new in known:
            join = Remedy("speakers", (ws.root,), {"join": [new, old]})
            raise ConfigError(f"there is a speaker {new!r} already: if {old!r} is the same person, {join}")
        known = (known - {old}) | {new}
        said.append(f"{old} is called {new} now.")
    return said, _change(ws, pairs, by=by)


def _joined(ws: Workspace, corpus: Corpus, names: Sequence[str], *, by: str | None) -> tuple[list[str], list[str]]:
    unique = list(dict.fromkeys(names))
    if len(unique) < 2:
        raise ConfigError("--join takes two names or more, each with a --join of its own: the first name stays")
    for name in unique:
        _check_speaker(name, set(corpus.speakers))
    notes = _change(ws, [(other, unique[0]) for other in unique[1:]], by=by)
    return [f"{', '.join(unique[1:])} and {unique[0]} are one person now: {unique[0]}."], notes


def _change(ws: Workspace, pairs: Sequence[tuple[str, str]], *, by: str | None) -> list[str]:
    told = {"by": who_is(by), "at": now(), "batch": new_batch()}
    return speakers.add(ws, [Rename(speaker=old, to=new, **told) for old, new in pairs])


def _given(ws: Workspace, corpus: Corpus, options: SpeakersOptions) -> tuple[list[str], list[str]]:
    piped = [line.strip() for id in options.ids if id == "-" for line in sys.stdin.read().splitlines()]
    ids = [id for id in dict.fromkeys([*(id for id in options.ids if id != "-"), *piped]) if id]
    if not ids:
        raise ConfigError("no clip was named: 'olu clips WS --where EXPR --ids' lists those that fit")
    name = _name(options.to or "")
    check_known(ws, ids)
    wanted = set(ids)
    moved = {clip.id: name for clip in corpus if clip.id in wanted and clip.speaker != name}
    notes = speakers.assign(ws, moved, by=who_is(options.by)) if moved else []
    already = f"; {len(ids) - len(moved)} were already" if len(moved) < len(ids) else ""
    return [f"{many(len(moved), 'clip')} given to {name}{already}."], notes


def _parted(ws: Workspace, corpus: Corpus, options: SpeakersOptions) -> SpeakersSummary:
    """The smaller of two groups of clips that sound alike gets a name of its own."""
    old = options.split or ""
    _check_speaker(old, set(corpus.speakers))
    heard = read_voices(ws)
    if heard is None:
        raise CorpusError(
            f"nobody has listened to who speaks: {Remedy('audit', (ws.root,), {'deep': True})}, then part {old!r}"
        )
    clips = [clip for clip in corpus if clip.speaker == old]
    spoken = [clip for clip in clips if clip.id in heard.voices]
    by_hand = Remedy("speakers", (ws.root, "ID"), {"to": "NAME"})
    if len(spoken) < LEAST_CLIPS:
        raise CorpusError(
            f"only {len(spoken)} of the {len(clips)} clips of {old!r} were heard by 'olu audit --deep', and"
            f" {LEAST_CLIPS} are needed to tell people apart: listen, and give clips away by hand: {by_hand}"
        )
    voices = _voices(spoken, heard)
    side = second_voice(voices, most_alike=read_thresholds(ws).speaker_parts)
    if side is None:
        raise CorpusError(
            f"by their sound the clips of {old!r} are of one person: nothing was changed; if you hear two, give clips"
            f" away by hand: {by_hand}"
        )
    new = _name(options.to) if options.to is not None else _free(old, corpus)
    if new in corpus.speakers:
        raise ConfigError(f"there is a speaker {new!r} already: name another with --to, and join the two afterwards")
    moved = [clip for clip, other in zip(spoken, side.tolist(), strict=True) if other]
    between = float(unit(voices[side].mean(axis=0)) @ unit(voices[~side].mean(axis=0)))
    are = "would be" if options.dry_run else "are"
    some = f"{len(moved)} of the {len(clips)} clips of {old} ({length(sum(clip.seconds for clip in moved))})"
    said = [
        f"{some} {are} of {new}: the two are alike by {between:.2f}.",
        f"Listen to some of both: {first_names([clip.id for clip in moved], SHOWN)}",
    ]
    silent = len(clips) - len(spoken)
    stay = "stays" if silent == 1 else "stay"
    notes = [f"{many(silent, 'clip')} with too little speech to tell {stay} with {old}"] if silent else []
    ids = [clip.id for clip in moved]
    if options.dry_run:
        return _summary(ws, corpus, said, notes, ids=ids)
    notes += speakers.assign(ws, dict.fromkeys(ids, new), by=who_is(options.by))
    return _summary(ws, corpus, said, notes)


def _undone(ws: Workspace, *, by: str | None) -> list[str]:
    gone = speakers.take_back(ws, who=who_is(by))
    if not gone:
        return ["Nothing to take back: no speaker was changed."]
    names = [f"{one.speaker} to {one.to}" for one in gone if isinstance(one, Rename)]
    given = sum(not isinstance(one, Rename) for one in gone)
    what = [*names, *([f"{many(given, 'clip')} given to {gone[-1].to}"] if given else [])]
    return [f"Taken back, of {gone[0].by} at {gone[0].at}: {first_names(what, SHOWN, count=True)}."]


def _free(old: str, corpus: Corpus) -> str:
    return next(name for n in range(2, len(corpus.speakers) + 3) if (name := f"{old}-{n}") not in corpus.speakers)


def _pair(given: str) -> tuple[str, str]:
    old, equals, new = given.partition("=")
    if not equals or not old.strip():
        raise ConfigError(f"--rename {given!r} is not OLD=NEW: write for example default=amina")
    return old.strip(), _name(new)


def _name(given: str) -> str:
    name = " ".join(given.split())
    if not name or not name.isprintable() or len(name) > LONGEST_NAME or "/" in name:
        raise ConfigError(f"{given!r} is no name for a speaker: give letters, without '/'")
    return name


def _check_speaker(name: str, known: set[str]) -> None:
    if name not in known:
        hint = did_you_mean(name, known) or f"; there are {first_names(sorted(known), 20, count=True)}"
        raise CorpusError(f"no speaker {name!r}{hint}")

"""Films and recordings with SubRip or WebVTT subtitles: sentences as clips, with edges found in the sound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath

from olu.audio.activity import file_levels, frame_rate
from olu.audio.io import header
from olu.audio.media import is_media
from olu.core.errors import AudioError, CorpusError
from olu.core.files import Refused, hash_file, read_inside
from olu.corpus.readers.recordings import SUBTITLES, find_recordings, names_same, sound_of
from olu.corpus.readers.rows import Doubt, Problem, Read, Row, SourceNote, Timing, Why, without_ending
from olu.corpus.readers.source import SourceFolder
from olu.corpus.readers.subtitles.cues import Cue, Cues, parse
from olu.corpus.readers.subtitles.sentences import Pauses, Seam, Span, at_once, find_edges, join, without_lag
from olu.corpus.readers.subtitles.sync import LEAST_CUES, LEAST_SHIFT_SECONDS, Sync, measure
from olu.corpus.readers.texts import MOST_TEXT

PAST_SECONDS = 1.0  # a last cue may stay on the screen a moment longer than the sound
SAMPLE = 50  # cues by whose starts subtitles are known again
COUNTED = ("tags", "speaker dashes", "speaker names", "sound notes", "lines shown again")

SEVERAL = "has several subtitles"
LISTEN = "listen to a few clips, and import it again with --shift SECONDS if they come early or late"
EARLY = "it starts {:.3f} s before the sound: correct its times or --shift"


@dataclass(frozen=True, slots=True)
class SubtitledRecording:
    sound: str  # the recording or film, as it lies in the source
    subtitles: str  # its file, from the source or absolute


def seen(folder: SourceFolder) -> str:
    """Why a folder holds recordings with subtitles; nothing where it does not."""
    found, _ = pairs(folder)
    if folder.options.subtitles is not None:
        return f"{folder.options.subtitles.name} was named for {found[0].sound}" if found else ""
    several = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{PurePosixPath(found[0].subtitles).name} lies beside {found[0].sound}{several}" if found else ""


def to_decode(folder: SourceFolder) -> list[str]:
    """The recordings to take along, where one of them is a film that must be decoded first."""
    found = [pair.sound for pair in pairs(folder)[0]]
    return found if any(map(is_media, found)) else []


def rows(folder: SourceFolder) -> Iterator[Read | Doubt | Timing]:
    """Clips by the cues, with doubts and times. Options: where films were decoded to, what is said of times."""
    asked = folder.options
    found, problems = pairs(folder)
    yield from problems
    few = 0
    said = Timing(audio="", shift=asked.shift or 0.0, stretch=asked.stretch or 1.0, in_sync=asked.in_sync)
    for pair in found:
        fits = asked.in_sync
        for one in _rows(folder, pair, said=said):
            if isinstance(one, Timing):
                fits = one.in_sync
            few += isinstance(one, Doubt) and one.text == "" and not fits
            if not isinstance(one, Doubt) or (one.text and not fits):
                yield one
    if few:
        have = "one recording has" if few == 1 else f"{few} recordings have"
        yield SourceNote(f"{have} too few cues to measure whether they come early or late: listen to a clip of each")


def _subtitles(folder: SourceFolder) -> dict[str, str]:
    """Subtitle files, each with its path without the ending."""
    return {file: without_ending(file) for file in folder.tree.files if file.lower().endswith(SUBTITLES)}


def _no_subtitles(stem: str, several: Sequence[str]) -> str:
    if several:
        names = ", ".join(PurePosixPath(file).name for file in several)
        return f"{SEVERAL} ({names}): name the film itself, and one of them with --subtitles"
    return f"no {PurePosixPath(stem).name}.srt or .vtt beside it: write one, or import it alone"


def pairs(folder: SourceFolder) -> tuple[list[SubtitledRecording], list[Problem]]:
    """Recordings and their subtitles."""
    film, named = folder.options.film, folder.options.subtitles
    found, problems = find_recordings(folder.tree, film=film)
    if named is not None:
        sounds = list(found.values())
        return [SubtitledRecording(sounds[0], str(named))] if len(sounds) == 1 else [], problems
    texts = _subtitles(folder)
    taken: list[SubtitledRecording] = []
    used: set[str] = set()
    for stem, sound in found.items():
        mine = sorted(file for file, name in texts.items() if names_same(name, stem))
        used.update(mine)
        if chosen := _chosen(mine, stem, texts):
            taken.append(SubtitledRecording(sound, chosen))
        elif mine or film is None:
            problems.append(Problem(sound, _no_subtitles(stem, mine), Why.NO_TEXT))
    if film is None and taken:
        lone = "no recording of that name beside it: put one there"
        problems += (Problem(file, lone, Why.NO_SOUND) for file in texts if file not in used)
    return taken, problems


def _chosen(mine: Sequence[str], stem: str, texts: Mapping[str, str]) -> str:
    """Of the subtitles of one recording those under its very name, or the only ones."""
    exact = [file for file in mine if texts[file] == stem]
    alone = mine[:1] if len({texts[file] for file in mine}) == 1 else []
    return next(iter((*exact, *alone)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What is done to the times of subtitles: times * stretch + shift."""

    shift: float = 0.0
    stretch: float = 1.0

    def options(self) -> str:
        """The times as options of `olu import`."""
        stretch = [f"--stretch {self.stretch:.6g}"] if self.stretch != 1.0 else []
        return " ".join([*stretch, f"--shift {self.shift:.3g}"] if self.shift or not stretch else stretch)

    def then(self, found: Sync) -> Times:
        return Times(shift=round(self.shift * found.speed + found.shift, 2), stretch=self.stretch * found.speed)


def _timing(
    path: Path, pair: SubtitledRecording, cues: Sequence[Cue], *, said: Timing, before: Mapping[str, Timing]
) -> Timing:
    """What is said of the times of a recording now, else what was said of it and these subtitles before."""
    starts = [round(1000 * cue.start) for cue in cues]
    step = max(1, len(starts) // SAMPLE)
    said = replace(said, audio=sound_of(pair.sound), starts=tuple(starts[::step][:SAMPLE]))
    old = before.get(hash_file(path)) if before else None
    if old is None:
        return said
    known = Times(shift=old.shift, stretch=old.stretch)
    told = f"{known.options()} --in-sync" if old.in_sync and known != Times() else known.options()
    told = "--in-sync" if known == Times() else told
    if 2 * len({*starts} & {*old.starts}) < len({*old.starts}):
        return replace(said, again=f"{pair.sound} has other subtitles than before: {told} is not used for them")
    again = f"{pair.sound}: {told} was said before and is used again; --shift 0 takes it back"
    return replace(said, shift=old.shift, stretch=old.stretch, in_sync=said.in_sync or old.in_sync, again=again)


def _rows(folder: SourceFolder, pair: SubtitledRecording, *, said: Timing) -> Iterator[Read | Doubt | Timing]:
    audio, asked = sound_of(pair.sound), folder.options
    path = (asked.sounds or folder.path) / audio
    if is_media(pair.sound) and not path.is_file():
        return  # it could not be decoded, which was said
    try:
        file = PurePosixPath(pair.subtitles).name if Path(pair.subtitles).is_absolute() else pair.subtitles
        named = Path(pair.subtitles).is_absolute()  # by a person: it may lie anywhere
        home = Path(pair.subtitles).parent if named else folder.path
        found = parse(read_inside(home, pair.subtitles, most=MOST_TEXT), file=file, encoding=asked.encoding)
        facts, levels = header(path), file_levels(path)
    except AudioError as bad:
        yield Problem(pair.sound, str(bad).replace(str(path), "it").removeprefix("it "), Why.SOUND)
        return
    except Refused as bad:
        yield Problem(pair.subtitles, str(bad), Why.LETTERS)
        return
    yield from found.guessed
    fps = frame_rate(facts.rate)
    timing = _timing(path, pair, found.cues, said=said, before=asked.remembered)
    yield timing
    times = Times(shift=timing.shift, stretch=timing.stretch)
    found = _moved(found, times)
    off = measure(_spans(found.cues), levels=levels, frames_per_second=fps)
    yield from _offset(off, pair=pair, file=file, audio=audio, times=times, cues=len(found.cues))
    kept, outside = _inside(found.cues, seconds=facts.seconds, sound=pair.sound)
    yield from chain(found.problems, outside)
    kept, lagged = without_lag(kept)
    pauses = Pauses(kept, levels=levels, frames_per_second=fps, shift=off.shift if off else 0.0)
    problems: list[Problem] = []
    apart = at_once(kept, pauses, problems)
    yield from problems
    joined = join(apart, pauses, busy=found.busy, counts=found.counts)
    sentences = [one.cue for one in joined]
    seams = [(_edge(one.before), _edge(one.after)) for one in joined]
    spans = find_edges(
        _spans(sentences), busy=found.busy, levels=levels, frames_per_second=fps, seconds=facts.seconds, seams=seams
    )
    found.counts["lines that stay while the next is said"] += lagged
    yield from _told(found, file=file, cues=kept, sentences=sentences)
    for one, (start, end) in zip(joined, spans, strict=True):
        cue, start, seconds = one.cue, round(start, 3), round(end - start, 3)
        row = Row(audio=audio, text=cue.text, where=cue.where, speaker=cue.speaker, start=start, seconds=seconds)
        yield replace(row, read=one.cues, sound=pair.sound)


def _edge(seam: Seam | None) -> float | None:
    return None if seam is None or seam.wide else seam.at


def _spans(cues: Sequence[Cue]) -> list[Span]:
    return [(cue.start, cue.end) for cue in cues]


def _moved(found: Cues, times: Times) -> Cues:
    by, shift = times.stretch, times.shift
    cues = [replace(cue, start=cue.start * by + shift, end=cue.end * by + shift) for cue in found.cues]
    busy = [(start * by + shift, end * by + shift) for start, end in found.busy]
    early = [cue for cue in cues if cue.start < 0]
    problems = found.problems + [
        Problem(cue.where, EARLY.format(-cue.start), Why.TIMES, seconds=cue.end - cue.start) for cue in early
    ]
    return replace(found, cues=[cue for cue in cues if cue.start >= 0], busy=busy, problems=problems)


def _inside(cues: list[Cue], *, seconds: float, sound: str) -> tuple[list[Cue], list[Problem]]:
    """Cues that end with the sound or before; one that stays a moment longer ends with it."""
    kept, problems = [], []
    for cue in cues:
        if cue.start >= seconds or cue.end > seconds + PAST_SECONDS:
            message = f"it ends at {cue.end:.3f} s, and {sound} has {seconds:.3f} s: correct its times"
            lost = cue.end - cue.start
            problems.append(Problem(cue.where, message, Why.BEYOND, seconds=lost))
        else:
            kept.append(replace(cue, end=min(cue.end, seconds)))
    return kept, problems


def _offset(
    found: Sync | None, *, pair: SubtitledRecording, file: str, audio: str, times: Times, cues: int
) -> Iterator[Doubt]:
    """A doubt for what is off in a recording; nothing is moved. An empty text: too few cues to measure."""
    now = f"with {times.options()} " if times != Times() else ""
    if found is None:
        text = f"{now}{file} could not be compared with the speech of {pair.sound}, so its texts may be at wrong times"
        yield Doubt(audio=audio, sound=pair.sound, text="" if cues < LEAST_CUES else f"{text}: {LISTEN}")
    elif found.jump is not None:
        at = f"{int(found.jump.at) // 60}:{int(found.jump.at) % 60:02d}"
        before, after = (_way(shift) for shift in (found.jump.before, found.jump.after))
        text = (
            f"{now}{file} fits the speech of {pair.sound} with no one shift: it comes {before} up to about {at} and"
            f" {after} from there on: move its later cues in a subtitle editor and import again"
        )
        yield Doubt(audio=audio, sound=pair.sound, text=text)
    elif not found.fits:
        told = f"{now}{file} comes about {_way(found.shift)} for the speech of {pair.sound}"
        if found.drift:
            way = "early" if found.drift > 0 else "late"
            told = f"{now}{file} runs away from the speech of {pair.sound}: by its end it comes"
            told = f"{told} {abs(found.drift):.1f} s too {way}"
        text = f"{told} (confidence {found.confidence:.2f}); nothing was moved"
        yield Doubt(audio=audio, sound=pair.sound, text=text, remedy=times.then(found).options())


def _way(shift: float) -> str:
    if abs(shift) < LEAST_SHIFT_SECONDS:
        return "as it should"
    return f"{abs(shift):.2f} s too {'early' if shift > 0 else 'late'}"


def _told(found: Cues, *, file: str, cues: list[Cue], sentences: list[Cue]) -> Iterator[SourceNote]:
    said = sum(bool(cue.text) for cue in cues)
    yield SourceNote(f"{file}: {said} cues with words made {len(sentences)} clips")
    counts: Counter[str] = found.counts
    gone = [f"{counts[kind]} {kind}" for kind in COUNTED if counts[kind]]
    if gone:
        yield SourceNote(f"{file}: removed from the text: {', '.join(gone)}")
    if number := counts["lines that stay while the next is said"]:
        yield SourceNote(
            f"{file}: cues that stay on the screen while the next is said: {number}; each ends where it begins"
        )
    if number := counts["cues without words"]:
        yield SourceNote(f"{file}: cues without words, which made no clip: {number}")
    if number := counts["cues of several speakers"]:
        yield SourceNote(f"{file}: cues with the lines of several speakers: {number}; drop them if you train one voice")


def refusal(folder: SourceFolder) -> CorpusError:
    """Why the subtitles of a film cannot be used."""
    source, film = folder.path, folder.options.film
    if folder.options.subtitles is not None and film is None:
        return CorpusError(f"{source}: --subtitles is for one film or recording: name it instead of the folder")
    _, problems = pairs(replace(folder, options=replace(folder.options, subtitles=None)))
    if problems:
        return CorpusError(f"{source / problems[0].where} {problems[0].message}")
    return CorpusError(f"{source / (film or '')} has no subtitles (.srt or .vtt) beside it: put them there")

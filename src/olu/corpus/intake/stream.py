"""Recordings that come as bytes, one after the other: each is looked at, written into the workspace, and forgotten."""

from __future__ import annotations

import hashlib
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import soundfile

from olu.audio import repair as opus
from olu.audio.io import wrong_rate
from olu.audio.media import RECORDINGS, begins_as_sound, decoded
from olu.audio.overheard import is_mpeg, overheard
from olu.core.errors import AudioError, MissingExtra
from olu.core.files import CAN_FLUSH_ALL, flush_all, hash_file, whole
from olu.core.job import Job, Tick
from olu.corpus.intake.probe import RecordingFacts, clip_id, sift, tidy
from olu.corpus.readers.huggingface import DatasetRow, safe
from olu.corpus.readers.rows import Problem, Row, Why

DATE_NS = 946_684_800 * 10**9  # a recording in a dataset has no date of its own: all get 2000-01-01
FORMATS = {"WAV": ".wav", "WAVEX": ".wav", "FLAC": ".flac", "OGG": ".ogg", "MPEG": ".mp3", "MP3": ".mp3"}


@dataclass(slots=True, kw_only=True)
class Intake:
    """Looks at examples and writes their sound into `home`; holds names and texts, and of sound what `keep` says."""

    home: Path
    known: Mapping[str, str]  # path in the source -> hash of what an earlier import wrote there
    lies_elsewhere: Callable[[str], bool]  # whether the sound of the clip of this id lies in another source
    begin: Callable[[], None] | None  # called before the first file is written; None: nothing is written
    keep: int = 0  # of what is not written, how many sounds are kept to be heard
    kept: dict[str, bytes] = field(default_factory=dict)
    probed: list[tuple[Row, RecordingFacts]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    languages: Counter[str] = field(default_factory=Counter)  # what the examples say of their language
    written: list[str] = field(default_factory=list)
    taken: dict[str, tuple[str, str]] = field(default_factory=dict)  # path in the source -> hash and text

    def run(self, examples: Iterable[DatasetRow | Problem], *, total: int) -> Job[None]:
        for done, one in enumerate(examples, 1):
            problem = one if isinstance(one, Problem) else self._take(one)
            if problem is not None:
                self.problems.append(tidy(problem))
            yield Tick(done, max(total, done), one.where)
        if self.written:
            flush_all()

    def _take(self, one: DatasetRow) -> Problem | None:
        if one.language:
            self.languages[one.language] += 1
        found = facts_of(one.sound)
        if isinstance(found, str) and begins_as_sound(one.sound[:16]):  # what phones record
            try:
                one = replace(one, sound=decoded(one.sound))
                found = facts_of(one.sound)
            except AudioError:
                pass
            except MissingExtra as bad:
                found = f"{found}; {bad}"
        if isinstance(found, str):
            return Problem(one.where, f"{one.name or 'its sound'} {found}", Why.SOUND)
        facts, ending = found
        audio = self._place(one, facts, ending)
        before = self.taken.get(audio)
        if before is not None:
            message = f"{audio} came before with another text, which was kept: remove one of the two"
            same = before[1] == one.text
            return None if same else Problem(one.where, message, Why.TWICE)
        rows, problems = sift([Row(audio=audio, text=one.text, where=one.where, speaker=one.speaker)], root=self.home)
        if not rows:
            return problems[0]
        self.taken[audio] = (facts.sha256, one.text)
        self.probed.append((rows[0], facts))
        if not self._is_there(audio, facts) and not self.lies_elsewhere(clip_id(audio, sha256=facts.sha256)):
            self._write(audio, one.sound)
        return None

    def _place(self, one: DatasetRow, facts: RecordingFacts, ending: str) -> str:
        """The path for a sound: its own name, in a folder of its own where that name is taken."""
        name = PurePosixPath(one.name)
        stem = safe(name.stem if name.suffix.lower() in RECORDINGS else name.name) or facts.sha256[:16]
        audio = f"{one.folder}/{stem}{ending}"
        if self.taken.get(audio, (facts.sha256,))[0] != facts.sha256:
            audio = f"{one.folder}/{facts.sha256[:16]}/{stem}{ending}"
        return audio

    def _is_there(self, audio: str, facts: RecordingFacts) -> bool:
        """Whether this import was made before, or was killed after it had got this far."""
        path = self.home / audio
        if not path.is_file() or path.stat().st_size != facts.bytes:
            return False
        known = self.known.get(audio) == facts.sha256 and path.stat().st_mtime_ns == facts.mtime_ns
        return known or hash_file(path) == facts.sha256

    def _write(self, audio: str, sound: bytes) -> None:
        if self.begin is None:
            if len(self.kept) < self.keep:
                self.kept[audio] = sound
            return
        if not self.written:
            self.begin()
        with whole(self.home / audio, flush=not CAN_FLUSH_ALL) as part:
            part.write_bytes(sound)
            os.utime(part, ns=(DATE_NS, DATE_NS))
        self.written.append(audio)


def _info(sound: bytes) -> Any:
    try:
        if is_mpeg(sound):
            return overheard(lambda: soundfile.info(io.BytesIO(sound)))[0]
        return soundfile.info(io.BytesIO(sound))
    except soundfile.SoundFileError:
        mended = opus.mended(sound)
        if mended is None:
            raise
        return soundfile.info(io.BytesIO(mended))


def facts_of(sound: bytes) -> tuple[RecordingFacts, str] | str:
    """What a recording is and the ending its file should have, or why it is none."""
    try:
        found = _info(sound)
    except (soundfile.SoundFileError, OSError, TypeError, ValueError) as bad:
        why = opus.fault(sound) if isinstance(bad, soundfile.SoundFileError) else ""
        reason = why or str(bad).split(": ")[-1].strip().rstrip(".") or type(bad).__name__
        return f"is not a readable sound file ({reason}): it is left out"
    if found.frames <= 0 or found.samplerate <= 0:
        return "holds no samples: it is left out"
    if wrong := wrong_rate(found.samplerate):
        return f"cannot be right, {wrong}: it is left out"
    seconds = round(found.frames / found.samplerate, 6)
    facts = RecordingFacts(hashlib.sha256(sound).hexdigest(), len(sound), DATE_NS, seconds, int(found.samplerate))
    return facts, FORMATS.get(found.format, f".{found.format.lower()}")

"""New recordings beside those a corpus has: what is added, what was there, what is left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from olu.core.types import Clip
from olu.corpus.corrections import Correction
from olu.corpus.intake.probe import RecordingFacts, clip_id, fit
from olu.corpus.readers.rows import Problem, Row, Why


class Merge:
    """Takes recordings one by one. `clips` keeps the order it had; new ones come after.

    Clips and texts are as imported. What people corrected stays laid over them, whatever comes in: that is told.
    """

    def __init__(
        self,
        clips: Iterable[Clip],
        *,
        places: dict[str, Path],
        corrected: Mapping[str, Correction] | None = None,
        known_as: Mapping[str, str] | None = None,
        missing: Collection[str] = (),
    ) -> None:
        self.corrected = corrected or {}
        self.known_as = known_as or {}  # a row's recording -> what it is in the corpus, where another source has it
        self.shown: dict[str, str] = {}  # audio -> what a person calls it
        self.came_as: dict[str, str] = {}  # and back, of all that were taken
        self.clips = {clip.id: clip for clip in clips}
        self.by_audio: dict[str, list[Clip]] = {}  # what each recording had before
        for clip in self.clips.values():
            self.by_audio.setdefault(clip.audio, []).append(clip)
        self.places = places  # source name -> where it lies
        self.missing = missing  # recordings of earlier clips that are not where they were
        self.fresh: dict[str, RecordingFacts] = {}  # audio -> facts of what was added or moved
        self.new: list[str] = []  # of clips, as they came
        self.added = self.already = self.moved = 0
        self.moved_from: set[str] = set()  # sources whose clips lie here now
        self.compared: set[str] = set()  # recordings whose earlier clips were looked at
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.elsewhere: Counter[str] = Counter()
        self.other_speaker = self.written = 0
        self.seen: dict[str, tuple[RecordingFacts, set[str]]] = {}  # audio -> the clips of it that were taken now

    def take(self, row: Row, facts: RecordingFacts, *, source: str, language: str, speaker: str | None) -> None:
        audio = self.audio(row.audio, source=source)
        self.came_as[audio] = row.audio
        self.shown[audio] = row.shown
        span = fit(row, facts)
        if isinstance(span, Problem):
            self.problems.append(span)
            return
        start, seconds = span
        id = clip_id(row.audio, sha256=facts.sha256, start=start, seconds=seconds)
        self.seen.setdefault(audio, (facts, set()))[1].add(id)
        old = self.clips.get(id)
        if old is not None:
            self._known(old, row, facts, audio, speaker=speaker)
            return
        if row.text is None and self._covered(row, facts, audio):
            self.already += 1
            return
        self._replace(row, facts, audio)
        self.clips[id] = Clip(
            id=id,
            audio=audio,
            start=start,
            seconds=facts.seconds if seconds is None else seconds,
            rate=facts.rate,
            text=row.text or "",
            language=language,
            speaker=speaker or row.speaker or "default",
        )
        self.fresh[audio] = facts
        self.new.append(id)
        self.added += 1

    def audio(self, file: str, *, source: str) -> str:
        """What a recording of the source that is imported now is in the corpus."""
        return self.known_as.get(file) or f"{source}/{file}"

    def _covered(self, row: Row, facts: RecordingFacts, audio: str) -> bool:
        """Whether a clip with a text, the source's or a person's, lies where a row has none."""
        end = row.start + (row.seconds or facts.seconds)
        return any(
            clip.start < end and row.start < clip.start + clip.seconds and _same(clip, row, facts)
            for clip in self.by_audio.get(audio, ())
            if clip.transcribed or clip.id in self.corrected
        )

    def settle(self, *, complete: bool) -> None:
        """Take away what newer clips of the same recording replace: pieces without a text where there is one now.

        `complete`: every other stretch too, since times that were corrected would leave the old ones beside the new.
        """
        for audio, (facts, taken) in self.seen.items():
            said = [self.clips[id] for id in taken if id in self.clips and self.clips[id].transcribed]
            earlier = [clip for clip in self.by_audio.get(audio, ()) if clip.id in self.clips and clip.id not in taken]
            gone = [clip.id for clip in earlier if said and (complete or _inside_of(clip, said))]
            if gone:
                self.fresh.setdefault(audio, facts)
                self._give_way(gone, shown=self.shown[audio])

    def _give_way(self, gone: list[str], *, shown: str) -> None:
        for id in gone:
            del self.clips[id]
        clips = "one clip" if len(gone) == 1 else f"{len(gone)} clips"
        lost = sum(id in self.corrected for id in gone)
        texts = f"; texts that people wrote for {lost} of them stay in corpus/texts.jsonl" if lost else ""
        self.notes.append(f"{shown}: {clips} of an earlier import gave way to the new ones{texts}")

    def _replace(self, row: Row, facts: RecordingFacts, audio: str) -> None:
        """Take away the clips of a recording that has become another one; other spans of the same one stay."""
        gone = 0
        if audio in self.compared:
            return
        self.compared.add(audio)
        for clip in self.by_audio.get(audio, ()):
            now = self.clips.get(clip.id)
            if now is not None and now.audio == audio and not _same(clip, row, facts):
                del self.clips[clip.id]
                gone += 1
        if gone:
            clips = "its clip was" if gone == 1 else f"its {gone} clips were"
            self.notes.append(f"{row.shown} has changed since it was imported: {clips} replaced")

    def _known(self, old: Clip, row: Row, facts: RecordingFacts, audio: str, *, speaker: str | None) -> None:
        """A clip that was imported before: it may get the text that it had not."""
        if row.text is None:
            row = replace(row, text=old.text)  # that nobody wrote it down here takes no text away
        if old.transcribed or not row.text:
            self._again(old, row, facts, audio)
            self.other_speaker += speaker is not None and old.speaker != speaker
            return
        who = speaker or row.speaker or old.speaker
        self.clips[old.id] = replace(old, audio=audio, text=row.text, speaker=who)
        self.fresh[audio] = facts
        self.written += old.id not in self.corrected
        self.already += 1
        self._overruled(row, old.id)

    def _again(self, old: Clip, row: Row, facts: RecordingFacts, audio: str) -> None:
        source, _, inside = old.audio.partition("/")
        if old.text != row.text and old.audio == audio and audio not in self.fresh:
            self.clips[old.id] = replace(old, text=row.text or "")
            self.fresh[audio] = facts
            self.already += 1
            if not self._overruled(row, old.id):
                self.notes.append(f"{row.shown} has another text than before: the new one was taken")
            return
        if old.text != row.text:
            message = f"{row.shown} is clip {old.id} already, from {inside} and with another text, which was kept"
            self.problems.append(Problem(row.where, f"{message}: correct the text there", Why.TWICE))
            return
        there = old.audio in self.fresh or (source in self.places and old.audio not in self.missing)
        if old.audio != audio and not there:
            self._move(old.audio, audio)
            self.fresh[audio] = facts
        elif old.audio != audio and audio.startswith(f"{source}/"):
            message = f"{row.shown} is the same recording as {inside}, which was kept: remove one of the two"
            self.problems.append(Problem(row.where, message, Why.TWICE))
            return
        elif old.audio != audio:
            self.elsewhere[source] += 1
        self.already += 1

    def _overruled(self, row: Row, id: str) -> bool:
        """Whether a person has corrected the clip that another text comes for now; it is said which of them holds."""
        held = self.corrected.get(id)
        if held is None:
            return False
        day = held.at.partition("T")[0]
        if held.text == row.text:
            self.notes.append(f"{row.shown} has the text now that {held.by} wrote for it on {day}")
        else:
            back = f"'olu correct WS --undo --clip {id}' takes it back"
            self.notes.append(
                f"{row.shown} has another text than before, and the one that {held.by} wrote on {day} stays: {back}"
            )
        return True

    def _move(self, old: str, audio: str) -> None:
        """A recording lies elsewhere, with every clip of it: pieces of a clip have no row of their own."""
        for clip in self.by_audio.get(old, ()):
            now = self.clips.get(clip.id)
            if now is not None and now.audio == old:
                self.clips[clip.id] = replace(now, audio=audio)
                self.moved += 1
        self.moved_from.add(old.partition("/")[0])

    def all_notes(self) -> tuple[str, ...]:
        notes = list(self.notes)
        if self.moved:
            notes.append(
                _counted(self.moved, "had moved and was found again here", "had moved and were found again here")
            )
        for source, number in self.elsewhere.items():
            before = f"imported before from {self.places[source]}"
            notes.append(_counted(number, f"was {before} and stays there", f"were {before} and stay there"))
        if self.written:
            notes.append(_counted(self.written, "that had no text has one now", "that had no text have one now"))
        if self.other_speaker:
            before = "imported before with another speaker, which"
            notes.append(_counted(self.other_speaker, f"was {before} it keeps", f"were {before} they keep"))
        return tuple(notes)


def _counted(number: int, one: str, more: str) -> str:
    return f"1 clip {one}" if number == 1 else f"{number} clips {more}"


def _same(clip: Clip, row: Row, facts: RecordingFacts) -> bool:
    """Whether a clip was made of what its recording is now."""
    spans = ((clip.start, clip.seconds), (clip.start, None))
    return clip.id in {clip_id(row.audio, sha256=facts.sha256, start=start, seconds=length) for start, length in spans}


def _inside_of(clip: Clip, said: Iterable[Clip]) -> bool:
    """Whether a clip without a text lies where others have one."""
    if clip.transcribed:
        return False
    return any(one.start < clip.start + clip.seconds and clip.start < one.start + one.seconds for one in said)

"""The corpus of a workspace: clips, and what the stages wrote beside them, joined by id."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from olu.audio import io
from olu.core.errors import AudioError, CorpusError, WorkspaceError
from olu.core.files import Workspace, hash_file, hash_value, read_jsonl, read_rows, write_json, write_jsonl
from olu.core.rows import as_row
from olu.core.types import Alignment, Audio, Clip, Mark, MarkRow, Reading, ReadingRow, Split
from olu.corpus import corrections, decisions, hand_bounds, speakers
from olu.corpus.changed_files import ChangeWatch, Lost, lost, place_now, state_of, to_drop, to_import, told
from olu.corpus.corrections import Correction
from olu.corpus.decisions import Decision
from olu.corpus.sources import Source, clips_path, read_clips, read_sources

SIDE = {"id": str, "split": str | None}  # a row of splits.jsonl


class Corpus:
    """Clips in manifest order, with the texts that people corrected, and who speaks, laid over what was imported.

    Read-only: readers make new manifests, of clips as they were imported; stages write beside.
    """

    def __init__(
        self,
        ws: Workspace,
        clips: tuple[Clip, ...],
        sources: dict[str, Source],
        *,
        factor: float = 1.0,
        corrected: Mapping[str, Correction] | None = None,
        originals: Mapping[str, Clip] | None = None,
    ) -> None:
        self.ws, self.clips, self.sources, self.factor = ws, clips, sources, factor
        self.corrected = corrected or {}  # id -> what was written
        self.originals = originals or {}  # id -> the clip as it was imported, where another is laid over it

    @staticmethod
    def open(ws: Workspace) -> Corpus:
        return Corpus.laid_over(ws, read_clips(ws), read_sources(ws), written=corrections.in_force(ws))

    @staticmethod
    def laid_over(
        ws: Workspace, clips: Sequence[Clip], sources: dict[str, Source], *, written: Mapping[str, Correction]
    ) -> Corpus:
        """Clips as they were imported, with the texts and the speakers that hold."""
        made = speakers.in_force(ws).lay_over(corrections.lay_over(clips, written))
        originals = {old.id: old for old, new in zip(clips, made, strict=True) if new is not old}
        corrected = {id: written[id] for id in originals if id in written}
        return Corpus(ws, made, sources, corrected=corrected, originals=originals)

    @staticmethod
    def save(ws: Workspace, clips: list[Clip], sources: list[Source], splits: Mapping[str, Split | None]) -> None:
        """Write sources and splits first: a manifest never names what is not there. The clips are as imported."""
        write_json(ws.corpus / "sources.json", [as_row(source) for source in sources])
        Corpus.save_splits(ws, clips, splits)
        write_jsonl(clips_path(ws), map(as_row, clips))

    @staticmethod
    def save_splits(ws: Workspace, clips: Sequence[Clip], splits: Mapping[str, Split | None]) -> None:
        write_jsonl(ws.corpus / "splits.jsonl", ({"id": c.id, "split": splits[c.id]} for c in clips))

    def __len__(self) -> int:
        return len(self.clips)

    def __iter__(self) -> Iterator[Clip]:
        return iter(self.clips)

    def where(self, keep: Callable[[Clip], bool]) -> Corpus:
        kept = tuple(clip for clip in self.clips if keep(clip))
        return self._with(kept, factor=self.factor)

    def resampled(self, factor: float) -> Corpus:
        """The same corpus, heard as a voice with this data.resample was trained on it."""
        return self._with(self.clips, factor=factor)

    def _with(self, clips: tuple[Clip, ...], *, factor: float) -> Corpus:
        return Corpus(self.ws, clips, self.sources, factor=factor, corrected=self.corrected, originals=self.originals)

    def correction(self, clip: Clip) -> Correction | None:
        """Who wrote the text of this clip and when, where it is not the source's."""
        return self.corrected.get(clip.id)

    def as_imported(self, clip: Clip) -> Clip:
        """The clip with the text and the speaker of its source, for manifests and sides."""
        return self.originals.get(clip.id, clip)

    @cached_property
    def places(self) -> dict[str, int]:
        """Clip id -> its place among the clips."""
        return {clip.id: place for place, clip in enumerate(self.clips)}

    def renewed(self, ids: Collection[str]) -> Corpus:
        """The corpus with the decisions and texts of these clips read anew; all else stays as it was."""
        decided = decisions.in_force(decisions.of_clips(self.ws, ids))
        written = {one.id: one for one in corrections.load(self.ws, ids=ids)}
        clips, corrected, originals = list(self.clips), dict(self.corrected), dict(self.originals)
        names = speakers.in_force(self.ws)
        for id in ids:
            if (place := self.places.get(id)) is None:
                continue
            old = self.as_imported(clips[place])
            for table in (corrected, originals):
                table.pop(id, None)
            clips[place] = names.lay_over(corrections.lay_over([old], written))[0]
            if clips[place] is not old:
                originals[id] = old
            if id in written:
                corrected[id] = written[id]
        new = copy(self)
        new.clips, new.corrected, new.originals = tuple(clips), corrected, originals
        new.decisions = {id: one for id, one in self.decisions.items() if id not in ids} | decided
        return new

    @property
    def seconds(self) -> float:
        return sum(clip.seconds for clip in self.clips)

    @property
    def speakers(self) -> list[str]:
        return sorted({clip.speaker for clip in self.clips})

    def locate(self, clip: Clip) -> Path:
        return Path(self._at(clip))

    def _at(self, clip: Clip) -> str:
        if place := self.place(clip.audio):
            return place
        name = clip.audio.partition("/")[0]
        raise CorpusError(f"clip {clip.id}: source {name!r} is not in corpus/sources.json: import it again")

    def place(self, audio: str) -> str:
        """Where a recording lies; nothing where its source is not known."""
        name, _, inside = audio.partition("/")
        return f"{self._roots[name]}/{inside}" if name in self._roots else ""

    def root_of(self, audio: str) -> Path:
        """The folder of the source that a recording belongs to."""
        return Path(self._roots[audio.partition("/")[0]])

    @cached_property
    def _roots(self) -> dict[str, str]:
        """The root of each source as text: paths are slow to make, and a corpus has many."""
        return {name: str(self.ws.root / source.root).rstrip("/") for name, source in self.sources.items()}

    @cached_property
    def _watch(self) -> ChangeWatch:
        return ChangeWatch(self.ws)

    def has_changed(self, clip: Clip) -> bool:
        """Whether its recording is another one than was imported, so that neither text nor length need fit."""
        path = self.place(clip.audio)
        return bool(path) and self._watch.has_changed(clip.audio, path)

    def _others(self) -> set[str]:
        """Recordings that have changed; each is looked at once, however many clips it has."""
        one_each = {clip.audio: clip for clip in self}
        found = {audio for audio, clip in one_each.items() if self.has_changed(clip)}
        self._watch.remember()
        return found

    def unchanged(self) -> Corpus:
        """The corpus without clips whose recording is another one now."""
        others = self._others()
        return self.where(lambda clip: clip.audio not in others) if others else self

    def changed_clips(self) -> list[Clip]:
        """Clips with a text whose recording changed; not those that a person or a cut left out."""
        others = self._others()
        clips = (clip for clip in self if clip.audio in others and clip.text.strip())
        decided = ((clip, self.decision(clip)) for clip in clips)
        return [clip for clip, one in decided if one is None or one.by == "fix" or one.decision != "drop"]

    def changed(self, *, imported: bool = False) -> list[str]:
        """One sentence on the recordings that have changed, of clips that no person left out; none where none has.

        `imported`: an import was just made, and has not taken them.
        """
        clips = self.changed_clips()
        names = [self.locate(clip).name for clip in {clip.audio: clip for clip in clips}.values()]
        remedy = f"put the old sound back, or {self._drop(clips)}" if imported else self._remedy(clips)
        return [told(names, remedy, imported=imported)] if clips else []

    def changed_files(self) -> dict[str, list[int]]:
        """Size and date of the recordings that `changed` tells of."""
        states = {clip.audio: state_of(self._at(clip)) for clip in self.changed_clips()}
        return {audio: [state.st_size, state.st_mtime_ns] for audio, state in states.items()}

    def _drop(self, clips: Sequence[Clip]) -> str:
        return to_drop(self.ws, [clip.id for clip in clips])

    def _remedy(self, clips: Sequence[Clip]) -> str:
        return f"{to_import(self.ws, self.roots_of(clips))}, or {self._drop(clips)}"

    def roots_of(self, clips: Sequence[Clip]) -> list[str]:
        """The roots of the sources that these clips lie in."""
        return sorted({self.sources[clip.audio.partition("/")[0]].root for clip in clips})

    def check_same(self, clip: Clip) -> None:
        if self.has_changed(clip):
            raise AudioError(f"{self.locate(clip)} changed since it was imported: {self._remedy([clip])}")

    def audio(self, clip: Clip, *, faults: list[str] | None = None) -> Audio:
        """What is heard in a clip; `faults` gets what its decoder met that was damaged, and went on from."""
        self.check_same(clip)
        audio = io.read(self.locate(clip), start=clip.start, seconds=clip.seconds, faults=faults)
        return io.resample(audio, audio.rate, factor=self.factor)

    @cached_property
    def _marks(self) -> dict[str, tuple[Mark, ...]]:
        marks: dict[str, list[Mark]] = {}
        for mark in read_rows(self.ws.audit_folder / "audit.jsonl", MarkRow):
            marks.setdefault(mark.id, []).append(mark)
        return {id: tuple(found) for id, found in marks.items()}

    def marks(self, clip: Clip) -> tuple[Mark, ...]:
        return self._marks.get(clip.id, ())

    @cached_property
    def decisions(self) -> dict[str, Decision]:
        """Clip id -> the decision that holds."""
        return decisions.in_force(decisions.load(self.ws))

    def decision(self, clip: Clip) -> Decision | None:
        return self.decisions.get(clip.id)

    def taken(self, clip: Clip) -> Clip:
        """The clip as training hears it: trimmed or capped where that was decided."""
        return decisions.stretch(clip, self.decision(clip))

    def is_wanted(self, clip: Clip) -> bool:
        """Whether a clip has a text, and nobody decided to leave it out."""
        return decisions.why_left_out(clip, decision=self.decision(clip), marks=()) is None

    def why_not(self, clip: Clip, *, errors: bool = True, texts: bool = True) -> str | None:
        """Why a clip is not for training, by decision or by the audit's errors; nothing when it is."""
        decision, marks = self.decision(clip), self.marks(clip)
        return decisions.why_left_out(clip, decision=decision, marks=marks, errors=errors, texts=texts)

    @cached_property
    def _readings(self) -> dict[str, ReadingRow]:
        return {one.id: one for one in read_rows(self.ws.readings / "readings.jsonl", ReadingRow)}

    def reading(self, clip: Clip) -> Reading:
        reading = self._readings.get(clip.id)
        if reading is None:
            raise WorkspaceError(f"clip {clip.id} has no reading: run 'olu read {self.ws.root}'")
        return reading

    def read_text(self, clip: Clip) -> str:
        """The text as it is read, numbers in words; nothing where 'olu read' has not read this very text."""
        reading = self._readings.get(clip.id)
        return reading.normal if reading is not None and reading.text == clip.text else ""

    @cached_property
    def _alignments(self) -> dict[str, Alignment]:
        return hand_bounds.read_alignments(self.ws)

    def alignment(self, clip: Clip) -> Alignment | None:
        """The times of a clip's words and phones, once it is aligned."""
        return self._alignments.get(clip.id)

    @cached_property
    def sides(self) -> dict[str, Split | None]:
        """Clip id -> the side it was given; a clip without a text has one too, for the day that it gets a text."""
        return read_sides(self.ws)

    def split(self, clip: Clip, *, texts: bool = True) -> Split | None:
        """The side it is on; none for a clip without a text, or one that lies between two sides.

        Without `texts`, for what learns from sound alone, a clip without one has its side too.
        """
        return self.sides.get(clip.id, "train") if clip.text.strip() or not texts else None

    def lost(self, *, only_whole: bool = False) -> list[Lost]:
        """Recordings that are not there, of clips that nobody left out, by source."""
        clips = [clip for clip in self if not self.is_dropped(clip)]
        return lost(self.ws, self.sources, clips, only_whole=only_whole)

    def is_dropped(self, clip: Clip) -> bool:
        decision = self.decision(clip)
        return decision is not None and decision.decision == "drop"

    @property
    def sizes(self) -> dict[str, int]:
        """The size of every recording in bytes, as it was imported."""
        return {audio: row["bytes"] for audio, row in self._watch.imported.items()}

    def check_sources(self) -> None:
        """Refuse where all recordings of a source are gone: a moved folder, or a disk not there."""
        for gone in self.lost(only_whole=True):
            raise CorpusError(gone.sentence(place_now(gone, self.sizes)))

    @property
    def fingerprint(self) -> str:
        """Changes when a clip, its text, its split or a decision of it does."""
        return hash_value([fingerprint(self.ws), sides(self.ws), decisions.hash_chosen(self.ws)])


def are_all_same(ws: Workspace) -> bool:
    """Whether every recording is what was imported, also of clips that were left out: quicker than to ask a corpus."""
    corpus, watch = Corpus(ws, (), read_sources(ws)), ChangeWatch(ws)
    found = any(watch.has_changed(audio, path) for audio in watch.imported if (path := corpus.place(audio)))
    watch.remember()
    return not found


def recordings(ws: Workspace) -> str:
    """Changes when a recording does, is lost or comes back: what the stages that listen depend on.

    Not with its date alone, which is another one on another machine.
    """
    corpus = Corpus.open(ws)
    watch = ChangeWatch(ws)
    states: list[list[Any]] = []
    for audio, path in sorted({clip.audio: corpus._at(clip) for clip in corpus}.items()):
        try:
            state = state_of(path)
            sha256 = watch.imported_hash(audio, path, state)
            states.append([audio, sha256] if sha256 else [audio, state.st_size, state.st_mtime_ns])
        except OSError:
            states.append([audio, None, None])
    watch.remember()
    return hash_value(states)


def sides(ws: Workspace) -> str:
    """Changes when a clip changes sides."""
    path = ws.corpus / "splits.jsonl"
    return hash_file(path) if path.exists() else ""


def read_sides(ws: Workspace) -> dict[str, Split | None]:
    return {row["id"]: row["split"] for row in read_jsonl(ws.corpus / "splits.jsonl", shape=SIDE)}


def imported(ws: Workspace) -> str:
    """Changes when a clip does, or the text that its source has for it; not where the recordings lie: they may move."""
    path = clips_path(ws)
    return hash_value(hash_file(path) if path.exists() else "")


def fingerprint(ws: Workspace) -> str:
    """Changes when a clip or its text does, whether by import or by correction."""
    texts = corrections.hash_texts(ws)
    return hash_value([imported(ws), texts]) if texts else imported(ws)

"""The clips of several workspaces in one: the same ids, speakers kept apart, every recording once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from olu.core.errors import CorpusError
from olu.core.files import Workspace, hash_file, read_jsonl
from olu.core.types import Clip
from olu.corpus import speakers
from olu.corpus.changed_files import RECORDING
from olu.corpus.corrections import Correction, in_force
from olu.corpus.decisions import Decision, load
from olu.corpus.manifest import Corpus
from olu.corpus.readers.rows import exists
from olu.corpus.sources import Source, free_name
from olu.corpus.speakers import SpeakerNames

Content = tuple[str, float, float]  # hash of a recording, start and seconds of a clip in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A clip that was left out, since its sound is here already."""

    workspace: str
    id: str
    same_as: str
    same_text: bool

    def __str__(self) -> str:
        text = "" if self.same_text else ", with another text, which was left out"
        return f"{self.id} of {self.workspace} is the sound of {self.same_as}{text}"


@dataclass(frozen=True, slots=True)
class WorkspaceIndex:
    """The clips, recordings and decisions of a workspace, by what a join finds them by."""

    ws: Workspace
    clips: tuple[Clip, ...]
    sources: dict[str, Source]
    files: dict[str, dict[str, Any]]  # audio -> its row in files.jsonl
    decisions: tuple[Decision, ...]
    corrections: dict[str, Correction]
    spoken_by: SpeakerNames  # who speaks, as it was put right

    @staticmethod
    def of(ws: Workspace) -> WorkspaceIndex:
        empty = not (ws.corpus / "clips.jsonl").exists()
        corpus = Corpus(ws, (), {}) if empty else Corpus.open(ws)
        files = {row["audio"]: row for row in read_jsonl(ws.corpus / "files.jsonl", shape=RECORDING)}
        clips = tuple(map(corpus.as_imported, corpus))
        return WorkspaceIndex(ws, clips, corpus.sources, files, load(ws), in_force(ws), speakers.in_force(ws))

    def root(self, source: str) -> Path:
        return (self.ws.root / self.sources[source].root).resolve()

    def row(self, clip: Clip) -> dict[str, Any]:
        """The recording's hash, size and date; looked at now where the import did not write them down."""
        known = self.files.get(clip.audio)
        if known is not None:
            return known
        name, _, inside = clip.audio.partition("/")
        path = self.root(name) / inside if name in self.sources else Path(clip.audio)
        if not exists(path):
            return {"audio": clip.audio, "sha256": f"lost {path}", "bytes": 0, "mtime_ns": 0}
        state = path.stat()
        return {"audio": clip.audio, "sha256": hash_file(path), "bytes": state.st_size, "mtime_ns": state.st_mtime_ns}


class Join:
    """Takes workspaces one by one into what a host holds. Nothing is written here."""

    def __init__(self, host: WorkspaceIndex, *, same_speakers: bool) -> None:
        self.same_speakers = same_speakers
        self.clips = {clip.id: clip for clip in host.clips}
        self.sources = dict(host.sources)
        self.files = dict(host.files)
        self.names = {host.root(name): name for name in reversed(host.sources)}  # where a source lies -> its name
        self.contents = {_content(clip, host.row(clip)): clip.id for clip in reversed(host.clips)}
        self.spoken_by = host.spoken_by
        self.decisions = {(one.id, one.by): one for one in host.decisions}
        self.corrections = dict(host.corrections)
        self.came: list[Decision] = []
        self.corrected: list[Correction] = []  # that came
        self.ids: list[tuple[Workspace, dict[str, str]]] = []  # of each workspace: of a clip there -> of the same here
        self.added: dict[str, int] = {}
        self.moved: dict[str, str] = {}  # clips of before -> the speaker they have there, and now here too
        self.already = self.texts = 0
        self.duplicates: list[Duplicate] = []
        self.renamed: dict[str, dict[str, str]] = {}  # workspace -> speaker there -> speaker here, of clips that came

    def take(self, guest: WorkspaceIndex) -> None:
        """The clips of one workspace that are not here yet, and what was decided of them."""
        names = {name: self._source(guest, name) for name in guest.sources}
        here = {clip.id: _moved(clip, names, guest) for clip in guest.clips}
        speakers = self._speakers(guest, here)
        ids: dict[str, str] = {}  # of a clip there -> of the same clip here
        for clip in guest.clips:
            ids[clip.id] = self._clip(clip, here[clip.id], guest, speaker=speakers[guest.spoken_by.of(clip)])
        self.ids.append((guest.ws, ids))
        self._decide(guest.decisions, ids)
        self._correct(guest.corrections.values(), ids)

    def _clip(self, clip: Clip, audio: str, guest: WorkspaceIndex, *, speaker: str) -> str:
        same = self.clips.get(clip.id)
        if same is not None and same.audio == audio:
            self._text(same, clip)
            self._speaker(same, clip, guest, speaker=speaker)
            self.already += 1
            return clip.id
        row = {**guest.row(clip), "audio": audio}
        content = _content(clip, row)
        first = clip.id if same is not None else self.contents.get(content)
        if first is not None:
            self._text(self.clips[first], clip)
            same_text = self.clips[first].text == clip.text
            name = str(guest.ws.root.resolve())
            self.duplicates.append(Duplicate(workspace=name, id=clip.id, same_as=first, same_text=same_text))
            return first
        self.clips[clip.id] = replace(clip, audio=audio, speaker=speaker)
        self.contents[content] = clip.id
        self.files[audio] = row
        key = str(guest.ws.root)
        self.added[key] = self.added.get(key, 0) + 1
        if speaker != guest.spoken_by.of(clip):
            self.renamed.setdefault(key, {})[guest.spoken_by.of(clip)] = speaker
        return clip.id

    def _speaker(self, mine: Clip, clip: Clip, guest: WorkspaceIndex, *, speaker: str) -> None:
        """Take over who speaks, put right there or the same by name; what people said here stays."""
        asked = self.same_speakers or guest.spoken_by.of(clip) != clip.speaker
        target = self.spoken_by.names.get(speaker, speaker) if self.same_speakers else speaker
        by_people = self.spoken_by.of(mine) != mine.speaker and mine.id not in self.spoken_by.merged
        if asked and not by_people and self.spoken_by.of(mine) != target:
            self.moved[mine.id] = target

    def speaker_of(self, clip: Clip) -> str:
        """Who speaks in a clip once all is written."""
        return self.moved.get(clip.id) or self.spoken_by.of(clip)

    def _text(self, mine: Clip, clip: Clip) -> None:
        """Take over a text that only they have written down; where both have one, ours stays."""
        if clip.text.strip() and not mine.text.strip():
            self.clips[mine.id] = replace(mine, text=clip.text)
            self.texts += 1

    def _source(self, guest: WorkspaceIndex, name: str) -> str:
        """A source of a workspace under the name it gets here: the one it has when it is the same place."""
        root = guest.root(name)
        if root not in self.names:
            free = self.names[root] = free_name(self.sources, self.clips.values())
            self.sources[free] = Source(name=free, root=str(root), layout=guest.sources[name].layout)
        return self.names[root]

    def _speakers(self, guest: WorkspaceIndex, here: Mapping[str, str]) -> dict[str, str]:
        """Speaker there -> speaker here. A name that is taken here is taken to be somebody else."""
        theirs = dict.fromkeys(map(guest.spoken_by.of, guest.clips))
        if self.same_speakers:
            return {name: name for name in theirs}
        known: dict[str, str] = {}  # from clips that came in earlier, so that more clips of a person stay theirs
        for clip in guest.clips:
            before, there = self.clips.get(clip.id), guest.spoken_by.of(clip)
            if before is None or before.audio != here[clip.id]:
                continue
            if there == clip.speaker:
                known.setdefault(there, before.speaker)
            elif _is_apart(now := self.spoken_by.of(before), there, guest):  # put right there, and merged since
                known.setdefault(there, now)
        taken = {clip.speaker for clip in self.clips.values()} | self.spoken_by.known
        chosen = {}
        for name in theirs:
            prefix = guest.ws.name
            tries = (name, f"{prefix}-{name}", *(f"{prefix}{n}-{name}" for n in range(2, len(taken) + 3)))
            chosen[name] = known.get(name) or next(one for one in tries if one not in taken)
            taken.add(chosen[name])
        return chosen

    def _decide(self, theirs: Iterable[Decision], ids: Mapping[str, str]) -> None:
        """Take over what was decided there of clips that nothing was decided of here."""
        for one in theirs:
            id = ids.get(one.id)
            if id is not None and (id, one.by) not in self.decisions:
                self.decisions[id, one.by] = replace(one, id=id)
                self.came.append(self.decisions[id, one.by])

    def _correct(self, theirs: Iterable[Correction], ids: Mapping[str, str]) -> None:
        """Take over texts that were corrected there and not here."""
        for one in theirs:
            id = ids.get(one.id)
            if id is not None and id not in self.corrections:
                self.corrections[id] = replace(one, id=id)
                self.corrected.append(self.corrections[id])

    def used(self) -> tuple[list[Source], list[dict[str, Any]]]:
        """The sources and the recordings that clips lie in."""
        audio = {clip.audio for clip in self.clips.values()}
        names = {one.partition("/")[0] for one in audio}
        sources = [source for name, source in self.sources.items() if name in names]
        return sources, [row for one, row in self.files.items() if one in audio]


def _moved(clip: Clip, names: Mapping[str, str], guest: WorkspaceIndex) -> str:
    name, _, inside = clip.audio.partition("/")
    if name not in names:
        raise CorpusError(f"clip {clip.id} of {guest.ws.root}: its source {name!r} is unknown there: import it again")
    return f"{names[name]}/{inside}"


def _is_apart(here: str, there: str, guest: WorkspaceIndex) -> bool:
    """Whether a name here is the one that a speaker there has, or got to be told apart."""
    return here == there or bool(re.fullmatch(rf"{re.escape(guest.ws.name)}\d*-{re.escape(there)}", here))


def _content(clip: Clip, row: Mapping[str, Any]) -> Content:
    return row["sha256"], round(clip.start, 3), round(clip.seconds, 3)

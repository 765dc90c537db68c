"""Who speaks, as people put it right: names changed, two names made one, clips given to another.

It lies beside the clips, and every corpus that is opened has it laid over. The manifest keeps what the source said, so
that an import compares with that, and more clips of a speaker who was renamed get the new name too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from olu.core.files import Workspace, hash_value
from olu.core.types import EXACT, Clip
from olu.core.workspace_lock import appending
from olu.corpus.corrections import new_batch, now
from olu.corpus.journal import Journal

OLU = "olu"  # who changed it, where no person did: a cut gives pieces the speaker of the whole
MERGE = "olu merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """All clips of a speaker have another name from here on; one that is taken makes the two one."""

    speaker: str
    to: str
    by: str
    at: str
    batch: str  # the same for all that one command changed: it is taken back together
    __pydantic_config__ = EXACT

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign:
    """One clip is of this speaker."""

    id: str
    to: str
    by: str
    at: str
    batch: str
    __pydantic_config__ = EXACT

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """That the changes of one batch hold no more."""

    undo: str  # the batch
    by: str
    at: str
    __pydantic_config__ = EXACT


Change = Rename | Assign
Row = Rename | Assign | TakenBack


def _check(one: Change) -> None:
    if not one.to.strip():
        raise ValueError(f"no change of a speaker: {asdict(one)}")


@dataclass(frozen=True)
class SpeakerNames:
    """The names that hold: of speakers as they were imported, and of single clips, which go first."""

    names: Mapping[str, str]
    clips: Mapping[str, str]
    merged: frozenset[str] = frozenset()  # clips whose name came with a merge, and that nobody here has named since

    def of(self, clip: Clip) -> str:
        return self.clips.get(clip.id) or self.names.get(clip.speaker, clip.speaker)

    @property
    def known(self) -> set[str]:
        """Every name that a change begins or ends with."""
        return {*self.names, *self.names.values(), *self.clips.values()}

    def __bool__(self) -> bool:
        return bool(self.names or self.clips)

    def lay_over(self, clips: Iterable[Clip]) -> tuple[Clip, ...]:
        """The clips with the names that hold."""
        if not self:
            return tuple(clips)
        return tuple(clip if (name := self.of(clip)) == clip.speaker else replace(clip, speaker=name) for clip in clips)


def held(rows: Iterable[Row]) -> list[Row]:
    """The changes that were not taken back, in order."""
    every = list(rows)
    gone = {one.undo for one in every if isinstance(one, TakenBack)}
    return [one for one in every if not isinstance(one, TakenBack) and one.batch not in gone]


def journal(ws: Workspace) -> Journal[Row]:
    return Journal(ws, "speakers.jsonl", Rename | Assign | TakenBack, held)


def path(ws: Workspace) -> Path:
    return journal(ws).path


def load(ws: Workspace) -> list[Change]:
    return [one for one in held(journal(ws).rows()) if not isinstance(one, TakenBack)]


def in_force(ws: Workspace) -> SpeakerNames:
    """The changes one after the other, as one step from what was imported."""
    names: dict[str, str] = {}
    clips: dict[str, str] = {}
    merged: set[str] = set()
    for one in load(ws):
        if isinstance(one, Assign):
            clips[one.id] = one.to
            (merged.add if one.by == MERGE else merged.discard)(one.id)
            continue
        merged -= {id for id, name in clips.items() if name == one.speaker}
        for table in (names, clips):
            table.update({key: one.to for key, name in table.items() if name == one.speaker})
        names.setdefault(one.speaker, one.to)
    return SpeakerNames({old: new for old, new in names.items() if old != new}, clips, frozenset(merged))


def add(ws: Workspace, new: Sequence[Change]) -> list[str]:
    """Append them; returns what a person should know of the file."""
    return journal(ws).append(list(new))


def keep_names(ws: Workspace, clips: Iterable[Clip], names: Mapping[str, str]) -> None:
    """Write down whose some new clips are (id -> name), where what holds for others like them would say otherwise."""
    known = in_force(ws)
    wrong = {clip.id: names[clip.id] for clip in clips if clip.id in names and known.of(clip) != names[clip.id]}
    if wrong:
        assign(ws, wrong, by=OLU)


def assign(ws: Workspace, names: Mapping[str, str], *, by: str) -> list[str]:
    """Give clips (id -> name) to speakers, in one batch."""
    told = {"by": by, "at": now(), "batch": new_batch()}
    return add(ws, [Assign(id=id, to=name, **told) for id, name in names.items()])


def take_back(ws: Workspace, *, who: str) -> list[Change]:
    """What a person's last command, or the last merge, changed; returns what was taken back."""
    with appending(ws):
        every = [one for one in load(ws) if one.by != OLU]
        gone = [one for one in every if one.batch == every[-1].batch]
        if gone:
            journal(ws).append([TakenBack(undo=gone[-1].batch, by=who, at=now())])
    return gone


def hash_speakers(ws: Workspace) -> str:
    """Changes when another name holds; the same as before any change when all were taken back."""
    known = in_force(ws)
    return hash_value([dict(known.names), dict(known.clips)]) if known else ""

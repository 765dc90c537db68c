"""Write the corpus of a workspace in the form of another program: cleaned, cut, corrected, with its rights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from olu.core.errors import ExportError
from olu.core.files import Workspace, disk_bytes, whole, write_text
from olu.core.job import Job, Note
from olu.core.words import length, many, size
from olu.corpus.manifest import Corpus
from olu.export.corpora.card import dataset_card
from olu.export.corpora.forms import CorpusForm, form_named, write_corpus
from olu.export.corpora.subject import SIDES, CorpusSubject, corpus_subject
from olu.export.rights import check_publishing
from olu.stages.audit import STAGE as AUDIT
from olu.stages.audit import most_seconds
from olu.stages.verbs.corpus import ExportCorpusOptions

LOUDNESS = (-60.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class ExportCorpusSummary:
    folder: str
    to: str
    clips: int
    seconds: float
    bytes: int
    rate: int
    speakers: list[str]
    sides: dict[str, int]  # side -> clips
    left_out: dict[str, int]  # why -> clips
    licence: str
    notes: list[str]
    pushed: str = ""  # the address on the hub

    def sentences(self, options: ExportCorpusOptions) -> Iterator[str]:
        sides = ", ".join(f"{count} {side}" for side, count in self.sides.items())
        yield f"{self.folder}: {many(self.clips, 'clip')} ({sides}), {length(self.seconds)}, {size(self.bytes)}"
        for why, count in self.left_out.items():
            yield f"{many(count, 'clip')} left out: {why}"
        yield f"Licence: {self.licence or 'not stated'}"
        if self.pushed:
            yield f"On the hub: {self.pushed}"


def run(options: ExportCorpusOptions) -> Job[ExportCorpusSummary]:
    """`olu export-corpus`"""
    made = yield from export_corpus(options)
    yield from map(Note, made.notes)
    return made


def export_corpus(wish: ExportCorpusOptions) -> Job[ExportCorpusSummary]:
    form = form_named(wish.to)
    _check(wish)
    ws = Workspace.open(wish.ws)
    folder = wish.output or Path(f"{ws.name}-{form.name}")
    _check_place(folder, ws)
    corpus = Corpus.open(ws)
    subject = corpus_subject(
        corpus,
        bars=form.bars,
        speaker=wish.speaker,
        rate=wish.rate,
        loudness=wish.loudness or 0.0,
        licence=wish.licence.strip(),
        override=wish.override_licence.strip(),
    )
    _check_speakers(subject, form)
    if wish.push:
        check_publishing(subject.rights)
    try:
        with whole(folder, new=True) as partial:
            partial.mkdir()
            yield from write_corpus(subject, form, partial)
            write_text(partial / "README.md", dataset_card(subject, form))
    except FileExistsError:
        raise ExportError(f"{folder} is there already: choose another name with -o") from None
    pushed = ""
    if wish.push:
        from olu.export.formats import push  # a network library, and few exports need it

        pushed = push(folder, wish.push, public=wish.public, kind="dataset")
    return ExportCorpusSummary(
        folder=str(folder),
        to=form.name,
        clips=len(subject.clips),
        seconds=round(subject.seconds, 3),
        bytes=disk_bytes(folder),
        rate=subject.rate,
        speakers=subject.speakers,
        sides={side: len(clips) for side in SIDES if (clips := subject.side(side))},
        left_out=subject.left_out,
        licence=subject.rights.licence,
        notes=[*_unheard(ws), *_uncut(subject), *form.notes(subject.speakers), *subject.notes, *subject.rights.notes()],
        pushed=pushed,
    )


def _check(wish: ExportCorpusOptions) -> None:
    """Refuse what cannot be, before anything is read."""
    if wish.public and not wish.push:
        raise ExportError("--public has no effect without --push REPO")
    if wish.push:
        from olu.export.formats import check_repo  # a network library, and few exports need it

        check_repo(wish.push)
    if wish.rate is not None and not 4000 <= wish.rate <= 192_000:
        raise ExportError(f"--rate {wish.rate}: give 4000 to 192000 samples a second")
    if wish.loudness is not None and not LOUDNESS[0] <= wish.loudness < LOUDNESS[1]:
        raise ExportError(f"--loudness {wish.loudness:g}: give LUFS from -60 to below 0, such as -23")


def _check_place(folder: Path, ws: Workspace) -> None:
    if folder.exists() or folder.is_symlink():
        raise ExportError(f"{folder} is there already: choose another name with -o")
    if folder.resolve().is_relative_to(ws.root.resolve()):
        raise ExportError(f"{folder} lies inside the workspace: choose a place outside with -o")


def _check_speakers(subject: CorpusSubject, form: CorpusForm) -> None:
    if not form.several and len(subject.speakers) > 1:
        raise ExportError(
            f"{subject.corpus.ws.root} has {len(subject.speakers)} speakers, and {form.name!r} has no place for their"
            f" names: name one with --speaker, such as {subject.speakers[0]!r}, or take --to coqui"
        )


def _unheard(ws: Workspace) -> list[str]:
    """Nobody listened to these clips as they are now."""
    if AUDIT.state(ws) == "fresh":
        return []
    return [f"the audit has not heard these clips as they are now: 'olu audit {ws.root}' finds what is wrong with them"]


def _uncut(subject: CorpusSubject) -> list[str]:
    """Clips that most trainings cannot hold."""
    long = [one.clip.seconds for one in subject.clips if one.clip.seconds > most_seconds()]
    if not long:
        return []
    short = f"'olu align {subject.corpus.ws.root}' and 'olu cut' make short ones of them"
    return [
        f"{many(len(long), 'clip')} longer than {length(most_seconds())}, up to {length(max(long))}: most trainings"
        f" leave such out or run out of memory; {short}"
    ]

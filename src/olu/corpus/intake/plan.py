"""What an import would do: made of what a source and a workspace hold, without a look at the disk.

`name_source` says what the source is called here, `look_around` looks at the recordings that the plan depends on, and
`plan_import` is pure: the same inputs give the same plan, whether it is shown or applied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from olu.corpus.changed_files import ChangeWatch
from olu.corpus.doubts import Standing
from olu.corpus.intake.held import HeldCorpus
from olu.corpus.intake.merge import Merge
from olu.corpus.intake.place import ImportPlace
from olu.corpus.intake.probe import RecordingFacts, clip_id, fit, tidy
from olu.corpus.manifest import Corpus
from olu.corpus.readers import Layout
from olu.corpus.readers.rows import Doubt, Problem, Row, Timing, Why, exists
from olu.corpus.sources import Source

EXAMPLES = 5
MUCH = 0.1  # of the rows or of the minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSource:
    """What was read of a source, and what its recordings are."""

    place: ImportPlace
    layout: Layout
    root: Path  # where the recordings of its rows lie now
    origin: Path  # what the source is known by at the next import
    copy: bool  # its recordings come into the workspace
    rows: Sequence[Row] = ()
    probed: Sequence[tuple[Row, RecordingFacts | Problem]] = ()
    problems: Sequence[Problem] = ()
    notes: Sequence[str] = ()
    doubts: Sequence[Doubt | Timing] = ()
    languages: Sequence[str | None] = ()  # what the source says of its language
    ours: bool = False  # its recordings lie in a folder of our own, and are moved out of it
    streamed: bool = False  # its recordings lie in the workspace already
    written: Sequence[str] = ()  # of these, what was written now
    first: Mapping[str, bytes] = field(default_factory=dict)  # of a stream that is only looked at: the first sounds


@dataclass(frozen=True, slots=True)
class SourceName:
    """What a source is called in the corpus, where it lies from now on, and which recordings are known by other names.

    Its recordings may belong to sources that were imported before: then `known_as` has them.
    """

    name: str
    home: str  # the root that is written down
    known_as: Mapping[str, str]
    is_other: bool  # all of it belongs to another source

    def audio(self, file: str) -> str:
        return self.known_as.get(file) or f"{self.name}/{file}"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the disk said of recordings that were imported before."""

    missing: Collection[str] = ()  # of clips that come again under another name: not where they were
    changed: Collection[str] = ()  # copies in the workspace that are no longer what was copied


def name_source(held: HeldCorpus, found: FoundSource) -> SourceName:
    """The name it had before; that of a source which has moved here; else a new one."""
    files = [row.audio for row, _ in found.probed]
    known_as = held.known_as(found.origin, files) if "film" in found.layout.takes else {}
    owners = {source_of(known_as.get(file, "")) for file in files}
    if len(owners) == 1 and (owner := owners.pop()):
        return SourceName(owner, held.sources[owner].root, known_as, True)
    here = {row.audio: facts.sha256 for row, facts in found.probed if not isinstance(facts, Problem)}
    name = held.name(found.origin, copy=found.copy, here=here)
    return SourceName(name, f"corpus/audio/{name}" if found.copy else str(found.root), known_as, False)


def look_around(held: HeldCorpus, found: FoundSource, named: SourceName) -> Surroundings:
    places = places_of(held, named)
    clips = {clip.id: clip for clip in held.clips}
    copied = copied_in(held, named)
    missing, changed = set(), set()
    for row, facts in found.probed:
        span = None if isinstance(facts, Problem) else fit(row, facts)
        if isinstance(facts, Problem) or span is None or isinstance(span, Problem):
            continue
        audio = named.audio(row.audio)
        old = clips.get(clip_id(row.audio, sha256=facts.sha256, start=span[0], seconds=span[1]))
        if old is not None and old.audio != audio and not is_there(places, old.audio):
            missing.add(old.audio)
        if source_of(audio) in copied and facts.is_other(places[source_of(audio)] / audio.partition("/")[2]):
            changed.add(audio)
    return Surroundings(frozenset(missing), frozenset(changed))


def plan_import(
    held: HeldCorpus, found: FoundSource, named: SourceName, around: Surroundings, *, speaker: str | None = None
) -> ImportPlan:
    """Everything that the import will write, and what it will tell."""
    places = places_of(held, named)
    merge = Merge(held.clips, places=places, corrected=held.corrected, known_as=named.known_as, missing=around.missing)
    joined = 0
    for row, facts in found.probed:
        if isinstance(facts, Problem):
            merge.problems.append(facts)
        else:
            merge.take(row, facts, source=named.name, language=held.ws.language, speaker=speaker)
            joined += row.read - 1
    merge.settle(complete=found.layout.complete)
    other = {audio: facts for audio, (facts, _) in merge.seen.items() if audio in around.changed}
    merge.fresh = {**other, **merge.fresh}  # a copy that was changed is made anew
    problems = [*found.problems, *(tidy(problem) for problem in merge.problems)]
    return ImportPlan(
        held=held,
        found=found,
        named=named,
        merge=merge,
        joined=joined,
        problems=tuple(replace(problem, message=found.place.said(problem.message)) for problem in problems),
        sources=_sources(held, merge, Source(name=named.name, root=named.home, layout=found.layout.name)),
    )


@dataclass(frozen=True, kw_only=True)
class ImportPlan:
    """What comes into a corpus, what becomes of what it has, and what is left out."""

    held: HeldCorpus
    found: FoundSource
    named: SourceName
    merge: Merge  # done: nothing more is taken
    problems: tuple[Problem, ...]
    sources: dict[str, Source]  # after it
    joined: int  # rows of the source that were taken as a part of another one's clip

    @property
    def is_empty(self) -> bool:
        """Whether nothing that was named can be used."""
        return not self.merge.added + self.merge.already

    @property
    def is_new(self) -> bool:
        return bool(self.merge.fresh) or self.sources != self.held.sources

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """Clips that have another text or lie elsewhere after it."""
        return tuple(clip.id for clip in self.held.clips if self.merge.clips.get(clip.id, clip) != clip)

    @cached_property
    def gone(self) -> tuple[str, ...]:
        """Clips that give way to others."""
        return tuple(clip.id for clip in self.held.clips if clip.id not in self.merge.clips)

    @cached_property
    def left(self) -> tuple[str, ...]:
        """Clips that came again and stay as they are."""
        taken = {id for _, ids in self.merge.seen.values() for id in ids}
        new = {*self.merge.new, *self.changed}
        return tuple(id for id in self.merge.clips if id in taken and id not in new)

    @cached_property
    def files(self) -> dict[str, dict[str, Any]]:
        """Recording -> its row in files.jsonl after it."""
        files = dict(self.held.files)
        lacking = {audio: facts for audio, (facts, _) in self.merge.seen.items() if audio not in files}
        for audio, facts in {**lacking, **self.merge.fresh}.items():
            files[audio] = facts.row(audio)
        named = {clip.audio for clip in self.merge.clips.values()}
        return {audio: row for audio, row in files.items() if audio in named}

    @cached_property
    def copies(self) -> tuple[str, ...]:
        """Recordings to be copied into the workspace."""
        copied = copied_in(self.held, self.named)
        return tuple(one for one in self.merge.fresh if source_of(one) in copied and not self.found.streamed)

    @property
    def origins(self) -> dict[str, str]:
        """Where copied sources come from, by name."""
        origins = self.held.origins
        new = self.found.copy and not self.named.is_other
        return {**origins, self.named.name: str(self.found.origin)} if new else origins

    @property
    def doubts(self) -> list[Doubt]:
        return [one for one in self.found.doubts if isinstance(one, Doubt)]

    def standing(self, *, source: Path, options: Sequence[str]) -> list[Standing]:
        """Its doubts with the import that mends them; `source` and `options`: as they were named."""
        doubts = self.doubts
        several = self.found.place.unpacked and len(doubts) > 1  # of an archive: no single one can be named
        return [
            Standing(
                audio=self.named.audio(one.audio),
                text=one.text,
                source="" if several else str(source if source.is_file() else source / one.sound),
                options=tuple(options),
                remedy=one.remedy,
            )
            for one in doubts
        ]

    def timings(self) -> dict[str, Timing]:
        """Hash of a recording -> what was said of the times of its subtitles, of those that were taken."""
        used = {self.named.audio(one.audio): one for one in self.found.doubts if isinstance(one, Timing)}
        known = {audio: self.merge.seen[audio][0].sha256 for audio in used if audio in self.merge.seen}
        return {hash: replace(used[audio], audio=audio, again="") for audio, hash in known.items()}

    def corpus(self) -> Corpus:
        """The corpus as it will be, for whoever only shows the plan: nothing is written for it."""
        clips = tuple(self.merge.clips.values())
        made = {*self.copies, *(self.merge.seen if self.found.streamed else ())}
        known = {audio: row for audio, row in self.files.items() if audio not in made}
        corpus = Corpus.laid_over(self.held.ws, clips, self.sources, written=self.held.corrected)
        corpus._watch = ChangeWatch(self.held.ws, imported=known)
        return corpus

    def tally(self) -> Tally:
        """What was left out, summed up."""
        found = Counter(problem.why for problem in self.problems).most_common()
        first: dict[Why, int] = {}
        for at, problem in enumerate(self.problems):
            first.setdefault(problem.why, at)
        rest = (at for at in range(len(self.problems)) if at not in first.values())
        examples = sorted([*first.values(), *rest][:EXAMPLES])
        return Tally(
            {why.name.lower(): number for why, number in found},
            ", ".join(why.told(number) for why, number in found),
            tuple(str(self.problems[at]) for at in examples),
            self._lost(),
        )

    def _lost(self) -> str:
        """A sentence where much is lost. A text that belongs to no recording is no row."""
        merge, problems = self.merge, self.problems
        rows = sum(problem.why is not Why.NO_SOUND for problem in problems)
        every = rows + merge.added + merge.already + self.joined
        gone = sum(problem.seconds for problem in problems) / 60
        kept = sum(merge.clips[id].seconds for _, ids in merge.seen.values() for id in ids if id in merge.clips) / 60
        if rows <= MUCH * every and gone <= MUCH * (gone + kept):
            return ""
        said = f"{rows} of {every} rows ({100 * rows / every:.0f} %)"
        if gone:
            said += f", {gone:.1f} of {gone + kept:.1f} minutes by their times"
        return f"{said}: mend them and import again, which adds only what is new"


def places_of(held: HeldCorpus, named: SourceName) -> dict[str, Path]:
    roots = {one.name: one.root for one in held.sources.values()} | {named.name: named.home}
    return {name: held.ws.root / root for name, root in roots.items()}


def copied_in(held: HeldCorpus, named: SourceName) -> set[str]:
    """Sources whose recordings lie in the workspace."""
    roots = {one.name: one.root for one in held.sources.values()} | {named.name: named.home}
    return {name for name, root in roots.items() if not Path(root).is_absolute()}


def _sources(held: HeldCorpus, merge: Merge, source: Source) -> dict[str, Source]:
    """The sources that clips lie in, by name; one that gave none is struck out."""
    used = {source_of(clip.audio) for clip in merge.clips.values()}
    known = dict(held.sources)
    if merge.fresh or source.name not in known or known[source.name].root != source.root:
        known[source.name] = source
    return {name: one for name, one in known.items() if name in used}


def source_of(audio: str) -> str:
    return audio.partition("/")[0]


def is_there(places: Mapping[str, Path], audio: str) -> bool:
    name, _, inside = audio.partition("/")
    return name in places and exists(places[name] / inside)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many were left out for which reason."""

    reasons: dict[str, int]  # code -> how many, the commonest first
    told: str  # the same in words
    examples: tuple[str, ...]  # one of each reason first
    lost: str  # a sentence where much is lost

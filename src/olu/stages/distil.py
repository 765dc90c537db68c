"""Let one voice teach another: it speaks many sentences, and what is well understood becomes a corpus of a workspace.

The sound lies in `distilled/` of the workspace. `corpus/distilled.jsonl` has a line for each sentence that was tried,
so that a call that was killed, or that asks for more, goes on where the last one ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from olu.audio import io
from olu.core.errors import ConfigError, OluError, TextError, VoiceError, WorkspaceError
from olu.core.files import Workspace, hash_value, write_text
from olu.core.job import Job, Note, Tick
from olu.core.machine import this_machine
from olu.core.stage import need_training
from olu.core.threads import ask_for
from olu.core.told import Remedy
from olu.core.types import Audio
from olu.core.words import length, many
from olu.corpus.journal import Journal
from olu.corpus.rights import Rights
from olu.evaluate.metrics.cer import edits
from olu.evaluate.subject import text_of
from olu.families.runs import ready
from olu.speak.package import package_place
from olu.speak.stream import Manner
from olu.speak.voice import Voice, each
from olu.stages.import_ import import_source
from olu.stages.new import new_workspace
from olu.stages.speak import knobs_of
from olu.stages.verbs.voices import DistilOptions
from olu.train.guards.progress import ENDLESS, REPEATS, SILENT_LEVEL, SILENT_PEAK
from olu.train.validation import measure

if TYPE_CHECKING:
    from olu.families.recogniser.recognise import Trained

FOLDER, JOURNAL = "distilled", "distilled.jsonl"
SHORTEST = 0.6  # seconds that a clip needs to be trained on
FEW = 20  # sentences whose pace says how long others should take
MOST_TOKENS = 1000  # of a sentence: a longer one is no clip
TOGETHER = 16  # sentences between two looks at how much there is


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidSentence:
    """A line of distilled.jsonl. `why` it was left out; nothing where it was kept."""

    id: str
    text: str
    seconds: float = 0.0
    why: str = ""

    @property
    def pace(self) -> float:
        """Seconds a letter."""
        return self.seconds / _letters(self.text)


@dataclass(frozen=True)
class DistilSummary:
    workspace: str
    teacher: str
    spoken: int  # sentences tried, now and before
    kept: int
    seconds: float
    left_out: dict[str, int]  # why -> sentences
    judged_by: str  # the recogniser that listened; nothing where none did
    licence: str
    added: int

    def sentences(self, options: DistilOptions) -> Iterator[str]:
        yield (
            f"{self.workspace}: {many(self.kept, 'clip')} of {self.spoken} sentences kept, {length(self.seconds)} of"
            f" synthetic speech by {self.teacher}."
        )
        for why, count in self.left_out.items():
            yield f"Left out: {count}, {why}"
        if not self.judged_by:
            yield "No recogniser listened, so clips that nobody would understand may be among them: --recogniser WS."
        yield f"Licence of the teacher, and so of what learns from it: {self.licence or 'none is named'}."
        small = {"set": "model.size=small", "from_scratch": True}
        yield f"Next: {Remedy('train', (Path(self.workspace),), small)}"


def run(options: DistilOptions) -> Job[DistilSummary]:
    """`olu distil`"""
    ask_for(options.threads)
    teacher = Voice.open(package_place(options.voice), threads=options.threads or 0)
    texts = _texts(options.texts)
    listener = _listener(options, teacher)
    teacher.begin(texts[0], manner=_manner(options, seed=options.seed))  # a wish that it does not take is refused here
    ws = _workspace(options.to, teacher)
    work = Distilling(ws, teacher, options, listener)
    yield from work.speak(texts)
    if not work.kept:
        why = ", ".join(f"{count}: {why}" for why, count in _left_out(work.said.values()).items())
        raise VoiceError(
            f"none of {many(len(work.said), 'sentence')} that {teacher.name} spoke can be used ({why}): listen to it"
            " with 'olu speak'"
        )
    write_text(work.folder / "metadata.csv", "".join(f"{one.id}|{one.text}\n" for one in work.kept))
    rights = _rights(teacher)
    speaker = options.speaker or (teacher.speakers[0] if teacher.speakers else teacher.name)
    taken = yield from import_source(ws, work.folder, rights=rights, speaker=speaker)
    return DistilSummary(
        workspace=str(options.to),
        teacher=teacher.name,
        spoken=len(work.said),
        kept=len(work.kept),
        seconds=round(work.seconds, 3),
        left_out=_left_out(work.said.values()),
        judged_by=listener.version if listener else "",
        licence=rights.licence,
        added=taken.added,
    )


class Distilling:
    """A teacher at work: sentence by sentence, each kept or left out with its reason."""

    def __init__(self, ws: Workspace, teacher: Voice, wish: DistilOptions, listener: Trained | None) -> None:
        self.folder = ws.root / FOLDER
        self._teacher, self._wish, self._listener = teacher, wish, listener
        (self.folder / "wavs").mkdir(parents=True, exist_ok=True)
        self._journal = Journal[SaidSentence](ws, JOURNAL, SaidSentence, lambda rows: list(rows))
        self.said = {one.id: one for one in self._journal.rows()}

    def manner(self, take: int) -> Manner:
        return _manner(self._wish, seed=self._wish.seed + take)

    @property
    def kept(self) -> list[SaidSentence]:
        return [one for one in self.said.values() if not one.why]

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.kept)

    def speak(self, texts: Sequence[str]) -> Job[None]:
        """Every text that was not said before, until there are enough hours."""
        wanted = 3600 * self._wish.hours if self._wish.hours else float("inf")
        named = {f"{self._teacher.language}-{hash_value([text, self._teacher.name])[:10]}": text for text in texts}
        new = [id for id in named if id not in self.said]
        if not new:
            yield Note("every sentence was said before: nothing new")
        for first in range(0, len(new), TOGETHER):
            if self.seconds >= wanted:
                yield Note(
                    f"{length(self.seconds)} are kept, which is enough: {many(len(new) - first, 'sentence')} left"
                )
                return
            some = new[first : first + TOGETHER]
            pace = float(np.median([one.pace for one in self.kept])) if len(self.kept) >= FEW else None
            work = partial(self._said, named, some, pace)
            made = [found for _, found in each([named[id] for id in some], work, threads=self._wish.threads or 0)]
            for failed in (one for one in made if isinstance(one, OluError)):
                raise failed
            self._journal.append(done := [one for one in made if isinstance(one, SaidSentence)])
            self.said |= {one.id: one for one in done}
            yield Tick(min(first + TOGETHER, len(new)), len(new), f"{length(self.seconds)} kept")

    def _said(self, named: Mapping[str, str], ids: Sequence[str], pace: float | None, number: int) -> SaidSentence:
        """The first of several takes that is good, or why none is."""
        id, why = ids[number], ""
        text, seconds = named[id], 0.0
        try:
            read = self._teacher.read(text, most_tokens=MOST_TOKENS, plain=True)
            if read.unsaid:
                return SaidSentence(id=id, text=text, why=f"the voice cannot say all of it: {', '.join(read.unsaid)}")
            for take in range(self._wish.tries):
                audio = self._teacher.speak(text, manner=self.manner(take))
                seconds, why = round(audio.seconds, 3), self._fault(text, audio, pace)
                if not why:
                    io.write(self.folder / "wavs" / f"{id}.wav", audio)
                    break
        except TextError as bad:
            return SaidSentence(id=id, text=text, why=f"it could not be said: {bad}")
        return SaidSentence(id=id, text=text, seconds=seconds, why=why)

    def _fault(self, text: str, audio: Audio, pace: float | None) -> str:
        figures = measure("", audio)
        if figures.peak < SILENT_PEAK or figures.level < SILENT_LEVEL or audio.seconds < SHORTEST:
            return "nothing is heard, or too little"
        if figures.repeats > REPEATS:
            return "a stretch is said twice"
        if pace and audio.seconds > ENDLESS * pace * _letters(text):
            return "it does not end"
        if self._listener is None:
            return ""
        wanted = self._listener.target(self._teacher.frontend.read(text, plain=True))
        wrong = edits(wanted, self._listener.heard(audio)).rate
        return "it is not understood" if wrong > self._wish.most_wrong else ""


def _manner(wish: DistilOptions, *, seed: int) -> Manner:
    return Manner(seed=seed, speaker=wish.speaker, knobs=knobs_of(wish.knob), plain=True)


def _letters(text: str) -> int:
    return max(1, sum(one.isalpha() for one in text))


def _texts(path: Path) -> list[str]:
    if not path.is_file():
        raise ConfigError(f"{path} is not there: give a text file with one sentence on each line")
    texts = list(dict.fromkeys(line.strip() for line in text_of(path).split("\n") if line.strip()))
    if not texts:
        raise ConfigError(f"{path} is empty: give one sentence on each line")
    if strange := next((text for text in texts if "|" in text), None):
        raise ConfigError(f"{path}: {strange[:60]!r} has a bar in it, which parts columns: take it out")
    return texts


def _listener(options: DistilOptions, teacher: Voice) -> Trained | None:
    """The recogniser that filters: of the workspace that is named, or of the one that the voice lies in."""
    named = options.recogniser
    place = named or (options.voice if (options.voice / "olu.toml").is_file() else None)
    if place is None:
        return None
    need_training("olu distil --recogniser")
    ws = Workspace.open(place)
    if ws.language != teacher.language:
        raise WorkspaceError(f"--recogniser {place} hears {ws.language}, and {teacher.name} speaks {teacher.language}")
    found = ready(ws, units="letters", everything=False)
    if found is None and named:
        raise WorkspaceError(
            f"--recogniser {place} has none that fits its corpus: 'olu evaluate {place} --only cer' trains one"
        )
    from olu.families.recogniser.recognise import load

    return load(found, language=ws.language, device=this_machine(options.device).device) if found else None


def _workspace(root: Path, teacher: Voice) -> Workspace:
    if not (root / "olu.toml").exists():
        return new_workspace(root, language=teacher.language)
    ws = Workspace.open(root)
    if ws.language != teacher.language:
        raise WorkspaceError(
            f"--to {root} is a workspace for {ws.language}, and {teacher.name} speaks {teacher.language}: name another"
        )
    return ws


def _rights(teacher: Voice) -> Rights:
    """What holds for the speech of a voice: what holds for the voice, and that no person said it."""
    facts, held = teacher.facts, teacher.facts.get("rights")
    told = {name: facts.get(name) for name in ("licence", "consent", "credits")}
    told["agreed"] = held.get("agreed") if isinstance(held, dict) else None
    kept = {name: value for name, value in told.items() if isinstance(value, str) and value}
    return Rights(**kept, source=f"synthetic: spoken by the voice {teacher.name}, not recorded")


def _left_out(said: Iterable[SaidSentence]) -> dict[str, int]:
    return dict(Counter(one.why.partition(":")[0] for one in said if one.why).most_common())

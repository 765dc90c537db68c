"""What the runs of a sweep are judged by: what is heard of held-out sentences, or the family's own validation loss.

Every run says, or hears, the same sentences, so that two runs are compared sentence by sentence.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.job import Job, Tick
from olu.corpus.manifest import Corpus
from olu.evaluate.estimates import Estimate
from olu.evaluate.evaluation import References, Sample
from olu.evaluate.metrics.cer import edits
from olu.evaluate.sentences import PlannedSentence, reader_of, spoken_takes
from olu.evaluate.subject import of_voice
from olu.families.runs import ready
from olu.stages.evaluate_choice import GROUPS
from olu.stages.export import voice_at
from olu.stages.listener import known_of
from olu.stages.tune_results import SentenceScores
from olu.train.family import Family
from olu.train.run import Run
from olu.train.validation import length_off

if TYPE_CHECKING:
    from olu.train.engine import Engine
    from olu.train.setup.job import TrainingJob

HEARD, LOSS = "heard", "loss"
MOST_WRONG = 0.8  # of the letters: above it nothing is heard yet, and noise decides who is better
UNSAID = 3.0  # the heard score of a sentence that cannot be said: faulty, of no length, not understood


@dataclass(frozen=True)
class TrainedStep:
    """A run of a sweep as it stands after its newest step."""

    run: Run
    job: TrainingJob
    engine: Engine


class SweepJudge(Protocol):
    @property
    def name(self) -> str:
        """What judges, and with what."""
        ...

    @property
    def bar(self) -> float | None:
        """The score from which on a run has not begun to do what it is judged by; nothing where there is no such."""
        ...

    def scores(self, trained: TrainedStep, clips: Sequence[str]) -> Job[SentenceScores]: ...


def judge_for(ws: Workspace, family: Family, *, by: str, device: str) -> SweepJudge:
    """The judge that is asked for, or one sentence why there is none."""
    if by == LOSS:
        return LossJudge(family.figures.score)
    if family.kind == "listener":
        return LetterJudge(ws)
    loss = f"--by loss judges by the validation loss ({family.figures.score}), which nobody hears"
    if family.kind != "voice":
        raise TrainError(f"the family {family.name!r} says no sentences that could be heard: {loss}")
    listener = ready(ws, units="letters", everything=False)
    if listener is None:
        made = shlex.join(["olu", "train", str(ws.root), "--set", "family=recogniser"])
        raise TrainError(
            f"{ws.root} has no recogniser that fits its corpus, and a sweep is judged by what one hears:"
            f" '{made}' makes it; {loss}"
        )
    return VoiceJudge(ws, listener.name, device)


@dataclass(frozen=True)
class LossJudge:
    """The figure that chooses the best step of a run, clip by clip."""

    figure: str
    bar: float | None = None

    @property
    def name(self) -> str:
        return f"the validation loss {self.figure}"

    def scores(self, trained: TrainedStep, clips: Sequence[str]) -> Job[SentenceScores]:
        import torch

        from olu.train.engine import VALIDATION_SEED

        values, weights = dict[str, float](), dict[str, float]()
        made, device = trained.job.batches().made, trained.engine.device
        with trained.engine.averaged() as learner:
            for number, clip in enumerate(clips, 1):
                torch.manual_seed(VALIDATION_SEED)
                batch = learner.collate([made(clip, epoch=0)]).to(device)
                loss = learner.validate(batch)[self.figure]
                weights[clip] = float(batch.counts[loss.over])
                values[clip] = float(loss.sum) / max(weights[clip], 1e-9)
                yield Tick(number, len(clips), "validating")
        return SentenceScores(values, weights)


@dataclass(frozen=True)
class LetterJudge:
    """A recogniser's own: the share of wrong letters in recordings it has not learnt from."""

    ws: Workspace
    bar: float | None = MOST_WRONG

    @property
    def name(self) -> str:
        return "wrong letters of held-out recordings"

    def scores(self, trained: TrainedStep, clips: Sequence[str]) -> Job[SentenceScores]:
        corpus = Corpus.open(self.ws)
        held = {clip.id: clip for clip in corpus}
        hears = trained.job.family.hears
        assert hears
        ears: Any = hears.load(trained.run, language=self.ws.language, device=trained.job.device)
        values, weights = dict[str, float](), dict[str, float]()
        for number, id in enumerate(clips, 1):
            wrong = edits(ears.target(corpus.reading(held[id])), ears.heard(corpus.audio(corpus.taken(held[id]))))
            values[id], weights[id] = wrong.rate, float(wrong.length)
            yield Tick(number, len(clips), "listening")
        return SentenceScores(values, weights)


@dataclass(frozen=True)
class VoiceJudge:
    """Wrong letters, faults and wrong lengths of what a voice says, as `olu evaluate` hears them."""

    ws: Workspace
    listener: str
    device: str
    known: dict[float, References] = field(default_factory=dict)  # by what the recordings were resampled by
    bar: float | None = MOST_WRONG

    @property
    def name(self) -> str:
        return f"wrong letters, faults and lengths, heard by {self.listener}"

    def scores(self, trained: TrainedStep, clips: Sequence[str]) -> Job[SentenceScores]:
        from olu.evaluate.judge import judge

        run, step = trained.run, trained.engine.step
        with TemporaryDirectory(prefix="olu-") as folder:
            made = yield from voice_at(self.ws, run, step, Path(folder) / "step.voice")
            speaker = of_voice(Path(made.voice), seed=0, run=run.name, step=step)
            corpus = Corpus.open(self.ws).resampled(speaker.resample)
            if speaker.resample not in self.known:
                known = yield from known_of(corpus, groups=GROUPS, speakers=(), device=self.device)
                self.known[speaker.resample] = known
            held = {clip.id: clip for clip in corpus}
            lines = [PlannedSentence(id, held[id].text, "in", held[id]) for id in clips]
            said = spoken_takes(lines, speaker, folder=Path(folder), corpus=corpus, read=reader_of(corpus, speaker))
            takes = [one for one in said if isinstance(one, Sample)]
            if not takes:
                return SentenceScores(dict.fromkeys(clips, UNSAID))
            judged = yield from judge(takes, self.known[speaker.resample], only=GROUPS, what="listening")
        heard = sentence_scores([take.id for take in takes], judged.figures.get("in", ()))
        return SentenceScores({id: heard.get(id, UNSAID) for id in clips})


def sentence_scores(ids: Sequence[str], figures: Sequence[Estimate]) -> dict[str, float]:
    """What a training chooses its best step by, of every sentence: wrong letters, faults, how far its length is off."""
    held = {one.name: one.values for one in figures}
    nothing = [None] * len(ids)
    rows = zip(
        ids, held.get("cer", nothing), held.get("faults", nothing), held.get("duration_ratio", nothing), strict=True
    )
    return {
        id: sum(
            1.0 if value is None else min(1.0, value) for value in (wrong, faults, length_off(ratio) if ratio else None)
        )
        for id, wrong, faults, ratio in rows
    }

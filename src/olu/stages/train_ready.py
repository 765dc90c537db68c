"""A run that is ready to train: its clips, its learner, and the engine they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import nn

from olu.core.errors import TrainError
from olu.core.units import length
from olu.core.words import many
from olu.features.store import Store
from olu.stages.train_start import begun_from
from olu.text.vocabulary import SymbolVocabulary
from olu.train.batches import Batches
from olu.train.best_step import metric_of
from olu.train.buckets import Buckets, make_buckets
from olu.train.engine import Engine
from olu.train.family import DemoSentence, Example, Family
from olu.train.gpu_cache import Resident
from olu.train.grow_symbols import Growth
from olu.train.guards.build import watchmen
from olu.train.ranks import Ranks
from olu.train.recipe import PlanSettings, Recipe
from olu.train.run import Run
from olu.train.validation import Ear

BUCKETS = 8  # padded sizes of a run whose steps are recorded: more pad less, and each costs a recording


@dataclass
class Setup:
    """Everything ready to train; nothing has been written yet."""

    recipe: Recipe
    family: Family
    config: Any
    learner: nn.Module
    vocabulary: SymbolVocabulary
    frontend_state: dict[str, Any]
    speakers: list[str]
    store: Store
    rate: int
    train: list[str]
    seconds: dict[str, float]
    valid: list[str]
    ids: dict[str, tuple[int, ...]]
    speaker_of: dict[str, int]
    device: str
    facts: dict[str, Any]
    documents: dict[str, Any]
    start: tuple[Run, int] | None = None
    notes: list[str] = field(default_factory=list)
    ranks: Ranks = field(default_factory=Ranks)
    sentences: list[DemoSentence] = field(default_factory=list)
    growth: Growth | None = None  # new symbols since the base or the run it starts from
    held_rows: int = 0  # symbols that stay as they are
    ear: Ear | None = None  # what hears the samples, beside the cheap figures

    @property
    def metric(self) -> str:
        """What the best step is chosen by."""
        return metric_of(self.plan.choose, loss=self.family.figures.score)

    @property
    def plan(self) -> PlanSettings:
        """As it can be followed here: without a recogniser nobody hears the samples, and the loss chooses."""
        plan = self.recipe.plan
        return plan if self.ear else plan.model_copy(update={"choose": "loss"})

    def example(self, clip: str) -> Example:
        return Example(id=clip, ids=self.ids[clip], samples=self.store[clip], speaker=self.speaker_of[clip])

    def batches(self) -> Batches:
        plan = self.recipe.plan
        return Batches(
            self.train,
            [self.seconds[clip] for clip in self.train],
            example=self.example,
            collate=self.learner.collate,  # type: ignore[arg-type]
            seed=self.recipe.seed,
            batch_clips=plan.batch_clips,
            batch_seconds=plan.batch_seconds,
            curriculum_epochs=plan.curriculum_epochs,
            buckets=self.buckets(),
        )

    def buckets(self) -> Buckets | None:
        """Where steps are recorded, batches come in a few shapes only; they stay so if the run goes on elsewhere."""
        plan = self.recipe.plan
        if plan.record is not True:
            return None
        samples = {clip: self.store.length(clip) for clip in self.train}
        tokens = {clip: len(self.ids[clip]) for clip in self.train}
        limits = {"batch_clips": plan.batch_clips, "batch_seconds": plan.batch_seconds}
        return make_buckets(samples, tokens, rate=self.rate, most=BUCKETS, **limits)  # type: ignore[arg-type]

    def decide_on_recording(self) -> None:
        """A new run keeps what is decided here; one that was recorded can go on without."""
        plan = self.recipe.plan
        reasons = self.not_recorded()
        if plan.record is True and reasons and not self.start:  # else the setting is the old run's
            raise TrainError(f"plan.record cannot be: {reasons[0]}: leave it out")
        plan = plan.model_copy(update={"record": plan.record is not False and not reasons})
        self.recipe = self.recipe.model_copy(update={"plan": plan})

    def not_recorded(self) -> list[str]:
        """Why steps cannot be recorded here."""
        reasons = []
        if self.device != "cuda":
            reasons.append("it is for a CUDA device")
        if not hasattr(self.learner, "unpack"):
            reasons.append(f"the family {self.family.name} has no fixed shapes")
        if self.ranks.size > 1:
            reasons.append("it is for one GPU")
        if self.recipe.plan.accumulate > 1:
            reasons.append("a step of several batches (plan.accumulate) is not recorded")
        if not reasons and not Resident.fits(sum(map(self.store.length, self.train)), self.device):
            reasons.append("there is too much sound to keep it on the GPU")
        return reasons

    def validation(self) -> list[Any]:
        size = self.recipe.plan.batch_clips
        groups = [self.valid[at : at + size] for at in range(0, len(self.valid), size)]
        return [self.learner.collate([self.example(clip) for clip in group]) for group in groups]  # type: ignore[operator]

    def engine(self, run: Run) -> Engine:
        batches = self.batches()
        resident = None
        if batches.buckets and not self.not_recorded():
            resident = Resident(
                self.learner, self.train, example=self.example, buckets=batches.buckets, device=self.device
            )
        engine = Engine(
            self.learner,
            batches,
            validation=self.validation,
            score=self.family.figures.score,
            plan=self.plan,
            rewinds=self.recipe.guards,
            guards=watchmen(self.recipe, self.family, from_weights=bool(self.recipe.base or self.facts["from"])),
            checkpoints=run.checkpoints(keep=self.recipe.plan.keep),
            seed=self.recipe.seed,
            device=self.device,
            ranks=self.ranks,
            sentences=self.sentences,
            held_rows=dict.fromkeys(self.family.bases.symbol_rows if self.family.bases else (), self.held_rows),
            resident=resident,
            ear=self.ear,
        )
        if self.start and not engine.checkpoints.steps():
            more = {"growth": self.growth, "speakers": self.speakers}
            checkpoint = begun_from(self.start, family=self.family, learner=self.learner, **more)  # type: ignore[arg-type]
            engine.restore(checkpoint, weights_only=True)
        return engine

    def describe(self) -> str:
        sound = length(sum(self.seconds[clip] for clip in self.train))
        return f"{many(len(self.train), 'clip')} ({sound}), {len(self.valid)} for validation, on {self.device}"

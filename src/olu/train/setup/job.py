"""A training that is ready to begin: made from a recipe and a workspace by a chain of small steps.

    resolve_start -> build_vocabulary -> read_texts -> choose_clips -> build_learner -> collect_facts

Each takes frozen inputs and writes nothing. `TrainingJob.engine` is what trains.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import nn

import olu
from olu.align.state import DOCUMENT as PAUSES
from olu.core.errors import TrainError
from olu.core.files import hash_value
from olu.core.types import Clip
from olu.core.words import length, many, size
from olu.corpus.manifest import Corpus
from olu.features.store import ClipArrays, Store, WaveFeature, feature_folders
from olu.text.vocabulary import SymbolVocabulary
from olu.train.batches import Batches, Buckets, Prompts, make_buckets
from olu.train.cuda_graph import Resident
from olu.train.engine import Engine
from olu.train.family import Companion, DemoSentence, Example, Family
from olu.train.grow_symbols import Growth, said_of_scale
from olu.train.guards import watchmen
from olu.train.ranks import Ranks
from olu.train.recipe import PlanSettings, Recipe
from olu.train.run import CONTRACT, HEARD_BY, Run, hash_base
from olu.train.setup.augment import Augmentation, augmentation_of
from olu.train.setup.clips import ClipChoice, choose_clips, wanted_clips
from olu.train.setup.observe import held_by, observed, with_frames
from olu.train.setup.start import (
    RunStep,
    TrainingRequest,
    TrainingStart,
    begun_from,
    changes_from,
    check_fits,
    resolve_start,
    vocabulary_of,
)
from olu.train.setup.symbols import (
    NEW_SYMBOLS,
    TrainingTexts,
    build_vocabulary,
    growth_from,
    held_rows,
    new_symbols,
    own_readings,
    own_sentences,
    read_texts,
    said_of_new,
)
from olu.train.validation import Ear, metric_of
from olu.train.view.viewer import TEXTS as SAMPLE_TEXTS

SAID_BYTES = 5e9  # of checkpoints in all, from which on a person is told
BUCKETS = 8  # padded sizes of a run whose steps are recorded: more pad less, and each costs a recording


@dataclass(frozen=True)
class TrainingJob:
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
    start: RunStep | None = None  # a checkpoint of another run whose weights it begins with
    notes: list[str] = field(default_factory=list)
    ranks: Ranks = field(default_factory=Ranks)
    sentences: list[DemoSentence] = field(default_factory=list)
    growth: Growth | None = None  # new symbols since the base or the run it starts from
    held_rows: int = 0  # symbols that stay as they are
    ear: Ear | None = None  # what hears the samples, beside the cheap figures
    features: Mapping[str, Store | ClipArrays] = field(default_factory=dict)  # prepared beside the sound, by name
    streams: Mapping[str, Mapping[str, list[int]]] = field(default_factory=dict)  # what goes with the ids, by clip
    augmentation: Augmentation | None = None  # what is done to clips in training

    @property
    def metric(self) -> str:
        """What the best step is chosen by."""
        return metric_of(self.plan.choose, loss=self.family.figures.score)

    @property
    def plan(self) -> PlanSettings:
        """The plan as it can be followed here: without a recogniser the loss chooses the best step."""
        plan = self.recipe.plan
        return plan if self.ear else plan.model_copy(update={"choose": "loss"})

    def example(self, clip: str) -> Example:
        return Example(
            id=clip,
            ids=self.ids.get(clip, ()),
            samples=self.store[clip],
            speaker=self.speaker_of[clip],
            features={name: store[clip] for name, store in self.features.items()}
            | {name: np.array(values) for name, values in self.streams.get(clip, {}).items()},
        )

    def batches(self, *, changed: bool = False) -> Batches:
        """`changed`: clips to learn from, which may be others in every epoch; else as they are."""
        plan, clips = self.recipe.plan, self.drawn
        return Batches(
            clips,
            [self._heard(clip) / self.rate if self.family.data.segment else self.seconds[clip] for clip in clips],
            example=self.example,
            collate=self.learner.collate,  # type: ignore[arg-type]
            seed=self.recipe.seed,
            batch_clips=plan.batch_clips,
            batch_seconds=plan.batch_seconds,
            curriculum_epochs=plan.curriculum_epochs,
            buckets=self.buckets(),
            prompts=Prompts(self.recipe.seed, self.speaker_of, self.train) if self.family.data.beside else None,
            changed=self.augmentation.changed if self.augmentation and changed else None,
        )

    def buckets(self) -> Buckets | None:
        """The few shapes that batches have where steps are recorded; None where they are not."""
        plan = self.recipe.plan
        if plan.record is not True:
            return None
        samples = {clip: self._heard(clip) for clip in self.train}
        tokens = {clip: len(self.ids.get(clip, ())) for clip in self.train}
        limits = {"batch_clips": plan.batch_clips, "batch_seconds": plan.batch_seconds, "number": len(self.drawn)}
        return make_buckets(samples, tokens, rate=self.rate, most=BUCKETS, **limits)  # type: ignore[arg-type]

    def _heard(self, clip: str) -> int:
        """Samples of a clip that a step hears."""
        segment = self.family.data.segment
        return segment(self.config) if segment else self.store.length(clip)

    @cached_property
    def drawn(self) -> list[str]:
        """The clips of an epoch. Where steps hear segments, each comes as often as it has segments, and speakers with
        less sound more often: by the root of what they have."""
        segment = self.family.data.segment
        if segment is None:
            return self.train
        length = {clip: self.store.length(clip) for clip in self.train}
        spoken: dict[int, int] = {}
        for clip, samples in length.items():
            spoken[self.speaker_of[clip]] = spoken.get(self.speaker_of[clip], 0) + samples
        often = {who: (max(spoken.values()) / samples) ** 0.5 for who, samples in spoken.items()}
        size = segment(self.config)
        turns = {clip: max(1, round(length[clip] / size * often[self.speaker_of[clip]])) for clip in self.train}
        return [clip for clip in self.train for _ in range(turns[clip])]

    def with_recording_decided(self) -> TrainingJob:
        """Whether steps become CUDA graphs. A new run keeps what is decided; one that has them can go on without."""
        plan = self.recipe.plan
        reasons = self.not_recorded()
        if plan.record is True and reasons and not self.start:  # else the setting is the old run's
            raise TrainError(f"plan.record cannot be: {reasons[0]}: leave it out")
        plan = plan.model_copy(update={"record": plan.record is not False and not reasons})
        return replace(self, recipe=self.recipe.model_copy(update={"plan": plan}))

    def not_recorded(self) -> list[str]:
        """Why steps cannot be recorded as CUDA graphs here."""
        reasons = []
        if self.device != "cuda":
            reasons.append("it is for a CUDA device")
        if not hasattr(self.learner, "unpack"):
            reasons.append(f"the family {self.family.name} has no fixed shapes")
        if self.ranks.size > 1:
            reasons.append("it is for one GPU")
        if self.recipe.plan.accumulate > 1:
            reasons.append("a step of several batches (plan.accumulate) is not recorded")
        if self.augmentation:
            reasons.append("augmentation makes other sound in every epoch")
        if not reasons and not Resident.fits(self._resident_bytes(), self.device):
            reasons.append("there is too much sound to keep it on the GPU")
        return reasons

    def _resident_bytes(self) -> int:
        return sum(store.size(clip) for store in (self.store, *self.features.values()) for clip in self.train)

    def validation(self) -> list[Any]:
        size = self.recipe.plan.batch_clips
        groups = [self.valid[at : at + size] for at in range(0, len(self.valid), size)]
        made = self.batches().made  # the clip beside one is always the same here
        return [self.learner.collate([made(clip, epoch=0) for clip in group]) for group in groups]  # type: ignore[operator]

    def engine(self, run: Run) -> Engine:
        batches = self.batches(changed=True)
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
            made = begun_from(
                self.start, family=self.family, learner=self.learner, growth=self.growth, speakers=self.speakers
            )
            engine.restore(made, weights_only=True)
        return engine

    def disk_bytes(self) -> tuple[int, int]:
        """About how much a checkpoint takes, and what lies once beside them all."""
        each, moved = 0, set[int]()
        for part in self.learner.parts().values():  # type: ignore[operator]
            copies = 4 if part.ema else 3  # the weight, two moments, and the average
            for one in part.module.parameters():
                each += copies * one.numel() * one.element_size()
                moved.add(id(one))
        rest = [one for one in self.learner.parameters() if id(one) not in moved]
        return each, sum(one.numel() * one.element_size() for one in rest)

    def check_disk(self, free: int) -> list[str]:
        """A sentence on the disk that checkpoints take, where that is much; too little for them is an error."""
        each, once = self.disk_bytes()
        number = self.recipe.plan.keep + 2  # the best beside them, and the one that is being written
        if 2 * each + once > free:
            raise TrainError(
                f"a checkpoint takes {size(each + once)}, and {size(free)} of disk are free, which is not enough for"
                " two: free some first"
            )
        if number * each + once < min(SAID_BYTES, free / 2):
            return []
        return [
            f"checkpoints take up to {size(number * each + once)} of disk ({size(each)} each); {size(free)} are free"
        ]

    def describe(self) -> str:
        sound = length(sum(self.seconds[clip] for clip in self.train))
        return f"{many(len(self.train), 'clip')} ({sound}), {len(self.valid)} for validation, on {self.device}"


@dataclass(frozen=True)
class LearnerStart:
    """A learner with the weights it begins with, and what was decided for it."""

    module: nn.Module
    recipe: Recipe
    config: Any
    growth: Growth | None  # new symbols since the base or the run before; none without either
    strange: list[dict[str, Any]]  # the new symbols, as a row each
    held_rows: int
    notes: list[str]


def build_job(asked: TrainingRequest) -> TrainingJob:
    """Everything that a training needs, from what is asked for: the whole chain of the set-up."""
    corpus = Corpus.open(asked.ws)
    start = resolve_start(asked, corpus)
    wanted = wanted_clips(corpus, start.recipe)
    texts = read_texts(start, build_vocabulary(start, corpus, wanted), wanted)
    rate, data = start.family.data.rate(start.config), start.recipe.data
    needs = start.family.data.needs
    wave = WaveFeature(rate, data.resample, data.edges, data.loudness, "text" in needs)
    store = Store(asked.ws.features / wave.key)
    features: dict[str, Store | ClipArrays] = {**_feature_stores(start, wave), **asked.features}
    texts = with_frames(start, corpus, store, texts)
    clips = choose_clips(start, corpus, store, texts, features)
    learner = build_learner(start, texts, clips)
    seconds = {clip.id: store.length(clip.id) / rate for clip in clips.both}
    listener, own = asked.listener, list[DemoSentence]()
    if learner.recipe.plan.sentences:
        tokens = sum(len(texts.ids[clip.id]) for clip in clips.train)
        pace = sum(seconds[clip.id] for clip in clips.train) / tokens
        own = own_sentences(learner.recipe, texts.frontend, texts.vocabulary, speakers=len(clips.speakers), pace=pace)
    job = TrainingJob(
        recipe=learner.recipe,
        family=start.family,
        config=learner.config,
        learner=learner.module,
        vocabulary=texts.vocabulary,
        frontend_state=texts.frontend_state,
        speakers=clips.speakers,
        store=store,
        rate=rate,
        train=[clip.id for clip in clips.train],
        seconds=seconds,
        valid=[clip.id for clip in clips.valid],
        ids=texts.ids,
        speaker_of={clip.id: clips.speakers.index(clip.speaker) for clip in clips.both},
        device=asked.device,
        facts={
            **collect_facts(start, learner, corpus, clips, seconds=seconds),
            HEARD_BY: listener.run if listener else None,
        },
        documents=documents_of(start, learner, texts, clips),
        start=start.weights,
        notes=[*clips.notes, *texts.notes, *learner.notes],
        ranks=asked.ranks,
        sentences=own,
        growth=learner.growth if learner.growth and learner.growth.changes else None,
        held_rows=learner.held_rows,
        ear=listener.ear({**texts.readings, **own_readings(learner.recipe, texts.frontend)}) if listener else None,
        features=features,
        streams=texts.streams,
        augmentation=augmentation_of(start, corpus, store, texts, rate=rate),
    )
    known = start.base.observed if start.base else held_by(start.before)
    job = observed(job, run=asked.run, before=known)
    return job if start.kept else job.with_recording_decided()


def _feature_stores(start: TrainingStart, wave: WaveFeature) -> dict[str, Store]:
    """What `olu prepare` made beside the sound."""
    data, ws = start.family.data, start.ws
    if data.features is None:
        return {}
    wanted = data.features(start.config, start.base)
    folders = feature_folders(ws, wave, wanted, aligned="alignment" in data.needs)
    return {name: Store(ws.features / folder) for name, folder in folders.items()}


def _old_symbols(start: TrainingStart) -> tuple[str, ...] | None:
    """The symbols that the weights of the base or of the run before were learnt with; None without such."""
    if "text" not in start.family.data.needs:
        return None
    if start.base and not start.writes:
        return start.base.symbols
    return vocabulary_of(start.before).symbols if start.before else None


def build_learner(start: TrainingStart, texts: TrainingTexts, clips: ClipChoice) -> LearnerStart:
    """The networks with the weights of the base or of the run before; other shapes than theirs are refused."""
    recipe, config, base, vocabulary = start.recipe, start.config, start.base, texts.vocabulary
    torch.manual_seed(recipe.seed)
    if base and base.num_speakers > len(clips.speakers) == 1:
        config = config.model_copy(update=dict(base.alone))
        recipe = recipe.model_copy(update={"model": config.model_dump(mode="json")})
    old = _old_symbols(start)
    scale = start.family.bases.row_scale(config) if start.family.bases else 1.0
    growth = None if old is None else growth_from(old, vocabulary, scale=scale, language=start.ws.language)
    learner = start.family.learner(config, vocab_size=vocabulary.size, num_speakers=len(clips.speakers))
    if start.writes:
        learner.knows(vocabulary.symbols, start.writes.spell)  # type: ignore[operator]
    if start.companions:
        learner.accompany({one.name: _frozen(one, start.device) for one in start.companions})  # type: ignore[operator]
    notes = _first_weights(replace(start, recipe=recipe), learner, growth, clips.speakers)
    if scale != 1.0 and not start.kept and not (growth and growth.changes):
        notes.append(f"model.init_scale = {scale:g} has no effect: no symbol is new")
    strange = new_symbols(vocabulary, growth, texts.readings, clips.kept) if growth else []
    notes += said_of_new(strange)
    return LearnerStart(learner, recipe, config, growth, strange, held_rows(start, old), notes)


def _first_weights(start: TrainingStart, learner: nn.Module, growth: Growth | None, speakers: list[str]) -> list[str]:
    """Load the base, try the run before, and say what comes of them; that run's weights are loaded by the engine."""
    notes = start.base.load(learner, growth, speakers) if start.base else []
    held = {f"learner/{name}": one.detach() for name, one in learner.named_parameters()}
    if start.weights:
        notes += changes_from(start.weights[0].recipe, start.recipe, start.weights)
        given = begun_from(start.weights, family=start.family, learner=learner, growth=growth, speakers=speakers)
        check_fits(learner, start.weights, given)
        held = given.weights
    if growth and growth.parents and not start.kept and start.family.bases:
        rows = start.family.bases.symbol_rows
        notes += [said_of_scale(name, held[f"learner/{name}"], growth.old) for name in rows]
    return notes


def _frozen(companion: Companion, device: str) -> nn.Module:
    return companion.load().to(device).eval().requires_grad_(False)


def documents_of(
    start: TrainingStart, learner: LearnerStart, texts: TrainingTexts, clips: ClipChoice
) -> dict[str, Any]:
    """The JSON files a run needs to be understood alone."""
    plan = learner.recipe.plan
    own = {f"sentence-{number}": text for number, text in enumerate(plan.sentences, 1)}
    return {
        "vocabulary.json": texts.vocabulary.state(),
        "frontend.json": texts.frontend_state,
        "speakers.json": clips.speakers,
        "left_out.json": clips.left_out,
        SAMPLE_TEXTS: {clip.id: clip.text for clip in clips.valid[: plan.demo_clips]} | own,
        **({PAUSES: texts.pauses} if start.recipe.data.pauses else {}),
        **({NEW_SYMBOLS: learner.strange} if learner.strange else {}),
    }


def collect_facts(
    start: TrainingStart, learner: LearnerStart, corpus: Corpus, clips: ClipChoice, *, seconds: dict[str, float]
) -> dict[str, Any]:
    """What a run was made of and where: its facts.json."""
    recipe, device = learner.recipe, start.device
    return {
        "olu": olu.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else device,
        **({"threads": torch.get_num_threads()} if device == "cpu" else {}),
        "corpus": corpus.fingerprint,
        "base": hash_base(recipe.base) if recipe.base else None,
        "recipe": hash_value(recipe.model_dump(mode="json")),
        "resample": recipe.data.resample,
        "started": int(time.time()),
        "from": start.started_from,
        "clips": hash_value([clip_names(corpus, clips.train), clip_names(corpus, clips.valid)]),
        "held_rows": learner.held_rows,
        **({CONTRACT: start.family.data.contract()} if start.family.data.contract else {}),
        **({"companions": {one.name: one.sha256 for one in start.companions}} if start.companions else {}),
        "trained": {
            "clips": len(clips.train),
            "seconds": round(sum(seconds[clip.id] for clip in clips.train), 3),
            "valid": len(clips.valid),
            "of": len(corpus),
            "of_seconds": round(corpus.seconds, 3),
        },
    }


def clip_names(corpus: Corpus, clips: list[Clip]) -> list[Any]:
    """What names each clip: its id, with its stretch where only that is taken, and its text where it was corrected."""
    found: list[Any] = []
    for clip in clips:
        part, changed = corpus.taken(clip), corpus.correction(clip)
        stretch = [] if part is clip else [part.start, part.seconds]
        text = [changed.text] if changed else []
        found.append([clip.id, *stretch, *text] if stretch or text else clip.id)
    return found

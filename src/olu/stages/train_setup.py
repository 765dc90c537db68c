"""What a run is made of: family, vocabulary, clips, learner and engine, from a recipe and a workspace."""

from __future__ import annotations

import platform
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import olu
from olu.audit.plural import many
from olu.config import check, flat
from olu.corpus.manifest import Corpus
from olu.errors import TrainError
from olu.families import family as family_named
from olu.features.store import Samples, Store
from olu.files import Workspace, hash_value
from olu.stages.alphabet import alphabet, growth_from, held_by, held_rows, own_readings, own_sentences, said_of_new
from olu.stages.audit import audit
from olu.stages.clip_choice import check_speakers, is_asked_for, select, sides, strangers
from olu.stages.hearing import HEARD_BY, ear_of, listener_of
from olu.stages.pauses import DOCUMENT as PAUSES
from olu.stages.pauses import Marks, find_pauses, knows_pauses, mark_pauses, said_of
from olu.stages.prepare import prepare, sound_of
from olu.stages.read import read_clip, read_corpus
from olu.stages.written import check_ears, only_listening, written
from olu.text.frontend import from_state
from olu.text.vocabulary import SymbolVocabulary
from olu.train.batches import Batches
from olu.train.buckets import Buckets, make_buckets
from olu.train.choice import metric_of
from olu.train.engine import Engine
from olu.train.family import Base, Example, Family, Sentence
from olu.train.grow import Growth, enlarged_checkpoint
from olu.train.hearing import Ear
from olu.train.hub import hash_base, located
from olu.train.ranks import Ranks
from olu.train.recipe import DataSettings, Recipe
from olu.train.resident import Resident
from olu.train.run import Run
from olu.train.watchmen import watchmen
from olu.types import Clip, Tick

BUCKETS = 8  # padded sizes of a run whose steps are recorded: more pad less, and each costs a recording
FINE_TUNING_RATE = 2e-5  # a base is moved gently; ten times more forgets it


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
    sentences: list[Sentence] = field(default_factory=list)
    growth: Growth | None = None  # new symbols since the base or the run it starts from
    held_rows: int = 0  # symbols that stay as they are
    ear: Ear | None = None  # what hears the samples, beside the cheap figures

    @property
    def metric(self) -> str:
        """What the best step is chosen by."""
        return metric_of(self.recipe.plan.choose, loss=self.family.score)

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
            score=self.family.score,
            plan=self.recipe.plan,
            rewinds=self.recipe.guards,
            guards=watchmen(self.recipe, self.family, from_weights=bool(self.recipe.base or self.facts["from"])),
            checkpoints=run.checkpoints(keep=self.recipe.plan.keep),
            seed=self.recipe.seed,
            device=self.device,
            ranks=self.ranks,
            sentences=self.sentences,
            held_rows=dict.fromkeys(self.family.symbol_rows, self.held_rows),
            resident=resident,
            ear=self.ear,
        )
        if self.start and not engine.checkpoints.steps():
            old, step = self.start
            checkpoint = old.checkpoints().load(step)
            if self.growth:
                checkpoint = enlarged_checkpoint(checkpoint, self.family.symbol_rows, self.growth)
            engine.restore(checkpoint, weights_only=True)
        return engine

    def describe(self) -> str:
        hours = sum(self.seconds[clip] for clip in self.train) / 3600
        return f"{many(len(self.train), 'clip')} ({hours:.2f} h), {len(self.valid)} for validation, on {self.device}"


def prepare_run(ws: Workspace, recipe: Recipe, *, run: Run | None = None) -> Generator[Tick, None, None]:
    """The earlier stages, each only if it is missing or stale; a recipe that cannot work is refused before them."""
    Corpus.open(ws)
    rate = rate_for(recipe, run=run)
    yield from audit(ws)
    yield from read_corpus(ws)
    yield from prepare(ws, rate=rate, **sound_of(recipe), listening=not family_named(recipe.family).speaks)


def rate_for(recipe: Recipe, *, run: Run | None = None) -> int:
    """The sampling rate that a recipe needs; one that cannot work is refused."""
    chosen = family_named(recipe.family)
    _check_sound(chosen, recipe)
    return chosen.rate(_config(chosen, recipe, read_base(chosen, recipe, run)))


def _check_sound(family: Family, recipe: Recipe) -> None:
    usual = DataSettings()
    for name in ("resample", "edges", "loudness", "pauses"):
        value = getattr(recipe.data, name)
        if value != getattr(usual, name) and not family.speaks:
            raise TrainError(
                f"recipe: data.{name} = {value:g} is for voices: {family.name} listens to recordings as they are:"
                " leave it out"
            )


def set_up(
    ws: Workspace,
    recipe: Recipe,
    *,
    device: str,
    run: Run | None = None,
    start: tuple[Run, int] | None = None,
    ranks: Ranks | None = None,
) -> Setup:
    """`run` set: go on with it, so its own vocabulary holds; `start`: begin from that checkpoint of another run."""
    family = family_named(recipe.family)
    _check_sound(family, recipe)
    base = read_base(family, recipe, run or (start[0] if start else None))
    config = _config(family, recipe, base)
    recipe = only_listening(recipe.model_copy(update={"model": config.model_dump(mode="json")}), family)
    writes = family.writes(config, language=ws.language) if family.writes else None
    if recipe.plan.precision != "fp32" and device == "cpu":
        raise TrainError(f"plan.precision = {recipe.plan.precision} is for GPUs: on a CPU train in fp32")
    corpus = Corpus.open(ws)
    if writes and not run:
        check_ears(ws, recipe, corpus)
    if run and not run.checkpoints().steps() and run.document("facts.json").get("from"):
        start = parse_start(ws, run.document("facts.json").get("from"))
    holder = run or (start[0] if start else None)
    check_speakers(corpus, recipe)
    wanted = [clip for clip in corpus if corpus.is_wanted(clip) and is_asked_for(clip, recipe)]
    before = start[0] if start and not writes else None
    vocabulary, frontend_state = alphabet(corpus, wanted, run=run, start=before, base=None if writes else base)
    if recipe.data.pauses and not run:
        vocabulary, frontend_state = knows_pauses(vocabulary, frontend_state)
    rate = family.rate(config)
    store = Store(ws.features / Samples(rate, **sound_of(recipe)).key)
    frontend = from_state(frontend_state)
    readings = {clip.id: read_clip(frontend, clip.text)[0] for clip in wanted}
    least = recipe.data.pauses
    pauses: Marks = {}
    if least:
        pauses = run.document(PAUSES) if run else find_pauses(ws, readings, least=least)
        readings = mark_pauses(readings, pauses)
    if writes:
        vocabulary, ids = written(writes, readings, holder=holder)
    else:
        ids = {id: tuple(vocabulary.encode(reading)) if reading.words else () for id, reading in readings.items()}
    kept, left_out = select(corpus, recipe, family, config, store, ids)
    train_clips, valid_clips, notes = sides(corpus, recipe, kept, left_out, readings)
    if least:
        inside = [clip.id for clip in train_clips + valid_clips]
        notes.append(said_of({id: pauses[id] for id in inside if id in pauses}, len(inside), least=least))
    speakers = holder.document("speakers.json") if holder else sorted({clip.speaker for clip in train_clips})
    notes += strangers(valid_clips, speakers)
    valid_clips = [clip for clip in valid_clips if clip.speaker in speakers]
    if unknown := sorted({clip.speaker for clip in train_clips} - set(speakers)):
        raise TrainError(f"speaker {unknown[0]!r} is not in {holder.name if holder else 'the corpus'}: start a new run")
    torch.manual_seed(recipe.seed)
    num_speakers = len(speakers)
    if base and base.num_speakers > num_speakers == 1:
        config = config.model_copy(update=dict(base.alone))
        recipe = recipe.model_copy(update={"model": config.model_dump(mode="json")})
    old = base.symbols if base and not writes else held_by(start[0]).symbols if start else None
    scale = getattr(config, "init_scale", 1.0)
    growth = None if old is None else growth_from(old, vocabulary, scale=scale, language=ws.language)
    learner = family.learner(config, vocab_size=vocabulary.size, num_speakers=num_speakers)
    if writes:
        learner.knows(vocabulary.symbols, writes.spell)  # type: ignore[operator]
    if base:
        notes += base.load(learner, growth, speakers)
    if start:
        notes += _changes(start[0].recipe, recipe, start)
        _check_fits(learner, start, family.symbol_rows if growth and growth.parents else ())
    if scale != 1.0 and not run and not (growth and growth.parents):
        notes.append(f"model.init_scale = {scale:g} has no effect: no symbol is new")
    if growth:
        notes += said_of_new(vocabulary, growth, readings, kept)
    held = held_rows(recipe, run, start[0] if start else None, old)
    listener = listener_of(ws, recipe, run=run) if family.speaks else None
    said = {**readings, **own_readings(recipe, frontend)}
    seconds = {clip.id: store.length(clip.id) / rate for clip in train_clips + valid_clips}
    pace = sum(seconds[clip.id] for clip in train_clips) / sum(len(ids[clip.id]) for clip in train_clips)
    setup = Setup(
        recipe=recipe,
        family=family,
        config=config,
        learner=learner,
        vocabulary=vocabulary,
        frontend_state=frontend_state,
        speakers=speakers,
        store=store,
        rate=rate,
        train=[clip.id for clip in train_clips],
        seconds=seconds,
        valid=[clip.id for clip in valid_clips],
        ids=ids,
        speaker_of={clip.id: speakers.index(clip.speaker) for clip in train_clips + valid_clips},
        device=device,
        facts={
            **_facts(corpus, recipe, device),
            "from": run.document("facts.json").get("from") if run else f"{start[0].name}@{start[1]}" if start else None,
            "clips": hash_value([_heard(corpus, train_clips), _heard(corpus, valid_clips)]),
            "held_rows": held,
            HEARD_BY: listener,
        },
        documents={
            "vocabulary.json": vocabulary.state(),
            "frontend.json": frontend_state,
            "speakers.json": speakers,
            "left_out.json": left_out,
            **({PAUSES: pauses} if least else {}),
        },
        start=start,
        notes=notes,
        ranks=ranks or Ranks(),
        sentences=own_sentences(recipe, frontend, vocabulary, speakers=len(speakers), pace=pace),
        growth=growth if growth and growth.parents else None,
        held_rows=held,
        ear=ear_of(ws, listener, said, device=device, factor=recipe.data.resample) if listener else None,
    )
    if run is None:
        setup.decide_on_recording()
    return setup


def parse_start(ws: Workspace, text: str) -> tuple[Run, int]:
    """RUN or RUN@STEP; without a step, the best one."""
    name, _, at = text.partition("@")
    run = Run.named(ws.runs, name)
    steps = run.checkpoints().steps()
    if not steps:
        raise TrainError(f"{name} has no checkpoint to start from")
    if at and (not at.isdigit() or int(at) not in steps):
        raise TrainError(f"{name} has no checkpoint at step {at!r}; it has: {', '.join(map(str, steps))}")
    return run, int(at) if at else int((run.best or {"step": steps[-1]})["step"])


def _check_fits(learner: nn.Module, start: tuple[Run, int], may_grow: tuple[str, ...]) -> None:
    """Before a run is made: weights of another shape cannot be started from."""
    run, step = start
    saved = run.checkpoints().load(step).weights
    for name, tensor in learner.state_dict().items():
        held = saved.get(f"learner/{name}")
        if held is not None and name in may_grow and held.shape[1:] == tensor.shape[1:]:
            continue
        if held is None or held.shape != tensor.shape:
            has = "nothing" if held is None else f"shape {tuple(held.shape)}"
            raise TrainError(
                f"{run.name} has {has} for {name}, these settings need {tuple(tensor.shape)}: keep its [model]"
            )


def read_base(family: Family, recipe: Recipe, run: Run | None = None) -> Base | None:
    """A run with a checkpoint has all it needs; its base may be gone by then."""
    if recipe.base is None or (run and run.checkpoints().steps()):
        return None
    return family.read_base(located(recipe.base) if family.speaks else Path(recipe.base))


def _config(family: Family, recipe: Recipe, base: Base | None) -> Any:
    if base and "size" in recipe.model and recipe.model["size"] != base.settings["size"]:
        raise TrainError(
            f"recipe: model.size = {recipe.model['size']!r} has no effect with a base: the base has its own"
        )
    gentle = (
        {"learning_rate": FINE_TUNING_RATE, "discriminator_learning_rate": FINE_TUNING_RATE} if family.speaks else {}
    )
    under = {**base.settings, **gentle} if base else {}
    return check(family.config, {**under, **recipe.model}, where="recipe [model]")


def _heard(corpus: Corpus, clips: list[Clip]) -> list[Any]:
    """What names the sound of each clip: its id, and its stretch where only that is taken."""
    taken = [(clip, corpus.taken(clip)) for clip in clips]
    return [clip.id if part is clip else [clip.id, part.start, part.seconds] for clip, part in taken]


def _changes(old: Recipe, new: Recipe, start: tuple[Run, int]) -> list[str]:
    before, after = flat(old.model_dump(mode="json")), flat(new.model_dump(mode="json"))
    changed = [f"{key}: {before.get(key)} -> {after.get(key)}" for key in after if before.get(key) != after.get(key)]
    return [f"from {start[0].name} at step {start[1]}; changed: {', '.join(changed) or 'nothing'}"]


def _facts(corpus: Corpus, recipe: Recipe, device: str) -> dict[str, Any]:
    return {
        "olu": olu.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else device,
        "corpus": corpus.fingerprint,
        "base": hash_base(recipe.base) if recipe.base else None,
        "recipe": hash_value(recipe.model_dump(mode="json")),
        "resample": recipe.data.resample,
        "started": int(time.time()),
    }

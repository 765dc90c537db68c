"""What a run is made of: family, vocabulary, clips, learner and engine, from a recipe and a workspace."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import olu
from olu.config import check
from olu.corpus.manifest import Corpus
from olu.errors import TrainError
from olu.families import family as family_named
from olu.features.store import Samples, Store
from olu.files import Workspace, hash_file, hash_value, read_json
from olu.stages.audit import audit
from olu.stages.prepare import prepare
from olu.stages.read import base_frontend, named, read_clip, read_corpus
from olu.text.frontend import from_state
from olu.text.vocabulary import SymbolVocabulary
from olu.train.batches import Batches
from olu.train.engine import Engine
from olu.train.family import Base, Example, Family
from olu.train.ranks import Ranks
from olu.train.recipe import Recipe
from olu.train.run import Run
from olu.train.watchmen import watchmen
from olu.types import Clip, Tick

VALIDATION_CLIPS = 32
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
        )

    def validation(self) -> list[Any]:
        size = self.recipe.plan.batch_clips
        groups = [self.valid[at : at + size] for at in range(0, len(self.valid), size)]
        return [self.learner.collate([self.example(clip) for clip in group]) for group in groups]  # type: ignore[operator]

    def engine(self, run: Run) -> Engine:
        engine = Engine(
            self.learner,
            self.batches(),
            validation=self.validation,
            score=self.family.score,
            plan=self.recipe.plan,
            rewinds=self.recipe.guards,
            guards=watchmen(self.recipe, self.family),
            checkpoints=run.checkpoints(keep=self.recipe.plan.keep),
            seed=self.recipe.seed,
            device=self.device,
            ranks=self.ranks,
        )
        if self.start and not engine.checkpoints.steps():
            old, step = self.start
            engine.restore(old.checkpoints().load(step), weights_only=True)
        return engine

    def describe(self) -> str:
        hours = sum(self.seconds[clip] for clip in self.train) / 3600
        return f"{len(self.train)} clips ({hours:.2f} h), {len(self.valid)} for validation, on {self.device}"


def prepare_run(ws: Workspace, recipe: Recipe, *, run: Run | None = None) -> Generator[Tick, None, None]:
    """The earlier stages, each only if it is missing or stale; a recipe that cannot work is refused before them."""
    Corpus.open(ws)
    chosen = family_named(recipe.family)
    rate = chosen.rate(_config(chosen, recipe, _base(chosen, recipe, run)))
    yield from audit(ws)
    yield from read_corpus(ws)
    yield from prepare(ws, rate=rate)


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
    base = _base(family, recipe, run or (start[0] if start else None))
    config = _config(family, recipe, base)
    recipe = recipe.model_copy(update={"model": config.model_dump(mode="json")})
    if recipe.plan.precision != "fp32" and device == "cpu":
        raise TrainError(f"plan.precision = {recipe.plan.precision} is for GPUs: on a CPU train in fp32")
    corpus = Corpus.open(ws)
    if run and not run.checkpoints().steps() and run.document("facts.json")["from"]:
        start = parse_start(ws, run.document("facts.json")["from"])
    holder = run or (start[0] if start else None)
    vocabulary, frontend_state = _alphabet(corpus, holder, base)
    rate = family.rate(config)
    store = Store(ws.features / Samples(rate).key)
    frontend = from_state(frontend_state)
    readings = {clip.id: read_clip(frontend, clip.text)[0] for clip in corpus if corpus.is_wanted(clip)}
    ids = {id: tuple(vocabulary.encode(reading)) if reading.words else () for id, reading in readings.items()}
    kept, left_out = _select(corpus, recipe, family, config, store, ids)
    dropped = sum((Counter(readings[clip.id].dropped) for clip in kept), Counter[str]())
    train_clips, valid_clips, notes = _sides(corpus, kept, left_out, dropped)
    speakers = holder.document("speakers.json") if holder else sorted({clip.speaker for clip in train_clips})
    valid_clips = [clip for clip in valid_clips if clip.speaker in speakers]
    if unknown := sorted({clip.speaker for clip in train_clips} - set(speakers)):
        raise TrainError(f"speaker {unknown[0]!r} is not in {holder.name if holder else 'the corpus'}: start a new run")
    torch.manual_seed(recipe.seed)
    num_speakers = len(speakers)
    if base and base.num_speakers != num_speakers:
        raise TrainError(f"the base has {base.num_speakers} speakers, the corpus {num_speakers}: use a fitting base")
    learner = family.learner(config, vocab_size=vocabulary.size, num_speakers=num_speakers)
    if base:
        notes += base.load(learner)
    if start:
        notes += _changes(start[0].recipe, recipe, start)
        _check_fits(learner, start)
    return Setup(
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
        seconds={clip.id: store.length(clip.id) / rate for clip in train_clips + valid_clips},
        valid=[clip.id for clip in valid_clips],
        ids=ids,
        speaker_of={clip.id: speakers.index(clip.speaker) for clip in train_clips + valid_clips},
        device=device,
        facts={
            **_facts(corpus, recipe, device),
            "from": run.document("facts.json")["from"] if run else f"{start[0].name}@{start[1]}" if start else None,
            "clips": hash_value([_heard(corpus, train_clips), _heard(corpus, valid_clips)]),
        },
        documents={
            "vocabulary.json": vocabulary.state(),
            "frontend.json": frontend_state,
            "speakers.json": speakers,
            "left_out.json": left_out,
        },
        start=start,
        notes=notes,
        ranks=ranks or Ranks(),
    )


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


def _check_fits(learner: nn.Module, start: tuple[Run, int]) -> None:
    """Before a run is made: weights of another shape cannot be started from."""
    run, step = start
    saved = run.checkpoints().load(step).weights
    for name, tensor in learner.state_dict().items():
        held = saved.get(f"learner/{name}")
        if held is None or held.shape != tensor.shape:
            has = "nothing" if held is None else f"shape {tuple(held.shape)}"
            raise TrainError(
                f"{run.name} has {has} for {name}, these settings need {tuple(tensor.shape)}: keep its [model]"
            )


def _base(family: Family, recipe: Recipe, run: Run | None) -> Base | None:
    """A run with a checkpoint has all it needs; its base may be gone by then."""
    if recipe.base is None or (run and run.checkpoints().steps()):
        return None
    folder = Path(recipe.base)
    if not folder.is_dir():
        raise TrainError(
            f"base {recipe.base!r} is not a folder: give a folder with config.json, vocab.json and weights"
        )
    return family.read_base(folder)


def _config(family: Family, recipe: Recipe, base: Base | None) -> Any:
    if base and "size" in recipe.model and recipe.model["size"] != base.settings["size"]:
        raise TrainError(
            f"recipe: model.size = {recipe.model['size']!r} has no effect with a base: the base has its own"
        )
    gentle = {"learning_rate": FINE_TUNING_RATE, "discriminator_learning_rate": FINE_TUNING_RATE}
    under = {**base.settings, **gentle} if base else {}
    return check(family.config, {**under, **recipe.model}, where="recipe [model]")


def _alphabet(corpus: Corpus, holder: Run | None, base: Base | None) -> tuple[SymbolVocabulary, dict[str, Any]]:
    """The vocabulary and the frontend that speaks it: of the run gone on with, or of the base and the corpus."""
    if holder:
        return SymbolVocabulary.from_state(holder.document("vocabulary.json")), holder.document("frontend.json")
    ws = corpus.ws
    if base is None:
        vocabulary = SymbolVocabulary.from_state(read_json(ws.readings / "vocabulary.json"))
        return vocabulary, read_json(ws.readings / "frontend.json")
    frontend = base_frontend(ws, lower=base.lower, via=base.via)
    wanted = [clip for clip in corpus if corpus.is_wanted(clip)]
    needed = {s for clip in wanted for s in read_clip(frontend, clip.text)[0].symbols()}
    vocabulary = SymbolVocabulary(base.symbols, interleave=base.interleave).extend(needed)
    return vocabulary, {**frontend.state(), "inventory": vocabulary.sayable()}


def _select(
    corpus: Corpus, recipe: Recipe, family: Family, config: Any, store: Store, ids: dict[str, tuple[int, ...]]
) -> tuple[list[Clip], dict[str, str]]:
    """Clips to learn from, and why each other one is left out. Nothing is cut to fit."""
    kept, left_out = [], {}
    for clip in corpus:
        why = _why_not(corpus, clip, recipe, store)
        if why is None and not ids[clip.id]:
            why = "its transcript holds nothing to say"
        if why is None:
            why = family.refuses(config, samples=store.length(clip.id), tokens=len(ids[clip.id]))
        if why is None:
            kept.append(clip)
        else:
            left_out[clip.id] = why
    return kept, left_out


def _sides(
    corpus: Corpus, kept: list[Clip], left_out: dict[str, str], dropped: Counter[str]
) -> tuple[list[Clip], list[Clip], list[str]]:
    """Clips for training, clips for validation, and what a person should know of the choice."""
    train = [clip for clip in kept if corpus.split(clip) == "train"]
    valid = [clip for clip in kept if corpus.split(clip) == "valid"][:VALIDATION_CLIPS]
    if not train:
        first = next(iter(left_out.items()), ("", ""))
        raise TrainError(f"no clip is left to train on; the first left out is {first[0]}: {first[1]}")
    notes = [f"{len(left_out)} of {len(corpus)} clips left out: {_few(left_out)}"] if left_out else []
    if dropped:
        listed = ", ".join(f"{named(symbol)} x{count}" for symbol, count in dropped.most_common(8))
        notes.append(f"characters that are not read: {listed}")
    if not any(clip.speaker in {one.speaker for one in train} for clip in valid):
        valid = train[:4]
        notes.append("no clip is left for validation: its figures come from training clips")
    return train, valid, notes


def _why_not(corpus: Corpus, clip: Clip, recipe: Recipe, store: Store) -> str | None:
    data = recipe.data
    if clip.id not in store:
        return "it cannot be decoded" if clip.transcribed else "it has no transcript"
    why = corpus.why_not(clip, errors=data.leave_out_errors)
    seconds = corpus.taken(clip).seconds
    if why is None and not data.min_seconds <= seconds <= data.max_seconds:
        return f"{seconds:.1f} s, and data.min_seconds to max_seconds is {data.min_seconds:g} to {data.max_seconds:g}"
    return why


def _heard(corpus: Corpus, clips: list[Clip]) -> list[Any]:
    """What names the sound of each clip: its id, and its stretch where only that is taken."""
    taken = [(clip, corpus.taken(clip)) for clip in clips]
    return [clip.id if part is clip else [clip.id, part.start, part.seconds] for clip, part in taken]


def _few(left_out: dict[str, str]) -> str:
    shown = [f"{clip} ({why})" for clip, why in list(left_out.items())[:3]]
    return "; ".join(shown) + (" ..." if len(left_out) > 3 else "")


def _changes(old: Recipe, new: Recipe, start: tuple[Run, int]) -> list[str]:
    before, after = _flat(old.model_dump(mode="json")), _flat(new.model_dump(mode="json"))
    changed = [f"{key}: {before.get(key)} -> {after.get(key)}" for key in after if before.get(key) != after.get(key)]
    return [f"from {start[0].name} at step {start[1]}; changed: {', '.join(changed) or 'nothing'}"]


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _facts(corpus: Corpus, recipe: Recipe, device: str) -> dict[str, Any]:
    base = Path(recipe.base) if recipe.base else None
    names = ("model.safetensors", "pytorch_model.bin")
    weights = next((base / name for name in names if (base / name).exists()), None) if base else None
    return {
        "olu": olu.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else device,
        "corpus": corpus.fingerprint,
        "base": hash_file(weights) if weights else None,
        "recipe": hash_value(recipe.model_dump(mode="json")),
        "started": int(time.time()),
    }


def dry_run(setup: Setup) -> dict[str, Any]:
    """One update and one validation batch in memory; nothing is written."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        run = Run(Path(folder))
        (run.folder / "checkpoints").mkdir()
        engine = setup.engine(run)
        engine.advance()  # the first step also pays for warming up
        report = engine.advance()
        scores, _ = engine._validate()
    return {
        "parameters": {name: sum(p.numel() for p in live.params) for name, live in engine.live.items()},
        "losses": {name: value for seen in report.seen for name, value in seen.losses.items()},
        "valid": scores,
        "events": [event.message for event in report.events],
        "seconds_per_step": round(report.seconds, 3),
        "hours_expected": round(report.seconds * setup.recipe.plan.steps / 3600, 3),
        "clips": len(setup.train),
        "padding_share": round(engine.batches.padding_share(), 4),
        "symbols": setup.vocabulary.size,
    }

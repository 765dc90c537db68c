"""What a run is made of: family, vocabulary, clips, learner and engine, from a recipe and a workspace."""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np
import torch

import olu
from olu.align.state import DOCUMENT as PAUSES
from olu.align.state import Marks, find_pauses, knows_pauses, mark_pauses, said_of
from olu.core.errors import TrainError
from olu.core.files import Workspace, hash_value
from olu.core.job import Job, phase
from olu.core.types import Clip
from olu.corpus.manifest import Corpus
from olu.families import family as family_named
from olu.features.store import Store, WaveFeature
from olu.stages.alphabet import (
    NEW_SYMBOLS,
    alphabet,
    growth_from,
    held_by,
    held_rows,
    new_symbols,
    own_readings,
    own_sentences,
    said_of_new,
)
from olu.stages.audit import audit
from olu.stages.clip_choice import check_speakers, is_asked_for, select, sides, strangers
from olu.stages.hearing import HEARD_BY, ear_of, listener_of, said_of_ears
from olu.stages.prepare import prepare, sound_of
from olu.stages.read import read_clip, read_corpus
from olu.stages.train_ready import Setup
from olu.stages.train_start import (
    begun_from,
    changes_from,
    check_fits,
    check_sound,
    config_for,
    parse_start,
    rate_for,
    read_base,
    speakers_from,
)
from olu.stages.written import check_ears, only_listening, written
from olu.text.frontend import from_state
from olu.train.ranks import Ranks
from olu.train.recipe import Recipe
from olu.train.run import Run, hash_base
from olu.train.view.viewer import TEXTS as SAMPLE_TEXTS


def prepare_run(ws: Workspace, recipe: Recipe, *, run: Run | None = None) -> Job[list[str]]:
    """The earlier stages, each only if it is missing or stale; a recipe that cannot work is refused before them.

    Returns what there is to say of them.
    """
    Corpus.open(ws)
    rate = rate_for(recipe, run=run)
    yield from phase("listening", audit(ws))
    yield from phase("reading", read_corpus(ws))
    listening = family_named(recipe.family).kind == "listener"
    made = yield from phase("preparing", prepare(ws, rate=rate, **sound_of(recipe), listening=listening))
    return [made.note] if made.note else []


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
    check_sound(family, recipe)
    base = read_base(family, recipe, run or (start[0] if start else None))
    config = config_for(family, recipe, base)
    recipe = only_listening(recipe.model_copy(update={"model": config.model_dump(mode="json")}), family)
    writes = family.hears.targets(config, language=ws.language) if family.hears else None
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
    rate = family.data.rate(config)
    store = Store(ws.features / WaveFeature(rate, **sound_of(recipe)).key)
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
    heard = {clip.speaker for clip in train_clips}
    speakers, met = speakers_from(start[0], heard) if start and not run else (sorted(heard), [])
    speakers = run.document("speakers.json") if run else speakers
    notes += met
    notes += strangers(valid_clips, speakers)
    valid_clips = [clip for clip in valid_clips if clip.speaker in speakers]
    if run and (unknown := sorted(heard - set(speakers))):
        raise TrainError(f"speaker {unknown[0]!r} is not in {run.name}: start a new run")
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
        notes += changes_from(start[0].recipe, recipe, start)
        given = begun_from(start, family=family, learner=learner, growth=growth, speakers=speakers)
        check_fits(learner, start, given)
    if scale != 1.0 and not run and not (growth and growth.parents):
        notes.append(f"model.init_scale = {scale:g} has no effect: no symbol is new")
    strange = new_symbols(vocabulary, growth, readings, kept) if growth else []
    notes += said_of_new(strange)
    held = held_rows(recipe, run, start[0] if start else None, old)
    listener = listener_of(ws, recipe, run=run) if family.kind == "voice" else None
    notes += said_of_ears(ws, recipe, listener)
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
            "trained": {
                "clips": len(train_clips),
                "seconds": round(sum(seconds[clip.id] for clip in train_clips), 3),
                "valid": len(valid_clips),
                "of": len(corpus),
                "of_seconds": round(corpus.seconds, 3),
            },
            HEARD_BY: listener,
        },
        documents={
            "vocabulary.json": vocabulary.state(),
            "frontend.json": frontend_state,
            "speakers.json": speakers,
            "left_out.json": left_out,
            SAMPLE_TEXTS: _texts(recipe, valid_clips),
            **({PAUSES: pauses} if least else {}),
            **({NEW_SYMBOLS: strange} if strange else {}),
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


def _texts(recipe: Recipe, valid: list[Clip]) -> dict[str, str]:
    """What each sample says, by its name."""
    own = {f"sentence-{number}": text for number, text in enumerate(recipe.plan.sentences, 1)}
    return {clip.id: clip.text for clip in valid[: recipe.plan.demo_clips]} | own


def _heard(corpus: Corpus, clips: list[Clip]) -> list[Any]:
    """What names each clip: its id, with its stretch where only that is taken, and its text where it was corrected."""
    found: list[Any] = []
    for clip in clips:
        part, changed = corpus.taken(clip), corpus.correction(clip)
        stretch = [] if part is clip else [part.start, part.seconds]
        text = [changed.text] if changed else []
        found.append([clip.id, *stretch, *text] if stretch or text else clip.id)
    return found


def _facts(corpus: Corpus, recipe: Recipe, device: str) -> dict[str, Any]:
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
    }

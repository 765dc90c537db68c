"""What comes before a training: the earlier stages, the recogniser that hears its samples, and the training itself."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from statistics import mean
from typing import TYPE_CHECKING, Any

from olu.align.state import alignment_path
from olu.audio.io import resample
from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.job import Job, Note, phase
from olu.core.places import is_here
from olu.core.types import Reading
from olu.corpus.manifest import Corpus
from olu.families import family as family_named
from olu.families.runs import MATCHED, NEEDS, as_companions, needed_runs, ready
from olu.features.store import ClipArrays
from olu.stages.audit import audit
from olu.stages.prepare import PrepareSummary, needed_by, prepare, sound_of
from olu.stages.read import read_corpus
from olu.train.recipe import Recipe
from olu.train.run import HEARD_BY, Run

if TYPE_CHECKING:
    from olu.train.family import Family, SpokenSample
    from olu.train.ranks import Ranks
    from olu.train.setup.job import TrainingJob
    from olu.train.validation import Ear


def prepare_run(
    ws: Workspace, recipe: Recipe, *, run: Run | None = None, jobs: int | None = None
) -> Job[PrepareSummary]:
    """The earlier stages, each only if it is missing or stale; a recipe that cannot work is refused before them.

    `jobs`: threads that prepare the clips; none: one per core.
    """
    from olu.train.setup.start import config_for, rate_for, read_base  # torch comes with them

    Corpus.open(ws)
    family = family_named(recipe.family)
    rate = rate_for(family, recipe, run=run)
    yield from phase("listening", audit(ws))
    if "text" in family.data.needs:
        yield from phase("reading", read_corpus(ws))
    gone = run is not None and recipe.base is not None and not is_here(recipe.base)  # what it made may be there yet
    base = read_base(family, recipe) if family.data.features and not gone else None
    config = config_for(family, recipe, base)
    if first := first_command(ws, family, config):
        raise TrainError(
            f"{ws.root} is not aligned, and {family.name} learns durations from an alignment: run '{first}'"
        )
    needed = needed_by(family, config, base)
    made = yield from phase("preparing", prepare(ws, rate=rate, **sound_of(recipe), **needed, jobs=jobs))
    if made.note:
        yield Note(made.note)
    return made


def set_up(
    ws: Workspace,
    recipe: Recipe,
    *,
    device: str,
    run: Run | None = None,
    start: tuple[Run, int] | None = None,
    ranks: Ranks | None = None,
) -> TrainingJob:
    """A training that can begin. `run`: go on with it, so its own vocabulary holds; `start`: begin from that checkpoint
    of another run.
    """
    from olu.train.ranks import Ranks
    from olu.train.setup.job import build_job
    from olu.train.setup.start import SampleListener, TrainingRequest

    family, listener = family_named(recipe.family), None
    name = listener_of(ws, recipe, run=run) if family.kind == "voice" else None
    if name:
        listener = SampleListener(name, partial(ear_of, ws, name, device=device, factor=recipe.data.resample))
    needed = needed_runs(
        ws, family, named=named_by(recipe, family), before=run.document("facts.json").get(NEEDS, {}) if run else None
    )
    if recipe.match and family.kind != "vocoder":
        raise TrainError(f"recipe: match has no effect: the family {family.name!r} is no vocoder: leave it out")
    beside = matched_mels(ws, recipe, device=device) if recipe.match else {}
    companions = as_companions(needed)
    asked = TrainingRequest(ws, family, recipe, device, run, start, ranks or Ranks(), listener, companions, beside)
    job = build_job(asked)
    facts: dict[str, Any] = {MATCHED: recipe.match} if recipe.match else {}
    facts |= {NEEDS: {kind: part.name for kind, part in needed.items()}} if needed else {}
    return replace(job, facts={**job.facts, **facts}, notes=[*job.notes, *said_of_ears(ws, job.recipe, name)])


def first_command(ws: Workspace, family: Family, config: Any) -> str:
    """What has to be run before a training of a family: it learns durations from an alignment, and there is none."""
    wanted = family.data.token_frames(config) if family.data.token_frames else None
    needed = wanted is not None and wanted.all and not alignment_path(ws).is_file()
    return f"olu align {shlex.quote(str(ws.root))}" if needed else ""


def named_by(recipe: Recipe, family: Family) -> dict[str, str]:
    """The runs of other kinds that a recipe names."""
    asked = recipe.voice.vocoder
    if asked and not (family.speaks and "vocoder" in family.speaks.needs):
        raise TrainError(f"recipe: voice.vocoder has no effect: the family {family.name!r} needs none: leave it out")
    return {"vocoder": asked} if asked else {}


def listener_of(ws: Workspace, recipe: Recipe, *, run: Run | None) -> str | None:
    """The name of the recogniser's run: the one this run began with, or the newest that fits."""
    if run is None:
        found = ready(ws, units="letters", everything=False)
        return found.name if found else None
    name = run.document("facts.json").get(HEARD_BY)
    if name and Run(ws.runs_folder / name).fault:
        if recipe.plan.choose == "heard":
            raise TrainError(
                f"{run.name} chooses its best step by what {name} hears, and {name} is gone or damaged: bring it back,"
                f" or start from its weights with 'olu train {ws.root} --from-run {run.name} --new'"
            )
        return None
    return str(name) if name else None


def said_of_ears(ws: Workspace, recipe: Recipe, listener: str | None) -> list[str]:
    """A sentence where the best step is to be chosen by ear and no recogniser is there."""
    if recipe.plan.choose != "heard" or listener:
        return []
    make = shlex.join(["olu", "train", str(ws.root), "--set", "family=recogniser"])
    return [
        f"plan.choose = 'heard', and {ws.root} has no recogniser that fits its corpus: the validation loss chooses the"
        f" best step of this run. '{make}' makes a recogniser, for the next"
    ]


def ear_of(ws: Workspace, name: str, said: Mapping[str, Reading], *, device: str, factor: float = 1.0) -> Ear:
    """Share of wrong letters in the samples whose text is known. The network is loaded when first asked.

    `factor`: what the recordings were resampled by. It is undone first: the recogniser learnt from them as they are.
    """

    @cache
    def recogniser() -> Any:
        from olu.families.recogniser.recognise import load

        return load(Run.named(ws.runs_folder, name), language=ws.language, device=device)

    def hear(exhibits: Sequence[SpokenSample]) -> dict[str, float]:
        from olu.evaluate.metrics.cer import compare

        known = [one for one in exhibits if one.name in said]
        if not known:
            return {}
        ears = recogniser()
        rates = []
        for one in known:
            target = "".join(ears.target(said[one.name]))
            sound = resample(one.audio, one.audio.rate, factor=1 / factor)
            rates.append(min(1.0, compare(target, spoken=ears.transcribe(sound)).letters.rate))
        return {"cer": mean(rates)}

    return hear


def match_of(ws: Workspace, asked: str) -> list[str]:
    """What a vocoder's recipe takes over to be matched to an acoustic model: RUN@STEP, and what was done to sound."""
    from olu.train.setup.start import parse_start

    run, step = parse_start(ws, asked)
    family = family_named(run.recipe.family)
    if family.kind != "voice" or family.data.contract is None:
        raise TrainError(f"--match {run.name}: it makes no mels: name a run of an acoustic model")
    sound = [f"data.{name}={getattr(run.recipe.data, name)}" for name in ("resample", "edges", "loudness")]
    return [f"match={run.name}@{step}", *sound]


def matched_mels(ws: Workspace, recipe: Recipe, *, device: str) -> dict[str, ClipArrays]:
    """The mels that an acoustic model makes of all clips it knows, with their true durations and pitch."""
    import torch

    from olu.train.checkpoint import load_averaged
    from olu.train.setup.start import parse_start

    run, step = parse_start(ws, recipe.match)
    for name in ("resample", "edges", "loudness"):
        own, theirs = getattr(recipe.data, name), getattr(run.recipe.data, name)
        if own != theirs:
            raise TrainError(f"data.{name} is {own:g} here and {theirs:g} in {run.name}: a match needs the same sound")
    job = set_up(ws, run.recipe, device=device, run=run)
    learner: Any = job.learner
    load_averaged(learner, run.checkpoints().load(step))
    learner.to(device)
    torch.manual_seed(recipe.seed)
    mels = {}
    for clip in [*job.train, *job.valid]:
        made = learner.forced_mel(learner.collate([job.example(clip)]).to(torch.device(device)))
        mels[clip] = made[0].T.half().cpu().numpy()
    return {"matched": ClipArrays(mels)}

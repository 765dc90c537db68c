"""Runs of a workspace by kind (voices, listeners, vocoders), recognisers that fit its corpus, and damaged runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from olu.core.config import check
from olu.core.errors import ConfigError, TrainError
from olu.core.files import Workspace, hash_file, read_json
from olu.corpus.manifest import Corpus
from olu.families import family
from olu.text.frontend import read_state
from olu.text.pieces import vocabulary_from
from olu.train.base_facts import VOCODER
from olu.train.checkpoint import WEIGHTS
from olu.train.family import Companion, Family, Kind
from olu.train.recipe import vocoder_named
from olu.train.run import CONTRACT, Run

if TYPE_CHECKING:
    from torch import nn

NAMES: dict[Kind, str] = {"voice": "a voice", "listener": "a recogniser", "vocoder": "a vocoder"}
RECOGNISER = "recogniser"
NEEDS = "needs"  # in a run's facts: kind of run -> RUN@STEP that it began with
MATCHED = "match"  # in a vocoder's facts: RUN@STEP of the acoustic model whose mels it learnt from
NOTHING: Mapping[str, str] = {}
SECOND_HALF = 0.5  # of the training side is not heard by a second recogniser, which checks the first
Units = Literal["letters", "symbols"]


@dataclass(frozen=True)
class NeededPart:
    """What a voice is made of beside its own run: a step of another run, or a package of its own."""

    name: str  # RUN@STEP, or the path of the package
    digest: str
    load: Callable[[], nn.Module]
    contract: Any = None  # what of a spectrogram it was made for
    run: Run | None = None  # whose base has a licence of its own; a package names its licence itself

    @property
    def told(self) -> str:
        name, _, step = self.name.rpartition("@")
        return f"step {step} of {name}" if self.run else f"the package {Path(self.name).name}"


def kind_of(run: Run) -> Kind:
    """A run of a family that is gone is taken for a voice: what uses it says that it is gone."""
    return _kind(run.recipe.family)


def _kind(name: str) -> Kind:
    try:
        return family(name).kind
    except ConfigError:
        return "voice"


def whole_runs(ws: Workspace) -> list[Run]:
    """The runs whose files are whole, oldest first: a damaged one is used only where it is named, and says so then."""
    return [run for run in Run.all(ws.runs_folder) if not run.fault]


def runs_of(ws: Workspace, kind: Kind) -> list[Run]:
    """The whole runs of a kind, oldest first."""
    return [run for run in whole_runs(ws) if kind_of(run) == kind]


def voices(ws: Workspace) -> list[Run]:
    """The runs that make a voice, oldest first."""
    return runs_of(ws, "voice")


def learner_of(run: Run, step: int, *, config: Any = None, needed: Mapping[str, nn.Module] | None = None) -> nn.Module:
    """The networks of a run with the averaged weights of a step.

    `config`: other settings than its recipe's; `needed`: those of runs of other kinds that it needs, by kind.
    """
    from olu.train.checkpoint import load_averaged  # torch comes with it
    from olu.train.setup.observe import held_by

    chosen = family(run.recipe.family)
    config = config or check(chosen.config, run.recipe.model, where=f"{run.name}/recipe.toml [model]")
    vocabulary, speakers = vocabulary_from(run.document("vocabulary.json")), run.document("speakers.json")
    learner = chosen.learner(config, vocab_size=vocabulary.size, num_speakers=len(speakers))
    load_averaged(learner, run.checkpoints().load(step))
    if observed := held_by(run):
        learner.observe(observed)  # type: ignore[operator]
        _introduce(learner, run, observed.get("references", {}), rate=chosen.data.rate(config))
    companions = chosen.bases.companions(config, None) if chosen.bases and chosen.bases.companions else ()
    frozen = {one.name: one.load() for one in companions} | dict(needed or {})
    if frozen:
        learner.accompany(frozen)  # type: ignore[operator]
    return learner


def _introduce(learner: nn.Module, run: Run, references: Mapping[str, list[str]], *, rate: int) -> None:
    """The recordings that a run chose of its speakers, for a learner that sounds like what it hears of them."""
    if not hasattr(learner, "meet") or not references:
        return
    from olu.audio.io import resample, to_int16

    corpus = Corpus.open(Workspace.open(run.folder.parent.parent))
    held = {clip.id: clip for clip in corpus}
    for number, name in enumerate(run.document("speakers.json")):
        clips = [held[clip] for clip in references.get(name, ()) if clip in held]
        sounds = [to_int16(resample(corpus.audio(clip), rate)) for clip in clips]
        learner.meet(number, sounds)  # type: ignore[operator]


def needed_runs(
    ws: Workspace,
    chosen: Family,
    *,
    named: Mapping[str, str] = NOTHING,
    before: Mapping[str, str] | None = None,
    whose: Run | None = None,
) -> dict[str, NeededPart]:
    """Of every kind that a voice of a family needs: the one that is `named` (RUN, RUN@STEP or a package), the one it
    began with (`before`), the newest that was matched to it (`whose`), or the newest finished.

    A training can do without those that its family has something plain for; a voice, which is somebody's, cannot.
    """
    found: dict[str, NeededPart] = {}
    for kind in chosen.speaks.needs if chosen.speaks else ():
        plain = chosen.speaks is not None and kind in chosen.speaks.stands_in
        asked = named.get(kind) or ("" if plain and whose else (before or {}).get(kind, ""))
        if not asked and plain and before is not None and not whose:
            continue  # it began without one
        if name := asked or _newest(ws, kind, whose):
            found[kind] = _packaged(name, kind) if _is_package(name) else _run_at(ws, name, kind)
        elif not plain or whose:
            raise TrainError(
                f"a voice of the family {chosen.name!r} needs {NAMES[kind]}, and {ws.root} has none: train one first"
            )
    for part in found.values():
        _check_contract(chosen, part)
    return found


def _newest(ws: Workspace, kind: Kind, whose: Run | None) -> str:
    """The newest finished run of a kind, or nothing: one matched to `whose`, to nobody, and only then to another."""
    finished = [run for run in runs_of(ws, kind) if run.finished and run.checkpoints().steps()]
    matched = [run for run in finished if whose and _matched_to(run) == whose.name]
    free = [run for run in finished if not is_matched(run)]
    return next((run.name for run in reversed(matched or free or finished)), "")


def _is_package(name: str) -> bool:
    return vocoder_named(name) != name or Path(name).is_absolute()


def _packaged(name: str, kind: Kind) -> NeededPart:
    """A package x.vocoder."""
    folder = Path(vocoder_named(name))
    if not (folder / VOCODER).is_file():
        command = "olu export WS --run RUN -o x.vocoder"
        raise TrainError(f"{folder} is no package of {NAMES[kind]}: make one with '{command}'")
    card = read_json(folder / VOCODER)
    made_by = family(str(card.get("family")))
    if made_by.kind != kind or made_by.bases is None or made_by.bases.opened is None:
        raise TrainError(f"{folder} is no package of {NAMES[kind]}, but of the family {made_by.name!r}: name another")
    digest = hash_file(folder / VOCODER)  # which names the digest of every file
    return NeededPart(str(folder), digest, partial(made_by.bases.opened, folder), card.get(CONTRACT))


def _run_at(ws: Workspace, text: str, kind: Kind) -> NeededPart:
    """RUN, at its best step, or RUN@STEP."""
    name, _, step = text.partition("@")
    run = Run.named(ws.runs_folder, name)
    if (own := kind_of(run)) != kind:
        raise TrainError(f"{name} is {NAMES[own]} and not {NAMES[kind]}: name another run; 'olu runs' lists them")
    steps, best = run.checkpoints().steps(), run.best_step()
    if best is None or (step and (not step.isdigit() or int(step) not in steps)):
        raise TrainError(
            f"{name} has no checkpoint at step {step or 'any'}; it has: {', '.join(map(str, steps)) or 'none'}"
        )
    at = int(step) if step else best
    weights = run.checkpoints().path(at) / WEIGHTS
    contract = run.document("facts.json").get(CONTRACT)
    return NeededPart(f"{name}@{at}", hash_file(weights), partial(learner_of, run, at), contract, run)


def is_matched(run: Run) -> bool:
    """Whether a vocoder learnt from the mels of an acoustic model."""
    return bool(_matched_to(run))


def _matched_to(run: Run) -> str:
    """The acoustic run whose mels a vocoder was trained on, where it was."""
    return str(run.document("facts.json").get(MATCHED) or "").partition("@")[0]


def _check_contract(chosen: Family, part: NeededPart) -> None:
    """An error that names what differs, where a part was made for another spectrogram than a family's."""
    if chosen.data.contract and part.contract:
        from olu.features.mel import MelSpec  # torch comes with it

        own = {name: value for name, value in chosen.data.contract().items() if name not in ("hash", "probe")}
        MelSpec(**own).must_fit(part.contract, whose=part.run.name if part.run else part.name)


def as_companions(needed: Mapping[str, NeededPart]) -> tuple[Companion, ...]:
    """What a voice is made of beside its run, as frozen modules."""
    return tuple(Companion(kind, part.digest, part.load) for kind, part in needed.items())


def passed_over(ws: Workspace, chosen: Run | None = None, *, kind: Kind | None = None) -> list[str]:
    """A sentence for every damaged run that might have been taken instead of an older one that was chosen.

    Its name begins with its family, so that a recogniser is not missed among the voices.
    """
    runs = Run.all(ws.runs_folder)
    names = [run.name for run in runs]
    later = runs[names.index(chosen.name) + 1 :] if chosen and chosen.name in names else runs
    alike = [run for run in later if kind is None or _kind(run.name.rpartition("-")[0]) == kind]
    return [f"{run.name} was passed over: {fault}" for run in alike if (fault := run.fault)]


def voice_named(ws: Workspace, name: str) -> Run:
    """A run that makes a voice."""
    run = Run.named(ws.runs_folder, name)
    if (kind := kind_of(run)) != "voice":
        raise TrainError(f"{name} is {NAMES[kind]} and does not speak: name a run of a voice; 'olu runs' lists them")
    return run


def fitting(ws: Workspace, *, units: Units, everything: bool) -> list[Run]:
    """The recognisers that were made, or are being made, from this corpus as it is read now, oldest first."""
    return [run for run in runs_of(ws, "listener") if _fits(ws, run, units=units, everything=everything)]


def is_second(run: Run) -> bool:
    """Whether it is a second recogniser, that learnt from half of the training side."""
    return run.recipe.data.hold_back == SECOND_HALF and run.recipe.model.get("units") == "letters"


def ready(ws: Workspace, *, units: Units, everything: bool) -> Run | None:
    """The newest finished one that fits, if there is any: nothing is trained."""
    if not (ws.readings / "frontend.json").is_file():
        return None
    return next((run for run in reversed(fitting(ws, units=units, everything=everything)) if run.finished), None)


def aligner_of(ws: Workspace) -> Run | None:
    """The newest finished recogniser of sounds that reads as this workspace does; clips may have come or gone since.

    What finds sounds in speech need not have learnt from just these clips, nor met every sound of them: after `olu cut`
    it still hears them.
    """
    if not (ws.readings / "frontend.json").is_file():
        return None
    own = _rules(read_state(ws.readings / "frontend.json"))
    runs = [run for run in runs_of(ws, "listener") if run.finished and _is_for(run, "symbols", everything=True)]
    return next((run for run in reversed(runs) if _rules(run.document("frontend.json")) == own), None)


def _rules(frontend: Mapping[str, Any]) -> dict[str, Any]:
    """How a text is read, whatever sounds a corpus happens to have."""
    return {name: value for name, value in frontend.items() if name != "inventory"}


def _fits(ws: Workspace, run: Run, *, units: Units, everything: bool) -> bool:
    same = run.document("facts.json").get("corpus") == Corpus.open(ws).fingerprint
    alike = run.document("frontend.json") == read_state(ws.readings / "frontend.json")
    return bool(same and alike and _is_for(run, units, everything=everything))


def _is_for(run: Run, units: Units, *, everything: bool) -> bool:
    recipe = run.recipe
    wanted = recipe.family == RECOGNISER and recipe.model.get("units") == units and recipe.data.everything == everything
    if recipe.data.hold_back >= SECOND_HALF:  # one of the collusion check
        return False
    whole = recipe.model.get("tone_marks") == "remove" and not recipe.data.speakers and not recipe.data.train_clips
    return bool(wanted and whole)

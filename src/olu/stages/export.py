"""Turn a run, or a foreign checkpoint, into a voice that speaks anywhere."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.config import check, did_you_mean
from olu.corpus.manifest import Corpus
from olu.errors import ExportError, LanguageError
from olu.export.package import Contents, write_package
from olu.families import FAMILIES
from olu.families import family as family_named
from olu.files import Workspace, disk_bytes, hash_file, hash_value, whole
from olu.speak.voice import Voice
from olu.stages.extras import need_training
from olu.stages.stage import Stage
from olu.text.characters import CharacterFrontend
from olu.text.frontend import from_state
from olu.text.languages import Language, load
from olu.text.vocabulary import SymbolVocabulary
from olu.train.family import Card, Family
from olu.train.hub import is_hub_id, located
from olu.train.run import Run
from olu.train.speaking import load_averaged

if TYPE_CHECKING:
    from torch import nn

FORMATS = ("voice", "hf", "hf-training", "vits")
CHECK_SENTENCES = 3


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    weights = ws.runs / str(options.get("run")) / "checkpoints" / f"step-{options.get('step')}" / "state.json"
    newest = [run.name for run in Run.all(ws.runs) if run.finished][-1:]
    return hash_value([hash_file(weights) if weights.exists() else "", newest])


STAGE = Stage(name="export", command="olu export {ws} --to voice", folder="voices", inputs=_inputs)


@dataclass(frozen=True)
class ExportSummary:
    voice: str
    run: str
    step: int
    bytes: int
    parameters: int
    language: str
    speakers: list[str]
    notes: list[str]  # what loading a foreign checkpoint left open, and what another format has no place for
    to: str = "voice"
    fresh: bool = False  # nothing was done: this voice exists


def export(
    source: Path, *, to: str = "voice", run: str | None = None, step: int | None = None, out: Path | None = None
) -> ExportSummary:
    """`source` is a workspace, or a foreign checkpoint: a folder, a file, or an id on the hub."""
    if to not in FORMATS:
        raise ExportError(f"cannot export to {to!r}{did_you_mean(to, FORMATS)}; there is: {', '.join(FORMATS)}")
    need_training("olu export")
    if _is_foreign(source):
        return _foreign(source, to=to, out=out)
    ws = Workspace.open(source)
    chosen = Run.named(ws.runs, run) if run else _newest_finished(ws)
    at = _step(chosen, step)
    name = f"{ws.name}-{chosen.name}" if run or step is not None else ws.name
    if to != "voice":
        return _converted(ws, chosen, at, to=to, path=out or ws.voices / f"{name}-{to}", given=out is not None)
    path = out or ws.voices / f"{name}.voice"
    options = {"run": chosen.name, "step": at, "name": name}
    earlier = STAGE.done(ws, options) if out is None else None
    if earlier and (path / "voice.json").exists():
        return ExportSummary(**{**earlier, "voice": str(path), "fresh": True})
    summary = _from_run(ws, chosen, at, path=path, name=name)
    if out is None:
        STAGE.stamp(ws, options, asdict(summary))
    return summary


def _is_foreign(source: Path) -> bool:
    held = source.is_file() or ((source / "config.json").is_file() and not (source / "olu.toml").exists())
    return held or is_hub_id(source.as_posix())


def _newest_finished(ws: Workspace) -> Run:
    runs = Run.all(ws.runs)
    if finished := [run for run in runs if run.finished]:
        return finished[-1]
    if runs and runs[-1].result is None:
        raise ExportError(f"{runs[-1].name} is not finished: 'olu train {ws.root} --resume', or export it with --run")
    if runs:
        raise ExportError(
            f"{runs[-1].name} was stopped by a guard: train anew, or export it with --run {runs[-1].name}"
        )
    raise ExportError(f"{ws.root} has no run yet: train one with 'olu train {ws.root}'")


def _step(run: Run, step: int | None) -> int:
    """The step asked for, or the best one."""
    steps = run.checkpoints().steps()
    if not steps:
        raise ExportError(f"{run.name} has no checkpoint yet")
    if step is not None and step not in steps:
        raise ExportError(f"{run.name} has no step {step}; it has: {', '.join(map(str, steps))}")
    best = run.best
    return step if step is not None else int(best["step"]) if best and best["step"] in steps else steps[-1]


def _loaded(run: Run, step: int) -> tuple[Family, nn.Module, SymbolVocabulary, list[str]]:
    """A run's learner with its averaged weights, and what it speaks with."""
    recipe = run.recipe
    family = family_named(recipe.family)
    config = check(family.config, recipe.model, where=f"{run.name}/recipe.toml [model]")
    vocabulary = SymbolVocabulary.from_state(run.document("vocabulary.json"))
    speakers = run.document("speakers.json")
    learner = family.learner(config, vocab_size=vocabulary.size, num_speakers=len(speakers))
    load_averaged(learner, run.checkpoints().load(step))
    return family, learner, vocabulary, speakers


def _converted(ws: Workspace, run: Run, step: int, *, to: str, path: Path, given: bool) -> ExportSummary:
    family, learner, vocabulary, speakers = _loaded(run, step)
    frontend = from_state(run.document("frontend.json"))
    by_letters = isinstance(frontend, CharacterFrontend)
    card = Card(
        symbols=vocabulary.symbols,
        interleave=vocabulary.interleave,
        language=ws.language,
        speakers=tuple(speakers),
        step=step,
        by_letters=by_letters,
        lower=frontend.lower if isinstance(frontend, CharacterFrontend) else False,
        via=frontend.via if isinstance(frontend, CharacterFrontend) else None,
    )
    notes = _write(family, learner, card, to=to, path=path, given=given)
    return _plain_summary(learner, card, path, to=to, run=run.name, notes=notes)


def _write(family: Family, learner: nn.Module, card: Card, *, to: str, path: Path, given: bool) -> list[str]:
    if to not in family.writers:
        raise ExportError(
            f"the family {family.name!r} has no format {to!r}: it has {', '.join(('voice', *family.writers))}"
        )
    if given and path.exists() and (path.is_file() or any(path.iterdir())):
        raise ExportError(f"{path} is there already: choose another name with -o")
    with whole(path) as partial:
        partial.mkdir()
        return family.writers[to](learner, folder=partial, card=card)


def _plain_summary(learner: nn.Module, card: Card, path: Path, *, to: str, run: str, notes: list[str]) -> ExportSummary:
    return ExportSummary(
        voice=str(path),
        run=run,
        step=card.step,
        bytes=disk_bytes(path),
        parameters=sum(parameter.numel() for parameter in learner.parameters()),
        language=card.language,
        speakers=list(card.speakers),
        notes=notes,
        to=to,
    )


def _from_run(ws: Workspace, run: Run, step: int, *, path: Path, name: str) -> ExportSummary:
    family, learner, vocabulary, speakers = _loaded(run, step)
    recipe = run.recipe
    corpus = Corpus.open(ws)
    wanted = [clip for clip in corpus if corpus.is_wanted(clip)]
    valid = [clip.text for clip in wanted if corpus.split(clip) in ("valid", "test")][:CHECK_SENTENCES]
    best = run.best
    contents = Contents(
        name=name,
        family=family.name,
        language=load(ws.language),
        frontend=from_state(run.document("frontend.json")),
        vocabulary=vocabulary,
        speakers=speakers,
        sentences=valid or [clip.text for clip in wanted][:CHECK_SENTENCES],
        scores={f"valid_{best['metric']}": best["score"]} if best and best["step"] == step else {},
        facts={"run": run.name, "step": step, "recipe": recipe.model_dump(mode="json"), **run.document("facts.json")},
    )
    voice = write_package(path, contents, graphs=lambda folder: family.export(learner, folder=folder))
    return _summary(voice, path, run=run.name, step=step, notes=[])


def _foreign(source: Path, *, to: str, out: Path | None) -> ExportSummary:
    family = family_named(FAMILIES[0])
    place = located(source.as_posix())
    base = family.read_base(place)
    vocabulary = SymbolVocabulary(base.symbols, interleave=base.interleave)
    config = check(family.config, base.settings, where=str(source))
    learner = family.learner(config, vocab_size=vocabulary.size, num_speakers=base.num_speakers)
    notes = base.load(learner)
    language = _language_of(place)
    name = source.stem if source.is_file() else Path(source.as_posix().partition("@")[0]).resolve().name
    alone = ["default"] if base.num_speakers == 1 else [f"speaker-{number}" for number in range(base.num_speakers)]
    speakers = list(base.speakers) or alone
    if to != "voice":
        card = Card(
            symbols=base.symbols,
            interleave=base.interleave,
            language=language.code,
            speakers=tuple(speakers),
            lower=base.lower,
            via=base.via,
            lacks=base.lacks,
        )
        path = out or Path(f"{name}-{to}")
        notes += _write(family, learner, card, to=to, path=path, given=True)
        return _plain_summary(learner, card, path, to=to, run=str(source), notes=notes)
    contents = Contents(
        name=name,
        family=family.name,
        language=language,
        frontend=CharacterFrontend(language.code, lower=base.lower, inventory=vocabulary.sayable(), via=base.via),
        vocabulary=vocabulary,
        speakers=speakers,
        sentences=[],
        scores={},
        facts={"base": name},
    )
    path = out or Path(f"{name}.voice")
    voice = write_package(path, contents, graphs=lambda folder: family.export(learner, folder=folder))
    return _summary(voice, path, run=str(source), step=0, notes=notes)


def _language_of(source: Path) -> Language:
    """The tokenizer's language where it is given, else the code the folder's name begins with, else undetermined."""
    source = source.parent if source.is_file() else source
    path = source / "tokenizer_config.json"
    stated = json.loads(path.read_text(encoding="utf-8")).get("language") if path.exists() else None
    guess = re.match(r"(?:mms-tts-)?([a-z]{3})\b", source.resolve().name)
    try:
        return load(str(stated or (guess[1] if guess else "")))
    except LanguageError:
        return Language(code="und", name="undetermined", native="undetermined")


def _summary(voice: Voice, path: Path, *, run: str, step: int, notes: list[str]) -> ExportSummary:
    return ExportSummary(
        voice=str(path),
        run=run,
        step=step,
        bytes=disk_bytes(path),
        parameters=voice.facts["parameters"],
        language=voice.language,
        speakers=voice.speakers,
        notes=notes,
    )

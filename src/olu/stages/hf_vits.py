"""Run a finetune-hf-vits config: import, audit, read, prepare and train, as its keys say."""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from olu.core.config import check, with_overrides
from olu.core.errors import ConfigError, CorpusError
from olu.core.files import Workspace, write_text
from olu.core.job import Job, Note
from olu.core.machine import take_device
from olu.core.stage import need_training
from olu.core.types import Split
from olu.core.words import many
from olu.core.workspace_lock import LOCK, writing
from olu.corpus.intake.place import Workbench
from olu.corpus.manifest import Corpus
from olu.corpus.readers import archive
from olu.corpus.readers.huggingface import HUB, HUB_ID, split_name, split_of
from olu.corpus.split import fold
from olu.families import family as family_named
from olu.families.runs import voices
from olu.families.vits.hf_config.base import FOLDER as BASE
from olu.families.vits.hf_config.base import base_for, language_for, state_for
from olu.families.vits.hf_config.dataset import (
    COLUMNS,
    DATASET,
    MUST,
    ONE_SPEAKER,
    DatasetImport,
    config_of,
    split_parts,
    told,
    way_in,
    written,
)
from olu.families.vits.hf_config.settings import get, nested, read_config, sentences, settings, splits, views
from olu.stages.import_ import import_source
from olu.stages.new import new_workspace
from olu.stages.train import TrainSummary, train
from olu.stages.train_setup import prepare_run, set_up
from olu.train.recipe import Recipe, recipe_toml
from olu.train.run import Run
from olu.train.view.trackers import changes_apart

RECIPE = "hf-vits.toml"


def train_hf_vits(
    config: Path,
    *,
    root: Path,
    overrides: Sequence[str] = (),
    resume: bool = False,
    new: bool = False,
    dry: bool = False,
    device: str = "cpu",
    profile: int = 0,
) -> Job[TrainSummary]:
    """Train as a config says, in a workspace at `root`. `overrides` are laid over the config."""
    need_training("olu train")
    device = take_device(device)
    values = read_config(config)
    if int(os.environ.get("RANK", "0")):  # the first of several processes does all of this
        if why := _stops_early(values):
            return TrainSummary(run=f"({why})", steps=0, leads=False)
        return (yield from train(Workspace.open(root), device=device))
    said, (shown, more) = sentences(values, device=device), views(values)
    yield from map(Note, [f"{config}:", *said, *more])
    with ExitStack() as around:
        around.enter_context(_hub(values))
        ws = yield from _workspace(root, values, config, around=around)
        of_view, own = changes_apart(overrides)
        seen = [*shown, *of_view]
        recipe, resumes = None, resume or (not new and not dry and _goes_on(ws, values))
        if not resumes:
            recipe = yield from _prepared(ws, values, own, config=config, device=device)
            if isinstance(recipe, TrainSummary):
                return recipe
            new = new or bool(get(values, "overwrite_output_dir"))
        elif resume:
            seen = [*own, *seen]
        elif own:
            yield Note(f"the unfinished run goes on as it began: {', '.join(own)} has no effect (--new starts another)")
        how: dict[str, Any] = {"new": new, "dry": dry, "device": device, "profile": profile}
        summary = yield from train(ws, recipe=recipe, overrides=seen, resume=resumes, **how)
    if not dry:
        yield from map(Note, _pushing(ws, values, run=summary.run))
    return summary


def root_of(config: Path) -> Path:
    """The folder that becomes the workspace where none is named."""
    return Path(read_config(config)["output_dir"])


def _workspace(root: Path, values: Mapping[str, Any], config: Path, *, around: ExitStack) -> Job[Workspace]:
    """The one at `root`, or a new one there, which is taken away again where `around` ends with nothing in it."""
    if (root / "olu.toml").exists():
        return Workspace.open(root)
    if root.is_dir() and any(root.iterdir()):
        raise ConfigError(
            f"{root} holds other files, so it cannot become the workspace: 'olu train WS --from-hf-vits {config}'"
            " with a new folder for WS"
        )
    made = [folder for folder in (root, *root.parents) if not folder.exists()]
    language, told = language_for(values, root=root, config=config)
    ws = new_workspace(root, language=language)
    around.enter_context(_not_half(root, folders=made))
    yield Note(f"{root} is the new workspace; its language is the base's, {ws.language}{told}")
    return ws


def _stops_early(values: Mapping[str, Any]) -> str:
    """Why the clips are prepared and nothing is trained, where the config says so."""
    if get(values, "preprocessing_only"):
        return "preprocessing_only"
    return "do_train is false" if values.get("do_train") is False else ""


def _goes_on(ws: Workspace, values: Mapping[str, Any]) -> bool:
    """Whether the config asks for the newest run to be resumed, and there is one that is not finished."""
    newest = voices(ws)[-1:] if values.get("resume_from_checkpoint") in (True, "latest") else []
    return bool(newest) and newest[0].result is None


def _prepared(
    ws: Workspace, values: Mapping[str, Any], changes: list[str], *, config: Path, device: str
) -> Job[Path | TrainSummary]:
    """Run every stage before the training; gives the recipe that was written, or why it ends here."""
    from olu.train.setup.start import rate_for

    base = base_for(ws, values, state=state_for(values))

    def recipe(updates: int) -> Recipe:
        flat = settings(values, device=device, updates=updates)
        return check(Recipe, with_overrides(nested({**flat, "base": base}), changes), where="the config as a recipe")

    first = recipe(1)
    rate = rate_for(family_named(first.family), first)
    yield from imported(ws, values, config=config)
    prepared = yield from prepare_run(ws, first, jobs=values.get("preprocessing_num_workers"))
    again = f"olu train {shlex.quote(str(ws.root))} --recipe {shlex.quote(str(ws.root / RECIPE))}"
    if why := _stops_early(values):
        ready = f"{many(prepared.clips, 'clip')} {'is' if prepared.clips == 1 else 'are'}"
        yield Note(f"{why}: {ready} imported, audited, read and prepared in {ws.root}; no training")
        return TrainSummary(run=f"({why})", steps=0, dry={"prepared": prepared.clips, "sampling_rate": rate})
    batches = len(set_up(ws, first, device=device).batches().plan(0))
    updates = math.ceil(batches / (first.plan.accumulate * int(os.environ.get("WORLD_SIZE", "1"))))
    found = recipe(updates)
    yield Note(f"plan.steps = {found.plan.steps}: {updates} updates make an epoch")
    write_text(ws.root / RECIPE, f"# Made from a finetune-hf-vits config. Train with it again:\n# {again} --new\n\n"
               + recipe_toml(found))  # fmt: skip
    yield Note(f"settings written to {ws.root / RECIPE}")
    return ws.root / RECIPE


def imported(ws: Workspace, values: Mapping[str, Any], *, config: Path) -> Job[None]:
    """Imports the config's dataset into the workspace, split by split; its evaluation split is kept to validate."""
    name = values.get("dataset_name")
    if not name:
        yield Note("dataset_name is not set: the clips of the workspace are used as they are")
        return
    head = f"{config}: dataset_name = {json.dumps(name, ensure_ascii=False)} cannot be imported"
    given = {kind: found for kind, key in COLUMNS.items() if (found := values.get(key))}
    if not (here := Path(name).exists()) and not HUB_ID.fullmatch(name):
        raise ConfigError(
            f"{config}: dataset_name: {name} is neither a folder here nor an OWNER/NAME on the hub: {MUST}"
        )
    source = Path(name) if here else Path(f"{HUB}{name.removeprefix(HUB)}")
    try:
        way = (yield from _way(ws, source, given)) if here else DatasetImport(DATASET, written(given))
    except CorpusError as bad:
        raise ConfigError(f"{head}: {told(str(bad))}; {MUST}") from None
    try:
        yield from _import_splits(ws, source, way, values, speaker=None if "speaker" in given else ONE_SPEAKER)
    except CorpusError as bad:
        raise ConfigError(f"{head}: {told(str(bad))}") from None


def _import_splits(
    ws: Workspace, source: Path, way: DatasetImport, values: Mapping[str, Any], *, speaker: str | None
) -> Job[None]:
    name, config = values["dataset_name"], None if way.plain else config_of(values)
    train_split, eval_split = ("", "") if way.plain else splits(values)
    trains = split_parts(train_split)
    apart = split_parts(eval_split) if get(values, "do_eval") and eval_split != train_split else []
    if way.plain:
        yield Note(
            f"{name} is a plain {'archive' if archive.is_archive(source) else 'folder'} ({way.layout}: {way.why}):"
            " all of it is imported; it has no splits and configs,"
            " so those of the config do nothing, and 4 % of the clips are held back to validate"
        )
    how: dict[str, Any] = {"layout": way.layout, "columns": way.columns, "config": config, "speaker": speaker}
    for split in dict.fromkeys([*trains, *(apart if train_split else [])]):
        done = yield from import_source(ws, source, split=split or None, **how)
        skipped = f", {len(done.skipped)} skipped, see {ws.corpus / 'problems.jsonl'}" if done.skipped else ""
        part = f"split {split}" if split else "all of it"
        yield Note(f"{name}, {part}: {many(done.added, 'clip')} imported, {done.already} there already{skipped}")
    if apart:
        yield from _keep_apart(ws, apart)


def _way(ws: Workspace, source: Path, given: Mapping[str, str]) -> Job[DatasetImport]:
    """How `source` is imported, from what its files hold: an archive is unpacked to look."""
    if not archive.is_archive(source):
        return way_in(source, given)
    with Workbench(ws) as bench:
        bench.claim()
        unpacked = bench.folder("unpacked")
        yield from archive.unpack(source, into=unpacked)
        files = archive.inner(unpacked)
        try:
            return way_in(files, given)
        except CorpusError as bad:
            raise CorpusError(str(bad).replace(str(files), str(source))) from None


def _keep_apart(ws: Workspace, held: list[str]) -> Job[None]:
    """The dataset's own sides: its evaluation split validates, all else trains."""
    with writing(ws):
        corpus = Corpus.open(ws)
        placed = _ids_of(corpus, {split_name(split) for split in held})
        sides: dict[str, Split | None] = {clip.id: None for clip in corpus}
        sides |= {clip.id: "valid" if clip.id in placed else "train" for clip in corpus if clip.transcribed}
        count = list(sides.values()).count("valid")
        if not count:
            raise ConfigError(
                f"eval_split_name: no clip is of the split {'+'.join(held)}: name another, or null to hold back 4 %"
            )
        if any(corpus.split(clip) != sides[clip.id] for clip in corpus):
            Corpus.save_splits(ws, corpus.clips, sides)
    trained = {fold(clip.text) for clip in corpus if sides[clip.id] == "train"}
    both = sum(sides[clip.id] == "valid" and fold(clip.text) in trained for clip in corpus)
    yield Note(
        f"{count} clips of the split {'+'.join(held)} validate"
        + (f"; {both} have texts that train too" if both else "")
    )


def _ids_of(corpus: Corpus, splits: set[str]) -> set[str]:
    """The clips that lie in a folder named like one of the splits, or else in a file named so."""
    in_folder = {c.id for c in corpus if splits & set(map(split_name, PurePosixPath(c.audio).parts[1:-1]))}
    return in_folder or {clip.id for clip in corpus if split_of(clip.audio.partition("/")[2]) in splits}


@contextmanager
def _not_half(root: Path, *, folders: list[Path]) -> Iterator[None]:
    """A workspace that was made just now goes again, with the `folders` made for it, where nothing came into it."""
    try:
        yield
    except BaseException:
        if not any((root / "corpus").rglob("*")):
            for file in ("olu.toml", LOCK):
                (root / file).unlink(missing_ok=True)
            for base in root.glob(f"{BASE}-*"):
                shutil.rmtree(base, ignore_errors=True)
            for folder in (root / "corpus", *folders):
                with suppress(OSError):  # not there, or not empty: somebody else put something in
                    folder.rmdir()
        raise


@contextmanager
def _hub(values: Mapping[str, Any]) -> Iterator[None]:
    """The token and the cache of a config, for this command alone; the hub's library looks for them there."""
    token = values.get("token") or values.get("use_auth_token")
    wanted = {"HF_TOKEN": token if isinstance(token, str) else None, "HF_HUB_CACHE": values.get("cache_dir")}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update({name: value for name, value in wanted.items() if value})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _pushing(ws: Workspace, values: Mapping[str, Any], *, run: str) -> list[str]:
    from olu.families.vits.config import VitsConfig
    from olu.families.vits.foreign.to_transformers import no_discriminator, no_model

    if not get(values, "push_to_hub"):
        return []
    where = values.get("hub_model_id") or Path(values["output_dir"]).name
    place = where if "/" in where else f"OWNER/{where}"
    model = check(VitsConfig, Run.named(ws.runs_folder, run).recipe.model, where=f"{run}/recipe.toml [model]")
    said = (
        "push_to_hub: nothing was uploaded. finetune-hf-vits would have pushed model, tokenizer and feature extractor"
        f" to {where}."
    )
    export = f"olu export {shlex.quote(str(ws.root))}"
    if why := no_model(model):
        return [f"{said} This voice cannot go there: {why}. It speaks here: {export} --to voice"]
    to = "hf" if no_discriminator(model) else "hf-train"
    return [f"{said} Listen first; then: {export} --to {to} --push {shlex.quote(place)}"]

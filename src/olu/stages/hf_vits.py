"""Run a finetune-hf-vits config: import, audit, read, prepare and train, as its keys say."""

from __future__ import annotations

import math
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from olu.core.config import check, with_overrides
from olu.core.errors import ConfigError
from olu.core.extras import need_training
from olu.core.files import Workspace, write_text
from olu.core.job import Job, Note
from olu.core.words import many
from olu.families import family as family_named
from olu.families.runs import voices
from olu.families.vits.hf_config.base import FOLDER as BASE
from olu.families.vits.hf_config.base import base_for, language_for, state_for
from olu.families.vits.hf_config.keys import read_config
from olu.families.vits.hf_config.sentences import sentences
from olu.families.vits.hf_config.settings import get, nested, settings, views
from olu.stages.audit import audit
from olu.stages.hf_vits_data import imported
from olu.stages.new import new_workspace
from olu.stages.prepare import prepare, sound_of
from olu.stages.read import read_corpus
from olu.stages.train import TrainSummary, train
from olu.train.machine import take_device
from olu.train.recipe import Recipe, recipe_toml
from olu.train.run import Run

RECIPE = "hf-vits.toml"


def train_hf_vits(
    config: Path,
    *,
    root: Path,
    overrides: list[str] | None = None,
    resume: bool = False,
    new: bool = False,
    dry: bool = False,
    device: str = "cpu",
    profile: int = 0,
) -> Job[TrainSummary]:
    """`root` becomes the workspace if it is none yet. `overrides` are laid over what the config says."""
    need_training("olu train")
    device = take_device(device)
    values = read_config(config)
    if int(os.environ.get("RANK", "0")):  # the first of several processes does all of this
        if _stops_early(values):
            return TrainSummary(run=f"({_stops_early(values)})", steps=0, leads=False)
        return (yield from train(Workspace.open(root), device=device))
    said, (shown, more) = sentences(values, device=device), views(values)
    yield from map(Note, [f"{config}:", *said, *more])
    with ExitStack() as around:
        around.enter_context(_hub(values))
        fresh = not (root / "olu.toml").exists()
        made = [folder for folder in (root, *root.parents) if not folder.exists()]
        ws, told = _workspace(root, values, config)
        if fresh:
            around.enter_context(_not_half(root, folders=made))
            yield Note(f"{root} is the new workspace; its language is the base's, {ws.language}{told}")
        own = [change for change in overrides or [] if not change.startswith("view.")]
        seen = [*shown, *(change for change in overrides or [] if change.startswith("view."))]
        latest = values.get("resume_from_checkpoint") in (True, "latest")
        if resume or (latest and not new and not dry and _is_unfinished(ws)):
            if own and not resume:
                yield Note(
                    f"the unfinished run goes on as it began: {', '.join(own)} has no effect (--new starts another)"
                )
                own = []
            work = train(ws, overrides=[*own, *seen], resume=True, new=new, dry=dry, device=device, profile=profile)
        else:
            recipe = yield from _prepared(ws, values, own, config=config, device=device)
            if isinstance(recipe, TrainSummary):
                return recipe
            new = new or bool(get(values, "overwrite_output_dir"))
            work = train(ws, recipe=recipe, overrides=seen, new=new, dry=dry, device=device, profile=profile)
        summary = yield from work
    if not dry:
        yield from map(Note, _pushing(ws, values, run=summary.run))
    return summary


def root_of(config: Path) -> Path:
    """The folder that becomes the workspace where none is named."""
    return Path(read_config(config)["output_dir"])


def _workspace(root: Path, values: Mapping[str, Any], config: Path) -> tuple[Workspace, str]:
    """And what tells its language, where that is new."""
    if (root / "olu.toml").exists():
        return Workspace.open(root), ""
    if root.is_dir() and any(root.iterdir()):
        raise ConfigError(
            f"{root} holds other files, so it cannot become the workspace: 'olu train WS --from-hf-vits {config}'"
            " with a new folder for WS"
        )
    language, told = language_for(values, root=root, config=config)
    return new_workspace(root, language=language), told


def _stops_early(values: Mapping[str, Any]) -> str:
    """Why the clips are prepared and nothing is trained, where the config says so."""
    if get(values, "preprocessing_only"):
        return "preprocessing_only"
    return "do_train is false" if values.get("do_train") is False else ""


def _is_unfinished(ws: Workspace) -> bool:
    newest = voices(ws)[-1:]
    return bool(newest) and newest[0].result is None


def _prepared(
    ws: Workspace, values: Mapping[str, Any], changes: list[str], *, config: Path, device: str
) -> Job[Path | TrainSummary]:
    """Every stage before the training, and the recipe that was written for it."""
    from olu.stages.train_setup import set_up
    from olu.train.setup.start import rate_for

    base = base_for(ws, values, state=state_for(values))

    def recipe(updates: int) -> Recipe:
        flat = settings(values, device=device, updates=updates)
        return check(Recipe, with_overrides(nested({**flat, "base": base}), changes), where="the config as a recipe")

    first = recipe(1)
    rate = rate_for(family_named(first.family), first)
    yield from imported(ws, values, config=config)
    yield from audit(ws)
    yield from read_corpus(ws)
    prepared = yield from prepare(ws, rate=rate, **sound_of(first), jobs=values.get("preprocessing_num_workers"))
    if prepared.note:
        yield Note(prepared.note)
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


@contextmanager
def _not_half(root: Path, *, folders: list[Path]) -> Iterator[None]:
    """A workspace that was made just now goes again, with the `folders` made for it, where nothing came into it."""
    try:
        yield
    except BaseException:
        if not any((root / "corpus").rglob("*")):
            (root / "olu.toml").unlink(missing_ok=True)
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
    from olu.families.vits.foreign.to_transformers import no_judge, no_model

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
    to = "hf" if no_judge(model) else "hf-train"
    return [f"{said} Listen first; then: {export} --to {to} --push {shlex.quote(place)}"]

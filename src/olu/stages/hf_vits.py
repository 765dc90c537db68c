"""Run a finetune-hf-vits config: import, audit, read, prepare and train, as its keys say."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from olu.audit.plural import many
from olu.config import check, with_overrides
from olu.corpus.manifest import Corpus
from olu.corpus.readers.huggingface import HUB_ID, split_name
from olu.corpus.split import fold
from olu.errors import ConfigError
from olu.files import Workspace, write_text
from olu.stages.audit import audit
from olu.stages.extras import need_training
from olu.stages.hf_vits_base import base_for, language_for, state_for
from olu.stages.hf_vits_keys import read_config
from olu.stages.hf_vits_map import get, nested, settings, views
from olu.stages.hf_vits_say import sentences
from olu.stages.import_ import import_source
from olu.stages.kinds import voices
from olu.stages.new import new_workspace
from olu.stages.prepare import prepare, sound_of
from olu.stages.read import read_corpus
from olu.stages.train import Note, Training, TrainSummary, check_device, train
from olu.train.recipe import Recipe, recipe_toml
from olu.types import Split, Tick

RECIPE = "hf-vits.toml"
ONE_SPEAKER = "default"


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
) -> Training:
    """`root` becomes the workspace if it is none yet. `overrides` are laid over what the config says."""
    need_training("olu train")
    check_device(device)
    values = read_config(config)
    if int(os.environ.get("RANK", "0")):  # the first of several processes does all of this
        if _stops_early(values):
            return TrainSummary(run=f"({_stops_early(values)})", steps=0, leads=False)
        return (yield from train(Workspace.open(root), device=device))
    said, (shown, more) = sentences(values, device=device), views(values)
    yield from map(Note, [f"{config}:", *said, *more])
    with _hub(values):
        fresh = not (root / "olu.toml").exists()
        ws = _workspace(root, values, config)
        if fresh:
            yield Note(f"{root} is the new workspace; its language is the base's, {ws.language}")
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
            recipe = yield from _prepared(ws, values, own, device=device)
            if isinstance(recipe, TrainSummary):
                return recipe
            new = new or bool(get(values, "overwrite_output_dir"))
            work = train(ws, recipe=recipe, overrides=seen, new=new, dry=dry, device=device, profile=profile)
        summary = yield from work
    if not dry:
        yield from map(Note, _pushing(ws, values))
    return summary


def root_of(config: Path) -> Path:
    """The folder that becomes the workspace where none is named."""
    return Path(read_config(config)["output_dir"])


def _workspace(root: Path, values: Mapping[str, Any], config: Path) -> Workspace:
    if (root / "olu.toml").exists():
        return Workspace.open(root)
    if root.is_dir() and any(root.iterdir()):
        raise ConfigError(
            f"{root} holds other files, so it cannot become the workspace: 'olu train WS --from-hf-vits {config}'"
            " with a new folder for WS"
        )
    return new_workspace(root, language=language_for(values, root=root, config=config))


def _stops_early(values: Mapping[str, Any]) -> str:
    """Why the clips are prepared and nothing is trained, where the config says so."""
    if get(values, "preprocessing_only"):
        return "preprocessing_only"
    return "do_train is false" if values.get("do_train") is False else ""


def _is_unfinished(ws: Workspace) -> bool:
    newest = voices(ws)[-1:]
    return bool(newest) and newest[0].result is None


def _prepared(
    ws: Workspace, values: Mapping[str, Any], changes: list[str], *, device: str
) -> Generator[Tick | Note, None, Path | TrainSummary]:
    """Every stage before the training, and the recipe that was written for it."""
    from olu.stages.train_setup import rate_for, set_up

    base = base_for(ws, values, state=state_for(values))

    def recipe(updates: int) -> Recipe:
        flat = settings(values, device=device, updates=updates)
        return check(Recipe, with_overrides(nested({**flat, "base": base}), changes), where="the config as a recipe")

    first = recipe(1)
    rate = rate_for(first)
    yield from _imported(ws, values)
    yield from audit(ws)
    yield from read_corpus(ws)
    prepared = yield from prepare(ws, rate=rate, **sound_of(first), jobs=values.get("preprocessing_num_workers"))
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


def _imported(ws: Workspace, values: Mapping[str, Any]) -> Generator[Tick | Note, None, None]:
    name = values.get("dataset_name")
    if not name:
        yield Note("dataset_name is not set: the clips of the workspace are used as they are")
        return
    given = {kind: values.get(f"{kind}_column_name") for kind in ("audio", "text")}
    given["speaker"] = values.get("speaker_id_column_name")
    columns = ",".join(f"{kind}={column}" for kind, column in given.items() if column) or None
    source = Path(name) if Path(name).exists() else Path(f"hf:{name}")
    if not Path(name).exists() and not HUB_ID.fullmatch(name):
        raise ConfigError(f"dataset_name: {name} is neither a folder here nor an OWNER/NAME on the hub: check it")
    train_split, eval_split = get(values, "train_split_name"), get(values, "eval_split_name")
    apart = bool(get(values, "do_eval")) and eval_split != train_split
    for split in dict.fromkeys([*_parts(train_split), *(_parts(eval_split) if apart else [])]):
        done = yield from import_source(
            ws,
            source,
            layout="huggingface",
            columns=columns,
            config=values.get("dataset_config_name"),
            split=split,
            speaker=None if given["speaker"] else ONE_SPEAKER,
        )
        skipped = f", {len(done.skipped)} skipped, see {ws.corpus / 'problems.jsonl'}" if done.skipped else ""
        yield Note(f"{name}, split {split}: {many(done.added, 'clip')} imported, {done.already} there already{skipped}")
    if apart:
        yield from _keep_apart(ws, _parts(eval_split))


def _parts(split: str) -> list[str]:
    if "[" in split:
        raise ConfigError(f"split {split!r}: parts of a split cannot be imported; use max_train_samples instead")
    return split.split("+")


def _keep_apart(ws: Workspace, held: list[str]) -> Generator[Tick | Note, None, None]:
    """The dataset's own sides: its evaluation split validates, all else trains."""
    corpus, names = Corpus.open(ws), {split_name(split) for split in held}
    sides: dict[str, Split | None] = {}
    for clip in corpus:
        folders = PurePosixPath(clip.audio).parts[1:-1]
        held_back = any(split_name(folder) in names for folder in folders)
        sides[clip.id] = ("valid" if held_back else "train") if clip.transcribed else None
    if any(corpus.split(clip) != sides[clip.id] for clip in corpus):
        Corpus.save_splits(ws, corpus.clips, sides)
    trained = {fold(clip.text) for clip in corpus if sides[clip.id] == "train"}
    both = sum(side == "valid" and fold(clip.text) in trained for clip in corpus for side in [sides[clip.id]])
    count = sum(side == "valid" for side in sides.values())
    yield Note(
        f"{count} clips of the split {'+'.join(held)} validate"
        + (f"; {both} have texts that train too" if both else "")
    )


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


def _pushing(ws: Workspace, values: Mapping[str, Any]) -> list[str]:
    if not get(values, "push_to_hub"):
        return []
    where = values.get("hub_model_id") or Path(values["output_dir"]).name
    place = where if "/" in where else f"OWNER/{where}"
    return [
        "push_to_hub: nothing was uploaded. finetune-hf-vits would have pushed model, tokenizer and feature extractor"
        f" to {where}. Listen first; then: olu export {shlex.quote(str(ws.root))} --to hf-train"
        f" --push {shlex.quote(place)}"
    ]

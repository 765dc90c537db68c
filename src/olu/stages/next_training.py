"""The command that trains a workspace, with the base it should begin with."""

from __future__ import annotations

import shlex
from pathlib import Path

from olu.corpus.manifest import Corpus
from olu.errors import OluError
from olu.files import Workspace
from olu.stages.audit import read_thresholds
from olu.stages.base_choice import Advice, advise, most_of_one
from olu.stages.kinds import voices
from olu.stages.plan import is_edited, recipe_path
from olu.train.hub import is_here
from olu.train.recipe import read_recipe


def training_advice(ws: Workspace) -> Advice | None:
    """Where there is too little speech to train from scratch; nothing before a corpus is there."""
    if not (ws.corpus / "clips.jsonl").exists():
        return None
    return advise(most_of_one(Corpus.open(ws)), language=ws.language, limits=read_thresholds(ws))


def training_command(ws: Workspace) -> str:
    """A recipe that a person wrote, or that names a base, is taken as it is; a voice before this one lends its base."""
    place = shlex.quote(str(ws.root))
    plain = f"olu train {place}"
    planned = recipe_path(ws).exists()
    if planned and (is_edited(ws) or _has_base(recipe_path(ws))):
        return plain
    before = voices(ws)[-1:]
    if not planned and before and (base := before[0].recipe.base) and is_here(base):
        return f"{plain} --base {shlex.quote(base)}"
    advice = training_advice(ws)
    if advice is None:
        return plain
    return f"{f'olu plan {place}' if planned else plain} {advice.option}"


def _has_base(path: Path) -> bool:
    try:
        return read_recipe(path, []).base is not None
    except OluError:
        return True  # the training says what is wrong with it

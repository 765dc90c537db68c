"""The command that trains a workspace, with the base it should begin with."""

from __future__ import annotations

import shlex

from olu.core.files import Workspace
from olu.core.places import is_here
from olu.corpus.manifest import Corpus
from olu.families.runs import voices
from olu.stages.audit import read_thresholds
from olu.stages.bases import BaseAdvice, advise, most_of_one
from olu.stages.plan import recipe_path


def training_advice(ws: Workspace) -> BaseAdvice | None:
    """Where there is too little speech to train from scratch; nothing before a corpus is there."""
    if not (ws.corpus / "clips.jsonl").exists():
        return None
    return advise(most_of_one(Corpus.open(ws)), language=ws.language, limits=read_thresholds(ws))


def training_command(ws: Workspace) -> str:
    """A recipe is taken as it is: a person wrote it, or asked for it. A voice before this one lends its base."""
    place = shlex.quote(str(ws.root))
    plain = f"olu train {place}"
    if recipe_path(ws).exists():
        return plain
    before = voices(ws)[-1:]
    if before and (base := before[0].recipe.base) and is_here(base):
        return f"{plain} --base {shlex.quote(base)}"
    advice = training_advice(ws)
    return f"{plain} {advice.option}" if advice else plain

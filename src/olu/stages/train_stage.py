"""When a training is done or stale, and what it tells while it goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olu.core.files import Workspace, hash_file, hash_value
from olu.core.stage import Stage
from olu.corpus.corrections import hash_texts
from olu.corpus.decisions import hash_chosen
from olu.train.family import Kind

if TYPE_CHECKING:
    from olu.stages.train_ready import Setup

TRAIN_VERSION = 1


def _inputs(ws: Workspace, options: dict[str, Any]) -> str:
    paths = [ws.corpus / "clips.jsonl", ws.corpus / "splits.jsonl", ws.audit / "audit.jsonl"]
    paths.append(ws.readings / "readings.jsonl")
    known = [TRAIN_VERSION, hash_chosen(ws), [hash_file(path) if path.exists() else "" for path in paths]]
    texts = hash_texts(ws)
    return hash_value([*known, texts] if texts else known)


STAGE = Stage(name="train", command="olu train {ws}", folder="runs", inputs=_inputs)
LISTENING = Stage(name="listening", command="olu train {ws} --set family=recogniser", folder="runs", inputs=_inputs)

VOCODING = Stage(name="vocoding", command="olu train {ws} --recipe RECIPE", folder="runs", inputs=_inputs)
STAGES: dict[Kind, Stage] = {"voice": STAGE, "listener": LISTENING, "vocoder": VOCODING}


def stage_of(setup: Setup) -> Stage:
    """Runs of one kind leave the stamps of the others alone."""
    return STAGES[setup.family.kind]


def options_of(setup: Setup) -> dict[str, Any]:
    return {"recipe": setup.facts["recipe"], "from": setup.facts["from"]}


@dataclass(frozen=True)
class TrainSummary:
    run: str
    steps: int
    best: dict[str, Any] | None = None
    stopped: str | None = None
    leads: bool = True  # of several processes, this one speaks
    fresh: bool = False  # nothing was done: an equal run exists
    speaks: bool = True  # else it is a recogniser, and there is no voice to export
    dry: dict[str, Any] = field(default_factory=dict)

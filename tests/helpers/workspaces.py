"""Small workspaces, ready to train on, and small bases to start from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from olu.audio import io
from olu.core.files import Workspace
from olu.core.job import finish
from olu.core.types import Audio, Clip
from olu.corpus.manifest import Corpus
from olu.corpus.sources import Source
from olu.families import family
from olu.families.vits.weights import fold
from olu.stages.prepare import prepare
from olu.stages.read import read_corpus
from olu.stages.train import train
from olu.stages.train_setup import set_up
from olu.train.recipe import Recipe
from olu.train.setup.job import TrainingJob

RATE = 16000
TINY: dict[str, Any] = {"size": "tiny", "hidden_size": 32}
SHORT = ("plan.steps=2", "plan.batch_clips=2", "plan.validate_every=2", "plan.save_every=1", "data.loudness=0")


def workspace(root: Path, rows: list[tuple[str, str, str, str]], *, language: str = "eng") -> Workspace:
    """Rows of id, text, speaker and side; a hum of 1.2 s each."""
    (root / "wavs").mkdir(parents=True, exist_ok=True)
    ws = Workspace.create(root / "ws", language=language)
    save(ws, root, rows)
    return ws


def save(ws: Workspace, root: Path, rows: list[tuple[str, str, str, str]]) -> None:
    clips = []
    for number, (id, text, speaker, _) in enumerate(rows):
        time = np.arange(round(1.2 * RATE)) / RATE
        wave = sum(np.cos(2 * np.pi * (150 + 40 * number) * k * time) for k in range(1, 12)) / 16
        io.write(root / "wavs" / f"{id}.wav", Audio(wave.astype(np.float32), RATE))
        sound = {"audio": f"s1/{id}.wav", "seconds": 1.2, "rate": RATE}
        clips.append(Clip(id=id, **sound, text=text, language=ws.language, speaker=speaker))
    sides = {id: side for id, _, _, side in rows}
    Corpus.save(ws, clips, [Source(name="s1", root=str(root / "wavs"), layout="folder")], sides)
    finish(read_corpus(ws))
    finish(prepare(ws, rate=RATE, jobs=1))


def made(ws: Workspace, **sections: Any) -> TrainingJob:
    """A run set up in memory, of two steps unless told otherwise."""
    plan = {"steps": 2, "batch_clips": 2, "validate_every": 2, "save_every": 2, **sections.pop("plan", {})}
    model = sections.pop("model", {} if "base" in sections else TINY)
    recipe = Recipe.model_validate({"model": model, "plan": plan, **sections})
    return set_up(ws, recipe, device="cpu", start=None)


def trained(ws: Workspace, *changes: str, **more: Any) -> tuple[Any, list[str]]:
    """`olu train` of two steps: its summary and the sentences it said."""
    sizes = () if more.get("from_run") or more.get("base") else ("model.size=tiny", "model.hidden_size=32")
    work, said = train(ws, overrides=[*sizes, *SHORT, *changes], new=True, **more), []
    while True:
        try:
            said.append(str(getattr(next(work), "text", "")))
        except StopIteration as done:
            return done.value, [sentence for sentence in said if sentence]


def base(folder: Path, symbols: list[str], *, speakers: int = 1, judge: bool = True, **model: Any) -> Path:
    """A made checkpoint in the layout of transformers (finetune-hf-vits' with a judge)."""
    chosen = family("vits")
    config = chosen.config(**{**TINY, **model})
    torch.manual_seed(3)
    learner = chosen.learner(config, vocab_size=len(symbols), num_speakers=speakers)
    with torch.no_grad():
        for parameter in learner.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    weights = fold(learner.gen.state_dict())
    if judge:
        weights |= {f"discriminator.{name}": value for name, value in fold(learner.disc.state_dict()).items()}
    folder.mkdir(parents=True)
    save_file({name: value.contiguous().clone() for name, value in weights.items()}, folder / "model.safetensors")
    settings = {**config.model_dump(mode="json"), "num_speakers": speakers, "vocab_size": len(symbols)}
    settings.pop("size")
    (folder / "config.json").write_text(json.dumps({"model_type": "vits", **settings}), encoding="utf-8")
    (folder / "vocab.json").write_text(json.dumps({s: id for id, s in enumerate(symbols)}), encoding="utf-8")
    return folder

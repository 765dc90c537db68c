"""The training part of a voice package: both networks in half precision, and what they read, to train on from it."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from olu.errors import TrainError
from olu.families.vits.foreign.names import JUDGE
from olu.families.vits.foreign.read import Foreign, json_of, settings_of, tensors_of
from olu.families.vits.foreign.to_transformers import spoken
from olu.families.vits.learn import VitsLearner
from olu.families.vits.weights import fold
from olu.files import write_json
from olu.train.family import Card

PART = "training"
FILES = ("settings.json", "weights.safetensors", "frontend.json")


def write_part(learner: nn.Module, *, folder: Path, card: Card) -> list[str]:
    """Generator, posterior encoder and discriminator; a part that holds nothing is left out."""
    assert isinstance(learner, VitsLearner)
    weights = spoken(learner, card)
    if "discriminator" not in card.lacks:
        weights |= {JUDGE + name: value.detach().cpu() for name, value in fold(learner.disc.state_dict()).items()}
    half = {name: value.to(torch.float16).contiguous() for name, value in weights.items()}
    save_file(half, folder / "weights.safetensors")
    write_json(
        folder / "settings.json",
        {
            "family": "vits",
            "model": learner.config.model_dump(mode="json"),
            "symbols": list(card.symbols),
            "interleave": card.interleave,
            "lower": card.lower,
            "via": card.via,
            "speakers": list(card.speakers),
        },
    )
    return []


def is_voice(path: Path) -> bool:
    if path.is_dir():
        return (path / "voice.json").is_file()
    if path.suffix != ".zip" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "voice.json" in archive.namelist()


def read_voice(path: Path) -> Foreign:
    """A package folder or zip. Only the three files of its training part are looked at."""
    if path.is_dir():
        return _read(path / PART, where=str(path))
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(path) as archive:
        for name in FILES:
            if f"{PART}/{name}" in archive.namelist():
                with archive.open(f"{PART}/{name}") as packed, (Path(place) / name).open("wb") as out:
                    shutil.copyfileobj(packed, out)
        return _read(Path(place), where=str(path))


def _read(folder: Path, *, where: str) -> Foreign:
    if any(not (folder / name).is_file() for name in FILES):
        raise TrainError(f"{where} was exported without what training needs: export it again with --with-training")
    held = json_of(folder / "settings.json")
    if held.get("family") != "vits":
        raise TrainError(f"{where} is a voice of the family {held.get('family')!r}, not of 'vits'")
    weights = {name: value.float() for name, value in tensors_of(folder / "weights.safetensors").items()}
    try:
        speakers = tuple(map(str, held["speakers"]))
        return Foreign(
            config=settings_of(dict(held["model"]), where=where),
            symbols=tuple(map(str, held["symbols"])),
            interleave=bool(held["interleave"]),
            lower=bool(held["lower"]),
            via=held["via"],
            num_speakers=max(1, len(speakers)),
            weights=weights,
            speakers=speakers if len(speakers) > 1 else (),
            frontend=json.loads((folder / "frontend.json").read_text(encoding="utf-8")),
        )
    except (KeyError, TypeError, ValueError) as bad:
        raise TrainError(f"{where} is damaged ({bad}): export it again with --with-training") from None

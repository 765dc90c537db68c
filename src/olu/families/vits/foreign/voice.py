"""The training part of a voice package: both networks in half precision, and what they read, to train on from it."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

from olu.core.errors import TrainError
from olu.core.files import hash_file, write_json
from olu.families.vits.foreign.names import DISCRIMINATOR
from olu.families.vits.foreign.quantise import GRAPHS, refined, take_shared
from olu.families.vits.foreign.read import Foreign, json_of, settings_of, tensors_of
from olu.families.vits.foreign.to_transformers import spoken
from olu.families.vits.learn import VitsLearner
from olu.families.vits.weights import fold
from olu.train.family import Card

PART = "training"
SETTINGS, SHARED = "settings.json", "shared"  # weights that stand in the graphs only: see shared.py
COARSE = "coarse"  # weights in few bits: see coarse.py
FILES = (SETTINGS, "weights.safetensors", "frontend.json")
CHECK = "check.json"
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
PACKED, PACKED_FROM = 200, 2**20  # nothing of a voice shrinks more than so many times; smaller files may


def write_part(learner: nn.Module, *, folder: Path, card: Card) -> list[str]:
    """Generator, posterior encoder and discriminator; a part that holds nothing is left out."""
    assert isinstance(learner, VitsLearner)
    weights = spoken(learner, card)
    if "discriminator" not in card.lacks:
        weights |= {
            DISCRIMINATOR + name: value.detach().cpu() for name, value in fold(learner.disc.state_dict()).items()
        }
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
    try:
        with zipfile.ZipFile(path) as archive:
            return "voice.json" in archive.namelist()
    except ZIP_ERRORS:
        raise TrainError(f"{path} is damaged: copy it or export it again") from None


def read_voice(path: Path) -> Foreign:
    """A package folder or zip. Only the three files of its training part are looked at, and their digests."""
    if path.is_dir():
        return _read(path / PART, package=path, where=str(path))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            _take_out(path, folder, (CHECK, *(f"{PART}/{name}" for name in FILES)))
            if (folder / SETTINGS).is_file() and json_of(folder / SETTINGS).get(SHARED):
                _take_out(path, folder, GRAPHS)
        except ZIP_ERRORS:
            raise TrainError(f"{path} is damaged: export it again with --with-training") from None
        return _read(folder, package=folder, where=str(path))


def _take_out(path: Path, place: Path, names: Sequence[str]) -> None:
    with zipfile.ZipFile(path) as archive:
        held = {info.filename: info for info in archive.infolist()}
        for name in names:
            if (info := held.get(name)) is None:
                continue
            if info.file_size > PACKED_FROM and info.file_size > PACKED * max(1, info.compress_size):
                raise TrainError(f"{path}: {name} unpacks to far more than it holds: do not use this package")
            with archive.open(info) as packed, (place / Path(name).name).open("wb") as out:
                shutil.copyfileobj(packed, out)


def _prove(files: Mapping[str, Path], check: Path, *, where: str) -> None:
    """Byte for byte what was exported; packages of the first schema have no digests."""
    digests = json_of(check).get("files") if check.is_file() else None
    if not isinstance(digests, dict):
        return
    for name, file in files.items():
        if not file.is_file() or digests.get(name) != hash_file(file):
            raise TrainError(f"{where}: {name} is damaged: export it again with --with-training")


def _read(folder: Path, *, package: Path, where: str) -> Foreign:
    if any(not (folder / name).is_file() for name in FILES):
        raise TrainError(f"{where} was exported without what training needs: export it again with --with-training")
    _prove({f"{PART}/{name}": folder / name for name in FILES}, package / CHECK, where=where)
    held = json_of(folder / SETTINGS)
    if held.get("family") != "vits":
        raise TrainError(f"{where} is a voice of the family {held.get('family')!r}, not of 'vits'")
    weights = refined(tensors_of(folder / "weights.safetensors"), held.get(COARSE) or {}, where=where)
    if shared := held.get(SHARED):
        _prove({name: package / name for name in GRAPHS}, package / CHECK, where=where)
        weights |= take_shared(package, shared, where=where)
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
            frontend=json_of(folder / "frontend.json"),
        )
    except (KeyError, TypeError, ValueError) as bad:
        raise TrainError(f"{where} is damaged ({bad}): export it again with --with-training") from None

"""Which program a checkpoint is from, told by its config.json and by the names of its files."""

from __future__ import annotations

from pathlib import Path

from olu.core.errors import OluError, TrainError
from olu.families.vits.foreign.coqui import read_coqui
from olu.families.vits.foreign.original import check_sizes, read_original
from olu.families.vits.foreign.piper import config_of, read_piper
from olu.families.vits.foreign.read import Foreign, json_of
from olu.families.vits.foreign.transformers import is_state, read_transformers
from olu.families.vits.foreign.voice import is_voice, read_voice

ENDINGS = (".pth", ".pt", ".ckpt", ".safetensors", ".bin", ".zip")


def read_foreign(path: Path) -> Foreign:
    """A folder or a file of weights with its config.json beside it, which say the same of their sizes."""
    try:
        found = _read(path)
        check_sizes(found, where=str(path))
    except OluError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as bad:
        why = " ".join(str(bad).split())
        raise TrainError(f"{path} is damaged ({why:.120}): download it again, with its own config.json") from None
    return found


def _read(path: Path) -> Foreign:
    if not path.is_dir() and not path.is_file():
        raise TrainError(f"base {str(path)!r} is not there: give a folder, a file of weights, or an id on the hub")
    if path.is_file() and path.suffix not in ENDINGS:
        raise TrainError(f"{path} is no file of weights: give one that ends in {', '.join(ENDINGS)}, or its folder")
    if is_voice(path):
        return read_voice(path)
    if path.suffix == ".zip":
        raise TrainError(f"{path} is no voice package, or is damaged: export it again with --with-training")
    kind = _kind(path)
    if kind == "coqui":
        return read_coqui(path)
    if kind == "original":
        return read_original(path)
    if kind == "piper":
        return read_piper(path)
    return read_transformers(path) if path.is_dir() else read_transformers(path.parent, file=path)


def _kind(path: Path) -> str:
    folder = path if path.is_dir() else path.parent
    if path.suffix == ".ckpt":
        config = config_of(path)
    elif is_state(folder):
        return "transformers"
    else:
        config = folder / "config.json"
    raw = json_of(config)
    if "phoneme_id_map" in raw or path.suffix == ".ckpt":
        return "piper"
    if isinstance(raw.get("model"), str):
        if raw["model"] != "vits":
            raise TrainError(f"{config}: a Coqui model {raw['model']!r} is no VITS")
        return "coqui"
    return "original" if isinstance(raw.get("model"), dict) else "transformers"

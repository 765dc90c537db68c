"""Checkpoints of kokoro_training, with which the Igbo project trained: read as plain data, and never started from.

`checkpoint_epoch_N.pth` and `checkpoint_best.pth` hold `model_state_dict`, `epoch`, `loss` and a pickled dataclass as
`config`; `kokoro_*_final.pth` only weights and config. `phoneme_processor.pkl` and `model_config.json` lie beside them.
"""

from __future__ import annotations

import math
import pickle
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from olu.core.errors import TrainError
from olu.core.parse import BadData, load_json

if TYPE_CHECKING:
    from torch import Tensor

PROCESSOR, SETTINGS = "phoneme_processor.pkl", "model_config.json"
CONFIG_NAME = "TrainingConfig"  # how the one class ends that such a file may name
POSTNET = "postnet."
# Layers that a checkpoint of this kind names, in any of its forks.
NAMES = (b"model_state_dict", b"text_embedding.weight", b"transformer_encoder_layers.0.self_attn.w_q.weight")
LOOKED_AT = 2**24  # bytes of what a file says of its tensors; of larger models it has under one
MOST_SYMBOLS = 65_536
NUMBERED = re.compile(r"checkpoint_epoch_(\d+)")


@dataclass(frozen=True)
class KokoroCheckpoint:
    """What such a file holds. Its optimiser is left out."""

    path: Path
    weights: dict[str, Tensor] = field(repr=False)
    config: dict[str, Any]  # fields of the pickled dataclass, over those of model_config.json
    config_name: str  # such as igbo_tts.config.IgboTrainingConfig; "" where there is none
    epoch: int | None
    loss: float | None
    symbols: tuple[str, ...]  # of phoneme_processor.pkl, by id; none where there is no such file
    processor: str  # its type, such as igbo_rule_g2p

    @cached_property
    def not_finite(self) -> dict[str, int]:
        """Tensor -> how many of its numbers are none."""
        import torch

        floats = ((name, value) for name, value in self.weights.items() if value.is_floating_point())
        bad = ((name, int((~torch.isfinite(value)).sum())) for name, value in floats)
        return {name: number for name, number in bad if number}

    @property
    def only_postnet(self) -> bool:
        """Whether what is hurt is the PostNet alone: the mel before it can then still be used."""
        return bool(self.not_finite) and all(name.startswith(POSTNET) for name in self.not_finite)

    @property
    def parameters(self) -> int:
        buffers = ("running_mean", "running_var", "num_batches_tracked", "encoding.pe")
        return sum(value.numel() for name, value in self.weights.items() if not name.endswith(buffers))

    def layers(self, prefix: str) -> int:
        found = (re.match(rf"{re.escape(prefix)}\.(\d+)\.", name) for name in self.weights)
        return len({match[1] for match in found if match})

    @property
    def is_ruslan(self) -> bool:
        """Of the fork kokoro-ruslan: a variance adaptor, and no PostNet."""
        return any(name.startswith(("duration_adaptor.", "variance_adaptor.")) for name in self.weights)


def find_checkpoints(path: Path) -> list[Path]:
    """A file of this kind, or those of a folder and the folders in it; the one that its own program takes is first."""
    files = [path] if path.is_file() else sorted([*path.glob("*.pth"), *path.glob("*/*.pth")])
    return sorted(filter(_is_checkpoint, files), key=_order)


def _order(path: Path) -> tuple[int, int]:
    """The final model, then the best, then the newest by its number: as text, 10 would stand before 9."""
    number = NUMBERED.match(path.stem)
    return (0 if "final" in path.stem else 1 if "best" in path.stem else 2, -int(number[1]) if number else 0)


def _is_checkpoint(path: Path) -> bool:
    """By the names inside, which are looked for as bytes: nothing is unpickled."""
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                return False
            with zipfile.ZipFile(file) as packed:
                inside = next((name for name in packed.namelist() if name.endswith("/data.pkl")), None)
                if inside is None:
                    return False
                with packed.open(inside) as stream:
                    held = stream.read(LOOKED_AT)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError):
        return False
    return all(name in held for name in NAMES)


def refuse_kokoro(path: Path) -> None:
    """As a base: its sizes and its mel are others, so nothing can go on from it."""
    if path.exists() and find_checkpoints(path):
        raise TrainError(
            f"{path} is a checkpoint of kokoro_training, which no training here can start from: its network and its"
            f" mel are others; 'olu inspect {path}' says what is in it and what to do instead"
        )


def read_kokoro(path: Path) -> KokoroCheckpoint:
    """A file that `find_checkpoints` found. Whatever it holds beside plain data is refused, and nothing of it runs."""
    held, name = _loaded(path)
    weights = held.get("model_state_dict")
    if not isinstance(weights, dict) or not _are_tensors(weights):
        raise TrainError(f"{path} has no table of tensors under 'model_state_dict': it is damaged; copy it again")
    pickled = held.get("config")
    fields = pickled.fields if isinstance(pickled, _Fields) else {}
    epoch, loss = held.get("epoch"), held.get("loss")
    table = path.parent / PROCESSOR
    symbols, processor = read_processor(table) if table.is_file() else ((), "")
    return KokoroCheckpoint(
        path=path,
        weights={str(key).removeprefix("module."): value for key, value in weights.items()},
        config={**_settings(path.parent / SETTINGS), **fields},
        config_name=name,
        epoch=epoch if isinstance(epoch, int) else None,
        loss=float(loss) if isinstance(loss, int | float) and math.isfinite(loss) else None,
        symbols=symbols,
        processor=processor,
    )


class _Fields:
    """Stands in for a class that is not here: it takes the fields of an object, and does nothing."""

    def __init__(self, *args: object, **fields: object) -> None:
        self.fields: dict[str, Any] = {}

    def __setstate__(self, state: object) -> None:
        self.fields = {str(key): value for key, value in state.items()} if isinstance(state, dict) else {}


def _loaded(path: Path) -> tuple[dict[str, Any], str]:
    """What the file holds, and the name of its config's class."""
    import torch
    from torch.serialization import get_unsafe_globals_in_checkpoint, safe_globals

    damaged = TrainError(f"{path} is damaged: copy it again")
    try:
        named = sorted(set(get_unsafe_globals_in_checkpoint(path)))
    except Exception:  # many kinds; none of them has run anything
        raise damaged from None
    if strange := [name for name in named if not name.endswith(CONFIG_NAME)] or named[1:]:
        raise TrainError(
            f"{path} asks for {strange[0]!r:.80} when it is opened, which is no weight: it was not opened, and nothing"
            " of it was run; do not open it elsewhere"
        )
    try:
        with safe_globals([(_Fields, name) for name in named]):
            held = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception:
        raise damaged from None
    if not isinstance(held, dict):
        raise damaged
    return held, named[0] if named else ""


def _are_tensors(values: Mapping[Any, Any]) -> bool:
    from torch import Tensor

    return bool(values) and all(isinstance(value, Tensor) for value in values.values())


def _settings(path: Path) -> dict[str, Any]:
    try:
        value = load_json(path)
    except (FileNotFoundError, BadData):
        return {}
    return value if isinstance(value, dict) else {}


class _NoClass(pickle.Unpickler):
    """Plain data alone: numbers, texts, lists, tables."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def read_processor(path: Path) -> tuple[tuple[str, ...], str]:
    """The symbols of a `phoneme_processor.pkl` by id, and the type of the program that made them."""
    try:
        with path.open("rb") as file:
            held = _plain(file)
    except pickle.UnpicklingError as bad:
        raise TrainError(
            f"{path} asks for {str(bad)!r:.80} when it is opened, and should be a plain table: it was not opened, and"
            " nothing of it was run; do not open it elsewhere"
        ) from None
    except OSError as bad:
        raise TrainError(f"{path} cannot be read ({bad.strerror}): check the path") from None
    except Exception:  # a broken pickle fails in many ways
        raise TrainError(f"{path} is damaged: copy it again") from None
    table = held.get("phoneme_to_id") if isinstance(held, dict) else None
    if not isinstance(table, dict) or not 0 < len(table) <= MOST_SYMBOLS or not all(map(_is_entry, table.items())):
        raise TrainError(f"{path} has no table of symbols under 'phoneme_to_id': it is of another program")
    return tuple(sorted(table, key=table.__getitem__)), str(held.get("processor_type", ""))[:80]


def _plain(file: IO[bytes]) -> Any:
    return _NoClass(file).load()


def _is_entry(entry: tuple[Any, Any]) -> bool:
    return isinstance(entry[0], str) and type(entry[1]) is int

"""What every foreign format needs: files of tensors and settings, read without running any code of theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from olu.core.config import check
from olu.core.errors import TrainError
from olu.core.parse import BadData, load_json, load_toml
from olu.families.vits.config import PLAIN_ONLY, STOCHASTIC_ONLY, VitsConfig
from olu.train.pickles import stored

OTHER_NAMES = load_toml(Path(__file__).with_name("settings.toml"))  # what other programs call our settings
MOST_SYMBOLS, MOST_SPEAKERS = 65_536, 1_000_000


@dataclass(frozen=True)
class Foreign:
    """A checkpoint from elsewhere, read but not yet loaded. Weights carry our names and no weight norm."""

    config: VitsConfig
    symbols: tuple[str, ...]
    interleave: bool
    lower: bool
    via: str | None  # what rewrites a text before its letters are looked up
    num_speakers: int
    weights: dict[str, Tensor] = field(repr=False)
    speakers: tuple[str, ...] = ()  # their names, where the checkpoint has them
    notes: tuple[str, ...] = ()  # sentences: what it held that is not used
    frontend: dict[str, Any] | None = None  # how it reads texts, where it is a voice of Olu's
    phones: bool = False  # it says itself that its symbols are phones


def settings_of(values: dict[str, Any], *, where: str) -> VitsConfig:
    """Settings checked, less those that only the other kind of duration predictor would read."""
    known = dict(values)
    for key in PLAIN_ONLY if known.get("use_stochastic_duration_prediction", True) else STOCHASTIC_ONLY:
        known.pop(key, None)
    return check(VitsConfig, {"size": "mms", **known}, where=where)


def json_of(path: Path) -> dict[str, Any]:
    try:
        value = load_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise TrainError(f"{path} is not there: a base is a folder with config.json, vocab.json and weights") from None
    except BadData as bad:
        raise TrainError(f"{path} is damaged ({bad}): download it again") from None
    if not isinstance(value, dict):
        raise TrainError(f"{path} is not a table of settings")
    return value


def count_of(values: Mapping[str, Any], key: str, default: int, *, most: int, where: str) -> int:
    """A size that a base claims: looked at before anything of that size is made."""
    value = values.get(key, default)
    if type(value) is not int or not 0 <= value <= most:
        raise TrainError(f"{where}: {key} is {value!r:.40}, and should be a whole number up to {most}")
    return value


def tensors_of(path: Path) -> dict[str, Tensor]:
    """A flat table of tensors, in safetensors or pickled."""
    state = stored(path)
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise TrainError(f"{path} is not a table of tensors: convert it to safetensors with save_pretrained")
    return state


def model_of(path: Path, *, key: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors under `key` of a training checkpoint, without a prefix of several GPUs, and all else it holds."""
    held = stored(path)
    if not isinstance(held, dict):
        raise TrainError(f"{path} is not a training checkpoint: it holds a {type(held).__name__}")
    state = held.get(key, held)
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise TrainError(f"{path} has no table of tensors under {key!r}: is it a checkpoint of this kind?")
    rest = {name: value for name, value in held.items() if name != key} if key in held else {}
    return {name.removeprefix("module."): value for name, value in state.items()}, rest


def by_id(table: Mapping[str, int], *, size: int) -> tuple[str, ...]:
    """Symbols in the order of their ids; a row that no symbol has is kept under a name of its own."""
    named = {id: symbol for symbol, id in table.items()}
    return tuple(named.get(id, f"<unused-{id}>") for id in range(size))


def in_order(symbols: Sequence[str], *, size: int, where: str) -> tuple[str, ...]:
    """A list of symbols as ids; of a symbol that stands twice the later one counts, as in the original code."""
    if len(symbols) > size:
        raise TrainError(
            f"{where} has {len(symbols)} symbols, the weights only {size} rows: they do not belong together"
        )
    return by_id({symbol: id for id, symbol in enumerate(symbols)}, size=size)


def must_be(values: Mapping[str, Any], wanted: Mapping[str, Any], *, where: str) -> None:
    """Settings that have only one value here; a checkpoint with another cannot be loaded."""
    for key, value in wanted.items():
        if key in values and values[key] != value:
            raise TrainError(f"{where}: {key} is {values[key]!r}, only {value!r} can be loaded")


def names_of(value: Any, *, count: int) -> tuple[str, ...]:
    """The speakers' names, where a checkpoint has one for each."""
    fits = isinstance(value, list) and len(value) == count > 1 and all(isinstance(name, str) for name in value)
    return tuple(value) if fits else ()


def few(names: Iterable[str], count: int = 4) -> str:
    listed = sorted(names)
    return ", ".join(listed[:count]) + (f" and {len(listed) - count} more" if len(listed) > count else "")


def unread_note(names: Sequence[str]) -> list[str]:
    return [f"not used from the base: {few(names, 12)}"] if names else []

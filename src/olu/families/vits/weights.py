"""Foreign weights in: weight norm folded and unfolded, transformers' folders, and what was missing or left over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from olu.config import check
from olu.errors import TrainError
from olu.families.vits.config import PLAIN_ONLY, STOCHASTIC_ONLY, VitsConfig

SPELLINGS = (
    (".parametrizations.weight.original0", ".parametrizations.weight.original1"),
    (".weight_g", ".weight_v"),
)


@dataclass(frozen=True)
class LoadReport:
    """Nothing unexplained: what the file lacked (started fresh) and what it had that nothing took."""

    missing: tuple[str, ...] = ()
    leftover: tuple[str, ...] = ()


def fold(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Plain weights: each gain and direction pair, in either spelling, becomes one `.weight`."""
    plain = dict(state)
    for gain_end, direction_end in SPELLINGS:
        for key in [key for key in plain if key.endswith(gain_end)]:
            stem = key.removesuffix(gain_end)
            if stem + direction_end not in plain:
                raise TrainError(f"the weights hold {key} without {stem}{direction_end}: the file is not whole")
            gain, direction = plain.pop(key).float(), plain.pop(stem + direction_end).float()  # half would round
            plain[stem + ".weight"] = torch._weight_norm(direction, gain, 0)
    return plain


def load_plain(module: nn.Module, plain: Mapping[str, Tensor]) -> LoadReport:
    """Load folded weights into a module that may be weight-normed. Shapes must agree; gaps are reported."""
    target, used, missing = module.state_dict(), set(), []
    gain_end, direction_end = SPELLINGS[0]
    for key, tensor in target.items():
        stem = key.removesuffix(gain_end).removesuffix(direction_end)
        name = key if stem == key else stem + ".weight"
        if name not in plain:
            missing.append(key)
            continue
        used.add(name)
        value = plain[name].to(tensor.dtype)
        if key.endswith(gain_end):
            value = torch.linalg.vector_norm(value, dim=tuple(range(1, value.ndim)), keepdim=True)
        if value.shape != tensor.shape:
            raise TrainError(f"{name} has shape {tuple(value.shape)}, this model needs {tuple(tensor.shape)}")
        target[key] = value
    module.load_state_dict(target)
    return LoadReport(missing=tuple(missing), leftover=tuple(sorted(set(plain) - used)))


# ---------------------------------------------------------------- transformers folders


@dataclass(frozen=True)
class Foreign:
    """A checkpoint from elsewhere, read but not yet loaded."""

    config: VitsConfig
    symbols: tuple[str, ...]
    interleave: bool
    lower: bool
    via: str | None  # what rewrites a text before its letters are looked up
    num_speakers: int
    weights: dict[str, Tensor] = field(repr=False)


IGNORED = {  # fields of VitsConfig that change nothing here
    "layerdrop",  # the original has none, and it would skip layers in training
    "initializer_range",
    "vocab_size",
    "num_speakers",
    "pad_token_id",
}
FIXED = {"depth_separable_channels": 2, "model_type": "vits"}


def read_transformers(folder: Path) -> Foreign:
    """A folder as `VitsModel.save_pretrained` and `VitsTokenizer` write it."""
    raw = _json(folder / "config.json")
    for key, value in FIXED.items():
        if raw.get(key, value) != value:
            raise TrainError(f"{folder}/config.json: {key} is {raw[key]!r}, only {value!r} can be loaded")
    known = {key: value for key, value in raw.items() if key in VitsConfig.model_fields and key not in IGNORED}
    num_speakers = int(raw.get("num_speakers", 1))
    if num_speakers == 1:
        known.pop("speaker_embedding_size", None)  # 0 there; read only when there are speakers
    for key in PLAIN_ONLY if known.get("use_stochastic_duration_prediction", True) else STOCHASTIC_ONLY:
        known.pop(key, None)  # transformers writes the other predictor's settings too
    for key in ("discriminator_period_channels", "discriminator_scale_channels"):
        if key in known:  # finetune-hf-vits counts the one channel of sound too, and writes null for none
            channels = list(known[key] or ())
            known[key] = channels[1:] if channels[:1] == [1] else channels
    config = check(VitsConfig, {"size": "mms", **known}, where=f"{folder}/config.json")
    symbols = _symbols(_json(folder / "vocab.json"), size=int(raw.get("vocab_size", 38)), folder=folder)
    tokenizer = _json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").exists() else {}
    ways = {"uroman": tokenizer.get("is_uroman"), "espeak": tokenizer.get("phonemize")}
    return Foreign(
        config=config,
        symbols=symbols,
        interleave=bool(tokenizer.get("add_blank", True)),
        lower=bool(tokenizer.get("normalize", True)),
        via=next((way for way, asked in ways.items() if asked), None),
        num_speakers=num_speakers,
        weights={name: value.float() for name, value in fold(_tensors(folder)).items()},
    )


def _symbols(table: dict[str, int], *, size: int, folder: Path) -> tuple[str, ...]:
    if not all(isinstance(id, int) for id in table.values()):
        raise TrainError(f"{folder}/vocab.json: every symbol needs a whole number as its id")
    by_id = {id: symbol for symbol, id in table.items()}
    if len(by_id) != len(table) or any(not 0 <= id < size for id in by_id):
        raise TrainError(f"{folder}/vocab.json: ids must be distinct and below vocab_size = {size}")
    return tuple(by_id.get(id, f"<unused-{id}>") for id in range(size))


def _tensors(folder: Path) -> dict[str, Tensor]:
    path = folder / "model.safetensors"
    if path.exists():
        try:
            return dict(load_file(path))
        except SafetensorError as bad:
            raise TrainError(f"{path} is damaged ({bad}): download it again") from None
    path = folder / "pytorch_model.bin"
    if not path.exists():
        raise TrainError(f"{folder} has no model.safetensors: save the model with transformers' save_pretrained")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # torch raises many kinds; none of them may run code from the file
        raise TrainError(f"{path} holds more than plain tensors, or is damaged: convert it to safetensors") from None
    if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
        raise TrainError(f"{path} is not a table of tensors: convert it to safetensors with save_pretrained")
    return state


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TrainError(f"{path} is not there: a base is a folder with config.json, vocab.json and weights") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as bad:
        raise TrainError(f"{path} is damaged ({bad}): download it again") from None
    if not isinstance(value, dict):
        raise TrainError(f"{path} is not a table of settings")
    return value

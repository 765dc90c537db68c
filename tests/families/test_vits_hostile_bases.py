"""Bases that claim more than they hold: one sentence, before memory is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import save_file

from olu.core.errors import ConfigError, OluError, TrainError
from olu.families.vits.config import VitsConfig
from olu.families.vits.foreign.detect import read_foreign

HUGE = 10**12
EMBEDDING, SPEAKERS = "text_encoder.embed_tokens.weight", "embed_speaker.weight"
TINY = {"model_type": "vits", "hidden_size": 16, "num_hidden_layers": 2, "ffn_dim": 32, "vocab_size": 3}


def folder(place: Path, *, weights: dict[str, Any] | None = None, **config: Any) -> Path:
    (place / "config.json").write_text(json.dumps({**TINY, **config}), encoding="utf-8")
    (place / "vocab.json").write_text(json.dumps({"_": 0, "a": 1, "b": 2}), encoding="utf-8")
    save_file(weights or {EMBEDDING: torch.zeros(3, 16)}, str(place / "model.safetensors"))
    return place


@pytest.mark.parametrize("value", [HUGE, 10**9, -1, 3.5, "many", None, True, [3], 10**300])
@pytest.mark.parametrize("key", ["vocab_size", "num_speakers"])
def test_counts(key: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=f"{key} is "):
        read_foreign(folder(tmp_path, **{key: value}))


def test_counts_are_those_of_the_weights(tmp_path: Path) -> None:
    with pytest.raises(TrainError, match="names 60000 symbols, its weights have 3"):
        read_foreign(folder(tmp_path, vocab_size=60_000))
    with pytest.raises(TrainError, match="names 900000 speakers, its weights know only one"):
        read_foreign(folder(tmp_path, num_speakers=900_000))
    two = {EMBEDDING: torch.zeros(3, 16), SPEAKERS: torch.zeros(2, 256)}
    with pytest.raises(TrainError, match="names 900000 speakers, its weights have 2"):
        read_foreign(folder(tmp_path, weights=two, num_speakers=900_000))


def test_layers_that_are_not_there(tmp_path: Path) -> None:
    sizes = {"hidden_size": 16384, "ffn_dim": 16384, "num_hidden_layers": 256, "vocab_size": 3}
    with pytest.raises(TrainError, match="weights more than it holds"):
        read_foreign(folder(tmp_path, weights={EMBEDDING: torch.zeros(3, 16384)}, **sizes))


def test_every_size_has_an_end() -> None:
    """Each whole number and each list of them; counts of steps ask for no memory."""
    steps = ("discriminator_start", "discriminator_warmup", "alignment_guide")
    seen = 0
    for name, field in VitsConfig.model_fields.items():
        default = field.default
        if type(default) is int and name not in steps:
            value: Any = HUGE
        elif isinstance(default, tuple) and name != "adam_betas":
            value = [[HUGE]] if name == "resblock_dilation_sizes" else [HUGE]
        else:
            continue
        seen += 1
        with pytest.raises(ValidationError) as raised:
            VitsConfig(**{"size": "mms", name: value})
        assert [error["loc"][0] for error in raised.value.errors()] == [name]
        assert raised.value.errors()[0]["type"] == "less_than_equal"
    assert seen > 25


@pytest.mark.parametrize(
    "config",
    [
        {"model": {}, "data": {"n_speakers": HUGE}},
        {"model": {}, "data": {"filter_length": HUGE}},
        {"model": {}, "data": {"n_speakers": "two"}},
        {"model": {}, "data": []},
        {"model": {}, "data": {}, "train": 3},
        {"model": "vits", "model_args": [], "characters": {}},
        {"model": "vits", "model_args": {"length_scale": "x"}, "characters": {}},
        {"model": "vits", "model_args": {"spec_segment_size": HUGE}, "characters": {}},
        {"model": "vits", "model_args": {"hidden_channels": HUGE}, "characters": {"characters": "ab"}},
        {"model": {"hidden_channels": HUGE}, "data": {}},
        {"model": {"upsample_rates": [HUGE]}, "data": {}},
    ],
    ids=str,
)
def test_other_programs(config: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (tmp_path / "vocab.txt").write_text("_\na\nb", encoding="utf-8")
    name = "enc_p.emb.weight" if isinstance(config["model"], dict) else "text_encoder.emb.weight"
    file = "G_1.pth" if isinstance(config["model"], dict) else "best_model.pth"
    torch.save({"model": {name: torch.zeros(3, 16)}}, tmp_path / file)
    with pytest.raises(OluError) as raised:
        read_foreign(tmp_path)
    assert isinstance(raised.value, TrainError | ConfigError)
    assert "\n" not in str(raised.value)

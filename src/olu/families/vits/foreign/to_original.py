"""A model of ours as the original VITS code and MMS' tools read it: G_*.pth, D_*.pth, config.json, vocab.txt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from olu.core.errors import ExportError
from olu.core.files import write_json, write_text
from olu.families.vits.config import PLAIN_ONLY, STOCHASTIC_ONLY, VitsConfig
from olu.families.vits.foreign.names import DISCRIMINATOR, to_original
from olu.families.vits.foreign.original import BUILT_IN, DATA, DISCRIMINATOR_SETTINGS, DROPOUTS, MODEL
from olu.families.vits.foreign.read import OTHER_NAMES
from olu.families.vits.foreign.to_transformers import of_reading, spoken
from olu.families.vits.learn import VitsLearner
from olu.families.vits.weights import fold
from olu.train.family import Card

INSTEAD = "export with {others}, which hold any size, or train a voice with model.size = 'mms' for '--to mms'"


def write_original(learner: nn.Module, *, folder: Path, card: Card) -> list[str]:
    """Both networks as tables of tensors; returns what stays behind."""
    assert isinstance(learner, VitsLearner)
    config, notes = learner.config, of_reading(card)
    _check(config)
    stochastic = config.use_stochastic_duration_prediction
    _save(to_original(spoken(learner, card), stochastic=stochastic), folder / f"G_{card.step}.pth", config=config)
    if "discriminator" in card.lacks:
        notes.append("there is no discriminator, so no D_*.pth")
    elif any(getattr(config, name) != value for name, value in DISCRIMINATOR_SETTINGS.items()):
        notes.append("the original has no discriminator of these sizes: no D_*.pth is written")
    else:
        discriminator = {
            DISCRIMINATOR + name: value.detach().cpu() for name, value in fold(learner.disc.state_dict()).items()
        }
        _save(to_original(discriminator, stochastic=stochastic), folder / f"D_{card.step}.pth", config=config)
    write_json(folder / "config.json", _config(config, card=card))
    write_text(folder / "vocab.txt", "".join(f"{symbol}\n" for symbol in card.symbols))
    if any("\n" in symbol for symbol in card.symbols):
        raise ExportError("a symbol of this voice is a line break: vocab.txt cannot hold it")
    notes.append(f"the noise it speaks with: give infer noise_scale={config.noise_scale:g} each time")
    if not card.lower:
        notes.append("the original code lower-cases every text")
    if len({getattr(config, name) for name in DROPOUTS}) > 1:
        notes.append(
            f"it has one dropout for the text encoder: {config.hidden_dropout:g}, model.hidden_dropout, is given"
        )
    return notes


def _check(config: VitsConfig) -> None:
    """Numbers that are written into the original code cannot be others."""
    other = PLAIN_ONLY if config.use_stochastic_duration_prediction else STOCHASTIC_ONLY
    free = {"duration_predictor_dropout", "wavenet_dropout", *other}
    wrong = [name for name, value in BUILT_IN.items() if name not in free and getattr(config, name) != value]
    instead = INSTEAD.format(
        others="'--to hf' or '--to voice'" if config.resblock == "1" else "'--to voice' or '--to onnx'"
    )
    if wrong:
        listed = ", ".join(f"{name} = {getattr(config, name)} ({BUILT_IN[name]} there)" for name in wrong)
        raise ExportError(f"the original VITS has these settings built in, and this model others: {listed}; {instead}")
    depth = 3 if config.resblock == "1" else 2
    if any(len(dilations) != depth for dilations in config.resblock_dilation_sizes):
        raise ExportError(
            f"the original VITS has {depth} dilations in each block of model.resblock_dilation_sizes, and this model"
            f" others; {instead}"
        )


def _save(model: Mapping[str, Tensor], path: Path, *, config: VitsConfig) -> None:
    """As its utils.load_checkpoint reads it, with an optimiser that has not moved yet."""
    group = {
        "lr": config.learning_rate,
        "initial_lr": config.learning_rate,
        "betas": config.adam_betas,
        "eps": config.adam_epsilon,
        "weight_decay": 0.01,
        "amsgrad": False,
        "params": list(range(len(model))),
    }
    held = {
        "model": dict(model),
        "iteration": 1,
        "optimizer": {"state": {}, "param_groups": [group]},
        "learning_rate": config.learning_rate,
    }
    torch.save(held, path)


def _config(config: VitsConfig, *, card: Card) -> dict[str, Any]:
    values = config.model_dump(mode="json")
    several = len(card.speakers) > 1
    return {
        "train": {
            **OTHER_NAMES["original"]["train"],
            "learning_rate": config.learning_rate,
            "betas": list(config.adam_betas),
            "eps": config.adam_epsilon,
            "segment_size": config.segment_size,
            "c_mel": config.weight_mel,
            "c_kl": config.weight_kl,
        },
        "data": {
            "training_files": "train.txt.uroman" if card.via == "uroman" else "train.txt",
            "validation_files": "valid.txt.uroman" if card.via == "uroman" else "valid.txt",
            "text_cleaners": ["english_cleaners2" if card.via == "espeak" else "basic_cleaners"],
            "max_wav_value": 32768.0,
            "sampling_rate": config.sampling_rate,
            "filter_length": config.fft_size,
            "hop_length": config.hop_length,
            "win_length": config.fft_size,
            **{key: values[ours] for key, ours in DATA.items()},
            "add_blank": card.interleave,
            "n_speakers": len(card.speakers) if several else 0,
            "cleaned_text": True,
        },
        "model": {
            **{key: values[ours] for key, ours in MODEL.items()},
            "p_dropout": config.hidden_dropout,
            "n_layers_q": 3,
            "use_spectral_norm": False,
            **({"gin_channels": config.speaker_embedding_size} if several else {}),
        },
        **({"speakers": list(card.speakers)} if several else {}),
    }

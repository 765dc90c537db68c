"""Another vocoder as a start: a run, or a package `x.vocoder`, with its discriminators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import ConfigError, TrainError
from olu.core.files import hash_file, read_json
from olu.families.vocoder.config import BEGINNING
from olu.train.base_facts import VOCODER as CARD
from olu.train.family import Base

if TYPE_CHECKING:
    from torch import Tensor, nn

TRAINING = "training.safetensors"  # of a package
Weights = dict[str, "Tensor"]  # by their names in a learner: gen.*, disc.*


def read_base(folder: Path) -> Base:
    """`folder` is a run of a vocoder, of any workspace, or a package of one."""
    if (folder / CARD).is_file():
        card = read_json(folder / CARD)
        must_fit(card.get("mel"), whose=str(folder))
        if not (folder / TRAINING).is_file():
            raise ConfigError(
                f"recipe: base: {folder} has no {TRAINING}, which a vocoder goes on from: export it --with-training"
            )
        if hash_file(folder / TRAINING) != card.get("files", {}).get(TRAINING):
            raise ConfigError(f"recipe: base: {folder / TRAINING} is not what was written: export it again")
        return _base(card["settings"], lambda: _from_package(folder), where=str(folder))
    from olu.train.run import run_as_base

    run = run_as_base(folder, family="vocoder", what="vocoder", instead="a package (x.vocoder) or ")
    must_fit(run.document("facts.json").get("mel"), whose=str(folder))
    return _base(run.recipe.model, lambda: _from_run(run), where=str(folder))


def must_fit(facts: Any, *, whose: str) -> None:
    """An error where another vocoder was made for another spectrogram."""
    from olu.features.mel import MelSpec

    if isinstance(facts, dict):
        MelSpec().must_fit(facts, whose=whose)


def _base(settings: dict[str, Any], weights: Callable[[], Weights], *, where: str) -> Base:
    def load(learner: nn.Module, growth: Any = None, speakers: Sequence[str] = ()) -> list[str]:
        given, own = weights(), learner.state_dict()
        for name, tensor in own.items():
            if name not in given or given[name].shape != tensor.shape:
                has = tuple(given[name].shape) if name in given else "nothing"
                raise TrainError(f"base {where} has {has} for {name}, and these settings need {tuple(tensor.shape)}")
        learner.load_state_dict({name: given[name].float() for name in own})
        return [f"begins as {Path(where).name}, discriminators and all"]

    return Base(
        settings={**settings, **BEGINNING},
        symbols=(),
        interleave=False,
        lower=False,
        via=None,
        num_speakers=1,
        load=load,
        has_discriminator=True,
    )


def _from_run(run: Any) -> Weights:
    from olu.families.vocoder.config import VocoderConfig
    from olu.families.vocoder.learn import VocoderLearner
    from olu.train.checkpoint import load_averaged

    learner = VocoderLearner(VocoderConfig(**run.recipe.model))
    load_averaged(learner, run.checkpoints().load(run.best_step()))
    return dict(learner.state_dict())


def _from_package(folder: Path) -> Weights:
    from safetensors.torch import load_file

    return dict(load_file(folder / TRAINING))

"""Another acoustic model as a start: a run of any workspace, or a voice that was exported --with-training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from olu.core.errors import ConfigError, TrainError
from olu.core.files import hash_file, read_json, write_json
from olu.text.vocabulary import StreamVocabulary, is_language_tag
from olu.train.family import Base, Card

if TYPE_CHECKING:
    from torch import Tensor, nn

    from olu.train.grow_symbols import Growth

PART = "training"  # of a voice package
SETTINGS, WEIGHTS, FRONTEND = "settings.json", "weights.safetensors", "frontend.json"
SYMBOLS, SPEAKERS = "net.text.symbols.weight", "net.text.speakers.weight"
Weights = dict[str, "Tensor"]


class _BaseContents(NamedTuple):
    """What a base holds beside its weights."""

    model: dict[str, Any]
    vocabulary: dict[str, Any]
    frontend: dict[str, Any]
    speakers: list[str]
    observed: dict[str, Any]


def read_base(folder: Path) -> Base:
    if (folder / "voice.json").is_file():
        return _base(_of_package(folder), lambda: _packaged(folder), where=folder)
    from olu.train.run import run_as_base
    from olu.train.setup.observe import held_by

    instead = "a voice that was exported --with-training, or "
    run = run_as_base(folder, family="acoustic", what="acoustic model", instead=instead)
    vocabulary, frontend, speakers = (run.document(name) for name in ("vocabulary.json", FRONTEND, "speakers.json"))
    held = _BaseContents(run.recipe.model, vocabulary, frontend, speakers, held_by(run) or {})
    return _base(held, lambda: _of_run(run), where=folder)


def _of_package(folder: Path) -> _BaseContents:
    digests, where = read_json(folder / "check.json").get("files", {}), folder / PART
    for name in (SETTINGS, WEIGHTS, FRONTEND):
        if not (where / name).is_file():
            raise ConfigError(f"recipe: base: {folder} has no {PART}/{name}: export it --with-training")
        if hash_file(where / name) != digests.get(f"{PART}/{name}"):
            raise ConfigError(f"recipe: base: {where / name} is not what was written: export the voice again")
    held = read_json(where / SETTINGS)
    if held.get("family") != "acoustic":
        raise ConfigError(
            f"recipe: base: {folder} is a voice of {held.get('family')}: an acoustic model starts from its like"
        )
    state = StreamVocabulary(held["symbols"]).state()
    return _BaseContents(held["model"], state, read_json(where / FRONTEND), held["speakers"], held["observed"])


def write_part(learner: nn.Module, *, folder: Path, card: Card) -> list[str]:
    """The training part of a voice package: weights in half precision, and what is known of the corpus."""
    import torch
    from safetensors.torch import save_file

    from olu.families.acoustic.learn import AcousticLearner

    assert isinstance(learner, AcousticLearner)
    state = {name: one.detach().cpu().to(torch.float16).contiguous() for name, one in learner.state_dict().items()}
    save_file(state, folder / WEIGHTS)
    write_json(
        folder / SETTINGS,
        {
            "family": "acoustic",
            "model": learner.config.model_dump(mode="json"),
            "symbols": list(card.symbols),
            "speakers": list(card.speakers),
            "observed": {**asdict(learner.figures), "sentences": []},
        },
    )
    return []


def _base(held: _BaseContents, weights: Callable[[], Weights], *, where: Path) -> Base:
    symbols = tuple(held.vocabulary["symbols"])

    def load(learner: nn.Module, growth: Growth | None = None, speakers: Sequence[str] = ()) -> list[str]:
        given = weights()
        _fit_speakers(given, learner, held.speakers, speakers, symbols)
        if growth:
            from olu.train.grow_symbols import enlarged

            given[SYMBOLS] = enlarged(given[SYMBOLS], growth)
        for name, tensor in learner.state_dict().items():
            if name not in given or given[name].shape != tensor.shape:
                has = tuple(given[name].shape) if name in given else "nothing"
                raise TrainError(f"base {where} has {has} for {name}, and these settings need {tuple(tensor.shape)}")
        learner.load_state_dict({name: given[name].float() for name in learner.state_dict()})
        return [f"begins as {where.name}"]

    return Base(
        settings=dict(held.model),
        symbols=symbols,
        interleave=False,
        lower=False,
        via=None,
        num_speakers=len(held.speakers),
        load=load,
        speakers=tuple(held.speakers),
        frontend=held.frontend,
        vocabulary=held.vocabulary,
        observed=held.observed or None,
    )


def _fit_speakers(
    given: Weights, learner: nn.Module, old: Sequence[str], new: Sequence[str], symbols: Sequence[str]
) -> None:
    """Rows of speakers by their names; a new one begins as the mean of all. A model of one speaker has no such table:
    there, the mean goes into every sound, which comes to the same."""
    import torch

    rows, several = given.pop(SPEAKERS, None), SPEAKERS in learner.state_dict()
    if several and rows is None:
        given[SPEAKERS] = torch.zeros_like(learner.get_parameter(SPEAKERS).detach())
    elif rows is not None and several:
        mean = rows.mean(0)
        given[SPEAKERS] = torch.stack([rows[old.index(name)] if name in old else mean for name in new])
    elif rows is not None:
        sounds = torch.tensor([not is_language_tag(symbol) for symbol in symbols])
        own = rows[old.index(new[0])] if new and new[0] in old else rows.mean(0)
        given[SYMBOLS] = given[SYMBOLS] + sounds[:, None] * own


def _of_run(run: Any) -> Weights:
    """The averaged weights of its best step."""
    from olu.families.acoustic.config import AcousticConfig
    from olu.families.acoustic.learn import AcousticLearner
    from olu.train.checkpoint import load_averaged

    symbols, speakers = run.document("vocabulary.json")["symbols"], run.document("speakers.json")
    config = AcousticConfig(**run.recipe.model)
    learner = AcousticLearner(config, vocab_size=len(symbols), num_speakers=len(speakers))
    load_averaged(learner, run.checkpoints().load(run.best_step()))
    return dict(learner.state_dict())


def _packaged(folder: Path) -> Weights:
    from safetensors.torch import load_file

    return {name: one.float() for name, one in load_file(folder / PART / WEIGHTS).items()}

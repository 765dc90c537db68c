"""A recogniser of another corpus as a start: what it knows of sounds, and the rows of the symbols both write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olu.core.errors import ConfigError, TrainError
from olu.train.family import Base

if TYPE_CHECKING:
    from torch import Tensor, nn

    from olu.train.run import Run

FRONT = "front."  # the layers that make frames coarser; other frames need others
HEAD = ("head.weight", "head.bias")  # a row for every symbol
OWN = ("units", "tone_marks")  # settings of what is written, which the new run chooses itself


def read_base(folder: Path) -> Base:
    """`folder` is a finished run of a recogniser, of this workspace or another."""
    from olu.train.run import run_as_base

    run = run_as_base(folder, family="recogniser", what="run of a recogniser")
    if not (folder / "vocabulary.json").is_file():
        raise ConfigError(f"recipe: base: {folder} has no vocabulary.json: it is not whole, name another run")
    symbols = tuple(run.document("vocabulary.json")["symbols"])

    def load(learner: nn.Module, growth: Any = None, speakers: Sequence[str] = ()) -> list[str]:
        return _load(learner, run, symbols)

    return Base(
        settings={key: value for key, value in run.recipe.model.items() if key not in OWN},
        symbols=symbols,
        interleave=False,
        lower=True,
        via=None,
        num_speakers=1,
        load=load,
    )


def _load(learner: Any, run: Run, symbols: tuple[str, ...]) -> list[str]:
    from olu.families.recogniser.learn import RecogniserLearner
    from olu.families.recogniser.recognise import load

    assert isinstance(learner, RecogniserLearner)
    heard = load(run, language="")
    held = heard.learner.net.state_dict()
    own = learner.net.state_dict()
    both = [(learner.symbols.index(one), place) for place, one in enumerate(symbols) if one in learner.symbols]
    fresh = [name for name, tensor in own.items() if _shape(name, tensor) != _shape(name, held.get(name))]
    if lost := [name for name in (*fresh, *(held.keys() - own.keys())) if not name.startswith(FRONT)]:
        has, needs = (_shape(lost[0], of.get(lost[0])) or "nothing" for of in (held, own))
        raise TrainError(f"base {run.folder} has {has} for {lost[0]}, and these settings need {needs}")
    for name in fresh:
        held[name] = own[name]
    for name in HEAD:
        held[name] = _rows(own[name], held[name], both)
    learner.net.load_state_dict(held)
    new = len(learner.symbols) - len(both)
    said = [f"hears as {run.name} did at the start; {new} of {len(learner.symbols)} symbols are new to it"]
    if heard.units != learner.config.units:
        said.append(
            f"the base writes {heard.units}, this run {learner.config.units}: few of their symbols are the same"
        )
    return said + ([f"begins anew, for its shape is not the base's: {', '.join(fresh)}"] if fresh else [])


def _rows(own: Tensor, held: Tensor, both: list[tuple[int, int]]) -> Tensor:
    """Rows of symbols that both write are the base's, the others stay as they began."""
    mixed = own.clone()
    for here, there in both:
        mixed[here] = held[there]
    return mixed


def _shape(name: str, tensor: Tensor | None) -> tuple[int, ...] | None:
    """The shape, less the number of symbols."""
    if tensor is None:
        return None
    return tuple(tensor.shape[1:] if name in HEAD else tensor.shape)

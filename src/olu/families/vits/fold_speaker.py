"""A voice of many speakers made into a voice of one: what a speaker adds everywhere is added to the biases instead."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

SPEAKERS = "embed_speaker.weight"
LAYER, SINGLE = ".cond_layer.weight", ".cond.weight"


def fold_speaker(weights: dict[str, Tensor], *, names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """In place. The speaker of the same name is kept; without one, the mean of all is where the new one starts."""
    table = weights.pop(SPEAKERS)
    known = wanted[0] in names if wanted else False
    vector = table[list(names).index(wanted[0])] if known else table.mean(0)
    for name in [name for name in weights if name.endswith((LAYER, SINGLE))]:
        stem = name.rpartition(".cond")[0]
        weight, bias = weights.pop(name), weights.pop(name.removesuffix("weight") + "bias")
        added = weight[:, :, 0].float() @ vector.float() + bias.float()
        if name.endswith(LAYER):
            _into_wavenet(weights, stem, added)
        else:
            _into_first(weights, stem, added)
    whose = f"{wanted[0]!r} goes on with that voice" if known else "the corpus begins with the mean of their voices"
    return [f"the base has {len(table)} speakers and the corpus one: {whose}, and the others are left out"]


def _into_wavenet(weights: dict[str, Tensor], stem: str, added: Tensor) -> None:
    layers = sum(name.startswith(f"{stem}.in_layers.") and name.endswith(".bias") for name in weights)
    for place, piece in enumerate(added.chunk(layers)):
        _add(weights, f"{stem}.in_layers.{place}.bias", piece)


def _into_first(weights: dict[str, Tensor], stem: str, added: Tensor) -> None:
    """The decoder and the stochastic predictor add a speaker after their first layer, the plain predictor before it.

    There the first layer's padding hears no speaker, so the first and the last token differ a little.
    """
    if f"{stem}.conv_pre.bias" in weights:
        _add(weights, f"{stem}.conv_pre.bias", added)
    else:
        _add(weights, f"{stem}.conv_1.bias", weights[f"{stem}.conv_1.weight"].float().sum(2) @ added)


def _add(weights: dict[str, Tensor], name: str, added: Tensor) -> None:
    weights[name] = weights[name].float() + added

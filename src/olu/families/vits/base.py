"""Starting from a foreign VITS checkpoint: its settings, its alphabet, and its weights in a learner of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from olu.core.errors import TrainError
from olu.families.vits.config import VitsConfig
from olu.families.vits.foreign.detect import read_foreign
from olu.families.vits.foreign.names import DISCRIMINATOR
from olu.families.vits.foreign.read import Foreign
from olu.families.vits.learn import VitsLearner
from olu.families.vits.weights import LoadReport, load_plain
from olu.train.checkpoint import Checkpoint
from olu.train.family import Base
from olu.train.grow_symbols import Growth, enlarged, enlarged_checkpoint

# ---- A voice of many speakers made into a voice of one: what a speaker adds everywhere is added to the biases instead


SPEAKERS = "embed_speaker.weight"
LAYER, SINGLE = ".cond_layer.weight", ".cond.weight"


def fold_speaker(weights: dict[str, Tensor], *, names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """In place. The speaker of the same name is kept; without one, the mean of all is where the new one starts."""
    table = weights.pop(SPEAKERS)
    known = wanted[0] in names if wanted else False
    vector = table[list(names).index(wanted[0])] if known else table.mean(0)
    for name in [name for name in weights if name.startswith("prosody.")]:
        del weights[name]  # it hears a speaker in more places than a bias has: it is soon learnt anew
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
    if first := next((name for name in ("conv_pre", "enter") if f"{stem}.{name}.bias" in weights), ""):
        _add(weights, f"{stem}.{first}.bias", added)
    else:
        _add(weights, f"{stem}.conv_1.bias", weights[f"{stem}.conv_1.weight"].float().sum(2) @ added)


def _add(weights: dict[str, Tensor], name: str, added: Tensor) -> None:
    weights[name] = weights[name].float() + added


WARMUP = 500  # steps: a fresh discriminator has nothing to say to a trained generator at first
# Settings for the first steps of new weights: a voice that has learnt is past them.
BEGINNING = (
    "discriminator_start",
    "discriminator_warmup",
    "alignment_noise",
    "alignment_noise_decay",
    "alignment_guide",
)
OPTIONAL = ("posterior_encoder", "discriminator")  # parts that speaking does not need
EMBEDDING = "text_encoder.embed_tokens.weight"
CONDITIONS = (".cond.", ".cond_layer.")  # layers through which a speaker is heard
NAMED = 8  # tensors that a sentence lists


def read_base(folder: Path) -> Base:
    return base_of(read_foreign(folder), where=str(folder))


def base_of(foreign: Foreign, *, where: str) -> Base:
    """A checkpoint that was read, as a start for a run."""

    def load(learner: nn.Module, growth: Growth | None = None, speakers: Sequence[str] = ()) -> list[str]:
        if not isinstance(learner, VitsLearner):
            raise TrainError("a VITS base can only start a VITS run")
        return [*foreign.notes, *_load(learner, foreign, growth, speakers, where=where)]

    has_discriminator = any(name.startswith(DISCRIMINATOR) for name in foreign.weights)
    fresh = {name: VitsConfig.model_fields[name].default for name in BEGINNING}
    settings = foreign.config.model_dump(mode="json") | fresh
    return Base(
        settings=settings if has_discriminator else {**settings, "discriminator_warmup": WARMUP},
        symbols=foreign.symbols,
        interleave=foreign.interleave,
        lower=foreign.lower,
        via=foreign.via,
        num_speakers=foreign.num_speakers,
        load=load,
        has_discriminator=has_discriminator,
        speakers=foreign.speakers,
        frontend=foreign.frontend,
        phones=foreign.phones,
        alone={"speaker_embedding_size": VitsConfig.model_fields["speaker_embedding_size"].default},
        lacks=tuple(part for part in OPTIONAL if not any(name.startswith(f"{part}.") for name in foreign.weights)),
    )


def _load(
    learner: VitsLearner, foreign: Foreign, growth: Growth | None, speakers: Sequence[str], *, where: str
) -> list[str]:
    gen = learner.gen
    discriminator = _under(foreign.weights, DISCRIMINATOR)
    weights = {name: value for name, value in foreign.weights.items() if not name.startswith(DISCRIMINATOR)}
    rows = gen.text_encoder.embed_tokens.num_embeddings
    if EMBEDDING in weights:
        weights[EMBEDDING] = enlarged(weights[EMBEDDING], growth) if growth else grown(weights[EMBEDDING], rows)
    said = _fit_speakers(learner, weights, names=foreign.speakers, wanted=speakers)
    report = load_plain(gen, weights)
    fresh = ["posterior_encoder.", "prosody."]
    if learner.config.decoder != foreign.config.decoder:
        fresh.append("decoder.")
    if learner.config.use_stochastic_duration_prediction != foreign.config.use_stochastic_duration_prediction:
        fresh.append("duration_predictor.")
    heard = _speaker_names(report) if SPEAKERS not in weights else []
    if lost := [name for name in report.missing if not name.startswith(tuple(fresh)) and name not in heard]:
        raise TrainError(f"{where} lacks {lost[0]} ({len(lost)} tensors in all): its weights are not whole")
    if heard:
        said.append("the base has one speaker: more are added, who all begin with its voice")
        _silence(gen)
        report = LoadReport(tuple(name for name in report.missing if name not in heard), report.leftover)
    if discriminator and load_plain(learner.disc, discriminator) != LoadReport():
        raise TrainError(
            f"{where} has a discriminator of another shape: remove its {DISCRIMINATOR}* tensors to start afresh"
        )
    return said + _sentences(
        report,
        new_rows=0 if growth else rows - len(foreign.symbols),
        fresh_discriminator=None if discriminator else learner.config.discriminator_warmup,
    )


def grown(embedding: Tensor, rows: int) -> Tensor:
    """The embedding with rows appended at the mean and spread of the trained ones: a small start would barely learn."""
    return enlarged(embedding, Growth(len(embedding), (None,) * max(0, rows - len(embedding))))


def _fit_speakers(
    learner: VitsLearner, weights: dict[str, Tensor], *, names: Sequence[str], wanted: Sequence[str]
) -> list[str]:
    """People the base knows by name keep their rows; others begin near the mean of all. Its layers are kept."""
    if SPEAKERS not in weights:
        return []
    if not hasattr(learner.gen, "embed_speaker"):
        return fold_speaker(weights, names=names, wanted=wanted)
    table, number = weights[SPEAKERS], learner.gen.embed_speaker.num_embeddings
    known = {name: row for row, name in enumerate(names)} if wanted else {}
    if len(table) == number and not known:
        return []  # without names the order is all there is
    fresh = grown(table, len(table) + number)[len(table) :]
    rows = [known.get(name) for name in wanted] or [None] * number
    weights[SPEAKERS] = torch.stack([fresh[at] if row is None else table[row] for at, row in enumerate(rows)])
    strange = [name for name, row in zip(wanted or map(str, range(number)), rows, strict=True) if row is None]
    said = f"the base has {len(table)} speakers, and not {', '.join(strange[:8])}: they begin near the mean of its own"
    return [said] if strange else []


def with_speakers(checkpoint: Checkpoint, learner: nn.Module, *, old: int) -> Checkpoint:
    """A checkpoint of `old` speakers as one of the learner's: new ones begin near the mean, or with the only voice."""
    assert isinstance(learner, VitsLearner)
    name = f"gen.{SPEAKERS}"
    if f"learner/{name}" in checkpoint.weights:
        added = learner.gen.embed_speaker.num_embeddings - old
        return enlarged_checkpoint(checkpoint, (name,), Growth(old, (None,) * added))
    _silence(learner.gen)
    fresh = {f"learner/{n}": t for n, t in learner.state_dict().items() if n == name or _is_condition(n)}
    return replace(checkpoint, weights={**fresh, **checkpoint.weights})


def _is_condition(name: str) -> bool:
    return any(part in name for part in CONDITIONS)


def _speaker_names(report: LoadReport) -> list[str]:
    return [name for name in report.missing if name == SPEAKERS or _is_condition(name)]


@torch.no_grad()
def _silence(gen: nn.Module) -> None:
    """Conditioning that adds nothing yet. A weight-normed layer makes its weight anew each time: its gain is set."""
    for name, parameter in gen.named_parameters():
        if _is_condition(name) and not name.endswith("original1"):
            parameter.zero_()


def _under(weights: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def _sentences(report: LoadReport, *, new_rows: int, fresh_discriminator: int | None) -> list[str]:
    said = []
    if fresh_discriminator is not None:
        how = f"over the first {fresh_discriminator} steps" if fresh_discriminator else "from the first step"
        said.append(
            "the base has no discriminator: a fresh one starts, and the generator comes to heed it"
            f" {how} (model.discriminator_warmup)"
        )
    if report.missing:
        parts = sorted({name.split(".")[0] for name in report.missing})
        said.append(f"the base lacks {', '.join(parts)} ({len(report.missing)} tensors): started fresh")
    if report.leftover:
        more = f" and {len(report.leftover) - NAMED} more" if len(report.leftover) > NAMED else ""
        said.append(f"not used from the base: {', '.join(report.leftover[:NAMED])}{more}")
    if new_rows:
        said.append(f"{new_rows} new symbols were added to the base's alphabet")
    return said

"""Starting from a foreign VITS checkpoint: its settings, its alphabet, and its weights in a learner of ours."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from olu.errors import TrainError
from olu.families.vits.learn import VitsLearner
from olu.families.vits.weights import LoadReport, load_plain, read_transformers
from olu.train.family import Base

JUDGE = "discriminator."  # as finetune-hf-vits stores it beside the generator
EMBEDDING = "text_encoder.embed_tokens.weight"


def read_base(folder: Path) -> Base:
    foreign = read_transformers(folder)

    def load(learner: nn.Module) -> list[str]:
        if not isinstance(learner, VitsLearner):
            raise TrainError("a VITS base can only start a VITS run")
        judge = _under(foreign.weights, JUDGE)
        weights = {name: value for name, value in foreign.weights.items() if not name.startswith(JUDGE)}
        rows = learner.gen.text_encoder.embed_tokens.num_embeddings
        if EMBEDDING in weights:
            weights[EMBEDDING] = grown(weights[EMBEDDING], rows)
        report = load_plain(learner.gen, weights)
        kinds = (c.use_stochastic_duration_prediction for c in (learner.config, foreign.config))
        may_be_fresh = (
            ("posterior_encoder.",) if len(set(kinds)) == 1 else ("posterior_encoder.", "duration_predictor.")
        )
        if lost := [name for name in report.missing if not name.startswith(may_be_fresh)]:
            raise TrainError(f"{folder} lacks {lost[0]} ({len(lost)} tensors in all): its weights are not whole")
        if judge and load_plain(learner.disc, judge) != LoadReport():
            raise TrainError(
                f"{folder} has a discriminator of another shape: remove its {JUDGE}* tensors to start afresh"
            )
        return _sentences(report, new_rows=rows - len(foreign.symbols), judged=bool(judge))

    return Base(
        settings=foreign.config.model_dump(mode="json"),
        symbols=foreign.symbols,
        interleave=foreign.interleave,
        lower=foreign.lower,
        via=foreign.via,
        num_speakers=foreign.num_speakers,
        load=load,
    )


def grown(embedding: Tensor, rows: int) -> Tensor:
    """The embedding with rows appended at the mean and spread of the trained ones: a small start would barely learn."""
    fresh = rows - len(embedding)
    if fresh <= 0:
        return embedding
    random = torch.Generator().manual_seed(0)
    noise = torch.randn(fresh, embedding.shape[1], generator=random)
    return torch.cat([embedding, embedding.mean(0) + noise * embedding.std(0)])


def _under(weights: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def _sentences(report: LoadReport, *, new_rows: int, judged: bool) -> list[str]:
    said = [] if judged else ["the base has no discriminator: it starts fresh"]
    if report.missing:
        parts = sorted({name.split(".")[0] for name in report.missing})
        said.append(f"the base lacks {', '.join(parts)} ({len(report.missing)} tensors): started fresh")
    if report.leftover:
        said.append(f"not used from the base: {', '.join(report.leftover)}")
    if new_rows:
        said.append(f"{new_rows} new symbols were added to the base's alphabet")
    return said

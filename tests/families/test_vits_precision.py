"""What must stay in float32 when the networks run in half precision: alignment, divergence, spectra, losses."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from olu.families.vits import learn
from olu.families.vits.config import VitsConfig
from olu.train.family import Clock

from .test_conformance import tones


@pytest.mark.parametrize("stochastic", [True, False])
def test_fragile_parts_stay_in_float32(stochastic: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    config = VitsConfig(size="tiny", use_stochastic_duration_prediction=stochastic)
    learner = learn.VitsLearner(config, vocab_size=20, num_speakers=1).train()
    kinds: dict[str, torch.dtype] = {}

    def noting(name: str, work: object) -> object:
        def noted(*args: object, **kwargs: object) -> Tensor:
            made = work(*args, **kwargs)  # type: ignore[operator]
            kinds[name] = made.dtype
            return made

        return noted

    monkeypatch.setattr(learn, "alignment_score", noting("score", learn.alignment_score))
    monkeypatch.setattr(learn.spectra, "mel", noting("mel", learn.spectra.mel))
    monkeypatch.setattr(learn.spectra, "linear", noting("linear", learn.spectra.linear))
    with torch.autocast("cpu", dtype=torch.float16):
        half = learner.gen.text_encoder.project(torch.randn(1, config.hidden_size, 4))
        updates = list(learner.step(learner.collate(tones(2)), Clock(0, 1)))
    assert half.dtype is torch.float16  # else nothing was tried
    assert kinds == {"score": torch.float32, "mel": torch.float32, "linear": torch.float32}
    assert {loss.sum.dtype for update in updates for loss in update.losses.values()} == {torch.float32}

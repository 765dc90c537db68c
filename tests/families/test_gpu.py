"""The same family on a GPU. Run where there is one: pytest -m gpu."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from olu.families import FAMILIES, family
from olu.train.engine import Engine, StepReport

from .test_conformance import VARIANTS, config_of, engine_for, made, tones

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
    pytest.mark.parametrize("name", [*FAMILIES, *VARIANTS]),
]


def engine_on(device: str, name: str, folder: Path, **plan: Any) -> Engine:
    fam = replace(family(VARIANTS.get(name, name)), name=name)
    return engine_for(fam, made(fam, config_of(fam)), folder, tones(4), device=device, save_every=3, **plan)


def losses(reports: list[StepReport]) -> list[float]:
    return [value for report in reports for seen in report.seen for value in seen.losses.values()]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_trains_and_speaks(name: str, precision: str, tmp_path: Path) -> None:
    engine = engine_on("cuda", name, tmp_path, precision=precision, steps=20, validate_every=20)
    reports = list(engine.train())
    noted = [event for report in reports for event in report.events if event.guard != "scale"]  # fp16 finds its scale
    assert engine.step == 20 and noted == []
    assert all(torch.isfinite(p).all() for p in engine.module.parameters())
    assert len(reports[-1].exhibits) == (engine.plan.demo_clips if family(VARIANTS.get(name, name)).speaks else 0)
    loss = family(VARIANTS.get(name, name)).figures.learning
    first, last = (next(seen.losses[loss] for seen in r.seen if loss in seen.losses) for r in (reports[0], reports[-1]))
    assert last < first


def test_resume_goes_on_as_it_would_have(name: str, tmp_path: Path) -> None:
    whole = list(engine_on("cuda", name, tmp_path / "a", steps=8).train())
    for report in engine_on("cuda", name, tmp_path / "b", steps=8).train():
        if report.step == 6:
            break
    later = engine_on("cuda", name, tmp_path / "b", steps=8)
    later.resume()
    assert later.step == 6
    assert losses(list(later.train())) == pytest.approx(losses(whole[6:]), rel=2e-2)

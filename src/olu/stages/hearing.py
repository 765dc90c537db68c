"""What hears the samples of a training: the workspace's recogniser, where it has one that fits."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import mean
from typing import TYPE_CHECKING, Any

from olu.audio.io import resample
from olu.core.errors import TrainError
from olu.core.files import Workspace
from olu.core.types import Reading
from olu.train.run import Run
from olu.train.validation import Ear

if TYPE_CHECKING:
    from olu.train.family import SpokenSample
    from olu.train.recipe import Recipe

HEARD_BY = "heard_by"  # in a run's facts: a resumed run must hear with the same ears


def listener_of(ws: Workspace, recipe: Recipe, *, run: Run | None) -> str | None:
    """The name of the recogniser's run: the one this run began with, or the newest that fits."""
    if run is None:
        from olu.stages.recogniser import ready

        found = ready(ws, units="letters", everything=False)
        return found.name if found else None
    name = run.document("facts.json").get(HEARD_BY)
    if name and Run(ws.runs / name).fault:
        if recipe.plan.choose == "heard":
            raise TrainError(
                f"{run.name} chooses its best step by what {name} hears, and {name} is gone or damaged: bring it back,"
                f" or start from its weights with 'olu train {ws.root} --from-run {run.name} --new'"
            )
        return None
    return str(name) if name else None


def said_of_ears(ws: Workspace, recipe: Recipe, listener: str | None) -> list[str]:
    """Where the best step is to be chosen by ear and there is none."""
    if recipe.plan.choose != "heard" or listener:
        return []
    make = shlex.join(["olu", "train", str(ws.root), "--set", "family=recogniser"])
    return [
        f"plan.choose = 'heard', and {ws.root} has no recogniser that fits its corpus: the validation loss chooses the"
        f" best step of this run. '{make}' makes a recogniser, for the next"
    ]


def ear_of(ws: Workspace, name: str, said: Mapping[str, Reading], *, device: str, factor: float = 1.0) -> Ear:
    """Share of wrong letters in the samples whose text is known. The network is loaded when first asked.

    `factor`: what the recordings were resampled by. It is undone first: the recogniser learnt from them as they are.
    """

    @cache
    def recogniser() -> Any:
        from olu.families.recogniser.recognise import load

        return load(Run.named(ws.runs, name), language=ws.language, device=device)

    def hear(exhibits: Sequence[SpokenSample]) -> dict[str, float]:
        from olu.evaluate.metrics.cer import compare

        known = [one for one in exhibits if one.name in said]
        if not known:
            return {}
        ears = recogniser()
        rates = []
        for one in known:
            target = "".join(ears.target(said[one.name]))
            sound = resample(one.audio, one.audio.rate, factor=1 / factor)
            rates.append(min(1.0, compare(target, spoken=ears.transcribe(sound)).letters.rate))
        return {"cer": mean(rates)}

    return hear

"""Whether a voice is understood better with its refining steps than without: heard once, before it is exported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from olu.core.files import Workspace
from olu.export.subject import ExportSubject
from olu.families.runs import ready
from olu.stages.train_setup import ear_of
from olu.train.family import SpokenSample

if TYPE_CHECKING:
    from olu.core.types import Reading

KNOB = "steps"
SENTENCES = 16  # of those held back that are said both ways
WORSE = 0.005  # share of wrong letters more, from which refining is left off


def without_worse_refining(ws: Workspace, subject: ExportSubject) -> ExportSubject:
    """The subject as it is to speak. Without a recogniser, or where a voice refines nothing, it stays as it is."""
    speaks, learner = subject.speaks, subject.learner
    asked = next((knob.default for knob in speaks.knobs(learner.config) if knob.name == KNOB), 0.0)
    listener = ready(ws, units="letters", everything=False) if asked and speaks.with_knob else None
    readings = {text: subject.frontend.read(text) for text in subject.held_out[:SENTENCES]}
    said = {text: reading for text, reading in readings.items() if reading.words}
    if listener is None or not said or speaks.with_knob is None:
        return subject
    hear = ear_of(ws, listener.name, said, device="cpu", factor=subject.resample)
    rates = {}
    for steps in (asked, 0.0):
        learner.config = speaks.with_knob(learner.config, KNOB, steps)
        rates[steps] = hear(_spoken(subject, said))["cer"]
    if rates[asked] <= rates[0.0] + WORSE:
        learner.config = speaks.with_knob(learner.config, KNOB, asked)
        return subject
    refined, mean = (f"{100 * rates[steps]:.1f} %" for steps in (asked, 0.0))
    told = (
        f"refined in {asked:g} steps {refined} of the letters are wrong, without {mean}"
        f" ({len(said)} sentences): it is exported with steps = 0; --knob steps={asked:g} still refines"
    )
    return replace(subject, notes=(*subject.notes, told))


def _spoken(subject: ExportSubject, said: dict[str, Reading]) -> list[SpokenSample]:
    """With the same draws each time."""
    import torch

    vocabulary, found = subject.vocabulary, []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for text, reading in said.items():
            ids, streams = vocabulary.encode(reading), vocabulary.streams(reading)
            found.append(SpokenSample(text, subject.learner.say(ids, 0, streams)))  # type: ignore[operator]
    return found

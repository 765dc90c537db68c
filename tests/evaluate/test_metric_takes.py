"""Figures of voices that draw: three seeds, stops that were not found, loops, lengths."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from olu.core.errors import TextError
from olu.core.types import Audio, Knob
from olu.evaluate.metrics import takes
from olu.speak.stream import ENDLESS, LOOP, SILENCE


class Drawing:
    """A voice whose takes are planted: seconds and faults by text and seed."""

    speakers = ("ana",)
    knobs: ClassVar = {"temperature": Knob("temperature", 0.75, 0.0, 2.0, "")}

    def __init__(self, planted: dict[tuple[str, int], list[tuple[float, tuple[str, ...]]]]) -> None:
        self.planted, self.asked = planted, list[tuple[str, int, Any]]()

    def stream(self, text: str, *, seed: int, speaker: str | None, quick: bool) -> Iterator[Any]:
        self.asked.append((text, seed, speaker))
        if text not in {one for one, _ in self.planted}:
            raise TextError("nothing to say")
        for number, (seconds, faults) in enumerate(self.planted[text, seed]):
            for part in (0.25, 0.75):  # a sentence in two chunks is still one
                audio = Audio(np.zeros(round(part * seconds * 1000), np.float32), 1000)
                yield SimpleNamespace(audio=audio, sentence=SimpleNamespace(number=number, faults=faults))


def test_every_take_counts_once_however_often_it_was_tried() -> None:
    planted = {
        ("good", 7): [(2.0, ())], ("good", 8): [(2.0, ())], ("good", 9): [(2.0, ())],
        ("bad", 7): [(4.0, (LOOP, ENDLESS)), (1.0, ())], ("bad", 8): [(3.0, (SILENCE,))], ("bad", 9): [(1.0, ())],
    }  # fmt: skip
    voice: Any = Drawing(planted)
    found = list(takes.takes_of(voice, [("good", "ana"), ("bad", "ben"), ("???", "")], seed=7))
    assert voice.asked[:3] == [("good", 7, "ana"), ("good", 8, "ana"), ("good", 9, "ana")]
    assert voice.asked[3] == ("bad", 7, None)  # nobody it knows
    made = takes.summarise(found, natural=[2.0, 1.5, None], drawn=takes.settings(voice))
    figures = {one.name: one for one in made}
    assert found[2] is None and figures["stop_failures"].values == (0.0, pytest.approx(2 / 3), None)
    assert figures["loops"].values == (0.0, pytest.approx(1 / 3), None)
    assert figures["take_length"].values == (1.0, pytest.approx(2.0), None)
    assert figures["take_spread"].values[0] == 0.0 and (figures["take_spread"].values[1] or 0) > 0.5
    assert all("3 seeds; temperature 0.75" in one.instrument for one in made)


def test_without_recordings_there_is_no_length_over_theirs() -> None:
    made = takes.summarise([(takes.Take(1.0, ()),)], natural=[None], drawn="")
    assert {one.name for one in made} == {"stop_failures", "loops", "take_spread"}

"""What a first look hears by: what sounds are like by their signs, or a recogniser of another language.

Of another language the nearest phone stands for each of ours, by how the two are made in the mouth (phonemap.py).
Shapes: F frames, C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from olu.align.band import BlockScores
from olu.align.chain import STATES
from olu.align.flat_models import heard_by
from olu.align.frames import FrameModel
from olu.align.kinds import bare, first_scores, ranks
from olu.align.recording import Floats, Ints, LongRecording
from olu.text.articulation import distance

FirstEar = Callable[[LongRecording, Sequence[str]], BlockScores]
SOFTER = 0.5  # a network is sure of its own language's sounds; ours are only near them


def by_signs(one: LongRecording, phones: Sequence[str]) -> BlockScores:
    """Scores by what each phone is like, with nothing learnt."""
    heard = ranks(one.mels, one.sound)
    return lambda start, end: first_scores(heard[start:end], phones)


@dataclass(frozen=True)
class BorrowedEar:
    """A frame model of another language."""

    model: FrameModel
    name: str

    def __call__(self, one: LongRecording, phones: Sequence[str]) -> BlockScores:
        """Scores of our classes: those of the nearest phones."""
        columns, heard = self.columns(phones), heard_by(self.model)(one)

        def scores(start: int, end: int) -> Floats:
            return np.asarray(SOFTER * heard(start, end)[:, columns], dtype=np.float32)

        return scores

    def nearest(self, phone: str) -> str:
        return min(self.model.phones, key=lambda theirs: distance(theirs, phone if phone == theirs else bare(phone)))

    def columns(self, phones: Sequence[str]) -> Ints:
        """[C] which class of the other language each of ours is heard as."""
        number = {phone: at for at, phone in enumerate(self.model.phones)}
        firsts = [1 + STATES * number[self.nearest(phone)] for phone in phones]
        return np.array([0, *(first + part for first in firsts for part in range(STATES))], dtype=np.int32)
